package hwx

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// severalSpecs are three programs: two that share an input, a state and their
// weights, and one with kernel streams and relocations.
func severalSpecs(t testing.TB) []Spec {
	first := ownSpec(false)
	first.Subtype, first.Program = SubtypeH13, "encode"
	second := first
	second.Program, second.Scratch, second.Derived = "decode", 0x1000, 0
	second.Constants = []byte{}
	second.Ports = slices.Clone(first.Ports)
	second.Ports[2].Shape[3]++ // an output of its own
	second.Ports[2].Strides = DenseStrides(second.Ports[2].Element, second.Ports[2].Shape)
	third := convSpec(t)
	third.Program, third.Banner, third.Form, third.Windows = "conv", "", Form2026, []int{0, 1}
	return []Spec{first, second, third}
}

func buildSeveral(t testing.TB, specs ...Spec) []byte {
	t.Helper()
	f, err := Build(specs...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func procedures(t testing.TB, f *File) []*Procedure {
	t.Helper()
	list, err := f.Procedures()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSeveralProcedures(t *testing.T) {
	specs := severalSpecs(t)
	data := buildSeveral(t, specs...)
	if err := probe(t, data); err == nil || !strings.Contains(err.Error(), "a second program; want one: there are encode, decode, conv") {
		t.Errorf("asked for its one program: %v", err)
	}
	f := mustRead(t, data)
	list := procedures(t, f)
	for i, p := range list {
		want := &specs[i]
		if p.Index != i || p.Name != want.Program || !bytes.Equal(p.Text.Data, want.Text) || !bytes.Equal(p.Constants().Data, want.Constants) {
			t.Errorf("procedure %d: %+v", i, p)
		}
		ports, err := p.Ports()
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := p.Tasks()
		if err != nil || len(tasks) != want.Tasks {
			t.Errorf("%s: %d tasks, want %d (%v)", p.Name, len(tasks), want.Tasks, err)
		}
		for j, port := range ports {
			if q := want.Ports[j]; port.Name != q.Name || port.Direction != q.Direction || port.Thread.Shape != q.Shape ||
				p.Program.Bases[port.Base] != port.Addr || port.Thread.Network() != p.Name {
				t.Errorf("%s: port %+v, want %+v", p.Name, port, q)
			}
		}
		if found, err := f.Procedure(p.Name); err != nil || found.Index != i {
			t.Errorf("by name %s: %v, %v", p.Name, found, err)
		}
	}
	if _, err := f.Procedure("train"); err == nil || !strings.Contains(err.Error(), `its procedures are encode, decode, conv, and "train" is asked for`) {
		t.Errorf("a procedure that is not there: %v", err)
	}

	encode, decode := list[0], list[1]
	if w := encode.Program.Bases[BaseConst]; w != decode.Program.Bases[BaseConst] || bytes.Count(data, specs[0].KernelSection) != 1 {
		t.Error("the weights are not shared")
	}
	if encode.Program.Bases[BaseScratch] == decode.Program.Bases[BaseScratch] || decode.Program.Bases[BaseDerived] != 0 || decode.Program.Bases[BaseTextConst] != 0 {
		t.Errorf("bases of encode %v, of decode %v", encode.Bases(), decode.Bases())
	}
	var kinds []string
	for _, b := range decode.Bases() {
		kinds = append(kinds, string(b.Kind)+" "+b.Name)
	}
	if want := []string{"text __TEXT,__text", "const __KERN_0,__kern_0", "scratch __DATA,__bss", "port x", "port cache", "port x", "port cache", "const __TEXT,__const"}; !slices.Equal(kinds, want[:len(want)-1]) {
		t.Errorf("bases of decode: %q", kinds)
	}
}

// write∘read and Build∘DescribeAll are the identity.
func TestSeveralProceduresStay(t *testing.T) {
	specs := severalSpecs(t)
	external := slices.Clone(specs)
	for i := range external[:2] {
		external[i].External, external[i].KernelSection = 800, nil
	}
	weightFile := slices.Clone(specs)
	for i := range weightFile[:2] {
		weightFile[i].WeightFile = bytes.Repeat([]byte("file"), 300+i)
	}
	one := ownSpec(true)
	for name, specs := range map[string][]Spec{"three": specs, "external": external, "weight files": weightFile, "one": {one}, "the same twice": {named(one, "a"), named(one, "b")}} {
		data := buildSeveral(t, specs...)
		f := mustRead(t, data)
		if again, err := f.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: reading and writing differ at 0x%x (%v)", name, firstDifference(again, data), err)
		}
		described, err := f.DescribeAll()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again := buildSeveral(t, described...); !bytes.Equal(again, data) {
			t.Errorf("%s: Build of the description differs at 0x%x", name, firstDifference(again, data))
		}
		if again := buildSeveral(t, specs...); !bytes.Equal(again, data) {
			t.Errorf("%s: Build differs from itself", name)
		}
	}
}

func named(s Spec, name string) Spec {
	s.Program = name
	return s
}

func TestProcedureInfo(t *testing.T) {
	f := mustRead(t, buildSeveral(t, severalSpecs(t)...))
	inputs, outputs, err := f.IOSymbols()
	if err != nil {
		t.Fatal(err)
	}
	names := func(list []IOSymbol) (names []string) {
		for _, s := range list {
			names = append(names, s.Name)
		}
		return names
	}
	// x and the state cache of both, then that of conv.
	if got, want := names(inputs), []string{"x", "cache", "x"}; !slices.Equal(got[:2], want[:2]) || len(got) != 3 {
		t.Errorf("input symbols %q", got)
	}
	if got := names(outputs); !slices.Equal(got[:4], []string{"cache", "x", "cache", "x"}) || len(got) != 5 {
		t.Errorf("output symbols %q", got)
	}
	type row struct {
		inputs, outputs                                []int
		ins, outs, states                              int
		intermediate, derived, constants, input, state int64
	}
	for i, want := range []row{
		{[]int{0, 1}, []int{0, 1, 2}, 1, 2, 1, 0x41, 0x1234, 824, 32, 64},
		{[]int{0, 1}, []int{0, 3, 2}, 1, 2, 1, 0x1000, 0, 800, 32, 64},
		{[]int{2}, []int{4}, 1, 1, 0, 0, 0, 128, 192, 0},
	} {
		info, err := procedures(t, f)[i].Info()
		if err != nil {
			t.Fatal(err)
		}
		got := row{info.InputSymbols, info.OutputSymbols, len(info.Inputs), len(info.Outputs), len(info.States),
			info.IntermediateBytes, info.DerivedBytes, info.ConstantBytes, info.InputBytes, info.StateBytes}
		if !reflect.DeepEqual(got, want) || info.Tasks != 1 || info.Index != i || info.TaskBytes != 628 {
			t.Errorf("procedure %d: %+v, want %+v", i, got, want)
		}
	}
	// A container with one program has the same questions answered.
	_, data := mustBuild(t, addSpec())
	p, err := mustRead(t, data).Procedure("")
	if err != nil {
		t.Fatal(err)
	}
	info, err := p.Info()
	if err != nil || !slices.Equal(info.InputSymbols, []int{0, 1}) || !slices.Equal(info.OutputSymbols, []int{0}) || info.IntermediateBytes != 0 {
		t.Errorf("one program: %+v (%v)", info, err)
	}
}

// Tasks of version 256 beside a program of another version are marked, program by
// program.
func TestProceduresOfTwoVersions(t *testing.T) {
	own := Spec{Form: Form2026, Subtype: SubtypeH13, Program: "ours", Ports: ownSpec(false).Ports, Windows: []int{0, 1, 2, 3}}
	x := td.Dense(BasePorts, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 16})
	y := td.Dense(BasePorts+2, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 16})
	copies := &td.Op{Params: &td.Copy{}, Operands: []td.Operand{y, x}}
	task, err := copies.Task(td.V256)
	if err != nil {
		t.Fatal(err)
	}
	if err := own.SetTasks([]*td.Task{task, task.Clone()}); err != nil {
		t.Fatal(err)
	}
	native := identity2026(t)
	native.Program, native.Banner, native.TaskVersion = "native", "", td.V7
	f := mustRead(t, buildSeveral(t, own, native))
	if v, err := f.TaskVersion(); err != nil || v != td.V7 {
		t.Errorf("version %v (%v)", v, err)
	}
	for i, want := range []td.Version{td.V256, td.V7} {
		tasks, err := procedures(t, f)[i].Tasks()
		if err != nil || tasks[0].Version != want || tasks[len(tasks)-1].Version != want {
			t.Errorf("procedure %d: %v (%v), want %v", i, tasks, err, want)
		}
	}
	native.TaskVersion = td.V10
	if _, err := Build(own, named(identity2026(t), "a"), native); err == nil {
		t.Error("programs of two chips in one container")
	}
}

