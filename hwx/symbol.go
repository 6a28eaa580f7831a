package hwx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Symbol is an entry of the symbol table, as it stands there (h13 1.7).
type Symbol struct {
	NameOffset uint32 // into File.Strings
	Type       uint8
	Section    uint8 // ordinal; 0: none
	Desc       uint16
	Value      uint64
}

const symbolSize = 16

// The types of symbol, by Mach-O's numbers: something at an address, and two
// kinds of stab.
const (
	SymbolAddress = 0x0f // a kernel stream or a port
	SymbolShape   = 0x20 // the shape of a port; see ParseShape
	SymbolElement = 0x80 // an entry of the element-type catalogue
)

// Values of Symbol.Desc of addresses. Ports that the engine writes have
// DescNone, as have the empty streams that some files list for engines without
// a share in a kernel.
const (
	DescNone = 0
	DescRead = 2
)

// SymbolName is the name of a symbol.
func (f *File) SymbolName(s Symbol) string {
	if int64(s.NameOffset) >= int64(len(f.Strings)) {
		return ""
	}
	return untilNUL(f.Strings[s.NameOffset:])
}

// KernelName is the name of a kernel's stream: `K`, 64 hexadecimal digits, and
// `_ne_` with the engine, unless the kernel has one stream only. In Apple's
// files the digits are a digest of something that is not the stream; nothing
// depends on it.
type KernelName struct {
	Digest string // 64 digits
	Engine int    // -1: the only stream
}

func (n KernelName) String() string {
	if n.Engine < 0 {
		return "K" + n.Digest
	}
	return fmt.Sprintf("K%s_ne_%d", n.Digest, n.Engine)
}

// ParseKernelName reads the name of a kernel's stream.
func ParseKernelName(s string) (KernelName, bool) {
	rest, ok := strings.CutPrefix(s, "K")
	if !ok || len(rest) < 64 || strings.Trim(rest[:64], "0123456789ABCDEFabcdef") != "" {
		return KernelName{}, false
	}
	n := KernelName{Digest: rest[:64], Engine: -1}
	if rest = rest[64:]; rest == "" {
		return n, true
	}
	digits, ok := strings.CutPrefix(rest, "_ne_")
	engine, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil || strconv.FormatUint(engine, 10) != digits {
		return KernelName{}, false
	}
	n.Engine = int(engine)
	return n, true
}

// A Stream is the part of a kernel that one engine reads, as the symbol table
// lists it. It ends where the next one begins, or with its section.
type Stream struct {
	Symbol  string
	Name    KernelName
	Addr    uint64
	Section *Section
	Offset  int64 // in the section
	Size    int64
	Empty   bool // a sentinel: the engine has no share in the kernel
}

// Data is the content of the stream, a view of its section.
func (s *Stream) Data() []byte { return s.Section.Data[s.Offset : s.Offset+s.Size] }

// Streams lists the kernel streams in the order of the symbol table. Where two
// kernels share bytes, as engines share an activation table, so do their
// streams.
func (f *File) Streams() ([]Stream, error) {
	sections := f.Sections()
	var streams []Stream
	starts := make(map[*Section][]int64)
	for i, sym := range f.Symbols {
		if sym.Type != SymbolAddress {
			continue
		}
		symbol := f.SymbolName(sym)
		name, ok := ParseKernelName(symbol)
		if !ok {
			continue
		}
		if sym.Section == 0 || int(sym.Section) > len(sections) {
			return nil, damage(f.symbolOffset(i), "kernel symbol %s: in section %d of %d", symbol, sym.Section, len(sections))
		}
		sect := sections[sym.Section-1]
		if sect.Data == nil || sym.Value < sect.Addr || sym.Value-sect.Addr > sect.Size {
			return nil, damage(f.symbolOffset(i), "kernel symbol %s: address 0x%x is not in section %s,%s", symbol, sym.Value, sect.Segment, sect.Name)
		}
		s := Stream{Symbol: symbol, Name: name, Addr: sym.Value, Section: sect, Offset: int64(sym.Value - sect.Addr)}
		s.Empty = sym.Desc == DescNone && s.Offset == int64(sect.Size)
		streams = append(streams, s)
		starts[sect] = append(starts[sect], s.Offset)
	}
	for sect, list := range starts {
		list = append(list, int64(sect.Size))
		slices.Sort(list)
		starts[sect] = slices.Compact(list)
	}
	for i := range streams {
		s := &streams[i]
		list := starts[s.Section]
		if at, _ := slices.BinarySearch(list, s.Offset); at+1 < len(list) {
			s.Size = list[at+1] - s.Offset
		}
	}
	return streams, nil
}

// symbolOffset is the place of a symbol in the file.
func (f *File) symbolOffset(i int) int64 {
	for table := range all[*SymbolTable](f) {
		return int64(table.Offset) + symbolSize*int64(i)
	}
	return 0
}
