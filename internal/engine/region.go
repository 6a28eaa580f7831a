package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// A region is where the elements of a tensor lie in a memory: the union of
// blocks, of which there is none if there is no element.
type region struct {
	blocks []block

	// separate says that no two elements share a byte, as far as the strides
	// show: each is at least as long as all that the smaller ones reach. Every
	// layout that is known is of that kind.
	separate bool
}

// A block is a run of bytes at each place of its loops, one loop inside the
// other. Strides are positive; the largest comes first.
type block struct {
	offset, run int
	loops       []loop
}

// A loop is count places, stride bytes apart.
type loop struct{ count, stride int }

// lanes are elements of one axis that lie in bundles: side by side in a bundle,
// of which the last may be only begun.
type lanes struct {
	elements, perBundle      int
	laneStride, bundleStride int
}

// newRegion describes elements of size bytes. Loops may have any stride, 0 for a
// broadcast; none of them has a count of 0. Lanes are of the axis that no loop
// is of, nil if there is none such.
func newRegion(offset, size int, loops []loop, l *lanes) region {
	if l == nil {
		b, separate := newBlock(offset, size, loops)
		return region{[]block{b}, separate}
	}
	var r region
	add := func(offset int, more ...loop) {
		b, _ := newBlock(offset, size, append(slices.Clone(loops), more...))
		r.blocks = append(r.blocks, b)
	}
	full, rest := l.elements/l.perBundle, l.elements%l.perBundle
	if full > 0 {
		add(offset, loop{full, l.bundleStride}, loop{l.perBundle, l.laneStride})
	}
	if rest > 0 {
		add(offset+full*l.bundleStride, loop{rest, l.laneStride})
	}
	_, r.separate = newBlock(offset, size, append(slices.Clone(loops),
		loop{(l.elements + l.perBundle - 1) / l.perBundle, l.bundleStride},
		loop{min(l.elements, l.perBundle), l.laneStride}))
	return r
}

// newBlock joins what lies side by side to runs, as long as can be, and sees
// whether elements share bytes.
func newBlock(offset, size int, loops []loop) (b block, separate bool) {
	b = block{offset: offset, run: size}
	separate = true
	for _, l := range loops {
		if l.count == 1 {
			continue
		}
		if l.stride < 0 {
			b.offset += (l.count - 1) * l.stride
			l.stride = -l.stride
		}
		if l.stride == 0 {
			separate = false
			continue
		}
		b.loops = append(b.loops, l)
	}
	slices.SortFunc(b.loops, func(x, y loop) int { return cmp.Compare(x.stride, y.stride) })
	reach := int64(size)
	joined := 0
	for i, l := range b.loops {
		separate = separate && int64(l.stride) >= reach
		reach += int64(l.count-1) * int64(l.stride)
		if joined == i && l.stride <= b.run {
			b.run += (l.count - 1) * l.stride
			joined++
		}
	}
	b.loops = b.loops[joined:]
	slices.Reverse(b.loops)
	return b, separate
}

// operandRegion is the region of an operand in its memory, where it is known to
// fit.
func operandRegion(o *strided.Operand) region {
	for _, n := range o.Dims {
		if n == 0 {
			return region{separate: true}
		}
	}
	if o.Type.SubByte() { // packed
		lo, hi, _ := o.Extent()
		return newRegion(int(lo), int(hi-lo), nil, nil)
	}
	lane := td.AxisC
	if o.Exchanged {
		lane = td.AxisW
	}
	var bundled *lanes
	loops := make([]loop, 0, td.NumAxes)
	for a, n := range o.Dims {
		switch {
		case td.Axis(a) == lane && o.Interleave > 1:
			bundled = &lanes{n, int(o.Interleave), o.Type.Size(), int(o.Strides[a])}
		case n > 1: // a stride that leads nowhere may be any number
			loops = append(loops, loop{n, int(o.Strides[a])})
		}
	}
	if bundled != nil && bundled.elements <= bundled.perBundle {
		bundled.bundleStride = 0
	}
	return newRegion(int(o.Offset), o.Type.Size(), loops, bundled)
}

// empty reports whether there is no element.
func (r *region) empty() bool { return len(r.blocks) == 0 }

// hull returns the first byte and the byte after the last.
func (r *region) hull() (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	for _, b := range r.blocks {
		end := int64(b.offset) + int64(b.run)
		for _, l := range b.loops {
			end += int64(l.count-1) * int64(l.stride)
		}
		lo, hi = min(lo, int64(b.offset)), max(hi, end)
	}
	return lo, hi
}

// runs is the number of runs that eachRun walks over, or a number past every
// limit.
func (r *region) runs() int64 {
	total := int64(0)
	for _, b := range r.blocks {
		n := int64(1)
		for _, l := range b.loops {
			if n *= int64(l.count); n > math.MaxInt32 {
				return math.MaxInt32
			}
		}
		total += n
	}
	return total
}

// eachRun calls f with runs of bytes that together are the region, until f
// returns false.
func (r *region) eachRun(f func(at, n int) bool) {
	for _, b := range r.blocks {
		if !walk(b.loops, b.offset, b.run, f) {
			return
		}
	}
}

func walk(loops []loop, at, run int, f func(at, n int) bool) bool {
	if len(loops) == 0 {
		return f(at, run)
	}
	for range loops[0].count {
		if !walk(loops[1:], at, run, f) {
			return false
		}
		at += loops[0].stride
	}
	return true
}

// solid reports whether the region is all of its hull.
func (r *region) solid() bool { return len(r.blocks) == 1 && len(r.blocks[0].loops) == 0 }

// same reports whether the regions are described in the same way, as those of a
// tensor that is changed in place.
func (r *region) same(o *region) bool {
	return slices.EqualFunc(r.blocks, o.blocks, func(x, y block) bool {
		return x.offset == y.offset && x.run == y.run && slices.Equal(x.loops, y.loops)
	})
}

// overlaps reports whether two regions of one memory share a byte.
func (r *region) overlaps(o *region) bool {
	if r.empty() || o.empty() {
		return false
	}
	rlo, rhi := r.hull()
	olo, ohi := o.hull()
	if rhi <= olo || ohi <= rlo {
		return false
	}
	if r.solid() && o.solid() || r.same(o) {
		return true
	}
	var c coverage
	c.add(r)
	_, found := c.common(o)
	return found
}
