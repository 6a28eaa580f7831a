package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// moveBeforeViews moves an elementwise layer to the other side of reshapes and transposes, into the layer before
// them. What else it reads takes the way back.
//
//	%a = anec.convolution(%x, %w)
//	%v = anec.reshape(%a) : fp16[1,1,1,16,49]
//	%y = anec.add(%v, %b)
//
//	%a = anec.convolution(%x, %w) | ew Add %b_view
//	%y = anec.reshape(%a) : fp16[1,1,1,16,49]
//
// The layer becomes the last of the views, so that what it makes keeps its name.
func (f *fusion) moveBeforeViews(e *anec.Layer, s script) bool {
	if s.quant != nil || e.Epilogue.Transpose != nil {
		return false
	}
	for _, v := range e.Reads() {
		views, p := f.viewsBefore(v, e)
		if p == nil || v.Type.Dims != s.dims {
			continue
		}
		if f.moveBefore(views, p, e, s, v) {
			return true
		}
	}
	return false
}

// viewsBefore returns the views that a value has come through, the last first, and the layer before them; nil if
// there are none, or if anybody else reads what is between.
func (f *fusion) viewsBefore(v *anec.Value, reader *anec.Layer) (views []*anec.Layer, p *anec.Layer) {
	for {
		l := v.Def
		if l == nil || f.gone[l] || !f.readBy(v, reader) {
			return nil, nil
		}
		if !isMove(l) {
			if len(views) == 0 || !f.takesSteps(l) || !f.canDelay(l) {
				return nil, nil
			}
			return views, l
		}
		views = append(views, l)
		v, reader = l.Bottoms[0], l
	}
}

// isMove reports whether a layer gives elements other places, all of them, and does no more.
func isMove(l *anec.Layer) bool {
	return (l.Kind() == anec.KindReshape || l.Kind() == anec.KindTranspose) && l.Epilogue.Empty() &&
		l.Top().Type.DType == l.Bottoms[0].Type.DType
}

func (f *fusion) moveBefore(views []*anec.Layer, p, e *anec.Layer, s script, v *anec.Value) bool {
	// Each operand other than v has a stand-in until it is certain that the layer moves.
	var operands []*anec.Value
	other := map[*anec.Value]*anec.Value{}
	for i := range s.steps {
		o := s.steps[i].Operand
		if o == nil || o == v || other[o] != nil {
			continue
		}
		dims, ok := canGoBack(o, views)
		if !ok {
			return false
		}
		operands = append(operands, o)
		standIn := &anec.Value{Type: o.Type}
		standIn.Type.Dims = dims
		if o.Const != nil && o.Const.Plain() { // else it becomes a view
			standIn.Const = o.Const
		}
		other[o] = standIn
	}
	m := f.basis(p)
	before := m.Epilogue.Steps
	m.Epilogue.Steps = follow(slices.Clone(before), s.with(other), v)
	if !f.holds(&m, p.Top().Type.Dims) || e.Top().Type.DType != p.Top().Type.DType && !f.target.Ways.ElementwiseRuns {
		return false
	}
	f.origin = e.Origin
	for _, o := range operands {
		other[o] = f.goBack(o, views)
	}
	if f.err != nil {
		return false
	}
	m.Epilogue.Steps = follow(before, s.with(other), v)
	m.OutputType = e.Top().Type.DType
	if m.OutputType == naturalType(&m, p) {
		m.OutputType = tensor.Invalid
	}
	f.check(f.Edit(p, func(l *anec.Layer) {
		l.Params, l.Bottoms, l.Epilogue, l.OutputType = m.Params, slices.Clone(m.Bottoms), m.Epilogue, m.OutputType
		l.Origin = segment.JoinOrigins(p.Origin, e.Origin)
	}))
	for _, view := range slices.Backward(views[1:]) { // they may have another element type now
		f.check(f.Edit(view, func(*anec.Layer) {}))
	}
	last := views[0]
	f.check(f.Edit(e, func(l *anec.Layer) {
		l.Params, l.Bottoms, l.Epilogue, l.OutputType = last.Params, slices.Clone(last.Bottoms), anec.Epilogue{}, tensor.Invalid
		l.Origin = segment.JoinOrigins(last.Origin, e.Origin)
	}))
	f.discard(last)
	return true
}

// canGoBack reports whether a value that is combined with what views made can be combined with what they read, at
// no cost: it must broadcast along whole groups of axes, and where it is reshaped lie dense. It returns the extents that
// the value has there.
func canGoBack(o *anec.Value, views []*anec.Layer) (anec.Dims, bool) {
	dims := o.Type.Dims
	for _, view := range views {
		var ok bool
		if dims, ok = dimsBefore(dims, view); !ok {
			return dims, false
		}
		if view.Kind() == anec.KindReshape && dims != o.Type.Dims && !isDense(o) {
			return dims, false
		}
	}
	return dims, true
}

