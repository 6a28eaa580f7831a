package hwx

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// A part is a run of bytes in the file that one structure describes. The parts
// of a file do not overlap; what lies between them is Gaps, or zero.
type part struct {
	offset, size int64
	kind         RegionKind
	name         string
	put          func(dst []byte)
	data         []byte // of a section: what put copies
}

// parts lists the parts in file order.
func (f *File) parts() ([]part, error) {
	var parts []part
	add := func(offset, size int64, kind RegionKind, name string, put func([]byte)) {
		if size > 0 {
			parts = append(parts, part{offset: offset, size: size, kind: kind, name: name, put: put})
		}
	}
	header := f.Header
	header.Commands, header.CommandBytes = uint32(len(f.Commands)), 0
	for at, c := range f.placed() {
		add(at, int64(c.Len()), RegionCommand, commandName(c), f.counted(c).encode)
		header.CommandBytes += uint32(c.Len())
		switch c := c.(type) {
		case *SymbolTable:
			add(int64(c.Offset), symbolSize*int64(len(f.Symbols)), RegionSymbols, "", f.putSymbols)
			add(int64(c.StringOffset), int64(len(f.Strings)), RegionStrings, "", func(dst []byte) { copy(dst, f.Strings) })
		case *Segment:
			for _, s := range c.Sections {
				if s.Offset != 0 && s.Size != uint64(len(s.Data)) {
					return nil, fmt.Errorf("section %s,%s: 0x%x bytes of data, want its size 0x%x", s.Segment, s.Name, len(s.Data), s.Size)
				}
				name := s.Segment.String() + "," + s.Name.String()
				add(int64(s.Offset), int64(len(s.Data)), RegionSection, name, func(dst []byte) { copy(dst, s.Data) })
				if len(s.Data) > 0 {
					parts[len(parts)-1].data = s.Data
				}
				add(int64(s.RelocOffset), 8*int64(len(s.Relocs)), RegionRelocs, name, s.putRelocs)
			}
		}
	}
	add(0, headerSize, RegionHeader, "", func(dst []byte) { put(dst, header) })

	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.offset, b.offset) })
	end := int64(0)
	for i, p := range parts {
		if p.offset < end {
			q := parts[i-1]
			return nil, damage(p.offset, "%s and %s overlap in the file", label(q.kind, q.name), label(p.kind, p.name))
		}
		end = p.offset + p.size
	}
	if end > f.Size {
		p := parts[len(parts)-1]
		return nil, damage(p.offset, "%s ends at 0x%x, past the end of the file at 0x%x", label(p.kind, p.name), end, f.Size)
	}
	return parts, nil
}

func label(kind RegionKind, name string) string {
	if name == "" {
		return kind.String()
	}
	return kind.String() + " " + name
}

func (f *File) putSymbols(dst []byte) {
	for i := range f.Symbols {
		put(dst[symbolSize*i:], &f.Symbols[i])
	}
}

func (s *Section) putRelocs(dst []byte) {
	for i, r := range s.Relocs {
		le.PutUint32(dst[8*i:], r.Offset)
		le.PutUint32(dst[8*i+4:], r.Info)
	}
}

// Encode gives the bytes of the container. For a file that was read and not
// changed, they are those that were read. The offsets in the structures are
// taken as they are: Encode refuses parts that overlap and moves none.
func (f *File) Encode() ([]byte, error) {
	parts, err := f.parts()
	if err != nil {
		return nil, fmt.Errorf("encoding a container: %w", err)
	}
	data := make([]byte, f.Size)
	for _, g := range f.Gaps {
		if g.Offset < 0 || g.Offset > f.Size-int64(len(g.Data)) {
			return nil, fmt.Errorf("encoding a container: gap of 0x%x bytes at 0x%x, past the end of the file at 0x%x", len(g.Data), g.Offset, f.Size)
		}
		copy(data[g.Offset:], g.Data)
	}
	for _, p := range parts {
		p.put(data[p.offset : p.offset+p.size])
	}
	return data, nil
}

// WriteTo writes the bytes of the container. What sections hold goes out as it is:
// a container whose weights are a mapped file takes no memory for them.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	if len(f.Gaps) > 0 { // of a file that was read, and is in memory
		data, err := f.Encode()
		if err != nil {
			return 0, err
		}
		n, err := w.Write(data)
		return int64(n), err
	}
	parts, err := f.parts()
	if err != nil {
		return 0, fmt.Errorf("encoding a container: %w", err)
	}
	at := int64(0)
	write := func(b []byte) {
		if err == nil {
			var n int
			n, err = w.Write(b)
			at += int64(n)
		}
	}
	var zeros [4096]byte
	pad := func(to int64) {
		for at < to && err == nil {
			write(zeros[:min(to-at, int64(len(zeros)))])
		}
	}
	for _, p := range parts {
		pad(p.offset)
		if p.data == nil {
			p.data = make([]byte, p.size)
			p.put(p.data)
		}
		write(p.data)
	}
	pad(f.Size)
	return at, err
}
