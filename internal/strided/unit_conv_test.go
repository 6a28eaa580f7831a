package strided

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A convolution that reads and writes memory has the bits of one whose source and
// result are dense arrays.
func TestMovedConv(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	rules := []*Rules{nil, RulesOf(hal.Numerics{NaNToInf: true, FlushArraySubnormals: true, SaturateAtPort: 32768, IndeterminateToZero: true, SaturatePartials: true})}
	moved, dense := 0, 0
	for range 250 {
		k, stride, unicast := []int{1, 1, 2, 3}[r.IntN(4)], 1+r.IntN(2), r.IntN(4) == 0
		in := units.Size{W: k + r.IntN(30), H: k + r.IntN(30), D: 1, C: 1 + r.IntN(6)}
		pad := r.IntN(k)
		out := units.Size{W: (in.W+pad-k)/stride + 1, H: (in.H+pad-k)/stride + 1, D: 1, C: 1 + r.IntN(6)}
		op := &units.Op{
			Groups: 1 + r.IntN(2), In: in, Out: out, Operation: units.MultiplyAdd, Post: units.One, NonLinear: []uint32{0, units.ReLU}[r.IntN(2)],
			Window: units.Window{KH: k, KW: k, SY: stride, SX: stride, PY: pad, PX: pad},
		}
		inputs := in.C
		if unicast {
			op.Unicast, op.Out.C, inputs = 1, in.C, 1
		}
		u := &Unit{Op: op, Source1: padded(r, 0, op.Groups, op.In), Result: padded(r, 1, op.Groups, op.Out), Rules: rules[r.IntN(2)]}
		values, bias := make([]uint16, op.Groups*op.Out.C*inputs*k*k), make([]uint16, op.Groups*op.Out.C)
		for i := range values {
			values[i] = half.Bits(float32(r.NormFloat64()))
		}
		for i := range bias {
			bias[i] = half.Bits(float32(r.NormFloat64()))
		}
		scale := 1.0
		if r.IntN(3) == 0 { // it shows whether subnormal numbers are flushed
			scale = 0x1p-15
			for i := range values {
				values[i] = half.Bits(1024 * half.Float(values[i]))
			}
			clear(bias)
		}
		u.Weights = NewWeights(values, bias, u.Rules)
		source := make([]byte, 1<<19)
		for i := 0; i < len(source); i += 2 {
			h := half.Bits(float32(scale * r.NormFloat64()))
			if r.IntN(200) == 0 {
				h = uint16(r.Uint32()) // anything
			}
			source[i], source[i+1] = byte(h), byte(h>>8)
		}
		run := func(u *Unit, kernels []Kernel) []byte {
			n := op.Groups * max(op.In.C*op.In.H*op.In.W, op.Out.C*op.Out.H*op.Out.W)
			w := &Scratch{Memory: [][]byte{source, make([]byte, 1<<19)}, Dense: &Buffers{Source1: make([]float32, n), Result: make([]float32, n)}}
			for _, k := range kernels {
				inTiles(r, k, w)
			}
			return w.Memory[1]
		}
		bound := BindUnit(u)
		if len(bound.Kernels) == 1 {
			moved++
		} else {
			dense++
		}
		shape := bound.Kernels[len(bound.Kernels)-1].(*denseConv).shape
		whole := &BoundUnit{}
		whole.add(newLoader(&u.Source1, u.reading(1), denseDims{u.Groups, u.In}, (*Buffers).source1), newDense(shape, u.Groups, u.Rules, nil, nil, u.Weights))
		if out := newArrayOutput(u); out != nil {
			whole.add(&sweep{u.Groups * shape.cout * shape.hout * shape.wout, 1, func(w *Scratch, lo, hi int) { out.apply(w.Dense.Result[lo:hi]) }, Need{}})
		}
		whole.add(newStorer(u))
		if !bytes.Equal(run(u, bound.Kernels), run(u, whole.Kernels)) {
			t.Fatalf("%+v: the bits are not those of dense arrays", *op)
		}
	}
	if moved == 0 || dense == 0 {
		t.Errorf("%d convolutions read memory, %d dense arrays", moved, dense)
	}
}

// padded lays a tensor out with room behind its rows, now and then with channels
// side by side.
func padded(r *rand.Rand, memory, groups int, s units.Size) Operand {
	dims := [td.NumAxes]int{axisN: groups, axisD: 1, axisC: s.C, axisH: s.H, axisW: s.W}
	o := td.Dense(0, 0, tensor.Float16, dims)
	row := int64(2 * s.W)
	if r.IntN(2) == 0 {
		row += int64(2 * r.IntN(9))
	}
	o.Strides = [td.NumAxes]int64{axisW: 2, axisH: row, axisC: row * int64(s.H), axisD: 0, axisN: row * int64(s.H*s.C)}
	if r.IntN(4) == 0 {
		o.Strides = [td.NumAxes]int64{axisC: 2, axisW: int64(2 * s.C), axisH: int64(2 * s.C * s.W), axisN: int64(2 * s.C * s.W * s.H)}
	}
	return Operand{Operand: o, Memory: memory}
}
