package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
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

// functionOf returns how the array computes a function; false if no certain table does.
func functionOf(a *anec.Activation) (f function, ok bool) {
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
		f.table = td.SiLUTable()
		return f, a.A == 1
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
		return f, a.B > 0 && a.A >= 0 // a slope below 0 leads up to the limit on the left too
	case td.FuncReLUN:
		f.table = td.ClampTable(0, first)
		return f, a.A >= 0
	case td.FuncClip:
		f.table = td.ClampTable(first, second)
		return f, a.A <= a.B
	case td.FuncThresholdedReLU:
		f.table = td.ThresholdTable(first)
	case td.FuncSigmoidHard:
		if !(tensor.F16(first) > 0) {
			return f, false
		}
		f.table = td.HardSigmoidTable(first, second)
	default:
		return f, false
	}
	return f, true
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
func (b *builder) neuron(l *anec.Layer, p *anec.Neuron) ([]*units.Op, bool) {
	if len(l.Bottoms) > 1 && l.Bottoms[1] != nil || !l.Epilogue.Empty() {
		return nil, false
	}
	x := l.Bottoms[0]
	switch p.Type {
	case td.FuncAbs:
		return b.functionLayer(l, x, td.FuncAbs)
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
	return []*units.Op{o}, true
}

// tableLayer is a layer that is one table.
func (b *builder) tableLayer(l *anec.Layer, x *anec.Value, t *td.Table, post uint16) ([]*units.Op, bool) {
	if !l.Epilogue.Empty() {
		return nil, false
	}
	o, ok := b.bypass(l, x)
	if !ok {
		return nil, false
	}
	b.apply(o, function{nonLinear: units.Table, table: t, post: post})
	return []*units.Op{o}, true
}

// bypass begins the task that passes x on to the layer's top.
func (b *builder) bypass(l *anec.Layer, x *anec.Value) (*units.Op, bool) {
	if x.Type.Dims != l.Top().Type.Dims || x.Type.DType != tensor.Float16 || l.Top().Type.DType != tensor.Float16 {
		return nil, false
	}
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(l.Top())
	if !ok1 || !ok2 {
		return nil, false
	}
	size, groups := sizeOf(x.Type.Dims)
	o := b.Between(b.Bypass(size), mx, my)
	o.Groups = groups
	return o, true
}
