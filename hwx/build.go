package hwx

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Form is one of the two ways in which containers are known to be laid out.
type Form int

const (
	// Form2020 is that of compiler v4.2.1: text first, then the windows of the
	// ports (h13 1). All of it is certain.
	Form2020 Form = iota
	// Form2026 is that of compiler v9.509.0 as far as it is known (seed; h13
	// 1.3, 1.5; mil-hwx-compiler): scratch first, then the windows,
	// the text, and perhaps the kernels in a segment of their own; wider port
	// commands and longer threads. No file of this form is at hand: segments
	// and addresses are likely, the order of symbols is a guess.
	Form2026
)

func (f Form) String() string {
	if f == Form2026 {
		return "2026"
	}
	return "2020"
}

// A Spec is what a container is made of. Build derives everything else.
type Spec struct {
	Form    Form
	Subtype uint32 // of the CPU; 0: SubtypeH13
	Program string // "": net
	Banner  string // "": one line that names us

	Ports []PortSpec // in the order of their tensor threads
	// Windows is the order of the ports' windows in memory, as indices into
	// Ports. nil is the order that fits all known v4.2.1 files: the inputs
	// backwards, then the outputs.
	Windows []int

	Text           []byte
	Tasks          int
	FirstTaskWords int
	Relocs         []uint32 // offsets of the text's words that hold offsets into the kernel section

	Constants     []byte // behind the text; nil: 0x4000 zero bytes, as Apple's compiler puts there
	KernelSection []byte // Form2026: a segment of its own for the kernel streams; nil: they are in Constants
	Kernels       []KernelSpec
	Scratch       uint64 // Form2026: bytes of memory between tasks

	Unknown850, Unknown858 uint32      // words of the program thread; 0: 0x11 and 3 (Form2026: 4)
	Attributes             []Attribute // Form2026; nil: tag 9 with value 0
}

// A PortSpec describes a port.
type PortSpec struct {
	Name      string
	Tensor    string // the compiler's name; "": Name
	Direction Direction
	Element   Element
	Shape     [4]uint32 // N, C, H, W
	Strides   [4]uint64 // bytes; all 0: rows of whole 64 bytes, packed (h13 3.1)
}

// A KernelSpec names the streams of a kernel in the symbol table.
type KernelSpec struct {
	Digest string // 64 hexadecimal digits; "": a digest of the kernel section
	// Offsets are where the streams begin in the kernel section, by engine. A
	// single one is named without its engine.
	Offsets []uint64
	// Empty is how many engines without a stream follow in the symbol table.
	Empty int
}

const (
	baseAddr      = 0x30000000 // where the address space of a program begins
	zeroConstants = 0x4000
	defaultBanner = "ANEC v1\nespalier\n"
	guardSize     = pageSize
	maxPorts      = 240 // symbols name a section by one byte
)

// setDefaults fills in what may be left out.
func (s *Spec) setDefaults() {
	if s.Subtype == 0 {
		s.Subtype = SubtypeH13
	}
	if s.Program == "" {
		s.Program = "net"
	}
	if s.Banner == "" {
		s.Banner = defaultBanner
	}
	if s.Unknown850 == 0 {
		s.Unknown850 = 0x11
	}
	if s.Unknown858 == 0 {
		s.Unknown858 = 3
		if s.Form == Form2026 {
			s.Unknown858 = 4
		}
	}
	if s.Constants == nil {
		s.Constants = make([]byte, zeroConstants)
	}
	if s.Form == Form2026 && s.Attributes == nil {
		s.Attributes = []Attribute{{Tag: 9, Value: make([]byte, 8)}}
	}
	s.Ports = slices.Clone(s.Ports)
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Tensor == "" {
			p.Tensor = p.Name
		}
		if p.Strides == [4]uint64{} {
			p.Strides = SurfaceStrides(p.Element, p.Shape)
		}
	}
	if s.Windows == nil {
		s.Windows = defaultWindows(s.Ports)
	}
}

// SurfaceStrides are the strides of a tensor in memory as Apple's compiler lays
// it out: rows of whole 64 bytes, packed (h13 3.1).
func SurfaceStrides(element Element, shape [4]uint32) [4]uint64 {
	bits := uint64(element.DType().Bits())
	row := alignUp((uint64(shape[3])*bits+7)/8, tileSize)
	plane := row * uint64(shape[2])
	return [4]uint64{plane * uint64(shape[1]), plane, row, bits / 8}
}

func defaultWindows(ports []PortSpec) []int {
	var order []int
	for i := len(ports) - 1; i >= 0; i-- {
		if ports[i].Direction == In {
			order = append(order, i)
		}
	}
	for i, p := range ports {
		if p.Direction != In {
			order = append(order, i)
		}
	}
	return order
}

// bytes is the size of the port's window section: all batch elements.
func (p *PortSpec) bytes() uint64 { return uint64(p.Shape[0]) * p.Strides[0] }

// used is what the tensor thread counts at its end: for an input all bytes, for
// an output those up to the last element.
func (p *PortSpec) used() uint64 {
	if p.Direction == In || p.bytes() == 0 {
		return p.bytes()
	}
	used := (uint64(p.Shape[3])*uint64(p.Element.DType().Bits()) + 7) / 8
	for i := range 3 {
		used += uint64(p.Shape[i]-1) * p.Strides[i]
	}
	return used
}

