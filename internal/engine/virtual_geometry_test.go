package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The classes of vectors, points and pictures, by their definitions, in fp64.

func testCrossProduct(t *testing.T, r *rand.Rand) {
	dims := quantDims(r)
	dims[td.AxisC] = 3
	op := &td.Op{Params: &td.CrossProduct{}, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...),
	}}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		next, after := i, i
		next[td.AxisC], after[td.AxisC] = (i[td.AxisC]+1)%3, (i[td.AxisC]+2)%3
		plus, minus := b.get(1, next)*b.get(2, after), b.get(1, after)*b.get(2, next)
		return plus - minus, math.Abs(plus) + math.Abs(minus)
	})
}

func testCrossCorrelation(t *testing.T, r *rand.Rand) {
	p := &td.CrossCorrelation{
		Template: [2]int{1 + r.IntN(3), 1 + r.IntN(4)}, PadBefore: [2]int{r.IntN(3), r.IntN(3)}, PadAfter: [2]int{r.IntN(3), r.IntN(3)},
		Groups: pick(r, 1, 1, 2, 3),
	}
	window := td.UnitWindow
	for i := range 2 {
		window.Kernel[i+1], window.PadBefore[i+1], window.PadAfter[i+1] = p.Template[i], p.PadBefore[i], p.PadAfter[i]
	}
	inputs, outputs := 1+r.IntN(3), 1+r.IntN(3)
	if r.IntN(15) == 0 { // more than a tile
		inputs, outputs = 70, 37
	}
	x := [td.NumAxes]int{extent(r), pick(r, 1, 1, 3), inputs * p.Groups, 1 + r.IntN(9), 1 + r.IntN(9)}
	y := over(&window, x)
	y[td.AxisC] = outputs * p.Groups
	numbers := y[td.AxisC] * inputs * p.Template[0] * p.Template[1]
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), y[:]...), operand256(pick(r, sourceTypes...), x[:]...), operand256(pick(r, sourceTypes...), 1, 1, 1, 1, numbers),
	}}
	if r.IntN(4) == 0 { // the epilogue's, right after those of the class
		op.Operands = append(op.Operands, broadcastOf(r, tensor.Float16, y))
		op.Epilogue = []td.MicroOp{{Code: td.MicroEW, Function: uint8(td.EWAdd), Source: td.FromOperand(3)}}
	} else {
		epilogues(r, op, false)
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (sum, terms float64) {
		underTaps(&window, x, i, func(tap, at [td.NumAxes]int) {
			for c := range inputs {
				at[td.AxisC] = i[td.AxisC]/outputs*inputs + c
				k := ((i[td.AxisC]*inputs+c)*p.Template[0]+tap[td.AxisH])*p.Template[1] + tap[td.AxisW]
				v := b.get(1, at) * b.get(2, [td.NumAxes]int{td.AxisW: k})
				sum += v
				terms += math.Abs(v)
			}
		})
		return sum, terms
	})
}

func testCostVolume(t *testing.T, r *rand.Rand) {
	p := &td.CostVolume{Range: r.IntN(6)}
	aux := quantDims(r)
	aux[td.AxisC] = 1
	y, ref := aux, aux
	y[td.AxisC] = p.Range + 1
	ref[td.AxisW] += p.Range + r.IntN(3)
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), y[:]...), operand256(pick(r, sourceTypes...), aux[:]...), operand256(pick(r, sourceTypes...), ref[:]...),
	}}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		other := i
		other[td.AxisW] += i[td.AxisC]
		other[td.AxisC] = 0
		return math.Abs(b.get(1, i) - b.get(2, other)), 0
	})
}

// point is point w of batch element n of an operand.
func (b *bench) point(operand, n, w int) (p [3]float64) {
	for c := range p {
		p[c] = b.get(operand, [td.NumAxes]int{n, 0, c, 0, w})
	}
	return p
}

