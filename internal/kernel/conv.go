package kernel

// Convolutions of the multiply array: their shapes, and weights that are made at
// run time. The sums are those of strided.Dense.

var convRows = []Row{
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

// IsPointwise reports whether each place of the result meets the same place of the
// image and no other.
func (s *ConvShape) IsPointwise() bool {
	return s.Kh == 1 && s.Kw == 1 && s.Sy == 1 && s.Sx == 1 && s.Py == 0 && s.Px == 0 && s.Hin == s.Hout && s.Win == s.Wout
}

// first is the first input channel of an output.
func (s *ConvShape) first(o int) int {
	if s.Unicast {
		return o * s.Inputs
	}
	return 0
}

// Inside returns the range of columns of the result whose tap in kernel column k
// falls inside the image: the columns x with 0 ≤ x·Sx + k - Px < Win.
func (s *ConvShape) Inside(k int) (lo, hi int) {
	if d := s.Px - k; d > 0 {
		lo = (d + s.Sx - 1) / s.Sx
	}
	if d := s.Win - 1 + s.Px - k; d >= 0 {
		hi = min(s.Wout, d/s.Sx+1)
	}
	return lo, hi
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
			r.Apply(row)
		}
	}
}
