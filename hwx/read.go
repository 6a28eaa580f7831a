package hwx

import (
	"bytes"
	"cmp"
	"slices"
)

// NewFile reads the container in data. Sections, names and gaps are views of
// data, which must not change while the file is in use.
func NewFile(data []byte) (*File, error) {
	if len(data) < headerSize {
		return nil, damage(len(data), "the file ends within its header of %d bytes", headerSize)
	}
	f := &File{Size: int64(len(data))}
	take(data, &f.Header)
	h := &f.Header
	if h.Magic != Magic {
		return nil, damage(0, "not a hardware container: magic 0x%08x, want 0x%08x", h.Magic, uint32(Magic))
	}
	if int64(h.CommandBytes) > f.Size-headerSize {
		return nil, damage(0x14, "0x%x bytes of load commands in a file of 0x%x bytes", h.CommandBytes, f.Size)
	}
	if h.Commands > h.CommandBytes/8 {
		return nil, damage(0x10, "%d load commands in 0x%x bytes", h.Commands, h.CommandBytes)
	}
	if err := f.readCommands(data); err != nil {
		return nil, err
	}
	parts, err := f.parts()
	if err != nil {
		return nil, err
	}
	f.readGaps(data, parts)
	return f, nil
}

func (f *File) readCommands(data []byte) error {
	r := reader{f: f, data: data}
	pos, end := headerSize, headerSize+int(f.Header.CommandBytes)
	for i := range f.Header.Commands {
		if end-pos < 8 {
			return damage(pos, "load command %d of %d is past the end of the load commands", i, f.Header.Commands)
		}
		code, size := le.Uint32(data[pos:]), le.Uint32(data[pos+4:])
		if size < 8 || size%4 != 0 || int64(size) > int64(end-pos) {
			return damage(pos+4, "load command %d (0x%x): size 0x%x, want a multiple of 4 from 8 to 0x%x", i, code, size, end-pos)
		}
		body := data[pos : pos+int(size) : pos+int(size)]
		c, err := r.command(int64(pos), code, body)
		if err != nil {
			return err
		}
		f.Commands = append(f.Commands, c)
		pos += int(size)
	}
	if pos != end {
		return damage(pos, "0x%x bytes behind the last load command", end-pos)
	}
	if err := checkMemory(r.segments); err != nil {
		return err
	}
	return r.checkOrdinals()
}

// reader is what reading the commands needs to know beside the command.
type reader struct {
	f        *File
	data     []byte
	segments []placedSegment
	relocs   int64 // bytes of relocations so far
	symbols  bool  // the symbol table has been read
}

// placedSegment is a segment with the place of its command.
type placedSegment struct {
	*Segment
	at int64
}

func (r *reader) command(at int64, code uint32, body []byte) (Command, error) {
	switch code {
	case CmdSegment:
		return r.segment(at, body)
	case CmdPort, CmdWindow:
		return r.port(at, code, body)
	case CmdThread:
		if len(body) < threadHeadSize {
			return nil, damage(at, "thread command of 0x%x bytes, want 0x%x or more", len(body), threadHeadSize)
		}
		switch le.Uint32(body[8:]) {
		case FlavorProgram:
			return r.program(at, body)
		case FlavorTensor:
			return r.tensor(at, body)
		}
	case CmdIdent:
		return &Ident{Body: body[8:]}, nil
	case CmdSymbolTable:
		return r.symbolTable(at, body)
	}
	return &RawCommand{Number: code, Body: body[8:]}, nil
}

