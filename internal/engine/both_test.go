package engine_test

import (
	"encoding/binary"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// both is one computation in two encodings: a task of version 7, and an
// operation of version 256. Numerics are the same for either.
type both struct {
	v7 func(b *builder)
	op operation
}

// An operation has ports, constants from the first byte on, and operands there.
type operation struct {
	ports     []hwx.PortSpec
	constants []float32
	params    td.Params
	constant  [td.NumAxes]int // extents of the last operand, a constant; 0: there is none
	epilogue  []td.MicroOp
	view      func(operands []td.Operand) // what operands see of the ports; nil: all
}

func port(name string, direction hwx.Direction, shape ...uint32) hwx.PortSpec {
	return hwx.PortSpec{Name: name, Direction: direction, Element: hwx.ElementFloat16, Shape: [4]uint32(shape)}
}

// onPort is the operand that is all of a port, whose rows begin every 64 bytes.
func onPort(base int, p *hwx.PortSpec) td.Operand {
	n, c, h, w := int(p.Shape[0]), int(p.Shape[1]), int(p.Shape[2]), int(p.Shape[3])
	row := int64(2*w+63) / 64 * 64
	return td.Operand{
		Base: base, Type: tensor.Float16, Interleave: 1, Dims: [td.NumAxes]int{n, 1, c, h, w},
		Strides: [td.NumAxes]int64{row * int64(c*h), row * int64(c*h), row * int64(h), row, halfSize},
	}
}

// file makes the container of an operation: the result is the last port.
func (o *operation) file(t testing.TB, target string, version td.Version) *hwx.File {
	t.Helper()
	tgt, err := hal.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	constants := make([]byte, max(0x8000, halfSize*len(o.constants)))
	for i, v := range o.constants {
		binary.LittleEndian.PutUint16(constants[halfSize*i:], tensor.ToF16(v))
	}
	last := len(o.ports) - 1
	op := &td.Op{Params: o.params, Epilogue: o.epilogue, Operands: []td.Operand{onPort(hwx.BasePorts+last, &o.ports[last])}}
	for i := range o.ports[:last] {
		op.Operands = append(op.Operands, onPort(hwx.BasePorts+i, &o.ports[i]))
	}
	if o.constant[0] != 0 {
		op.Operands = append(op.Operands, td.Dense(hwx.BaseConst, 0, tensor.Float16, o.constant))
	}
	if o.view != nil {
		o.view(op.Operands)
	}
	spec := hwx.Spec{Form: hwx.Form2026, Subtype: tgt.CPUSubtype, Constants: constants, Ports: o.ports}
	for i := range o.ports {
		spec.Windows = append(spec.Windows, i)
	}
	return readBack(t, spec, tasksOf(t, version, op))
}

// files are the containers of a computation by what they hold.
func (b *both) files(t testing.TB) map[string]*hwx.File {
	files := map[string]*hwx.File{
		"version 256": b.op.file(t, "virtual", td.V256),
		"extension":   b.op.file(t, "h13", td.V7),
	}
	if b.v7 != nil {
		real := newBuilder(t)
		b.v7(real)
		files["version 7"] = real.file()
	}
	return files
}

// dot is a sum of products: 4 inputs, 2 outputs with these weights.
var dot = both{dotTask, operation{
	ports:     []hwx.PortSpec{port("x", hwx.In, 1, 4, 1, 1), port("y", hwx.Out, 1, 2, 1, 1)},
	constants: dotWeights, constant: [td.NumAxes]int{2, 1, 4, 1, 1},
	params: &td.Convolution{Window: td.UnitWindow, Groups: 1},
}}

// planarOf is an operator on two inputs.
func planarOf(op int) both {
	kind := map[int]td.EWKind{peAdd: td.EWAdd, peMultiply: td.EWMult, peMaximum: td.EWMax}[op]
	return both{planarTask(op), operation{
		ports:  []hwx.PortSpec{port("x", hwx.In, 1, 4, 1, 1), port("z", hwx.In, 1, 4, 1, 1), port("y", hwx.Out, 1, 4, 1, 1)},
		params: &td.ElementWise{Kind: kind},
	}}
}

// rsqrtSum is the reciprocal square root of a sum along W.
var rsqrtSum = both{rsqrtTask, operation{
	ports:    []hwx.PortSpec{port("x", hwx.In, 1, 2, 1, 2), port("y", hwx.Out, 1, 2, 1, 1)},
	params:   &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisW)},
	epilogue: []td.MicroOp{{Code: td.MicroActivation, Function: uint8(td.FuncRSqrt)}},
}}
