// Package strided has the operations on strided operands, of tasks of any version:
// the classes of td.Op, on operands of any element type (Bind), and those of the
// array and the planar engine (BindUnit). Products of matrices are made by the
// micro-kernels of package gemm, whose rows say all that depends on them.
//
// An operation is bound once, which fixes its loops, its scratch and its
// epilogue, and then run many times on the memory of its caller. A bound
// operation is cut into tiles that do not depend on each other; Run computes a
// range of them, never allocates and never starts a goroutine. Every element of
// a result is computed by one tile, and in an order that depends on lengths and
// the micro-kernel alone: the same bits come out however the tiles are handed out.
//
// Between loading and storing, a value is a float32; where everything is
// integer, an int64. It is rounded to the element type of the result when it is
// stored, once.
//
// Classes, their fields, functions and element types are those of package td;
// what a chip does to numbers is in its numerics, of package hal. Of registers,
// and of where an operation comes from, the package knows nothing.
package strided

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/attention"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/matvec"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// An Op is an operation to be bound: one of td, with its operands in their
// places.
type Op struct {
	Params   td.Params // fields of the class; their type says the class
	Operands []Operand
	Epilogue []td.MicroOp
	Packs    *Packs    // where to have constant operands packed; nil: nowhere
	Rules    *Rules    // of a chip; nil: plain arithmetic
	Gemm     *gemm.Row // the micro-kernel of products; nil: one that suits them
}

// anyLines stands for a number of lines that must not matter: a row of a batch, and
// a place of a picture, have the same bits alone and among others.
const anyLines = maxLines

// gemmRow is the micro-kernel for sums of n products, in so many rows and columns,
// of the operands 1 and 2.
func (op *Op) gemmRow(rows, cols, n int) *gemm.Row {
	if op.Gemm != nil {
		return op.Gemm
	}
	row := gemm.For(rows, cols, n)
	for _, o := range op.Operands[1:3] {
		if o.Type == tensor.Float32 || o.Type == tensor.Float64 {
			return row.ForFloats()
		}
	}
	return row
}

// plain reports whether an operation knows no rules.
func plain(op *Op) bool { return op.Rules == nil }

