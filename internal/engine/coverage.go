package engine

import "math/bits"

// coverage is the set of bytes of a memory that tasks have written. It is worked
// out when somebody asks, so that a memory that is only written costs nothing.
type coverage struct {
	pending []region
	pages   []*page // nil: nothing there
}

// A page has a bit for each of its bytes.
type page [pageBytes / 64]uint64

const pageBytes = 1 << 15

// wholePage stands for every page of which all bytes are in the set: it is not
// changed.
var wholePage = func() *page {
	p := new(page)
	for i := range p {
		p[i] = ^uint64(0)
	}
	return p
}()

var emptyPage = new(page)

// add puts a region into the set.
func (c *coverage) add(r *region) { c.pending = append(c.pending, *r) }

// gap finds a byte of a region that is not in the set.
func (c *coverage) gap(r *region) (at int, found bool) { return c.find(r, ^uint64(0)) }

// common finds a byte of a region that is in the set.
func (c *coverage) common(r *region) (at int, found bool) { return c.find(r, 0) }

// find looks for a byte of a region whose bit, with those of flip turned over,
// is set.
func (c *coverage) find(r *region, flip uint64) (at int, found bool) {
	for i := range c.pending {
		c.pending[i].eachRun(c.set)
	}
	c.pending = nil
	r.eachRun(func(start, n int) bool {
		inPages(start, n, func(number, lo, hi int) bool {
			p := emptyPage
			if number < len(c.pages) && c.pages[number] != nil {
				p = c.pages[number]
			}
			if p == wholePage && flip != 0 {
				return true
			}
			if i := p.first(lo, hi, flip); i >= 0 {
				at, found = number*pageBytes+i, true
			}
			return !found
		})
		return !found
	})
	return at, found
}

// set puts a run into the set.
func (c *coverage) set(at, n int) bool {
	if last := (at + n - 1) / pageBytes; last >= len(c.pages) {
		c.pages = append(c.pages, make([]*page, last+1-len(c.pages))...)
	}
	inPages(at, n, func(number, lo, hi int) bool {
		p := &c.pages[number]
		switch {
		case *p == wholePage:
		case hi-lo == pageBytes:
			*p = wholePage
		default:
			if *p == nil {
				*p = new(page)
			}
			(*p).set(lo, hi)
		}
		return true
	})
	return true
}

// inPages cuts a run at the bounds of pages, until f returns false.
func inPages(at, n int, f func(number, lo, hi int) bool) {
	for n > 0 {
		lo := at % pageBytes
		hi := min(lo+n, pageBytes)
		if !f(at/pageBytes, lo, hi) {
			return
		}
		at += hi - lo
		n -= hi - lo
	}
}

func (p *page) set(lo, hi int) {
	for lo < hi {
		if lo%64 == 0 && hi-lo >= 64 { // most of a long run
			p[lo/64] = ^uint64(0)
			lo += 64
			continue
		}
		mask, n := wordMask(lo, hi)
		p[lo/64] |= mask
		lo += n
	}
}

// first returns the first bit from lo up to hi that is set after those of flip
// have been turned over, -1 if there is none.
func (p *page) first(lo, hi int, flip uint64) int {
	for lo < hi {
		if lo%64 == 0 && hi-lo >= 64 && p[lo/64] == flip { // most of a long run
			lo += 64
			continue
		}
		mask, n := wordMask(lo, hi)
		if hits := (p[lo/64] ^ flip) & mask; hits != 0 {
			return lo&^63 + bits.TrailingZeros64(hits)
		}
		lo += n
	}
	return -1
}

// wordMask has the bits from lo up to hi that are in the word of lo, and their
// number.
func wordMask(lo, hi int) (mask uint64, n int) {
	shift := lo % 64
	n = min(64-shift, hi-lo)
	return ^uint64(0) >> (64 - n) << shift, n
}
