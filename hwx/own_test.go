package hwx

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// ownSpec has everything that is ours: a state, an input and an output of one
// name, derived memory, and a kernel section beside constants, with its bytes in
// the file or external.
func ownSpec(external bool) Spec {
	relu := reluSpec(16)
	s := Spec{
		Form: Form2026, Subtype: 0x100, Text: relu.Text, Tasks: 1, FirstTaskWords: 157,
		Ports: []PortSpec{
			port("x", In, 1, 16),
			port("cache", InOut, 2, 16),
			port("x", Out, 1, 16),
			port("cache", Out, 1, 16),
		},
		Constants: []byte("constants of the program"),
		Scratch:   0x41, Derived: 0x1234,
		KernelSection: bytes.Repeat([]byte("weights."), 100),
	}
	if external {
		s.External, s.KernelSection = uint64(len(s.KernelSection)), nil
	}
	for i := range s.Ports {
		s.Ports[i].Strides = DenseStrides(s.Ports[i].Element, s.Ports[i].Shape)
	}
	return s
}

func TestOwnSectionsAndBases(t *testing.T) {
	for _, external := range []bool{false, true} {
		_, data := mustBuild(t, ownSpec(external))
		f := mustRead(t, data)
		var got []string
		for _, b := range f.Bases() {
			got = append(got, string(b.Kind)+" "+b.Section.Segment.String()+","+b.Section.Name.String())
		}
		want := []string{
			"text __TEXT,__text", "const __KERN_0,__kern_0", "derived __DATA,__derived", "scratch __DATA,__bss",
			"port __FVMLIB,__const", "port __FVMLIB,__state", "port __FVMLIB,__data", "port __FVMLIB,__data", "const __TEXT,__const",
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("external %t: bases\n%s\nwant\n%s", external, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		p, err := f.Program()
		if err != nil {
			t.Fatal(err)
		}
		derived, weights := f.Section("__DATA", "__derived"), f.Section("__KERN_0", "__kern_0")
		if p.Bases[BaseDerived] != derived.Addr || derived.Size != 0x1234 || derived.Data != nil || derived.Flags != SectionDerived {
			t.Errorf("derived memory: %+v at base %#x", derived, p.Bases[BaseDerived])
		}
		if p.Bases[BaseConst] != weights.Addr || p.Bases[BaseTextConst] != f.Constants().Addr || weights.Size != 800 {
			t.Errorf("weights: %+v", weights)
		}
		if (f.External() == weights) != external || (weights.Data == nil) != external {
			t.Errorf("external %t: %v, data %d bytes", external, f.External(), len(weights.Data))
		}
		if external && bytes.Contains(data, []byte("weights.weights.")) {
			t.Error("external weights are in the file")
		}
	}
}

// Ports of one name have symbols of their own.
func TestSymbols(t *testing.T) {
	_, data := mustBuild(t, ownSpec(false))
	ports, err := mustRead(t, data).Ports()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"x", "cache", "x@output", "cache@output"}
	if got := Symbols(ports); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	ports = []Port{{Name: "x", Direction: Out}, {Name: "x", Direction: In}, {Name: "x@input", Direction: In}, {Name: "x", Direction: InOut}, {Name: "x"}}
	want = []string{"x", "x@input@input", "x@input", "x@state", "x@port"}
	if got := Symbols(ports); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// besideKernels has a kernel section and a weight file.
func besideKernels(external bool) Spec {
	s := ownSpec(false)
	s.WeightFile = bytes.Repeat([]byte("weight file."), 50)
	if external {
		s.External, s.WeightFile = uint64(len(s.WeightFile)), nil
	}
	return s
}

// A weight file beside a kernel section has a segment and a base of its own.
func TestWeightFileBesideKernels(t *testing.T) {
	for _, external := range []bool{false, true} {
		_, data := mustBuild(t, besideKernels(external))
		f := mustRead(t, data)
		p, err := f.Program()
		if err != nil {
			t.Fatal(err)
		}
		kernels, weights := f.Section("__KERN_0", "__kern_0"), f.Section("__KERN_1", "__kern_1")
		if kernels == nil || weights == nil || p.Bases[BaseConst] != kernels.Addr || p.Bases[BaseWeights] != weights.Addr {
			t.Fatalf("external %t: kernels %v, weights %v", external, kernels, weights)
		}
		if kernels.Size != 800 || weights.Size != 600 || (f.External() == weights) != external {
			t.Errorf("external %t: kernels %v, weights %v", external, kernels, weights)
		}
	}
}

func TestStatePorts(t *testing.T) {
	_, data := mustBuild(t, ownSpec(false))
	ports, err := mustRead(t, data).Ports()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		name      string
		direction Direction
		prot      string
		flags     uint32
		base      int
		bytes     int64
	}{
		{"x", In, "r--", SectionInput, 4, 32},
		{"cache", InOut, "rw-", SectionState, 5, 64},
		{"x", Out, "-w-", SectionOutput, 6, 32},
		{"cache", Out, "-w-", SectionOutput, 7, 32},
	} {
		p := ports[i]
		if p.Name != want.name || p.Direction != want.direction || ProtString(p.Window.InitProt) != want.prot ||
			p.Window.Sections[0].Flags != want.flags || p.Base != want.base || p.Bytes != want.bytes {
			t.Errorf("port %d is %+v, want %+v", i, p, want)
		}
	}
	if got := InOut.String(); got != "inout" {
		t.Errorf("direction %q", got)
	}
}

func TestOwnFormsRoundTrip(t *testing.T) {
	onlyDerived := ownSpec(true)
	onlyDerived.Scratch = 0
	both, bothExternal := besideKernels(false), besideKernels(true)
	for name, spec := range map[string]Spec{
		"in the file": ownSpec(false), "external": ownSpec(true), "no scratch": onlyDerived,
		"beside kernels": both, "external beside kernels": bothExternal,
	} {
		_, data := mustBuild(t, spec)
		f := mustRead(t, data)
		if again, err := f.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: reading and encoding changes it (%v)", name, err)
		}
		described, err := f.Describe()
		if err != nil {
			t.Fatal(err)
		}
		if _, again := mustBuild(t, *described); !bytes.Equal(again, data) {
			t.Errorf("%s: Build of the description differs at 0x%x", name, firstDifference(again, data))
		}
	}
}

