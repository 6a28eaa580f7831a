package hwx

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/td"
)

// Build makes the container that Specs describe: of one program, or of several
// that can be called one by one (see Procedure). The file holds the slices of the
// Specs, it does not copy them.
func Build(specs ...Spec) (*File, error) {
	b := builder{addr: baseAddr}
	if err := b.take(specs); err != nil {
		return nil, fmt.Errorf("building a container: %w", err)
	}
	b.layOut()
	if err := b.checkSections(); err != nil {
		return nil, fmt.Errorf("building a container: %w", err)
	}
	b.symbols()
	if err := b.place(); err != nil {
		return nil, fmt.Errorf("building a container: %w", err)
	}
	return b.file(), nil
}

// builder lays a container out: first memory, then symbols, then the file.
type builder struct {
	form     Form
	programs []*programBuilder
	addr     uint64 // next free address

	guard   *Segment
	windows []*portWindow // in the order of their addresses
	kernels []*Segment    // of kernel streams and weight files

	syms    []Symbol
	strings []byte
	table   SymbolTable
	size    int64
}

// A programBuilder is one program of the container, with the memory that is its
// own and the memory that it shares with others.
type programBuilder struct {
	Spec
	data, text       *Segment // its own
	scratch, derived *Section // of data
	windows          []*portWindow
	kernels, weights *Segment // the weights are those beside the kernels
}

// A portWindow is the memory of a port. Programs share it that have the same port.
type portWindow struct {
	*PortSpec
	*Segment
}

// take checks the Specs, and what several have in common.
func (b *builder) take(specs []Spec) error {
	if len(specs) == 0 {
		return errors.New("no program")
	}
	specs = slices.Clone(specs)
	if err := oneVersion(specs); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, spec := range specs {
		spec.setDefaults()
		if err := spec.check(); err != nil {
			if len(specs) > 1 {
				err = fmt.Errorf("program %q: %w", spec.Program, err)
			}
			return err
		}
		b.programs = append(b.programs, &programBuilder{Spec: spec})
		first := b.programs[0]
		switch {
		case names[spec.Program]:
			return fmt.Errorf("a second program %q", spec.Program)
		case spec.Subtype != first.Subtype || spec.Banner != first.Banner:
			return fmt.Errorf("programs %q and %q have other targets or banners", first.Program, spec.Program)
		case len(specs) > 1 && spec.Form == Form2020:
			return fmt.Errorf("program %q: several programs need the form of 2026", spec.Program)
		}
		names[spec.Program] = true
	}
	b.form = b.programs[0].Form
	return nil
}

// oneVersion makes the tasks of all programs those of one version. A container
// has one, beside which tasks may be of version 256.
func oneVersion(specs []Spec) error {
	version := td.Version(0)
	for _, s := range specs {
		switch v := s.TaskVersion; {
		case v == 0 || v == version || v == td.V256 && version != 0:
		case version == 0 || version == td.V256:
			version = v
		default:
			return fmt.Errorf("program %q has tasks of %v, others of %v", s.Program, v, version)
		}
	}
	for i := range specs {
		s := &specs[i]
		if s.TaskVersion != td.V256 || version == td.V256 {
			continue
		}
		s.TaskVersion, s.Foreign = version, nil
		for task := range s.Tasks {
			s.Foreign = append(s.Foreign, uint32(task))
		}
	}
	return nil
}

// maxSections is how many sections a symbol, which has a byte for them, can name.
const maxSections = 255

func (b *builder) checkSections() error {
	n := 0
	for _, s := range b.segments() {
		n += len(s.Sections)
	}
	if n > maxSections {
		return fmt.Errorf("%d programs have %d sections of memory, want %d or fewer", len(b.programs), n, maxSections)
	}
	return nil
}

// several reports whether the container has more than one program. What the
// layout has for that alone is ours: no real file has two.
func (b *builder) several() bool { return len(b.programs) > 1 }

// symbols makes the symbol table: kernel streams, ports, the catalogue, the
// shapes of the ports (h13 1.7).
func (b *builder) symbols() {
	b.strings = []byte{0}
	add := func(name string, s Symbol) {
		s.NameOffset = uint32(len(b.strings))
		b.strings = append(append(b.strings, name...), 0)
		b.syms = append(b.syms, s)
	}
	for i, p := range b.programs {
		for _, k := range p.Kernels {
			if b.named(i, k) {
				continue
			}
			b.kernelSymbols(p, k, add)
		}
	}
	for _, w := range b.windows {
		desc := uint16(DescRead)
		if w.Direction == Out {
			desc = DescNone
		}
		add(w.PortSpec.Name, Symbol{Type: SymbolAddress, Section: uint8(b.ordinal(w.Sections[0])), Desc: desc, Value: w.Addr})
	}
	last := 0
	for _, t := range elementTypes {
		if t.Name != "" && b.lists(t) {
			add(t.Stab(), Symbol{Type: SymbolElement})
			last = int(t.Number)
		}
	}
	number := last + 1
	for _, w := range b.windows {
		add(shapeOf(w.PortSpec.Name, number, w.Element, w.Shape, w.Strides).String(), Symbol{Type: SymbolShape, Desc: uint16(number)})
		number += shapeNumbers
	}
}

