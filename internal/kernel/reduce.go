package kernel

import "math"

// Reductions: over the plane of a channel (planar engine) and over channels
// (multiply array). Elements are taken one after the other.

var reduceRows = []Row{
	{"reduce-plane", false, "sum or maximum of each plane, then scale, epsilon and a function"},
	{"reduce-channels", false, "sum, maximum or product over channels, for each place of the plane"},
}

// ReduceOp is a way to reduce.
type ReduceOp uint8

// The reductions, as the planar engine's register numbers them.
const (
	Sum     ReduceOp = 0
	Largest ReduceOp = 2

	Product ReduceOp = 8 // of the array alone; the number is ours
)

// FinalFunc is what the planar engine does at last to a reduced value.
type FinalFunc uint8

// The functions, as the register numbers them.
const (
	NoFunc FinalFunc = iota
	Reciprocal
	ReciprocalSqrt
)

// Reduction is a reduction of planes: f(r·Scale + Epsilon).
type Reduction struct {
	Op             ReduceOp
	Scale, Epsilon float32
	Func           FinalFunc

	IndeterminateToZero bool
}

// ReducePlane reduces src, plane elements at a time, to dst. The tile counts
// results.
func ReducePlane(dst, src []float32, plane int, r *Reduction, lo, hi int) {
	for i := lo; i < hi; i++ {
		in := src[i*plane : (i+1)*plane]
		v := r.Op.start()
		for _, x := range in {
			v = r.Op.join(v, x, r.IndeterminateToZero)
		}
		dst[i] = r.finish(v)
	}
}

func (op ReduceOp) start() float32 {
	switch op {
	case Largest:
		return -inf
	case Product:
		return 1
	}
	return 0
}

func (op ReduceOp) join(v, x float32, settle bool) float32 {
	if op == Largest {
		return max(v, x)
	}
	s := v + x
	if op == Product {
		s = v * x
	}
	if settle {
		return orZero(s, v, x)
	}
	return s
}

func (r *Reduction) finish(v float32) float32 {
	given := v == v
	v = float32(v*r.Scale) + r.Epsilon
	switch r.Func {
	case Reciprocal:
		v = 1 / v
	case ReciprocalSqrt:
		v = float32(1 / math.Sqrt(float64(v)))
	}
	if v != v && given && r.IndeterminateToZero {
		return 0
	}
	return v
}

// ReduceChannels reduces, at every place, the s.Inputs channels that an output
// reads. The window must be a single tap without stride. The tile counts output
// channels.
func ReduceChannels(dst, src []float32, op ReduceOp, s *ConvShape, settle bool, lo, hi int) {
	plane := s.Hout * s.Wout
	for o := lo; o < hi; o++ {
		out := dst[o*plane : (o+1)*plane]
		for i := range out {
			out[i] = op.start()
		}
		for i := range s.Inputs {
			for p, x := range src[(s.first(o)+i)*plane:][:plane] {
				out[p] = op.join(out[p], x, settle)
			}
		}
	}
}
