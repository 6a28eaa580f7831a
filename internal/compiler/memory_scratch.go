package compiler

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/internal/segment"
)

// assignScratch gives scratch buffers offsets, such that those that are needed at the same time lie apart:
//
//	offset
//	  |  +--- a ---+   +---- d ----+
//	  |  |         |   |           |
//	  |  +---------+   +-----------+
//	  |      +-------- b --------+
//	  |      +-------------------+
//	  +---------------------------------> tasks
//
// It goes through the tasks as an allocator would: a buffer takes the smallest hole that it fits in, the lowest of
// equals, and what lies above everything grows. Larger ones that begin with the same task go first. The same is
// tried from the last task to the first, and the better of the two is taken. It returns the bytes that all take,
// and what they would if none shared.
func assignScratch(buffers []*segment.Buffer) (peak, sum int64) {
	var ranges []lifetime
	for _, b := range buffers {
		if b.Region == segment.InScratch && b.Into == nil && b.First >= 0 {
			ranges = append(ranges, lifetime{b.First, b.Last, segment.Aligned(b.Size)})
			sum += segment.Aligned(b.Size)
		}
	}
	peak, offsets := pack(ranges)
	for i, r := range ranges {
		ranges[i].first, ranges[i].last = -r.last, -r.first
	}
	if p, o := pack(ranges); p < peak {
		peak, offsets = p, o
	}
	for _, b := range buffers {
		if b.Region == segment.InScratch && b.Into == nil && b.First >= 0 {
			b.Offset = offsets[0]
			offsets = offsets[1:]
		}
	}
	return peak, sum
}

// A lifetime is from when to when so many bytes are needed.
type lifetime struct {
	first, last int
	size        int64
}

// pack gives offsets to what begins first, first.
func pack(ranges []lifetime) (peak int64, offsets []int64) {
	begin, end := make([]int, len(ranges)), make([]int, len(ranges))
	for i := range ranges {
		begin[i], end[i] = i, i
	}
	slices.SortStableFunc(begin, func(i, j int) int {
		return cmp.Or(cmp.Compare(ranges[i].first, ranges[j].first), cmp.Compare(ranges[j].size, ranges[i].size))
	})
	slices.SortStableFunc(end, func(i, j int) int { return cmp.Compare(ranges[i].last, ranges[j].last) })
	free := holes{endAt: map[int64]hole{}, startAt: map[int64]hole{}}
	offsets = make([]int64, len(ranges))
	for _, i := range begin {
		for ; ranges[end[0]].last < ranges[i].first; end = end[1:] {
			free.free(hole{offsets[end[0]], ranges[end[0]].size})
		}
		offsets[i] = free.take(ranges[i].size)
	}
	return free.top, offsets
}

// A hole is a run of free bytes.
type hole struct{ start, size int64 }

func (h hole) end() int64 { return h.start + h.size }

func compareHoles(a, b hole) int {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.start, b.start))
}

// holes are the free bytes below top. No two touch.
type holes struct {
	top     int64
	bySize  []hole // by size, then start
	endAt   map[int64]hole
	startAt map[int64]hole
}

// take finds room: in the smallest hole that is large enough, else at the top, where a hole that ends there is
// used too.
func (h *holes) take(size int64) int64 {
	if size == 0 {
		return 0
	}
	if i, _ := slices.BinarySearchFunc(h.bySize, hole{size: size, start: -1}, compareHoles); i < len(h.bySize) {
		found := h.bySize[i]
		h.remove(found)
		if rest := found.size - size; rest > 0 {
			h.add(hole{found.start + size, rest})
		}
		return found.start
	}
	start := h.top
	if last, ok := h.endAt[h.top]; ok {
		h.remove(last)
		start = last.start
	}
	h.top = start + size
	return start
}

// free gives bytes back and joins them to the holes beside them.
func (h *holes) free(f hole) {
	if f.size == 0 {
		return
	}
	if before, ok := h.endAt[f.start]; ok {
		h.remove(before)
		f = hole{before.start, before.size + f.size}
	}
	if after, ok := h.startAt[f.end()]; ok {
		h.remove(after)
		f.size += after.size
	}
	h.add(f)
}

func (h *holes) add(f hole) {
	i, _ := slices.BinarySearchFunc(h.bySize, f, compareHoles)
	h.bySize = slices.Insert(h.bySize, i, f)
	h.startAt[f.start], h.endAt[f.end()] = f, f
}

func (h *holes) remove(f hole) {
	i, _ := slices.BinarySearchFunc(h.bySize, f, compareHoles)
	h.bySize = slices.Delete(h.bySize, i, i+1)
	delete(h.startAt, f.start)
	delete(h.endAt, f.end())
}
