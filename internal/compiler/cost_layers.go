package compiler

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// work is what the roofline is held against.
type work struct {
	flops float64
	bytes float64
}

// A costForm is the first stage of the cost model for a kind: how many operations a layer takes. The guide gives that
// of a convolution and says that poolings and elementwise layers have variants of the same form; the model's roofline
// is the same for every operation (guide 18). So a kind has a form if its work follows from its extents. On the M1 the
// array does 361 operations in the time of a byte: but for sums of products the bytes decide, and how many operations
// a normalization counts as does not matter.
type costForm struct {
	flops func(*anec.Layer) float64
	free  bool   // a view: moves nothing and computes nothing
	none  string // why there is no form
}

const (
	whyAttention = "attention has no cost form: it compiles to a segmented plan and must be timed on a device"
	whyData      = "its work depends on the data"
	whyNoTree    = "neither cost model has a form for it"
)

// costForms has a row for each kind; a test ranges over them.
var costForms = map[anec.Kind]costForm{
	// Sums of products.
	anec.KindConv:             {flops: convFLOPs},
	anec.KindCrossCorrelation: {flops: correlationFLOPs},
	anec.KindMatMul:           {flops: matMulFLOPs},
	anec.KindLinear:           {flops: linearFLOPs},

	// Windows.
	anec.KindPooling: {flops: poolingFLOPs},

	// So many operations for each element of the result.
	anec.KindElementWise:       {flops: perResult(1)},
	anec.KindScaledElementWise: {flops: perResult(2)},
	anec.KindNeuron:            {flops: perResult(1)},
	anec.KindNeuronCustom:      {flops: perResult(1)},
	anec.KindGOC:               {flops: perResult(2)},
	anec.KindDynamicGOC:        {flops: perResult(2)},
	anec.KindBatchNorm:         {flops: perResult(2)},
	anec.KindSelect:            {flops: perResult(1)},
	anec.KindTypeCast:          {flops: perResult(1)},
	anec.KindQuant:             {flops: perResult(2)},
	anec.KindDeQuant:           {flops: perResult(2)},
	anec.KindDropout:           {flops: perResult(2)},
	anec.KindCrossProduct:      {flops: perResult(3)},
	anec.KindCostVolume:        {flops: perResult(2)},

	// So many passes over the operand.
	anec.KindReduction:    {flops: perOperand(1)},
	anec.KindSoftmax:      {flops: perOperand(4)}, // largest, exp of the difference, sum, quotient
	anec.KindInstanceNorm: {flops: perOperand(5)}, // mean, difference, square, mean, product
	anec.KindLayerNorm:    {flops: perOperand(5)},
	anec.KindL2Norm:       {flops: perOperand(3)},
	anec.KindMinMaxNorm:   {flops: perOperand(4)},
	anec.KindLRN:          {flops: lrnFLOPs},

	// Weighted means of four neighbours.
	anec.KindResize:          {flops: perResult(8)},
	anec.KindResizeAs:        {flops: perResult(8)},
	anec.KindResample:        {flops: perResult(8)},
	anec.KindAffineTransform: {flops: perResult(8)},
	anec.KindCropResize:      {flops: perResult(8)},

	// Elements change their places.
	anec.KindCopy:             {flops: perResult(0)},
	anec.KindConcat:           {flops: perResult(0)},
	anec.KindTile:             {flops: perResult(0)},
	anec.KindBroadcast:        {flops: perResult(0)},
	anec.KindPadding:          {flops: perResult(0)},
	anec.KindPixelShuffle:     {flops: perResult(0)},
	anec.KindPixelUnshuffle:   {flops: perResult(0)},
	anec.KindSpaceToBatch:     {flops: perResult(0)},
	anec.KindBatchToSpace:     {flops: perResult(0)},
	anec.KindSpaceToChannel:   {flops: perResult(0)},
	anec.KindChannelToSpace:   {flops: perResult(0)},
	anec.KindDynamicSlice:     {flops: perResult(0)},
	anec.KindRingBufferWriter: {flops: perResult(0)},
	anec.KindRingBufferReader: {flops: perResult(0)},
	anec.KindKernelRasterizer: {flops: perResult(0)},

	// Views. Transposes fold into a neighbour (seed compiler, phase 1).
	anec.KindReshape:     {free: true},
	anec.KindFlatten:     {free: true},
	anec.KindUnflatten:   {free: true},
	anec.KindInputView:   {free: true},
	anec.KindTranspose:   {free: true},
	anec.KindAlias:       {free: true},
	anec.KindShape:       {free: true},
	anec.KindPlaneReader: {free: true},
	anec.KindPlaneWriter: {free: true},

	anec.KindSDPA:                  {none: whyAttention},
	anec.KindGather:                {none: whyNoTree},
	anec.KindArgMinMax:             {none: whyNoTree},
	anec.KindGlobalArgMinMax:       {none: whyNoTree},
	anec.KindSort:                  {none: whyData},
	anec.KindTopK:                  {none: whyData},
	anec.KindNMS:                   {none: whyData},
	anec.KindFurthestPointSampling: {none: whyData},
	anec.KindRadiusSearch:          {none: whyNoTree},
	anec.KindRandom:                {none: whyNoTree},
	anec.KindMatrixDecomposition:   {none: whyNoTree},
}