func (r *reader) segment(at int64, body []byte) (Command, error) {
	if len(body) < segmentHeadSize {
		return nil, damage(at, "segment command of 0x%x bytes, want 0x%x or more", len(body), segmentHeadSize)
	}
	var h segmentHead
	n := take(body, &h)
	if int64(h.Sections) > int64(len(body)-n)/sectionHeadSize {
		return nil, damage(at+0x40, "segment %s: %d sections in a command of 0x%x bytes", h.Name, h.Sections, len(body))
	}
	if h.Size > 1<<63 || h.Addr > 1<<63-h.Size {
		return nil, damage(at+0x18, "segment %s: 0x%x bytes at address 0x%x", h.Name, h.Size, h.Addr)
	}
	size := uint64(r.f.Size)
	if h.FileSize > size || h.FileOffset > size-h.FileSize {
		return nil, damage(at+0x28, "segment %s: 0x%x bytes at offset 0x%x of a file of 0x%x bytes", h.Name, h.FileSize, h.FileOffset, size)
	}
	c := &Segment{
		Name: h.Name, Addr: h.Addr, Size: h.Size, FileOffset: h.FileOffset, FileSize: h.FileSize,
		MaxProt: h.MaxProt, InitProt: h.InitProt, Flags: h.Flags,
	}
	for range h.Sections {
		s, err := r.section(at+int64(n), c, body[n:])
		if err != nil {
			return nil, err
		}
		c.Sections = append(c.Sections, s)
		n += sectionHeadSize
	}
	c.Tail = body[n:]
	r.segments = append(r.segments, placedSegment{c, at})
	return c, nil
}

func (r *reader) section(at int64, seg *Segment, body []byte) (*Section, error) {
	var h sectionHead
	take(body, &h)
	bad := func(field int64, format string, args ...any) error {
		return damage(at+field, "section %s,%s: "+format, append([]any{h.Segment, h.Name}, args...)...)
	}
	if h.Size > seg.Size || h.Addr < seg.Addr || h.Addr-seg.Addr > seg.Size-h.Size {
		return nil, bad(0x20, "0x%x bytes at address 0x%x, outside segment %s with 0x%x bytes at 0x%x", h.Size, h.Addr, seg.Name, seg.Size, seg.Addr)
	}
	if h.Align > 32 {
		return nil, bad(0x34, "alignment 2^%d, want 2^32 or less", h.Align)
	}
	s := &Section{
		Name: h.Name, Segment: h.Segment, Addr: h.Addr, Size: h.Size, Offset: h.Offset, Align: h.Align,
		RelocOffset: h.RelocOffset, Flags: h.Flags, Reserved: h.Reserved,
	}
	limit := uint64(maxUnbackedMemory)
	if h.Flags == SectionExternal {
		limit = maxExternalBytes
	}
	switch off := uint64(h.Offset); {
	case off == 0 && h.Size > limit:
		return nil, bad(0x28, "0x%x bytes of memory, want 0x%x or less", h.Size, limit)
	case off == 0:
	case h.Size > seg.FileSize || off < seg.FileOffset || off-seg.FileOffset > seg.FileSize-h.Size:
		return nil, bad(0x30, "0x%x bytes at offset 0x%x, outside segment %s with 0x%x bytes at 0x%x", h.Size, off, seg.Name, seg.FileSize, seg.FileOffset)
	default:
		s.Data = r.data[off : off+h.Size : off+h.Size]
	}
	if h.Relocs == 0 {
		return s, nil
	}
	if off, n := uint64(h.RelocOffset), 8*uint64(h.Relocs); n > uint64(r.f.Size) || off > uint64(r.f.Size)-n {
		return nil, bad(0x38, "%d relocations at offset 0x%x of a file of 0x%x bytes", h.Relocs, off, r.f.Size)
	}
	// Sections that claim the same relocations are refused here and not with
	// other overlaps, since these are copied and the file would be many times.
	if r.relocs += 8 * int64(h.Relocs); r.relocs > r.f.Size {
		return nil, bad(0x3c, "with it, sections have 0x%x bytes of relocations in a file of 0x%x bytes", r.relocs, r.f.Size)
	}
	s.Relocs = make([]Reloc, h.Relocs)
	for i := range s.Relocs {
		pos := int(h.RelocOffset) + 8*i
		s.Relocs[i] = Reloc{Offset: le.Uint32(r.data[pos:]), Info: le.Uint32(r.data[pos+4:])}
		if rel := s.Relocs[i]; uint64(rel.Offset)+uint64(rel.Bytes()) > h.Size {
			return nil, damage(pos, "relocation %d of section %s,%s: %d bytes at 0x%x of 0x%x", i, h.Segment, h.Name, rel.Bytes(), rel.Offset, h.Size)
		}
	}
	return s, nil
}

