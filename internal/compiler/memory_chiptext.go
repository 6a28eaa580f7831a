package compiler

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/segment"
)

// ChipText says what the rules of the chip's compiler would keep on chip, and how: the partitions, then by layer the unit that
// runs it, what it would be chained to and what would run beside it, and the values that it reads from outside and makes.
// Tasks follow it as far as they can (pass resident), at other places; MemoryText says what they do, and the first line says so.
// What a later pass decides is left out.
//
//	by the rules of the chip's compiler; tasks may differ, see --emit memory
//	on chip 2097152 bytes, 1782579 for a partition
//	partition 0 layers 0-1 pressure 16384 bytes
//	layer 0 Conv array, pressure 16384 bytes, tiles chip+8192 8192 bytes
//	  %x streamed
//	  %a chained chip+0 8192 bytes
//	layer 1 Conv array, pressure 16384 bytes, tiles chip+8192 8192 bytes, chained to layer 0
//	  %y streamed, not chained: not exactly one outgoing layer
func ChipText(s *segment.Segment) string {
	b := &strings.Builder{}
	oc := s.Plan.OnChip
	if oc == nil {
		return ""
	}
	b.WriteString("by the rules of the chip's compiler; tasks may differ, see --emit memory\n")
	fmt.Fprintf(b, "on chip %d bytes, %d for a partition\n", oc.Bytes, oc.Budget)
	for i, p := range oc.Partitions {
		fmt.Fprintf(b, "partition %d layers %d-%d pressure %d bytes", i, p.First, p.Last, p.Pressure)
		if p.Refused > 0 {
			fmt.Fprintf(b, ", %d with the next layer", p.Refused)
		}
		b.WriteByte('\n')
	}
	operands, results := oc.Operands(), oc.Results()
	for i, l := range s.Plan.Layers {
		t := &oc.Tasks[i]
		fmt.Fprintf(b, "layer %d %v", i, l.Kind())
		if t.AtLoad {
			b.WriteString(" at load\n")
			continue
		}
		fmt.Fprintf(b, " %v", t.Unit)
		if t.Pressure > 0 {
			fmt.Fprintf(b, ", pressure %d bytes", t.Pressure)
		}
		if t.Tiles > 0 {
			fmt.Fprintf(b, ", tiles chip+%d %d bytes", t.TileOffset, t.Tiles)
		}
		if t.Chained >= 0 {
			fmt.Fprintf(b, ", chained to layer %d", t.Chained)
		}
		if t.Partner >= 0 {
			fmt.Fprintf(b, ", beside layer %d", t.Partner)
		}
		b.WriteByte('\n')
		for _, v := range operands[i] {
			if v.Maker < 0 && v.Readers[0] == i {
				printChipValue(v, b, oc, s.Target)
			}
		}
		for _, v := range results[i] {
			printChipValue(v, b, oc, s.Target)
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
		fmt.Fprintf(b, "weights of layer %d: %d streams of %d lanes, %d bytes for %d\n", k.Task, k.Engines, k.Lanes, k.Bytes, k.Dense)
	}
	return b.String()
}

func printChipValue(v *segment.ChipValue, b *strings.Builder, oc *segment.OnChip, t *hal.Target) {
	fmt.Fprintf(b, "  %%%s", v.Value.Name)
	if oc.Allocated {
		fmt.Fprintf(b, " %v", v.State)
	}
	if v.Over != nil {
		fmt.Fprintf(b, " over %%%s", v.Over.Value.Name)
	}
	if oc.Allocated && v.State.OnChip() && v.Offset >= 0 {
		fmt.Fprintf(b, " chip+%d %d bytes", v.Offset, v.Bytes)
		if l := v.Layout; l.Row != l.Packed {
			fmt.Fprintf(b, ", rows %d apart and not %d: %d and not %d in a bank",
				l.Row, l.Packed, bankRequests(l.Row, l.Rows, t), bankRequests(l.Packed, l.Rows, t))
		}
	}
	if why := notChained(v, oc); why != "" {
		fmt.Fprintf(b, ", not chained: %s", why)
	}
	b.WriteByte('\n')
}

// notChained is why a value does not go right into the task that reads it; "" if it does, or if that is not decided yet.
func notChained(v *segment.ChipValue, oc *segment.OnChip) string {
	switch {
	case v.Chain == segment.NotMade:
		return ""
	case v.Chain != segment.Chainable:
		return v.Chain.String()
	case !oc.Allocated || v.State == segment.Chained:
		return ""
	case v.Streams:
		return "too large to stay"
	case !stays(oc, v):
		return "another partition"
	}
	return "no room"
}