// noCostForm says why the model has no number for a layer; empty if it has one.
func noCostForm(l *anec.Layer) string {
	form := costForms[l.Kind()]
	switch {
	case form.none == whyAttention:
		return whyAttention
	case form.none != "":
		return fmt.Sprintf("%v has no cost form: %s", l.Kind(), form.none)
	case isPartOfAttention(l):
		return whyAttention
	}
	return ""
}

func layerFLOPs(l *anec.Layer) float64 {
	form := costForms[l.Kind()]
	if form.free {
		return 0
	}
	return form.flops(l)
}

// elementCount counts the elements of a value.
func elementCount(v *anec.Value) float64 {
	n := 1.0
	for _, d := range v.Type.Dims {
		n *= float64(d)
	}
	return n
}

func perResult(operations float64) func(*anec.Layer) float64 {
	return func(l *anec.Layer) float64 { return operations * elementCount(l.Top()) }
}

func perOperand(passes float64) func(*anec.Layer) float64 {
	return func(l *anec.Layer) float64 { return passes * elementCount(l.Bottoms[0]) }
}

func lrnFLOPs(l *anec.Layer) float64 {
	return float64(l.Params.(*anec.LRN).Size+3) * elementCount(l.Top())
}

func volume(kernel []int) float64 {
	n := 1.0
	for _, k := range kernel {
		n *= float64(k)
	}
	return n
}

// convFLOPs: each element of the result takes a product for each input channel of its group and each place of the
// kernel; transposed, each element of x makes one for each output channel. Weights that are stored sparse skip the
// products with zero. (An epilogue may change the extents of the top: they are taken from the window.)
func convFLOPs(l *anec.Layer) float64 {
	p := l.Params.(*anec.Conv)
	x, w := l.Bottoms[0].Type.Dims, l.Bottoms[1]
	products := volume(p.Kernel[:]) * float64(w.Type.Dims[anec.C])
	if p.Transposed {
		return 2 * products * elementCount(l.Bottoms[0]) * nonZero(w)
	}
	places := float64(x[anec.N])
	for i, a := range []td.Axis{anec.D, anec.H, anec.W} {
		span := (p.Kernel[i]-1)*p.Dilation[i] + 1
		places *= float64((x[a]+p.PadBefore[i]+p.PadAfter[i]-span)/p.Stride[i] + 1)
	}
	return 2 * products * places * float64(w.Type.Dims[anec.N]) * nonZero(w)
}

// nonZero is the share of weights that a mask selects.
func nonZero(w *anec.Value) float64 {
	if c := w.Const; c != nil && c.Mask != nil && c.Stored != nil && c.Mask.Len() > 0 {
		return float64(c.Stored.Len()) / float64(c.Mask.Len())
	}
	return 1
}

func correlationFLOPs(l *anec.Layer) float64 {
	p := l.Params.(*anec.CrossCorrelation)
	return 2 * elementCount(l.Top()) * volume(p.Template[:]) * float64(l.Bottoms[0].Type.Dims[anec.C]/p.Groups)
}

// contraction is the number of products that each element of a sum of products takes; false for other kinds.
func contraction(l *anec.Layer) (int, bool) {
	switch p := l.Params.(type) {
	case *anec.Conv:
		w := l.Bottoms[1].Type.Dims
		if p.Transposed {
			return w[anec.N] / p.Groups * p.Kernel[0] * p.Kernel[1] * p.Kernel[2], true
		}
		return w[anec.C] * p.Kernel[0] * p.Kernel[1] * p.Kernel[2], true
	case *anec.MatMul:
		if p.TransposeX {
			return l.Bottoms[0].Type.Dims[anec.H], true
		}
		return l.Bottoms[0].Type.Dims[anec.W], true
	case *anec.Linear:
		return l.Bottoms[1].Type.Dims[anec.W], true
	}
	return 0, false
}

