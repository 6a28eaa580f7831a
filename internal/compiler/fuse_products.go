package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// fuseProducts writes products with a constant matrix as convolutions, where the target's compiler does and the matrix
// fits the working set as fp16. What is multiplied goes to the channels and comes back from there, so that bias and
// activation find the slots of a convolution; between two products the transposes cancel.
//
//	%y = anec.linear(%x, %w, %b) : fp16[1,1,1,8,4]                  %w [1,1,1,4,16]
//
//	%t = anec.transpose(%x) {perm = [N, D, W, H, C]} : fp16[1,1,16,8,1]
//	%c = anec.convolution(%t, %k, %o) : fp16[1,1,4,8,1]                    %k [4,1,16,1,1], the same memory
//	%y = anec.transpose(%c) {perm = [N, D, W, H, C]} : fp16[1,1,1,8,4]
//
// Rows that the target has no axis for, once they are where the channels were, go in parts (guide 35, SliceMatMulAlongHeight).
// A larger matrix stays a product, which is tiled. So does one of a single input where the numbers would differ
// (docs/numerics.md, saturate-at-port).
func fuseProducts(s *segment.Segment) error {
	if !s.Target.Ways.MatmulAsConv {
		return nil
	}
	p := products{newFusion(s), map[toChannels]*anec.Value{}}
	for _, l := range s.Graph.Order() {
		if l.Kind() == anec.KindLinear || l.Kind() == anec.KindMatMul {
			p.rewrite(l)
		}
	}
	p.mergeConstants()
	s.Graph.Sweep()
	return p.err
}

// products is the pass at work. Products of one value share its transpose.
type products struct {
	*fusion
	exchanged map[toChannels]*anec.Value
}

// toChannels is a value with an axis exchanged for the channels.
type toChannels struct {
	value *anec.Value
	axis  td.Axis
}

func (f *products) rewrite(l *anec.Layer) {
	x, w := l.Bottoms[0], l.Bottoms[1]
	if w.Const == nil || !x.Type.DType.IsFloat() || !l.Epilogue.Empty() || l.OutputType != tensor.Invalid {
		return
	}
	d := w.Type.Dims
	if d[anec.N]*d[anec.D]*d[anec.C] != 1 || 2*d[anec.H]*d[anec.W] > f.target.Limits.WorkingSet {
		return
	}
	axis, rowsAreOutputs := anec.W, true
	f.origin = l.Origin
	switch p := l.Params.(type) {
	case *anec.Linear:
		axis = p.Axis
	case *anec.MatMul:
		rowsAreOutputs = p.TransposeZ
		if p.TransposeX {
			axis = anec.H // rows are where columns would be, and the result has them along H still
		}
	}
	if axis < anec.C {
		return
	}
	kernel, ok := kernelOf(w.Const, rowsAreOutputs)
	if !ok || kernel.Dims[anec.C] == 1 && f.target.Numerics.SaturateAtPort != 0 {
		return // of one input: the array's port cuts a product off, and lets a convolution pass
	}
	if longest := f.target.Limits.Tensor[axis]; x.Type.Dims[anec.C] > longest {
		f.split(l, longest)
		return
	}
	exchange := segment.Exchange(anec.C, axis)
	back := exchange
	if m, ok := l.Params.(*anec.MatMul); ok && m.TransposeX { // [C,H,W] = [c,k,r] → [k,c,r] → [o,c,r] → [c,r,o]
		back = anec.Perm{anec.N, anec.D, anec.H, anec.W, anec.C}
	}
	if made := exchange.Apply(x.Type.Dims).With(anec.C, kernel.Dims[anec.N]); !f.takesTranspose(x.Type.Dims, exchange) || !f.takesTranspose(made, back) {
		return
	}
	k := f.constant(w.Name, kernel)
	in := f.exchanged[toChannels{x, axis}]
	if in == nil {
		in = f.transposed(x, exchange)
		f.exchanged[toChannels{x, axis}] = in
	}
	var bias *anec.Value
	if b := segment.Bottom(l, 2); b != nil {
		bias = f.reshaped(b, anec.Dims{1, 1, 1, 1, 1}.With(anec.C, kernel.Dims[anec.N]))
	}
	conv := &anec.Conv{Window: anec.UnitWindow, Groups: 1, PaddingMode: td.PadZero}
	if back == anec.Identity {
		f.check(f.Edit(l, func(l *anec.Layer) { l.Params, l.Bottoms = conv, []*anec.Value{in, k, bias} }))
		return
	}
	b := anec.Builder{Graph: f.Graph, Origin: l.Origin}
	y := b.Layer(l.Name+"_conv", conv, in, k, bias)
	if f.check(b.Err()); f.err != nil {
		return
	}
	f.check(f.Edit(l, func(l *anec.Layer) { l.Params, l.Bottoms = &anec.Transpose{Perm: back}, []*anec.Value{y} }))
}

