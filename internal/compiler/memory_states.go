package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// allocate gives every root tensor its state:
//
//	%x                         streamed: it comes from outside
//	%a = anec.convolution(%x)              chained: the next task takes it as it comes
//	%b = anec.convolution(%a)              dependent: on chip; Conv took %a from a chain
//	%c = anec.softmax(%b)           in place: over %b
//	%y = anec.reduce_sum(%c)         streamed: it leaves
//
// What a task of another partition reads goes through main memory.
func allocate(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	oc := s.Plan.OnChip
	operands := oc.Operands()
	for _, v := range oc.Values {
		if v.Chain == segment.Chainable && !v.Streams && stays(oc, v) {
			v.State = segment.Chained
			oc.Tasks[v.Readers[0]].Chained = v.Maker
		}
	}
	for _, v := range oc.Values {
		if v.State != segment.Chained {
			v.State = stateOf(oc, s, v, operands)
		}
	}
	oc.Allocated = true
	return nil
}

// stays reports whether all that need a value are in one partition.
func stays(oc *segment.OnChip, v *segment.ChipValue) bool {
	if v.Maker < 0 || v.Leaves || oc.Tasks[v.Maker].AtLoad {
		return false
	}
	return !slices.ContainsFunc(v.Readers, func(i int) bool { return oc.Tasks[i].Partition != oc.Tasks[v.Maker].Partition })
}

// stateOf is the state of a value that is not chained.
func stateOf(oc *segment.OnChip, s *segment.Segment, v *segment.ChipValue, operands [][]*segment.ChipValue) segment.AllocationState {
	if v.Maker < 0 || oc.Tasks[v.Maker].AtLoad {
		return segment.Streamed
	}
	over := overwritten(s, v, operands[v.Maker])
	if v.Streams || !stays(oc, v) {
		if over != nil {
			return segment.InPlaceMainMemory
		}
		return segment.Streamed
	}
	state := segment.Resident
	if over != nil && over.State.OnChip() && over.State != segment.Chained && over.Layout == v.Layout {
		state, v.Over = segment.InPlace, over
	}
	if s.Plan.Layers[v.Maker].Kind() == anec.KindRingBufferWriter {
		state = segment.RingBuffer
	}
	if oc.Tasks[v.Maker].Chained < 0 {
		return state
	}
	switch state {
	case segment.InPlace:
		return segment.InPlaceDependent
	case segment.RingBuffer:
		return segment.RingDependent
	}
	return segment.Dependent
}

// overwritten is the operand whose bytes in main memory a value takes over; nil if it has its own.
func overwritten(s *segment.Segment, v *segment.ChipValue, operands []*segment.ChipValue) *segment.ChipValue {
	at := s.Plan.Places[v.Value]
	for _, x := range operands {
		if p := s.Plan.Places[x.Value]; p.Region == at.Region && p.Port == at.Port && p.Offset == at.Offset && x.Value != v.Value {
			return x
		}
	}
	return nil
}
