package hwx

import (
	"bytes"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// Table 23.9 of the seed: the header of the identity layer.
func TestHeaderFields(t *testing.T) {
	f := &File{Header: Header{Magic: Magic, CPUType: CPUType, CPUSubtype: SubtypeH13, FileType: FileTypeExecute, Commands: 15, CommandBytes: 0x32d8, Flags: HeaderFlags}}
	raw := make([]byte, headerSize)
	put(raw, f.Header)
	if !bytes.HasPrefix(raw, []byte{0xce, 0xfa, 0xef, 0xbe}) {
		t.Errorf("a container begins with % x, want ce fa ef be", raw[:4])
	}
	rows := []struct {
		offset int
		name   string
		value  uint64
	}{
		{0x00, "magic", 0xbeefface},
		{0x04, "cputype", 0x80},
		{0x08, "cpusubtype", 0x4},
		{0x0c, "filetype", 0x2},
		{0x10, "ncmds", 15},
		{0x14, "sizeofcmds", 0x32d8},
		{0x18, "flags", 0x200000},
		{0x1c, "reserved", 0},
	}
	fields := f.Header.Fields()
	if len(fields) != len(rows) {
		t.Fatalf("%d fields, want %d", len(fields), len(rows))
	}
	for i, row := range rows {
		if got := fields[i]; got.Offset != row.offset || got.Name != row.name || got.Value != row.value {
			t.Errorf("field %d is %+v, want %+v", i, got, row)
		}
		if got := uint64(le.Uint32(raw[row.offset:])); got != row.value {
			t.Errorf("0x%x at 0x%x, want 0x%x", got, row.offset, row.value)
		}
	}
}

// identity2026 is the identity layer of the seed: a layout-converting task of
// 126 words, the matrix multiply of 157 words, one row of 64 elements in and
// out, and the weights in a segment of their own.
func identity2026(t testing.TB) Spec {
	text := make([]byte, 0x474)
	le.PutUint32(text[0x04:], 0x9c<<16) // words of the second task, minus one
	le.PutUint32(text[0x1c:], 0x200)    // where it is
	linear := identitySpec(t)
	copy(text[0x200:], linear.Text)
	s := Spec{
		Form: Form2026, Program: "main", Text: text, Tasks: 2, FirstTaskWords: 126,
		Ports:         []PortSpec{port("t0", In, 1, 64), port("t2", Out, 1, 64)},
		Scratch:       0x8000,
		KernelSection: linear.Constants,
		Kernels:       linear.Kernels,
	}
	s.Ports[1].Tensor = "t2@output"
	for _, off := range linear.Relocs {
		s.Relocs = append(s.Relocs, 0x200+off)
	}
	return s
}

// Table 23.6 of the seed: the segments of the identity layer.
func TestIdentityLayerSegments(t *testing.T) {
	_, data := mustBuild(t, identity2026(t))
	f := mustRead(t, data)
	rows := []struct {
		role, segment, section string
		addr, size             uint64
		prot                   string
	}{
		{"guard", "__PAGEZERO", "", 0x00000000, 0x4000, "---"},
		{"scratch", "__DATA", "__bss", 0x30000000, 0x8000, "rw-"}, // not in the table; it has the addresses before the input
		{"input", "__FVMLIB", "__const", 0x30008000, 0x80, "r--"},
		{"output", "__FVMLIB", "__data", 0x3000c000, 0x80, "-w-"},
		{"text", "__TEXT", "__text", 0x30010000, 0x474, "r-x"},
		{"weights", "__KERN_0", "__kern_0", 0x30018000, 0x2000, "r--"},
	}
	segments := f.Segments()
	if len(segments) != len(rows) {
		t.Fatalf("%d segments, want %d", len(segments), len(rows))
	}
	for i, row := range rows {
		s := segments[i]
		addr, size, section := s.Addr, s.Size, ""
		if len(s.Sections) > 0 {
			addr, size, section = s.Sections[0].Addr, s.Sections[0].Size, s.Sections[0].Name.String()
		}
		if s.Name.String() != row.segment || section != row.section || addr != row.addr || size != row.size ||
			ProtString(s.InitProt) != row.prot || ProtString(s.MaxProt) != row.prot {
			t.Errorf("%s: %s,%s 0x%x bytes at 0x%x %s, want %+v", row.role, s.Name, section, size, addr, ProtString(s.InitProt), row)
		}
		if row.segment == "__FVMLIB" && (s.FileOffset != 0 || s.FileSize != 0) {
			t.Errorf("%s: a window has no bytes in the file", row.role)
		}
	}
	if f.Text().Align != 14 || f.Section("__FVMLIB", "__const").Align != 14 || f.KernelSections()[0].Align != 6 {
		t.Error("windows align to 0x4000, weights to 0x40")
	}
	p, err := f.Program()
	if err != nil {
		t.Fatal(err)
	}
	if p.Thread.Len() != 0x880 || p.Thread.Words != WordsProgram2026 || len(p.Thread.Attributes()) != 1 {
		t.Errorf("program thread: 0x%x bytes, 0x%x words, attributes %v", p.Thread.Len(), p.Thread.Words, p.Thread.Attributes())
	}
	ports, err := f.Ports()
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		if port.Strides != [4]int64{128, 128, 128, 2} {
			t.Errorf("port %s: strides %d, want 128 and 2", port.Name, port.Strides)
		}
	}
	for i, want := range []int{4, 5} {
		if ports[i].Base != want {
			t.Errorf("port %s: base %d, want %d", ports[i].Name, ports[i].Base, want)
		}
	}
	for b := range all[*PortBinding](f) {
		if b.Code() != CmdWindow || b.Len() != 0x20 {
			t.Errorf("port %s: command 0x%x of 0x%x bytes, want 0x40 with a body of 24", b.Name(), b.Code(), b.Len())
		}
	}
	// What was built can be described, and built again.
	spec, err := f.Describe()
	if err != nil {
		t.Fatal(err)
	}
	if _, again := mustBuild(t, *spec); !bytes.Equal(again, data) {
		t.Errorf("Build of the description differs at 0x%x", firstDifference(again, data))
	}
}