// apart is the distance of two points, for L2 its square.
func apart(m td.DistanceMetric, p, q [3]float64) (sum float64) {
	for c := range p {
		if d := math.Abs(p[c] - q[c]); m == td.DistanceL1 {
			sum += d
		} else {
			sum += float64(d * d)
		}
	}
	return sum
}

func testFurthestPoints(t *testing.T, r *rand.Rand) {
	batches, from := extent(r), 1+r.IntN(30)
	count := 1 + r.IntN(from)
	if r.IntN(30) == 0 { // more than a chunk
		batches, from, count = 1, 600, 520
	}
	p := &td.FurthestPointSampling{Count: count, Metric: pick(r, td.DistanceL1, td.DistanceL2)}
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), batches, 1, 3, 1, count), operand256(pick(r, sourceTypes...), batches, 1, 3, 1, from),
	}}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	taken := make([][]int, batches)
	for n := range taken {
		taken[n] = []int{0}
		far := make([]float64, from)
		for j := range far {
			far[j] = math.Inf(1)
		}
		for len(taken[n]) < count {
			last, next := b.point(1, n, taken[n][len(taken[n])-1]), 0
			for j := range far {
				far[j] = min(far[j], apart(p.Metric, b.point(1, n, j), last))
				if far[j] > far[next] {
					next = j
				}
			}
			taken[n] = append(taken[n], next)
		}
	}
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		i[td.AxisW] = taken[i[td.AxisN]][i[td.AxisW]]
		return b.get(1, i), 0
	})
}

func testRadiusSearch(t *testing.T, r *rand.Rand) {
	p := &td.RadiusSearch{Radius: pick[float32](r, 0.5, 1, 1.5, 9)}
	batches, centroids, points := extent(r), 1+r.IntN(9), 1+r.IntN(9)
	if r.IntN(20) == 0 { // more than a chunk
		centroids = 600
	}
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, append(append([]tensor.DType{}, floatTypes...), tensor.Bool, tensor.Int8)...), batches, 1, 1, points, centroids),
		operand256(pick(r, sourceTypes...), batches, 1, 3, 1, centroids), operand256(pick(r, sourceTypes...), batches, 1, 3, 1, points),
	}}
	if op.Operands[0].Type.IsFloat() {
		epilogues(r, op, false)
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		n := i[td.AxisN]
		if apart(td.DistanceL2, b.point(1, n, i[td.AxisW]), b.point(2, n, i[td.AxisH])) <= float64(p.Radius)*float64(p.Radius) {
			return 1, 0
		}
		return 0, 0
	})
}

func largeGeometryOps() []*td.Op {
	f16 := tensor.Float16
	return []*td.Op{
		{Params: &td.CrossProduct{}, Operands: []td.Operand{operand256(f16, 1, 1, 3, 50, 60), operand256(f16, 1, 1, 3, 50, 60), operand256(f16, 1, 1, 3, 50, 60)}},
		{Params: &td.CrossCorrelation{Template: [2]int{3, 3}, Groups: 1}, Operands: []td.Operand{
			operand256(f16, 1, 1, 40, 28, 38), operand256(f16, 1, 1, 24, 30, 40), operand256(f16, 1, 1, 1, 1, 40*24*9)}},
		{Params: &td.CostVolume{Range: 15}, Operands: []td.Operand{
			operand256(f16, 1, 1, 16, 30, 40), operand256(f16, 1, 1, 1, 30, 40), operand256(f16, 1, 1, 1, 30, 60)}},
		{Params: &td.FurthestPointSampling{Count: 20, Metric: td.DistanceL2}, Operands: []td.Operand{
			operand256(f16, 5, 1, 3, 1, 20), operand256(f16, 5, 1, 3, 1, 100)}},
		{Params: &td.RadiusSearch{Radius: 1}, Operands: []td.Operand{
			operand256(f16, 2, 1, 1, 90, 70), operand256(f16, 2, 1, 3, 1, 70), operand256(f16, 2, 1, 3, 1, 90)}},
	}
}
