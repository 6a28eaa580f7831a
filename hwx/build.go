package hwx

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// Build makes the container that a Spec describes. The file holds the slices of
// the Spec, it does not copy them.
func Build(spec Spec) (*File, error) {
	spec.setDefaults()
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("building a container: %w", err)
	}
	b := builder{Spec: spec, addr: baseAddr}
	b.layOut()
	b.symbols()
	if err := b.place(); err != nil {
		return nil, fmt.Errorf("building a container: %w", err)
	}
	return b.file(), nil
}

// builder lays a container out: first memory, then symbols, then the file.
type builder struct {
	Spec
	addr uint64 // next free address

	guard, data, text, kernels *Segment
	weights                    *Segment   // a weight file beside the kernels
	windows                    []*Segment // in the order of Spec.Windows
	scratch, derived           *Section   // of data

	syms    []Symbol
	strings []byte
	table   SymbolTable
	size    int64
}

// newSegment takes the next addresses, in whole pages.
func (b *builder) newSegment(name string, size uint64, prot, flags uint32, sections ...*Section) *Segment {
	s := &Segment{
		Name: NameOf(name), Addr: b.addr, Size: alignUp(size, pageSize),
		MaxProt: prot, InitProt: prot, Flags: flags, Sections: sections,
	}
	b.addr += s.Size
	return s
}

func newSection(segment, name string, addr, size uint64, align, flags uint32, data []byte) *Section {
	return &Section{
		Name: NameOf(name), Segment: NameOf(segment), Addr: addr, Size: size, Align: align, Flags: flags, Data: data,
	}
}

// layOut gives each segment its addresses.
func (b *builder) layOut() {
	b.guard = &Segment{Name: NameOf("__PAGEZERO"), Size: guardSize, Flags: SegmentNoRelocs}
	if b.Form == Form2020 {
		b.layOutText()
		b.layOutWindows()
		return
	}
	b.layOutData()
	b.layOutWindows()
	b.layOutText()
	b.layOutKernels()
}

// layOutKernels places the kernel section and the weight file: each in a
// segment of its own, the weight file first where it is alone.
func (b *builder) layOutKernels() {
	segments := 0
	add := func(size uint64, flags uint32, data []byte) *Segment {
		segment, section := fmt.Sprintf("__KERN_%d", segments), fmt.Sprintf("__kern_%d", segments)
		segments++
		return b.newSegment(segment, size, ProtRead, SegmentNoRelocs,
			newSection(segment, section, b.addr, size, sectionAlignTile, flags, data))
	}
	if b.KernelSection != nil {
		b.kernels = add(uint64(len(b.KernelSection)), SectionConst, b.KernelSection)
	}
	switch {
	case b.WeightFile != nil:
		b.weights = add(uint64(len(b.WeightFile)), SectionConst, b.WeightFile)
	case b.External > 0:
		b.weights = add(b.External, SectionExternal, nil)
	}
	if b.kernels == nil {
		b.kernels, b.weights = b.weights, nil
	}
}

// layOutData places the memory that is neither in the file nor a port's: scratch,
// then derived memory.
func (b *builder) layOutData() {
	derivedStart := alignUp(b.Scratch, tileSize)
	var sections []*Section
	if b.Scratch > 0 {
		b.scratch = newSection("__DATA", "__bss", b.addr, b.Scratch, sectionAlignTile, SectionScratch, nil)
		sections = append(sections, b.scratch)
	}
	if b.Derived > 0 {
		b.derived = newSection("__DATA", "__derived", b.addr+derivedStart, b.Derived, sectionAlignTile, SectionDerived, nil)
		sections = append(sections, b.derived)
	}
	if sections != nil {
		b.data = b.newSegment("__DATA", derivedStart+b.Derived, ProtRead|ProtWrite, SegmentNoRelocs, sections...)
	}
}

func (b *builder) layOutText() {
	segmentFlags, sectionFlags := uint32(SegmentNoRelocs), uint32(SectionText)
	if len(b.Relocs) > 0 {
		segmentFlags, sectionFlags = 0, SectionText|SectionHasRelocs
	}
	textSize, constSize := uint64(len(b.Text)), uint64(len(b.Constants))
	constStart := alignUp(textSize, tileSize)
	sections := []*Section{
		newSection("__TEXT", "__text", b.addr, textSize, sectionAlignPage, sectionFlags, b.Text),
		newSection("__TEXT", "__const", b.addr+constStart, constSize, sectionAlignTile, SectionConst, b.Constants),
	}
	size := constStart + constSize
	if len(b.Foreign) > 0 {
		start := alignUp(size, tileSize)
		var numbers []byte
		for _, task := range b.Foreign {
			numbers = le.AppendUint32(numbers, task)
		}
		size = start + uint64(len(numbers))
		sections = append(sections, newSection("__TEXT", foreignSection, b.addr+start, uint64(len(numbers)), sectionAlignTile, SectionConst, numbers))
	}
	b.text = b.newSegment("__TEXT", size, ProtRead|ProtExecute, segmentFlags, sections...)
}

