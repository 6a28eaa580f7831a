package bundle

import (
	"bytes"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/tensor"
)

// named is a container with an input, a state and an output, some of one name.
func named(t *testing.T) *hwx.File {
	t.Helper()
	file, err := hwx.NewFile(container(t))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := file.Describe()
	if err != nil {
		t.Fatal(err)
	}
	port := func(name string, d hwx.Direction) hwx.PortSpec {
		shape := [4]uint32{1, 2, 3, 4}
		return hwx.PortSpec{Name: name, Direction: d, Element: hwx.ElementFloat16, Shape: shape, Strides: [4]uint64{384, 192, 64, 2}}
	}
	spec.Form, spec.Ports = hwx.Form2026, []hwx.PortSpec{port("x", hwx.In), port("held", hwx.InOut), port("x", hwx.Out)}
	spec.Windows = []int{0, 1, 2}
	built, err := hwx.Build(*spec)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func TestOfContainer(t *testing.T) {
	file := named(t)
	b, err := OfContainer(file, "h13,saturate-at-port=0")
	if err != nil {
		t.Fatal(err)
	}
	array := func(name, kind string) Feature {
		return Feature{Name: name, Kind: kind, Array: &Array{Type: "fp16", Shape: []int{1, 2, 3, 4}}}
	}
	want := Function{
		Name: "net", Inputs: []Feature{array("x", "array")}, Outputs: []Feature{array("x@output", "array")}, States: []Feature{array("held", "state")},
		Segments: []Segment{{Operation: "Op1_AneInference", Backend: Engine, Container: ContainerPath(0), Procedure: "net"}},
	}
	if m := b.Manifest; m.Target != "h13" || m.Numerics != "h13,saturate-at-port=0" || len(m.Functions) != 1 || !reflect.DeepEqual(m.Functions[0], want) {
		t.Errorf("the manifest is %+v, want the function %+v", m, want)
	}
	layout := e5.NCHW(e5.Float16, [4]uint64{1, 2, 3, 4}, [4]uint64{384, 192, 64, 2})
	operands := func(symbols ...string) (list []e5.Operand) {
		for _, symbol := range symbols {
			list = append(list, e5.Operand{Symbol: symbol, Tensor: layout})
		}
		return list
	}
	all := b.Program.Functions[0].Operations()
	if op := all[1]; !reflect.DeepEqual(op.Inputs, operands("x@port", "held")) || !reflect.DeepEqual(op.Outputs, operands("held", "x@output@port")) {
		t.Errorf("the inference takes %v and gives %v", op.Inputs, op.Outputs)
	}
	dense, err := e5.Dense(tensor.Float16, 1, 2, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]e5.Operation{
		0: {Inputs: []e5.Operand{{Symbol: "x", Tensor: dense}}, Outputs: operands("x@port")},
		2: {Inputs: operands("x@output@port"), Outputs: []e5.Operand{{Symbol: "x@output", Tensor: dense}}},
	} {
		if op := all[i]; op.Kind() != e5.Cast || !reflect.DeepEqual(op.Inputs, want.Inputs) || !reflect.DeepEqual(op.Outputs, want.Outputs) {
			t.Errorf("operation %d is %+v, want a cast from %v to %v", i, op, want.Inputs, want.Outputs)
		}
	}

	// It is a bundle as any other.
	dir := filepath.Join(t.TempDir(), "net.bundle")
	if _, err := Write(dir, b.Content()); err != nil {
		t.Fatal(err)
	}
	back, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	var data bytes.Buffer
	if _, err := file.WriteTo(&data); err != nil || !bytes.Equal(back.Bytes(ContainerPath(0)), data.Bytes()) {
		t.Errorf("the container has changed (%v)", err)
	}
}
