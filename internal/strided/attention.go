package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// ruledAttention is attention by the rules of a chip. It takes a few positions at a
// time over blocks of keys. It keeps, of each position, the greatest score so far,
// the sum of the powers relative to it, and the sum of values weighted with them; a
// greater score scales down what has been added up before.
type ruledAttention struct {
	sink      *sink
	qk        product // scores: queries by keys
	sv        product // values, weighted with them
	mask      array
	hasMask   bool
	boolMask  bool
	batch     grid
	positions int
	keys      int
	features  int // of q and k
	width     int // of v and the result
	scale     float64
	blocks    int
	toZero    bool // inf-inf is 0

	// Floats of the scratch, after those of the products: scores, mask, a row, and
	// what is kept of each position.
	scoresAt, maskAt, rowAt, sumsAt int

	tables *tables // by stages, as a chip does it; nil: at once
	flush  bool    // subnormals are 0 to the products
}

const (
	attnRows = 32
	attnKeys = 64
	attnCols = 64 // of the result, at a time
)

func bindAttention(op *Op) (Kernel, error) {
	y, q, k, v := &op.Operands[0], &op.Operands[1], &op.Operands[2], &op.Operands[3]
	a := &ruledAttention{
		sink:      newSink(op),
		batch:     newGrid(y.Dims, 1<<axisN|1<<axisD|1<<axisC),
		positions: y.Dims[axisH], width: y.Dims[axisW],
		keys: k.Dims[axisH], features: q.Dims[axisW],
		scale: float64(op.Params.(*td.Attention).Scale),
	}
	a.toZero = op.Rules != nil && op.Rules.IndeterminateToZero
	if len(op.Operands) > 4 && op.Operands[4].Present() {
		a.mask, a.hasMask = op.Operands[4].array(), true
		a.boolMask = op.Operands[4].Type == tensor.Bool
	}
	a.blocks = (a.positions + attnRows - 1) / attnRows
	weighted := attnKeys // scores that meet values at a time
	if r := op.Rules; r != nil && r.tables != nil && r.RoundStages && a.keys <= maxStagedKeys {
		a.tables, a.flush = r.tables, r.FlushArraySubnormals
		a.scale = float64(half.Round(float32(a.scale))) // a post scale is fp16
		weighted = a.keys
	}
	a.qk = newProduct(op.gemmRow(anyLines, a.keys, a.features),
		&matrix{array: q.array(), line: axisH, inner: axisW}, &matrix{array: k.array(), line: axisH, inner: axisW},
		a.features, op.Rules.careful(a.features), attnRows, attnKeys)
	a.sv = newProduct(op.gemmRow(anyLines, a.width, weighted).ForFloats(),
		attentionScores{}, &matrix{array: v.array(), line: axisW, inner: axisH},
		weighted, op.Rules.careful(weighted), attnRows, attnCols)
	a.scoresAt = max(a.qk.floats, a.sv.floats)
	a.maskAt = a.scoresAt + attnRows*attnKeys
	a.rowAt = a.maskAt + attnKeys
	a.sumsAt = a.rowAt + chunk
	return a, nil
}

func (a *ruledAttention) Tiles() (n, grain int) {
	if a.width == 0 {
		return 0, 1
	}
	return a.batch.count() * a.blocks, 1
}

func (a *ruledAttention) Need() Need {
	n := a.qk.need().Max(a.sv.need())
	n.Float, n.Double = a.sumsAt+attnRows*a.width, 2*attnRows
	if a.tables != nil {
		n.Float = a.sumsAt + attnRows*a.keys
	}
	return a.sink.need().Max(n)
}

func (a *ruledAttention) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		first := t % a.blocks * attnRows
		positions := lines{at: a.batch.place(t / a.blocks), first: first, count: min(attnRows, a.positions-first)}
		if a.tables != nil {
			a.stagedTile(w, positions)
		} else {
			a.tile(w, positions)
		}
	}
}

