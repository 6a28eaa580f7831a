package compiler

import (
	"math"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/estimate"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// fuseGains writes scales as gains of the values they end in, so that weights stay as the file has them.
//
// A batch normalization by constants is a gain and an offset for each channel, computed in fp64:
//
//	%y = anec.batch_norm(%x, %mean, %variance, %gamma, %beta) {epsilon = 1e-05}
//
//	%y = anec.gain_offset_control(%x, %y_gain, %y_offset)
//
// Quantized weights with one scale for each output channel, and no offset, stay integers:
//
//	const %w : fp16[64,1,3,7,7] {data = int8[64,1,3,7,7]:…, scale = fp16[64,1,1,1,1]:…}
//	%y = anec.convolution(%x, %w, %b)
//
//	const %w_1 : int8[64,1,3,7,7] {data = …}
//	%y = anec.convolution(%x, %w_1) | goc %w_scale %b
//
// Where the target would fold such weights, they stay a constant that is decoded.
func fuseGains(s *segment.Segment) error {
	f := newFusion(s)
	for _, l := range s.Graph.Order() {
		switch l.Kind() {
		case anec.KindBatchNorm:
			f.gainOfBatchNorm(l)
		case anec.KindConv, anec.KindLinear, anec.KindMatMul:
			f.gainOfWeights(l)
		}
	}
	s.Graph.Sweep()
	return f.err
}

func (f *fusion) gainOfBatchNorm(l *anec.Layer) {
	n := l.Bottoms[0].Type.Dims[anec.C]
	numbers := func(i int, missing float64) []float64 {
		v := segment.Bottom(l, i)
		if v == nil {
			return slices.Repeat([]float64{missing}, n)
		}
		if v.Const == nil || !v.Const.Plain() || v.Const.Mutable {
			return nil
		}
		return v.Const.Stored.Float64s()
	}
	mean, variance, gamma, beta := numbers(1, 0), numbers(2, 1), numbers(3, 1), numbers(4, 0)
	if mean == nil || variance == nil || gamma == nil || beta == nil {
		return
	}
	gain, offset := make([]float32, n), make([]float32, n)
	epsilon := float64(l.Params.(*anec.BatchNorm).Epsilon)
	for c := range n {
		g := gamma[c] / math.Sqrt(variance[c]+epsilon)
		gain[c], offset[c] = float32(g), float32(beta[c]-mean[c]*g)
	}
	scale := f.constant(l.Name+"_gain", anec.ConstantOf(tensor.Of(gain, 1, 1, n, 1, 1)))
	bias := f.constant(l.Name+"_offset", anec.ConstantOf(tensor.Of(offset, 1, 1, n, 1, 1)))
	if f.err != nil {
		return
	}
	f.check(f.Edit(l, func(l *anec.Layer) {
		l.Params, l.Bottoms = &anec.GOC{Scale: 1}, []*anec.Value{l.Bottoms[0], scale, bias}
	}))
}

// outputAxes says along which axis of its weights a layer has its outputs, and along which axis of its result.
func outputAxes(l *anec.Layer) (weights, result td.Axis, ok bool) {
	switch p := l.Params.(type) {
	case *anec.Conv:
		return anec.N, anec.C, !p.Transposed
	case *anec.Linear:
		return anec.H, p.Axis, true
	case *anec.MatMul:
		if p.TransposeZ {
			return anec.H, anec.W, true
		}
		return anec.W, anec.W, true
	}
	return 0, 0, false
}

func (f *fusion) gainOfWeights(l *anec.Layer) {
	from, to, ok := outputAxes(l)
	w := l.Bottoms[1]
	if !ok || !l.Epilogue.Empty() || !isExact(l.Top().Type.DType) || f.folds(w) {
		return
	}
	stored, scale, ok := f.quantized(w)
	if !ok {
		return
	}
	n := l.Top().Type.Dims[to]
	perOutput := anec.Dims{1, 1, 1, 1, 1}.With(from, n)
	dims := scale.Dims
	if dims != perOutput && dims != (anec.Dims{1, 1, 1, 1, 1}) {
		return
	}
	gainDims := anec.Dims{1, 1, 1, 1, 1}.With(to, dims[from])
	gainConstant, ok := reshapedConstant(scale, gainDims)
	if !ok {
		return
	}
	weights := f.constant(w.Name, stored)
	gain := f.constant(w.Name+"_scale", gainConstant)
	if f.err != nil {
		return
	}
	f.check(f.Edit(l, func(l *anec.Layer) {
		bias := segment.Bottom(l, 2)
		l.Bottoms = []*anec.Value{l.Bottoms[0], weights}
		if to == anec.C {
			l.Epilogue.GOC = &anec.GainOffset{Gain: gain, Offset: bias}
			return
		}
		l.Epilogue.Steps = []anec.Step{{Code: td.MicroEW, EW: td.EWMult, Operand: gain}}
		if bias != nil {
			l.Epilogue.Steps = append(l.Epilogue.Steps, anec.Step{Code: td.MicroEW, EW: td.EWAdd, Operand: bias})
		}
	}))
}

// folds reports whether the target's compiler makes weights dense before they are multiplied, because they do not stream.
func (f *fusion) folds(w *anec.Value) bool {
	streams, _ := estimate.WeightOf(w).Streams(f.target)
	return f.target.Ways.FoldWeights && !streams
}

// quantized returns weights of eight bits that have a scale and no offset, and the scale. They are a constant that
// is stored so, or what a DeQuant makes of constants.
func (f *fusion) quantized(w *anec.Value) (stored, scale *anec.Constant, ok bool) {
	if c := w.Const; c != nil {
		if c.Mask != nil || c.Palette != nil || c.Scale == nil || !isZero(c.Offset) {
			return nil, nil, false
		}
		stored, scale = anec.ConstantOf(c.Stored), anec.ConstantOf(c.Scale)
		stored.Source = c.Source
	} else if d := w.Def; d != nil && d.Kind() == anec.KindDeQuant && d.Epilogue.Empty() {
		if segment.Bottom(d, 1) == nil || segment.Bottom(d, 3) != nil || segment.Bottom(d, 4) != nil { // a table or a mask
			return nil, nil, false
		}
		stored, scale = d.Bottoms[0].Const, d.Bottoms[1].Const
		if zero := segment.Bottom(d, 2); zero != nil && (zero.Const == nil || !zero.Const.Plain() || !isZero(zero.Const.Stored)) {
			return nil, nil, false
		}
	}
	if stored == nil || scale == nil || !stored.Plain() || !scale.Plain() {
		return nil, nil, false
	}
	return stored, scale, stored.DType == tensor.Int8 || stored.DType == tensor.UInt8
}

func isZero(t *tensor.Tensor) bool {
	return t == nil || !slices.ContainsFunc(t.Float64s(), func(x float64) bool { return x != 0 })
}
