package hwx

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// probe reads bytes and asks everything of what it gets. Reading back what was
// written is the same; errors are FormatErrors within the file.
func probe(t *testing.T, data []byte) error {
	t.Helper()
	f, err := NewFile(data)
	if err != nil {
		var format *FormatError
		if !errors.As(err, &format) || format.Offset < 0 || format.Offset > int64(len(data)) {
			t.Errorf("error without its place: %v", err)
		}
		return err
	}
	again, err := f.Encode()
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("Encode differs at 0x%x of 0x%x (%v)", firstDifference(again, data), len(data), err)
	}
	if _, err := f.Regions(); err != nil {
		t.Errorf("no map: %v", err)
	}
	f.Explain()
	f.Bases()
	f.Lookup(baseAddr)
	_, programErr := f.Program()
	_, portsErr := f.Ports()
	_, streamsErr := f.Streams()
	_, shapesErr := f.Shapes()
	_, typesErr := f.Catalogue()
	_, tasksErr := f.Tasks()
	for _, err := range []error{programErr, portsErr, streamsErr, shapesErr, typesErr, tasksErr} {
		var format *FormatError
		if err != nil && !errors.As(err, &format) {
			t.Errorf("error without its place: %v", err)
		}
	}
	_, weightsErr := f.Weights()
	probeProcedures(t, f)
	if specs, err := f.DescribeAll(); err == nil {
		if b, err := Build(specs...); err == nil {
			if _, err := b.Encode(); err != nil {
				t.Errorf("Build of the description: %v", err)
			}
		}
	}
	return errors.Join(programErr, portsErr, streamsErr, shapesErr, typesErr, tasksErr, weightsErr)
}

// probeProcedures asks everything of several procedures.
func probeProcedures(t *testing.T, f *File) {
	t.Helper()
	list, err := f.Procedures()
	if len(list) == 1 {
		return // the file has answered for it
	}
	all := []error{err}
	for _, p := range list {
		_, portsErr := p.Ports()
		_, tasksErr := p.Tasks()
		_, infoErr := p.Info()
		all = append(all, portsErr, tasksErr, infoErr)
		p.Bases()
		p.External()
		p.Weights() // whose errors may be about what is not there
	}
	for _, err := range all {
		var format *FormatError
		if err != nil && !errors.As(err, &format) {
			t.Errorf("error without its place: %v", err)
		}
	}
}

func TestTruncatedContainers(t *testing.T) {
	_, data := mustBuild(t, identitySpec(t))
	for n := 0; n < len(data); n++ {
		if n > 0x1700 && n%0x137 != 0 {
			continue
		}
		if err := probe(t, data[:n:n]); err == nil {
			t.Errorf("0x%x of 0x%x bytes are accepted", n, len(data))
		}
	}
}

func TestAlteredContainers(t *testing.T) {
	for name, spec := range map[string]Spec{"2020": identitySpec(t), "2026": identity2026(t)} {
		f, data := mustBuild(t, spec)
		end := int(f.Text().Offset) + 0x274
		if name == "2026" {
			// The state of tensors is long, and zero.
			end = 0x1000
		}
		damaged := bytes.Clone(data)
		for at := 0; at < end; at += 4 {
			old := le.Uint32(data[at:])
			if old == 0 && at%0x34 != 0 {
				continue // most words are zero, and most of them alike
			}
			for _, v := range []uint32{0, 0x7fffffff, 0xffffffff, old + 1, old << 16} {
				if v == old {
					continue
				}
				le.PutUint32(damaged[at:], v)
				probe(t, damaged)
			}
			le.PutUint32(damaged[at:], old)
		}
	}
}