func (s *Spec) check() error {
	if len(s.Text) == 0 || len(s.Text)%4 != 0 {
		return fmt.Errorf("0x%x bytes of text, want whole words, and some", len(s.Text))
	}
	if s.Tasks < 1 || s.FirstTaskWords < 1 || 4*s.FirstTaskWords > len(s.Text) {
		return fmt.Errorf("%d tasks, the first of %d words, in 0x%x bytes of text", s.Tasks, s.FirstTaskWords, len(s.Text))
	}
	if len(s.Ports) > maxPorts {
		return fmt.Errorf("%d ports, want %d or fewer", len(s.Ports), maxPorts)
	}
	order := slices.Sorted(slices.Values(s.Windows))
	for i := range s.Ports {
		if len(order) != len(s.Ports) || order[i] != i {
			return fmt.Errorf("windows %v do not name each of %d ports once", s.Windows, len(s.Ports))
		}
	}
	names := make(map[string]bool)
	for _, p := range s.Ports {
		switch {
		case p.Name == "" || strings.ContainsRune(p.Name+p.Tensor, 0):
			return fmt.Errorf("port name %q is empty or has a NUL", p.Name)
		case names[p.Name]:
			return fmt.Errorf("a second port named %q", p.Name)
		case p.Direction != In && p.Direction != Out:
			return fmt.Errorf("port %q: direction %d, want in or out", p.Name, p.Direction)
		case p.Element.DType().Bits() == 0:
			return fmt.Errorf("port %q: no tensor has elements of type %d", p.Name, p.Element)
		}
		if reach := uint64(0); slices.Max(p.Strides[:]) > maxUnbackedMemory || !addMul(&reach, uint64(p.Shape[0]), p.Strides[0]) || reach > maxUnbackedMemory {
			return fmt.Errorf("port %q: shape %d with strides %d, want 0x%x bytes or fewer", p.Name, p.Shape, p.Strides, int64(maxUnbackedMemory))
		}
		names[p.Name] = true
	}
	if strings.ContainsRune(s.Banner+s.Program, 0) {
		return errors.New("a NUL in the banner or the program's name")
	}
	if s.Form == Form2020 && (s.Scratch != 0 || s.KernelSection != nil || s.Attributes != nil) {
		return errors.New("scratch, a kernel section and attributes need the form of 2026")
	}
	if s.Scratch > maxUnbackedMemory {
		return fmt.Errorf("0x%x bytes of scratch, want 0x%x or fewer", s.Scratch, int64(maxUnbackedMemory))
	}
	for _, off := range s.Relocs {
		if int64(off)+4 > int64(len(s.Text)) {
			return fmt.Errorf("relocation at 0x%x of 0x%x bytes of text", off, len(s.Text))
		}
	}
	for _, k := range s.Kernels {
		for _, off := range k.Offsets {
			if off > uint64(len(s.kernelData())) {
				return fmt.Errorf("kernel stream at 0x%x of 0x%x bytes", off, len(s.kernelData()))
			}
		}
		if k.Digest != "" {
			if _, ok := ParseKernelName("K" + k.Digest); !ok {
				return fmt.Errorf("kernel digest %q, want 64 hexadecimal digits", k.Digest)
			}
		}
	}
	return nil
}

func (s *Spec) kernelData() []byte {
	if s.KernelSection != nil {
		return s.KernelSection
	}
	return s.Constants
}

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

	guard, scratch, text, kernels *Segment
	windows                       []*Segment // in the order of Spec.Windows

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
	if b.Scratch > 0 {
		b.scratch = b.newSegment("__DATA", b.Scratch, ProtRead|ProtWrite, SegmentNoRelocs,
			newSection("__DATA", "__bss", b.addr, b.Scratch, sectionAlignTile, SectionScratch, nil))
	}
	b.layOutWindows()
	b.layOutText()
	if b.KernelSection != nil {
		b.kernels = b.newSegment("__KERN_0", uint64(len(b.KernelSection)), ProtRead, SegmentNoRelocs,
			newSection("__KERN_0", "__kern_0", b.addr, uint64(len(b.KernelSection)), sectionAlignTile, SectionConst, b.KernelSection))
	}
}

func (b *builder) layOutText() {
	segmentFlags, sectionFlags := uint32(SegmentNoRelocs), uint32(SectionText)
	if len(b.Relocs) > 0 {
		segmentFlags, sectionFlags = 0, SectionText|SectionHasRelocs
	}
	textSize, constSize := uint64(len(b.Text)), uint64(len(b.Constants))
	constStart := alignUp(textSize, tileSize)
	b.text = b.newSegment("__TEXT", constStart+constSize, ProtRead|ProtExecute, segmentFlags,
		newSection("__TEXT", "__text", b.addr, textSize, sectionAlignPage, sectionFlags, b.Text),
		newSection("__TEXT", "__const", b.addr+constStart, constSize, sectionAlignTile, SectionConst, b.Constants))
}

func (b *builder) layOutWindows() {
	for _, i := range b.Windows {
		p := &b.Ports[i]
		name, prot, flags := "__const", uint32(ProtRead), uint32(SectionInput)
		if p.Direction == Out {
			name, prot, flags = "__data", ProtWrite, SectionOutput
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
	if b.scratch != nil {
		list = append(list, b.scratch)
	}
	list = append(append(list, b.windows...), b.text)
	if b.kernels != nil {
		list = append(list, b.kernels)
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
	if b.scratch != nil {
		t.Bases[BaseScratch] = b.scratch.Addr
	}
	// v4.2.1 counts the outputs first, compilers of 2026 take the windows as
	// they come (h13 1.5).
	next := BasePorts
	for _, outputs := range []bool{true, false} {
		for i, port := range b.Windows {
			if b.Form == Form2026 && outputs || b.Form == Form2020 && outputs != (b.Ports[port].Direction == Out) {
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
