package half

import "encoding/binary"

// Rows are rows of fp16 numbers that are to be floats, each row a piece of Src.
//
// With Split, elements are sorted by whether their number is even or odd: the even
// ones of a row go to its beginning, the odd ones so many floats further, which may
// be before it.
//
//	a b c d e   →   a c e … b d
type Rows struct {
	Dst         []float32
	At          int // in Dst, of the first element
	DstApart    int // floats from row to row
	Src         []byte
	SrcApart    int // bytes from row to row
	Count, Cols int
	Split       int // 0: side by side

	// More planes of such rows, each so many floats and bytes after the one before.
	More               int
	DstPlane, SrcPlane int
}

// Convert converts them all.
//
//go:noinline
func (r *Rows) Convert() {
	if r.Count == 0 || r.Cols == 0 {
		return
	}
	if min(r.DstApart, r.SrcApart, r.Count, r.Cols, r.More, r.DstPlane, r.SrcPlane) < 0 {
		panic("bug: rows go forward")
	}
	first, end := r.At, r.At+r.Cols
	if r.Split != 0 {
		even := (r.Cols + 1) / 2
		first, end = r.At+min(r.Split, 0), r.At+even
		if r.Cols > 1 {
			end = max(end, r.At+r.Split+r.Cols/2)
		} else {
			first = r.At
		}
	}
	last := r.Count - 1
	_, _, _ = r.Dst[first], r.Dst[r.More*r.DstPlane+last*r.DstApart+end-1], r.Src[r.More*r.SrcPlane+last*r.SrcApart+2*r.Cols-1]
	if r.fast() {
		return
	}
	for plane := range r.More + 1 {
		r.plain(r.Dst[plane*r.DstPlane:], r.Src[plane*r.SrcPlane:])
	}
}

func (r *Rows) plain(dst []float32, from []byte) {
	for i := range r.Count {
		at, src := r.At+i*r.DstApart, from[i*r.SrcApart:][:2*r.Cols]
		if r.Split == 0 {
			Floats(dst[at:][:r.Cols], src)
			continue
		}
		for j := range r.Cols {
			dst[at+j%2*r.Split+j/2] = Float(binary.LittleEndian.Uint16(src[2*j:]))
		}
	}
}