// checkOrdinals holds the sections that relocations and symbols name to those
// that exist.
func (r *reader) checkOrdinals() error {
	sections := r.f.Sections()
	for _, s := range sections {
		for i, rel := range s.Relocs {
			if n := rel.Ordinal(); n < 1 || n > len(sections) {
				return damage(int64(s.RelocOffset)+int64(8*i)+4, "relocation %d of section %s,%s: into section %d of %d", i, s.Segment, s.Name, n, len(sections))
			}
		}
	}
	for table := range all[*SymbolTable](r.f) {
		for i, sym := range r.f.Symbols {
			if int(sym.Section) > len(sections) {
				return damage(int64(table.Offset)+int64(symbolSize*i)+5, "symbol %d: in section %d of %d", i, sym.Section, len(sections))
			}
		}
	}
	return nil
}

// checkString sees that a string of a command lies behind its fixed part and
// ends within it. Offset 0 is no string.
func checkString(at int64, what string, field int64, size int, body []byte, offset uint32) error {
	if offset == 0 {
		return nil
	}
	if int64(offset) < int64(size) || int64(offset) >= int64(len(body)) {
		return damage(at+field, "%s at 0x%x of the command, want from 0x%x to 0x%x", what, offset, size, len(body)-1)
	}
	if bytes.IndexByte(body[offset:], 0) < 0 {
		return damage(at+int64(offset), "%s does not end within its command", what)
	}
	return nil
}

func (r *reader) port(at int64, code uint32, body []byte) (Command, error) {
	c := &PortBinding{Wide: code == CmdWindow}
	if len(body) < c.headSize() {
		return nil, damage(at, "port command of 0x%x bytes, want 0x%x or more", len(body), c.headSize())
	}
	if c.Wide {
		var h wideBinding
		take(body, &h)
		c.NameOffset, c.Reserved, c.Addr = h.NameOffset, h.Reserved, h.Addr
	} else {
		var h narrowBinding
		take(body, &h)
		c.NameOffset, c.Reserved, c.Addr = h.NameOffset, h.Reserved, uint64(h.Addr)
	}
	c.Tail = body[c.headSize():]
	return c, checkString(at, "the port's name", 8, c.headSize(), body, c.NameOffset)
}

// threadWords checks the number of words of state that a thread announces.
func threadWords(at int64, body []byte) (uint32, error) {
	words := le.Uint32(body[12:])
	if threadHeadSize+4*int64(words) > int64(len(body)) {
		return 0, damage(at+12, "0x%x words of state in a thread command of 0x%x bytes", words, len(body))
	}
	return words, nil
}

func (r *reader) program(at int64, body []byte) (Command, error) {
	if len(body) < programHeadSize {
		return nil, damage(at, "program thread of 0x%x bytes, want 0x%x or more", len(body), programHeadSize)
	}
	words, err := threadWords(at, body)
	if err != nil {
		return nil, err
	}
	c := &ProgramThread{Words: words, Tail: body[programHeadSize:]}
	take(body[threadHeadSize:], &c.ProgramState)
	return c, checkString(at, "the program's name", 0x83c, programHeadSize, body, c.NameOffset)
}