// isDense reports whether the elements of a value lie side by side: it is no view of others.
func isDense(v *anec.Value) bool {
	if v.Const != nil {
		return v.Const.Plain()
	}
	for v.Def != nil && v.Def.Kind() == anec.KindReshape {
		v = v.Def.Bottoms[0]
	}
	return v.Def == nil || v.Def.Info().Epilogue.Steps() && v.Def.Epilogue.Transpose == nil
}

// goBack gives a value the extents that it has on the other side of the views.
func (f *fusion) goBack(o *anec.Value, views []*anec.Layer) *anec.Value {
	for _, view := range views {
		dims, _ := dimsBefore(o.Type.Dims, view)
		if t, ok := view.Params.(*anec.Transpose); ok && !segment.OnlyReshapes(t.Perm.Inverse(), o.Type.Dims) {
			o = f.transposed(o, t.Perm.Inverse())
		} else {
			o = f.reshaped(o, dims)
		}
		if f.err != nil {
			return nil
		}
	}
	return o
}

// dimsBefore returns the extents that a value, which broadcasts to what a view makes, has before the view.
func dimsBefore(o anec.Dims, view *anec.Layer) (anec.Dims, bool) {
	if t, ok := view.Params.(*anec.Transpose); ok {
		return t.Perm.Inverse().Apply(o), true
	}
	return throughReshape(o, view.Top().Type.Dims, view.Bottoms[0].Type.Dims)
}

// throughReshape returns the extents of a value, which broadcasts to from, after a reshape from one to the other.
// Both fall into the same groups of axes, each with the same number of elements:
//
//	from  1,1,1,16,49    1·1·1·16 | 49
//	to    1,1,16,7,7     1·1·16   | 7·7
//
// A group stays, or is broadcast, as a whole.
func throughReshape(o, from, to anec.Dims) (anec.Dims, bool) {
	out := anec.Dims{1, 1, 1, 1, 1}
	i, j := 0, 0
	for i < len(from) || j < len(to) {
		startI, startJ := i, j
		a, b := 1, 1
		for first := true; first || a != b; first = false {
			switch {
			case a <= b && i < len(from):
				a *= from[i]
				i++
			case j < len(to):
				b *= to[j]
				j++
			case i < len(from):
				a *= from[i]
				i++
			default:
				return out, false
			}
		}
		full, single := true, true
		for k := startI; k < i; k++ {
			full = full && o[k] == from[k]
			single = single && o[k] == 1
		}
		switch {
		case full:
			copy(out[startJ:j], to[startJ:j])
		case !single:
			return out, false
		}
	}
	return out, true
}

// reshaped is a value with other extents. A constant is the same memory, and a reshape of a reshape is one.
func (f *fusion) reshaped(v *anec.Value, dims anec.Dims) *anec.Value {
	for v.Type.Dims != dims && v.Def != nil && v.Def.Kind() == anec.KindReshape && isMove(v.Def) {
		v = v.Def.Bottoms[0]
	}
	if v.Type.Dims == dims {
		return v
	}
	if c, ok := reshapedConstant(v.Const, dims); ok {
		return f.constant(v.Name, c)
	}
	return f.layer(v.Name, &anec.Reshape{Dims: dims}, v)
}

func (f *fusion) transposed(v *anec.Value, perm anec.Perm) *anec.Value {
	if v.Def != nil && v.Def.Kind() == anec.KindTranspose && isMove(v.Def) {
		perm = v.Def.Params.(*anec.Transpose).Perm.Then(perm)
		v = v.Def.Bottoms[0]
	}
	if perm == anec.Identity {
		return v
	}
	return f.layer(v.Name, &anec.Transpose{Perm: perm}, v)
}

func (f *fusion) layer(name string, p anec.Params, bottoms ...*anec.Value) *anec.Value {
	b := anec.Builder{Graph: f.Graph, Origin: f.origin}
	v := b.Layer(name+"_view", p, bottoms...)
	f.check(b.Err())
	return v
}

func (f *fusion) constant(name string, c *anec.Constant) *anec.Value {
	b := anec.Builder{Graph: f.Graph}
	v := b.Constant(name, c)
	f.check(b.Err())
	return v
}

// reshapedConstant is a plain constant with other extents, in the same memory.
func reshapedConstant(c *anec.Constant, dims anec.Dims) (*anec.Constant, bool) {
	if c == nil || !c.Plain() {
		return nil, false
	}
	t, err := c.Stored.Reshape(dims[:]...)
	if err != nil {
		return nil, false
	}
	again := anec.ConstantOf(t)
	again.Source, again.Mutable = c.Source, c.Mutable
	return again, true
}