func (op *Op) class() td.Class { return td.ClassOf(op.Params) }

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
	Class td.Class

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
	{"conv-transposed", td.ClassConv, Bound{2, 256}, isTransposed, bindTransposedConv, "as conv, for the places that meet the same taps"},
	{"conv-channelwise", td.ClassConv, Bound{2, 256}, isChannelwise, bindChannelwise, "each channel by itself, by a micro-kernel; its products in the order of the taps"},
	{"conv-one-place", td.ClassConv, Bound{2, 256}, isOnePlace, bindOnePlace, "as matmul-few: the weights as they lie"},
	{"conv-pointwise", td.ClassConv, Bound{2, 256}, isPointwise, bindPointwise, "as conv, of x as it lies"},
	{"conv-transformed", td.ClassConv, Bound{2, 256}, isTransformed, bindTransformed, "3×3 in tiles of 4×4 or 2×2 places with fewer products; the bound is for values of one size, see package transform"},
	{"conv", td.ClassConv, Bound{2, 256}, nil, bindConv, "tiles of channels and places, by a micro-kernel"},
	{"pool-max", td.ClassPooling, Bound{}, poolsMax, bindPoolMax, "fp16 numbers, a band of rows of a channel at once"},
	{"pool", td.ClassPooling, Bound{2, 0}, nil, bindPool, "a row of windows at once, summed in fp64"},
	{"select-move", td.ClassElementWise, Bound{}, selectsBytes, bindSelectMove, "bytes"},
	{"select-int", td.ClassElementWise, Bound{}, selectsInts, bindSelectInt, "integers, in int64"},
	{"select", td.ClassElementWise, Bound{2, 0}, selects, bindSelect, "with conversion or epilogue"},
	{"elementwise-int", td.ClassElementWise, Bound{}, integers, bindElementWiseInt, "integers, in int64"},
	{"elementwise", td.ClassElementWise, Bound{2, 0}, nil, bindElementWise, "a stretch of a row at once"},
	{"matmul-few", td.ClassMatrixMultiplication, Bound{2, 256}, isFewRows, bindFewRows, "up to four rows, with a matrix of fp16 numbers as it lies"},
	{"matmul", td.ClassMatrixMultiplication, Bound{2, 256}, nil, bindMatMul, "as conv"},
	{"reduction-int", td.ClassReduction, Bound{}, integers, bindReductionInt, "integers, in int64"},
	{"reduction", td.ClassReduction, Bound{2, 0}, nil, bindReduction, "in fp64, in the order of the axes"},
	{"softmax", td.ClassSoftmax, Bound{2, 0}, nil, bindSoftmax, "a line at once, exp and sum in fp64"},
	{"layernorm-rows", td.ClassLayerNormalization, Bound{8, 1}, isStandard, bindStandardRows, "rows of fp16 numbers: mean, then variance, in fp64"},
	{"layernorm", td.ClassLayerNormalization, Bound{2, 1}, nil, bindLayerNorm, "mean, then variance, in fp64"},
	{"instancenorm", td.ClassInstanceNormalization, Bound{2, 1}, nil, bindLayerNorm, "as layernorm"},
	{"l2norm", td.ClassL2Normalization, Bound{2, 0}, nil, bindL2Norm, "in fp64, in the order of the axes"},
	{"minmaxnorm", td.ClassMinMaxNormalization, Bound{2, 0}, nil, bindMinMaxNorm, "in fp64"},
	{"lrn", td.ClassLocalResponseNormalization, Bound{2, 0}, nil, bindLRN, "a stretch of a row at once, in fp64"},
	{"argminmax-int", td.ClassArgMinMax, Bound{}, argumentInts, bindArgument, "indices, in int64"},
	{"argminmax", td.ClassArgMinMax, Bound{2, 0}, nil, bindArgument, "with conversion or epilogue"},
	{"globalargminmax-int", td.ClassGlobalArgMinMax, Bound{}, argumentInts, bindGlobalArgument, "indices, in int64"},
	{"globalargminmax", td.ClassGlobalArgMinMax, Bound{2, 0}, nil, bindGlobalArgument, "with conversion or epilogue"},
	{"sort-move", td.ClassSort, Bound{}, rankingMoves, bindRankingMove, "a line at once, in a heap; bytes"},
	{"sort-int", td.ClassSort, Bound{}, rankingInts, bindRankingInt, "integers, in int64"},
	{"sort", td.ClassSort, Bound{2, 0}, nil, bindRankingFloat, "with conversion or epilogue"},
	{"topk-move", td.ClassTopK, Bound{}, rankingMoves, bindRankingMove, "a line at once, in a heap; bytes"},
	{"topk-int", td.ClassTopK, Bound{}, rankingInts, bindRankingInt, "integers, in int64"},
	{"topk", td.ClassTopK, Bound{2, 0}, nil, bindRankingFloat, "with conversion or epilogue"},
	{"gather-move", td.ClassGather, Bound{}, moves, bindGatherMove, "bytes"},
	{"gather-int", td.ClassGather, Bound{}, integers, bindGatherInt, "integers, in int64"},
	{"gather", td.ClassGather, Bound{2, 0}, nil, bindGather, "with conversion or epilogue"},
	{"copy-move", td.ClassNEBypass, Bound{}, moves, bindMove, "bytes"},
	{"copy-int", td.ClassNEBypass, Bound{}, integers, bindElementWiseInt, "integers, in int64"},
	{"copy", td.ClassNEBypass, Bound{2, 0}, nil, bindElementWise, "with conversion or epilogue"},
	{"input-view-move", td.ClassInputView, Bound{}, viewMoves, bindMove, "bytes"},
	{"input-view-int", td.ClassInputView, Bound{}, integers, bindElementWiseInt, "integers, in int64"},
	{"input-view", td.ClassInputView, Bound{2, 0}, nil, bindElementWise, "with conversion, gain or epilogue"},
	{"scaled-elementwise", td.ClassScaledElementWise, Bound{2, 0}, nil, bindScaledElementWise, "in fp64"},
	{"quant", td.ClassQuant, Bound{}, nil, bindQuant, "the quotient in fp32, the sum in fp64"},
	{"decode", td.ClassDeQuant, Bound{2, 1}, decodes, bindDecode, "table, mask, blocks of one scale; in fp64"},
	{"dequant", td.ClassDeQuant, Bound{2, 1}, nil, bindDeQuant, "in fp64"},
	{"ring-write", td.ClassRingBufferWriter, Bound{}, nil, bindRingWriter, "bytes; nothing outside the window where the result lies on the state"},
	{"neuron-custom", td.ClassNeuronCustom, Bound{2, 24}, nil, bindNeuronCustom, "between knots, in fp32, of which a position among the knots has 20 bits behind the point"},
	{"random", td.ClassRandomGenerator, Bound{2, 0}, nil, bindRandom, "exact but for the epilogue"},
	{"cross-product", td.ClassCrossProduct, Bound{2, 1}, nil, bindCrossProduct, "in fp64"},
	{"cross-correlation", td.ClassCrossCorrelation, Bound{2, 256}, nil, bindCrossCorrelation, "as conv"},
	{"cost-volume", td.ClassCostVolume, Bound{2, 0}, nil, bindCostVolume, "in fp64"},
	{"furthest-points", td.ClassFurthestPointSampling, Bound{2, 0}, nil, bindFurthestPoints, "distances in fp64; exact but for the epilogue"},
	{"radius-search", td.ClassRadiusSearch, Bound{2, 0}, nil, bindRadiusSearch, "distances in fp64; exact but for the epilogue"},
	{"attention-tiles", td.ClassSDPA, Bound{2, 1024}, tilesAttention, bindAttentionTiles, "the same, by products of fp16 numbers"},
	{"attention", td.ClassSDPA, Bound{2, 1024}, plain, bindAttentionBlocks, "32 positions over 256 keys at a time, with a running maximum"},
	{"attention-ruled", td.ClassSDPA, Bound{2, 1024}, nil, bindAttention, "32 positions over 64 keys at a time, by the rules of a chip"},
})

