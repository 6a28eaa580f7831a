// Package strided has the kernels of version-256 tasks: operations on operands
// of any element type, at any strides.
//
// An operation is bound once, which settles its loops, its scratch and its
// epilogue, and then run many times on the memory of its caller. A bound
// operation is cut into tiles that do not depend on each other; Run computes a
// range of them, never allocates and never starts a goroutine. Every element of
// a result is computed by one tile, and in an order that depends on lengths
// alone: the same bits come out however the tiles are handed out.
//
// Between loading and storing, a value is a float32; where everything is
// integer, an int64. It is rounded to the element type of the result when it is
// stored, once.
//
// The package knows nothing of registers: classes, functions and kinds are
// numbers here, those of package td, and the engine's tests hold the names of
// both together.
package strided

import (
	"fmt"
	"slices"
)

// The numbers of the classes.
const (
	classConv            = 1
	classPooling         = 2
	classElementWise     = 4
	classMatMul          = 18
	classReduction       = 20
	classSoftmax         = 24
	classLayerNorm       = 28
	classInstanceNorm    = 25
	classL2Norm          = 26
	classMinMaxNorm      = 27
	classLRN             = 29
	classGather          = 39
	classArgMinMax       = 15
	classGlobalArgMinMax = 16
	classSort            = 50
	classTopK            = 51
	classCopy            = 71
	classInputView       = 17
	classAttention       = 77
)

// An Op is an operation to be bound. Operand 0 is the result, of a sorting class
// operand 1 another; the others are sources, in the order of the class. An
// operand without a type is not there.
type Op struct {
	Class    uint8
	Operands []Operand
	Steps    []Step
	Params   Params
	Packs    *Packs // where to have constant operands packed; nil: nowhere
	Rules    *Rules // of a chip; nil: plain arithmetic
}

// Params are the fields of the classes, each of which takes the ones that it
// has.
type Params struct {
	Window                      // convolution, pooling, argminmax
	Groups         int          // convolution
	Transposed     bool         // convolution
	CountPad       bool         // pooling
	Kind           uint8        // pooling, elementwise, reduction
	Axes           uint8        // reduction, the normalizations but local response: bit a is axis a
	Axis           int          // softmax, gather, argminmax, sorting
	TransposeX     bool         // matrix multiplication
	TransposeZ     bool         // matrix multiplication
	Epsilon        float32      // layer, instance, L2 and min-max normalization
	Size           int          // local response normalization
	Alpha, Beta, K float32      // local response normalization
	Scale          float32      // attention
	Max            bool         // argminmax, sorting: from the greatest down
	Spatial        bool         // argminmax: in a window, not along channels
	Indices        bool         // sorting: the result has indices, not values
	VectorAxis     int          // sorting: with keys, the axis along which elements stay together; decoding: that of a table's entries
	Blocks         [NumAxes]int // decoding: how many tables along each axis
	Keys           []int        // sorting: the elements of a vector that are compared
	Low, High      float32      // random generator
	Seed           uint32       // random generator
	Offset, Live   [NumAxes]int // ring buffer writer
	Radius         float32      // radius search

	Before     [NumAxes]int // padding, whose mode is Kind
	Background float32      // padding, dynamic slice: the value of one of the modes
	Sliced     []int        // dynamic slice, whose mode is Kind: the axes in the order of their starts
	FromEnd    bool         // dynamic slice
	Factors    [3]int       // the classes of rearrange.go: of a block, along W, H and D
	Sampling   Sampling     // the classes of sampling.go
}

// Window is how a convolution or a pooling walks over D, H and W.
type Window struct {
	Kernel, Stride, Dilation, PadBefore [3]int
}

// A Kernel is an operation that is bound.
type Kernel interface {
	// Tiles returns the number of tiles, and how many are worth a thread.
	Tiles() (n, grain int)

	// Need returns what scratch each thread needs.
	Need() Need

	// Run computes the tiles [lo, hi). The scratch is the caller's alone.
	Run(s *Scratch, lo, hi int)
}

// A Row is a way to do the operations of a class. The first row that takes an
// operation does it.
type Row struct {
	Name  string
	Class uint8

	// Bound is how far a result may be from the exact one of the values that
	// were read, before it is rounded to its type. It counts units of 2^-24: of
	// the result itself, plus Terms of the sum of the magnitudes that were
	// added up. Both are 0 where nothing is rounded before the store.
	Bound Bound

	Takes func(*Op) bool // nil: all
	Bind  func(*Op) (Kernel, error)
	Doc   string
}

