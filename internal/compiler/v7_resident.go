package compiler

import "slices"

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
		at, ok := m.plan.surface(v.Value)
		if !own || !ok || len(from) == 0 || len(to) == 0 {
			continue
		}
		if made, taken := from[len(from)-1].own, to[0].own; made.leaves(at) && taken.takes(at) {
			size, groups := v7sizeOf(v.Value.Type.Dims)
			lo, hi := at.hull(size, groups)
			again := slices.ContainsFunc(to[1:], func(t Task) bool { return t.own.reads(at.base, lo, hi) })
			if groups != 1 || made.out != size || taken.in != size || again {
				continue // one of them reads its axes otherwise, or a part of it later
			}
			chip := residentChip(v7apart(v7align(max(made.chipEnd(), taken.chipEnd()), 0x40)), size)
			if chip.end(size.h) < v7chipBytes {
				made.result, made.chip = nil, chip
				taken.source1 = v7source{chip: chip}
			}
		}
	}
}

// leaves reports whether a task stores one whole tensor there, as it computes it.
func (o *v7op) leaves(at *v7surface) bool {
	return o.result != nil && *o.result == *at && o.groups == 1 && !o.exchange && !o.resides && !o.wideResult && o.chip.row == 0
}

// takes reports whether a task reads one whole tensor from there, as its first source and no more than once.
func (o *v7op) takes(at *v7surface) bool {
	s := &o.source1
	if s.memory == nil || *s.memory != *at || s.keep || o.groups != 1 || o.broadcast1 != 0 || o.transpose1 || o.wideSource {
		return false
	}
	return (o.source2 == nil || o.source2.memory == nil || *o.source2.memory != *at) && (o.kernel == nil || !o.kernel.runtime)
}

// chipEnd is the first byte on chip behind all that the task has there.
func (o *v7op) chipEnd() int {
	end := o.source1.chip.end(o.in.h)
	if o.source2 != nil {
		end = max(end, o.source2.chip.end(o.in.h))
	}
	result := o.chip
	if result.row == 0 { // it passes
		result.row = residentChip(0, o.out).row
	}
	return max(end, result.end(o.out.h))
}