func (r *reader) tensor(at int64, body []byte) (Command, error) {
	if len(body) < tensorHeadSize {
		return nil, damage(at, "tensor thread of 0x%x bytes, want 0x%x or more", len(body), tensorHeadSize)
	}
	words, err := threadWords(at, body)
	if err != nil {
		return nil, err
	}
	c := &TensorThread{Words: words, Tail: body[tensorHeadSize:]}
	take(body[threadHeadSize:], &c.TensorState)
	for _, s := range []struct {
		what   string
		field  int64
		offset uint32
	}{
		{"the network's name", 0x18, c.NetworkOffset},
		{"the tensor's name", 0x20, c.NameOffset},
		{"the port's name", 0x7c, c.PortOffset},
	} {
		if err := checkString(at, s.what, s.field, tensorHeadSize, body, s.offset); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (r *reader) symbolTable(at int64, body []byte) (Command, error) {
	if len(body) < symbolTableSize {
		return nil, damage(at, "symbol table command of 0x%x bytes, want 0x%x or more", len(body), symbolTableSize)
	}
	if r.symbols {
		return nil, damage(at, "a second symbol table")
	}
	r.symbols = true
	var h symbolTableHead
	take(body, &h)
	size := r.f.Size
	if n := symbolSize * int64(h.Symbols); n > size || int64(h.Offset) > size-n {
		return nil, damage(at+8, "%d symbols at offset 0x%x of a file of 0x%x bytes", h.Symbols, h.Offset, size)
	}
	if n := int64(h.StringBytes); n > size || int64(h.StringOffset) > size-n {
		return nil, damage(at+0x10, "0x%x bytes of strings at offset 0x%x of a file of 0x%x bytes", n, h.StringOffset, size)
	}
	start, end := int64(h.StringOffset), int64(h.StringOffset)+int64(h.StringBytes)
	strings := r.data[start:end:end]
	// Whatever offset lies before the last NUL begins a string that ends.
	lastNUL := bytes.LastIndexByte(strings, 0)
	r.f.Strings = strings
	r.f.Symbols = make([]Symbol, h.Symbols)
	for i := range r.f.Symbols {
		pos := int64(h.Offset) + symbolSize*int64(i)
		s := &r.f.Symbols[i]
		take(r.data[pos:], s)
		if int64(s.NameOffset) > int64(lastNUL) {
			return nil, damage(pos, "symbol %d: no string at 0x%x of 0x%x bytes of strings", i, s.NameOffset, len(strings))
		}
	}
	return &SymbolTable{Offset: h.Offset, StringOffset: h.StringOffset, Tail: body[symbolTableSize:]}, nil
}

// checkMemory refuses segments, and sections of one segment, that overlap in
// the address space, and segments that overlap in the file.
func checkMemory(segments []placedSegment) error {
	type span struct {
		start, end uint64
		what       string
		at         int64
	}
	disjoint := func(space string, spans []span) error {
		spans = slices.DeleteFunc(spans, func(s span) bool { return s.start == s.end })
		slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
		for i := 1; i < len(spans); i++ {
			if a, b := spans[i-1], spans[i]; a.end > b.start {
				return damage(b.at, "%s (0x%x to 0x%x) and %s (0x%x to 0x%x) overlap in %s", a.what, a.start, a.end, b.what, b.start, b.end, space)
			}
		}
		return nil
	}
	var memory, file []span
	for _, s := range segments {
		what := "segment " + s.Name.String()
		memory = append(memory, span{s.Addr, s.Addr + s.Size, what, s.at + 0x18})
		file = append(file, span{s.FileOffset, s.FileOffset + s.FileSize, what, s.at + 0x28})
		var inside []span
		for i, sect := range s.Sections {
			at := s.at + segmentHeadSize + int64(sectionHeadSize*i) + 0x20
			inside = append(inside, span{sect.Addr, sect.Addr + sect.Size, "section " + sect.Name.String(), at})
		}
		if err := disjoint("memory", inside); err != nil {
			return err
		}
	}
	if err := disjoint("memory", memory); err != nil {
		return err
	}
	return disjoint("the file", file)
}

// readGaps keeps what lies between the parts.
func (f *File) readGaps(data []byte, parts []part) {
	pos := int64(0)
	keep := func(end int64) {
		if pos < end && len(bytes.TrimLeft(data[pos:end], "\x00")) > 0 {
			f.Gaps = append(f.Gaps, Gap{Offset: pos, Data: data[pos:end:end]})
		}
	}
	for _, p := range parts {
		keep(p.offset)
		pos = p.offset + p.size
	}
	keep(f.Size)
}