// The rows of the seed's listing 23.5 and of h13 1.7.
func TestElementTypes(t *testing.T) {
	rows := []struct {
		stab  string
		dtype tensor.DType
		bits  int
	}{
		{"void:t1=1", tensor.Invalid, 0},
		{"int8:t2=r2;0;127", tensor.Int8, 8},
		{"uint8:t3=r1;0;255", tensor.UInt8, 8},
		{"int16:t4=r1;-32768;32767", tensor.Int16, 16},
		{"float16:t5=r1;2;0", tensor.Float16, 16},
		{"float:t6=r1;4;0", tensor.Float32, 32},
		{"raw10:t7=r1;-512;511", tensor.Invalid, 0},
		{"lut:t8=", tensor.Invalid, 0},
		{"uint4:t9=r1;0;15", tensor.UInt4, 4},
		{"uint6:t10=r1;0;63", tensor.UInt6, 6},
		{"e4m3:t16=r1;1;0", tensor.Float8E4M3FN, 8},
		{"int4:t23=r1;-8;7", tensor.Int4, 4},
	}
	for _, row := range rows {
		e, err := ParseElementType(row.stab)
		if err != nil {
			t.Error(err)
			continue
		}
		if e.DType != row.dtype || e.DType.Bits() != row.bits || e.Stab() != row.stab || e.Confidence == Unknown || e.Source == "" {
			t.Errorf("%s is %+v", row.stab, e)
		}
	}
	apple, known := 0, 0
	seen := make(map[Element]bool)
	for _, e := range ElementTypes() {
		if seen[e.Number] || e.Source == "" || (e.Name == "") != (e.Confidence == Unknown) {
			t.Errorf("row %+v", e)
		}
		seen[e.Number] = true
		if e.Since == compilerOurs {
			if e.Number < 256 {
				t.Errorf("our own type %s has number %d", e.Name, e.Number)
			}
			continue
		}
		if apple++; e.Name != "" {
			known++
		}
	}
	if apple != 24 || known != len(rows) {
		t.Errorf("%d entries, %d known, want 24 and %d", apple, known, len(rows))
	}
	for _, d := range tensor.DTypes() {
		e, err := ElementOf(d)
		if d == tensor.String {
			if err == nil {
				t.Error("no port holds text")
			}
			continue
		}
		if err != nil || e.DType() != d {
			t.Errorf("%s: element %v, %v", d, e, err)
		}
	}
	for _, bad := range []string{"", "x", "x:t", "x:t=", "x:t5", "x:t05=r1", "x:t99999999999999999999="} {
		if _, err := ParseElementType(bad); err == nil {
			t.Errorf("%q is no element type", bad)
		}
	}
	if e, err := ParseElementType("argb:t11=r1;4;0"); err != nil || e.Name != "argb" || e.Number != 11 || e.Confidence != Unknown {
		t.Errorf("an entry that is not known: %+v, %v", e, err)
	}
}

