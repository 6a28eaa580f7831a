package units

// Where tensors lie on chip (h13 3.2, oracles 5): row by row, in a row channel by channel, and columns side by side. A row
// that would begin in the same bank as its neighbours is padded.

// A Chip is a tensor in on-chip memory: base and strides in bytes, multiples of the granule.
type Chip struct{ Base, Channel, Row, Depth, Group int }

// End is the first byte behind h rows.
func (c Chip) End(h int) int { return c.Base + h*c.Row }

// PlanarChip is the layout of what the planar engine reads, at a base.
func (m Machine) PlanarChip(base int, s Size) Chip {
	c := Chip{Base: base, Channel: max(m.OnChipAlign, m.ChannelBytes(s.W))}
	dense := s.C * c.Channel
	c.Row = max(dense, 0x20)
	if s.C > 1 && dense%0x100 == 0 {
		c.Row = dense + 0x20
	}
	c.Depth, c.Group = dense, dense
	return c
}

// ArrayChip is the layout of what the array streams in without a window: strips of 128 columns pass one after the other.
func (m Machine) ArrayChip(base int, s Size) Chip {
	c := Chip{Base: base, Channel: min(m.ChannelBytes(s.W), 0x100)}
	c.Depth = s.C * c.Channel
	c.Row, c.Group = c.Depth, c.Depth
	if s.H > 1 && s.C > 1 && c.Depth%0x400 == 0 {
		c.Row += 0x30
	}
	return c
}

// ResidentChip is the layout of a result that stays on chip.
func (m Machine) ResidentChip(base int, s Size) Chip {
	c := Chip{Base: base, Channel: m.ChannelBytes(s.W)}
	c.Depth = s.C * c.Channel
	c.Row = c.Depth
	switch {
	case s.H == 1:
	case s.C == 1 && c.Depth%0x200 == 0:
		c.Row += 0x10
	case s.C > 1 && c.Depth%0x100 == 0:
		c.Row += 0x20
	case s.C > 1 && c.Depth%0x80 == 0:
		c.Row += 0x10
	}
	return c
}

// PairChips is where two tensors lie channel by channel side by side, and the pairs as twice as many channels.
//
//	first 0 │ second 0 │ first 1 │ second 1 │ …
func (m Machine) PairChips(s Size) (first, second, pairs Chip) {
	channel := m.ChannelBytes(s.W)
	row := 2 * channel * s.C
	first = Chip{Channel: 2 * channel, Row: row, Depth: row}
	second = first
	second.Base = channel
	return first, second, Chip{Channel: channel, Row: row, Depth: row}
}

// Apart moves a base out of the bank of on-chip address 0.
func Apart(base int) int {
	if base%0x400 == 0 {
		return base + 0x40
	}
	return base
}

// Passing is where a result passes on its way to memory: behind the rows of the source. Rows are dropped where on-chip
// memory does not hold so many; nothing but a tile of them is there at a time.
func (m Machine) Passing(source Chip, h int) Chip {
	for source.End(h) >= m.OnChip && h > 1 {
		h = (h + 1) / 2
	}
	return Chip{Base: source.End(h)}
}

// ChipEnd is the first byte on chip behind all that a task has there.
func (m Machine) ChipEnd(o *Op) int {
	end := o.Source1.Chip.End(o.In.H)
	if o.Source2 != nil {
		end = max(end, o.Source2.Chip.End(o.In.H))
	}
	result := o.Chip
	if result.Row == 0 { // it passes
		result.Row = m.ResidentChip(0, o.Out).Row
	}
	return max(end, result.End(o.Out.H))
}
