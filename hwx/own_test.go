package hwx

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
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
	for name, spec := range map[string]Spec{"in the file": ownSpec(false), "external": ownSpec(true), "no scratch": onlyDerived} {
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
		"do not go with":          func(s *Spec) { s.External = 1 },
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
