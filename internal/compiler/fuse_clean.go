package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// clean takes out what does nothing: layers that nobody reads, layers that give what they read, and chains of
// views and casts that one does as well.
//
//	%a = anec.reshape(%x) {dims = [1, 1, 1, 4, 4]}
//	%b = anec.transpose(%a) {perm = [N, D, C, W, H]}
//	%c = anec.transpose(%b) {perm = [N, D, C, W, H]}
//	%d = anec.cast(%c) {to = fp32}
//	%e = anec.cast(%d) {to = fp16}
//	%y = anec.reshape(%e) {dims = [1, 1, 1, 1, 16]}
//
//	%y = anec.reshape(%x) {dims = [1, 1, 1, 1, 16]}
//
// An output stays the value that it is, and so does what is left in a state.
func clean(s *segment.Segment) error {
	f := newFusion(s)
	s.Graph.Sweep()
	f.tidy()
	f.mergeConstants()
	s.Graph.Sweep()
	return f.err
}

// tidy makes each layer simpler, or has its readers read what it gives as it is.
func (f *fusion) tidy() {
	for _, l := range f.Order() {
		f.simplify(l)
		switch x := f.same(l); {
		case x == nil:
		case !f.kept[l.Top()]:
			f.check(f.ReplaceReads(l.Top(), x))
			f.discard(l)
		case x.Def != nil && len(x.Def.Tops) == 1 && x.Def.Kind() != anec.KindRingBufferWriter && f.readBy(x, l) && f.canDelay(x.Def):
			f.replace(x.Def, l)
		}
	}
}

// replace makes of a layer, which gives what it reads as it is, the one that it reads from.
func (f *fusion) replace(p, l *anec.Layer) {
	f.check(f.Edit(l, func(l *anec.Layer) {
		l.Params, l.Bottoms, l.Epilogue, l.OutputType = p.Params, slices.Clone(p.Bottoms), p.Epilogue, p.OutputType
		l.Origin = segment.JoinOrigins(p.Origin, l.Origin)
	}))
	f.discard(p)
}

// mergeConstants makes one of constants that are equal. One element is not worth it: it becomes a number of a
// step. Large constants are equal if they are the same memory; those of different memory are seen to where weights
// are laid out.
func (f *fusion) mergeConstants() {
	constants := slices.DeleteFunc(slices.Clone(f.Values), func(v *anec.Value) bool {
		return v.Const == nil || v.Const.Stored.Len() <= 1
	})
	slices.SortFunc(constants, func(a, b *anec.Value) int { return cmp.Compare(a.ID, b.ID) })
	seen := make(map[string]*anec.Value, len(constants))
	for _, v := range constants {
		key := constantKey(v.Const)
		if first := seen[key]; first != nil {
			f.check(f.ReplaceReads(v, first))
		} else {
			seen[key] = v
		}
	}
}

// comparedBytes is the size up to which constants are compared by content.
const comparedBytes = 4096

// constantKey is the same for constants that are equal.
func constantKey(c *anec.Constant) string {
	var b strings.Builder
	fmt.Fprint(&b, c.DType, c.Dims)
	part := func(name string, t *tensor.Tensor) {
		if t == nil {
			return
		}
		fmt.Fprint(&b, ";", name, t.DType(), t.Shape())
		if n, ok := t.DType().ByteLen(t.Len()); ok && n <= comparedBytes && !c.Mutable {
			b.Write(t.Bytes())
			return
		}
		if t.Contiguous() {
			fmt.Fprintf(&b, "%p", &t.Bytes()[0])
		} else { // Bytes would be a copy
			fmt.Fprintf(&b, "%p", t)
		}
	}
	part("data", c.Stored)
	part("mask", c.Mask)
	if p := c.Palette; p != nil {
		fmt.Fprint(&b, ";vector", p.VectorAxis)
		part("table", p.Table)
		part("table_scale", p.Scale)
		part("table_offset", p.Offset)
	}
	part("scale", c.Scale)
	part("offset", c.Offset)
	return b.String()
}

