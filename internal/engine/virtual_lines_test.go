package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The classes by their definitions, in fp64: those that reduce, normalize or
// move.

func testReduction(t *testing.T, r *rand.Rand) {
	floats := []td.ReductionKind{
		td.ReduceSum, td.ReduceMin, td.ReduceMax, td.ReduceAvg, td.ReduceArgMin, td.ReduceArgMax,
		td.ReduceProduct, td.ReduceSumSquare, td.ReduceL1, td.ReduceL2, td.ReduceLogSum, td.ReduceLogSumExp,
	}
	wholes := []td.ReductionKind{
		td.ReduceSum, td.ReduceMin, td.ReduceMax, td.ReduceArgMin, td.ReduceArgMax, td.ReduceProduct, td.ReduceSumSquare, td.ReduceL1,
		td.ReduceBitwiseAnd, td.ReduceBitwiseOr, td.ReduceBitwiseXor,
	}
	ints := r.IntN(2) == 0
	p := &td.Reduction{Kind: pick(r, floats...), Axes: td.Axes(r.IntN(1 << td.NumAxes))}
	result, sources := floatTypes, sourceTypes
	if ints {
		p.Kind = pick(r, wholes...)
		result, sources = []tensor.DType{tensor.Int32, tensor.Int64, tensor.UInt8}, integerTypes
	}
	if p.Kind == td.ReduceArgMin || p.Kind == td.ReduceArgMax {
		p.Axes = td.AxesOf(td.Axis(r.IntN(td.NumAxes)))
		result = []tensor.DType{tensor.Int32, tensor.UInt16, tensor.Float16}
	}
	x := [td.NumAxes]int{1 + r.IntN(3), pick(r, 1, 2), 1 + r.IntN(6), 1 + r.IntN(5), 1 + r.IntN(20)}
	if r.IntN(20) == 0 {
		x[td.AxisW], p.Axes = 700, td.AxesOf(td.AxisH, td.AxisW)
		if p.Kind == td.ReduceArgMin || p.Kind == td.ReduceArgMax || p.Kind == td.ReduceProduct {
			p.Kind = td.ReduceSum
		}
	}
	if r.IntN(20) == 0 && p.Kind == td.ReduceSum {
		x[r.IntN(td.NumAxes)] = 0
	}
	y, inner := x, [td.NumAxes]int{1, 1, 1, 1, 1}
	for a := range x {
		if p.Axes.Has(td.Axis(a)) {
			y[a], inner[a] = 1, x[a]
		}
	}
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, result...), y[:]...), operand256(pick(r, sources...), x[:]...),
	}}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		var sum, norm1, norm2, exps, n float64
		product, and, or, xor := 1.0, int64(-1), int64(0), int64(0)
		top, least, argTop, argLeast := math.Inf(-1), math.Inf(1), 0.0, 0.0
		each(inner, func(j [td.NumAxes]int) {
			for a := range j {
				j[a] += i[a]
			}
			v := b.get(1, j)
			if v > top {
				top, argTop = v, n
			}
			if v < least {
				least, argLeast = v, n
			}
			sum, norm1, norm2, exps, n = sum+v, norm1+math.Abs(v), norm2+v*v, exps+math.Exp(v), n+1
			product *= v
			and, or, xor = and&int64(v), or|int64(v), xor^int64(v)
		})
		switch p.Kind {
		case td.ReduceMin:
			return least, 0
		case td.ReduceMax:
			return top, 0
		case td.ReduceAvg:
			return sum / n, 0
		case td.ReduceArgMin:
			return argLeast, 0
		case td.ReduceArgMax:
			return argTop, 0
		case td.ReduceBitwiseAnd:
			return float64(and), 0
		case td.ReduceBitwiseOr:
			return float64(or), 0
		case td.ReduceBitwiseXor:
			return float64(xor), 0
		case td.ReduceProduct:
			if ints { // it wraps
				w := int64(1)
				each(inner, func(j [td.NumAxes]int) {
					for a := range j {
						j[a] += i[a]
					}
					w *= int64(b.get(1, j))
				})
				return wrapped(op.Operands[0].Type, w), 0
			}
			return product, 0
		case td.ReduceSumSquare:
			return norm2, 0
		case td.ReduceL1:
			return norm1, 0
		case td.ReduceL2:
			return math.Sqrt(norm2), 0
		case td.ReduceLogSum:
			return math.Log(sum), 0
		case td.ReduceLogSumExp:
			return math.Log(exps), 0
		}
		return sum, 0
	})
}

