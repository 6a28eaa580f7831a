package strided

import "github.com/espalier-ane/espalier/internal/kernel/depthwise"

// A densePlane is how a channel of a dense convolution that has one input of its own
// is computed: as bands do it, from a copy with its padding, sorted by the place of
// the stride, but all rows at once.
type densePlane struct {
	shape  *convShape
	row    int // floats of a row of the copy
	sorted int // from one place of the stride to the next
	floats int
	kernel *depthwise.Taps
}

// newDensePlane is nil if the copy would be large, or there is more than one input.
func newDensePlane(s *convShape) *densePlane {
	high, wide := float64(s.hout-1)*float64(s.sy)+float64(s.kh), float64(s.wout-1)*float64(s.sx)+float64(s.kw)
	if s.inputs != 1 || s.hout == 0 || s.wout == 0 || s.weights() == 0 || s.weights() > maxTaps || high*(wide+float64(s.sx)) > maxCopy {
		return nil
	}
	p := &densePlane{shape: s, sorted: (int(wide) + s.sx - 1) / s.sx}
	p.row = p.sorted * s.sx
	p.floats = int(high) * p.row
	shifts := make([]int, s.weights())
	for t := range shifts {
		shifts[t] = t/s.kw*p.row + p.column(t%s.kw)
	}
	p.kernel = depthwise.NewTaps(shifts)
	return p
}

// column is where in a row of the copy an element is.
func (p *densePlane) column(x int) int { return x%p.shape.sx*p.sorted + x/p.shape.sx }

// takes reports whether weights meet the padding as if it were not there.
func (p *densePlane) takes(weights []float32) bool {
	var sum float32
	for _, v := range weights {
		sum += v - v
	}
	return sum == 0 // no infinity, no NaN
}

// run computes a channel. Where the area has padding, it is 0.
func (p *densePlane) run(out, area, src, weights []float32, bias float32) {
	s := p.shape
	lo, hi := 0, min(s.win, p.row-s.px) // the columns that are met
	if lo = max(0, -s.px); lo < hi {
		for y := max(0, -s.py); y < s.hin && y+s.py < p.floats/p.row; y++ {
			p.sort(area[(y+s.py)*p.row:][:p.row], src[y*s.win:][lo:hi], lo+s.px)
		}
	}
	p.sums(out, area, weights, bias)
}

// sums computes a channel from its copy.
func (p *densePlane) sums(out, area, weights []float32, bias float32) {
	s := p.shape
	plane := depthwise.Plane{
		Src: area, Step: s.sy * p.row, Weights: weights, Rows: s.hout, Width: s.wout, Bias: bias, Bounds: depthwise.Unbounded,
	}
	if bias == 0 {
		plane.Bias = depthwise.NoBias
	}
	p.kernel.Floats(out, s.wout, &plane)
}

// sort copies a row of the image to a row of the copy, from a column on.
func (p *densePlane) sort(dst, src []float32, column int) {
	stride := p.shape.sx
	if stride == 1 {
		copy(dst[column:], src)
		return
	}
	for first := range min(stride, len(src)) {
		to := dst[p.column(column+first):]
		n := 0
		for e := first; e < len(src); e += stride {
			to[n] = src[e]
			n++
		}
	}
}