// kernelSymbols names the streams of a kernel.
func (b *builder) kernelSymbols(p *programBuilder, k KernelSpec, add func(string, Symbol)) {
	kernels := p.kernelSection()
	ordinal := uint8(b.ordinal(kernels))
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

// named reports whether an earlier program has named the same kernel of the same
// section.
func (b *builder) named(program int, k KernelSpec) bool {
	kernels := b.programs[program].kernelSection()
	for _, p := range b.programs[:program] {
		if p.kernelSection() == kernels && slices.ContainsFunc(p.Kernels, func(o KernelSpec) bool {
			return o.Digest == k.Digest && o.Empty == k.Empty && slices.Equal(o.Offsets, k.Offsets)
		}) {
			return true
		}
	}
	return false
}

// lists says whether the catalogue of a file has the element type: those of the
// form's compiler, and of ours those that a port has.
func (b *builder) lists(t ElementType) bool {
	switch t.Since {
	case compiler2020:
		return true
	case compiler2026:
		return b.form == Form2026
	}
	return slices.ContainsFunc(b.windows, func(w *portWindow) bool { return w.Element == t.Number })
}

// commands makes the load commands. Their sizes do not depend on the offsets
// that place fills in.
func (b *builder) commands() []Command {
	wide := b.form == Form2026
	var list []Command
	for _, s := range b.segments() {
		list = append(list, s)
	}
	for _, w := range b.windows {
		list = append(list, NewPortBinding(wide, w.PortSpec.Name, w.Addr))
	}
	for _, p := range b.programs {
		list = append(list, b.program(p))
		for i := range p.Ports {
			list = append(list, p.tensor(&p.Ports[i]))
		}
	}
	return append(list, NewIdent(b.programs[0].Banner), &b.table)
}

func (b *builder) program(p *programBuilder) *ProgramThread {
	t := &ProgramThread{Words: WordsProgram}
	t.Bases[BaseText] = p.text.Addr
	t.Bases[BaseConst] = p.kernelSection().Addr
	if b.form == Form2026 {
		t.Bases[BaseTextConst] = p.text.Sections[1].Addr
	}
	if p.weights != nil {
		t.Bases[BaseWeights] = p.weights.Addr
	}
	if b.several() { // where nothing is, the memory of another program may begin
		if p.kernelSection().Size == 0 {
			t.Bases[BaseConst] = 0
		}
		if len(p.Constants) == 0 {
			t.Bases[BaseTextConst] = 0
		}
		if p.weights != nil && p.weights.Size == 0 {
			t.Bases[BaseWeights] = 0
		}
	}
	if p.scratch != nil {
		t.Bases[BaseScratch] = p.scratch.Addr
	}
	if p.derived != nil {
		t.Bases[BaseDerived] = p.derived.Addr
	}
	// v4.2.1 counts the outputs first, compilers of 2026 take the windows as
	// they come (h13 1.5).
	next := BasePorts
	for _, outputs := range []bool{true, false} {
		for _, w := range p.windows {
			if b.form == Form2026 && outputs || b.form == Form2020 && outputs != (w.Direction != In) {
				continue
			}
			t.Bases[next] = w.Addr
			next++
		}
	}
	t.FirstTask, t.FirstTaskWords, t.Tasks = p.text.Addr, uint32(p.FirstTaskWords-1), uint32(p.Tasks)
	t.Unknown824 = 0xffff
	t.Unknown850, t.Unknown858 = p.Unknown850, p.Unknown858
	t.NameOffset = programHeadSize
	if b.form == Form2026 {
		t.Tail = encodeAttributes(p.Attributes)
		t.NameOffset += uint32(len(t.Tail))
		t.Words = (t.NameOffset - threadHeadSize) / 4
	}
	t.Tail = append(t.Tail, paddedString(int(t.NameOffset), p.Program)...)
	return t
}

// tensor makes the thread of a port, which belongs to the program whose name its
// network has.
func (b *programBuilder) tensor(p *PortSpec) *TensorThread {
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

	for _, p := range b.programs {
		if len(p.Relocs) == 0 {
			continue
		}
		end = alignUp(end, 8)
		text := p.text.Sections[0]
		text.RelocOffset = uint32(end)
		info := RelocInfo(b.ordinal(p.kernelSection()))
		for _, off := range p.Relocs {
			text.Relocs = append(text.Relocs, Reloc{off, info})
		}
		end += 8 * uint64(len(p.Relocs))
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
	if end > 1<<32-1 || b.addr > 1<<32 && b.form == Form2020 {
		return fmt.Errorf("0x%x bytes of file, addresses to 0x%x; want 32 bits", end, b.addr)
	}
	b.size = int64(end)
	return nil
}

func (b *builder) file() *File {
	f := &File{
		Header: Header{
			Magic: Magic, CPUType: CPUType, CPUSubtype: b.programs[0].Subtype, FileType: FileTypeExecute, Flags: HeaderFlags,
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
