package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the array without weights: copies, and functions by clamp or table.

// log2e is the post scale that makes an exponential of powers of 2, in fp16.
const v7log2e = 0x3dc5

// A v7function is how the array computes a function of one value.
type v7function struct {
	nonLinear uint32
	table     *td.Table
	post      uint16 // the argument is scaled by it
	epsilon   uint16 // and has this added
}

// functionOf returns how the array computes a function; false if no certain table does.
func functionOf(a *anec.Activation) (f v7function, ok bool) {
	f = v7function{nonLinear: v7Table, post: v7One}
	switch a.Function {
	case td.FuncReLU:
		f.nonLinear = v7ReLU
	case td.FuncSigmoid:
		f.table = td.SigmoidTable()
	case td.FuncTanh:
		f.table = td.TanhTable()
	case td.FuncGELU, td.FuncGELUTanhApproximation:
		f.table = td.GELUTable()
	case td.FuncExp2:
		f.table = td.Exp2Table()
	case td.FuncExp:
		f.table, f.post = td.Exp2Table(), v7log2e
	case td.FuncSqrt:
		f.table = td.SqrtTable()
	case td.FuncRSqrt:
		f.table, f.epsilon = td.RSqrtTable(), tensor.ToF16(a.A)
	case td.FuncInverse:
		f.table = td.ReciprocalTable()
		ok = a.A == 0
		return f, ok
	case td.FuncPReLU:
		f.table = td.LeakyReLUTable(tensor.ToF16(a.A))
	default:
		return f, false
	}
	return f, true
}

// apply makes a bypass task compute a function. The accumulator adds what there is to add: then the task is a sum.
func (b *v7build) apply(o *v7op, f v7function) {
	o.nonLinear, o.post = f.nonLinear, f.post
	if f.epsilon != 0 {
		o.operation, o.accumulate = v7MultiplyAdd, f.epsilon
	}
	if f.table != nil {
		o.kernel = b.constants.table(f.table, min(o.engines, o.in.c))
	}
}

// neuron selects the tasks of a function.
func (b *v7build) neuron(l *anec.Layer, p *anec.Neuron) ([]*v7op, bool) {
	if len(l.Bottoms) > 1 && l.Bottoms[1] != nil || !l.Epilogue.Empty() {
		return nil, false
	}
	x := l.Bottoms[0]
	switch p.Type {
	case td.FuncAbs:
		return b.absolute(l)
	case td.FuncFloor:
		return b.floor(l, x)
	}
	f, ok := functionOf(&anec.Activation{Function: p.Type, A: p.A, B: p.B})
	if !ok {
		return nil, false
	}
	o, ok := b.bypass(l, x)
	if !ok {
		return nil, false
	}
	b.apply(o, f)
	return []*v7op{o}, true
}

// tableLayer is a layer that is one table.
func (b *v7build) tableLayer(l *anec.Layer, x *anec.Value, t *td.Table, post uint16) ([]*v7op, bool) {
	if !l.Epilogue.Empty() {
		return nil, false
	}
	o, ok := b.bypass(l, x)
	if !ok {
		return nil, false
	}
	b.apply(o, v7function{nonLinear: v7Table, table: t, post: post})
	return []*v7op{o}, true
}

// bypass begins the task that passes x on to the layer's top.
func (b *v7build) bypass(l *anec.Layer, x *anec.Value) (*v7op, bool) {
	if x.Type.Dims != l.Top().Type.Dims || x.Type.DType != tensor.Float16 || l.Top().Type.DType != tensor.Float16 {
		return nil, false
	}
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(l.Top())
	if !ok1 || !ok2 {
		return nil, false
	}
	size, groups := v7sizeOf(x)
	o := newBypass(size)
	o.groups = groups
	o.source1 = v7source{memory: mx, chip: arrayChip(0, size)}
	o.result = my
	o.chip = passing(o.source1.chip, size.h)
	return o, true
}