// wrapped is an integer stored as a type.
func wrapped(d tensor.DType, v int64) float64 {
	return tensor.FromInt64s(d, []int64{v}, 1).Float64s()[0]
}

func testSoftmax(t *testing.T, r *rand.Rand) {
	p := &td.Softmax{Axis: td.Axis(r.IntN(td.NumAxes))}
	dims := [td.NumAxes]int{extent(r), pick(r, 1, 2), 1 + r.IntN(6), 1 + r.IntN(6), 1 + r.IntN(9)}
	if r.IntN(20) == 0 {
		dims = [td.NumAxes]int{1, 1, 1, 1, 1}
		dims[p.Axis] = 1100
	}
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...),
	}}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		sum, j := 0.0, i
		for j[p.Axis] = range dims[p.Axis] {
			sum += math.Exp(b.get(1, j))
		}
		return math.Exp(b.get(1, i)) / sum, 0
	})
}

func testLayerNorm(t *testing.T, r *rand.Rand) {
	p := &td.LayerNorm{Axes: td.Axes(r.IntN(1 << td.NumAxes)), Epsilon: pick[float32](r, 1e-5, 0.5)}
	dims := [td.NumAxes]int{extent(r), pick(r, 1, 2), 1 + r.IntN(6), 1 + r.IntN(6), 1 + r.IntN(9)}
	if r.IntN(20) == 0 {
		dims = [td.NumAxes]int{1, 1, 2, 1, 600}
	}
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...),
	}}
	gamma, beta := r.IntN(2) == 0, r.IntN(2) == 0
	if gamma || beta {
		op.Operands = append(op.Operands, td.Operand{}, td.Operand{})
		if gamma {
			op.Operands[2] = broadcastOf(r, pick(r, floatTypes...), dims)
		}
		if beta {
			op.Operands[3] = broadcastOf(r, pick(r, floatTypes...), dims)
		} else {
			op.Operands = op.Operands[:3]
		}
	}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	inner := [td.NumAxes]int{1, 1, 1, 1, 1}
	for a := range dims {
		if p.Axes.Has(td.Axis(a)) {
			inner[a] = dims[a]
		}
	}
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		all := func(f func(v float64)) {
			each(inner, func(j [td.NumAxes]int) {
				for a := range j {
					if !p.Axes.Has(td.Axis(a)) {
						j[a] = i[a]
					}
				}
				f(b.get(1, j))
			})
		}
		var sum, n, variance float64
		all(func(v float64) { sum, n = sum+v, n+1 })
		all(func(v float64) { variance += (v - sum/n) * (v - sum/n) })
		want = (b.get(1, i) - sum/n) / math.Sqrt(variance/n+float64(p.Epsilon))
		if gamma {
			want *= b.get(2, i)
		}
		terms = math.Abs(want)
		if beta {
			want += b.get(3, i)
		}
		return want, terms
	})
}

