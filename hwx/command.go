package hwx

import (
	"bytes"
	"encoding/binary"
	"strings"
)

var le = binary.LittleEndian

// The kinds of load command (h13 1.2). The numbers and the older structures are
// those of Mach-O: its thread, fixed library and identification commands.
const (
	CmdSymbolTable = 0x02
	CmdThread      = 0x04
	CmdPort        = 0x06
	CmdIdent       = 0x08
	CmdSegment     = 0x19
	CmdWindow      = 0x40 // in the place of CmdPort in files of 2026: the number is from mil-hwx-compiler's H16 writer, the form is that of the seed
)

// The flavours of thread command that have a known form (h13 1.5, 1.6).
// Flavour 4 is the program of later generations, kept raw.
const (
	FlavorProgram = 1
	FlavorTensor  = 3
)

// A Command is one load command: *Segment, *PortBinding, *ProgramThread,
// *TensorThread, *Ident, *SymbolTable or *RawCommand.
type Command interface {
	Code() uint32 // the number that the command begins with
	Len() int     // its bytes, with number and length
	encode(dst []byte)
}

// commandHead begins every command.
type commandHead struct{ Code, Len uint32 }

// put encodes the fixed part of a command.
func put(dst []byte, fixed any) int {
	n, err := binary.Encode(dst, le, fixed)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return n
}

// take decodes the fixed part of a command, which the caller knows to be there.
func take(src []byte, fixed any) int {
	n, err := binary.Decode(src, le, fixed)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return n
}

// A Name is a name of at most 16 bytes, filled up with zeros.
type Name [16]byte

// NameOf makes a Name; what is over 16 bytes is cut.
func NameOf(s string) (n Name) {
	copy(n[:], s)
	return n
}

func (n Name) String() string { return untilNUL(n[:]) }