func (b *builder) layOutWindows() {
	for _, i := range b.Windows {
		p := &b.Ports[i]
		name, prot, flags := "__const", uint32(ProtRead), uint32(SectionInput)
		switch p.Direction {
		case Out:
			name, prot, flags = "__data", ProtWrite, SectionOutput
		case InOut:
			name, prot, flags = "__state", ProtRead|ProtWrite, SectionState
		}
		b.windows = append(b.windows, b.newSegment("__FVMLIB", p.bytes(), prot, SegmentNoRelocs|SegmentFixedLib,
			newSection("__FVMLIB", name, b.addr, p.bytes(), sectionAlignPage, flags, nil)))
	}
}

// segments lists the segments in file order, which is that of their addresses.
func (b *builder) segments() []*Segment {
	list := []*Segment{b.guard}
	if b.Form == Form2020 {
		list = append(list, b.text)
		return append(list, b.windows...)
	}
	if b.data != nil {
		list = append(list, b.data)
	}
	list = append(append(list, b.windows...), b.text)
	for _, s := range []*Segment{b.kernels, b.weights} {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

// ordinal is the number by which symbols and relocations name a section.
func (b *builder) ordinal(s *Section) int {
	n := 0
	for _, seg := range b.segments() {
		for _, sect := range seg.Sections {
			if n++; sect == s {
				return n
			}
		}
	}
	panic("bug: a section of no segment")
}

// kernelSection is where the kernel streams are.
func (b *builder) kernelSection() *Section {
	if b.kernels != nil {
		return b.kernels.Sections[0]
	}
	return b.text.Sections[1]
}

// symbols makes the symbol table: kernel streams, ports, the catalogue, the
// shapes of the ports (h13 1.7).
func (b *builder) symbols() {
	b.strings = []byte{0}
	add := func(name string, s Symbol) {
		s.NameOffset = uint32(len(b.strings))
		b.strings = append(append(b.strings, name...), 0)
		b.syms = append(b.syms, s)
	}
	kernels := b.kernelSection()
	ordinal := uint8(b.ordinal(kernels))
	for _, k := range b.Kernels {
		name := KernelName{Digest: k.Digest}
		if k.Digest == "" {
			name.Digest = fmt.Sprintf("%X", sha256.Sum256(kernels.Data))
		}
		for i, off := range k.Offsets {
			if name.Engine = i; len(k.Offsets)+k.Empty == 1 {
				name.Engine = -1
			}
			add(name.String(), Symbol{Type: SymbolAddress, Section: ordinal, Desc: DescRead, Value: kernels.Addr + off})
		}
		for i := range k.Empty {
			name.Engine = len(k.Offsets) + i
			add(name.String(), Symbol{Type: SymbolAddress, Section: ordinal, Desc: DescNone, Value: kernels.Addr + kernels.Size})
		}
	}
	for i, port := range b.Windows {
		p, window := b.Ports[port], b.windows[i]
		desc := uint16(DescRead)
		if p.Direction == Out {
			desc = DescNone
		}
		add(p.Name, Symbol{Type: SymbolAddress, Section: uint8(b.ordinal(window.Sections[0])), Desc: desc, Value: window.Addr})
	}
	last := 0
	for _, t := range elementTypes {
		if t.Name != "" && b.lists(t) {
			add(t.Stab(), Symbol{Type: SymbolElement})
			last = int(t.Number)
		}
	}
	number := last + 1
	for _, port := range b.Windows {
		p := b.Ports[port]
		add(shapeOf(p.Name, number, p.Element, p.Shape, p.Strides).String(), Symbol{Type: SymbolShape, Desc: uint16(number)})
		number += shapeNumbers
	}
}

// lists says whether the catalogue of a file has the element type: those of the
// form's compiler, and of ours those that a port has.
func (b *builder) lists(t ElementType) bool {
	switch t.Since {
	case compiler2020:
		return true
	case compiler2026:
		return b.Form == Form2026
	}
	return slices.ContainsFunc(b.Ports, func(p PortSpec) bool { return p.Element == t.Number })
}

// commands makes the load commands. Their sizes do not depend on the offsets
// that place fills in.
func (b *builder) commands() []Command {
	wide := b.Form == Form2026
	var list []Command
	for _, s := range b.segments() {
		list = append(list, s)
	}
	for i, port := range b.Windows {
		list = append(list, NewPortBinding(wide, b.Ports[port].Name, b.windows[i].Addr))
	}
	list = append(list, b.program())
	for i := range b.Ports {
		list = append(list, b.tensor(&b.Ports[i]))
	}
	return append(list, NewIdent(b.Banner), &b.table)
}

func (b *builder) program() *ProgramThread {
	t := &ProgramThread{Words: WordsProgram}
	t.Bases[BaseText] = b.text.Addr
	t.Bases[BaseConst] = b.kernelSection().Addr
	if b.Form == Form2026 {
		t.Bases[BaseTextConst] = b.text.Sections[1].Addr
	}
	if b.weights != nil {
		t.Bases[BaseWeights] = b.weights.Addr
	}
	if b.scratch != nil {
		t.Bases[BaseScratch] = b.scratch.Addr
	}
	if b.derived != nil {
		t.Bases[BaseDerived] = b.derived.Addr
	}
	// v4.2.1 counts the outputs first, compilers of 2026 take the windows as
	// they come (h13 1.5).
	next := BasePorts
	for _, outputs := range []bool{true, false} {
		for i, port := range b.Windows {
			if b.Form == Form2026 && outputs || b.Form == Form2020 && outputs != (b.Ports[port].Direction != In) {
				continue
			}
			t.Bases[next] = b.windows[i].Addr
			next++
		}
	}
	t.FirstTask, t.FirstTaskWords, t.Tasks = b.text.Addr, uint32(b.FirstTaskWords-1), uint32(b.Tasks)
	t.Unknown824 = 0xffff
	t.Unknown850, t.Unknown858 = b.Unknown850, b.Unknown858
	t.NameOffset = programHeadSize
	if b.Form == Form2026 {
		t.Tail = encodeAttributes(b.Attributes)
		t.NameOffset += uint32(len(t.Tail))
		t.Words = (t.NameOffset - threadHeadSize) / 4
	}
	t.Tail = append(t.Tail, paddedString(int(t.NameOffset), b.Program)...)
	return t
}

func (b *builder) tensor(p *PortSpec) *TensorThread {
	t := &TensorThread{Words: WordsTensor, TensorState: TensorState{
		Unknown10: 3, Direction: p.Direction, Element: p.Element, Shape: p.Shape, Unknown38: 1,
		Strides: p.Strides, BatchBytes: p.Strides[0], Unknown78: 1, UsedBytes: p.used(),
	}}
	if b.Form == Form2026 {
		t.Words = WordsTensor2026
		t.Tail = make([]byte, threadHeadSize+4*WordsTensor2026-tensorHeadSize)
	}
	t.NetworkOffset = uint32(tensorHeadSize + len(t.Tail))
	t.NameOffset = t.NetworkOffset + uint32(len(b.Program)) + 1
	t.PortOffset = t.NameOffset + uint32(len(p.Tensor)) + 1
	t.Tail = append(t.Tail, paddedString(int(t.NetworkOffset), b.Program, p.Tensor, p.Name)...)
	return t
}

// place gives each part its offset in the file: commands, symbols, strings,
// relocations, then from the next page on the segments that have bytes.
func (b *builder) place() error {
	end := uint64(headerSize)
	for _, c := range b.commands() {
		end += uint64(c.Len())
	}
	b.table.Offset = uint32(end)
	end += symbolSize * uint64(len(b.syms))
	b.table.StringOffset = uint32(end)
	end += uint64(len(b.strings))

	text := b.text.Sections[0]
	if len(b.Relocs) > 0 {
		end = alignUp(end, 8)
		text.RelocOffset = uint32(end)
		info := RelocInfo(b.ordinal(b.kernelSection()))
		for _, off := range b.Relocs {
			text.Relocs = append(text.Relocs, Reloc{off, info})
		}
		end += 8 * uint64(len(b.Relocs))
	}
	for _, seg := range b.segments() {
		if len(seg.Sections) == 0 || seg.Sections[0].Data == nil {
			continue
		}
		end = alignUp(end, pageSize)
		seg.FileOffset, seg.FileSize = end, seg.Size
		for _, s := range seg.Sections {
			s.Offset = uint32(end + s.Addr - seg.Addr)
		}
		end += seg.Size
	}
	if end > 1<<32-1 || b.addr > 1<<32 && b.Form == Form2020 {
		return fmt.Errorf("0x%x bytes of file, addresses to 0x%x; want 32 bits", end, b.addr)
	}
	b.size = int64(end)
	return nil
}

func (b *builder) file() *File {
	f := &File{
		Header: Header{
			Magic: Magic, CPUType: CPUType, CPUSubtype: b.Subtype, FileType: FileTypeExecute, Flags: HeaderFlags,
		},
		Commands: b.commands(), Symbols: b.syms, Strings: b.strings, Size: b.size,
	}
	f.Header.Commands = uint32(len(f.Commands))
	for _, c := range f.Commands {
		f.Header.CommandBytes += uint32(c.Len())
	}
	return f
}

func alignUp[T int | int64 | uint64](n, to T) T { return (n + to - 1) / to * to }
