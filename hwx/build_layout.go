package hwx

import (
	"bytes"
	"fmt"
)

// Where the parts of a container lie in memory.

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
//
//	one program, 2020     text, windows
//	one program, 2026     data, windows, text, kernels
//	several               data of each, windows, text of each, kernels
func (b *builder) layOut() {
	b.guard = &Segment{Name: NameOf("__PAGEZERO"), Size: guardSize, Flags: SegmentNoRelocs}
	steps := []func(*programBuilder){b.layOutData, b.layOutWindows, b.layOutText, b.layOutKernels}
	if b.form == Form2020 {
		steps = []func(*programBuilder){b.layOutText, b.layOutWindows}
	}
	for _, step := range steps {
		for _, p := range b.programs {
			step(p)
		}
	}
}

// layOutKernels places the kernel section and the weight file: each in a
// segment of its own, the weight file first where it is alone.
func (b *builder) layOutKernels(p *programBuilder) {
	if p.KernelSection != nil {
		p.kernels = b.kernelSegment(uint64(len(p.KernelSection)), SectionConst, p.KernelSection)
	}
	switch {
	case p.WeightFile != nil:
		p.weights = b.kernelSegment(uint64(len(p.WeightFile)), SectionConst, p.WeightFile)
	case p.External > 0:
		p.weights = b.kernelSegment(p.External, SectionExternal, nil)
	}
	if p.kernels == nil {
		p.kernels, p.weights = p.weights, nil
	}
}

// kernelSegment is the segment that has the bytes, the same for all programs that
// have the same. Of bytes that are elsewhere, nobody knows whether they are.
func (b *builder) kernelSegment(size uint64, flags uint32, data []byte) *Segment {
	for _, s := range b.kernels {
		if b.several() && data != nil && sameBytes(s.Sections[0].Data, data) {
			return s
		}
	}
	segment, section := fmt.Sprintf("__KERN_%d", len(b.kernels)), fmt.Sprintf("__kern_%d", len(b.kernels))
	s := b.newSegment(segment, size, ProtRead, SegmentNoRelocs,
		newSection(segment, section, b.addr, size, sectionAlignTile, flags, data))
	b.kernels = append(b.kernels, s)
	return s
}

// sameBytes reports whether the content is the same. That of one slice it does
// not look at: a weight file is large.
func sameBytes(x, y []byte) bool {
	return x != nil && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0] || bytes.Equal(x, y))
}

// layOutData places the memory that is neither in the file nor a port's: scratch,
// then derived memory.
func (b *builder) layOutData(p *programBuilder) {
	derivedStart := alignUp(p.Scratch, tileSize)
	var sections []*Section
	if p.Scratch > 0 {
		p.scratch = newSection("__DATA", "__bss", b.addr, p.Scratch, sectionAlignTile, SectionScratch, nil)
		sections = append(sections, p.scratch)
	}
	if p.Derived > 0 {
		p.derived = newSection("__DATA", "__derived", b.addr+derivedStart, p.Derived, sectionAlignTile, SectionDerived, nil)
		sections = append(sections, p.derived)
	}
	if sections != nil {
		p.data = b.newSegment("__DATA", derivedStart+p.Derived, ProtRead|ProtWrite, SegmentNoRelocs, sections...)
	}
}

func (b *builder) layOutText(p *programBuilder) {
	segmentFlags, sectionFlags := uint32(SegmentNoRelocs), uint32(SectionText)
	if len(p.Relocs) > 0 {
		segmentFlags, sectionFlags = 0, SectionText|SectionHasRelocs
	}
	textSize, constSize := uint64(len(p.Text)), uint64(len(p.Constants))
	constStart := alignUp(textSize, tileSize)
	sections := []*Section{
		newSection("__TEXT", "__text", b.addr, textSize, sectionAlignPage, sectionFlags, p.Text),
		newSection("__TEXT", "__const", b.addr+constStart, constSize, sectionAlignTile, SectionConst, p.Constants),
	}
	size := constStart + constSize
	if len(p.Foreign) > 0 {
		start := alignUp(size, tileSize)
		var numbers []byte
		for _, task := range p.Foreign {
			numbers = le.AppendUint32(numbers, task)
		}
		size = start + uint64(len(numbers))
		sections = append(sections, newSection("__TEXT", foreignSection, b.addr+start, uint64(len(numbers)), sectionAlignTile, SectionConst, numbers))
	}
	p.text = b.newSegment("__TEXT", size, ProtRead|ProtExecute, segmentFlags, sections...)
}

func (b *builder) layOutWindows(program *programBuilder) {
	for _, i := range program.Windows {
		p := &program.Ports[i]
		if known := b.window(p); known != nil {
			program.windows = append(program.windows, known)
			continue
		}
		name, prot, flags := "__const", uint32(ProtRead), uint32(SectionInput)
		switch p.Direction {
		case Out:
			name, prot, flags = "__data", ProtWrite, SectionOutput
		case InOut:
			name, prot, flags = "__state", ProtRead|ProtWrite, SectionState
		}
		w := &portWindow{p, b.newSegment("__FVMLIB", p.bytes(), prot, SegmentNoRelocs|SegmentFixedLib,
			newSection("__FVMLIB", name, b.addr, p.bytes(), sectionAlignPage, flags, nil))}
		b.windows = append(b.windows, w)
		program.windows = append(program.windows, w)
	}
}

// window is that of a port which another program has too: one symbol, which a
// caller binds once for both, as a state that one fills and the other reads.
func (b *builder) window(p *PortSpec) *portWindow {
	for _, w := range b.windows {
		port := *w.PortSpec
		port.Tensor = p.Tensor
		if port == *p {
			return w
		}
	}
	return nil
}

// segments lists the segments in file order, which is that of their addresses.
func (b *builder) segments() []*Segment {
	list := []*Segment{b.guard}
	windows := func() {
		for _, w := range b.windows {
			list = append(list, w.Segment)
		}
	}
	if b.form == Form2020 {
		list = append(list, b.programs[0].text)
		windows()
		return list
	}
	for _, p := range b.programs {
		if p.data != nil {
			list = append(list, p.data)
		}
	}
	windows()
	for _, p := range b.programs {
		list = append(list, p.text)
	}
	return append(list, b.kernels...)
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
func (p *programBuilder) kernelSection() *Section {
	if p.kernels != nil {
		return p.kernels.Sections[0]
	}
	return p.text.Sections[1]
}
