package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the array without weights: copies, and functions by clamp or table.

// log2e is the post scale that makes an exponential of powers of 2, in fp16.
const log2e = 0x3dc5

// A function is how the array computes a function of one value.
type function struct {
	nonLinear uint32
	table     *td.Table
	post      uint16 // the argument is scaled by it
	epsilon   uint16 // and has this added
}

// functionOf returns how the array computes a function, if a certain table does.
func functionOf(a *anec.Activation) (f function, why *diag.Reason) {
	f = function{nonLinear: units.Table, post: units.One}
	first, second := tensor.ToF16(a.A), tensor.ToF16(a.B)
	switch a.Function {
	case td.FuncReLU:
		f.nonLinear = units.ReLU
	case td.FuncSigmoid:
		f.table = td.SigmoidTable()
	case td.FuncTanh:
		f.table = td.TanhTable()
	case td.FuncGELU, td.FuncGELUTanhApproximation:
		f.table = td.GELUTable()
	case td.FuncSwish:
		if f.table = td.SiLUTable(); a.A != 1 {
			return f, badArgument(a, "its table is for x*sigmoid(x)", 1, a.A)
		}
	case td.FuncExp2:
		f.table = td.Exp2Table()
	case td.FuncExp:
		f.table, f.post = td.Exp2Table(), log2e
	case td.FuncLog2:
		f.table, f.epsilon = td.Log2Table(), first
	case td.FuncSqrt:
		f.table = td.SqrtTable()
	case td.FuncRSqrt:
		f.table, f.epsilon = td.RSqrtTable(), first
	case td.FuncInverse:
		f.table, f.epsilon = td.ReciprocalTable(), first
	case td.FuncPReLU:
		f.table = td.LeakyReLUTable(first)
	case td.FuncClampedReLU:
		f.table = td.ClampedReLUTable(first, second)
		switch {
		case !(a.B > 0):
			return f, badArgument(a, "its limit is not above 0", "> 0", a.B)
		case !(a.A >= 0):
			return f, badArgument(a, "a slope below 0 leads up to the limit on the left too", ">= 0", a.A)
		}
	case td.FuncReLUN:
		if f.table = td.ClampTable(0, first); !(a.A >= 0) {
			return f, badArgument(a, "its limit is below 0", ">= 0", a.A)
		}
	case td.FuncClip:
		if f.table = td.ClampTable(first, second); !(a.A <= a.B) {
			return f, badArgument(a, "its lower bound is above the upper", a.B, a.A)
		}
	case td.FuncThresholdedReLU:
		f.table = td.ThresholdTable(first)
	case td.FuncSigmoidHard:
		if !(tensor.F16(first) > 0) {
			return f, badArgument(a, "its slope, in fp16, is not above 0", "> 0", a.A)
		}
		f.table = td.HardSigmoidTable(first, second)
	default:
		return f, noTable(a.Function)
	}
	return f, nil
}

func noTable(f td.Function) *diag.Reason {
	return diag.Decline(diag.NativeFunction, "no table of the array is known for %v", f)
}

func badArgument(a *anec.Activation, what string, limit, found any) *diag.Reason {
	return diag.Decline(diag.NativeFunction, "%v has an argument that no table is known for: %s", a.Function, what).Measure(limit, found)
}

// apply makes a bypass task compute a function. The accumulator adds what there is to add: then the task is a sum.
func (b *builder) apply(o *units.Op, f function) {
	o.NonLinear, o.Post = f.nonLinear, f.post
	if f.epsilon != 0 {
		o.Operation, o.Accumulate = units.MultiplyAdd, f.epsilon
	}
	if f.table != nil {
		o.Kernel = b.constants.Table(f.table, min(o.Engines, o.In.C))
	}
}

// neuron selects the tasks of a function.
func (b *builder) neuron(l *anec.Layer, p *anec.Neuron) ([]*units.Op, *diag.Reason) {
	if len(l.Bottoms) > 1 && l.Bottoms[1] != nil {
		return nil, diag.Decline(diag.NativeOperand, "%v has a slope for each channel, %q, which is no table", p.Type, l.Bottoms[1].Name)
	}
	if why := bareOnly(l); why != nil {
		return nil, why
	}
	x := l.Bottoms[0]
	switch p.Type {
	case td.FuncAbs:
		return b.functionLayer(l, x, td.FuncAbs)
	case td.FuncFloor:
		return b.floor(l, x)
	}
	f, why := functionOf(&anec.Activation{Function: p.Type, A: p.A, B: p.B})
	if why != nil {
		return nil, why
	}
	o, why := b.bypass(l, x)
	if why != nil {
		return nil, why
	}
	b.apply(o, f)
	return []*units.Op{o}, nil
}

// tableLayer is a layer that is one table.
func (b *builder) tableLayer(l *anec.Layer, x *anec.Value, t *td.Table, post uint16) ([]*units.Op, *diag.Reason) {
	if why := bareOnly(l); why != nil {
		return nil, why
	}
	o, why := b.bypass(l, x)
	if why != nil {
		return nil, why
	}
	b.apply(o, function{nonLinear: units.Table, table: t, post: post})
	return []*units.Op{o}, nil
}

// bypass begins the task that passes x on to the layer's top.
func (b *builder) bypass(l *anec.Layer, x *anec.Value) (*units.Op, *diag.Reason) {
	if why := firstOf(sameExtents(x, l.Top()), halfOnly(x, l.Top())); why != nil {
		return nil, why
	}
	mx, why1 := b.surface(x)
	my, why2 := b.surface(l.Top())
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	size, groups := sizeOf(x.Type.Dims)
	o := b.Between(b.Bypass(size), mx, my)
	o.Groups = groups
	return o, nil
}