// Places in the identity container, found by what stands there.
func TestRefusals(t *testing.T) {
	_, data := mustBuild(t, identitySpec(t))
	const (
		text    = 0x20 + 0x48     // segment __TEXT
		textS   = text + 0x48     // its section __text
		constS  = textS + 0x50    // its section __const
		input   = text + 0xe8     // first window
		output  = input + 0x98    // second window
		port    = output + 0x98   // binding of the first
		port2   = port + 0x20     // binding of the second
		program = port2 + 0x28    // program thread
		tensor  = program + 0x868 // first tensor thread
	)
	f := mustRead(t, data)
	symtab := int(f.offsetOf(f.Commands[len(f.Commands)-1]))
	symbols := int(le.Uint32(data[symtab+8:]))
	relocs := int(f.Text().RelocOffset)

	rows := map[string]struct {
		at     int // what is changed
		value  uint32
		offset int64 // where the error is seen; -1: at
		want   string
	}{
		"magic":                   {0, MachOMagic, -1, "not a hardware container"},
		"commands beyond file":    {0x14, 0x10000, -1, "load commands in a file of"},
		"too many commands":       {0x10, 0x1000, -1, "4096 load commands in"},
		"a command more":          {0x10, 12, int64(symtab) + 0x18, "past the end of the load commands"},
		"a command less":          {0x10, 10, int64(symtab), "behind the last load command"},
		"command of no size":      {text + 4, 0, -1, "want a multiple of 4"},
		"command of odd size":     {text + 4, 0xe9, -1, "want a multiple of 4"},
		"command of absurd size":  {text + 4, 0xfffffff8, -1, "want a multiple of 4"},
		"sections beyond command": {text + 0x40, 3, -1, "3 sections in a command"},
		"segment beyond memory":   {text + 0x24, 0xffffffff, text + 0x18, "segment __TEXT"},
		"segment beyond file":     {text + 0x30, 0x8000, text + 0x28, "of a file of"},
		"window outside segment":  {input + 0x18, 0x30000000, input + 0x68, "outside segment __FVMLIB with 0x4000 bytes at 0x30000000"},
		"segments overlap":        {input + 0x20, 0x8000, output + 0x18, "overlap in memory"},
		"section outside memory":  {constS + 0x20, 0x30004000, -1, "outside segment"},
		"section outside file":    {constS + 0x30, 0x8000, -1, "outside segment"},
		"section too long":        {constS + 0x28, 0x4000, constS + 0x20, "outside segment"},
		"sections overlap":        {constS + 0x20, 0x30000000, constS + 0x20, "overlap in memory"},
		"sections share bytes":    {constS + 0x30, 0x4100, 0x4100, "overlap in the file"},
		"absurd alignment":        {textS + 0x34, 64, -1, "alignment 2^64"},
		"relocations beyond file": {textS + 0x3c, 0x10000000, textS + 0x38, "relocations at offset"},
		"relocation outside text": {relocs, 0x272, -1, "4 bytes at 0x272 of 0x274"},
		"relocation to nowhere":   {relocs + 4, 0x05000009, -1, "into section 9 of 4"},
		"port name in the head":   {port + 8, 0x10, -1, "the port's name at 0x10"},
		"port name outside":       {port + 8, 0x20, -1, "the port's name at 0x20"},
		"name without end":        {tensor + 0x94, 0x61616161, tensor + 0x92, "does not end"},
		"too many thread words":   {program + 0xc, 0x217, -1, "0x217 words of state"},
		"program name outside":    {program + 0x83c, 0x868, -1, "the program's name"},
		"too many symbols":        {symtab + 0xc, 0xffffffff, int64(symtab) + 8, "4294967295 symbols"},
		"strings beyond file":     {symtab + 0x14, 0xffffffff, int64(symtab) + 0x10, "bytes of strings"},
		"symbol without string":   {symbols, 0x7fff, -1, "no string at 0x7fff"},
		"symbols over commands":   {symtab + 8, program + 0x100, program + 0x100, "overlap in the file"},
		"symbol of no section":    {symbols + 4, 0x0002090f, int64(symbols) + 5, "in section 9 of 4"},
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row := rows[name]
		damaged := bytes.Clone(data)
		le.PutUint32(damaged[row.at:], row.value)
		_, err := NewFile(damaged)
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
			continue
		}
		want := row.offset
		if want == -1 {
			want = int64(row.at)
		}
		if format.Offset != want {
			t.Errorf("%s: %v, want it at 0x%x", name, err, want)
		}
	}
	// What only the questions find.
	asked := map[string]struct {
		at    int
		value uint32
		want  string
	}{
		"first task outside":  {program + 0x810, 0x30000004, "outside the text"},
		"no tasks":            {program + 0x81c, 0, "0 tasks"},
		"absurd tasks":        {program + 0x81c, 0xffffffff, "tasks in 0x274 bytes"},
		"port at no window":   {port + 0x10, 0x30004040, "is not that of a window"},
		"port at the text":    {port + 0x10, 0x30000000, "is not that of a window"},
		"no direction":        {tensor + 0x14, 4, "direction 4"},
		"state in a window":   {tensor + 0x14, 3, "direction inout, but its window has flags 0x21"},
		"no element":          {tensor + 0x24, 8, "elements of type 8"},
		"shape too large":     {tensor + 0x2c, 0x101, "reach"},
		"absurd shape":        {tensor + 0x30, 0xffffffff, "absurd"},
		"absurd stride":       {tensor + 0x54, 0xffffffff, "absurd"},
		"port without name":   {port + 0x14, 0x00007878, "no port is named"},
		"shape of no form":    {int(le.Uint32(data[symbols+16*28:])) + 5 + int(le.Uint32(data[symtab+0x10:])), 0x78787878, "want"},
		"stream outside":      {symbols + 8, 0x30004000, "is not in section"},
		"task list that ends": {0x4000 + 0x1c, 0x200, "task"},
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		row := asked[name]
		damaged := bytes.Clone(data)
		le.PutUint32(damaged[row.at:], row.value)
		if err := probe(t, damaged); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}

// A file in which many sections claim the same bytes must not cost many times
// its size.
func TestClaimsAreBounded(t *testing.T) {
	f, _ := mustBuild(t, identitySpec(t))
	text := f.Text()
	seg := f.Segments()[1]
	for range 1000 {
		s := *text
		s.Addr, s.Size, s.Data, s.Offset = seg.Addr+0x3000, 0, nil, 0
		seg.Sections = append(seg.Sections, &s)
	}
	f.Size = 1 << 20
	// Encode refuses such a file, so write it by hand.
	data := make([]byte, f.Size)
	h := f.Header
	h.Commands, h.CommandBytes = 1, uint32(seg.Len())
	put(data, h)
	seg.FileOffset, seg.FileSize = 0, 0
	for _, s := range seg.Sections {
		s.Offset, s.RelocOffset, s.Relocs = 0, 0x20000, make([]Reloc, 0x1000)
	}
	seg.encode(data[headerSize:])
	if _, err := NewFile(data); err == nil {
		t.Error("sections with the same relocations are accepted")
	}
}
