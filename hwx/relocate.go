package hwx

// Relocate moves the segments to other addresses, and with them all that names an address there: what a loader does to a
// container to make the image that the engine sees (seed 23.1, "the same container, virtualized per load").
//
//	segment   __FVMLIB 0x30000000 → 0x00a4c000
//	base  4            0x30000000 → 0x00a4c000     what a task says is "base 4, offset 0x40", and stays
//
// Words of the text are offsets from a base, and offsets do not change. The file is changed where it is; Encode writes the image.
func (f *File) Relocate(place func(*Segment) uint64) {
	type move struct{ start, end, by uint64 } // by wraps
	var moves []move
	var sections []uint64 // by ordinal: how far
	for _, s := range f.Segments() {
		to := place(s)
		m := move{s.Addr, s.Addr + s.Size, to - s.Addr}
		for _, section := range s.Sections {
			m.end = max(m.end, section.Addr+section.Size)
			section.Addr += m.by
			sections = append(sections, m.by)
		}
		s.Addr = to
		moves = append(moves, m)
	}
	moved := func(addr uint64) uint64 {
		for _, m := range moves {
			if m.start <= addr && (addr < m.end || addr == m.start) {
				return addr + m.by
			}
		}
		return addr
	}
	for _, c := range f.Commands {
		switch c := c.(type) {
		case *ProgramThread:
			for i, base := range c.Bases {
				if base != 0 {
					c.Bases[i] = moved(base)
				}
			}
			c.FirstTask = moved(c.FirstTask)
		case *PortBinding:
			c.Addr = moved(c.Addr)
		}
	}
	for i := range f.Symbols {
		if s := &f.Symbols[i]; s.Type == SymbolAddress && s.Section > 0 && int(s.Section) <= len(sections) {
			s.Value += sections[s.Section-1]
		}
	}
}
