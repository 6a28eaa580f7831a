package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The classes by their definitions: those that take elements from other places.

var byteTypes = append(append([]tensor.DType{}, floatTypes...), integerTypes...)

// relocated makes an operation of x, with or without conversion and epilogue.
func relocated(r *rand.Rand, p td.Params, y, x [td.NumAxes]int, more ...td.Operand) *td.Op {
	d := pick(r, byteTypes...)
	op := &td.Op{Params: p, Operands: append([]td.Operand{operand256(d, y[:]...), operand256(d, x[:]...)}, more...)}
	switch r.IntN(3) {
	case 0:
		op.Operands[0].Type, op.Operands[1].Type = tensor.Float32, pick(r, sourceTypes...)
		epilogues(r, op, false)
	case 1:
		op.Operands[0].Type, op.Operands[1].Type = tensor.Int32, pick(r, integerTypes...)
		epilogues(r, op, true)
	}
	return op
}

// leastOf is what PadNegative stands for.
func leastOf(d tensor.DType) float64 {
	switch d.Kind() {
	case tensor.KindBool, tensor.KindUint:
		return 0
	case tensor.KindInt:
		return -math.Ldexp(1, d.Bits()-1)
	}
	if d == tensor.Float8E4M3FN {
		return -448
	}
	return math.Inf(-1)
}

// outsideAxis is the index that stands at i of an axis of n, false if it is a
// value: by walking there.
func outsideAxis(m td.PaddingMode, i, n int) (int, bool) {
	for i < 0 || i >= n {
		switch m {
		case td.PadReplication:
			return min(max(i, 0), n-1), true
		case td.PadSymmetric:
			if i < 0 {
				i = -1 - i
			} else {
				i = 2*n - 1 - i
			}
		case td.PadReflective:
			if n == 1 {
				return 0, true
			}
			if i < 0 {
				i = -i
			} else {
				i = 2*(n-1) - i
			}
		default:
			return 0, false
		}
	}
	return i, true
}

// outsideOf is element i of operand 1, which may lie outside.
func (b *bench) outsideOf(m td.PaddingMode, background float32, i [td.NumAxes]int) float64 {
	x := &b.op.Operands[1]
	for a, n := range x.Dims {
		at, ok := outsideAxis(m, i[a], n)
		switch {
		case ok:
			i[a] = at
		case m == td.PadBackground:
			return float64(background)
		case m == td.PadNegative:
			return leastOf(x.Type)
		default:
			return 0
		}
	}
	return b.get(1, i)
}

var paddingModes = []td.PaddingMode{
	td.PadZero, td.PadNegative, td.PadReplication, td.PadSymmetric, td.PadReflective, td.PadBackground, td.PadDontCare,
}

func randomDims(r *rand.Rand) [td.NumAxes]int {
	switch r.IntN(12) {
	case 0:
		return [td.NumAxes]int{1, 1, 2, 1, 700} // more than a chunk
	case 1:
		return [td.NumAxes]int{1, 1, 1, 2, 2100} // more than the kernels keep places of
	}
	return [td.NumAxes]int{extent(r), extent(r), 1 + r.IntN(7), 1 + r.IntN(6), 1 + r.IntN(9)}
}

func testPadding(t *testing.T, r *rand.Rand) {
	p := &td.Padding{Mode: pick(r, paddingModes...), Value: float32(r.IntN(9) - 4)}
	x := randomDims(r)
	y := x
	for a, n := range x {
		room := 5
		switch p.Mode {
		case td.PadReflective:
			room = max(n-1, 0)
		case td.PadSymmetric, td.PadReplication:
			room = n
		}
		if long := x[td.AxisW] > 100; long && td.Axis(a) == td.AxisW || !long && r.IntN(2) == 0 { // a long row, not many
			p.Before[a], p.After[a] = r.IntN(min(room, 5)+1), r.IntN(min(room, 5)+1)
		}
		y[a] += p.Before[a] + p.After[a]
	}
	op := relocated(r, p, y, x)
	if p.Mode == td.PadNegative { // the least of an integer type leaves others, and infinity makes NaN of an epilogue
		op.Operands[0].Type = op.Operands[1].Type
		op.Operands, op.Epilogue = op.Operands[:2], nil
		if op.Operands[0].Type.SubByte() {
			op.Operands[0].Type = tensor.Float32
		}
	}
	if op.Operands[1].Type == tensor.Bool || op.Operands[1].Type.Kind() == tensor.KindUint {
		p.Value = float32(math.Abs(float64(p.Value)))
		if op.Operands[0].Type == tensor.Bool {
			p.Value = 1
		}
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		for a := range i {
			i[a] -= p.Before[a]
		}
		return b.outsideOf(p.Mode, p.Value, i), 0
	})
}

func testTile(t *testing.T, r *rand.Rand) {
	p := &td.Tile{}
	x := randomDims(r)
	y := x
	for a := range p.Reps {
		p.Reps[a] = pick(r, 1, 1, 2, 3)
		if x[td.AxisW] > 100 && td.Axis(a) != td.AxisW { // a long row, not many
			p.Reps[a] = 1
		}
		y[a] *= p.Reps[a]
	}
	op := relocated(r, p, y, x)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		for a := range i {
			i[a] %= x[a]
		}
		return b.get(1, i), 0
	})
}

