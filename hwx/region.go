package hwx

import (
	"fmt"
	"strings"
)

// RegionKind says what a run of bytes in the file is.
type RegionKind int

// The kinds of region.
const (
	RegionHeader RegionKind = iota
	RegionCommand
	RegionSymbols
	RegionStrings
	RegionRelocs
	RegionSection
	RegionPadding // zeros
	RegionGap     // bytes that nothing refers to
)

var regionNames = [...]string{
	RegionHeader:  "header",
	RegionCommand: "load command",
	RegionSymbols: "symbols",
	RegionStrings: "strings",
	RegionRelocs:  "relocations",
	RegionSection: "section",
	RegionPadding: "padding",
	RegionGap:     "gap",
}

func (k RegionKind) String() string { return regionNames[k] }

// A Region is a run of bytes in the file.
type Region struct {
	Offset, Size int64
	Kind         RegionKind
	Name         string
}

// Regions is the map of a file that was read: every byte is in one region, in
// file order.
func (f *File) Regions() ([]Region, error) {
	parts, err := f.parts()
	if err != nil {
		return nil, err
	}
	var regions []Region
	gaps := make(map[int64]bool)
	for _, g := range f.Gaps {
		gaps[g.Offset] = true
	}
	pos := int64(0)
	fill := func(end int64) {
		if pos == end {
			return
		}
		kind := RegionPadding
		if gaps[pos] {
			kind = RegionGap
		}
		regions = append(regions, Region{Offset: pos, Size: end - pos, Kind: kind})
	}
	for _, p := range parts {
		fill(p.offset)
		regions = append(regions, Region{p.offset, p.size, p.kind, p.name})
		pos = p.offset + p.size
	}
	fill(f.Size)
	return regions, nil
}

// commandName says in short what a command is and is about.
func commandName(c Command) string {
	switch c := c.(type) {
	case *Segment:
		return "segment " + c.Name.String()
	case *PortBinding:
		return "port " + c.Name()
	case *ProgramThread:
		return "program " + c.Name()
	case *TensorThread:
		return "tensor " + c.Name()
	case *Ident:
		return "banner"
	case *SymbolTable:
		return "symbol table"
	}
	return fmt.Sprintf("0x%x (unknown)", c.Code())
}

// A Field is a named word of the header or of a load command.
type Field struct {
	Offset     int // in the structure
	Bytes      int // 4, 8, or 16 for a name
	Name       string
	Doc        string
	Confidence Confidence
	Source     string
}

// A FieldValue is a field and what stands there.
type FieldValue struct {
	Field
	Value uint64
	Text  string // of a name
}

// headerFields and the tables below are what is known of the structures, for
// those who explain a file. Words that are in no row are zero in every known
// file.
var headerFields = []Field{
	{0x00, 4, "magic", "0xbeefface", Certain, "h13 1.1; seed table 23.9"},
	{0x04, 4, "cputype", "0x80, the engine", Certain, "h13 1.1; seed table 23.9"},
	{0x08, 4, "cpusubtype", "the target: 4 H13; 0x100 ours; mil-hwx-compiler reports 5, 6, 7, 9 for H14 to H17", Certain, "h13 1.1; seed table 23.9"},
	{0x0c, 4, "filetype", "2, executable", Certain, "h13 1.1; seed table 23.9"},
	{0x10, 4, "ncmds", "load commands", Certain, "h13 1.1; seed table 23.9"},
	{0x14, 4, "sizeofcmds", "bytes of load commands", Certain, "h13 1.1; seed table 23.9"},
	{0x18, 4, "flags", "0x00200000", Certain, "h13 1.1; seed table 23.9"},
	{0x1c, 4, "reserved", "0", Certain, "h13 1.1"},
}

var commandFields = []Field{
	{0x00, 4, "cmd", "kind of load command", Certain, "h13 1.2"},
	{0x04, 4, "cmdsize", "its bytes", Certain, "h13 1.2"},
}

var segmentFields = []Field{
	{0x08, 16, "segname", "", Certain, "h13 1.3"},
	{0x18, 8, "vmaddr", "", Certain, "h13 1.3"},
	{0x20, 8, "vmsize", "", Certain, "h13 1.3"},
	{0x28, 8, "fileoff", "", Certain, "h13 1.3"},
	{0x30, 8, "filesize", "", Certain, "h13 1.3"},
	{0x38, 4, "maxprot", "1 read, 2 write, 4 execute, as the engine sees it", Certain, "h13 1.3"},
	{0x3c, 4, "initprot", "", Certain, "h13 1.3"},
	{0x40, 4, "nsects", "", Certain, "h13 1.3"},
	{0x44, 4, "flags", "4 no relocations, 2 window of a port", Certain, "h13 1.3"},
}

var portFields = []Field{
	{0x08, 4, "name", "offset of the name in the command", Certain, "h13 1.2"},
	{0x0c, 4, "minor", "0", Certain, "h13 1.2"},
	{0x10, 4, "address", "of the window", Certain, "h13 1.2"},
}

var windowFields = []Field{
	{0x08, 4, "name", "offset of the name in the command; the seed reads it as a size", Likely, "seed; mil-hwx-compiler"},
	{0x0c, 4, "pad", "0", Likely, "seed"},
	{0x10, 8, "address", "of the window", Likely, "seed"},
}