func TestShapes(t *testing.T) {
	// Listing 23.6 of the seed: names, strides, and extents that fit them.
	for _, row := range []struct {
		name    string
		extents [4]uint32
		strides string
	}{
		{"t0_ane", [4]uint32{1, 8, 16, 32}, "s8192n / s1024c / s64h / s2w"},
		{"t5_ane", [4]uint32{1, 1, 1, 32}, "s64n / s64c / s64h / s2w"},
	} {
		s := shapeOf(row.name, 24, ElementFloat16, row.extents, SurfaceStrides(ElementFloat16, row.extents))
		stab := s.String()
		var terms []string
		for _, term := range strings.Split(stab, ":")[1:5] {
			_, stride, _ := strings.Cut(term[1:], "=s")
			if _, inner, ok := strings.Cut(stride, "=s"); ok {
				stride = inner
			}
			terms = append(terms, "s"+stride)
		}
		if got := strings.Join(terms, " / "); got != row.strides {
			t.Errorf("%s: strides %s, want %s", stab, got, row.strides)
		}
		if again, err := ParseShape(stab); err != nil || again.String() != stab {
			t.Errorf("%s reads as %+v, %v", stab, again, err)
		}
	}
	// Whole stabs: of a real file, of a published 2026 file, of listing 23.5,
	// and names that look like types.
	for _, stab := range []string{
		"probs@output:t16=ar1;0;1;17=s128n:ar1;0;2;18=s64c:ar1;0;1;19=s64h:ar1;0;1;20=s2w:5",
		"t0:t24=ar1;0;1;25=s1024n:ar1;0;16;26=s64c:ar1;0;1;27=s64h:ar1;0;1;28=s2w:5",
		"t0:t44=ar1;0;1;45=s128n:ar1;0;1;46=s128c:ar1;0;1;47=s128h:ar1;0;64;48=s2w:5",
		"a:t1=ar1;0;2;3=s4n:5:t7=ar1;0;1;8=s2w:5",
		":t1=5",
	} {
		s, err := ParseShape(stab)
		if err != nil || s.String() != stab {
			t.Errorf("%s reads as %+v, %v", stab, s, err)
		}
	}
	if s, _ := ParseShape("x:t11=ar1;0;3;12=s192n:5"); s.Number != 11 || len(s.Axes) != 1 || s.Axes[0] != (Axis{3, 12, 192, 'n'}) || s.Element != 5 {
		t.Errorf("a shape of one axis reads as %+v", s)
	}
	for _, bad := range []string{
		"", "x", "x:t", "x:t5", "x:t5=", "x:t5=ar1;0;", "x:t5=ar1;0;1", "x:t5=ar1;0;1;6", "x:t5=ar1;0;1;6=s2", "x:t5=ar1;0;1;6=s2w",
		"x:t5=ar1;0;1;6=s2w:", "x:t5=ar1;0;1;6=s2W:5", "x:t5=5x", "x:t5=05", "x:t5=ar1;0;18446744073709551616;6=s2w:5", "x:t5=ar1;0;1;99999999999=s2w:5",
	} {
		if s, err := ParseShape(bad); err == nil {
			t.Errorf("%q reads as %+v", bad, s)
		}
	}
}

