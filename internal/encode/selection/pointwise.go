package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Layers of one operand that work on each element by itself.

// neuronLayer is a function of each element.
func (b *builder) neuronLayer(l *anec.Layer, p *anec.Neuron) ([]*units.Op, *diag.Reason) {
	x := l.Bottoms[0]
	if len(l.Bottoms) > 1 && l.Bottoms[1] != nil {
		return b.preluLayer(l, x, l.Bottoms[1])
	}
	if ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.neuron(l, p) }); why == nil {
		return ops, nil
	}
	return b.stageLayer(l, x, stage{act: &anec.Activation{Function: p.Type, A: p.A, B: p.B}})
}

// preluLayer is a relu with a slope for each channel.
func (b *builder) preluLayer(l *anec.Layer, x, slope *anec.Value) ([]*units.Op, *diag.Reason) {
	r := stageReader{channels: x.Type.Dims[anec.C]}
	slopes, why := r.perChannel(slope)
	if why := firstOf(why, halfOnly(x)); why != nil {
		return nil, why
	}
	return b.chained(l, func(c *chain, _ operand, to *units.Surface, stages []stage) *diag.Reason {
		t, why := b.tensorOf(x)
		if why := firstOf(why, folds(stages)); why != nil {
			return why
		}
		return c.prelu(t, slopes, to, func(o *units.Op) { fold(o, stages) })
	})
}

// gainOffset is x*scale + bias, each a number or a constant with one for each channel.
func (b *builder) gainOffset(l *anec.Layer, p *anec.GOC) ([]*units.Op, *diag.Reason) {
	r := stageReader{channels: l.Bottoms[0].Type.Dims[anec.C]}
	scale, bias := segment.Bottom(l, 1), segment.Bottom(l, 2)
	if scale == nil {
		r.scaleBias(p.Scale, 0)
	}
	r.multiply(scale)
	if bias == nil {
		r.scaleBias(1, p.Bias)
	}
	r.add(bias)
	if r.why != nil {
		return nil, r.why
	}
	return b.stageLayer(l, l.Bottoms[0], r.list...)
}

// copyLayer is a copy, with what its epilogue does.
func (b *builder) copyLayer(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	var pair *diag.Reason
	if s := readThroughReLU(l); s != nil {
		ops, why := b.pair(l, s.EW, s.Operand, l.Bottoms[0], true, !s.Swap)
		if why == nil {
			return ops, nil
		}
		pair = why
	}
	x, y := l.Bottoms[0], l.Top()
	if x.Type.DType == tensor.Bool && y.Type.DType == tensor.Bool && x.Const == nil {
		return b.signLayer(l, x, whereNotZero)
	}
	ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.stageLayer(l, x) })
	switch {
	case why == nil:
		return ops, nil
	case pair != nil:
		return nil, neither(why, pair)
	case !segment.IsBare(l):
		return nil, why
	}
	return b.carry(l)
}

// readThroughReLU is the step of a copy that is an elementwise layer of which one operand is read through relu, relu(x) op z;
// nil if it is none.
func readThroughReLU(l *anec.Layer) *anec.Step {
	e := &l.Epilogue
	if e.Pre != nil || e.GOC != nil || e.Post == nil || e.Post.Function != td.FuncReLU || len(e.Steps) != 1 || e.Transpose != nil || e.Quant != nil {
		return nil
	}
	s := &e.Steps[0]
	if s.Code != td.MicroEW || s.Operand == nil || s.Operand.Const != nil || s.Earlier != 0 || !units.CombinesPlanar(s.EW) {
		return nil
	}
	return s
}

// cast reads a bool as a number, or a number as a bool; of fp16 to fp16 it is a copy.
func (b *builder) cast(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	x, y := l.Bottoms[0], l.Top()
	switch from, to := x.Type.DType, y.Type.DType; {
	case from == tensor.Bool && to == tensor.Float16 && x.Const == nil:
		return b.chained(l, func(c *chain, _ operand, to *units.Surface, stages []stage) *diag.Reason {
			t, why := b.tensorOf(x)
			if why := firstOf(why, folds(stages)); why != nil {
				return why
			}
			c.one(t, to, func(o *units.Op) { fold(o, stages) })
			return nil
		})
	case from == tensor.Float16 && to == tensor.Bool:
		return b.signLayer(l, x, whereNotZero)
	case from != tensor.Float16 || to != tensor.Float16:
		return nil, diag.Decline(diag.NativeType, "no task casts %v to %v: they read and write fp16, and bools as numbers", from, to)
	}
	return b.stageLayer(l, x)
}
