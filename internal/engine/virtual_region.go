package engine

import (
	"cmp"
	"slices"
)

// A region is where the elements of a tensor lie in a memory: one of size bytes
// at each place of its loops.
type region struct {
	offset int
	size   int // 0: there is no element
	loops  []axisStep
}

// hull returns the first byte and the byte after the last. It computes in 64
// bits, for nothing is known yet about the strides.
func (r *region) hull() (lo, hi int64) {
	lo = int64(r.offset)
	hi = lo + int64(r.size)
	for _, a := range r.loops {
		if reach := int64(a.count-1) * int64(a.stride); reach < 0 {
			lo += reach
		} else {
			hi += reach
		}
	}
	return lo, hi
}

// separate reports whether no two elements share a byte, as far as the strides
// show: each is at least as long as all that the smaller ones reach. Every
// layout that is known is of that kind.
func (r *region) separate() bool {
	list := slices.Clone(r.loops)
	slices.SortFunc(list, func(a, b axisStep) int { return cmp.Compare(abs(a.stride), abs(b.stride)) })
	reach := int64(r.size)
	for _, a := range list {
		stride := int64(abs(a.stride))
		if stride < reach {
			return false
		}
		reach += int64(a.count-1) * stride
	}
	return true
}

// eachRun calls f with runs of bytes that together are the elements, until f
// returns false. The longest runs come from the loop with the smallest stride,
// wherever it stands. Where elements overlap, which sources may, the run is all
// that the region reaches: the loops could go on for ever.
func (r *region) eachRun(f func(at, n int) bool) {
	if r.size == 0 {
		return
	}
	at, list := r.offset, make([]axisStep, 0, len(r.loops))
	for _, a := range r.loops {
		if a.stride < 0 {
			at += (a.count - 1) * a.stride
			a.stride = -a.stride
		}
		if a.stride > 0 { // else a broadcast
			list = append(list, a)
		}
	}
	once := region{at, r.size, list}
	if !once.separate() {
		lo, hi := once.hull()
		f(int(lo), int(hi-lo))
		return
	}
	slices.SortFunc(list, func(a, b axisStep) int { return cmp.Compare(b.stride, a.stride) })
	run := r.size
	for len(list) > 0 && list[len(list)-1].stride == run {
		run *= list[len(list)-1].count
		list = list[:len(list)-1]
	}
	walk(list, at, run, f)
}

// overlap reports whether two regions of one memory share a byte.
func (r *region) overlap(o *region) bool {
	if r.size == 0 || o.size == 0 {
		return false
	}
	rlo, rhi := r.hull()
	olo, ohi := o.hull()
	lo, hi := max(rlo, olo), min(rhi, ohi)
	if lo >= hi {
		return false
	}
	// What both hulls have in common is small against the memory, or the two
	// are interleaved.
	bits := newBitset(int(hi - lo))
	clip := func(at, n int) (from, to int) {
		from, to = max(at, int(lo))-int(lo), min(at+n, int(hi))-int(lo)
		return from, max(from, to)
	}
	r.eachRun(func(at, n int) bool {
		bits.set(clip(at, n))
		return true
	})
	found := false
	o.eachRun(func(at, n int) bool {
		found = bits.firstSet(clip(at, n)) >= 0
		return !found
	})
	return found
}

// A bitset is a set of small numbers.
type bitset []uint64

func newBitset(size int) bitset { return make(bitset, (size+63)/64) }

func (b bitset) set(lo, hi int) {
	for lo < hi {
		if lo%64 == 0 && hi-lo >= 64 {
			b[lo/64] = ^uint64(0)
			lo += 64
			continue
		}
		b[lo/64] |= 1 << (lo % 64)
		lo++
	}
}

// firstClear returns the first number from lo up to hi that is not in the set,
// -1 if all are.
func (b bitset) firstClear(lo, hi int) int {
	for lo < hi {
		if lo%64 == 0 && hi-lo >= 64 && b[lo/64] == ^uint64(0) {
			lo += 64
			continue
		}
		if b[lo/64]>>(lo%64)&1 == 0 {
			return lo
		}
		lo++
	}
	return -1
}

// firstSet returns the first number from lo up to hi that is in the set, -1 if
// none is.
func (b bitset) firstSet(lo, hi int) int {
	for lo < hi {
		if lo%64 == 0 && hi-lo >= 64 && b[lo/64] == 0 {
			lo += 64
			continue
		}
		if b[lo/64]>>(lo%64)&1 != 0 {
			return lo
		}
		lo++
	}
	return -1
}
