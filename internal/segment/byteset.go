package segment

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/td"
)

// A byteSet is a set of bytes: runs of so many, at each place of its loops, one loop inside the other. Strides are above 0, the
// largest comes first.
type byteSet struct {
	lo, run int64
	loops   []byteLoop
}

type byteLoop struct{ n, stride int64 }

// bytesOf are the bytes of an operand. Interleaved channels count up to a whole bundle.
func bytesOf(o *td.Operand) byteSet {
	if o.Type.SubByte() {
		lo, hi, _ := o.Extent()
		return byteSet{lo: lo, run: hi - lo}
	}
	h := byteSet{lo: o.Offset, run: int64(o.Type.Size())}
	lanes := int64(max(o.Interleave, 1))
	var loops []byteLoop
	for a, d := range o.Dims {
		l := byteLoop{int64(d), o.Strides[a]}
		if td.Axis(a) == td.AxisC && lanes > 1 {
			loops = append(loops, byteLoop{min(l.n, lanes), h.run})
			l.n = (l.n + lanes - 1) / lanes
		}
		if l.stride < 0 {
			h.lo += (l.n - 1) * l.stride
			l.stride = -l.stride
		}
		loops = append(loops, l)
		if d == 0 {
			return byteSet{}
		}
	}
	loops = slices.DeleteFunc(loops, func(l byteLoop) bool { return l.n == 1 || l.stride == 0 })
	slices.SortFunc(loops, func(a, b byteLoop) int { return cmp.Compare(a.stride, b.stride) })
	for len(loops) > 0 && loops[0].stride <= h.run { // they lie side by side
		h.run += (loops[0].n - 1) * loops[0].stride
		loops = loops[1:]
	}
	slices.Reverse(loops)
	h.loops = loops
	return h
}

// hi is the first byte behind.
func (h byteSet) hi() int64 {
	hi := h.lo + h.run
	for _, l := range h.loops {
		hi += (l.n - 1) * l.stride
	}
	return hi
}

// meets reports whether two sets have a byte in common.
func (h byteSet) meets(o byteSet) bool {
	if h.run == 0 || o.run == 0 || h.lo >= o.hi() || o.lo >= h.hi() {
		return false
	}
	if len(h.loops) == 0 || len(o.loops) > 0 && o.hi()-o.lo > h.hi()-h.lo {
		h, o = o, h
	}
	if len(h.loops) == 0 {
		return true
	}
	// The parts of the larger one that come near the other.
	l, part := h.loops[0], byteSet{h.lo, h.run, h.loops[1:]}
	first := max(0, (o.lo-part.hi())/l.stride)
	for i := first; i < l.n; i++ {
		if part.lo = h.lo + i*l.stride; part.lo >= o.hi() {
			break
		}
		if part.meets(o) {
			return true
		}
	}
	return false
}

// covers reports whether all bytes of another set are in it, as far as their forms tell.
func (h byteSet) covers(o byteSet) bool {
	return len(h.loops) == 0 && h.lo <= o.lo && o.hi() <= h.hi() ||
		h.lo == o.lo && h.run == o.run && slices.Equal(h.loops, o.loops)
}