func TestBuildRefusesOwnForms(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"form of 2026":            func(s *Spec) { s.Form, s.Ports = Form2020, nil },
		"do not go with":          func(s *Spec) { s.KernelSection, s.External, s.Relocs = nil, 1, []uint32{0} },
		"beside a kernel section": func(s *Spec) { s.KernelSection, s.WeightFile = nil, []byte{1} },
		"external weights":        func(s *Spec) { s.KernelSection, s.External = nil, 1<<40+1 },
		"derived memory":          func(s *Spec) { s.Derived = 8<<30 + 1 },
		"second port \"cache\"":   func(s *Spec) { s.Ports[2] = s.Ports[3] },
		"direction 4, want in":    func(s *Spec) { s.Ports[0].Direction = 4 },
		"with direction inout":    func(s *Spec) { s.Ports[0] = s.Ports[1] },
		"windows [0] do not name": func(s *Spec) { s.Windows = []int{0} },
	} {
		s := ownSpec(false)
		change(&s)
		if _, err := Build(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestDenseStrides(t *testing.T) {
	for _, row := range []struct {
		element Element
		shape   [4]uint32
		want    [4]uint64
	}{
		{ElementFloat16, [4]uint32{2, 3, 4, 5}, [4]uint64{120, 40, 10, 2}},
		{258, [4]uint32{1, 1, 1, 7}, [4]uint64{28, 28, 28, 4}},
		{265, [4]uint32{1, 1, 1, 9}, [4]uint64{2, 2, 2, 0}},
	} {
		if got := DenseStrides(row.element, row.shape); got != row.want {
			t.Errorf("%v %d: strides %d, want %d", row.element, row.shape, got, row.want)
		}
	}
}

// A container says in its banner that its tasks are not of the target's version.
func TestTaskVersion(t *testing.T) {
	op := &td.Op{Params: &td.Copy{}, Operands: []td.Operand{
		td.Dense(BasePorts, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 16}), td.Dense(BasePorts+1, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 16}),
	}}
	for _, c := range []struct {
		subtype uint32
		version td.Version
		said    bool
	}{{0x100, td.V256, false}, {SubtypeH13, td.V7, false}, {5, td.V256, true}, {10, td.V256, true}, {SubtypeH13, td.V256, true}} {
		task, err := op.Task(c.version)
		if err != nil {
			t.Fatal(err)
		}
		s := ownSpec(false)
		s.Subtype = c.subtype
		if err := s.SetTasks([]*td.Task{task}); err != nil {
			t.Fatal(err)
		}
		_, data := mustBuild(t, s)
		f := mustRead(t, data)
		v, err := f.TaskVersion()
		if err != nil || v != c.version || strings.Contains(f.Banner(), "espalier: tasks of version 256\n") != c.said {
			t.Errorf("subtype %d: %v, %v, banner %q; want %v", c.subtype, v, err, f.Banner(), c.version)
		}
		tasks, err := f.Tasks()
		if err != nil || len(tasks) != 1 || tasks[0].Version != c.version || tasks[0].Extension() != (c.version == td.V7) {
			t.Errorf("subtype %d: tasks %v, %v", c.subtype, tasks, err)
		}
	}
	s := ownSpec(false)
	s.Banner = "ANEC v1\nespalier: tasks of version many\n"
	_, data := mustBuild(t, s)
	if _, err := mustRead(t, data).Tasks(); err == nil || !strings.Contains(err.Error(), `tasks of version "many"; want a number`) {
		t.Errorf("a banner without a number: %v", err)
	}
}

// Tasks of version 256 travel in a program of another version by their numbers.
func TestForeignTasks(t *testing.T) {
	op := &td.Op{Params: &td.Copy{}, Operands: []td.Operand{
		td.Dense(BasePorts, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 16}), td.Dense(BasePorts+1, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 16}),
	}}
	own, err := op.Task(td.V7)
	if err != nil {
		t.Fatal(err)
	}
	other, err := op.Task(td.V256)
	if err != nil {
		t.Fatal(err)
	}
	s := ownSpec(false)
	s.Subtype = SubtypeH13
	if err := s.SetTasks([]*td.Task{other, own, other.Clone(), own.Clone()}); err != nil {
		t.Fatal(err)
	}
	_, data := mustBuild(t, s)
	f := mustRead(t, data)
	tasks, err := f.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []td.Version{td.V256, td.V7, td.V256, td.V7} {
		if tasks[i].Version != want {
			t.Errorf("task %d is of %v, want %v", i, tasks[i].Version, want)
		}
	}
	for _, c := range []struct {
		numbers []uint32
		want    string
	}{{[]uint32{2, 0}, "task 0 after 2"}, {[]uint32{4}, "task 4 after -1, of 4 tasks"}, {[]uint32{0, 0}, "task 0 after 0"}} {
		bad := s
		bad.Foreign = c.numbers
		_, data := mustBuild(t, bad)
		if _, err := mustRead(t, data).Tasks(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.numbers, err)
		}
	}
}
