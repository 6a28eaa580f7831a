package engine

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/internal/kernel"
)

// coverage is the set of halfwords of a memory that tasks have written. The
// bits are made when somebody asks, so that a memory that is only written costs
// nothing.
type coverage struct {
	pending []kernel.View
	bits    []uint64 // one for each halfword
}

// add notes that the elements of a view are written.
func (c *coverage) add(v *kernel.View) { c.pending = append(c.pending, *v) }

// settle brings the bits up to date, for a memory of the given size.
func (c *coverage) settle(size int) {
	if c.bits == nil {
		c.bits = make([]uint64, (size+127)/128)
	}
	for i := range c.pending {
		eachRun(&c.pending[i], func(at, n int) bool {
			c.set(at/2, (at+n)/2)
			return true
		})
	}
	c.pending = nil
}

// gap finds the first byte of a view that is not covered.
func (c *coverage) gap(v *kernel.View, size int) (at int, found bool) {
	c.settle(size)
	eachRun(v, func(start, n int) bool {
		if h := c.firstClear(start/2, (start+n)/2); h >= 0 {
			at, found = 2*h, true
		}
		return !found
	})
	return at, found
}

// touches reports whether any byte of a view is covered.
func (c *coverage) touches(v *kernel.View, size int) bool {
	c.settle(size)
	found := false
	eachRun(v, func(start, n int) bool {
		for h := start / 2; h < (start+n)/2 && !found; h++ {
			found = c.bits[h/64]>>(h%64)&1 != 0
		}
		return !found
	})
	return found
}

func (c *coverage) set(lo, hi int) {
	for lo < hi {
		if lo%64 == 0 && hi-lo >= 64 {
			c.bits[lo/64] = ^uint64(0)
			lo += 64
			continue
		}
		c.bits[lo/64] |= 1 << (lo % 64)
		lo++
	}
}

func (c *coverage) firstClear(lo, hi int) int {
	for lo < hi {
		if lo%64 == 0 && hi-lo >= 64 && c.bits[lo/64] == ^uint64(0) {
			lo += 64
			continue
		}
		if c.bits[lo/64]>>(lo%64)&1 == 0 {
			return lo
		}
		lo++
	}
	return -1
}

// eachRun calls f with runs of bytes that together are the elements of a view,
// until f returns false. The longest runs come from the loop with the smallest
// stride, wherever it stands.
func eachRun(v *kernel.View, f func(at, n int) bool) {
	list := steps(v)
	slices.SortFunc(list, func(a, b axisStep) int { return cmp.Compare(b.stride, a.stride) })
	run := 2
	for len(list) > 0 && list[len(list)-1].stride == run {
		run *= list[len(list)-1].count
		list = list[:len(list)-1]
	}
	list = slices.DeleteFunc(list, func(a axisStep) bool { return a.stride == 0 }) // broadcast
	walk(list, v.Offset, run, f)
}

func walk(list []axisStep, at, run int, f func(at, n int) bool) bool {
	if len(list) == 0 {
		return f(at, run)
	}
	for i := range list[0].count {
		if !walk(list[1:], at+i*list[0].stride, run, f) {
			return false
		}
	}
	return true
}

// separate reports whether no two elements of a view share a byte, as far as
// the strides show: each is at least as long as all that the smaller ones
// reach. Every layout that is known is of that kind.
func separate(v *kernel.View) bool {
	list := steps(v)
	slices.SortFunc(list, func(a, b axisStep) int { return cmp.Compare(abs(a.stride), abs(b.stride)) })
	reach := int64(2)
	for _, a := range list {
		stride := int64(abs(a.stride))
		if stride < reach {
			return false
		}
		reach += int64(a.count-1) * stride
	}
	return true
}

func abs(n int) int { return max(n, -n) }
