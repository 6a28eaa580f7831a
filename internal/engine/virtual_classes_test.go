package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The classes by their definitions, in fp64: those that slide, multiply, or take
// element by element.

func randomWindow(r *rand.Rand) td.Window {
	var w td.Window
	for i := range 3 {
		w.Kernel[i], w.Stride[i], w.Dilation[i] = 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(2)
		w.PadBefore[i], w.PadAfter[i] = r.IntN(3), r.IntN(3)
	}
	if r.IntN(2) == 0 {
		w.Kernel[0], w.Stride[0], w.Dilation[0], w.PadBefore[0], w.PadAfter[0] = 1, 1, 1, 0, 0
	}
	return w
}

// over returns the extents that a window leaves of some extents.
func over(w *td.Window, dims [td.NumAxes]int) [td.NumAxes]int {
	for i, a := range [...]td.Axis{td.AxisD, td.AxisH, td.AxisW} {
		room := dims[a] + w.PadBefore[i] + w.PadAfter[i] - (w.Kernel[i]-1)*w.Dilation[i] - 1
		dims[a] = 0
		if room >= 0 {
			dims[a] = room/w.Stride[i] + 1
		}
	}
	return dims
}

// underTaps calls f for the taps of a window and what lies under them.
func underTaps(w *td.Window, in, o [td.NumAxes]int, f func(tap, x [td.NumAxes]int)) {
	each([td.NumAxes]int{1, w.Kernel[0], 1, w.Kernel[1], w.Kernel[2]}, func(tap [td.NumAxes]int) {
		x := o
		for i, a := range [...]td.Axis{td.AxisD, td.AxisH, td.AxisW} {
			x[a] = o[a]*w.Stride[i] + tap[a]*w.Dilation[i] - w.PadBefore[i]
			if x[a] < 0 || x[a] >= in[a] {
				return
			}
		}
		f(tap, x)
	})
}

func testConvolution(t *testing.T, r *rand.Rand) {
	if r.IntN(4) == 0 {
		testTransposedConvolution(t, r)
		return
	}
	p := &td.Convolution{Window: randomWindow(r), Groups: pick(r, 1, 1, 2, 3)}
	inputs, outputs := pick(r, 1, 2, 3, 5), pick(r, 1, 2, 5)
	if r.IntN(15) == 0 { // more than a tile
		p = &td.Convolution{Window: td.UnitWindow, Groups: 1}
		inputs, outputs = 300, 37
	}
	x := [td.NumAxes]int{extent(r), pick(r, 1, 1, 3), inputs * p.Groups, 1 + r.IntN(9), 1 + r.IntN(9)}
	if r.IntN(6) == 0 {
		x[td.AxisH], x[td.AxisW] = 1, 1
	}
	y := over(&p.Window, x)
	y[td.AxisC] = outputs * p.Groups
	op := &td.Op{ID: uint16(r.Uint32()), Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), y[:]...),
		operand256(pick(r, sourceTypes...), x[:]...),
		operand256(pick(r, sourceTypes...), y[td.AxisC], p.Kernel[0], inputs, p.Kernel[1], p.Kernel[2]),
	}}
	if r.IntN(2) == 0 {
		op.Operands = append(op.Operands, operand256(pick(r, floatTypes...), 1, 1, y[td.AxisC], 1, 1))
	}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), b.convolved)
}

// convolved is an element of a convolution that is not transposed.
func (b *bench) convolved(i [td.NumAxes]int) (sum, terms float64) {
	p, x, weights := b.op.Params.(*td.Convolution), b.op.Operands[1].Dims, b.op.Operands[2].Dims
	inputs, outputs := weights[td.AxisC], weights[td.AxisN]/p.Groups
	underTaps(&p.Window, x, i, func(tap, at [td.NumAxes]int) {
		for c := range inputs {
			at[td.AxisC] = i[td.AxisC]/outputs*inputs + c
			tap[td.AxisN], tap[td.AxisC] = i[td.AxisC], c
			v := b.get(1, at) * b.get(2, tap)
			sum += v
			terms += math.Abs(v)
		}
	})
	if len(b.op.Operands) > 3 && b.op.Operands[3].Present() {
		sum += b.get(3, [td.NumAxes]int{td.AxisC: i[td.AxisC]})
	}
	return sum, terms + math.Abs(sum)
}

