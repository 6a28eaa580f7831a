package firmware

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A Package is the form in which the controller gets its programs: the sixth of
// the forms of seed 23.1. PackageHeader, ProgramHeader and SectionHeader say
// what of it is documented and what is ours.
type Package struct {
	Programs []*Program
	Reserved [44]byte
}

// A Program is what one compiled network gives the controller.
type Program struct {
	Identity   [32]byte // finds the program in the package
	Slot       int32    // programId; -1 before the controller gives one
	Procedures uint32   // how many procedures can be called
	Sections   []*Section
	Reserved   [8]byte
}

// A Section is a part of a program. What the bytes of a kind mean is not
// documented; we put into text the task stream and into kernel the constants, as
// the container has them, since that is what the controller hands on.
type Section struct {
	Kind     SectionKind
	Address  uint64 // where the engine sees it; 0 before it is mapped
	Data     []byte
	Reserved [40]byte
}

// SectionKind is what a section holds. The first five names are those of the
// guide's chapter 2; with them and the other four, t6021 has nine records in the
// command that loads a program, and the numbers are their order.
type SectionKind uint32

// The kinds of section.
const (
	Generic SectionKind = iota
	Kernel
	Text
	Operation
	Procedure
	KernelProperties
	TextProperties
	OperationDebug
	ProcedureProperties
	NumSectionKinds = iota
)

var sectionKinds = [NumSectionKinds]string{
	"generic", "kernel", "text", "operation", "procedure",
	"kernel properties", "text properties", "operation debug", "procedure properties",
}

func (k SectionKind) String() string {
	if k >= NumSectionKinds {
		return fmt.Sprintf("section kind %d", uint32(k))
	}
	return sectionKinds[k]
}

const (
	containerVersion = 1
	headerSize       = 64 // of each of the three
	granule          = 64 // contents are padded with zeros to a multiple
)

// IsPackage reports whether the data begins as a package does.
func IsPackage(data []byte) bool {
	return len(data) >= 4 && binary.LittleEndian.Uint32(data) == PackageMagic
}

// Program returns the program with the identity, nil if there is none.
func (p *Package) Program(identity [32]byte) *Program {
	for _, program := range p.Programs {
		if program.Identity == identity {
			return program
		}
	}
	return nil
}

// Section returns the program's first section of the kind, nil if there is none.
func (p *Program) Section(kind SectionKind) *Section {
	for _, s := range p.Sections {
		if s.Kind == kind {
			return s
		}
	}
	return nil
}

// Read reads a package. The contents of the sections are parts of the data, not
// copies.
func Read(data []byte) (*Package, error) {
	header, err := readHeader(data, 0, len(data), PackageMagic)
	if err != nil {
		return nil, err
	}
	if version := header.u32(4); version != containerVersion {
		return nil, damage(4, "version %d of the package is not known, only %d", version, containerVersion)
	}
	if size := header.u64(8); size != uint64(len(data)) {
		return nil, damage(8, "the package has %d bytes by its header, and %d in fact", size, len(data))
	}
	p := &Package{Reserved: [44]byte(header[20:])}
	pos := headerSize
	seen := map[[32]byte]int{}
	for range header.u32(16) { // each takes a header's bytes, or fails
		program, end, err := readProgram(data, pos)
		if err != nil {
			return nil, err
		}
		if first, twice := seen[program.Identity]; twice {
			return nil, damage(pos+16, "the program at byte 0x%x has the same identity %x", first, program.Identity)
		}
		seen[program.Identity] = pos
		p.Programs = append(p.Programs, program)
		pos = end
	}
	if pos != len(data) {
		return nil, damage(pos, "%d bytes follow the last program", len(data)-pos)
	}
	return p, nil
}

func readProgram(data []byte, start int) (*Program, int, error) {
	header, err := readHeader(data, start, len(data), ProgramMagic)
	if err != nil {
		return nil, 0, err
	}
	size := header.u64(8)
	if size < headerSize || size > uint64(len(data)-start) {
		return nil, 0, damage(start+8, "the program has %d bytes by its header, and %d are left", size, len(data)-start)
	}
	end := start + int(size)
	p := &Program{
		Identity:   [32]byte(header[16:]),
		Slot:       int32(header.u32(48)),
		Procedures: header.u32(52),
		Reserved:   [8]byte(header[56:]),
	}
	pos := start + headerSize
	for range header.u32(4) {
		s, next, err := readSection(data, pos, end)
		if err != nil {
			return nil, 0, err
		}
		p.Sections = append(p.Sections, s)
		pos = next
	}
	if pos != end {
		return nil, 0, damage(pos, "%d bytes follow the last section of the program", end-pos)
	}
	return p, end, nil
}

