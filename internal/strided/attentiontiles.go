package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/attention"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// attentionTiles is attentionBlocks by a row of gemm that multiplies fp16 numbers
// faster than floats. Scores are a product with the keys as rows and the positions as
// columns, and so are results, with a row for each of their elements:
//
//	scores           positions      results          positions
//	          keys │ · · · · · ·             width │ · · · · · ·
//	               │ · · · · · ·                   │ · · · · · ·
//
// so that what is kept of a position stays in its lane. Keys and values are packed
// once for all blocks of a tile. The powers, which have more bits than fp16 numbers,
// are rounded to what panels hold.
//
// A query that panels cannot hold has an infinity or a NaN: its results are NaN, one
// way or another. A block of keys or values with such numbers goes by the row for
// all floats.
type attentionTiles struct {
	attentionShape
	row *gemm.Row

	// Floats of the scratch: queries, a panel of them by the other row, keys, values,
	// scores, powers, biases, results, and rows on their way.
	queriesAt, otherAt, keysAt, valuesAt, scoresAt, powersAt, biasAt, resultsAt, stageAt, floats int
}

// tiledAttention is the row for an attention by tiles, nil if it is none.
func tiledAttention(op *Op) *gemm.Row {
	if op.Rules != nil {
		return nil
	}
	y, q, k, v := &op.Operands[0], &op.Operands[1], &op.Operands[2], &op.Operands[3]
	for _, o := range []*Operand{q, k, v} {
		if a := o.array(); !isHalfRows(&a) || a.strides[axisH]%2 != 0 {
			return nil
		}
	}
	scale := newAttentionShape(op).scale
	row := op.gemmRow(k.Dims[axisH], y.Dims[axisH], q.Dims[axisW])
	if row.Else == nil || row.B.Lines != attention.Lanes || op.gemmRow(y.Dims[axisW], y.Dims[axisH], k.Dims[axisH]) != row || !(scale > 0x1p-60 && scale < 0x1p60) {
		return nil
	}
	return row
}

func tilesAttention(op *Op) bool { return tiledAttention(op) != nil }

func bindAttentionTiles(op *Op) (Kernel, error) {
	a := &attentionTiles{attentionShape: newAttentionShape(op), row: tiledAttention(op)}
	a.cut(a.features, a.row.A.RoundUp(a.width), a.row.A.KR)
	at := 0
	room := func(floats func(*gemm.Row) int) int {
		most := max(floats(a.row), floats(a.row.Else))
		at += most
		return at - most
	}
	a.queriesAt = room(func(*gemm.Row) int { return a.perTile / attention.Lanes * a.row.B.Words(a.features) })
	a.otherAt = room(func(r *gemm.Row) int { return r.B.Words(a.features) })
	a.keysAt = room(func(r *gemm.Row) int { return r.A.Panels(a.perBlock) * r.A.Words(a.features) })
	a.valuesAt = room(func(r *gemm.Row) int { return r.A.Panels(a.width) * r.A.Words(a.perBlock) })
	a.scoresAt = room(func(r *gemm.Row) int { return r.A.RoundUp(a.perBlock) * attention.Lanes })
	a.powersAt = room(func(r *gemm.Row) int { return r.B.Words(a.perBlock) })
	a.biasAt = room(func(*gemm.Row) int { return attention.RoundUp(a.perBlock) })
	a.resultsAt = room(func(*gemm.Row) int { return a.perTile * a.resultRows() })
	a.stageAt = room(func(*gemm.Row) int { return attention.Lanes * max(attention.Lanes, attention.RoundUp(a.perBlock)) })
	a.floats = at
	return a, nil
}

// resultRows is how many rows of lanes the results of a block have room for, by
// either row.
func (a *attentionTiles) resultRows() int {
	return max(a.row.A.RoundUp(a.width), a.row.Else.A.RoundUp(a.width))
}

func (a *attentionTiles) Need() Need {
	return a.sink.need().Max(Need{Float: a.floats, States: a.perTile / attention.Lanes})
}

func (a *attentionTiles) Run(w *Scratch, lo, hi int) {
	w.begins()
	for t := lo; t < hi; t++ {
		first := t % a.perHead * a.perTile
		a.tile(w, a.batch.place(t/a.perHead), first, min(a.perTile, a.positions-first))
	}
}

