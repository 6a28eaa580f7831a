package hwx

import (
	"fmt"
	"iter"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// A File is a container. It can be read, changed and encoded again; Build
// makes one from a description.
type File struct {
	Header   Header
	Commands []Command // in file order

	// The symbol table, where the SymbolTable command says. A symbol's name is
	// an offset into Strings.
	Symbols []Symbol
	Strings []byte

	// Gaps are the bytes that belong to no part and are not all zero.
	Gaps []Gap
	// Size is the length of the file: what follows the last part is zero.
	Size int64

	mapping *osfile.Mapping
}

// A Gap is a run of bytes between the parts of a file.
type Gap struct {
	Offset int64
	Data   []byte
}

// Header is the first 32 bytes of a container, as they stand there (h13 1.1,
// seed table 23.9). Encode counts Commands and CommandBytes anew.
type Header struct {
	Magic        uint32 // Magic
	CPUType      uint32 // CPUType
	CPUSubtype   uint32 // the target: 4 for H13
	FileType     uint32 // FileTypeExecute
	Commands     uint32 // load commands
	CommandBytes uint32 // their bytes
	Flags        uint32 // HeaderFlags
	Reserved     uint32
}

// What stands in the header of every container that is known.
const (
	Magic           = 0xbeefface
	MachOMagic      = 0xfeedfacf // of a real 64-bit Mach-O; put in the place of Magic, tools for Mach-O read the file
	CPUType         = 0x80
	SubtypeH13      = 4
	FileTypeExecute = 2
	HeaderFlags     = 0x00200000

	headerSize = 32
)

// IsContainer reports whether data begins as a container does.
func IsContainer(data []byte) bool {
	return len(data) >= 4 && le.Uint32(data) == Magic
}

// Open maps and reads the container at path. Its sections are views of the
// mapping, not to be written to, nor to be used after Close.
func Open(path string) (*File, error) { return open(path, osfile.Map) }

// OpenCopy is Open into memory: what happens to the file afterwards does not
// matter.
func OpenCopy(path string) (*File, error) { return open(path, osfile.Copy) }

func open(path string, load func(string) (*osfile.Mapping, error)) (f *File, err error) {
	m, err := load(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.Close()
			f, err = nil, fmt.Errorf("%s: %w", path, err)
		}
	}()
	defer osfile.Protect().Catch(&err)
	if f, err = NewFile(m.Bytes()); err == nil {
		f.mapping = m
	}
	return f, err
}

// Changed says of a file that Open mapped and that was written to since that it
// was. The error wraps that of package osfile.
func (f *File) Changed() error {
	if f.mapping == nil {
		return nil
	}
	return f.mapping.Changed()
}

// Close releases the mapping of a file that Open opened. For other files, it
// does nothing.
func (f *File) Close() error {
	m := f.mapping
	f.mapping = nil
	if m == nil {
		return nil
	}
	return m.Close()
}

// all ranges over the commands of one type.
func all[T Command](f *File) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, c := range f.Commands {
			if c, ok := c.(T); ok && !yield(c) {
				return
			}
		}
	}
}

// placed ranges over the commands and their offsets in the file.
func (f *File) placed() iter.Seq2[int64, Command] {
	return func(yield func(int64, Command) bool) {
		at := int64(headerSize)
		for _, c := range f.Commands {
			if !yield(at, c) {
				return
			}
			at += int64(c.Len())
		}
	}
}

// Segments lists the segments in file order.
func (f *File) Segments() []*Segment {
	var segments []*Segment
	for s := range all[*Segment](f) {
		segments = append(segments, s)
	}
	return segments
}

// Sections lists the sections of all segments. The ordinal of a section, by
// which symbols and relocations name it, is its index here plus one.
func (f *File) Sections() []*Section {
	var sections []*Section
	for s := range all[*Segment](f) {
		sections = append(sections, s.Sections...)
	}
	return sections
}

// Section finds a section by the names of its segment and its own, or returns
// nil. Of several, as of the ports' windows, it is the first.
func (f *File) Section(segment, name string) *Section {
	for _, s := range f.Sections() {
		if s.Segment.String() == segment && s.Name.String() == name {
			return s
		}
	}
	return nil
}

// Text is the section of the task stream, or nil.
func (f *File) Text() *Section { return f.Section("__TEXT", "__text") }

// Constants is the section after the task stream, or nil. A file without
// kernel data holds 0x4000 zero bytes there (h13 1.3), and so does a file whose
// kernel data is in a segment of its own (seed); see KernelSections.
func (f *File) Constants() *Section { return f.Section("__TEXT", "__const") }

// KernelSections are the sections that hold the kernel streams: those of the
// segments __KERN_0, __KERN_1, … if there are any, else Constants. One that is
// External has no bytes.
func (f *File) KernelSections() []*Section {
	var kernels []*Section
	for s := range all[*Segment](f) {
		if isKernelSegment(s.Name.String()) {
			kernels = append(kernels, s.Sections...)
		}
	}
	if kernels == nil {
		if c := f.Constants(); c != nil {
			kernels = append(kernels, c)
		}
	}
	return kernels
}

// External is the section whose bytes are not in the file but a weight file
// that the loader binds, or nil.
func (f *File) External() *Section { return externalOf(f.Sections()) }

func externalOf(sections []*Section) *Section {
	for _, s := range sections {
		if s.Flags == SectionExternal && s.Data == nil {
			return s
		}
	}
	return nil
}

// Banner is the text in which the compiler describes itself and its
// invocation, or "".
func (f *File) Banner() string {
	for c := range all[*Ident](f) {
		return c.Text()
	}
	return ""
}
