package segment

import (
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/units"
)

// BoundTasks are the tasks with addresses. Those that were selected stay as they are.
func BoundTasks(s *Segment) (list []Task) {
	at := func(memory int, offset int64) (int, int64) {
		base, start := s.address(s.Memories[memory].Root())
		return base, offset + start
	}
	for _, l := range s.Plan.Layers {
		first := len(list)
		for _, t := range s.Selected[l] {
			switch {
			case t.Unit != nil:
				t.Unit = t.Unit.Bind(func(memory, offset int) (int, int) {
					base, bound := at(memory, int64(offset))
					return base, int(bound)
				})
				if k := t.Unit.Kernel; k != nil && k.Producer >= 0 {
					k.Producer += first // it counted from the first task of the layer
				}
			default:
				op := *t.Op
				op.ID = uint16(len(list)) // it counts on from 0 after 65,535: the order of the list is what runs
				op.Operands = slices.Clone(op.Operands)
				for i := range op.Operands {
					if o := &op.Operands[i]; o.Present() {
						o.Base, o.Offset = at(o.Base, o.Offset)
					}
				}
				t.Op = &op
			}
			list = append(list, t)
		}
	}
	return list
}

// address is where a memory begins: an entry of the base-address table, and how far behind it.
func (s *Segment) address(b *Buffer) (base int, offset int64) {
	switch b.Region {
	case InTemporary:
		return hwx.BaseScratch, s.temporariesAt()
	case InPacked:
		return hwx.BaseConst, 0
	case InDerived:
		return hwx.BaseDerived, b.Offset
	case InConstants:
		return hwx.BaseTextConst, 0
	case InWeights:
		return s.WeightsBase(), 0
	case InPort:
		return hwx.BasePorts + b.Port, 0
	}
	return hwx.BaseScratch, b.Offset
}

// temporariesAt is where the memory begins that the tasks of a layer keep between them: behind all that is planned.
func (s *Segment) temporariesAt() int64 {
	return int64(units.Align(int(s.Plan.Scratch), max(s.Target.Sizes.PageSize, 1)))
}

// ScratchBytes is how much scratch memory the tasks take.
func (s *Segment) ScratchBytes() int64 {
	if s.Temporaries > 0 {
		return s.temporariesAt() + s.Temporaries
	}
	return s.Plan.Scratch
}

// WeightsBase is the entry of the weight file: that of the constants, unless packed ones are there.
func (s *Segment) WeightsBase() int {
	if len(s.Packed.Data) > 0 {
		return hwx.BaseWeights
	}
	return hwx.BaseConst
}

// RegionOf is the memory behind an entry of the base-address table, the opposite of address.
func (s *Segment) RegionOf(base int) (r Region, port int) {
	switch base {
	case hwx.BaseScratch:
		return InScratch, 0
	case hwx.BaseDerived:
		return InDerived, 0
	case hwx.BaseTextConst:
		return InConstants, 0
	case s.WeightsBase():
		return InWeights, 0
	case hwx.BaseConst:
		return InPacked, 0
	}
	return InPort, base - hwx.BasePorts
}

// Entry is where a memory may come to lie, for the question whether words can say it: with the entry that it will have, from
// its start.
func (s *Segment) Entry(memory, offset int) (base, bound int) {
	switch m := s.Memories[memory]; m.Region {
	case InPort:
		return hwx.BasePorts + m.Port, offset
	case InDerived:
		return hwx.BaseDerived, offset
	case InPacked:
		return hwx.BaseConst, offset
	}
	return hwx.BaseScratch, offset
}
