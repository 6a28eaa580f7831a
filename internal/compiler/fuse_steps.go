package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What the epilogue of a task holds.
const (
	maxOperands = 8
	maxSteps    = 16
)

// A script is an elementwise layer written as steps. The first loads a value, whatever v was before:
//
//	%y = anec.sub(%x, %z) | post relu
//
//	load %x | ew Sub %z | act relu
//
// Steps count each other from 2 on, as those of an epilogue do: Earlier=2 is the loaded value.
type script struct {
	steps []anec.Step
	dims  anec.Dims        // of the values
	quant *anec.Requantize // at the end
}

// scriptOf writes a layer as steps, epilogue and all, but for its transpose. It fails for a layer that is more than
// elementwise, or that works on integers, of which fp32 does not hold all.
func scriptOf(l *anec.Layer) (script, bool) {
	e := &l.Epilogue
	if len(l.Tops) != 1 || e.Texture != nil || e.Broadcast != (anec.Dims{}) {
		return script{}, false
	}
	s := script{dims: l.Top().Type.Dims, quant: e.Quant}
	if e.Transpose != nil {
		s.dims = e.Transpose.Inverse().Apply(s.dims)
	}
	if !s.base(l) || !inFloats(l) {
		return script{}, false
	}
	if s.quant != nil && !e.Empty() && e.Quant == nil {
		return script{}, false // a Quant layer with an epilogue of its own
	}
	s.activation(e.Pre)
	if e.GOC != nil {
		s.gainOffset(e.GOC.Gain, e.GOC.Offset)
	}
	s.activation(e.Post)
	before := len(s.steps) - 1
	for _, step := range e.Steps {
		if step.Earlier > 0 {
			step.Earlier += before + 1
		}
		s.steps = append(s.steps, step)
	}
	return s, true
}

// inFloats reports whether a layer that is elementwise reads and makes only what fp32 holds: floats and bools. Only
// a cast to a float may read integers, and only a quantization makes them.
func inFloats(l *anec.Layer) bool {
	for i, v := range l.Reads() {
		if !isExact(v.Type.DType) && !(i == 0 && l.Kind() == anec.KindTypeCast) && !readsZero(l, v) {
			return false
		}
	}
	return isExact(l.Top().Type.DType) || l.Epilogue.Quant != nil || l.Kind() == anec.KindQuant
}

// readsZero reports whether a value is the zero of a quantization, which is small enough for fp32.
func readsZero(l *anec.Layer, v *anec.Value) bool {
	if q := l.Epilogue.Quant; q != nil && q.Zero == v {
		return true
	}
	return l.Kind() == anec.KindQuant && len(l.Bottoms) > 2 && l.Bottoms[2] == v
}

// isExact reports whether fp32 holds the values of a type: floats, as far as tasks compute with them, and bool.
func isExact(d tensor.DType) bool { return d.IsFloat() && d != tensor.Float64 || d == tensor.Bool }

// base begins with what the kind does.
func (s *script) base(l *anec.Layer) bool {
	if len(l.Bottoms) == 0 {
		return false
	}
	x := l.Bottoms[0]
	switch p := l.Params.(type) {
	case *anec.ElementWise:
		if p.Type.Unary() {
			s.load(x)
			s.add(anec.Step{Code: td.MicroEW, EW: p.Type})
			return true
		}
		s.pair(p.Type, x, l.Bottoms[1])
	case *anec.ScaledElementWise:
		kind, ok := scaledKinds[p.Type]
		if !ok {
			return false
		}
		s.pair(kind, x, l.Bottoms[1])
		if p.Scale != 1 {
			s.add(anec.Step{Code: td.MicroEW, EW: td.EWMult, A: p.Scale})
		}
	case *anec.Neuron:
		s.load(x)
		if len(l.Bottoms) > 1 {
			s.prelu(x, l.Bottoms[1])
			return true
		}
		s.activation(&anec.Activation{Function: p.Type, A: p.A, B: p.B})
	case *anec.GOC:
		s.load(x)
		s.scaleBias(p.Scale, p.Bias, segment.Bottom(l, 1), segment.Bottom(l, 2))
	case *anec.DynamicGOC:
		s.load(x)
		for i, k := range []td.EWKind{td.EWAdd, td.EWMult} { // the sum comes first
			if v := segment.Bottom(l, 2-i); v != nil {
				s.second(k, v, false)
			}
		}
	case *anec.Copy, *anec.Alias:
		s.load(x)
	case *anec.Dropout:
		s.load(x)
		return p.Rate == 0
	case *anec.TypeCast:
		s.load(x)
		if p.To == tensor.Bool && x.Type.DType != tensor.Bool {
			s.add(anec.Step{Code: td.MicroEW, EW: td.EWNotEqualZero})
			return x.Type.DType.IsFloat()
		}
	case *anec.Quant:
		scale, zero := l.Bottoms[1], segment.Bottom(l, 2)
		if _, _, ok := segment.IntegerRange(p.To); !ok || !isPerChannel(scale, s.dims) || zero != nil && !isPerChannel(zero, s.dims) {
			return false
		}
		s.load(x)
		s.quant = &anec.Requantize{Type: p.To, Scale: scale, Zero: zero}
	default:
		return false
	}
	return true
}