// Bound is the error of a row, in units of 2^-24.
type Bound struct{ Result, Terms float64 }

// Exact reports whether a row rounds but once.
func (b Bound) Exact() bool { return b == Bound{} }

var rows = slices.Concat(paddingRows(), rearrangeRows(), samplingRows(), []Row{
	{"conv-transposed", classConv, Bound{2, 256}, isTransposed, bindTransposedConv, "as conv, for the places that meet the same taps"},
	{"conv-channelwise", classConv, Bound{2, 256}, isChannelwise, bindChannelwise, "each channel by itself: eight places of a row at once, tap by tap"},
	{"conv-pointwise", classConv, Bound{2, 256}, isPointwise, bindPointwise, "as conv, of x as it lies"},
	{"conv", classConv, Bound{2, 256}, nil, bindConv, "tiles of channels and places; sums of 256 products, added up in order"},
	{"pool", classPooling, Bound{2, 0}, nil, bindPool, "a row of windows at once, summed in fp64"},
	{"select-move", classElementWise, Bound{}, selectsBytes, bindSelectMove, "bytes"},
	{"select-int", classElementWise, Bound{}, selectsInts, bindSelectInt, "integers, in int64"},
	{"select", classElementWise, Bound{2, 0}, selects, bindSelect, "with conversion or epilogue"},
	{"elementwise-int", classElementWise, Bound{}, integers, bindElementWiseInt, "integers, in int64"},
	{"elementwise", classElementWise, Bound{2, 0}, nil, bindElementWise, "a stretch of a row at once"},
	{"matmul", classMatMul, Bound{2, 256}, nil, bindMatMul, "as conv"},
	{"reduction-int", classReduction, Bound{}, integers, bindReductionInt, "integers, in int64"},
	{"reduction", classReduction, Bound{2, 0}, nil, bindReduction, "in fp64, in the order of the axes"},
	{"softmax", classSoftmax, Bound{2, 0}, nil, bindSoftmax, "a line at once, exp and sum in fp64"},
	{"layernorm", classLayerNorm, Bound{2, 1}, nil, bindLayerNorm, "mean, then variance, in fp64"},
	{"instancenorm", classInstanceNorm, Bound{2, 1}, nil, bindLayerNorm, "as layernorm"},
	{"l2norm", classL2Norm, Bound{2, 0}, nil, bindL2Norm, "in fp64, in the order of the axes"},
	{"minmaxnorm", classMinMaxNorm, Bound{2, 0}, nil, bindMinMaxNorm, "in fp64"},
	{"lrn", classLRN, Bound{2, 0}, nil, bindLRN, "a stretch of a row at once, in fp64"},
	{"argminmax-int", classArgMinMax, Bound{}, argumentInts, bindArgument, "indices, in int64"},
	{"argminmax", classArgMinMax, Bound{2, 0}, nil, bindArgument, "with conversion or epilogue"},
	{"globalargminmax-int", classGlobalArgMinMax, Bound{}, argumentInts, bindGlobalArgument, "indices, in int64"},
	{"globalargminmax", classGlobalArgMinMax, Bound{2, 0}, nil, bindGlobalArgument, "with conversion or epilogue"},
	{"sort-move", classSort, Bound{}, rankingMoves, bindRankingMove, "a line at once, in a heap; bytes"},
	{"sort-int", classSort, Bound{}, rankingInts, bindRankingInt, "integers, in int64"},
	{"sort", classSort, Bound{2, 0}, nil, bindRankingFloat, "with conversion or epilogue"},
	{"topk-move", classTopK, Bound{}, rankingMoves, bindRankingMove, "a line at once, in a heap; bytes"},
	{"topk-int", classTopK, Bound{}, rankingInts, bindRankingInt, "integers, in int64"},
	{"topk", classTopK, Bound{2, 0}, nil, bindRankingFloat, "with conversion or epilogue"},
	{"gather-move", classGather, Bound{}, moves, bindGatherMove, "bytes"},
	{"gather-int", classGather, Bound{}, integers, bindGatherInt, "integers, in int64"},
	{"gather", classGather, Bound{2, 0}, nil, bindGather, "with conversion or epilogue"},
	{"copy-move", classCopy, Bound{}, moves, bindMove, "bytes"},
	{"copy-int", classCopy, Bound{}, integers, bindElementWiseInt, "integers, in int64"},
	{"copy", classCopy, Bound{2, 0}, nil, bindElementWise, "with conversion or epilogue"},
	{"input-view-move", classInputView, Bound{}, viewMoves, bindMove, "bytes"},
	{"input-view-int", classInputView, Bound{}, integers, bindElementWiseInt, "integers, in int64"},
	{"input-view", classInputView, Bound{2, 0}, nil, bindElementWise, "with conversion, gain or epilogue"},
	{"scaled-elementwise", classScaledElementWise, Bound{2, 0}, nil, bindScaledElementWise, "in fp64"},
	{"quant", classQuant, Bound{}, nil, bindQuant, "the quotient in fp32, the sum in fp64"},
	{"decode", classDeQuant, Bound{2, 1}, decodes, bindDecode, "table, mask, blocks of one scale; in fp64"},
	{"dequant", classDeQuant, Bound{2, 1}, nil, bindDeQuant, "in fp64"},
	{"ring-write", classRingBufferWriter, Bound{}, nil, bindRingWriter, "bytes; nothing outside the window where the result lies on the state"},
	{"random", classRandomGenerator, Bound{2, 0}, nil, bindRandom, "exact but for the epilogue"},
	{"cross-product", classCrossProduct, Bound{2, 1}, nil, bindCrossProduct, "in fp64"},
	{"cross-correlation", classCrossCorrelation, Bound{2, 256}, nil, bindCrossCorrelation, "as conv"},
	{"cost-volume", classCostVolume, Bound{2, 0}, nil, bindCostVolume, "in fp64"},
	{"furthest-points", classFurthestPointSampling, Bound{2, 0}, nil, bindFurthestPoints, "distances in fp64; exact but for the epilogue"},
	{"radius-search", classRadiusSearch, Bound{2, 0}, nil, bindRadiusSearch, "distances in fp64; exact but for the epilogue"},
	{"attention", classAttention, Bound{2, 1024}, nil, bindAttention, "32 positions over 64 keys at a time, with a running maximum"},
})