// testTransposedConvolution adds up what each element of x spreads over y.
func testTransposedConvolution(t *testing.T, r *rand.Rand) {
	p := &td.Convolution{Window: randomWindow(r), Groups: pick(r, 1, 1, 2, 3), Transposed: true}
	inputs, outputs := pick(r, 1, 2, 3, 5), pick(r, 1, 2, 5)
	x := [td.NumAxes]int{extent(r), pick(r, 1, 1, 3), inputs * p.Groups, 1 + r.IntN(6), 1 + r.IntN(6)}
	y := x
	y[td.AxisC] = outputs * p.Groups
	for i, a := range [...]td.Axis{td.AxisD, td.AxisH, td.AxisW} {
		reached := (x[a]-1)*p.Stride[i] + (p.Kernel[i]-1)*p.Dilation[i] + 1
		y[a] = max(0, reached-p.PadBefore[i]-p.PadAfter[i]) + pick(r, 0, 0, 1, 3)
	}
	op := &td.Op{ID: uint16(r.Uint32()), Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), y[:]...),
		operand256(pick(r, floatTypes...), x[:]...),
		operand256(pick(r, floatTypes...), x[td.AxisC], p.Kernel[0], outputs, p.Kernel[1], p.Kernel[2]),
	}}
	if r.IntN(2) == 0 {
		op.Operands = append(op.Operands, operand256(pick(r, floatTypes...), 1, 1, y[td.AxisC], 1, 1))
	}
	biased := len(op.Operands) > 3
	epilogues(r, op, false)
	b := newBench(t, r, op)
	for slices.ContainsFunc(op.Operands, func(o td.Operand) bool { return o.Interleave > 1 }) { // refused for some
		b = newBench(t, r, op)
	}
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (sum, terms float64) {
		each([td.NumAxes]int{1, x[td.AxisD], 1, x[td.AxisH], x[td.AxisW]}, func(at [td.NumAxes]int) {
			tap := [td.NumAxes]int{}
			for s, a := range [...]td.Axis{td.AxisD, td.AxisH, td.AxisW} {
				t := i[a] + p.PadBefore[s] - at[a]*p.Stride[s]
				if t < 0 || t%p.Dilation[s] != 0 || t/p.Dilation[s] >= p.Kernel[s] {
					return
				}
				tap[a] = t / p.Dilation[s]
			}
			at[td.AxisN], tap[td.AxisC] = i[td.AxisN], i[td.AxisC]%outputs
			for c := range inputs {
				at[td.AxisC] = i[td.AxisC]/outputs*inputs + c
				tap[td.AxisN] = at[td.AxisC]
				v := b.get(1, at) * b.get(2, tap)
				sum += v
				terms += math.Abs(v)
			}
		})
		if biased {
			sum += b.get(3, [td.NumAxes]int{td.AxisC: i[td.AxisC]})
		}
		return sum, terms + math.Abs(sum)
	})
}

func testPooling(t *testing.T, r *rand.Rand) {
	p := &td.Pooling{
		Window: randomWindow(r), CountPad: r.IntN(2) == 0,
		Kind: pick(r, td.PoolAvg, td.PoolMax, td.PoolMin, td.PoolL1, td.PoolL2),
	}
	x := [td.NumAxes]int{extent(r), pick(r, 1, 3), 1 + r.IntN(5), 1 + r.IntN(9), 1 + r.IntN(9)}
	y := over(&p.Window, x)
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), y[:]...), operand256(pick(r, sourceTypes...), x[:]...),
	}}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		var sum, norm1, norm2, n float64
		top, least := math.Inf(-1), math.Inf(1)
		underTaps(&p.Window, x, i, func(_, at [td.NumAxes]int) {
			v := b.get(1, at)
			sum, norm1, norm2, n = sum+v, norm1+math.Abs(v), norm2+v*v, n+1
			top, least = max(top, v), min(least, v)
		})
		switch p.Kind {
		case td.PoolMax:
			return top, 0
		case td.PoolMin:
			return least, 0
		case td.PoolL1:
			return norm1, 0
		case td.PoolL2:
			return math.Sqrt(norm2), 0
		}
		if p.CountPad {
			n = float64(p.Kernel[0] * p.Kernel[1] * p.Kernel[2])
		}
		return sum / max(n, 1), 0
	})
}

func testElementWise(t *testing.T, r *rand.Rand) {
	kinds := []td.EWKind{
		td.EWNone, td.EWAdd, td.EWMult, td.EWSquare, td.EWSub, td.EWMax, td.EWMin, td.EWAbs, td.EWDiv,
		td.EWEqualZero, td.EWLessThanZero, td.EWGreaterThanEqualZero, td.EWEqual, td.EWNotEqual, td.EWLessThan, td.EWGreaterThanEqual,
		td.EWFloorDiv, td.EWMod, td.EWPower, td.EWAnd, td.EWOr, td.EWXor,
	}
	p := &td.ElementWise{Kind: pick(r, kinds...)}
	dims := [td.NumAxes]int{extent(r), extent(r), 1 + r.IntN(7), extent(r), 1 + r.IntN(40)}
	if r.IntN(10) == 0 {
		dims = [td.NumAxes]int{1, 1, 2, 1, 1300} // more than a chunk
	}
	ints := r.IntN(2) == 0
	result, sources := floatTypes, sourceTypes
	if ints {
		result, sources = []tensor.DType{tensor.Int32, tensor.Int64, tensor.Int16}, integerTypes
	}
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, result...), dims[:]...), broadcastOf(r, pick(r, sources...), dims),
	}}
	if !p.Kind.Unary() {
		op.Operands = append(op.Operands, broadcastOf(r, pick(r, sources...), dims))
	}
	if p.Kind != td.EWPower && p.Kind != td.EWDiv && p.Kind != td.EWFloorDiv && p.Kind != td.EWMod {
		epilogues(r, op, ints)
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		x, z := b.get(1, i), 0.0
		if !p.Kind.Unary() {
			z = b.get(2, i)
		}
		return plainPair(p.Kind, x, z, ints), 0
	})
}