// scaledKinds are the scaled elementwise kinds that a step has.
var scaledKinds = map[td.ScaledEWKind]td.EWKind{
	td.ScaledAdd: td.EWAdd, td.ScaledMult: td.EWMult, td.ScaledMax: td.EWMax, td.ScaledMin: td.EWMin,
}

// isPerChannel reports whether a value has one element, or one for each channel of the extents.
func isPerChannel(v *anec.Value, dims anec.Dims) bool {
	d := v.Type.Dims
	return d == anec.Dims{1, 1, 1, 1, 1} || d == anec.Dims{1, 1, dims[anec.C], 1, 1}
}

func (s *script) add(step anec.Step) { s.steps = append(s.steps, step) }

// load takes a value in the place of v: None of two values is the first.
func (s *script) load(x *anec.Value) {
	s.add(anec.Step{Code: td.MicroEW, EW: td.EWNone, Operand: x, Swap: true})
}

// with is the script with other operands.
func (s script) with(other map[*anec.Value]*anec.Value) script {
	s.steps = slices.Clone(s.steps)
	for i := range s.steps {
		if o := other[s.steps[i].Operand]; o != nil {
			s.steps[i].Operand = o
		}
	}
	return s
}

// isLoad reports whether a step forgets v.
func isLoad(s *anec.Step) bool { return s.Code == td.MicroEW && s.EW == td.EWNone && s.Swap }

// second combines v with a value. A constant of one element is a number of the step.
func (s *script) second(k td.EWKind, v *anec.Value, swap bool) {
	step := anec.Step{Code: td.MicroEW, EW: k, Swap: swap}
	if a, ok := segment.ConstantScalar(v); ok {
		step.A = a
	} else {
		step.Operand = v
	}
	s.add(step)
}

func (s *script) pair(k td.EWKind, x, z *anec.Value) {
	if _, number := segment.ConstantScalar(x); number {
		s.load(z)
		s.second(k, x, true)
		return
	}
	s.load(x)
	s.second(k, z, false)
}

func (s *script) activation(a *anec.Activation) {
	if a != nil && a.Function != td.FuncNone {
		s.add(anec.Step{Code: td.MicroActivation, Function: a.Function, A: a.A, B: a.B})
	}
}

func (s *script) gainOffset(gain, offset *anec.Value) { s.scaleBias(1, 0, gain, offset) }

// scaleBias is v*scale + bias, where values take the places of numbers.
func (s *script) scaleBias(scale, bias float32, gain, offset *anec.Value) {
	switch {
	case gain != nil:
		s.second(td.EWMult, gain, false)
	case scale != 1:
		s.add(anec.Step{Code: td.MicroEW, EW: td.EWMult, A: scale})
	}
	switch {
	case offset != nil:
		s.second(td.EWAdd, offset, false)
	case bias != 0:
		s.add(anec.Step{Code: td.MicroEW, EW: td.EWAdd, A: bias})
	}
}

