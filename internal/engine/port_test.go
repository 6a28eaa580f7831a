package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// TestPortTypes sends a batch through ports of every type that the catalogue of
// the container has: what is loaded arrives bit by bit, and the rest is refused
// by the name of the port.
func TestPortTypes(t *testing.T) {
	shape := [4]int{2, 3, 2, 5}
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	r := newRand(9)
	ran := 0
	for _, entry := range hwx.ElementTypes() {
		element, d := entry.Number, entry.DType
		if d == tensor.Invalid {
			continue
		}
		row := int64((shape[3]*d.Bits()/8 + 63) / 64 * 64)
		operand := func(base int) td.Operand {
			return td.Operand{
				Base: base, Type: d, Interleave: 1, Dims: [td.NumAxes]int{2, 1, 3, 2, 5},
				Strides: [td.NumAxes]int64{row * 6, 0, row * 2, row, int64(d.Size())},
			}
		}
		op := &td.Op{Params: &td.Copy{}, Operands: []td.Operand{operand(baseY), operand(baseX)}}
		if d.SubByte() {
			op.Operands[0].Strides, op.Operands[1].Strides = [td.NumAxes]int64{}, [td.NumAxes]int64{}
		}
		task, err := op.Task(td.V256)
		if err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		port := func(name string, direction hwx.Direction) hwx.PortSpec {
			return hwx.PortSpec{Name: name, Direction: direction, Element: element, Shape: [4]uint32{2, 3, 2, 5}}
		}
		spec := hwx.Spec{
			Form: hwx.Form2026, Subtype: target.CPUSubtype, Ports: []hwx.PortSpec{port("x", hwx.In), port("y", hwx.Out)},
		}
		if err := spec.SetTasks([]*td.Task{task}); err != nil {
			t.Fatal(err)
		}
		file, err := hwx.Build(spec)
		if err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		p, err := engine.Load(file, plain)
		if err != nil {
			if !strings.Contains(err.Error(), `port "x"`) || !d.SubByte() {
				t.Errorf("%v: %v", d, err)
			}
			continue
		}
		x := tensor.New(d, shape[:]...)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(r.Uint32())
		}
		if d == tensor.Bool {
			for i := range x.Bytes() {
				x.Bytes()[i] &= 1
			}
		}
		c := p.NewContext()
		if err := c.SetTensor("x", x); err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		if err := p.RunAll(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		y, err := c.Tensor("y")
		if err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		if string(y.Bytes()) != string(x.Bytes()) {
			t.Errorf("%v: got % x, want % x", d, y.Bytes(), x.Bytes())
		}
		ran++
	}
	if ran < 15 {
		t.Errorf("only %d types run", ran)
	}
}