func untilNUL(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// A RawCommand is a load command of a kind that is not known.
type RawCommand struct {
	Number uint32
	Body   []byte // all behind number and length
}

func (c *RawCommand) Code() uint32 { return c.Number }
func (c *RawCommand) Len() int     { return 8 + len(c.Body) }

func (c *RawCommand) encode(dst []byte) {
	copy(dst[put(dst, commandHead{c.Number, uint32(c.Len())}):], c.Body)
}

// A Segment is a range of the engine's address space, with or without bytes in
// the file (h13 1.3).
type Segment struct {
	Name       Name
	Addr       uint64
	Size       uint64 // in the address space
	FileOffset uint64
	FileSize   uint64
	MaxProt    uint32 // Prot bits
	InitProt   uint32
	Flags      uint32
	Sections   []*Section
	Tail       []byte // behind the sections; empty in every known file
}

// The bits of a segment's protection, as the engine sees the memory.
const (
	ProtRead    = 1
	ProtWrite   = 2
	ProtExecute = 4
)

// Segment flags.
const (
	SegmentNoRelocs = 4    // h13 1.3: set unless a section of the segment has relocations
	SegmentFixedLib = 2    // set with it in the ports' windows
	segmentHeadSize = 0x48 // of the command without its sections
	sectionHeadSize = 0x50
)

// A Section is a part of a segment.
type Section struct {
	Name        Name
	Segment     Name
	Addr        uint64
	Size        uint64
	Offset      uint32 // in the file; 0: no bytes there
	Align       uint32 // power of two
	RelocOffset uint32
	Flags       uint32
	Reserved    [3]uint32

	Relocs []Reloc
	// Data is the section's content; nil where the file holds none. Its length
	// is Size.
	Data []byte
}

// Section flags that are known.
const (
	SectionInput      = 0x21 // window of an input port
	SectionOutput     = 0x23 // window of an output port
	SectionScratch    = 0x25 // 2026: __DATA,__bss; from mil-hwx-compiler
	SectionConst      = 0x26
	SectionText       = 0x28
	SectionState      = 0x41 // ours: window of a port that is read and written
	SectionDerived    = 0x45 // ours: __DATA,__derived, memory that tasks fill once
	SectionExternal   = 0x46 // ours: a kernel section whose bytes are a weight file, not in this one
	SectionHasRelocs  = 0x100
	sectionAlignPage  = 14
	sectionAlignTile  = 6
	pageSize          = 0x4000
	tileSize          = 0x40
	maxUnbackedMemory = 8 << 30 // most bytes of a section without bytes in the file: --bss-limit of the newest known banner
	maxExternalBytes  = 1 << 40 // most bytes of external weights, which nobody allocates
)

// A Reloc is a word of the text that holds an offset into another section
// (h13 1.4).
type Reloc struct {
	Offset uint32 // of the word in its own section
	Info   uint32
}

// RelocInfo is the second word of a relocation in v4.2.1 files: relative to
// the program counter, four bytes, not external, type 0, into the section with
// the ordinal.
func RelocInfo(ordinal int) uint32 { return 0x05000000 | uint32(ordinal)&0x00ffffff }

// Ordinal is the section into which the word points.
func (r Reloc) Ordinal() int { return int(r.Info & 0x00ffffff) }

// Bytes is the width of the word.
func (r Reloc) Bytes() int { return 1 << (r.Info >> 25 & 3) }

type segmentHead struct {
	commandHead
	Name                               Name
	Addr, Size, FileOffset, FileSize   uint64
	MaxProt, InitProt, Sections, Flags uint32
}

type sectionHead struct {
	Name, Segment                             Name
	Addr, Size                                uint64
	Offset, Align, RelocOffset, Relocs, Flags uint32
	Reserved                                  [3]uint32
}

func (c *Segment) Code() uint32 { return CmdSegment }

func (c *Segment) Len() int {
	return segmentHeadSize + sectionHeadSize*len(c.Sections) + len(c.Tail)
}

func (c *Segment) encode(dst []byte) {
	n := put(dst, segmentHead{
		commandHead{CmdSegment, uint32(c.Len())},
		c.Name, c.Addr, c.Size, c.FileOffset, c.FileSize,
		c.MaxProt, c.InitProt, uint32(len(c.Sections)), c.Flags,
	})
	for _, s := range c.Sections {
		n += put(dst[n:], sectionHead{
			s.Name, s.Segment, s.Addr, s.Size,
			s.Offset, s.Align, s.RelocOffset, uint32(len(s.Relocs)), s.Flags, s.Reserved,
		})
	}
	copy(dst[n:], c.Tail)
}

func isKernelSegment(name string) bool { return strings.HasPrefix(name, "__KERN_") }

// A PortBinding gives a port's name to the address of its window (h13 1.2).
// Windows of 2026 files have a command of another number, with a wider address
// (seed, "window-binding load commands").
type PortBinding struct {
	Wide       bool // CmdWindow, not CmdPort
	NameOffset uint32
	Reserved   uint32
	Addr       uint64 // 32 bits unless Wide
	Tail       []byte // the name, and zeros
}

type narrowBinding struct {
	commandHead
	NameOffset, Reserved, Addr uint32
}

type wideBinding struct {
	commandHead
	NameOffset, Reserved uint32
	Addr                 uint64
}

// NewPortBinding makes the binding of a port.
func NewPortBinding(wide bool, name string, addr uint64) *PortBinding {
	c := &PortBinding{Wide: wide, Addr: addr}
	c.NameOffset = uint32(c.headSize())
	c.Tail = paddedString(c.headSize(), name)
	return c
}

// paddedString is text with its NUL, and zeros up to a multiple of 8 counted
// from the start of the command, in which size bytes precede the text.
func paddedString(size int, text ...string) []byte {
	b := append([]byte(strings.Join(text, "\x00")), 0)
	return append(b, make([]byte, alignUp(size+len(b), 8)-size-len(b))...)
}

func (c *PortBinding) headSize() int {
	if c.Wide {
		return 0x18
	}
	return 0x14
}

// Name is the port's name.
func (c *PortBinding) Name() string { return c.str(c.NameOffset) }

func (c *PortBinding) str(offset uint32) string { return tailString(c.Tail, c.headSize(), offset) }

func (c *PortBinding) Code() uint32 {
	if c.Wide {
		return CmdWindow
	}
	return CmdPort
}

func (c *PortBinding) Len() int { return c.headSize() + len(c.Tail) }

func (c *PortBinding) encode(dst []byte) {
	head := commandHead{c.Code(), uint32(c.Len())}
	var n int
	if c.Wide {
		n = put(dst, wideBinding{head, c.NameOffset, c.Reserved, c.Addr})
	} else {
		n = put(dst, narrowBinding{head, c.NameOffset, c.Reserved, uint32(c.Addr)})
	}
	copy(dst[n:], c.Tail)
}

// tailString is the string at an offset of a command whose bytes from size on
// are tail. Reading has checked the offsets of what it read.
func tailString(tail []byte, size int, offset uint32) string {
	if i := int64(offset) - int64(size); i >= 0 && i < int64(len(tail)) {
		return untilNUL(tail[i:])
	}
	return ""
}

// Ident is the compiler's banner (h13 1.2).
type Ident struct {
	Body []byte // text, and zeros
}

// NewIdent makes the command that holds a banner.
func NewIdent(text string) *Ident { return &Ident{Body: paddedString(8, text)} }

// Text is the banner without the zeros that follow it.
func (c *Ident) Text() string { return untilNUL(c.Body) }

func (c *Ident) Code() uint32 { return CmdIdent }
func (c *Ident) Len() int     { return 8 + len(c.Body) }

func (c *Ident) encode(dst []byte) {
	copy(dst[put(dst, commandHead{CmdIdent, uint32(c.Len())}):], c.Body)
}

// SymbolTable says where the symbols and their strings are (h13 1.7). How many
// there are, File.Symbols and File.Strings say.
type SymbolTable struct {
	Offset       uint32
	StringOffset uint32
	Tail         []byte // empty in every known file

	symbols, stringBytes int // set when it is encoded; see File.counted
}

const symbolTableSize = 0x18

type symbolTableHead struct {
	commandHead
	Offset, Symbols, StringOffset, StringBytes uint32
}

// counted is the command as it is to be encoded: the symbol table knows how many
// symbols there are.
func (f *File) counted(c Command) Command {
	if table, ok := c.(*SymbolTable); ok {
		// The copy keeps encoding a file from changing it.
		copied := *table
		copied.symbols, copied.stringBytes = len(f.Symbols), len(f.Strings)
		return &copied
	}
	return c
}

func (c *SymbolTable) Code() uint32 { return CmdSymbolTable }
func (c *SymbolTable) Len() int     { return symbolTableSize + len(c.Tail) }

func (c *SymbolTable) encode(dst []byte) {
	n := put(dst, symbolTableHead{
		commandHead{CmdSymbolTable, uint32(c.Len())},
		c.Offset, uint32(c.symbols), c.StringOffset, uint32(c.stringBytes),
	})
	copy(dst[n:], c.Tail)
}