// prelu is max(x, 0) + slope*min(x, 0), with a slope for each channel.
func (s *script) prelu(x, slope *anec.Value) {
	s.activation(&anec.Activation{Function: td.FuncReLU})
	relu := len(s.steps) + 1
	s.load(x)
	s.add(anec.Step{Code: td.MicroEW, EW: td.EWMin})
	s.second(td.EWMult, slope, false)
	s.add(anec.Step{Code: td.MicroEW, EW: td.EWAdd, Earlier: relu})
}

// jumps reports whether a step is not continuous: a small difference in v, such as that between a value and what
// it is rounded to when it is stored, may be a large one after it.
func jumps(s *anec.Step) bool {
	switch s.Code {
	case td.MicroActivation:
		return jumpingFunctions[s.Function]
	case td.MicroEW:
		return jumpingKinds[s.EW]
	}
	return false
}

var jumpingFunctions = segment.SetOf(td.FuncDirac, td.FuncInt, td.FuncFrac, td.FuncSign, td.FuncEqualZero, td.FuncNotEqualZero,
	td.FuncLessThanZero, td.FuncLessThanEqualZero, td.FuncGreaterThanEqualZero, td.FuncGreaterThanZero,
	td.FuncRoundNearest, td.FuncTrunc, td.FuncFloor, td.FuncCeil, td.FuncThresholdedReLU)

var jumpingKinds = segment.SetOf(td.EWEqualZero, td.EWNotEqualZero, td.EWLessThanZero, td.EWLessThanEqualZero,
	td.EWGreaterThanEqualZero, td.EWGreaterThanZero, td.EWEqual, td.EWNotEqual, td.EWLessThan, td.EWLessThanEqual,
	td.EWGreaterThan, td.EWGreaterThanEqual, td.EWFloorDiv, td.EWMod, td.EWAnd, td.EWOr, td.EWXor)

// tighten makes one step of a product with a number and a sum with a number after it, where nothing else reads
// the product.
//
//	ew Mult 2 | ew Add 1
//
//	scale 2 1
func tighten(steps []anec.Step) []anec.Step {
	for i := 0; i+1 < len(steps); i++ {
		a, b := &steps[i], &steps[i+1]
		if !isNumber(a, td.EWMult) || !isNumber(b, td.EWAdd) || b.A == 0 || reads(steps, i+2) {
			continue
		}
		*a = anec.Step{Code: td.MicroScaleBias, A: a.A, B: b.A}
		steps = slices.Delete(steps, i+1, i+2)
		for k := range steps {
			if steps[k].Earlier > i+2 {
				steps[k].Earlier--
			}
		}
	}
	return steps
}

// isNumber reports whether a step combines v with a number.
func isNumber(s *anec.Step, k td.EWKind) bool {
	return s.Code == td.MicroEW && s.EW == k && s.Operand == nil && s.Earlier == 0
}

// reads reports whether a step reads an earlier value by its number.
func reads(steps []anec.Step, earlier int) bool {
	return slices.ContainsFunc(steps, func(s anec.Step) bool { return s.Earlier == earlier })
}

// fits reports whether a task holds a layer: its operands and its steps.
func fits(l *anec.Layer) bool {
	c := &l.Info().Contract
	e := &l.Epilogue
	var operands []*anec.Value
	need := func(v *anec.Value) {
		if v == nil || slices.Contains(operands, v) {
			return
		}
		if _, number := segment.ConstantScalar(v); !number {
			operands = append(operands, v)
		}
	}
	steps := len(e.Steps)
	if e.Pre != nil {
		steps++
	}
	if e.GOC != nil {
		steps += 2
		need(e.GOC.Gain)
		need(e.GOC.Offset)
	}
	if e.Post != nil {
		steps++
	}
	for i := range e.Steps {
		need(e.Steps[i].Operand)
	}
	if e.Quant != nil {
		steps += 5 // quotient, round, zero, both ends of the range
		need(e.Quant.Scale)
		need(e.Quant.Zero)
	}
	if l.Kind() == anec.KindLinear { // its bias is a step
		steps++
	}
	return steps <= maxSteps && len(c.Tops)+len(c.Bottoms)+len(operands) <= maxOperands
}