// simplify writes a layer as a simpler one. What it reads has been simplified.
func (f *fusion) simplify(l *anec.Layer) {
	if !l.Epilogue.Empty() || l.OutputType != tensor.Invalid {
		return
	}
	switch p := l.Params.(type) {
	case *anec.Flatten:
		if p.Order == anec.FlattenNCHW {
			f.become(l, &anec.Reshape{Dims: l.Top().Type.Dims})
		}
	case *anec.Unflatten:
		if p.Order == anec.FlattenNCHW {
			f.become(l, &anec.Reshape{Dims: l.Top().Type.Dims})
		}
	case *anec.Transpose:
		if before := f.before(l, anec.KindTranspose); before != nil {
			f.skip(l, before, &anec.Transpose{Perm: before.Params.(*anec.Transpose).Perm.Then(p.Perm)})
		}
		if perm := l.Params.(*anec.Transpose).Perm; segment.OnlyReshapes(perm, l.Bottoms[0].Type.Dims) {
			f.become(l, &anec.Reshape{Dims: l.Top().Type.Dims})
		}
	case *anec.Broadcast:
		if before := f.before(l, anec.KindBroadcast); before != nil {
			f.skip(l, before, p)
		}
	case *anec.TypeCast:
		if before := f.before(l, anec.KindTypeCast); before != nil && canSkipCast(before.Bottoms[0].Type.DType, before.Top().Type.DType, p.To) {
			f.skip(l, before, p)
		}
	case *anec.ElementWise, *anec.ScaledElementWise, *anec.Select:
		f.dropBroadcasts(l)
	}
	if l.Kind() == anec.KindReshape {
		if before := f.before(l, anec.KindReshape); before != nil {
			f.skip(l, before, l.Params)
		}
	}
}

// before returns the layer that makes what l reads, if it is of a kind and does no more than that.
func (f *fusion) before(l *anec.Layer, k anec.Kind) *anec.Layer {
	d := l.Bottoms[0].Def
	if d == nil || d.Kind() != k || !d.Epilogue.Empty() || d.OutputType != tensor.Invalid {
		return nil
	}
	return d
}

// become gives a layer another kind that does the same.
func (f *fusion) become(l *anec.Layer, p anec.Params) {
	f.check(f.Edit(l, func(l *anec.Layer) { l.Params = p }))
}

// skip makes a layer read what the one before it reads.
func (f *fusion) skip(l, before *anec.Layer, p anec.Params) {
	f.check(f.Edit(l, func(l *anec.Layer) {
		l.Params, l.Bottoms[0] = p, before.Bottoms[0]
		l.Origin = segment.JoinOrigins(before.Origin, l.Origin)
	}))
	if x := before.Top(); len(x.Uses) == 0 && !f.kept[x] {
		f.discard(before)
	}
}

// dropBroadcasts makes an elementwise layer, which broadcasts itself, read what is smaller.
func (f *fusion) dropBroadcasts(l *anec.Layer) {
	dims := l.Top().Type.Dims
	for i, v := range l.Bottoms {
		if v.Def == nil || v.Def.Kind() != anec.KindBroadcast || !v.Def.Epilogue.Empty() {
			continue
		}
		small := v.Def.Bottoms[0]
		meet := small.Type.Dims
		for k, other := range l.Bottoms {
			if k != i {
				for a := range meet {
					meet[a] = max(meet[a], other.Type.Dims[a])
				}
			}
		}
		if meet == dims {
			f.check(f.Edit(l, func(l *anec.Layer) { l.Bottoms[i] = small }))
		}
	}
}

// canSkipCast reports whether a cast from a to b to c is one from a to c: b holds every value of a, and to an
// integer a float and an integer are not cast by the same rule.
func canSkipCast(a, b, c tensor.DType) bool {
	if a == c && holds(b, a) {
		return true
	}
	return holds(b, a) && (!c.IsInteger() || a.IsFloat() == b.IsFloat())
}

