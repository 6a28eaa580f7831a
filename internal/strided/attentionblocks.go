package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/attention"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// attentionBlocks is attention with plain arithmetic. A tile is a few blocks of
// positions of one head. It goes once over the keys and values, some of them at a
// time, which are made floats once for all its blocks; of each position it keeps
// the greatest score so far, the sum of the powers relative to it, and the sum of
// values weighted with them; a greater score scales down what has been added up
// before.
//
//	keys and values  ────────────▶
//	                 ┌────┬────┬────┐
//	block 0          │ 1  │ 4  │ 7  │
//	block 1          │ 2  │ 5  │ 8  │
//	block 2          │ 3  │ 6  │ 9  │
//	                 └────┴────┴────┘
type attentionBlocks struct {
	attentionShape
	pitchK     int // from a key to the next
	pitchV     int
	pitchStage int

	// Floats of the scratch: queries, keys, values, scores, biases, results, and
	// rows on their way.
	queriesAt, keysAt, valuesAt, scoresAt, biasAt, resultsAt, stageAt, floats int
}

// heldKeys says which keys and values lie in the scratch as floats: if a head has one
// block of them, its next tile finds them there.
type heldKeys struct {
	of    *attentionShape // nil: none
	head  index
	first int
}

func bindAttentionBlocks(op *Op) (Kernel, error) {
	a := &attentionBlocks{attentionShape: newAttentionShape(op)}
	a.pitchK, a.pitchV = attention.RoundUp(a.features), attention.RoundUp(a.width)
	a.cut(a.pitchK, a.pitchV, attention.Keys(1))
	a.pitchStage = max(a.pitchK, a.pitchV)
	if a.hasMask {
		a.pitchStage = max(a.pitchStage, attention.RoundUp(a.perBlock))
	}
	at := 0
	room := func(floats int) int {
		at += floats
		return at - floats
	}
	a.queriesAt = room(a.perTile * a.pitchK)
	a.keysAt = room(a.perBlock * a.pitchK)
	a.valuesAt = room(a.perBlock * a.pitchV)
	a.scoresAt = room(attention.RoundUp(a.perBlock) * attention.Lanes)
	a.biasAt = room(attention.RoundUp(a.perBlock))
	a.resultsAt = room(a.perTile * a.pitchV)
	a.stageAt = room(max(attention.Lanes*a.pitchStage, chunk))
	a.floats = at
	return a, nil
}

func (a *attentionBlocks) Need() Need {
	return a.sink.need().Max(Need{Float: a.floats, States: a.perTile / attention.Lanes})
}

func (a *attentionBlocks) Run(w *Scratch, lo, hi int) {
	w.begins()
	for t := lo; t < hi; t++ {
		first := t % a.perHead * a.perTile
		a.tile(w, a.batch.place(t/a.perHead), first, min(a.perTile, a.positions-first))
	}
}

// tile computes some positions of a head.
func (a *attentionBlocks) tile(w *Scratch, head index, first, positions int) {
	f := w.float
	blocks := tilesOf(positions, attention.Lanes)
	stage := f[a.stageAt:][:attention.Lanes*a.pitchStage]
	for b := range blocks {
		rows := min(attention.Lanes, positions-b*attention.Lanes)
		a.rows(w, stage, a.pitchK, &a.q, head, first+b*attention.Lanes, rows, a.features)
		attention.Turn(f[a.queriesAt+b*attention.Lanes*a.pitchK:], stage, a.pitchK, rows, a.scale)
		w.states[b].Reset()
	}
	clear(f[a.resultsAt:][:blocks*attention.Lanes*a.pitchV])
	keys, values, scores := f[a.keysAt:][:a.perBlock*a.pitchK], f[a.valuesAt:][:a.perBlock*a.pitchV], f[a.scoresAt:a.biasAt]
	for key := 0; key < a.keys; key += a.perBlock {
		n := min(a.perBlock, a.keys-key)
		if h := (heldKeys{&a.attentionShape, head, key}); w.keys != h {
			a.rows(w, keys, a.pitchK, &a.k, head, key, n, a.features)
			a.rows(w, values, a.pitchV, &a.v, head, key, n, a.width)
			w.keys = h
		}
		var bias []float32
		if a.hasMask && !a.eachMask {
			bias = f[a.biasAt:][:attention.RoundUp(n)]
			a.masks(w, bias[:n], head, 0, key)
			vec.Scale(bias[:n], math.Log2E, false)
		}
		for b := range blocks {
			if w.stop() {
				return
			}
			state, rows := &w.states[b], min(attention.Lanes, positions-b*attention.Lanes)
			if a.eachMask {
				pitch := attention.RoundUp(n)
				for r := range rows {
					a.masks(w, stage[r*pitch:][:n], head, first+b*attention.Lanes+r, key)
				}
				attention.Turn(scores, stage, pitch, rows, math.Log2E)
			}
			attention.Scores(scores, f[a.queriesAt+b*attention.Lanes*a.pitchK:], keys, a.pitchK, a.features, n, rows, bias, a.eachMask)
			attention.Powers(scores, n, rows, 1, state)
			attention.Values(f[a.resultsAt+b*attention.Lanes*a.pitchV:][:attention.Lanes*a.pitchV], scores, values, a.pitchV, n, rows, state)
		}
	}
	for b := range blocks {
		a.put(w, head, first+b*attention.Lanes, min(attention.Lanes, positions-b*attention.Lanes), f[a.resultsAt+b*attention.Lanes*a.pitchV:], &w.states[b])
	}
}

// rows reads rows of an operand as floats.
func (a *attentionBlocks) rows(w *Scratch, dst []float32, pitch int, x *array, i index, first, rows, cols int) {
	i[axisH], i[axisW] = first, 0
	if isHalfRows(x) {
		attention.Rows(dst, pitch, x.memory(w)[x.at(&i):], x.strides[axisH], rows, cols)
		return
	}
	for r := range rows {
		row := dst[r*pitch:][:pitch]
		i[axisH] = first + r
		x.load(w, row[:cols], i, axisW)
		clear(row[cols:])
	}
}

// put divides the results of some positions by their totals.
func (a *attentionBlocks) put(w *Scratch, i index, first, rows int, results []float32, state *attention.State) {
	i[axisH], i[axisW] = first, 0
	factors := a.factors(state)
	if a.direct {
		out := &a.sink.out
		attention.Put(out.memory(w)[out.at(&i):], out.strides[axisH], results, a.pitchV, rows, a.width, factors)
		return
	}
	stage := w.float[a.stageAt:][:chunk]
	for r := range rows {
		i[axisH] = first + r
		for i[axisW] = 0; i[axisW] < a.width; i[axisW] += chunk {
			out := stage[:min(chunk, a.width-i[axisW])]
			copy(out, results[r*a.pitchV+i[axisW]:])
			vec.Scale(out, float64(factors[r]), a.sink.first)
			a.sink.put(w, out, i, axisW)
		}
	}
}
