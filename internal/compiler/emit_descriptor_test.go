package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// describe compiles a function of one input, and writes its operations: kinds, symbols and strides.
func describeNetwork(t *testing.T, target string, input *mil.TensorType, make func(b *mil.Builder, x *mil.Value) *mil.Value) (string, *e5.Function) {
	t.Helper()
	to, err := hal.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	b := mil.NewBuilder("main", "CoreML7")
	b.Return(make(b, b.Input("x", input)))
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compile(t.Context(), &Job{Target: to, Program: p, Functions: []Entry{{Function: p.Functions[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Bundle.Program.Functions[0]
	var text strings.Builder
	for _, op := range f.Operations() {
		fmt.Fprint(&text, op.Kind())
		for _, list := range [][]e5.Operand{op.Inputs, op.Outputs} {
			for _, o := range list {
				fmt.Fprintf(&text, " %s:%v%v", o.Symbol, o.Tensor.StorageType, o.Tensor.Stride)
			}
		}
		text.WriteString("\n")
	}
	return text.String(), f
}

func relu(b *mil.Builder, x *mil.Value) *mil.Value {
	return b.Op("relu", "y", x.Type, mil.Args{"x": x})
}

func halved(b *mil.Builder, x *mil.Value) *mil.Value {
	shape := x.Type.(*mil.TensorType).Shape
	half := b.Op("cast", "half", mil.Tensor(tensor.Float16, shape...), mil.Args{"x": x, "dtype": "fp16"})
	y := b.Op("relu", "a", half.Type, mil.Args{"x": half})
	return b.Op("cast", "y", x.Type, mil.Args{"x": y, "dtype": "fp32"})
}

// A cast stands where a port and the engine differ, in type, in layout or in both, and nowhere else.
func TestDescriptorCasts(t *testing.T) {
	for _, c := range []struct {
		name, target string
		input        *mil.TensorType
		make         func(b *mil.Builder, x *mil.Value) *mil.Value
		want         string
	}{
		{"same", "virtual", fp16(2, 3), relu, "AneInference x:float16[6 2] y:float16[6 2]\n"},
		{"whole rows", "h13", fp16(1, 4, 2, 32), relu, "AneInference x:float16[512 128 64 2] y:float16[512 128 64 2]\n"},
		{"layout", "h13", fp16(2, 3), relu, "Cast x:float16[6 2] x__engine:float16[64 2]\n" +
			"AneInference x__engine:float16[64 2] y__engine:float16[64 2]\nCast y__engine:float16[64 2] y:float16[6 2]\n"},
		{"type", "virtual", mil.Tensor(tensor.Float32, tensor.ShapeOf(2, 3)...), halved, "Cast x:float32[12 4] half:float16[6 2]\n" +
			"AneInference half:float16[6 2] a:float16[6 2]\nCast a:float16[6 2] y:float32[12 4]\n"},
		{"both", "h13", mil.Tensor(tensor.Float32, tensor.ShapeOf(2, 3)...), halved, "Cast x:float32[12 4] half__engine:float16[64 2]\n" +
			"AneInference half__engine:float16[64 2] a__engine:float16[64 2]\nCast a__engine:float16[64 2] y:float32[12 4]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, f := describeNetwork(t, c.target, c.input, c.make)
			if got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			for _, port := range []e5.IOPort{f.Inputs[0], f.Outputs[0]} {
				if shape, size, ok := port.Tensor.Dense(); !ok || uint64(size) != port.ByteSize || len(shape) != len(c.input.Shape) {
					t.Errorf("port %+v is not dense in the shape of its value", port)
				}
			}
		})
	}
}

// The frame has the extents and strides of the container's port by name.
func TestDescriptorNamesExtents(t *testing.T) {
	_, f := describeNetwork(t, "h13", fp16(2, 3), relu)
	x := f.Operations()[1].Inputs[0].Tensor
	want := e5.NCHW(e5.Float16, [4]uint64{1, 1, 2, 3}, [4]uint64{128, 128, 64, 2})
	want.Dim, want.Stride = x.Dim, x.Stride
	if fmt.Sprint(x) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", x, want)
	}
}

// checkDescriptor holds the first function of a result to what is true of every descriptor: a cast changes something, and
// somebody reads it; an operand of the engine lies as the port of its container, by its strides and by name.
func checkDescriptor(t *testing.T, r *Result) {
	t.Helper()
	f, part := r.Bundle.Program.Functions[0], 0
	read, port := map[string]bool{}, map[string]bool{}
	for _, p := range f.Inputs {
		port[p.Name] = true
	}
	for _, p := range f.Outputs {
		read[p.Name], port[p.Name] = true, true
	}
	for _, op := range f.Operations() {
		for _, o := range op.Inputs {
			read[o.Symbol] = true
		}
	}
	for _, op := range f.Operations() {
		switch op.Kind() {
		case e5.Cast:
			from, to := op.Inputs[0], op.Outputs[0]
			if !read[to.Symbol] {
				t.Errorf("%s: nobody reads %s", op.Name, to.Symbol)
			}
			if sameForm(from.Tensor, to.Tensor) && !(port[from.Symbol] && port[to.Symbol]) {
				t.Errorf("%s: %s and %s are the same", op.Name, from.Symbol, to.Symbol)
			}
			continue
		case e5.AneInference:
			checkEngineOperands(t, op, r.Functions[0].Segments[part].File)
		}
		part++
	}
}

func checkEngineOperands(t *testing.T, op *e5.Operation, file *hwx.File) {
	t.Helper()
	ports, err := file.Ports()
	if err != nil {
		t.Fatal(err)
	}
	inputs, outputs := op.Inputs, op.Outputs
	for i := range ports {
		p := &ports[i]
		var o e5.Operand
		if p.Direction != hwx.Out {
			o, inputs = inputs[0], inputs[1:]
		}
		if p.Direction != hwx.In {
			o, outputs = outputs[0], outputs[1:]
		}
		want := e5.NCHW(o.Tensor.StorageType, [4]uint64{}, [4]uint64{})
		for axis, n := range p.Shape {
			want.Dim[axis], want.Stride[axis] = uint64(n), uint64(p.Strides[axis])
		}
		want = e5.NCHW(want.StorageType, [4]uint64(want.Dim), [4]uint64(want.Stride))
		want.Dim, want.Stride = o.Tensor.Dim, o.Tensor.Stride
		if fmt.Sprint(o.Tensor) != fmt.Sprint(want) {
			t.Errorf("%s: %s is %+v, want the extents %v and strides %v of the port by name", op.Name, o.Symbol, o.Tensor, p.Shape, p.Strides)
		}
	}
}
