package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/segment"
)

// partition cuts the task list where on-chip memory runs out (seed compiler, phase 3). A task is put into the partition for
// a trial; if what is held on chip while its results live goes beyond the budget, the partition ends before it:
//
//	budget 100     task        0    1    2  |  3    4
//	               results    40   30   20  | 50   10
//	               held       40   70   90  | 50   60        with task 3 it would be 140
//
// The pressure is what tasks of the partition have made and later ones read, whole; of what is chained or streams, two
// tiles: one is filled while the other is emptied. It is highest where the task itself runs, for afterwards nothing is
// known but what ends. A value that is too large for the budget by itself streams.
//
// It stands after memory because only memory knows the tasks: it adds copies.
func partition(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	oc := s.Plan.OnChip
	operands, results := oc.Operands(), oc.Results()
	var held []*segment.ChipValue // made in this partition and still needed
	first := -1                   // task of this partition
	trial := func(i int) int64 {
		sum := int64(0)
		for _, v := range held {
			sum += heldBytes(v, s)
		}
		for _, v := range results[i] {
			switch x := overwritten(s, v, operands[i]); {
			case v.Streams || v.Leaves:
				sum += tilesOf(v, s, i)
			case x == nil || x.Layout != v.Layout || !slices.Contains(held, x) || x.Chain == segment.Chainable:
				sum += heldBytes(v, s)
			} // else it takes the place of what is held
		}
		for _, v := range operands[i] {
			if v.Streams || v.Leaves || v.Maker < first || oc.Tasks[v.Maker].AtLoad {
				sum += tilesOf(v, s, i)
			}
		}
		return sum
	}
	for i := range oc.Tasks {
		t := &oc.Tasks[i]
		if t.AtLoad {
			continue
		}
		if first < 0 {
			first = i
		}
		pressure := trial(i)
		if n := len(oc.Partitions); n > 0 && i > first && pressure > oc.Budget {
			oc.Partitions[n-1].Refused = pressure
			held, first = nil, i
			pressure = trial(i)
		}
		if i == first {
			oc.Partitions = append(oc.Partitions, segment.Partition{First: i})
		}
		last := &oc.Partitions[len(oc.Partitions)-1]
		last.Last, last.Pressure = i, max(last.Pressure, pressure)
		t.Partition, t.Pressure = len(oc.Partitions)-1, pressure
		var left []*segment.ChipValue
		for _, v := range append(held, results[i]...) {
			if !v.Streams && !v.Leaves && v.Last() > i {
				left = append(left, v)
			}
		}
		held = left
	}
	return nil
}

// heldBytes is what a value takes on chip while it stays there.
func heldBytes(v *segment.ChipValue, s *segment.Segment) int64 {
	if v.Chain == segment.Chainable {
		return tilesOf(v, s, v.Maker)
	}
	return v.Layout.Bytes()
}

// tilesOf is what a value takes on chip while a task streams it.
func tilesOf(v *segment.ChipValue, s *segment.Segment, task int) int64 {
	return min(2*v.Layout.Tile(tileRows(s.Plan.Layers[task], s.Target)), v.Layout.Bytes())
}
