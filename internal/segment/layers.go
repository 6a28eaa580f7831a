package segment

import (
	"math"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What both the phases and the encoders ask of a layer.

// Bottom returns a bottom, nil if it is not there.
func Bottom(l *anec.Layer, i int) *anec.Value {
	if i < len(l.Bottoms) {
		return l.Bottoms[i]
	}
	return nil
}

// Exchange is the permutation that exchanges two axes.
func Exchange(a, b td.Axis) anec.Perm {
	p := anec.Identity
	p[a], p[b] = b, a
	return p
}

// ConstantScalar is the value of a constant of one element, if fp32 holds it.
func ConstantScalar(v *anec.Value) (float32, bool) {
	if v.Const == nil || v.Type.DType == tensor.Float64 {
		return 0, false
	}
	f, ok := v.Const.Scalar()
	return float32(f), ok && float64(float32(f)) == f
}

func HasPadding(w *anec.Window) bool { return w.PadBefore != [3]int{} || w.PadAfter != [3]int{} }

// PoolPadsOtherwise reports whether padding counts in a way that the class does not have, which leaves it out: as
// zeros do in a sum, and the least number in a maximum.
func PoolPadsOtherwise(p *anec.Pooling) bool {
	switch {
	case !HasPadding(&p.Window) || p.PaddingMode == td.PadDontCare:
		return false
	case p.Type == td.PoolMax:
		return p.PaddingMode != td.PadNegative
	}
	return p.PaddingMode != td.PadZero || p.Type == td.PoolMin
}

// IntegerRange is the range of an integer type of which fp32 holds each number.
func IntegerRange(d tensor.DType) (lo, hi float32, ok bool) {
	bits := d.Bits()
	switch {
	case !d.IsInteger() || bits > 16:
		return 0, 0, false
	case d.Kind() == tensor.KindUint:
		return 0, float32(math.Ldexp(1, bits) - 1), true
	}
	return float32(-math.Ldexp(1, bits-1)), float32(math.Ldexp(1, bits-1) - 1), true
}

// SoftmaxAxis is the axis of a softmax: one of extent 1 beside it does not count.
func SoftmaxAxis(l *anec.Layer) (axis td.Axis, ok bool) {
	axes, x := l.Params.(*anec.Softmax).Axes, l.Bottoms[0].Type.Dims
	wide := 0
	for a := range td.Axis(anec.NumAxes) {
		if axes.Has(a) && (x[a] > 1 || wide == 0) {
			axis = a
		}
		if axes.Has(a) && x[a] > 1 {
			wide++
		}
	}
	return axis, wide <= 1
}

// KnownIndices are the elements that a gather along one axis takes, if its indices are constant and none points outside. A
// negative index counts from the end.
func KnownIndices(l *anec.Layer) (axis td.Axis, list []int, ok bool) {
	axes := l.Params.(*anec.Gather).Axes
	if len(axes) != 1 || l.Bottoms[1] == nil || l.Bottoms[1].Const == nil {
		return 0, nil, false
	}
	c, axis := l.Bottoms[1].Const, axes[0]
	vector := anec.Dims{1, 1, 1, 1, 1}.With(axis, c.Dims[axis])
	n := l.Bottoms[0].Type.Dims[axis]
	if !c.Plain() || !c.DType.IsInteger() || c.Dims != vector || c.Dims[axis] == 0 || n == 0 {
		return axis, nil, false
	}
	for _, i := range c.Stored.Int64s() {
		if i < 0 {
			i += int64(n)
		}
		if i < 0 || i >= int64(n) {
			return axis, nil, false
		}
		list = append(list, int(i))
	}
	return axis, list, true
}

// IsDecoded reports whether a value is decoded from constants by a layer.
func IsDecoded(v *anec.Value) bool {
	if v.Def == nil || v.Def.Kind() != anec.KindDeQuant {
		return false
	}
	for _, b := range v.Def.Bottoms {
		if b != nil && b.Const == nil {
			return false
		}
	}
	return true
}

// WeightBottom returns the kernel of a sum of products that is known before it runs; nil if there is none.
func WeightBottom(l *anec.Layer) *anec.Value {
	switch l.Kind() {
	case anec.KindConv, anec.KindLinear, anec.KindMatMul:
		if w := l.Bottoms[1]; w.Const != nil || IsDecoded(w) {
			return w
		}
	}
	return nil
}

// JoinOrigins appends, each operation once.
func JoinOrigins(a, b []string) []string {
	joint := slices.Clone(a)
	for _, o := range b {
		if !slices.Contains(joint, o) {
			joint = append(joint, o)
		}
	}
	return joint
}

// OnlyReshapes reports whether a permutation leaves the order of the elements: axes of more than one element stay
// in theirs.
func OnlyReshapes(p anec.Perm, dims anec.Dims) bool {
	last := -1
	for _, a := range p {
		if dims[a] == 1 {
			continue
		}
		if int(a) < last {
			return false
		}
		last = int(a)
	}
	return true
}

// DerivedLayers are those of constants alone, which give the same in every dispatch: none of them is mutable. Layers are in an order in
// which each stands after those it reads.
func DerivedLayers(order []*anec.Layer) map[*anec.Layer]bool {
	derived := map[*anec.Layer]bool{}
	for _, l := range order {
		constant := l.Info().AtLoad(l.Params)
		for _, v := range l.Reads() {
			constant = constant && (v.Const != nil && !v.Const.Mutable || derived[v.Def])
		}
		if constant {
			derived[l] = true
		}
	}
	return derived
}

// WindowAxes are the axes of a window, in its order.
var WindowAxes = [3]td.Axis{anec.D, anec.H, anec.W}

// ConvPadsOtherwise reports whether a convolution has padding that is not zero. A transposed one has none: it cuts off.
func ConvPadsOtherwise(p *anec.Conv) bool {
	return !p.Transposed && HasPadding(&p.Window) && p.PaddingMode != td.PadZero && p.PaddingMode != td.PadDontCare
}

func SetOf[T comparable](members ...T) map[T]bool {
	set := make(map[T]bool, len(members))
	for _, m := range members {
		set[m] = true
	}
	return set
}

// FreshNumbers is why a layer of random numbers without a seed becomes no task.
const FreshNumbers = "without a seed the numbers are new in every run, and those of a task follow from its seed"

// IsAttention reports whether a layer is fused attention.
func IsAttention(l *anec.Layer) bool { return l.Kind() == anec.KindSDPA }
