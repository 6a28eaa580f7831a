package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/segment"
)

// placeOnChip gives what stays on chip its bytes there, as scratch is given: what is not needed at the same time shares
// them. What streams has tiles while its task runs:
//
//	chip
//	  |  +-- %a --+  +-- %c --+
//	  |  +--------+  +--------+
//	  |  | tiles  |     +---- %b ----+
//	  |  +--------+     +------------+
//	  +---------------------------------> tasks
//
// Tasks that run side by side are one moment. If values do not fit then, they run one after the other; if they still do
// not, because holes are left between, the largest of those that stick out streams.
func placeOnChip(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	oc := s.Plan.OnChip
	operands, results := oc.Operands(), oc.Results()
	for i := range oc.Partitions {
		packPartition(oc, s, i, operands, results)
	}
	return nil
}

// moments are the first and the last task that run while a value is needed.
func moments(oc *segment.OnChip, v *segment.ChipValue) (first, last int) {
	first, last = v.Maker, v.Last()
	for _, i := range append([]int{v.Maker}, v.Readers...) {
		if p := oc.Tasks[i].Partner; p >= 0 {
			first, last = min(first, p), max(last, p)
		}
	}
	return first, last
}

// packPartition places the values of a partition.
func packPartition(oc *segment.OnChip, s *segment.Segment, part int, operands, results [][]*segment.ChipValue) {
	granule := int64(max(s.Target.Sizes.OnChipAlign, 1))
	whole := func(n int64) int64 { return (n + granule - 1) / granule * granule }
	p := oc.Partitions[part]
	var made []*segment.ChipValue // in the partition
	for i := p.First; i <= p.Last; i++ {
		if !oc.Tasks[i].AtLoad {
			made = append(made, results[i]...)
		}
	}
	for {
		var held []*segment.ChipValue
		var ranges []lifetime
		at := map[*segment.ChipValue]int{}
		for _, v := range made {
			if !v.State.OnChip() {
				continue
			}
			if root := v.Root(); root != v {
				_, last := moments(oc, v)
				ranges[at[root]].last = max(ranges[at[root]].last, last)
				continue
			}
			v.Bytes = whole(v.Layout.Bytes())
			if v.State == segment.Chained {
				v.Bytes = whole(tilesOf(v, s, v.Maker))
			}
			at[v] = len(ranges)
			first, last := moments(oc, v)
			held, ranges = append(held, v), append(ranges, lifetime{first, last, v.Bytes})
		}
		for i := p.First; i <= p.Last; i++ {
			t := &oc.Tasks[i]
			t.Tiles = 0
			for _, v := range slices.Concat(operands[i], results[i]) {
				if !v.State.OnChip() && !t.AtLoad {
					t.Tiles += whole(tilesOf(v, s, i))
				}
			}
			first, last := i, i
			if t.Partner >= 0 {
				first, last = min(i, t.Partner), max(i, t.Partner)
			}
			ranges = append(ranges, lifetime{first, last, t.Tiles})
		}
		_, offsets := pack(ranges)
		var out *segment.ChipValue
		for k, v := range held {
			v.Offset = offsets[k]
			if v.Offset+v.Bytes > oc.Bytes && (out == nil || v.Bytes > out.Bytes) {
				out = v
			}
		}
		for i := p.First; i <= p.Last; i++ {
			oc.Tasks[i].TileOffset = offsets[len(held)+i-p.First]
		}
		if out == nil {
			break
		}
		if !unpair(oc, out) {
			evict(oc, out, made)
		}
	}
	for _, v := range made {
		if v.Over != nil {
			v.Offset, v.Bytes = v.Root().Offset, v.Root().Bytes
		}
	}
}

// evict has a value stream, and all that are written over it.
func evict(oc *segment.OnChip, out *segment.ChipValue, made []*segment.ChipValue) {
	if out.State == segment.Chained {
		oc.Tasks[out.Readers[0]].Chained = -1
	}
	var over []*segment.ChipValue
	for _, v := range made {
		if v != out && v.Root() == out {
			over = append(over, v)
		}
	}
	for _, v := range over {
		v.State, v.Over, v.Offset, v.Bytes = segment.InPlaceMainMemory, nil, -1, 0
	}
	out.State, out.Offset, out.Bytes = segment.Streamed, -1, 0
}

// unpair has the tasks that need a value run one after the other, such that less is needed at a time; false if none of
// them has a partner.
func unpair(oc *segment.OnChip, v *segment.ChipValue) bool {
	for _, a := range append([]int{v.Maker}, v.Readers...) {
		if b := oc.Tasks[a].Partner; b >= 0 {
			oc.Tasks[a].Partner, oc.Tasks[b].Partner = -1, -1
			oc.Pairs = slices.DeleteFunc(oc.Pairs, func(p [2]int) bool { return p[0] == min(a, b) })
			return true
		}
	}
	return false
}