// Rows lists the kernels.
func Rows() []Row { return rows }

// Find returns the row that does an operation, nil if none does.
func Find(op *Op) *Row {
	class := op.class()
	for i := range rows {
		if r := &rows[i]; r.Class == class && (r.Takes == nil || r.Takes(op)) {
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
		return nil, fmt.Errorf("no kernel for %v", op.class())
	}
	if op.Operands[0].Type.SubByte() {
		return nil, fmt.Errorf("a result of %v, whose elements share bytes, cannot be written", op.Operands[0].Type)
	}
	if err := checkEpilogue(op); err != nil {
		return nil, err
	}
	k, err := r.Bind(op)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", r.Name, err)
	}
	return k, nil
}

// ReadsOrigin reports whether a kernel reads what operand 2 was made of, and not
// the operand itself.
func ReadsOrigin(k Kernel) bool {
	switch k := k.(type) {
	case *fewRows:
		return k.coded != nil
	case *convolution:
		return k.coded != nil
	case *matmul:
		return k.coded != nil
	}
	return false
}

// ReadsPacked reports whether a kernel reads operand 2 in panels only, so that the
// operand itself is of no use once these are filled.
func ReadsPacked(k Kernel) bool {
	switch k := k.(type) {
	case *convolution:
		return k.left.packed.there && k.other == nil && k.careful == nil
	case *matmul:
		return k.right.packed.there && k.other == nil && k.careful == nil
	}
	return false
}

// Need is how many numbers of scratch a thread needs, how many bytes, and how many
// states of attention.
type Need struct{ Steps, Float, Double, Int, Panels, Decoded, States int }

// Max returns what serves both.
func (n Need) Max(m Need) Need {
	return Need{
		max(n.Steps, m.Steps), max(n.Float, m.Float), max(n.Double, m.Double), max(n.Int, m.Int), max(n.Panels, m.Panels),
		max(n.Decoded, m.Decoded), max(n.States, m.States),
	}
}