func TestKernelNames(t *testing.T) {
	digest := strings.Repeat("E623D142560CCBA9", 4)
	for _, row := range []struct {
		symbol string
		want   KernelName
		ok     bool
	}{
		{"K" + digest, KernelName{digest, -1}, true},
		{"K" + digest + "_ne_0", KernelName{digest, 0}, true},
		{"K" + digest + "_ne_15", KernelName{digest, 15}, true},
		{"K" + digest + "_ne_", KernelName{}, false},
		{"K" + digest + "_ne_01", KernelName{}, false},
		{"K" + digest + "_ne_-1", KernelName{}, false},
		{"K" + digest + "x", KernelName{}, false},
		{"K" + digest[1:], KernelName{}, false},
		{digest, KernelName{}, false},
		{"K" + digest[1:] + "Z", KernelName{}, false},
		{"image", KernelName{}, false},
	} {
		got, ok := ParseKernelName(row.symbol)
		if got != row.want || ok != row.ok {
			t.Errorf("%s reads as %+v, %v", row.symbol, got, ok)
		}
		if ok && got.String() != row.symbol {
			t.Errorf("%s is written as %s", row.symbol, got)
		}
	}
}

// The second sample of the seed: two weights, the second with four live tiles
// and empty ones for the other twelve engines.
func TestEmptyStreams(t *testing.T) {
	s := identity2026(t)
	s.KernelSection = make([]byte, 8*0xc0+4*0x40)
	s.Kernels = []KernelSpec{
		{Digest: strings.Repeat("596A4B73", 8)},
		{Digest: strings.Repeat("E125552B", 8), Empty: 12},
	}
	for i := range uint64(8) {
		s.Kernels[0].Offsets = append(s.Kernels[0].Offsets, 0xc0*i)
	}
	for i := range uint64(4) {
		s.Kernels[1].Offsets = append(s.Kernels[1].Offsets, 8*0xc0+0x40*i)
	}
	_, data := mustBuild(t, s)
	f := mustRead(t, data)
	streams, err := f.Streams()
	if err != nil {
		t.Fatal(err)
	}
	if len(streams) != 8+16 {
		t.Fatalf("%d streams, want 24", len(streams))
	}
	end := f.KernelSections()[0].Addr + f.KernelSections()[0].Size
	for i, stream := range streams {
		engine, size := i, int64(0xc0)
		if i >= 8 {
			engine, size = i-8, 0x40
		}
		if empty := i >= 12; empty {
			if !stream.Empty || stream.Addr != end || stream.Size != 0 || len(stream.Data()) != 0 {
				t.Errorf("stream %s: %+v, want an empty one at 0x%x", stream.Symbol, stream, end)
			}
		} else if stream.Empty || stream.Size != size {
			t.Errorf("stream %s: %+v, want 0x%x bytes", stream.Symbol, stream, size)
		}
		if stream.Name.Engine != engine {
			t.Errorf("stream %s is of engine %d, want %d", stream.Symbol, stream.Name.Engine, engine)
		}
	}
	for _, sym := range f.Symbols[:24] {
		want := uint16(DescRead)
		if sym.Value == end {
			want = DescNone
		}
		if sym.Desc != want || sym.Type != SymbolAddress {
			t.Errorf("symbol %s: %+v", f.SymbolName(sym), sym)
		}
	}
}
