package compiler

// Where tensors lie on chip (h13 3.2, oracles 5): row by row, in a row channel by channel, and columns side by side. A row
// that would begin in the same bank as its neighbours is padded.

// v7chipBytes is the size of the on-chip memory that registers address.
const v7chipBytes = 1 << 21

// planarChip is the layout of what the planar engine reads, at a base.
func planarChip(base int, s v7size) v7chip {
	c := v7chip{base: base, channel: max(16, v7align(2*s.w, 16))}
	dense := s.c * c.channel
	c.row = max(dense, 0x20)
	if s.c > 1 && dense%0x100 == 0 {
		c.row = dense + 0x20
	}
	c.depth, c.group = dense, dense
	return c
}

// arrayChip is the layout of what the array streams in without a window: strips of 128 columns pass one after the other.
func arrayChip(base int, s v7size) v7chip {
	c := v7chip{base: base, channel: min(v7align(2*s.w, 16), 0x100)}
	c.depth = s.c * c.channel
	c.row, c.group = c.depth, c.depth
	if s.h > 1 && s.c > 1 && c.depth%0x400 == 0 {
		c.row += 0x30
	}
	return c
}

// residentChip is the layout of a result that stays on chip.
func residentChip(base int, s v7size) v7chip {
	c := v7chip{base: base, channel: v7align(2*s.w, 16)}
	c.depth = s.c * c.channel
	c.row = c.depth
	switch {
	case s.h == 1:
	case s.c == 1 && c.depth%0x200 == 0:
		c.row += 0x10
	case s.c > 1 && c.depth%0x100 == 0:
		c.row += 0x20
	case s.c > 1 && c.depth%0x80 == 0:
		c.row += 0x10
	}
	return c
}

// pairChips is where two tensors lie channel by channel side by side, and the pairs as twice as many channels.
//
//	first 0 │ second 0 │ first 1 │ second 1 │ …
func pairChips(s v7size) (first, second, pairs v7chip) {
	channel := v7align(2*s.w, 16)
	row := 2 * channel * s.c
	first = v7chip{channel: 2 * channel, row: row, depth: row}
	second = first
	second.base = channel
	return first, second, v7chip{channel: channel, row: row, depth: row}
}

// end is the first byte behind h rows.
func (c v7chip) end(h int) int { return c.base + h*c.row }

// v7apart moves a base out of the bank of on-chip address 0.
func v7apart(base int) int {
	if base%0x400 == 0 {
		return base + 0x40
	}
	return base
}

// passing is where a result passes on its way to memory: behind the rows of the source. Rows are dropped where the
// registers cannot say so many; nothing but a tile of them is there at a time.
func passing(source v7chip, h int) v7chip {
	for source.end(h) >= v7chipBytes && h > 1 {
		h = (h + 1) / 2
	}
	return v7chip{base: source.end(h)}
}

// v7row is what rows in memory, and all that is made of rows, are multiples of.
const v7row = 64

// v7align rounds up to a multiple.
func v7align(n, to int) int { return (n + to - 1) / to * to }
