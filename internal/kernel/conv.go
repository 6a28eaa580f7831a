package kernel

import "math"

// Convolutions of the multiply array: sums of products of fp16 numbers. Such a
// product is exact in float32, and every output adds its products one after the
// other, the bias first, then by input channel, kernel row and kernel column.

var convRows = []Row{
	{"convolve", false, "a convolution of one group, any window"},
	{"convolve-point", false, "a convolution of one group whose images are single points: a matrix times a vector"},
	{"convolve-again", true, "outputs once more that rules about each product may change: indeterminate forms, partial sums, lanes"},
	{"weights", true, "weights of a kernel stream that is made at run time, as float32"},
}

// ConvShape is the shape of a convolution of one group.
type ConvShape struct {
	Cin, Hin, Win    int
	Cout, Hout, Wout int
	Kh, Kw           int
	Sy, Sx           int  // strides
	Py, Px           int  // padding before the first row and column
	Inputs           int  // channels that one output reads
	Unicast          bool // output o reads from channel o·Inputs on, not from 0
}

// Weights is the number of weights of one output.
func (s *ConvShape) Weights() int { return s.Inputs * s.Kh * s.Kw }

// IsPoint reports whether ConvolvePoint can do it.
func (s *ConvShape) IsPoint() bool {
	return s.Hin == 1 && s.Win == 1 && s.Hout == 1 && s.Wout == 1 && s.Kh == 1 && s.Kw == 1 && s.Py == 0 && s.Px == 0
}

// first is the first input channel of an output.
func (s *ConvShape) first(o int) int {
	if s.Unicast {
		return o * s.Inputs
	}
	return 0
}

// inside returns the range of output positions, of n, whose tap k falls inside
// an image of the given size.
func inside(n, size, stride, pad, k int) (lo, hi int) {
	// 0 <= i*stride + k - pad < size
	if d := pad - k; d > 0 {
		lo = (d + stride - 1) / stride
	}
	if d := size - 1 + pad - k; d >= 0 {
		hi = min(n, d/stride+1)
	}
	return lo, hi
}

// Convolve computes the rows of the tile, which counts Cout·Hout. dst and src
// are the dense images of one group; weights has Weights() of each output, bias
// one value of each, or is nil. Outside the image, the input is 0.
func Convolve(dst, src, weights, bias []float32, s *ConvShape, lo, hi int) {
	outPlane, inPlane := s.Hout*s.Wout, s.Hin*s.Win
	for lo < hi {
		o := lo / s.Hout
		top, bottom := lo-o*s.Hout, min(hi-o*s.Hout, s.Hout) // rows of this output
		lo += bottom - top
		out := dst[o*outPlane : (o+1)*outPlane]
		var b float32
		if bias != nil {
			b = bias[o]
		}
		for i := top * s.Wout; i < bottom*s.Wout; i++ {
			out[i] = b
		}
		w := weights[o*s.Weights():]
		for i := range s.Inputs {
			in := src[(s.first(o)+i)*inPlane:][:inPlane]
			for ky := range s.Kh {
				y0, y1 := inside(s.Hout, s.Hin, s.Sy, s.Py, ky)
				y0, y1 = max(y0, top), min(y1, bottom)
				for kx := range s.Kw {
					x0, x1 := inside(s.Wout, s.Win, s.Sx, s.Px, kx)
					weight := w[0]
					w = w[1:]
					if x0 >= x1 {
						continue
					}
					for y := y0; y < y1; y++ {
						row := out[y*s.Wout+x0 : y*s.Wout+x1]
						from := in[(y*s.Sy+ky-s.Py)*s.Win+x0*s.Sx+kx-s.Px:]
						addScaled(row, from, weight, s.Sx)
					}
				}
			}
		}
	}
}

// addScaled adds weight times every stride-th element of from to row.
func addScaled(row, from []float32, weight float32, stride int) {
	if stride == 1 {
		from = from[:len(row)]
		for x := range row {
			row[x] += weight * from[x]
		}
		return
	}
	for x := range row {
		row[x] += weight * from[x*stride]
	}
}