func testDynamicSlice(t *testing.T, r *rand.Rand) {
	p := &td.DynamicSlice{Number: 1 + r.IntN(td.NumAxes), Padding: pick(r, paddingModes...), Background: 3, FromEnd: r.IntN(2) == 0}
	x := randomDims(r)
	y := x
	for i, a := range r.Perm(td.NumAxes)[:p.Number] {
		p.Axes[i] = td.Axis(a)
		y[a] = r.IntN(x[a] + 1)
	}
	op := relocated(r, p, y, x, operand256(pick(r, tensor.Int32, tensor.Int8, tensor.Int64, tensor.UInt16), 1, 1, 1, 1, p.Number))
	if p.Padding == td.PadNegative {
		op.Operands[0].Type = op.Operands[1].Type
		op.Operands, op.Epilogue = op.Operands[:3], nil
		if op.Operands[0].Type.SubByte() {
			op.Operands[0].Type = tensor.Float32
		}
	}
	if op.Operands[0].Type == tensor.Bool {
		p.Background = 1
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		for number, a := range p.Axes[:p.Number] {
			start := int(b.get(2, [td.NumAxes]int{td.AxisW: number}))
			if start < 0 && p.FromEnd {
				start += x[a]
			}
			i[a] += start
		}
		return b.outsideOf(p.Padding, p.Background, i), 0
	})
}

// rearrangements are the six classes: what moves, and where the place in a block
// stands in the number along an outer axis.
var rearrangements = map[td.Class]struct {
	params  func(td.Factors) td.Params
	outer   td.Axis
	scatter bool
	inner   bool
}{
	td.ClassPixelShuffle:   {func(f td.Factors) td.Params { return &td.PixelShuffle{Factors: f} }, td.AxisC, true, true},
	td.ClassPixelUnshuffle: {func(f td.Factors) td.Params { return &td.PixelUnshuffle{Factors: f} }, td.AxisC, false, true},
	td.ClassChannelToSpace: {func(f td.Factors) td.Params { return &td.ChannelToSpace{Factors: f} }, td.AxisC, true, false},
	td.ClassSpaceToChannel: {func(f td.Factors) td.Params { return &td.SpaceToChannel{Factors: f} }, td.AxisC, false, false},
	td.ClassBatchToSpace:   {func(f td.Factors) td.Params { return &td.BatchToSpace{Factors: f} }, td.AxisN, true, false},
	td.ClassSpaceToBatch:   {func(f td.Factors) td.Params { return &td.SpaceToBatch{Factors: f} }, td.AxisN, false, false},
}

func testRearrange(class td.Class) func(*testing.T, *rand.Rand) {
	c := rearrangements[class]
	return func(t *testing.T, r *rand.Rand) {
		f := td.Factors{X: 1 + r.IntN(3), Y: 1 + r.IntN(3), Z: pick(r, 1, 1, 2)}
		deep := [td.NumAxes]int{extent(r), 1 + r.IntN(2), 1 + r.IntN(4), 1 + r.IntN(4), 1 + r.IntN(5)} // blocks in the outer axis
		small := deep[c.outer]
		deep[c.outer] *= f.X * f.Y * f.Z
		wide := deep // blocks in space
		wide[c.outer] = small
		wide[td.AxisW], wide[td.AxisH], wide[td.AxisD] = deep[td.AxisW]*f.X, deep[td.AxisH]*f.Y, deep[td.AxisD]*f.Z
		y, x := deep, wide
		if c.scatter {
			y, x = wide, deep
		}
		op := relocated(r, c.params(f), y, x)
		b := newBench(t, r, op)
		b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
			if c.scatter { // i is in space
				place := (i[td.AxisD]%f.Z*f.Y+i[td.AxisH]%f.Y)*f.X + i[td.AxisW]%f.X
				if c.inner {
					i[c.outer] = i[c.outer]*f.X*f.Y*f.Z + place
				} else {
					i[c.outer] += place * small
				}
				i[td.AxisD], i[td.AxisH], i[td.AxisW] = i[td.AxisD]/f.Z, i[td.AxisH]/f.Y, i[td.AxisW]/f.X
				return b.get(1, i), 0
			}
			place := i[c.outer] / max(small, 1)
			rest := i[c.outer] % max(small, 1)
			if c.inner {
				place, rest = i[c.outer]%(f.X*f.Y*f.Z), i[c.outer]/(f.X*f.Y*f.Z)
			}
			i[c.outer] = rest
			i[td.AxisW] = i[td.AxisW]*f.X + place%f.X
			i[td.AxisH] = i[td.AxisH]*f.Y + place/f.X%f.Y
			i[td.AxisD] = i[td.AxisD]*f.Z + place/f.X/f.Y
			return b.get(1, i), 0
		})
	}
}
