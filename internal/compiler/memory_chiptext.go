package compiler

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/hal"
)

// chipText says what stays on chip, and how: the partitions, then by task the unit that runs it, what it is chained to and
// what runs beside it, and the values that it reads from outside and makes.
//
//	on chip 2097152 bytes, 1782579 for a partition
//	partition 0 tasks 0-1 pressure 16384 bytes
//	task 0 Conv array, pressure 16384 bytes, tiles chip+8192 8192 bytes
//	  %x streamed
//	  %a chained chip+0 8192 bytes
//	task 1 Conv array, pressure 16384 bytes, tiles chip+8192 8192 bytes, chained to task 0
//	  %y streamed, not chained: not exactly one outgoing layer
func chipText(b *strings.Builder, s *Segment) {
	oc := s.Plan.OnChip
	if s.own != nil {
		fmt.Fprintf(b, "the container has the chip's own tasks instead, %d in number, which bring their places with them\n", len(s.own.list))
	}
	fmt.Fprintf(b, "on chip %d bytes, %d for a partition\n", oc.Bytes, oc.Budget)
	for i, p := range oc.Partitions {
		fmt.Fprintf(b, "partition %d tasks %d-%d pressure %d bytes", i, p.First, p.Last, p.Pressure)
		if p.Refused > 0 {
			fmt.Fprintf(b, ", %d with the next task", p.Refused)
		}
		b.WriteByte('\n')
	}
	operands, results := oc.operands(), oc.results()
	for i, l := range s.Plan.Layers {
		t := &oc.Tasks[i]
		fmt.Fprintf(b, "task %d %v", i, l.Kind())
		if t.AtLoad {
			b.WriteString(" at load\n")
			continue
		}
		fmt.Fprintf(b, " %v, pressure %d bytes", t.Unit, t.Pressure)
		if t.Tiles > 0 {
			fmt.Fprintf(b, ", tiles chip+%d %d bytes", t.TileOffset, t.Tiles)
		}
		if t.Chained >= 0 {
			fmt.Fprintf(b, ", chained to task %d", t.Chained)
		}
		if t.Partner >= 0 {
			fmt.Fprintf(b, ", beside task %d", t.Partner)
		}
		b.WriteByte('\n')
		for _, v := range operands[i] {
			if v.Maker < 0 && v.Readers[0] == i {
				printChipValue(v, b, s.Target)
			}
		}
		for _, v := range results[i] {
			printChipValue(v, b, s.Target)
		}
	}
	for _, j := range oc.Joins {
		how := "each part begins on a granule"
		if !j.InPlace {
			how = "a part begins between granules and is shifted"
		}
		fmt.Fprintf(b, "%%%s is joined along W at %v bytes: %s\n", j.Value.Name, j.Starts, how)
	}
	for _, k := range oc.Kernels {
		fmt.Fprintf(b, "weights of task %d: %d streams of %d lanes, %d bytes for %d\n", k.Task, k.Engines, k.Lanes, k.Bytes, k.Dense)
	}
}

func printChipValue(v *ChipValue, b *strings.Builder, t *hal.Target) {
	fmt.Fprintf(b, "  %%%s %v", v.Value.Name, v.State)
	if v.Over != nil {
		fmt.Fprintf(b, " over %%%s", v.Over.Value.Name)
	}
	if v.State.onChip() {
		fmt.Fprintf(b, " chip+%d %d bytes", v.Offset, v.Bytes)
		if l := v.Layout; l.row != l.packed {
			fmt.Fprintf(b, ", rows %d apart and not %d: %d and not %d in a bank",
				l.row, l.packed, bankRequests(l.row, l.rows, t), bankRequests(l.packed, l.rows, t))
		}
	}
	if v.Chain != chainable && v.Chain != notMade {
		fmt.Fprintf(b, ", not chained: %v", v.Chain)
	} else if v.Chain == chainable && v.State != Chained {
		b.WriteString(", not chained: another partition")
	}
	b.WriteByte('\n')
}
