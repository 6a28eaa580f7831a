package e5

import "encoding/binary"

// rootVtable is the vtable of the root: its own size, that of the table, and
// where in the table the four fields are. Table 23.1 has its first eight bytes
// as the tag of the format, table 23.2 the rest.
var rootVtable = []uint16{12, 20, 4, 8, 12, 16}

// IsDescriptor reports whether the data has the root of a dispatch descriptor.
func IsDescriptor(data []byte) bool {
	if len(data) < 8 {
		return false
	}
	pos := uint64(binary.LittleEndian.Uint32(data))
	if pos+4 > uint64(len(data)) {
		return false
	}
	vtable := int64(pos) - int64(int32(binary.LittleEndian.Uint32(data[pos:])))
	if vtable < 0 || vtable+int64(2*len(rootVtable)) > int64(len(data)) {
		return false
	}
	for i, want := range rootVtable {
		if binary.LittleEndian.Uint16(data[int(vtable)+2*i:]) != want {
			return false
		}
	}
	return true
}

// Decode reads a dispatch descriptor. The bytes of sections and raw attributes
// are parts of the data, not copies.
func Decode(data []byte) (*Program, error) {
	r := &reading{left: budget(len(data))}
	p := (&decoder{file: buffer{r, data, 0}}).program()
	if r.err != nil {
		return nil, r.err
	}
	p.Unknown = r.unknown
	return p, nil
}

// A decoder reads one file.
type decoder struct {
	file     buffer
	symbols  []string
	sections []section
	names    map[string]int // of sections
}

// A section is one of the file's, with what is known about it while reading.
type section struct {
	Section
	base int // where the data stands in the file
	used bool
	at   table
}

func (d *decoder) program() *Program {
	root := d.file.root("", rootTable)
	if root.err == nil && root.slots != len(rootTable.Fields) {
		root.fail(root.vtable, "", "the root has %d fields instead of %d", root.slots, len(rootTable.Fields))
	}
	if version := root.uint32(3); root.err == nil && version != FormatVersion {
		root.fail(root.pos, "format_version", "version %d is not known, only %d", version, FormatVersion)
	}
	p := &Program{Symbols: root.texts(0)}
	d.symbols = p.Symbols
	root.child(1, "build_info", buildInfoTable).children(0, "entries", buildInfoEntryTable, func(t table) {
		p.BuildInfo = append(p.BuildInfo, KeyValue{t.text(0), t.text(1)})
	})
	d.names = map[string]int{}
	root.children(2, "sections", sectionTable, func(t table) {
		s := section{Section: Section{Name: t.text(0), Kind: SectionKind(t.uint32(1))}, at: t}
		s.Data, s.base = t.bytes(2)
		if _, twice := d.names[s.Name]; twice {
			t.fail(t.pos, t.path, "there are two sections %q", s.Name)
		}
		d.names[s.Name] = len(d.sections)
		d.sections = append(d.sections, s)
	})
	if text, ok := d.open(textSection, Text, textTable); ok {
		functions := map[string]bool{}
		text.children(0, "functions", functionTable, func(t table) {
			name := t.text(0)
			if functions[name] {
				t.fail(t.pos, t.path, "there are two functions %q", name)
				return
			}
			functions[name] = true
			p.Functions = append(p.Functions, d.function(t, name))
		})
	}
	if aliases, ok := d.open(aliasSection, Aliases, aliasesTable); ok {
		aliases.children(0, "aliases", aliasTable, func(t table) {
			p.Aliases = append(p.Aliases, AliasSymbol{t.text(0), d.symbol(t, t.uint32(1)), t.uint32(2)})
		})
	}
	for _, s := range d.sections {
		if !s.used {
			p.Extra = append(p.Extra, s.Section)
		}
	}
	return p
}

// open returns the root of the section with the name, false if there is none or
// an error.
func (d *decoder) open(name string, kind SectionKind, schema *Table) (table, bool) {
	i, ok := d.names[name]
	if d.file.err != nil || !ok {
		return table{}, false
	}
	s := &d.sections[i]
	switch {
	case s.Kind != kind:
		s.at.fail(s.at.pos, s.at.path, "section %q is of kind %v instead of %v", name, s.Kind, kind)
		return table{}, false
	case s.used:
		s.at.fail(s.at.pos, s.at.path, "section %q would be of two operations", name)
		return table{}, false
	}
	s.used = true
	root := buffer{d.file.reading, s.Data, s.base}.root(name, schema)
	return root, d.file.err == nil
}

// need does as open, and fails where a table refers to a section that is absent.
func (d *decoder) need(from table, name string, kind SectionKind, schema *Table) (table, bool) {
	root, ok := d.open(name, kind, schema)
	if !ok && d.file.err == nil {
		from.fail(from.pos, from.path, "there is no section %q", name)
	}
	return root, ok
}

// symbol returns the name that a table refers to by its number.
func (d *decoder) symbol(from table, i uint32) string {
	if from.err != nil {
		return ""
	}
	if uint64(i) >= uint64(len(d.symbols)) {
		from.fail(from.pos, from.path, "symbol %d of %d", i, len(d.symbols))
		return ""
	}
	return d.symbols[i]
}