var programFields = []Field{
	{0x08, 4, "flavor", "1, program", Certain, "h13 1.5"},
	{0x0c, 4, "count", "words of state: 0x214, in 2026 files 0x21a", Certain, "h13 1.5"},
	{0x810, 8, "first_task", "its address", Certain, "h13 1.5"},
	{0x818, 4, "first_task_words", "minus one", Certain, "h13 1.5"},
	{0x81c, 4, "tasks", "how many", Certain, "h13 1.5"},
	{0x824, 4, "word_824", "0xffff", Unknown, "h13 1.5"},
	{0x83c, 4, "name", "offset of the program's name in the command", Certain, "h13 1.5"},
	{0x850, 4, "word_850", "0x11, 7 for a concat, 4 for a copy", Unknown, "h13 1.5"},
	{0x858, 4, "word_858", "3, 4 for a concat and in 2026 files", Unknown, "h13 1.5"},
}

var tensorFields = []Field{
	{0x08, 4, "flavor", "3, tensor", Certain, "h13 1.6"},
	{0x0c, 4, "count", "words of state: 0x1e; 0x34a is reported for H16", Certain, "h13 1.6"},
	{0x10, 4, "word_10", "3", Unknown, "h13 1.6"},
	{0x14, 4, "direction", "1 in, 2 out; 3 both (ours)", Certain, "h13 1.6"},
	{0x18, 4, "network", "offset of the network's name in the command", Certain, "h13 1.6"},
	{0x20, 4, "name", "offset of the tensor's name in the command", Certain, "h13 1.6"},
	{0x24, 4, "element", "number of the element type", Certain, "h13 1.6"},
	{0x28, 4, "n", "", Certain, "h13 1.6"},
	{0x2c, 4, "c", "", Certain, "h13 1.6"},
	{0x30, 4, "h", "", Certain, "h13 1.6"},
	{0x34, 4, "w", "", Certain, "h13 1.6"},
	{0x38, 4, "word_38", "1: depth or interleave", Unknown, "h13 1.6"},
	{0x50, 8, "stride_n", "bytes", Certain, "h13 1.6"},
	{0x58, 8, "stride_c", "bytes", Certain, "h13 1.6"},
	{0x60, 8, "stride_h", "bytes", Certain, "h13 1.6"},
	{0x68, 8, "stride_w", "bytes", Certain, "h13 1.6"},
	{0x70, 8, "batch_bytes", "of one batch element", Certain, "h13 1.6"},
	{0x78, 4, "word_78", "1", Unknown, "h13 1.6"},
	{0x7c, 4, "port", "offset of the port's name in the command", Certain, "h13 1.6"},
	{0x80, 8, "used_bytes", "inputs: all; outputs: up to the last element", Certain, "h13 1.6"},
}

var symbolTableFields = []Field{
	{0x08, 4, "symoff", "", Certain, "h13 1.2"},
	{0x0c, 4, "nsyms", "", Certain, "h13 1.2"},
	{0x10, 4, "stroff", "", Certain, "h13 1.2"},
	{0x14, 4, "strsize", "", Certain, "h13 1.2"},
}

// Fields names the words of the header.
func (h Header) Fields() []FieldValue {
	b := make([]byte, headerSize)
	put(b, h)
	return fieldValues(headerFields, b)
}

// An Explained is a load command with its place and its named words.
type Explained struct {
	Offset  int64
	Name    string // what it is about: "segment __TEXT"
	Command Command
	Fields  []FieldValue
}

// Explain names the words of each load command.
func (f *File) Explain() []Explained {
	var list []Explained
	for at, c := range f.placed() {
		b := make([]byte, c.Len())
		f.counted(c).encode(b)
		fields := fieldValues(commandFields, b)
		list = append(list, Explained{at, commandName(c), c, append(fields, fieldValues(fieldsOf(c), b)...)})
	}
	return list
}

// fieldsOf is the table of a command's own fields.
func fieldsOf(c Command) []Field {
	switch c := c.(type) {
	case *Segment:
		return segmentFields
	case *PortBinding:
		if c.Wide {
			return windowFields
		}
		return portFields
	case *ProgramThread:
		return programFields
	case *TensorThread:
		return tensorFields
	case *SymbolTable:
		return symbolTableFields
	}
	return nil
}

func fieldValues(rows []Field, b []byte) []FieldValue {
	var list []FieldValue
	for _, r := range rows {
		v := FieldValue{Field: r}
		switch r.Bytes {
		case 4:
			v.Value = uint64(le.Uint32(b[r.Offset:]))
		case 8:
			v.Value = le.Uint64(b[r.Offset:])
		default:
			v.Text = untilNUL(b[r.Offset : r.Offset+r.Bytes])
		}
		list = append(list, v)
	}
	return list
}

// ProtString writes a protection as r, w and x.
func ProtString(prot uint32) string {
	var b strings.Builder
	for _, p := range []struct {
		bit    uint32
		letter byte
	}{{ProtRead, 'r'}, {ProtWrite, 'w'}, {ProtExecute, 'x'}} {
		if prot&p.bit != 0 {
			b.WriteByte(p.letter)
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}
