package driver_test

import (
	"context"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/driver"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience ends what hangs.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func target(t testing.TB, name string) *hal.Target {
	t.Helper()
	found, err := hal.Lookup(name)
	check(t, err)
	return found
}

// single is our own engine with one command in flight, so that it is known who waits for whom.
func single(t testing.TB) *driver.Device {
	row := *target(t, "virtual")
	row.Driver.InFlight = 1
	return driver.New(&row)
}

// port describes a port of n halves.
func port(name string, d hwx.Direction, n int) hwx.PortSpec {
	element, err := hwx.ElementOf(tensor.Float16)
	if err != nil {
		panic("bug: " + err.Error())
	}
	bytes := uint64(2 * n)
	return hwx.PortSpec{Name: name, Direction: d, Element: element, Shape: [4]uint32{1, 1, 1, uint32(n)}, Strides: [4]uint64{bytes, bytes, bytes, 2}}
}

// container makes a container for our own engine.
func container(t testing.TB, ports []hwx.PortSpec, ops ...*td.Op) []byte {
	t.Helper()
	return build(t, programSpec(t, "net", ports, ops...))
}

// build makes a container of programs.
func build(t testing.TB, programs ...hwx.Spec) []byte {
	t.Helper()
	file, err := hwx.Build(programs...)
	check(t, err)
	bytes, err := file.Encode()
	check(t, err)
	return bytes
}

// programSpec describes a program for our own engine.
func programSpec(t testing.TB, name string, ports []hwx.PortSpec, ops ...*td.Op) hwx.Spec {
	t.Helper()
	var tasks []*td.Task
	for i, op := range ops {
		op.ID = uint16(i)
		task, err := op.Task(td.V256)
		check(t, err)
		tasks = append(tasks, task)
	}
	windows := make([]int, len(ports))
	for i := range windows {
		windows[i] = i
	}
	spec := hwx.Spec{Form: hwx.Form2026, Subtype: target(t, "virtual").CPUSubtype, Program: name, Ports: ports, Windows: windows, Scratch: 1 << 16}
	check(t, spec.SetTasks(tasks))
	return spec
}

// linear is y = a·x + b for n halves.
func linear(t testing.TB, n int, a, b float32) []byte {
	t.Helper()
	return build(t, linearProgram(t, "net", "y", n, a, b))
}

func linearProgram(t testing.TB, name, output string, n int, a, b float32) hwx.Spec {
	t.Helper()
	dims := [td.NumAxes]int{1, 1, 1, 1, n}
	return programSpec(t, name, []hwx.PortSpec{port("x", hwx.In, n), port(output, hwx.Out, n)}, &td.Op{
		Params:   &td.Copy{},
		Operands: []td.Operand{td.Dense(hwx.BasePorts+1, 0, tensor.Float16, dims), td.Dense(hwx.BasePorts, 0, tensor.Float16, dims)},
		Epilogue: []td.MicroOp{{Code: td.MicroScaleBias, A: a, B: b}},
	})
}

// long is as many products in scratch, a millisecond or so each, and then y = x.
func long(t testing.TB, tasks int) []byte {
	t.Helper()
	still := func(h, w int) td.Operand {
		return td.Operand{Base: hwx.BasePorts, Type: tensor.Float16, Interleave: 1, Dims: [td.NumAxes]int{1, 1, 1, h, w}}
	}
	var ops []*td.Op
	for range tasks {
		y := td.Dense(hwx.BaseScratch, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 64, 128})
		y.Strides[td.AxisH] = 256
		ops = append(ops, &td.Op{Params: &td.MatMul{}, Operands: []td.Operand{y, still(64, 1<<9), still(1<<9, 128)}})
	}
	dims := [td.NumAxes]int{1, 1, 1, 1, 8}
	ops = append(ops, &td.Op{
		Params:   &td.Copy{},
		Operands: []td.Operand{td.Dense(hwx.BasePorts+1, 0, tensor.Float16, dims), td.Dense(hwx.BasePorts, 0, tensor.Float16, dims)},
	})
	return container(t, []hwx.PortSpec{port("x", hwx.In, 8), port("y", hwx.Out, 8)}, ops...)
}

// A bench is a process with its two surfaces.
type bench struct {
	*driver.Process
	client *driver.Client
	x, y   *driver.Surface
}

// load makes a process of a container with an input and an output.
func load(t testing.TB, c *driver.Client, container []byte, n int) *bench {
	t.Helper()
	p, err := c.CreateProgram(container, driver.ProgramOptions{})
	check(t, err)
	q, err := p.Prepare(context.Background())
	check(t, err)
	b := &bench{Process: q, client: c}
	b.x, err = c.NewSurface(2 * n)
	check(t, err)
	b.y, err = c.NewSurface(2 * n)
	check(t, err)
	return b
}

// request is one of a bench.
func (b *bench) request(qos int) *driver.Request {
	return &driver.Request{
		QoS: qos, Priority: driver.ByQoS, Inputs: []driver.Buffer{{Surface: b.x}}, Outputs: []driver.Buffer{{Surface: b.y}},
	}
}

// put and get are halves of a surface.
func put(s *driver.Surface, values ...float32) {
	for i, v := range values {
		h := tensor.ToF16(v)
		s.Bytes()[2*i], s.Bytes()[2*i+1] = byte(h), byte(h>>8)
	}
}

func get(s *driver.Surface, i int) float32 {
	return tensor.F16(uint16(s.Bytes()[2*i]) | uint16(s.Bytes()[2*i+1])<<8)
}

// wants holds an element to a value.
func wants(t testing.TB, s *driver.Surface, i int, want float32) {
	t.Helper()
	if got := get(s, i); got != want {
		t.Errorf("element %d is %v, want %v", i, got, want)
	}
}