// matMulFLOPs takes the extents of the product, not of the top, which an epilogue may broadcast.
func matMulFLOPs(l *anec.Layer) float64 {
	p := l.Params.(*anec.MatMul)
	x, z := l.Bottoms[0].Type.Dims, l.Bottoms[1].Type.Dims
	rows, inner, columns := x[anec.H], x[anec.W], z[anec.W]
	if p.TransposeX {
		rows, inner = inner, rows
	}
	if p.TransposeZ {
		columns = z[anec.H]
	}
	batch := 1.0
	for _, a := range []td.Axis{anec.N, anec.D, anec.C} {
		batch *= float64(max(x[a], z[a]))
	}
	return 2 * batch * float64(rows) * float64(inner) * float64(columns) * nonZero(l.Bottoms[1])
}

func linearFLOPs(l *anec.Layer) float64 {
	return 2 * elementCount(l.Bottoms[0]) * float64(l.Bottoms[1].Type.Dims[anec.H]) * nonZero(l.Bottoms[1])
}

// poolingFLOPs: one for each element under the window, all channels for the kinds that pool them.
func poolingFLOPs(l *anec.Layer) float64 {
	p := l.Params.(*anec.Pooling)
	n := elementCount(l.Top()) * volume(p.Kernel[:])
	if x, y := l.Bottoms[0].Type.Dims[anec.C], l.Top().Type.Dims[anec.C]; x > y && y > 0 {
		n *= float64(x) / float64(y)
	}
	return n
}

// layerBytes are the operand bytes of a layer: what it reads and makes, each value once. With a residency, those that
// stay on chip do not count.
func layerBytes(l *anec.Layer, t *hal.Target, r *residency) float64 {
	if costForms[l.Kind()].free {
		return 0
	}
	switch l.Kind() {
	case anec.KindRingBufferWriter: // in place: only the update moves
		return 2 * valueBytes(l.Bottoms[1])
	case anec.KindRingBufferReader:
		return 2 * valueBytes(l.Top())
	}
	sum := 0.0
	reads := l.Reads()
	for i, v := range reads {
		if slices.Contains(reads[:i], v) || r.isOnChip(v) {
			continue
		}
		switch {
		case v == segment.WeightBottom(l):
			sum += kernelBytes(l, t)
		case v.Const != nil && !slices.Contains(l.Bottoms, v): // gains, offsets, scales of the epilogue
		default:
			sum += valueBytes(v)
		}
	}
	for _, v := range l.Tops {
		if !r.isOnChip(v) {
			sum += valueBytes(v)
		}
	}
	return sum
}

// valueBytes is what a value takes on the engine.
func valueBytes(v *anec.Value) float64 { return denseBytes(v.Type.DType, elementCount(v)) }

// denseBytes is the size of so many elements on the engine: floats are fp16 there, whatever the model says.
func denseBytes(d tensor.DType, n float64) float64 {
	bits := d.Bits()
	if d.IsFloat() {
		bits = min(bits, 16)
	}
	return n * float64(bits) / 8
}

// residency knows which values of a graph never leave the chip.
type residency struct {
	limit  float64              // bytes of the working set; 0: not known
	inside map[*anec.Value]bool // made and read in the graph
	atLoad map[*anec.Layer]bool // layers fed by constants alone, which run once, when the program is loaded
}

func newResidency(g *anec.Graph, t *hal.Target) *residency {
	r := &residency{limit: float64(t.Limits.WorkingSet), inside: map[*anec.Value]bool{}, atLoad: map[*anec.Layer]bool{}}
	outside := map[*anec.Value]bool{}
	for _, v := range g.Outputs {
		outside[v] = true
	}
	for _, s := range g.States {
		outside[s.Before], outside[s.After] = true, true
	}
	for _, l := range g.Order() {
		known := len(l.Reads()) > 0
		for _, v := range l.Reads() {
			known = known && (v.Const != nil || v.Def != nil && r.atLoad[v.Def])
		}
		r.atLoad[l] = known
		view := costForms[l.Kind()].free
		for _, v := range l.Tops {
			// A view lies where its operand lies.
			if !outside[v] && !known && (!view || r.inside[l.Bottoms[0]]) {
				r.inside[v] = true
			}
		}
	}
	return r
}

func (r *residency) isOnChip(v *anec.Value) bool {
	return r != nil && r.inside[v] && r.limit > 0 && valueBytes(v) <= r.limit
}
