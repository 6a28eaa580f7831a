package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// epilogue appends the steps of the layer's epilogue, slot by slot, to those that the kind has begun with.
//
//	pre relu | goc %g %o | ew Add #0 | quant int8 %s _
//
//	ACTIVATION relu, EW Mult g, EW Add o, EW Add step 2, EW Div s, ACTIVATION round_nearest, EW Max -128, EW Min 127
func (e *emission) epilogue() error {
	ep := &e.Epilogue
	if ep.Texture != nil {
		return fmt.Errorf("an epilogue with %v: pass slots takes it out", ep.Texture.Info().Kind)
	}
	if ep.Broadcast != (anec.Dims{}) && e.Info().Broadcasts != anec.Yes {
		return fmt.Errorf("an epilogue that broadcasts: pass slots takes it out")
	}
	e.activation(ep.Pre)
	if g := ep.GOC; g != nil {
		if err := e.gainOffset(g.Gain, g.Offset); err != nil {
			return err
		}
	}
	e.activation(ep.Post)
	slots := len(e.op.Epilogue)
	for i := range ep.Steps {
		if err := e.step(&ep.Steps[i], slots); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if q := ep.Quant; q != nil {
		return e.requantize(q)
	}
	return e.roundToOutputType()
}

func (e *emission) add(m td.MicroOp) { e.op.Epilogue = append(e.op.Epilogue, m) }

func (e *emission) activation(a *anec.Activation) {
	if a != nil && a.Function != td.FuncNone {
		e.add(td.MicroOp{Code: td.MicroActivation, Function: uint8(a.Function), A: a.A, B: a.B})
	}
}

// gainOffset is v*gain + offset. Two numbers are one step.
func (e *emission) gainOffset(gain, offset *anec.Value) error {
	number := func(v *anec.Value, missing float32) (float32, bool) {
		if v == nil {
			return missing, true
		}
		return segment.ConstantScalar(v)
	}
	a, okA := number(gain, 1)
	b, okB := number(offset, 0)
	if okA && okB {
		e.add(td.MicroOp{Code: td.MicroScaleBias, A: a, B: b})
		return nil
	}
	if gain != nil {
		if err := e.pair(td.EWMult, gain); err != nil {
			return err
		}
	}
	if offset != nil {
		return e.pair(td.EWAdd, offset)
	}
	return nil
}

// pair combines with a value, which has the axes of the result or 1.
func (e *emission) pair(k td.EWKind, v *anec.Value) error { return e.pairSeen(k, v, e.view) }

// pairSeen is pair with a value whose axes come to those of the operation by another way.
func (e *emission) pairSeen(k td.EWKind, v *anec.Value, view anec.Perm) error {
	if a, ok := segment.ConstantScalar(v); ok {
		e.number(k, a)
		return nil
	}
	o, err := permuted(e.place(v), view)
	if err != nil {
		return err
	}
	e.add(td.MicroOp{Code: td.MicroEW, Function: uint8(k), Source: e.source(o)})
	return nil
}

// number combines with a number.
func (e *emission) number(k td.EWKind, a float32) {
	e.add(td.MicroOp{Code: td.MicroEW, Function: uint8(k), A: a})
}

// source makes an operand a source of steps. One that the operation reads already is not read twice.
func (e *emission) source(o td.Operand) td.Source {
	y := &e.op.Operands[0]
	fits := true
	for a, d := range o.Dims {
		fits = fits && (d == y.Dims[a] || d == 1)
	}
	for i := e.op.Results(); fits && i < len(e.op.Operands); i++ {
		if e.op.Operands[i] == o {
			return td.FromOperand(i)
		}
	}
	e.op.Operands = append(e.op.Operands, o)
	return td.FromOperand(len(e.op.Operands) - 1)
}

// step is a step of the layer, before which the operation has so many that the layer does not count.
func (e *emission) step(s *anec.Step, before int) error {
	m := td.MicroOp{Code: s.Code, Swap: s.Swap, A: s.A, B: s.B}
	switch s.Code {
	case td.MicroActivation:
		m.Function = uint8(s.Function)
	case td.MicroTypeCast:
		code, ok := td.ElementCode(s.Type)
		if !ok {
			return fmt.Errorf("no task can hold %v", s.Type)
		}
		m.Function = code
	case td.MicroEW:
		m.Function = uint8(s.EW)
		switch {
		case s.Operand != nil:
			if a, ok := segment.ConstantScalar(s.Operand); ok {
				m.A = a
				break
			}
			o, err := e.operand(s.Operand)
			if err != nil {
				return err
			}
			m.Source, m.A = e.source(o), 0
		case s.Earlier > 0: // 1 is what stands before the steps, k+2 is step k
			m.Source, m.A = td.FromStep(before+s.Earlier-2), 0
		}
	}
	e.add(m)
	return nil
}

// requantize is round(v/scale) + zero, saturated. In fp32 that is exact for integers of 16 bits or less; pass
// slots takes out others. The slot stands behind the transpose: scale and zero have its axes.
func (e *emission) requantize(q *anec.Requantize) error {
	lo, hi, ok := segment.IntegerRange(q.Type)
	if !ok {
		return fmt.Errorf("an epilogue that quantizes to %v: pass slots takes it out", q.Type)
	}
	view := e.view
	if t := e.Epilogue.Transpose; t != nil {
		view = t.Inverse().Then(e.view)
	}
	if err := e.pairSeen(td.EWDiv, q.Scale, view); err != nil {
		return err
	}
	e.add(td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncRoundNearest)})
	if q.Zero != nil {
		if err := e.pairSeen(td.EWAdd, q.Zero, view); err != nil {
			return err
		}
	}
	e.number(td.EWMax, lo)
	e.number(td.EWMin, hi)
	return nil
}

// roundToOutputType rounds to the nearest integer where the layer says that a float is stored as one: the store
// would cut off the fraction.
func (e *emission) roundToOutputType() error {
	if !e.OutputType.IsInteger() || e.Kind() == anec.KindTypeCast {
		return nil
	}
	if n := len(e.Epilogue.Steps); n > 0 {
		if last := &e.Epilogue.Steps[n-1]; last.Code == td.MicroTypeCast && last.Type.IsInteger() {
			return nil // an integer already
		}
	}
	natural := *e.Layer
	natural.OutputType = tensor.Invalid
	types, err := natural.TopTypes()
	if err != nil {
		return err
	}
	if types[0].DType.IsFloat() {
		e.add(td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncRoundNearest)})
	}
	return nil
}