func testGather(t *testing.T, r *rand.Rand) {
	p := &td.Gather{Axis: td.Axis(r.IntN(td.NumAxes))}
	y := [td.NumAxes]int{extent(r), extent(r), 1 + r.IntN(6), 1 + r.IntN(6), 1 + r.IntN(9)}
	x := y
	x[p.Axis] = 1 + r.IntN(8)
	d := pick(r, append(append([]tensor.DType{}, floatTypes...), integerTypes...)...)
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(d, y[:]...), operand256(d, x[:]...),
		broadcastOf(r, pick(r, tensor.Int32, tensor.Int8, tensor.UInt16, tensor.Int64, tensor.UInt4), y),
	}}
	if r.IntN(3) == 0 {
		op.Operands[0].Type, op.Operands[1].Type = tensor.Float32, pick(r, sourceTypes...)
		epilogues(r, op, false)
	} else if r.IntN(3) == 0 {
		op.Operands[0].Type, op.Operands[1].Type = tensor.Int32, pick(r, integerTypes...)
		epilogues(r, op, true)
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		at := int(b.get(2, i))
		if at < 0 {
			at += x[p.Axis]
		}
		if i[p.Axis] = at; at < 0 || at >= x[p.Axis] {
			return 0, 0
		}
		return b.get(1, i), 0
	})
}

func testCopy(t *testing.T, r *rand.Rand)      { testCopyAs(t, r, &td.Copy{}) }
func testInputView(t *testing.T, r *rand.Rand) { testCopyAs(t, r, &td.InputView{}) }

func testCopyAs(t *testing.T, r *rand.Rand, p td.Params) {
	dims := [td.NumAxes]int{extent(r), extent(r), 1 + r.IntN(6), 1 + r.IntN(6), 1 + r.IntN(40)}
	from := pick(r, sourceTypes...)
	to := from
	if from.SubByte() || r.IntN(2) == 0 {
		to = pick(r, append(append([]tensor.DType{}, floatTypes...), integerTypes...)...)
	}
	op := &td.Op{Params: p, Operands: []td.Operand{operand256(to, dims[:]...), broadcastOf(r, from, dims)}}
	b := newBench(t, r, op)
	b.check(t, strided.Bound{}, func(i [td.NumAxes]int) (want, terms float64) { return b.get(1, i), 0 })
}

func testAttention(t *testing.T, r *rand.Rand) {
	p := &td.Attention{Scale: 0.5}
	l, s, e, v := 1+r.IntN(20), 1+r.IntN(9), 1+r.IntN(9), 1+r.IntN(5)
	switch r.IntN(10) {
	case 0:
		s, e, l = 150, 3, 3
	case 1:
		l, s, e, v = 2, 3, 270, 70
	case 2:
		s = 0
	}
	batch := [td.NumAxes]int{extent(r), 1, 1 + r.IntN(3), 1, 1}
	dims := func(h, w int, broadcast bool) []int {
		d := batch
		if broadcast {
			d = broadcastOf(r, tensor.Bool, batch).Dims
		}
		d[td.AxisH], d[td.AxisW] = h, w
		return d[:]
	}
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, tensor.Float16, tensor.Float32), dims(l, v, false)...),
		operand256(pick(r, floatTypes...), dims(l, e, false)...),
		operand256(pick(r, floatTypes...), dims(s, e, true)...),
		operand256(pick(r, floatTypes...), dims(s, v, true)...),
	}}
	masked := r.IntN(2) == 0
	if masked {
		op.Operands = append(op.Operands, operand256(pick(r, tensor.Bool, tensor.Float16), dims(pick(r, 1, l), s, true)...))
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		var total, sum, size float64
		top := math.Inf(-1)
		scores := make([]float64, s)
		for k := range s {
			q, key, m := i, i, i
			key[td.AxisH], m[td.AxisW] = k, k
			for f := range e {
				q[td.AxisW], key[td.AxisW] = f, f
				scores[k] += b.get(1, q) * b.get(2, key)
				size = max(size, math.Abs(scores[k]))
			}
			scores[k] *= float64(p.Scale)
			if masked {
				switch value := b.get(4, m); {
				case op.Operands[4].Type != tensor.Bool:
					scores[k] += value
				case value == 0:
					scores[k] = math.Inf(-1)
				}
			}
			top = max(top, scores[k])
		}
		for k := range s {
			at := i
			at[td.AxisH] = k
			w := math.Exp(scores[k] - top)
			total += w
			sum += w * b.get(3, at)
			terms += w * math.Abs(b.get(3, at))
		}
		if s == 0 {
			return 0, 0
		}
		return sum / total, terms / total * (1 + size/16)
	})
}
