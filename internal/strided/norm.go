package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
)

// normalizer is L2 and min-max normalization: (x - shift) / divisor, with two
// numbers for all elements along the axes. Its loops are those of layerNorm.
type normalizer struct {
	layerNorm
	minMax bool
}

func bindL2Norm(op *Op) (Kernel, error)     { return newNormalizer(op, false), nil }
func bindMinMaxNorm(op *Op) (Kernel, error) { return newNormalizer(op, true), nil }

func newNormalizer(op *Op, minMax bool) *normalizer {
	return &normalizer{layerNorm: *newLayerNorm(op, 2), minMax: minMax}
}

func (k *normalizer) Run(w *Scratch, lo, hi int) {
	rows, _ := k.inner.Tiles()
	for t := lo; t < hi; t++ {
		at := k.outer.place(t)
		shift, divisor := k.numbers(w, at, rows)
		for r := range rows {
			if w.stop() {
				break
			}
			v := k.load(w, at, r)
			for j, x := range v {
				if k.stages != nil && !k.minMax {
					v[j] = k.stages.or(x*float32(divisor), x, float32(divisor))
				} else {
					v[j] = k.sink.round((float64(x) - shift) / divisor)
				}
			}
			i, _ := k.inner.tile(r)
			k.sink.put(w, v, i.plus(at), k.inner.axis)
		}
	}
}

func (k *normalizer) numbers(w *Scratch, at index, rows int) (shift, divisor float64) {
	if k.minMax {
		least, top := math.Inf(1), math.Inf(-1)
		for r := range rows {
			if w.stop() {
				break
			}
			for _, x := range k.load(w, at, r) {
				least, top = min(least, float64(x)), max(top, float64(x))
			}
		}
		return least, top - least + k.epsilon
	}
	if k.stages != nil {
		return 0, float64(k.inverse(w, at, rows))
	}
	sum := 0.0
	for r := range rows {
		if w.stop() {
			break
		}
		for _, x := range k.load(w, at, r) {
			sum = plusSquare(sum, float64(x))
		}
	}
	return 0, math.Sqrt(sum + k.epsilon)
}

// inverse is what elements are multiplied with, by stages: the reciprocal of the
// length, an fp16 number.
func (k *normalizer) inverse(w *Scratch, at index, rows int) float32 {
	var sum float32
	for r := range rows {
		if w.stop() {
			break
		}
		for _, x := range k.load(w, at, r) {
			sum += float32(x * x)
		}
	}
	return half.Round(float32(1 / math.Sqrt(float64(sum+k.stages.epsilon))))
}

// lrn is local response normalization: a row of one channel at once, for which
// the rows of its neighbours are summed.
type lrn struct {
	rowsOf
	sink           *sink
	x              array
	channels       int
	before, after  int // neighbours
	scale, beta, k float64
}

func bindLRN(op *Op) (Kernel, error) {
	y, p := &op.Operands[0], op.Params.(*td.LRN)
	k := &lrn{
		sink: newSink(op), x: op.Operands[1].array(), channels: y.Dims[axisC],
		before: p.Size / 2, after: (p.Size - 1) / 2,
		scale: float64(p.Alpha) / float64(p.Size), beta: float64(p.Beta), k: float64(p.K),
	}
	space := y.Dims
	merge(&space, 1<<axisC, append(k.sink.arrays(), &k.x)...)
	k.rowsOf = newRows(space, rowAxis(space, allAxes&^(1<<axisC), &k.sink.out))
	return k, nil
}

func (k *lrn) Tiles() (n, grain int) {
	n, _ = k.rowsOf.Tiles()
	return n, max(1, 1<<13/max(1, min(k.length, chunk)*min(k.before+k.after+1, k.channels)))
}

func (k *lrn) Need() Need { return k.sink.need().Max(Need{Float: chunk, Double: chunk}) }

func (k *lrn) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v, sum := w.float[:n], w.double[:n]
		clear(sum)
		near := i
		for c := max(0, i[axisC]-k.before); c <= min(k.channels-1, i[axisC]+k.after); c++ {
			if w.stop() {
				break
			}
			near[axisC] = c
			k.x.load(w, v, near, k.axis)
			for j, x := range v {
				sum[j] = plusSquare(sum[j], float64(x))
			}
		}
		k.x.load(w, v, i, k.axis)
		for j, x := range v {
			base := k.k + float64(k.scale*sum[j])
			v[j] = k.sink.round(float64(x) / math.Pow(base, k.beta))
		}
		k.sink.put(w, v, i, k.axis)
	}
}
