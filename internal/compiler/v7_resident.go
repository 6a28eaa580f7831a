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
func (m *v7mix) keepChained() {
	if m.plan.OnChip == nil {
		return
	}
	for _, v := range m.plan.OnChip.Values {
		if v.State != Chained {
			continue
		}
		first, own := m.first[v.Maker]
		from, to := m.own[first], m.own[v.Readers[0]]
		at, ok := m.plan.surface(m.Machine, v.Value)
		if !own || !ok || len(from) == 0 || len(to) == 0 {
			continue
		}
		if made, taken := from[len(from)-1].own, to[0].own; made.Leaves(at) && taken.Takes(at) {
			size, groups := v7sizeOf(v.Value.Type.Dims)
			lo, hi := at.Hull(size, groups)
			again := slices.ContainsFunc(to[1:], func(t Task) bool { return t.own.Reads(at.Base, lo, hi) })
			if groups != 1 || made.Out != size || taken.In != size || again {
				continue // one of them reads its axes otherwise, or a part of it later
			}
			chip := m.ResidentChip(units.Apart(units.Align(max(m.ChipEnd(made), m.ChipEnd(taken)), 0x40)), size)
			if chip.End(size.H) < m.OnChip {
				made.Result, made.Chip = nil, chip
				taken.Source1 = units.Source{Chip: chip}
			}
		}
	}
}
