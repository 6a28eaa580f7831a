package hwx

import (
	"bytes"
	"debug/macho"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// goldens are the containers in testdata. They are everywhere, for the tests of
// other packages too.
var goldens = map[string]func(testing.TB) Spec{
	"relu16.hwx":     func(testing.TB) Spec { return reluSpec(16) },
	"add64.hwx":      func(testing.TB) Spec { return addSpec() },
	"concat16.hwx":   func(testing.TB) Spec { return concatSpec() },
	"conv3x2.hwx":    convSpec,
	"identity64.hwx": identitySpec,
}

func TestGoldens(t *testing.T) {
	for name, spec := range goldens {
		f, data := mustBuild(t, spec(t))
		testkit.Golden(t, filepath.Join("testdata", name), data)
		if len(data) > 64<<10 {
			t.Errorf("%s: %d bytes are many for a golden", name, len(data))
		}
		if got, err := mustRead(t, data).Encode(); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: reading and encoding changes it (%v)", name, err)
		}
		if _, err := f.Ports(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The seed decodes an identity layer: 16 sub-kernels at a stride of 512 bytes,
// and 64 halfwords that are not zero, each 1.0. (It says "64 of the 8192 bytes
// are nonzero, each the half-precision value 0x3c00": of each 0x3c00 one byte is
// zero, so bytes and halfwords are the same count.)
func TestIdentityLayerWeights(t *testing.T) {
	f, err := Open(filepath.Join("testdata", "identity64.hwx"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	streams, err := f.Streams()
	if err != nil {
		t.Fatal(err)
	}
	if len(streams) != 16 {
		t.Fatalf("%d sub-kernels, want 16", len(streams))
	}
	total, nonzero := 0, 0
	for i, s := range streams {
		if s.Offset != int64(512*i) || s.Size != 512 || s.Name.Engine != i {
			t.Errorf("sub-kernel %d: %+v", i, s)
		}
		data := s.Data()
		total += len(data)
		inStream := 0
		for ; len(data) > 0; data = data[2:] {
			if h := le.Uint16(data); h == 0x3c00 {
				inStream++
			} else if h != 0 {
				t.Errorf("sub-kernel %d: halfword 0x%x", i, h)
			}
		}
		if inStream != 4 {
			t.Errorf("sub-kernel %d: %d ones, want 4", i, inStream)
		}
		nonzero += inStream
	}
	if total != 8192 || nonzero != 64 {
		t.Errorf("%d bytes with %d ones, want 8192 and 64", total, nonzero)
	}
}

// A container of ours is a Mach-O but for its magic.
func TestMachOReadersReadIt(t *testing.T) {
	files := map[string][]byte{}
	for name, spec := range goldens {
		_, files[name] = mustBuild(t, spec(t))
	}
	_, files["form of 2026"] = mustBuild(t, identity2026(t))
	_, files["with what is ours"] = mustBuild(t, ownSpec(true))
	for name, data := range files {
		le.PutUint32(data, MachOMagic)
		m, err := macho.NewFile(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		le.PutUint32(data, Magic)
		f := mustRead(t, data)
		if m.Cpu != CPUType || m.SubCpu != f.Header.CPUSubtype || m.Type != macho.TypeExec || len(m.Loads) != len(f.Commands) {
			t.Errorf("%s: debug/macho reads %+v", name, m.FileHeader)
		}
		sections := f.Sections()
		if len(m.Sections) != len(sections) {
			t.Fatalf("%s: %d sections, want %d", name, len(m.Sections), len(sections))
		}
		for i, s := range m.Sections {
			want := sections[i]
			if s.Name != want.Name.String() || s.Seg != want.Segment.String() || s.Addr != want.Addr || s.Size != want.Size || len(s.Relocs) != len(want.Relocs) {
				t.Errorf("%s: section %+v", name, s.SectionHeader)
			}
			if want.Data != nil {
				if got, err := s.Data(); err != nil || !bytes.Equal(got, want.Data) {
					t.Errorf("%s: section %s,%s differs (%v)", name, s.Seg, s.Name, err)
				}
			}
			for j, r := range s.Relocs {
				if w := want.Relocs[j]; r.Addr != w.Offset || int(r.Value) != w.Ordinal() || !r.Pcrel || r.Len != 2 || r.Extern || r.Type != 0 {
					t.Errorf("%s: relocation %+v, want %+v", name, r, w)
				}
			}
		}
		if len(m.Symtab.Syms) != len(f.Symbols) {
			t.Fatalf("%s: %d symbols, want %d", name, len(m.Symtab.Syms), len(f.Symbols))
		}
		for i, s := range m.Symtab.Syms {
			if w := f.Symbols[i]; s.Name != f.SymbolName(w) || s.Value != w.Value || s.Type != w.Type || s.Sect != w.Section || s.Desc != w.Desc {
				t.Errorf("%s: symbol %+v, want %+v", name, s, w)
			}
		}
	}
}

func TestBuildVariants(t *testing.T) {
	// Ports of several batch elements, of types that no chip has, in an order
	// of their own.
	s := addSpec()
	s.Subtype, s.Program, s.Banner = 0x100, "main", "ANEC v1\nour own banner\n"
	s.Ports[0].Element, s.Ports[0].Shape = 258, [4]uint32{2, 3, 4, 5}
	s.Ports[1].Element, s.Ports[1].Strides = 256, [4]uint64{64, 1, 1, 1}
	s.Ports = append(s.Ports, PortSpec{Name: "second", Direction: Out, Element: 23, Shape: [4]uint32{1, 1, 1, 9}})
	s.Windows = []int{3, 0, 2, 1}
	_, data := mustBuild(t, s)
	f := mustRead(t, data)
	if f.Header.CPUSubtype != 0x100 || f.Banner() != s.Banner {
		t.Errorf("header %+v, banner %q", f.Header, f.Banner())
	}
	ports, err := f.Ports()
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		bytes   int64
		strides [4]int64
		base    int
	}{
		{2 * 3 * 4 * 64, [4]int64{3 * 4 * 64, 4 * 64, 64, 4}, 6},
		{64, [4]int64{64, 1, 1, 1}, 7},
		{0x1000, [4]int64{0x1000, 64, 64, 2}, 5},
		{64, [4]int64{64, 64, 64, 0}, 4},
	}
	for i, p := range ports {
		if p.Name != s.Ports[i].Name || p.Bytes != want[i].bytes || p.Strides != want[i].strides || p.Base != want[i].base {
			t.Errorf("port %+v, want %+v", p, want[i])
		}
	}
	if types, err := f.Catalogue(); err != nil || len(types) != 12 || types[10].Number != 256 || types[11].Number != 258 {
		t.Errorf("catalogue %+v, %v", types, err)
	}
	if shapes, err := f.Shapes(); err != nil || len(shapes) != 4 || shapes[0].Number != 259 || shapes[3].Number != 274 || shapes[0].Name != "second" {
		t.Errorf("shapes %v, %v", shapes, err)
	}
	bases := f.Bases()
	var kinds []string
	for _, b := range bases {
		kinds = append(kinds, string(b.Kind)+" "+b.Name)
	}
	if got := strings.Join(kinds, ", "); got != "text __TEXT,__text, const __TEXT,__const, port second, port probs@output, port image, port image2" {
		t.Errorf("bases: %s", got)
	}
	spec, err := f.Describe()
	if err != nil {
		t.Fatal(err)
	}
	if _, again := mustBuild(t, *spec); !bytes.Equal(again, data) {
		t.Errorf("Build of the description differs at 0x%x", firstDifference(again, data))
	}
	// Commands that do not fit before the first page push the text back.
	s = reluSpec(16)
	s.Banner = strings.Repeat("a line of a long banner\n", 1000)
	if _, data = mustBuild(t, s); mustRead(t, data).Text().Offset != 0x8000 {
		t.Errorf("text at 0x%x, want 0x8000", mustRead(t, data).Text().Offset)
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"words, and some":       func(s *Spec) { s.Text = nil },
		"tasks":                 func(s *Spec) { s.Tasks = 0 },
		"the first of 158":      func(s *Spec) { s.FirstTaskWords = 158 },
		"do not name each":      func(s *Spec) { s.Windows = []int{0, 0} },
		"windows [0] do not":    func(s *Spec) { s.Ports, s.Windows = nil, []int{0} },
		"NUL":                   func(s *Spec) { s.Ports[0].Name = "a\x00b" },
		"second port":           func(s *Spec) { s.Ports[1].Name, s.Ports[1].Direction = s.Ports[0].Name, In },
		"direction":             func(s *Spec) { s.Ports[0].Direction = 4 },
		"both directions need":  func(s *Spec) { s.Ports[0].Direction = InOut },
		"elements of type":      func(s *Spec) { s.Ports[0].Element = 8 },
		"bytes or fewer":        func(s *Spec) { s.Ports[0].Strides = [4]uint64{1 << 40, 1, 1, 2} },
		"form of 2026":          func(s *Spec) { s.Scratch = 1 },
		"relocation at":         func(s *Spec) { s.Relocs = []uint32{0x272} },
		"kernel stream at":      func(s *Spec) { s.Kernels = []KernelSpec{{Offsets: []uint64{0x4001}}} },
		"hexadecimal":           func(s *Spec) { s.Kernels = []KernelSpec{{Digest: "0"}} },
		"ports, want":           func(s *Spec) { s.Ports = make([]PortSpec, 300) },
		"banner or the program": func(s *Spec) { s.Program = "\x00" },
	} {
		s := reluSpec(16)
		change(&s)
		if _, err := Build(s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEditsReachTheFile(t *testing.T) {
	f, before := mustBuild(t, identitySpec(t))
	f.Header.Reserved = 7
	f.Commands = append(f.Commands[:len(f.Commands):len(f.Commands)], &RawCommand{Number: 0x99, Body: []byte{1, 2, 3, 4}})
	if _, err := f.Encode(); err == nil {
		t.Error("a load command over the symbols is not refused")
	}
	f.Commands = f.Commands[:len(f.Commands)-1]
	f.Gaps = append(f.Gaps, Gap{Offset: f.Size - 4, Data: []byte("tail")})
	after, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	before[0x1c] = 7
	copy(before[len(before)-4:], "tail")
	if !bytes.Equal(before, after) {
		t.Errorf("differs at 0x%x", firstDifference(before, after))
	}
	g := mustRead(t, after)
	if len(g.Gaps) != 1 || !bytes.HasSuffix(g.Gaps[0].Data, []byte("tail")) {
		t.Errorf("gaps %v", g.Gaps)
	}
	f.Text().Data = f.Text().Data[4:]
	if _, err := f.Encode(); err == nil {
		t.Error("a section shorter than its size is not refused")
	}
	var format *FormatError
	if _, err := (&File{Size: 10}).Encode(); !errors.As(err, &format) {
		t.Errorf("a file shorter than its header: %v", err)
	}
	var buf bytes.Buffer
	if n, err := g.WriteTo(&buf); err != nil || n != int64(len(after)) || !bytes.Equal(buf.Bytes(), after) {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
}

func TestRegionsCoverTheFile(t *testing.T) {
	_, data := mustBuild(t, identitySpec(t))
	data[len(data)-1] = 1
	f := mustRead(t, data)
	regions, err := f.Regions()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	pos := int64(0)
	for _, r := range regions {
		if r.Offset != pos || r.Size <= 0 {
			t.Errorf("region %+v, want it at 0x%x", r, pos)
		}
		pos = r.Offset + r.Size
		names = append(names, label(r.Kind, r.Name))
	}
	if pos != f.Size {
		t.Errorf("the regions end at 0x%x of 0x%x", pos, f.Size)
	}
	want := []string{
		"header", "load command segment __PAGEZERO", "load command segment __TEXT", "load command segment __FVMLIB", "load command segment __FVMLIB",
		"load command port image", "load command port probs@output", "load command program net", "load command tensor image", "load command tensor probs@output",
		"load command banner", "load command symbol table", "symbols", "strings", "padding", "relocations __TEXT,__text", "padding",
		"section __TEXT,__text", "padding", "section __TEXT,__const", "gap",
	}
	if got := strings.Join(names, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("regions:\n%s", got)
	}
	explained := f.Explain()
	if len(explained) != len(f.Commands) {
		t.Fatalf("%d commands explained", len(explained))
	}
	values := make(map[string]uint64)
	for _, e := range explained {
		for _, v := range e.Fields {
			values[e.Name+"."+v.Name] = v.Value
			if v.Source == "" || v.Confidence == "" {
				t.Errorf("%s: field %s has no source", e.Name, v.Name)
			}
		}
	}
	for name, want := range map[string]uint64{
		"program net.first_task": 0x30000000, "program net.first_task_words": 156, "program net.tasks": 1, "program net.word_850": 0x11,
		"tensor image.c": 64, "tensor image.stride_c": 64, "tensor probs@output.direction": 2, "tensor probs@output.used_bytes": 0xfc2,
		"port image.address": 0x30004000, "symbol table.nsyms": 30, "segment __TEXT.vmsize": 0x4000,
	} {
		if values[name] != want {
			t.Errorf("%s is 0x%x, want 0x%x", name, values[name], want)
		}
	}
}

func TestLookup(t *testing.T) {
	f, _ := mustBuild(t, identitySpec(t))
	for _, row := range []struct {
		addr   uint64
		name   string
		offset int64
	}{
		{0x30000000, "__TEXT,__text", 0}, {0x30000273, "__TEXT,__text", 0x273}, {0x30000274, "", 0}, {0x30000280, "__TEXT,__const", 0},
		{0x30002280, "", 0}, {0x30004000, "__FVMLIB,__const", 0}, {0x30008fff, "__FVMLIB,__data", 0xfff}, {0x30009000, "", 0},
		{0, "", 0}, {0x3fff, "", 0}, {1<<64 - 1, "", 0},
	} {
		name := ""
		s, offset := f.Lookup(row.addr)
		if s != nil {
			name = s.Segment.String() + "," + s.Name.String()
		}
		if name != row.name || offset != row.offset {
			t.Errorf("0x%x is 0x%x of %q, want 0x%x of %q", row.addr, offset, name, row.offset, row.name)
		}
	}
}

func TestWriteToWritesWhatEncodeGives(t *testing.T) {
	f, err := Build(Spec{
		Form: Form2026, Text: make([]byte, 64), Tasks: 1, FirstTaskWords: 10, Constants: []byte{1, 2, 3},
		KernelSection: bytes.Repeat([]byte{7}, 5000), Scratch: 100,
		Ports: []PortSpec{{Name: "x", Direction: In, Element: ElementFloat16, Shape: [4]uint32{1, 1, 1, 8}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if n, err := f.WriteTo(&got); err != nil || n != int64(len(want)) {
		t.Errorf("wrote %d bytes of %d: %v", n, len(want), err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("the bytes differ")
	}
}