// holds reports whether a type has every value of another.
func holds(wide, narrow tensor.DType) bool {
	switch {
	case wide == narrow:
		return true
	case narrow == tensor.Bool:
		return wide.IsFloat() || wide.IsInteger()
	case narrow.IsFloat() && wide.IsFloat():
		return wide == tensor.Float64 || wide == tensor.Float32 && narrow != tensor.Float64
	case narrow.IsInteger() && wide.IsFloat():
		return narrow.Bits() <= mantissa[wide]
	case narrow.IsInteger() && wide.IsInteger():
		unsigned, into := narrow.Kind() == tensor.KindUint, wide.Kind() == tensor.KindUint
		return unsigned == into && wide.Bits() > narrow.Bits() || unsigned && wide.Bits() > narrow.Bits()
	}
	return false
}

// mantissa is how many bits of an integer a float holds.
var mantissa = map[tensor.DType]int{tensor.Float16: 11, tensor.BFloat16: 8, tensor.Float32: 24, tensor.Float64: 53}

// same returns the value that a layer gives as it is; nil if it does something. A copy of a state stays, if the
// state is written over.
func (f *fusion) same(l *anec.Layer) *anec.Value {
	if len(l.Tops) != 1 || len(l.Bottoms) == 0 || !l.Epilogue.Empty() {
		return nil
	}
	x := l.Bottoms[0]
	if f.isOverwritten(x) {
		return nil
	}
	if l.Kind() == anec.KindReshape {
		if c, ok := reshapedConstant(x.Const, l.Top().Type.Dims); ok && !f.kept[l.Top()] && x.Type.Dims != l.Top().Type.Dims {
			return f.constant(x.Name, c)
		}
	}
	if !x.Type.Same(l.Top().Type) {
		// A number may be the second of two that broadcast to the extents of the other.
		if len(l.Bottoms) != 2 || !l.Bottoms[1].Type.Same(l.Top().Type) {
			return nil
		}
	}
	switch p := l.Params.(type) {
	case *anec.Alias, *anec.Copy, *anec.TypeCast, *anec.Reshape, *anec.Broadcast:
		return x
	case *anec.Transpose:
		if segment.OnlyReshapes(p.Perm, x.Type.Dims) {
			return x
		}
	case *anec.InputView:
		if p.Step == 1 || p.Size == 1 {
			return x // all of x
		}
	case *anec.Concat:
		if len(l.Bottoms) == 1 {
			return x
		}
	case *anec.Tile, *anec.Padding:
		return x // of the same extents
	case *anec.Dropout:
		if p.Rate == 0 {
			return x
		}
	case *anec.Neuron:
		if p.Type == td.FuncNone {
			return x
		}
	case *anec.GOC:
		if len(l.Bottoms) == 1 && p.Scale == 1 && p.Bias == 0 {
			return x
		}
	case *anec.ElementWise:
		return neutral(l, p.Type)
	}
	return nil
}

// neutral returns the operand of a pair whose other one changes nothing. (x + 0 is not x where x is -0, which no
// model means.)
func neutral(l *anec.Layer, k td.EWKind) *anec.Value {
	if k == td.EWNone {
		return l.Bottoms[0]
	}
	if len(l.Bottoms) < 2 {
		return nil
	}
	x, z := l.Bottoms[0], l.Bottoms[1]
	is := func(v *anec.Value, number float32) bool {
		a, ok := segment.ConstantScalar(v)
		return ok && a == number
	}
	top := l.Top().Type
	switch {
	case x.Type.Same(top) && (k == td.EWMult || k == td.EWDiv || k == td.EWPower) && is(z, 1),
		x.Type.Same(top) && (k == td.EWAdd || k == td.EWSub) && is(z, 0):
		return x
	case z.Type.Same(top) && k == td.EWMult && is(x, 1), z.Type.Same(top) && k == td.EWAdd && is(x, 0):
		return z
	}
	return nil
}