// Bytes is the size of the scratch.
func (n Need) Bytes() int64 {
	const state = int64(unsafe.Sizeof(attention.State{}))
	return 4*(int64(n.Steps)+int64(n.Float)+int64(n.Panels)) + 8*(int64(n.Double)+int64(n.Int)) + int64(n.Decoded) + state*int64(n.States)
}

// Scratch is the private memory of a thread, and what it works on.
type Scratch struct {
	Memory [][]byte // by base; the caller sets it
	Packed Packed   // what the Packs of the operations have been filled with; the caller sets it
	Dense  *Buffers // of operations of the units; the caller sets it

	// Weights are those of operations of the units, by their numbers, where a run has
	// others than the operations were bound with; nil: it has none. The caller sets it.
	Weights []*Weights

	// Stop reports whether the run is to end. A kernel may then leave a tile undone,
	// or write anything to its place in the result: see Stopped. Nil never does. The
	// caller sets it, but not for a result that lies over what it is made of: what is
	// half done there could not be done again.
	Stop func() bool

	steps   []float32
	float   []float32
	double  []float64
	int     []int64
	panels  []float32
	decoded []byte
	states  []attention.State

	gemm      gemmState
	keys      heldKeys
	keysRow   *gemm.Row // that multiplies them
	finish    vec.Finish
	leave     vec.Leave
	planar    vec.Planar
	flushed   bool // of a convolution of the units: what is packed lies in the scratch
	rows      half.Rows
	few       matvec.Product // that is computed, of few rows
	fewStage  matvec.Stage
	coded     codedState
	transform transformState

	task    uint64 // see Begin
	asks    int    // of stop
	stopped bool   // the last answer
}

// stop is for loops inside of a tile that a program can make long: those over
// all that a result is made of. It costs next to nothing for each row.
func (w *Scratch) stop() bool {
	if w.asks++; w.asks%asksBetween != 0 && !w.stopped {
		return false
	}
	w.stopped = w.Stop != nil && w.Stop()
	return w.stopped
}

// asksBetween is how many rows, of up to chunk elements, lie between two
// questions.
const asksBetween = 32

// Stopped reports whether a kernel has left something undone since the last call: then
// the tiles that it ran are to be run again.
func (w *Scratch) Stopped() bool {
	was := w.stopped
	w.stopped = false
	return was
}

// NewScratch makes the scratch of a thread.
func NewScratch(n Need) *Scratch {
	w := new(Scratch)
	w.Grow(n)
	return w
}

// Begin comes before calls of Run, with a number that the caller gives each time that
// the tiles of a kernel are computed, and that no other time has: what the scratch
// holds of operands is kept from one call of Run to the next with the same number. 0,
// and a scratch that was never told, keeps nothing.
func (w *Scratch) Begin(task uint64) {
	if w.task != task {
		w.task = task
		w.forget()
	}
}

// begins is for kernels that keep something, as they begin to run.
func (w *Scratch) begins() {
	if w.task == 0 {
		w.forget()
	}
}

// forget forgets all that the scratch holds of operands.
func (w *Scratch) forget() {
	for i := range w.gemm.strips {
		w.gemm.strips[i].of = nil
	}
	w.gemm.held.of, w.gemm.placed.of = nil, nil
	w.keys.of, w.transform.of, w.coded.of = nil, nil, nil
}

// Grow makes the scratch large enough for another need.
func (w *Scratch) Grow(n Need) {
	grow(&w.steps, n.Steps)
	grow(&w.float, n.Float)
	grow(&w.double, n.Double)
	grow(&w.int, n.Int)
	grow(&w.panels, n.Panels)
	grow(&w.decoded, n.Decoded)
	grow(&w.states, n.States)
}

// grow replaces a buffer that is too short. What was in it is of no use to anybody.
func grow[T any](buf *[]T, n int) {
	if len(*buf) < n {
		*buf = make([]T, n)
	}
}
