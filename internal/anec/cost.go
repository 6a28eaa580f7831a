package anec

// A Cost is the first stage of the cost model for a kind: how many operations a layer takes. The guide gives that of a
// convolution and says that poolings and elementwise layers have variants of the same form; the model's roofline is the
// same for every operation (guide 18). So a kind has a form if its work follows from its extents. On the M1 the array does
// 361 operations in the time of a byte: but for sums of products the bytes decide, and how many operations a
// normalization counts as does not matter.
//
// A cost is one of three.
type Cost struct {
	FLOPs func(*Layer) float64
	Free  bool   // a view: moves nothing and computes nothing
	None  string // why there is no form
}

// free is for views. Transposes are among them: they fold into a neighbour (seed compiler, phase 1).
var free = Cost{Free: true}

// Why a kind has no form.
const (
	whyData   = "its work depends on the data"
	whyNoTree = "neither cost model has a form for it"
)

// perResult is so many operations for each element of the result: none where elements only change their places.
func perResult(operations float64) Cost {
	return Cost{FLOPs: func(l *Layer) float64 { return operations * l.Top().Type.Dims.Elements() }}
}

// perOperand is so many passes over the first bottom.
func perOperand(passes float64) Cost {
	return Cost{FLOPs: func(l *Layer) float64 { return passes * l.Bottoms[0].Type.Dims.Elements() }}
}

// weightedMean is a mean of four neighbours for each element of the result.
var weightedMean = perResult(8)

// Volume is the number of elements that the window covers.
func (w *Window) Volume() float64 {
	return float64(w.Kernel[0]) * float64(w.Kernel[1]) * float64(w.Kernel[2])
}

// nonZero is the share of weights that a mask selects: those that are stored sparse skip the products with zero.
func nonZero(w *Value) float64 {
	if c := w.Const; c != nil && c.Mask != nil && c.Stored != nil && c.Mask.Len() > 0 {
		return float64(c.Stored.Len()) / float64(c.Mask.Len())
	}
	return 1
}