// ConvolvePoint does what Convolve does where IsPoint holds: a row is an output.
func ConvolvePoint(dst, src, weights, bias []float32, s *ConvShape, lo, hi int) {
	n := s.Inputs
	o := lo
	// Four outputs side by side, for one sum alone would wait for each of its
	// additions.
	for ; o+4 <= hi && !s.Unicast; o += 4 {
		w0, w1, w2, w3 := weights[o*n:][:n], weights[(o+1)*n:][:n], weights[(o+2)*n:][:n], weights[(o+3)*n:][:n]
		var a0, a1, a2, a3 float32
		if bias != nil {
			a0, a1, a2, a3 = bias[o], bias[o+1], bias[o+2], bias[o+3]
		}
		for i, x := range src[:n] {
			a0 += w0[i] * x
			a1 += w1[i] * x
			a2 += w2[i] * x
			a3 += w3[i] * x
		}
		dst[o], dst[o+1], dst[o+2], dst[o+3] = a0, a1, a2, a3
	}
	for ; o < hi; o++ {
		var a float32
		if bias != nil {
			a = bias[o]
		}
		in := src[s.first(o):][:n]
		for i, w := range weights[o*n:][:n] {
			a += w * in[i]
		}
		dst[o] = a
	}
}

// ConvolveAgain computes, of the results of Convolve, those again that an
// accumulation may change: NaN, which 0·inf and inf-inf may have made; sums that
// may have passed the limit on their way, for which greatest is the greatest
// magnitude in src; all, where lanes are added up first. The tile counts rows as
// there.
func ConvolveAgain(dst, src, weights, bias []float32, s *ConvShape, a *Accumulation, greatest float32, lo, hi int) {
	plane := s.Hout * s.Wout
	output, all := -1, false
	for i := lo * s.Wout; i < hi*s.Wout; i++ {
		o := i / plane
		var b float32
		if bias != nil {
			b = bias[o]
		}
		w := weights[o*s.Weights():][:s.Weights()]
		if o != output {
			output, all = o, a.Lanes > 0 || a.Limit != 0 && !(magnitudes(w)*greatest+float32(math.Abs(float64(b))) < a.Limit)
		}
		if all || a.Settle && dst[i] != dst[i] {
			dst[i] = s.again(src, w, b, a, o, i%plane/s.Wout, i%s.Wout)
		}
	}
}

// Greatest is the greatest magnitude, NaN if one is NaN.
func Greatest(src []float32) float32 {
	var top float32
	for _, v := range src {
		top = max(top, float32(math.Abs(float64(v))))
	}
	return top
}

func magnitudes(weights []float32) float32 {
	var sum float32
	for _, w := range weights {
		sum += float32(math.Abs(float64(w)))
	}
	return sum
}

func (s *ConvShape) again(src, weights []float32, bias float32, a *Accumulation, o, y, x int) float32 {
	sum := From(bias)
	for i := range s.Inputs {
		in := src[(s.first(o)+i)*s.Hin*s.Win:]
		for ky := range s.Kh {
			for kx := range s.Kw {
				k := (i*s.Kh+ky)*s.Kw + kx
				h, w := y*s.Sy+ky-s.Py, x*s.Sx+kx-s.Px
				if h < 0 || h >= s.Hin || w < 0 || w >= s.Win {
					continue
				}
				a.Add(&sum, 0, k, weights[k], in[h*s.Win+w])
			}
		}
	}
	return a.Total(&sum, 0)
}

// orZero returns v, or +0 if it is NaN and came from operands that are not.
func orZero(v, a, b float32) float32 {
	if v != v && a == a && b == b {
		return 0
	}
	return v
}

// Weights reads the weights of a kernel that another task, or the caller, has
// put in memory: of each output o of the tile, count fp16 numbers from byte
// first[o] on, stride bytes apart.
func Weights(dst []float32, src []byte, first []int, count, stride int, r Reading, lo, hi int) {
	for o := lo; o < hi; o++ {
		row := dst[o*count : (o+1)*count]
		gatherRow(row, src[first[o]:], stride)
		if r != (Reading{}) {
			r.apply(row)
		}
	}
}
