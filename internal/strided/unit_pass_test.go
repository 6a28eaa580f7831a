package strided

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// spaced lays a tensor out, its elements so many bytes apart.
func spaced(memory, groups int, s units.Size, broadcast uint32, step int64) Operand {
	o := td.Dense(0, 0, tensor.Float16, s.Extents(groups, broadcast))
	for a := range o.Strides {
		o.Strides[a] *= step / 2
	}
	return Operand{Operand: o, Memory: memory}
}

// Tasks of the planar engine, and copies, have the same bits in one pass over rows as
// element by element, which they are done if elements lie apart.
func TestPlanarPassHasTheSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	rules := RulesOf(hal.Numerics{NaNToInf: true, FlushArraySubnormals: true, IndeterminateToZero: true, RoundHalfEven: true})
	special := []uint16{0, 0x8000, 1, 0x83ff, half.Inf, half.Inf | 0x8000, half.NaN, 0x7bff, 0xfbff}
	numbers := func(n int, odd bool) []uint16 {
		v := make([]uint16, n)
		for i := range v {
			if v[i] = half.Bits(float32(r.NormFloat64())); odd && r.IntN(8) == 0 {
				v[i] = special[r.IntN(len(special))]
			}
		}
		return v
	}
	kinds := []int{td.TypePlanarUnary, td.TypePlanarBinary, td.TypePlanarGain, td.TypePlanarReduce, td.TypePlanarReduce2}
	for round := range 400 {
		size := units.Size{W: 1 + r.IntN(40), H: 1 + r.IntN(9), D: 1, C: 1 + r.IntN(9)}
		op := &units.Op{
			Planar: true, Kind: kinds[r.IntN(len(kinds))], Groups: 1 + r.IntN(2), In: size, Out: size,
			PreScale: units.One, Scale: units.One, FinalScale: 1, Negate1: r.IntN(2) == 0, Negate2: r.IntN(2) == 0, ReLU: r.IntN(3) == 0,
		}
		switch r.IntN(3) {
		case 0:
			op.PreScale = half.Bits(0.3)
		case 1:
			op.Scale, op.Bias = half.Bits(1.7), half.Bits(-0.25)
		}
		u := &Unit{Op: op, Rules: rules}
		two := op.Kind == td.TypePlanarBinary || op.Kind == td.TypePlanarReduce2
		switch {
		case round%8 == 0:
			op.Planar, op.Operation, op.Post, op.Unity = false, units.Bypass, units.One, true
			two = false
		case op.Kind == td.TypePlanarGain:
			op.Scale, op.Bias = units.One, 0
		case two:
			op.Operator = uint32(r.IntN(5))
			op.Broadcast1, op.Broadcast2 = uint32(r.IntN(16)), uint32(r.IntN(16))
		case op.Reduces() && r.IntN(2) == 0:
			op.Operator = units.PlanarSquare
		}
		count := op.Groups * size.C * size.H * size.W
		a, b := numbers(count, round%3 > 0), numbers(max(count, 2*op.Groups*size.C), round%3 > 0)
		run := func(step int64) []uint16 {
			u.Source1, u.Result = spaced(0, op.Groups, size, op.Broadcast1, step), spaced(2, op.Groups, op.ResultSize(), 0, step)
			u.Source2, u.Gains = nil, nil
			if two {
				o := spaced(1, op.Groups, size, op.Broadcast2, step)
				u.Source2 = &o
			} else if op.Planar && op.Kind == td.TypePlanarGain {
				each := units.Size{W: 1, H: 1, D: 1, C: size.C}
				o, g := spaced(1, op.Groups, each, 0, step), spaced(1, op.Groups, each, 0, step)
				g.Offset = int64(op.Groups*size.C) * step
				u.Source2, u.Gains = &o, &g
			}
			w := &Scratch{Dense: &Buffers{Source1: make([]float32, count), Source2: make([]float32, 2*count+2*op.Groups*size.C), Result: make([]float32, count)}}
			for _, v := range [][]uint16{a, b, make([]uint16, count)} {
				memory := make([]byte, int(step)*len(v))
				for i, h := range v {
					binary.LittleEndian.PutUint16(memory[i*int(step):], h)
				}
				w.Memory = append(w.Memory, memory)
			}
			for _, k := range BindUnit(u).Kernels {
				inTiles(r, k, w)
			}
			var got []uint16
			for i := range count {
				got = append(got, halfAt(w.Memory[2], i*int(step)))
			}
			return got
		}
		u.Apart = r.IntN(2) == 0
		if got, want := run(2), run(4); !slices.Equal(got, want) {
			t.Fatalf("round %d, %+v", round, *op)
		}
	}
}