// Rows lists the kernels.
func Rows() []Row { return rows }

// Find returns the row that does an operation, nil if none does.
func Find(op *Op) *Row {
	for i := range rows {
		if r := &rows[i]; r.Class == op.Class && (r.Takes == nil || r.Takes(op)) {
			return r
		}
	}
	return nil
}

// Bind binds an operation. Its operands must lie inside their memories and fit
// each other as the class says: what made the operation has checked it.
func Bind(op *Op) (Kernel, error) {
	if op.Rules != nil {
		op = op.ruled()
	}
	r := Find(op)
	if r == nil {
		return nil, fmt.Errorf("no kernel for class %d", op.Class)
	}
	if op.Operands[0].Type.bits() < 8 {
		return nil, fmt.Errorf("a result of %v, whose elements share bytes, cannot be written", op.Operands[0].Type)
	}
	if err := checkSteps(op); err != nil {
		return nil, err
	}
	k, err := r.Bind(op)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", r.Name, err)
	}
	return k, nil
}

// Need is how many numbers of scratch a thread needs.
type Need struct{ Steps, Float, Double, Int, Quads int }

// Max returns what serves both.
func (n Need) Max(m Need) Need {
	return Need{max(n.Steps, m.Steps), max(n.Float, m.Float), max(n.Double, m.Double), max(n.Int, m.Int), max(n.Quads, m.Quads)}
}

// Bytes is the size of the scratch.
func (n Need) Bytes() int64 {
	return 4*(int64(n.Steps)+int64(n.Float)+panelLines*int64(n.Quads)) + 8*(int64(n.Double)+int64(n.Int))
}

// Scratch is the private memory of a thread, and what it works on.
type Scratch struct {
	Memory [][]byte // by base; the caller sets it
	Packed Packed   // what the Packs of the operations have been filled with; the caller sets it

	steps  []float32
	float  []float32
	double []float64
	int    []int64
	quads  []quad

	gemm gemmState
}

// NewScratch makes the scratch of a thread.
func NewScratch(n Need) *Scratch {
	return &Scratch{
		steps: make([]float32, n.Steps), float: make([]float32, n.Float),
		double: make([]float64, n.Double), int: make([]int64, n.Int),
		quads: make([]quad, n.Quads),
	}
}
