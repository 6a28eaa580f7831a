package compiler

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/rogpeppe/go-internal/txtar"
)

// What is said of on-chip memory holds together, for every small graph and several chips: values that are there at the
// same time lie apart and inside; what is chained is in one partition and has no partner; pairs have two classes.
func TestOnChipHoldsTogether(t *testing.T) {
	for _, folder := range []string{"memory", "schedule"} {
		archives(t, folder, func(archive *txtar.Archive) {
			for _, name := range []string{"h12", "h13", "h14", "h17s", "m9"} {
				s := planFor(t, lookup(t, name), string(archive.Files[0].Data), 0)
				if err := checkOnChip(s); err != nil {
					t.Errorf("%s for %s: %v\n%s", s.Graph.Name, name, err, segment.MemoryText(s))
				}
			}
		})
	}
}

func checkOnChip(s *segment.Segment) error {
	oc := s.Plan.OnChip
	type block struct {
		name        string
		first, last int
		from, to    int64
		root        *segment.ChipValue
	}
	var blocks []block
	for _, v := range oc.Values {
		if !v.State.OnChip() {
			continue
		}
		if v.Maker < 0 || v.Leaves || !stays(oc, v) {
			return fmt.Errorf("%q is %v, though it is needed elsewhere", v.Value.Name, v.State)
		}
		first, last := moments(oc, v)
		blocks = append(blocks, block{v.Value.Name, first, last, v.Offset, v.Offset + v.Bytes, v.Root()})
	}
	for i, task := range oc.Tasks {
		blocks = append(blocks, block{fmt.Sprintf("tiles of task %d", i), i, i, task.TileOffset, task.TileOffset + task.Tiles, nil})
		if task.AtLoad != (task.Partition < 0) {
			return fmt.Errorf("task %d is in partition %d", i, task.Partition)
		}
		if p := task.Partner; p >= 0 {
			switch other := oc.Tasks[p]; {
			case other.Partner != i || other.Unit.Class() == task.Unit.Class() || other.Partition != task.Partition:
				return fmt.Errorf("task %d and task %d are no pair", i, p)
			case task.Chained >= 0 || other.Chained >= 0:
				return fmt.Errorf("task %d or task %d is in a chain and has a partner", i, p)
			}
		}
		if c := task.Chained; c >= 0 && (c != i-1 || oc.Tasks[c].Partition != task.Partition || oc.Tasks[c].Partner >= 0) {
			return fmt.Errorf("task %d is chained to task %d", i, c)
		}
	}
	for i, a := range blocks {
		if a.root != nil && (a.from < 0 || a.to > oc.Bytes) {
			return fmt.Errorf("%s lies from %d to %d", a.name, a.from, a.to)
		}
		for _, b := range blocks[:i] {
			if a.from < b.to && b.from < a.to && a.first <= b.last && b.first <= a.last && (a.root == nil || a.root != b.root) {
				return fmt.Errorf("%s and %s lie over each other", b.name, a.name)
			}
		}
	}
	return nil
}
