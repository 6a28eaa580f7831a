package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// fuseAttention finds attention that is written out. The product of all queries with all keys is then never
// stored.
//
//	%s = anec.matmul(%q, %k) {transpose_rhs = true}
//	%t = anec.multiply(%s, %scale)
//	%m = anec.add(%t, %mask)
//	%p = anec.softmax(%m) {axes = W}
//	%y = anec.matmul(%p, %v)
//
//	%y = anec.sdpa(%q, %k, %v, %scale, %mask) {subtract_max = true}
//
// Scale and mask may be missing. Nobody else may read what is between. A chip's compiler leaves it written out.
func fuseAttention(s *segment.Segment) error {
	if !s.Target.Ways.FindAttention || !slices.ContainsFunc(s.Graph.Layers, func(l *anec.Layer) bool { return l.Kind() == anec.KindSoftmax }) {
		return nil
	}
	f := newFusion(s)
	for _, l := range s.Graph.Order() {
		if l.Kind() == anec.KindMatMul {
			f.attention(l)
		}
	}
	s.Graph.Sweep()
	return f.err
}

// attention makes attention of the second product, if that is what it is.
func (f *fusion) attention(product *anec.Layer) {
	p := product.Params.(*anec.MatMul)
	if p.TransposeX || !product.Epilogue.Empty() {
		return
	}
	softmax := f.plain(product.Bottoms[0], product)
	if softmax == nil || softmax.Kind() != anec.KindSoftmax || softmax.Params.(*anec.Softmax).Axes != td.AxesOf(anec.W) {
		return
	}
	between := []*anec.Layer{softmax}
	scores := softmax.Bottoms[0]
	last := softmax

	var mask *anec.Value
	if sum := f.plain(scores, last); sum != nil && isPair(sum, td.EWAdd) {
		at := 0
		if !f.leadsToProduct(sum.Bottoms[0], sum) {
			at = 1
		}
		mask = sum.Bottoms[1-at]
		scores, last = sum.Bottoms[at], sum
		between = append(between, sum)
	}
	scale := 1.0
	if scaled := f.plain(scores, last); scaled != nil {
		if x, number, ok := scaledBy(scaled); ok {
			scale, scores, last = number, x, scaled
			between = append(between, scaled)
		}
	}
	first := f.plain(scores, last)
	if first == nil || first.Kind() != anec.KindMatMul {
		return
	}
	between = append(between, first)
	q, k, v := first.Bottoms[0], first.Bottoms[1], product.Bottoms[1]
	for _, x := range []*anec.Value{q, k, v} {
		if !x.Type.DType.IsFloat() || f.isOverwritten(x) {
			return
		}
	}
	if mask != nil && (!mask.Type.DType.IsFloat() || first.Top().Type.Dims != softmax.Top().Type.Dims) {
		return
	}
	f.origin = product.Origin
	transposes := first.Params.(*anec.MatMul)
	if transposes.TransposeX {
		q = f.transposed(q, segment.Exchange(anec.H, anec.W))
	}
	if !transposes.TransposeZ {
		k = f.transposed(k, segment.Exchange(anec.H, anec.W))
	}
	if p.TransposeZ {
		v = f.transposed(v, segment.Exchange(anec.H, anec.W))
	}
	factor := f.constant(product.Name+"_scale", anec.ConstantOf(tensor.Of([]float32{float32(scale)}, 1, 1, 1, 1, 1)))
	if f.err != nil {
		return
	}
	err := f.Edit(product, func(l *anec.Layer) {
		l.Params = &anec.SDPA{SubtractMax: true}
		l.Bottoms = []*anec.Value{q, k, v, factor, mask}
		for _, b := range between {
			l.Origin = segment.JoinOrigins(b.Origin, l.Origin)
		}
	})
	if err != nil { // the shapes do not go with the contract
		return
	}
	for _, b := range between {
		f.discard(b)
	}
}

// plain returns the layer that makes a value for one reader alone, and does no more than its kind says.
func (f *fusion) plain(v *anec.Value, reader *anec.Layer) *anec.Layer {
	d := v.Def
	if d == nil || f.gone[d] || !f.readBy(v, reader) || !d.Epilogue.Empty() || d.OutputType != tensor.Invalid {
		return nil
	}
	return d
}

// leadsToProduct reports whether a value is a product of matrices, scaled or not.
func (f *fusion) leadsToProduct(v *anec.Value, reader *anec.Layer) bool {
	d := f.plain(v, reader)
	if d == nil {
		return false
	}
	if x, _, ok := scaledBy(d); ok {
		d = f.plain(x, d)
	}
	return d != nil && d.Kind() == anec.KindMatMul
}

func isPair(l *anec.Layer, k td.EWKind) bool {
	p, ok := l.Params.(*anec.ElementWise)
	return ok && p.Type == k
}

// scaledBy returns what a layer multiplies with a number, and the number.
func scaledBy(l *anec.Layer) (x *anec.Value, number float64, ok bool) {
	switch p := l.Params.(type) {
	case *anec.ElementWise:
		if p.Type != td.EWMult && p.Type != td.EWDiv {
			return nil, 0, false
		}
		for at, v := range l.Bottoms {
			a, constant := segment.ConstantScalar(v)
			x := l.Bottoms[1-at]
			switch {
			case !constant || !x.Type.Same(l.Top().Type):
			case p.Type == td.EWMult:
				return x, float64(a), true
			case at == 1:
				return x, 1 / float64(a), true
			}
		}
	case *anec.GOC:
		return l.Bottoms[0], float64(p.Scale), len(l.Bottoms) == 1 && p.Bias == 0
	}
	return nil, 0, false
}
