package strided

import "math"

// attention takes a few positions at a time over blocks of keys. It keeps, of
// each position, the greatest score so far, the sum of the powers relative to
// it, and the sum of values weighted with them; a greater score scales down what
// has been added up before.
type attention struct {
	sink      *sink
	q, k, v   array
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
}

const (
	attnRows = 16
	attnKeys = tileCols
)

func bindAttention(op *Op) (Kernel, error) {
	y, q, k, v := &op.Operands[0], &op.Operands[1], &op.Operands[2], &op.Operands[3]
	a := &attention{
		sink: newSink(op), q: q.array(), k: k.array(), v: v.array(),
		batch:     newGrid(y.Dims, 1<<axisN|1<<axisD|1<<axisC),
		positions: y.Dims[axisH], width: y.Dims[axisW],
		keys: k.Dims[axisH], features: q.Dims[axisW],
		scale: float64(op.Params.Scale),
	}
	if len(op.Operands) > 4 && op.Operands[4].Present() {
		a.mask, a.hasMask = op.Operands[4].array(), true
		a.boolMask = op.Operands[4].Type == Bool
	}
	a.blocks = (a.positions + attnRows - 1) / attnRows
	return a, nil
}

func (a *attention) Tiles() (n, grain int) {
	if a.width == 0 {
		return 0, 1
	}
	return a.batch.count() * a.blocks, 1
}

// The scratch, after that of the products: scores, mask, and what is kept of
// each position.
const (
	attnScores = gemmNeed
	attnMask   = attnScores + attnRows*attnKeys
	attnRow    = attnMask + attnKeys
	attnSums   = attnRow + chunk
)

func (a *attention) Need() Need {
	return a.sink.need().Max(Need{Float: attnSums + attnRows*a.width, Double: 2 * attnRows})
}

func (a *attention) Run(w *Scratch, lo, hi int) {
	g := &w.gemm
	for t := lo; t < hi; t++ {
		g.at = a.batch.place(t / a.blocks)
		g.first = t % a.blocks * attnRows
		g.rows = min(attnRows, a.positions-g.first)
		a.tile(w)
	}
}

func (a *attention) tile(w *Scratch) {
	g := &w.gemm
	top, total := w.double[:g.rows], w.double[attnRows:][:g.rows]
	sums := w.float[attnSums:][:g.rows*a.width]
	for r := range top {
		top[r], total[r] = math.Inf(-1), 0
	}
	clear(sums)
	for g.key = 0; g.key < a.keys; g.key += attnKeys {
		g.cols = min(attnKeys, a.keys-g.key)
		a.score(w)
		for r := range g.rows {
			a.weigh(w, r, &top[r], &total[r], sums[r*a.width:][:a.width])
		}
		for c := 0; c < a.width; c += tileCols {
			g.at[axisW] = c
			cols := min(tileCols, a.width-c)
			tile := multiply(w, (*attentionValues)(a), 0, g.rows, cols, g.cols)
			for r := range g.rows {
				row := sums[r*a.width+c:][:cols]
				for j := range row {
					row[j] += tile[r*tileCols+j]
				}
			}
		}
	}
	row := w.float[attnRow:][:chunk]
	for r := range g.rows {
		i := g.at
		i[axisH] = g.first + r
		for i[axisW] = 0; i[axisW] < a.width; i[axisW] += chunk {
			out := row[:min(chunk, a.width-i[axisW])]
			for j := range out {
				out[j] = 0 // the sum of no values
				if a.keys > 0 {
					out[j] = a.sink.round(float64(sums[r*a.width+i[axisW]+j]) / total[r])
				}
			}
			a.sink.put(w, out, i, axisW)
		}
	}
}

// score computes the scores of the positions with a block of keys.
func (a *attention) score(w *Scratch) {
	g := &w.gemm
	tile := multiply(w, (*attentionScores)(a), 0, g.rows, g.cols, a.features)
	g.scores = w.float[attnScores:][:attnRows*attnKeys]
	mask := w.float[attnMask:][:g.cols]
	for r := range g.rows {
		scores := g.scores[r*attnKeys:][:g.cols]
		for j := range scores {
			scores[j] = float32(float64(tile[r*tileCols+j]) * a.scale)
		}
		if !a.hasMask {
			continue
		}
		i := g.at
		i[axisH], i[axisW] = g.first+r, g.key
		a.mask.load(w, mask, i, axisW)
		for j, m := range mask {
			switch {
			case !a.boolMask:
				scores[j] += m
			case m == 0:
				scores[j] = float32(math.Inf(-1))
			}
		}
	}
}

// weigh turns the scores of a position into powers relative to the greatest so
// far, and scales down what was relative to another.
func (a *attention) weigh(w *Scratch, r int, top, total *float64, sums []float32) {
	g := &w.gemm
	scores := g.scores[r*attnKeys:][:g.cols]
	greatest := *top
	for _, s := range scores {
		greatest = max(greatest, float64(s))
	}
	if math.IsInf(greatest, -1) { // nothing but -inf so far
		clear(scores)
		return
	}
	if greatest != *top {
		down := math.Exp(*top - greatest) // 0 in the beginning
		*total *= down
		for j := range sums {
			sums[j] = float32(float64(sums[j]) * down)
		}
		*top = greatest
	}
	for j, s := range scores {
		scores[j] = float32(math.Exp(float64(s) - greatest))
		*total += float64(scores[j])
	}
}

// attentionScores multiplies positions with keys.
type attentionScores attention

func (a *attentionScores) left(w *Scratch, dst []float32, r, from int) {
	i := w.gemm.at
	i[axisH], i[axisW] = w.gemm.first+r, from
	a.q.load(w, dst, i, axisW)
}

func (a *attentionScores) right(w *Scratch, dst []float32, from int) {
	i := w.gemm.at
	i[axisH], i[axisW] = w.gemm.key, from
	a.k.load(w, dst, i, axisH)
}

// attentionValues multiplies weights with values.
type attentionValues attention

func (a *attentionValues) left(w *Scratch, dst []float32, r, from int) {
	copy(dst, w.gemm.scores[r*attnKeys+from:])
}

func (a *attentionValues) right(w *Scratch, dst []float32, from int) {
	i := w.gemm.at
	i[axisH] = w.gemm.key + from
	a.v.load(w, dst, i, axisW)
}