func plainPair(k td.EWKind, x, z float64, ints bool) float64 {
	is := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	if ints && z == 0 && (k == td.EWDiv || k == td.EWFloorDiv || k == td.EWMod) {
		return 0
	}
	switch k {
	case td.EWAdd:
		return x + z
	case td.EWMult:
		return x * z
	case td.EWSquare:
		return x * x
	case td.EWSub:
		return x - z
	case td.EWMax:
		return max(x, z)
	case td.EWMin:
		return min(x, z)
	case td.EWAbs:
		return math.Abs(x)
	case td.EWDiv:
		if ints {
			return math.Trunc(x / z)
		}
		return x / z
	case td.EWEqualZero:
		return is(x == 0)
	case td.EWLessThanZero:
		return is(x < 0)
	case td.EWGreaterThanEqualZero:
		return is(x >= 0)
	case td.EWEqual:
		return is(x == z)
	case td.EWNotEqual:
		return is(x != z)
	case td.EWLessThan:
		return is(x < z)
	case td.EWGreaterThanEqual:
		return is(x >= z)
	case td.EWFloorDiv: // the values are multiples of 1/64, so the quotient is never near a whole number
		return math.Floor(x / z)
	case td.EWMod:
		if z == 0 {
			return math.NaN()
		}
		return x - z*math.Floor(x/z)
	case td.EWPower:
		if ints {
			return float64(wrappingPower(int64(x), int64(z)))
		}
		return math.Pow(x, z)
	case td.EWAnd:
		return is(x != 0 && z != 0)
	case td.EWOr:
		return is(x != 0 || z != 0)
	case td.EWXor:
		return is((x != 0) != (z != 0))
	}
	return x
}

// wrappingPower is a power of integers by its definition; a negative one is
// truncated, and 0 of 0, as a quotient by 0 is.
func wrappingPower(x, z int64) int64 {
	if z < 0 && x == 0 {
		return 0
	}
	if z < 0 {
		return int64(math.Trunc(math.Pow(float64(x), float64(z))))
	}
	p := int64(1)
	for range z {
		p *= x
	}
	return p
}

func testMatMul(t *testing.T, r *rand.Rand) {
	p := &td.MatMul{TransposeX: r.IntN(2) == 0, TransposeZ: r.IntN(2) == 0}
	rows, cols, inner := 1+r.IntN(9), 1+r.IntN(9), extent(r)
	switch r.IntN(12) {
	case 0:
		rows, cols, inner = 35, 67, 3
	case 1:
		rows, cols, inner = 3, 5, 520
	}
	batch := [td.NumAxes]int{extent(r), pick(r, 1, 2), 1 + r.IntN(3), 1, 1}
	matrix := func(d tensor.DType, batch [td.NumAxes]int, h, w int, transpose bool) td.Operand {
		if transpose {
			h, w = w, h
		}
		batch[td.AxisH], batch[td.AxisW] = h, w
		return operand256(d, batch[:]...)
	}
	one := func() [td.NumAxes]int { return broadcastOf(r, tensor.Bool, batch).Dims }
	op := &td.Op{Params: p, Operands: []td.Operand{
		matrix(pick(r, floatTypes...), batch, rows, cols, false),
		matrix(pick(r, sourceTypes...), one(), rows, inner, p.TransposeX),
		matrix(pick(r, sourceTypes...), one(), inner, cols, p.TransposeZ),
	}}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	at := func(i [td.NumAxes]int, h, w int, transpose bool) [td.NumAxes]int {
		if transpose {
			h, w = w, h
		}
		i[td.AxisH], i[td.AxisW] = h, w
		return i
	}
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (sum, terms float64) {
		for k := range inner {
			v := b.get(1, at(i, i[td.AxisH], k, p.TransposeX)) * b.get(2, at(i, k, i[td.AxisW], p.TransposeZ))
			sum += v
			terms += math.Abs(v)
		}
		return sum, terms
	})
}