func TestRefusalsOfSeveralProcedures(t *testing.T) {
	threads := func(f *File) []*ProgramThread { return slices.Collect(all[*ProgramThread](f)) }
	tensors := func(f *File) []*TensorThread { return slices.Collect(all[*TensorThread](f)) }
	for _, test := range []struct {
		name   string
		change func(f *File)
		want   string
	}{
		{"one name", func(f *File) { threads(f)[1].Tail = threads(f)[0].Tail }, `a second program named "encode"`},
		{"no name", func(f *File) { threads(f)[1].NameOffset = 0 }, "one of 3 programs has no name"},
		{"one text", func(f *File) { threads(f)[1].Bases[BaseText] = threads(f)[0].Bases[BaseText] }, `entry 0 is section __TEXT,__text at 0x30024000, which belongs to program "encode"`},
		{"another's constants", func(f *File) { threads(f)[1].Bases[BaseTextConst] = threads(f)[0].Bases[BaseTextConst] }, `which belongs to program "encode"`},
		{"another's scratch", func(f *File) { threads(f)[1].Bases[BaseScratch] = threads(f)[0].Bases[BaseScratch] }, `entry 3 is section __DATA,__bss`},
		{"another's derived memory", func(f *File) { threads(f)[1].Bases[BaseDerived] = threads(f)[0].Bases[BaseDerived] }, `__DATA,__derived`},
		{"another's text as a port", func(f *File) { threads(f)[2].Bases[BasePorts] = threads(f)[0].Bases[BaseText] }, `which belongs to program "encode"`},
		{"overlapping bases", func(f *File) { threads(f)[1].Bases[BaseConst] += 0x40 }, "where no section begins"},
		{"no text", func(f *File) { threads(f)[2].Bases[BaseText] = 0 }, "where no section __TEXT,__text begins"},
		{"text of a window", func(f *File) { threads(f)[2].Bases[BaseText] = threads(f)[2].Bases[BasePorts] }, "where no section __TEXT,__text begins"},
		{"first task elsewhere", func(f *File) { threads(f)[1].FirstTask = threads(f)[0].FirstTask }, "outside the text"},
		{"a tensor of none", func(f *File) { tensors(f)[2].NetworkOffset = tensors(f)[2].PortOffset }, `tensor "x" belongs to "x", which none of the 3 programs is named`},
		{"a tensor of another", func(f *File) { *tensors(f)[8] = *tensors(f)[0] }, `tensor "x": port "x" has a tensor already`},
		{"a port in no table", func(f *File) { threads(f)[2].Bases[BasePorts] = 0 }, "no port is named"},
	} {
		f := mustRead(t, buildSeveral(t, severalSpecs(t)...))
		test.change(f)
		f.Header.CommandBytes = 0
		data, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		probe(t, data)
		f = mustRead(t, data)
		list, err := f.Procedures()
		for _, p := range list {
			_, portsErr := p.Ports()
			err = errors.Join(err, portsErr)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}

	specs := severalSpecs(t)
	many := make([]Spec, maxProcedures+1)
	for i := range many {
		many[i] = named(specs[0], strings.Repeat("p", i+1))
	}
	other := specs[1]
	other.Subtype = 0x100
	old := named(addSpec(), "old")
	for want, specs := range map[string][]Spec{
		"no program":                {},
		`a second program "encode"`: {specs[0], specs[0]},
		"other targets or banners":  {specs[0], other},
		"need the form of 2026":     {specs[0], old},
		"sections of memory":        many,
		`program "": `:              {specs[0], named(Spec{Form: Form2026}, "")},
	} {
		if want == `program "": ` {
			want = `program "net": 0x0 bytes of text`
		}
		if _, err := Build(specs...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Whatever a word of a thread is, nobody is harmed.
func TestAlteredProcedures(t *testing.T) {
	data := compact(t, buildSeveral(t, severalSpecs(t)...))
	f := mustRead(t, data)
	damaged := bytes.Clone(data)
	for at, c := range f.placed() {
		if c.Code() != CmdThread {
			continue
		}
		for end := at + int64(c.Len()); at < end; at += 4 {
			old := le.Uint32(data[at:])
			if old == 0 {
				continue
			}
			for _, v := range []uint32{old + 1, old << 14} {
				le.PutUint32(damaged[at:], v)
				probe(t, damaged)
			}
			le.PutUint32(damaged[at:], old)
		}
	}
}

// A weight of one procedure is found by its index.
func TestPatchWeightOfProcedure(t *testing.T) {
	specs := severalSpecs(t)
	data := buildSeveral(t, specs...)
	patched, err := PatchWeights(data, Weight{Procedure: 2, Out: 1, In: 1, Value: 0x4000})
	if err != nil {
		t.Fatal(err)
	}
	m, err := procedures(t, mustRead(t, data))[2].Weights()
	if err != nil {
		t.Fatal(err)
	}
	place, err := m.Locate(Weight{Out: 1, In: 1})
	if at := firstDifference(patched, data); err != nil || int64(at)&^1 != place.FileOffset() || le.Uint16(patched[place.FileOffset():]) != 0x4000 {
		t.Errorf("patched at %#x, want %#x (%v)", at, place.FileOffset(), err)
	}
	if _, err := PatchWeights(data, Weight{Procedure: 3}); err == nil {
		t.Error("a weight of a fourth procedure is patched")
	}
}