func readSection(data []byte, start, end int) (*Section, int, error) {
	header, err := readHeader(data, start, end, SectionMagic)
	if err != nil {
		return nil, 0, err
	}
	content := start + headerSize
	size, left := header.u64(8), end-content
	if size > uint64(left) {
		return nil, 0, damage(start+8, "the section has %d bytes by its header, and %d are left", size, left)
	}
	padding := pad(int(size))
	if padding > left-int(size) {
		return nil, 0, damage(content+int(size), "%d bytes of padding are missing", padding)
	}
	stop := content + int(size)
	for i, b := range data[stop : stop+padding] {
		if b != 0 {
			return nil, 0, damage(stop+i, "padding is 0x%02x, not zero", b)
		}
	}
	return &Section{
		Kind:     SectionKind(header.u32(4)),
		Address:  header.u64(16),
		Data:     data[content:stop:stop],
		Reserved: [40]byte(header[24:]),
	}, stop + padding, nil
}

// pad returns how many zeros follow a content of n bytes.
func pad(n int) int { return -n & (granule - 1) }

// A header is the bytes of one of the three.
type header []byte

func (h header) u32(offset int) uint32 { return binary.LittleEndian.Uint32(h[offset:]) }
func (h header) u64(offset int) uint64 { return binary.LittleEndian.Uint64(h[offset:]) }

// readHeader returns the header at start, which must have the magic.
func readHeader(data []byte, start, end int, magic uint32) (header, error) {
	if end-start < headerSize {
		return nil, damage(start, "a header has %d bytes, %d are left", headerSize, end-start)
	}
	h := header(data[start : start+headerSize])
	switch got := h.u32(0); {
	case got == magic:
		return h, nil
	case binary.BigEndian.Uint32(h) == magic:
		return nil, damage(start, "the magic %s stands in the other byte order", fourLetters(magic))
	default:
		return nil, damage(start, "magic 0x%08x instead of 0x%08x (%s)", got, magic, fourLetters(magic))
	}
}

func fourLetters(magic uint32) string {
	return string(binary.BigEndian.AppendUint32(nil, magic))
}

// Encode writes the package.
func (p *Package) Encode() ([]byte, error) {
	if uint64(len(p.Programs)) > math.MaxUint32 {
		return nil, fmt.Errorf("%d programs are too many", len(p.Programs))
	}
	total := headerSize
	seen := map[[32]byte]bool{}
	for _, program := range p.Programs {
		if seen[program.Identity] {
			return nil, fmt.Errorf("two programs have the identity %x", program.Identity)
		}
		seen[program.Identity] = true
		total += program.size()
	}
	data := make([]byte, 0, total)
	data = appendHeader(data, PackageMagic, containerVersion, uint64(total))
	data = binary.LittleEndian.AppendUint32(data, uint32(len(p.Programs)))
	data = append(data, p.Reserved[:]...)
	for _, program := range p.Programs {
		if uint64(len(program.Sections)) > math.MaxUint32 {
			return nil, fmt.Errorf("%d sections are too many", len(program.Sections))
		}
		data = appendHeader(data, ProgramMagic, uint32(len(program.Sections)), uint64(program.size()))
		data = append(data, program.Identity[:]...)
		data = binary.LittleEndian.AppendUint32(data, uint32(program.Slot))
		data = binary.LittleEndian.AppendUint32(data, program.Procedures)
		data = append(data, program.Reserved[:]...)
		for _, s := range program.Sections {
			data = appendHeader(data, SectionMagic, uint32(s.Kind), uint64(len(s.Data)))
			data = binary.LittleEndian.AppendUint64(data, s.Address)
			data = append(data, s.Reserved[:]...)
			data = append(data, s.Data...)
			data = append(data, make([]byte, pad(len(s.Data)))...)
		}
	}
	if len(data) != total {
		panic("bug: the package has not the size that its header says")
	}
	return data, nil
}

// appendHeader appends what the three headers have in common.
func appendHeader(data []byte, magic, word uint32, size uint64) []byte {
	data = binary.LittleEndian.AppendUint32(data, magic)
	data = binary.LittleEndian.AppendUint32(data, word)
	return binary.LittleEndian.AppendUint64(data, size)
}

// size is what the program takes in a package.
func (p *Program) size() int {
	n := headerSize
	for _, s := range p.Sections {
		n += headerSize + len(s.Data) + pad(len(s.Data))
	}
	return n
}