// view selects what moves nothing but names: the top is the same memory, read otherwise. If it leaves the segment a copy is
// made.
func (b *v7build) view(l *anec.Layer) ([]*v7op, bool) {
	s, ok := b.surface(l.Bottoms[0])
	if !ok || !l.Epilogue.Empty() || s.element != v7fp16 {
		return nil, false
	}
	if p, ok := l.Params.(*anec.Transpose); ok && p.Perm[anec.W] != anec.W {
		return b.turn(l, p.Perm, s)
	}
	viewed, ok := viewSurface(l, *s)
	if !ok {
		return nil, false
	}
	if !b.graph.IsOutput(l.Top()) {
		b.surfaces[l.Top()] = viewed
		return nil, true
	}
	size, groups := v7sizeOf(l.Top())
	o := newBypass(size)
	o.groups = groups
	o.source1 = v7source{memory: viewed, chip: arrayChip(0, size)}
	o.result = b.surfaces[l.Top()]
	o.chip = passing(o.source1.chip, size.h)
	return []*v7op{o}, true
}

// strides of a surface along the axes of a value.
func (s *v7surface) strides() [anec.NumAxes]int {
	return [anec.NumAxes]int{s.group, 0, s.plane, s.row, 2}
}

// turn is a transpose that moves W: the array exchanges C and W, and both surfaces are read such that these are the axes
// that change places.
func (b *v7build) turn(l *anec.Layer, p anec.Perm, from *v7surface) ([]*v7op, bool) {
	to, ok := b.surface(l.Top())
	if !ok || p[anec.D] != anec.D {
		return nil, false
	}
	d, inverse := l.Bottoms[0].Type.Dims, p.Inverse()
	c := p[anec.W] // the axis of x that becomes the columns
	var rest []td.Axis
	for _, a := range []td.Axis{anec.H, anec.C, anec.N} {
		if a != c {
			rest = append(rest, a)
		}
	}
	if d[rest[1]] > d[rest[0]] && d[rest[0]] == 1 {
		rest[0], rest[1] = rest[1], rest[0]
	}
	xs, ys := from.strides(), to.strides()
	source, result := *from, *to
	source.plane, source.row, source.group = xs[c], xs[rest[0]], xs[rest[1]]
	result.plane, result.row, result.group = ys[inverse[anec.W]], ys[inverse[rest[0]]], ys[inverse[rest[1]]]
	size := v7size{w: d[anec.W], h: d[rest[0]], d: 1, c: d[c]}
	o := newBypass(size).exchanged()
	o.groups = d[rest[1]]
	o.source1 = v7source{memory: &source, chip: arrayChip(0, size)}
	o.result = &result
	o.chip = passing(o.source1.chip, size.h)
	return []*v7op{o}, true
}

// viewSurface is a surface as a layer's top reads it.
func viewSurface(l *anec.Layer, s v7surface) (*v7surface, bool) {
	strides := s.strides()
	switch p := l.Params.(type) {
	case *anec.Transpose:
		if p.Perm[anec.D] != anec.D {
			return nil, false
		}
		var moved [anec.NumAxes]int
		for i, a := range p.Perm {
			moved[i] = strides[a]
		}
		strides = moved
	case *anec.InputView:
		if p.Step != 1 || p.Axis == anec.D || p.Axis == anec.W && p.Offset != 0 {
			return nil, false // no word is known for what an offset along W does (hal.Numerics: width-slice-gain)
		}
		if s.offset += p.Offset * strides[p.Axis]; s.offset%64 != 0 {
			return nil, false
		}
	case *anec.Reshape:
		return reshapedSurface(l, s)
	default:
		return nil, false
	}
	s.group, s.plane, s.row = strides[anec.N], strides[anec.C], strides[anec.H]
	return &s, true
}

// reshapedSurface is a surface whose axes but W are cut otherwise. All but W lie one after the other in dense surfaces.
func reshapedSurface(l *anec.Layer, s v7surface) (*v7surface, bool) {
	from, to := l.Bottoms[0].Type.Dims, l.Top().Type.Dims
	if from[anec.W] != to[anec.W] || from[anec.D] != 1 || to[anec.D] != 1 {
		return nil, false
	}
	if s.plane != s.row*from[anec.H] || s.group != s.plane*from[anec.C] {
		return nil, false
	}
	s.plane = s.row * to[anec.H]
	s.depth = s.plane * to[anec.C]
	s.group = s.depth
	return &s, true
}