func (d *decoder) function(t table, name string) *Function {
	f := &Function{Name: name, AneHashPath: t.text(1)}
	names := map[string]bool{}
	t.children(2, "blocks", blockTable, func(t table) {
		b := &Block{Name: t.text(0)}
		t.children(1, "operations", operationTable, func(t table) {
			name := t.text(0)
			if names[name] {
				t.fail(t.pos, t.path, "there are two operations %q", name)
				return
			}
			names[name] = true
			b.Operations = append(b.Operations, d.operation(t, f.Name, name))
		})
		f.Blocks = append(f.Blocks, b)
	})
	f.Inputs = d.ports(externIn(f.Name), ExternIn)
	f.Outputs = d.ports(externOut(f.Name), ExternOut)
	return f
}

func (d *decoder) ports(name string, kind SectionKind) []IOPort {
	section, ok := d.open(name, kind, portsTable)
	if !ok {
		return nil
	}
	var ports []IOPort
	section.children(0, "ports", portTable, func(t table) {
		ports = append(ports, IOPort{t.text(0), t.uint64(1), t.uint64(2), readTensor(t.child(3, "descriptor", tensorTable))})
	})
	return ports
}

func (d *decoder) operation(t table, function, name string) *Operation {
	op := &Operation{Name: name}
	kind := OpKind(t.uint32(1))
	if !kind.valid() {
		t.fail(t.pos, t.path, "%v; there are %d", kind, NumOpKinds)
	}
	// The names follow from the operation's. A file in which they do not would
	// not be written as it was.
	names := []string{4: argFrame(function, name), 5: opAttrs(function, name)}
	for slot := 4; slot <= 5; slot++ {
		if got := t.text(slot); t.err == nil && got != names[slot] {
			t.fail(t.pos, t.path, "%s is %q instead of %q", operationTable.Fields[slot].Name, got, names[slot])
		}
	}
	if frame, ok := d.need(t, names[4], ArgFrame, argFrameTable); ok {
		op.Inputs = d.operands(t, 2, frame, 0)
		op.Outputs = d.operands(t, 3, frame, 1)
	}
	if attrs, ok := d.need(t, names[5], OpAttrs, attrsTable); ok {
		op.Attrs = readAttrs(attrs, kind)
	}
	return op
}

// operands joins the names of an operation's operands with their layouts.
func (d *decoder) operands(op table, slot int, frame table, frameSlot int) []Operand {
	var operands []Operand
	numbers := op.uint32s(slot)
	what := operationTable.Fields[slot].Name
	frame.children(frameSlot, what, operandTable, func(t table) {
		if len(operands) < len(numbers) {
			operands = append(operands, Operand{
				Symbol: d.symbol(op, numbers[len(operands)]),
				Tensor: readTensor(t.child(0, "descriptor", tensorTable)),
			})
			return
		}
		t.fail(t.pos, t.path, "the operation has %d %s only", len(numbers), what)
	})
	if op.err == nil && len(operands) < len(numbers) {
		frame.fail(frame.pos, frame.path, "%d of %d %s", len(operands), len(numbers), what)
	}
	return operands
}

func readTensor(t table) TensorDescriptor {
	return TensorDescriptor{
		Dim:    t.uint64s(0),
		Stride: t.uint64s(1),

		Width:          t.uint64(2),
		Height:         t.uint64(3),
		Channels:       t.uint64(4),
		BatchNumber:    t.uint64(5),
		SequenceLength: t.uint64(6),

		StrideWidth:          t.uint64(7),
		StrideHeight:         t.uint64(8),
		StrideChannels:       t.uint64(9),
		StrideBatchNumber:    t.uint64(10),
		StrideSequenceLength: t.uint64(11),

		StorageType:   readElementType(t, 12),
		ComponentPack: int32(t.uint32(13)),
	}
}

func readElementType(t table, slot int) ElementType {
	e := ElementType(t.uint32(slot))
	if !e.valid() {
		t.fail(t.pos, t.path, "%v; there are %d", e, NumElementTypes)
	}
	return e
}

func readAttrs(section table, kind OpKind) Attrs {
	if tag := section.uint8(0); section.err == nil && int(tag) != int(kind)+1 {
		section.fail(section.pos, section.path, "attributes of kind %d for an operation of kind %d", int(tag)-1, kind)
	}
	switch {
	case kind == Cast:
		t := section.child(1, "attrs", castTable)
		return CastAttrs{readElementType(t, 0), readElementType(t, 1), int32(t.uint32(2))}
	case kind == AneInference:
		t := section.child(1, "attrs", aneInferenceTable)
		return AneInferenceAttrs{t.text(0), t.text(1), t.text(2), t.uint32(3), t.text(4)}
	case kind == CpuInference:
		return CpuInferenceAttrs{section.child(1, "attrs", cpuInferenceTable).text(0)}
	}
	data, _ := section.child(1, "attrs", rawTable).bytes(0)
	return RawAttrs{kind, data}
}
