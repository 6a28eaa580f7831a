package e5rt_test

import (
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A maker makes a bundle with one function by hand, as the compiler would.
type maker struct {
	t          testing.TB
	manifest   bundle.Manifest
	function   *e5.Function
	containers map[string]*hwx.File
	weights    map[string][]byte
	host       string
	types      map[string]e5.TensorDescriptor
}

func newMaker(t testing.TB) *maker {
	return &maker{
		t: t, function: e5.NewFunction("main"), containers: map[string]*hwx.File{}, types: map[string]e5.TensorDescriptor{},
		manifest: bundle.Manifest{Target: "virtual", Numerics: "virtual", Functions: []bundle.Function{{Name: "main"}}},
	}
}

// value gives a symbol its type.
func (m *maker) value(symbol string, d tensor.DType, shape ...int) {
	m.t.Helper()
	typ, err := e5.Dense(d, shape...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.types[symbol] = typ
}

// strided gives a symbol strides in bytes, N, C, H, W of the container's port, of which it has the last axes.
func (m *maker) strided(symbol string, d tensor.DType, strides [4]uint64, shape ...int) {
	m.value(symbol, d, shape...)
	typ := m.types[symbol]
	dim, rank := [4]uint64{1, 1, 1, 1}, len(shape)
	copy(dim[4-rank:], typ.Dim)
	typ = e5.NCHW(typ.StorageType, dim, strides)
	typ.Dim, typ.Stride = typ.Dim[4-rank:], typ.Stride[4-rank:]
	m.types[symbol] = typ
}

func (m *maker) operands(symbols []string) []e5.Operand {
	list := make([]e5.Operand, len(symbols))
	for i, s := range symbols {
		list[i] = e5.Operand{Symbol: s, Tensor: m.types[s]}
	}
	return list
}

// port makes a port of the function.
func (m *maker) port(symbol string) (e5.IOPort, bundle.Feature) {
	typ := m.types[symbol]
	shape, _, size, _ := typ.Layout()
	return e5.IOPort{Name: symbol, ByteSize: uint64(size), Tensor: typ},
		bundle.Feature{Name: symbol, Kind: "array", Array: &bundle.Array{Type: typ.StorageType.DType().String(), Shape: shape}}
}

func (m *maker) inputs(symbols ...string) {
	for _, s := range symbols {
		port, feature := m.port(s)
		m.function.Inputs = append(m.function.Inputs, port)
		m.manifest.Functions[0].Inputs = append(m.manifest.Functions[0].Inputs, feature)
	}
}

func (m *maker) outputs(symbols ...string) {
	for _, s := range symbols {
		port, feature := m.port(s)
		m.function.Outputs = append(m.function.Outputs, port)
		m.manifest.Functions[0].Outputs = append(m.manifest.Functions[0].Outputs, feature)
	}
}

func (m *maker) states(symbols ...string) {
	for _, s := range symbols {
		port, feature := m.port(s)
		feature.Kind = "state"
		m.function.Inputs = append(m.function.Inputs, port)
		m.manifest.Functions[0].States = append(m.manifest.Functions[0].States, feature)
	}
}

func (m *maker) cast(from, to string) {
	m.function.Add(m.operands([]string{from}), m.operands([]string{to}),
		e5.CastAttrs{Source: m.types[from].StorageType, Destination: m.types[to].StorageType, ComponentPack: 1})
}

func (m *maker) onHost(function string, inputs, outputs []string) {
	m.host = "program(1.0)\n{}\n"
	op := m.function.Add(m.operands(inputs), m.operands(outputs), e5.CpuInferenceAttrs{Function: function})
	m.segment(bundle.Segment{Operation: op.Name, Backend: bundle.Host, Function: function})
}

func (m *maker) onEngine(file *hwx.File, inputs, outputs []string) {
	path := bundle.ContainerPath(len(m.containers))
	m.containers[path] = file
	op := m.function.Add(m.operands(inputs), m.operands(outputs), e5.AneInferenceAttrs{ProcedureName: "net", ProgramSymbol: path})
	m.segment(bundle.Segment{Operation: op.Name, Backend: bundle.Engine, Container: path, Procedure: "net"})
}

func (m *maker) segment(s bundle.Segment) {
	f := &m.manifest.Functions[0]
	f.Segments = append(f.Segments, s)
}

func (m *maker) bundle() *bundle.Bundle {
	m.t.Helper()
	b, err := bundle.New(m.manifest, &e5.Program{Functions: []*e5.Function{m.function}}, m.containers, m.host, m.weights)
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

func (m *maker) open(host e5rt.Host) *e5rt.Function {
	m.t.Helper()
	return open(m.t, m.bundle(), host)
}

func open(t testing.TB, b *bundle.Bundle, host e5rt.Host) *e5rt.Function {
	t.Helper()
	lib, err := e5rt.Open(b, e5rt.Options{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	f, err := lib.Function("main")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// base is the number of the i-th port of a container among its bases.
func base(i int) int { return hwx.BasePorts + i }

// port describes a port whose elements lie side by side.
func port(name string, d hwx.Direction, typ tensor.DType, n, c, h, w int) hwx.PortSpec {
	element, err := hwx.ElementOf(typ)
	if err != nil {
		panic("bug: " + err.Error())
	}
	size := uint64(typ.Size())
	return hwx.PortSpec{
		Name: name, Direction: d, Element: element, Shape: [4]uint32{uint32(n), uint32(c), uint32(h), uint32(w)},
		Strides: [4]uint64{size * uint64(c*h*w), size * uint64(h*w), size * uint64(w), size},
	}
}

// container makes a container of version-256 operations. Of a port, the base is
// its place in the list.
func container(t testing.TB, external int, ports []hwx.PortSpec, ops ...*td.Op) *hwx.File {
	t.Helper()
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	var tasks []*td.Task
	for i, op := range ops {
		op.ID = uint16(i)
		task, err := op.Task(td.V256)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	windows := make([]int, len(ports))
	for i := range windows {
		windows[i] = i
	}
	spec := hwx.Spec{
		Form: hwx.Form2026, Subtype: target.CPUSubtype, Ports: ports, Windows: windows, External: uint64(external),
	}
	if err := spec.SetTasks(tasks); err != nil {
		t.Fatal(err)
	}
	file, err := hwx.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// linear makes a container that computes to = a·from + b for n halves.
func linear(t testing.TB, from, to string, n int, a, b float32) *hwx.File {
	t.Helper()
	f16, dims := tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, n}
	return container(t, 0, []hwx.PortSpec{port(from, hwx.In, f16, 1, 1, 1, n), port(to, hwx.Out, f16, 1, 1, 1, n)},
		&td.Op{
			Params: &td.Copy{}, Operands: []td.Operand{td.Dense(base(1), 0, f16, dims), td.Dense(base(0), 0, f16, dims)},
			Epilogue: []td.MicroOp{{Code: td.MicroScaleBias, A: a, B: b}},
		})
}

// get returns what a port holds.
func get(t testing.TB, o *e5rt.Operation, port string) *tensor.Tensor {
	t.Helper()
	v, err := o.Value(port)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*tensor.Tensor)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