func (a *ruledAttention) tile(w *Scratch, positions lines) {
	g := &w.gemm
	g.left = positions
	rows := positions.count
	top, total := w.double[:rows], w.double[attnRows:][:rows]
	sums := w.float[a.sumsAt:][:rows*a.width]
	for r := range top {
		top[r], total[r] = math.Inf(-1), 0
	}
	clear(sums)
	for key := 0; key < a.keys; key += attnKeys {
		if w.stop() {
			break
		}
		keys := lines{at: positions.at, first: key, count: min(attnKeys, a.keys-key)}
		g.right = keys
		a.score(w)
		for r := range rows {
			if a.toZero {
				unbounded(g.scores[r*attnKeys:][:keys.count], top[r])
			}
			weigh(g.scores[r*attnKeys:][:keys.count], &top[r], &total[r], sums[r*a.width:][:a.width])
		}
		for c := 0; c < a.width; c += attnCols {
			g.right = lines{at: positions.at, first: c, count: min(attnCols, a.width-c)}
			g.right.at[axisH] = key
			tile, stride := a.sv.multiply(w, keys.count, nil)
			for r := range rows {
				row := sums[r*a.width+c:][:g.right.count]
				vec.Add(row, row, tile[r*stride:])
			}
		}
	}
	row := w.float[a.rowAt:][:chunk]
	for r := range rows {
		i := positions.at
		i[axisH] = positions.first + r
		for i[axisW] = 0; i[axisW] < a.width; i[axisW] += chunk {
			out := row[:min(chunk, a.width-i[axisW])]
			clear(out) // the sum of no values
			if a.keys > 0 {
				copy(out, sums[r*a.width+i[axisW]:])
				vec.Scale(out, 1/total[r], a.sink.first)
			}
			a.sink.put(w, out, i, axisW)
		}
	}
}

// score computes the scores of the positions with a block of keys.
func (a *ruledAttention) score(w *Scratch) {
	g := &w.gemm
	tile, stride := a.qk.multiply(w, a.features, nil)
	g.scores, g.scoresApart = w.float[a.scoresAt:][:attnRows*attnKeys], attnKeys
	mask := w.float[a.maskAt:][:g.right.count]
	for r := range g.left.count {
		scores := g.scores[r*attnKeys:][:g.right.count]
		copy(scores, tile[r*stride:])
		if a.sink.arrival != nil {
			a.sink.arrival.apply(scores)
		}
		vec.Scale(scores, a.scale, false)
		if a.tables != nil {
			castFloats(tensor.Float16, scores)
		}
		if !a.hasMask {
			continue
		}
		i := g.left.at
		i[axisH], i[axisW] = g.left.first+r, g.right.first
		a.mask.load(w, mask, i, axisW)
		for j, m := range mask {
			switch {
			case !a.boolMask:
				scores[j] += m
			case m == 0: // of a NaN or +inf that makes a NaN
				scores[j] += float32(math.Inf(-1))
			}
		}
	}
}

// unbounded makes finite scores of those with +inf among them, or after one: the
// difference of infinities is 0, of anything else to one no bound.
func unbounded(scores []float32, top float64) {
	any := top == unboundedScore
	for _, s := range scores {
		any = any || s == infinity
	}
	if !any {
		return
	}
	for j, s := range scores {
		if s == infinity {
			scores[j] = unboundedScore
		} else {
			scores[j] = -infinity
		}
	}
}

// unboundedScore stands for +inf: no score of fp16 numbers is as great.
const unboundedScore = 0x1p120

// weigh turns the scores of a position into powers relative to the greatest so
// far, and scales down what was relative to another.
func weigh(scores []float32, top, total *float64, sums []float32) {
	greatest := max(*top, float64(vec.MaxOf(scores)))
	if math.IsInf(greatest, -1) { // nothing but -inf so far
		clear(scores)
		return
	}
	if greatest != *top {
		down := math.Exp(*top - greatest) // 0 in the beginning
		*total *= down
		vec.Scale(sums, down, false)
		*top = greatest
	}
	*total += vec.Powers(scores, greatest)
}

// attentionScores are the left factors of the values: a line is a position.
type attentionScores struct{}

func (attentionScores) byLine() bool { return true }

func (attentionScores) load(*Scratch, []float32, int, *lines, int, int) {
	panic("bug: scores are read as they lie")
}

func (attentionScores) elem() (gemm.Elem, bool) { return gemm.F32, true }

func (attentionScores) prepare(_ *Scratch, _ *lines, _, d int, _ bool) int { return d }

func (attentionScores) source(w *Scratch, l *lines, k, d int) gemm.Source {
	return gemm.Source{Floats: w.gemm.scores[k:], Line: w.gemm.scoresApart, Step: 1, Lines: l.count, Depth: d}
}