// tile computes some positions of a head.
func (a *attentionTiles) tile(w *Scratch, head index, first, positions int) {
	f := w.float
	blocks, panel := tilesOf(positions, attention.Lanes), a.row.B.Words(a.features)
	queries := a.source(w, &a.q, head, first, positions, a.features)
	a.row.B.Pack(f[a.queriesAt:a.otherAt], panel, &queries)
	for b := range blocks {
		w.states[b].Reset()
	}
	results := a.resultRows() * attention.Lanes
	clear(f[a.resultsAt:][:blocks*results])
	for key := 0; key < a.keys; key += a.perBlock {
		n := min(a.perBlock, a.keys-key)
		row := a.pack(w, head, key, n)
		if a.hasMask && !a.eachMask {
			a.masks(w, f[a.biasAt:][:n], head, 0, key)
			vec.Scale(f[a.biasAt:][:n], a.unscaled(), false)
		}
		for b := range blocks {
			if w.stop() {
				return
			}
			at, rows := first+b*attention.Lanes, min(attention.Lanes, positions-b*attention.Lanes)
			packed := f[a.queriesAt+b*panel:][:panel]
			if row != a.row {
				packed = f[a.otherAt:a.keysAt]
				queries := a.source(w, &a.q, head, at, rows, a.features)
				row.B.Pack(packed, len(packed), &queries)
			}
			a.block(w, row, packed, head, at, rows, key, n, &w.states[b], f[a.resultsAt+b*results:][:results])
		}
	}
	for b := range blocks {
		a.put(w, head, first+b*attention.Lanes, min(attention.Lanes, positions-b*attention.Lanes), f[a.resultsAt+b*results:][:results], &w.states[b])
	}
}

// source is rows of an operand as they lie.
func (a *attentionTiles) source(w *Scratch, x *array, i index, first, rows, cols int) gemm.Source {
	i[axisH], i[axisW] = first, 0
	return gemm.Source{Elem: gemm.F16, Bytes: x.memory(w)[x.at(&i):], Line: x.strides[axisH] / 2, Step: 1, Lines: rows, Depth: cols}
}

// pack packs a block of keys and their values, and returns the row that multiplies
// them.
func (a *attentionTiles) pack(w *Scratch, head index, first, n int) *gemm.Row {
	h := heldKeys{&a.attentionShape, head, first}
	if w.keys == h {
		return w.keysRow
	}
	keys := a.source(w, &a.k, head, first, n, a.features)
	values := a.source(w, &a.v, head, first, n, a.width)
	values.Line, values.Step, values.Lines, values.Depth = 1, values.Line, a.width, n
	for row := a.row; ; row = row.Else {
		held := row.A.Pack(w.float[a.keysAt:a.valuesAt], row.A.Words(a.features), &keys)
		if held = row.A.Pack(w.float[a.valuesAt:a.scoresAt], row.A.Words(n), &values) && held; held || row.Else == nil {
			w.keys, w.keysRow = h, row
			return row
		}
	}
}

// unscaled is what makes masks of what is added to scores before these are scaled.
func (a *attentionTiles) unscaled() float64 { return math.Log2E / float64(a.scale) }

// block adds the values of a block of keys to the results of a block of positions.
func (a *attentionTiles) block(w *Scratch, row *gemm.Row, queries []float32, head index, first, rows, key, n int, state *attention.State, results []float32) {
	f := w.float
	scores := f[a.scoresAt:a.powersAt]
	switch {
	case a.eachMask:
		pitch := attention.RoundUp(n)
		stage := f[a.stageAt:][:attention.Lanes*pitch]
		for r := range rows {
			a.masks(w, stage[r*pitch:][:n], head, first+r, key)
		}
		attention.Turn(scores, stage, pitch, rows, float32(a.unscaled()))
	case a.hasMask:
		for j, bias := range f[a.biasAt:][:n] {
			row := scores[j*attention.Lanes:][:attention.Lanes]
			for i := range row {
				row[i] = bias
			}
		}
	case !row.Sets:
		clear(scores[:n*attention.Lanes])
	}
	row.Run(&gemm.Tile{
		A: f[a.keysAt:a.valuesAt], DistA: row.A.Words(a.features), B: queries, Depth: a.features,
		Rows: n, Cols: attention.Lanes, C: scores, Stride: attention.Lanes, Fresh: !a.hasMask,
	})
	attention.Powers(scores, n, rows, a.scale, state)
	powers := f[a.powersAt:a.biasAt]
	row.B.Pack(powers, len(powers), &gemm.Source{Floats: scores, Line: 1, Step: attention.Lanes, Lines: attention.Lanes, Depth: n})
	attention.Down(results, a.width, state)
	row.Run(&gemm.Tile{
		A: f[a.valuesAt:a.scoresAt], DistA: row.A.Words(n), B: powers, Depth: n,
		Rows: a.width, Cols: attention.Lanes, C: results, Stride: attention.Lanes,
	})
}

// put divides the results of some positions by their totals. They are turned, as many
// of a row at a time as there are lanes.
func (a *attentionTiles) put(w *Scratch, i index, first, rows int, results []float32, state *attention.State) {
	const most = attention.Lanes
	factors, stage := a.factors(state), w.float[a.stageAt:][:most*most]
	for c := 0; c < a.width; c += most {
		cols := min(most, a.width-c)
		attention.Turn(stage, results[c*most:], most, cols, 1)
		i[axisH], i[axisW] = first, c
		if a.direct {
			out := &a.sink.out
			attention.Put(out.memory(w)[out.at(&i):], out.strides[axisH], stage, most, rows, cols, factors)
			continue
		}
		for r := range rows {
			i[axisH] = first + r
			out := stage[r*most:][:cols]
			vec.Scale(out, float64(factors[r]), a.sink.first)
			a.sink.put(w, out, i, axisW)
		}
	}
}
