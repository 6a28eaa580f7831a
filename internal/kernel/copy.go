package kernel

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// What moves data: from memory into dense float32, back, and from memory to
// memory.

var copyRows = []Row{
	{"gather", true, "elements of a view, in the order of the axes, as float32"},
	{"scatter", true, "float32 rounded to fp16, or to unsigned bytes, to the elements of a view"},
	{"copy", true, "fp16 numbers from one view to another, bit for bit"},
}

// Reading says what happens to elements as they are read.
type Reading struct {
	ReLU            bool // negative values become 0
	NaNToInf        bool // NaN becomes +inf
	NaNFinite       bool // NaN becomes the largest number instead
	FlushSubnormals bool // fp16 subnormals become 0
}

// Gather reads the elements of a view into dst, which is dense and holds all of
// them. The tile counts rows: G·C·D·H.
func Gather(dst []float32, src []byte, v *View, r Reading, lo, hi int) {
	width := v.Dims[W]
	for i := lo; i < hi; i++ {
		row := dst[i*width:][:width]
		at := v.RowAt(i)
		switch {
		case v.Bytes:
			gatherBytes(row, src, at, v)
		case v.plain():
			gatherRow(row, src[at:], v.Strides[W])
		default:
			for w := range row {
				row[w] = half.Float(getHalf(src[at+v.Along(W, w):]))
			}
		}
		if r != (Reading{}) {
			r.Apply(row)
		}
	}
}

func gatherRow(row []float32, src []byte, stride int) {
	switch stride {
	case 2:
		src = src[:2*len(row)]
		for w := range row {
			row[w] = half.Float(getHalf(src[2*w:]))
		}
	case 0:
		v := half.Float(getHalf(src))
		for w := range row {
			row[w] = v
		}
	default:
		for w := range row {
			row[w] = half.Float(getHalf(src[w*stride:]))
		}
	}
}

func gatherBytes(row []float32, src []byte, at int, v *View) {
	for w := range row {
		row[w] = float32(src[at+v.Along(W, w)])
	}
}

// Apply does it to elements that have been read.
func (r Reading) Apply(row []float32) {
	if r.NaNToInf || r.NaNFinite {
		to := inf
		if r.NaNFinite {
			to = half.Max
		}
		for w, v := range row {
			if v != v {
				row[w] = to
			}
		}
	}
	if r.FlushSubnormals {
		for w, v := range row {
			if v > -half.LeastNormal && v < half.LeastNormal {
				row[w] = 0
			}
		}
	}
	if r.ReLU {
		relu(row)
	}
}

var inf, nan = float32(math.Inf(1)), float32(math.NaN())

// relu makes negative values, and the negative zero, 0. NaN stays.
func relu(row []float32) {
	for w, v := range row {
		if v <= 0 {
			row[w] = 0
		}
	}
}

// Rounding says how results become fp16 numbers.
type Rounding struct {
	HalfAway bool // ties away from zero, not to the even number
	NaNToInf bool // NaN becomes +inf
}

// Half rounds one value.
func (r Rounding) Half(f float32) uint16 {
	switch {
	case f != f && r.NaNToInf:
		return half.Inf
	case r.HalfAway:
		return half.BitsAway(f)
	}
	return half.Bits(f)
}

// Scatter writes src, which is dense, to the elements of a view. The tile counts
// rows.
func Scatter(dst []byte, v *View, src []float32, r Rounding, lo, hi int) {
	width := v.Dims[W]
	for i := lo; i < hi; i++ {
		row := src[i*width:][:width]
		at := v.RowAt(i)
		switch {
		case v.Bytes:
			scatterBytes(dst, row, at, v)
		case v.plain() && !r.HalfAway:
			scatterRow(dst[at:], row, v.Strides[W], r.Half(nan))
		default:
			for w, f := range row {
				putHalf(dst[at+v.Along(W, w):], r.Half(f))
			}
		}
	}
}

// scatterBytes writes numbers as unsigned bytes, rounded and held to their range.
func scatterBytes(dst []byte, row []float32, at int, v *View) {
	for w, f := range row {
		if f = float32(math.RoundToEven(float64(f))); !(f > 0) {
			f = 0
		}
		dst[at+v.Along(W, w)] = byte(min(f, math.MaxUint8))
	}
}

// scatterRow rounds to even, and writes NaN as the number given.
func scatterRow(dst []byte, row []float32, stride int, nan uint16) {
	if stride == 2 {
		dst = dst[:2*len(row)]
	}
	for w, f := range row {
		h := half.Bits(f)
		if f != f {
			h = nan
		}
		putHalf(dst[w*stride:], h)
	}
}

// Copy copies fp16 numbers between views of the same size in two memories. The
// tile counts rows.
func Copy(dst []byte, to *View, src []byte, from *View, lo, hi int) {
	width := from.Dims[W]
	dense := from.plain() && to.plain() && from.Strides[W] == 2 && to.Strides[W] == 2
	for i := lo; i < hi; i++ {
		s, t := from.RowAt(i), to.RowAt(i)
		if dense {
			copy(dst[t:t+2*width], src[s:s+2*width])
			continue
		}
		for w := range width {
			copy(dst[t+to.Along(W, w):][:2], src[s+from.Along(W, w):][:2])
		}
	}
}

func getHalf(b []byte) uint16    { return binary.LittleEndian.Uint16(b) }
func putHalf(b []byte, h uint16) { binary.LittleEndian.PutUint16(b, h) }

// isSubnormal reports whether the number is below the normal ones, or zero.
func isSubnormal(h uint16) bool { return h&half.Inf == 0 }