// split makes products of a product, each with some of the channels, and rewrites them.
func (f *products) split(l *anec.Layer, longest int) {
	x := l.Bottoms[0]
	b := anec.Builder{Graph: f.Graph, Origin: l.Origin}
	var parts []*anec.Value
	for _, s := range spansOf(x.Type.Dims[anec.C], longest) {
		rows := b.Layer(x.Name, &anec.InputView{Axis: anec.C, Offset: s.begin, Size: s.size, Step: 1}, x)
		parts = append(parts, b.Layer(l.Name, l.Params, append([]*anec.Value{rows}, l.Bottoms[1:]...)...))
	}
	if f.check(b.Err()); f.err != nil {
		return
	}
	f.check(f.Edit(l, func(l *anec.Layer) { l.Params, l.Bottoms = &anec.Concat{Axis: anec.C}, parts }))
	for _, y := range parts {
		f.rewrite(y.Def)
	}
}

// takesTranspose reports whether the target takes a transpose, be it that it only reshapes.
func (f *products) takesTranspose(from anec.Dims, p anec.Perm) bool {
	to := p.Apply(from)
	l := &anec.Layer{Params: &anec.Transpose{Perm: p}}
	if segment.OnlyReshapes(p, from) {
		l.Params = &anec.Reshape{Dims: to}
	}
	l.Bottoms = []*anec.Value{{Type: anec.TypeOf(tensor.Float16, from[:]...)}}
	l.Tops = []*anec.Value{{Type: anec.TypeOf(tensor.Float16, to[:]...)}}
	return p == anec.Identity || anec.Validate(l, f.target) == nil
}

// kernelOf is a matrix, along H and W, as the kernel of a convolution of one element: outputs along N, inputs along C. With
// the outputs along the rows it is the same memory, in whatever form it is stored; else a copy, of plain elements only.
func kernelOf(c *anec.Constant, rowsAreOutputs bool) (*anec.Constant, bool) {
	if !rowsAreOutputs {
		if !c.Plain() {
			return nil, false
		}
		t, err := c.Stored.Transpose(int(anec.W), int(anec.N), int(anec.H), int(anec.D), int(anec.C))
		if err != nil {
			return nil, false
		}
		k := anec.ConstantOf(t.Dense())
		k.Mutable = c.Mutable
		return k, true
	}
	k := *c
	k.Dims = anec.Dims{c.Dims[anec.H], 1, c.Dims[anec.W], 1, 1}
	ok := true
	move := func(t *tensor.Tensor) *tensor.Tensor {
		if t == nil || t.Rank() < anec.NumAxes {
			return t
		}
		s := t.Shape()
		m, err := t.Reshape(slices.Concat([]int{s[anec.H], 1, s[anec.W], 1, 1}, s[anec.NumAxes:])...)
		ok = ok && err == nil
		return m
	}
	k.Stored, k.Mask, k.Scale, k.Offset = move(c.Stored), move(c.Mask), move(c.Scale), move(c.Offset)
	if p := c.Palette; p != nil {
		q := anec.Palette{Table: move(p.Table), Scale: move(p.Scale), Offset: move(p.Offset), VectorAxis: p.VectorAxis}
		switch p.VectorAxis {
		case anec.H:
			q.VectorAxis = anec.N
		case anec.W:
			q.VectorAxis = anec.C
		default:
			ok = ok && p.Table.Shape()[anec.NumAxes+1] == 1
		}
		k.Palette = &q
	}
	return &k, ok
}
