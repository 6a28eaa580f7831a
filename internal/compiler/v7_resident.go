package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/units"
)

// keepChained leaves results on chip that supply the next task directly, as the plan says, where both are tasks of the
// chip's own:
//
//	task 0  conv   x from memory       a to memory                   task 0  conv   x from memory     a on chip
//	task 1  relu   a from memory       y to memory          →        task 1  relu   a on chip         y to memory
//
// The value lies behind all that the two tasks have on chip besides. One for which there is no room goes through memory.
func keepChained(s *Segment) error {
	if s.alone || s.Plan.OnChip == nil {
		return nil
	}
	m := machineOf(s)
	for _, v := range s.Plan.OnChip.Values {
		if v.State != Chained {
			continue
		}
		from := s.Selected[s.StandsFor[s.Plan.Layers[v.Maker]]]
		to := s.Selected[s.Plan.Layers[v.Readers[0]]]
		spot := s.Layout.Spots[v.Value]
		at, ok := surfaceAt(m, spot.offset, spot.strides, v.Value.Type)
		if !ok || len(from) == 0 || len(to) == 0 {
			continue
		}
		at.Base = spot.buffer.id
		made, taken := from[len(from)-1].Unit, to[0].Unit
		if made == nil || taken == nil || !made.Leaves(at) || !taken.Takes(at) {
			continue
		}
		size, groups := v7sizeOf(v.Value.Type.Dims)
		lo, hi := at.Hull(size, groups)
		again := slices.ContainsFunc(to[1:], func(t Task) bool { return t.Unit.Reads(at.Base, lo, hi) })
		if groups != 1 || made.Out != size || taken.In != size || again {
			continue // one of them reads its axes otherwise, or a part of it later
		}
		chip := m.ResidentChip(units.Apart(units.Align(max(m.ChipEnd(made), m.ChipEnd(taken)), 0x40)), size)
		if chip.End(size.H) < m.OnChip {
			made.Result, made.Chip = nil, chip
			taken.Source1 = units.Source{Chip: chip}
		}
	}
	return nil
}
