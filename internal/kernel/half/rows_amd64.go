//go:build amd64

package half

// A rowing is what the machine code is told.
type rowing struct {
	dst   *float32
	apart int // bytes
	src   *byte
	from  int // bytes
	count int
	cols  int
	split int // bytes
}

// mostCols bounds what one call of machine code does, which cannot be preempted.
const mostCols = most

// fast converts rows by machine code and reports whether it did.
func (r *Rows) fast() bool {
	if step == 0 || r.Cols > mostCols {
		return false
	}
	p := rowing{apart: 4 * r.DstApart, from: r.SrcApart, cols: r.Cols, split: 4 * r.Split}
	rows := max(1, most/r.Cols)
	for plane := range r.More + 1 {
		dst, src := r.Dst[plane*r.DstPlane:], r.Src[plane*r.SrcPlane:]
		for i := 0; i < r.Count; i += rows {
			p.dst, p.src, p.count = &dst[r.At+i*r.DstApart], &src[i*r.SrcApart], min(rows, r.Count-i)
			rowsPart(&p)
		}
	}
	return true
}

// rowsPart is a call of its own, as floatsPart is.
//
//go:noinline
func rowsPart(p *rowing) {
	switch {
	case p.split == 0 && step == 1:
		rowsAVX512(p)
	case step == 1:
		splitAVX512(p)
	case p.split == 0:
		rowsAVX2(p)
	default:
		splitAVX2(p)
	}
}

//go:noescape
func rowsAVX512(p *rowing)

//go:noescape
func splitAVX512(p *rowing)

//go:noescape
func rowsAVX2(p *rowing)

//go:noescape
func splitAVX2(p *rowing)
