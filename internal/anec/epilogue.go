package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// An Epilogue is what a layer does with its result before it is stored. Seven
// slots are Apple's, in the order in which they act (ZinNEBypassLayer, guide
// 22): texture remap, broadcast, activation, gain and offset, activation,
// transpose, requantization. Steps stand between the second activation and the
// transpose; they are for targets that take a second live operand, or runs of
// elementwise layers.
//
// Only layers with one top have one. The zero Epilogue does nothing.
type Epilogue struct {
	Texture   Params // a kind that only moves or resamples the elements of one tensor (guide 22 has the slot, which kinds is ours)
	Broadcast Dims   // extents after; all 0: the slot is empty
	Pre       *Activation
	GOC       *GainOffset
	Post      *Activation
	Steps     []Step
	Transpose *Perm
	Quant     *Requantize
}

// An Activation is a function of one value.
type Activation struct {
	Function td.Function
	A, B     float32 // its constants, as package td says
}

// GainOffset is v*Gain + Offset. Each is missing, or a value of one element, or
// of one for each channel.
type GainOffset struct {
	Gain, Offset *Value
}

// Perm says where the axes come from: axis i of the result is axis Perm[i].
type Perm [NumAxes]td.Axis

// Identity is the permutation that moves nothing.
var Identity = Perm{N, D, C, H, W}

// Valid reports whether every axis occurs once.
func (p Perm) Valid() bool {
	var seen td.Axes
	for _, a := range p {
		if a >= NumAxes || seen.Has(a) {
			return false
		}
		seen |= td.AxesOf(a)
	}
	return true
}

// Apply returns the extents of the result.
func (p Perm) Apply(d Dims) (out Dims) {
	for i, a := range p {
		out[i] = d[a]
	}
	return out
}

// Inverse returns the permutation that undoes p.
func (p Perm) Inverse() (inverse Perm) {
	for i, a := range p {
		inverse[a] = td.Axis(i)
	}
	return inverse
}

// Then returns the permutation that does p and then q.
func (p Perm) Then(q Perm) (both Perm) {
	for i, a := range q {
		both[i] = p[a]
	}
	return both
}

// Requantize is round(v/Scale) + Zero, saturated to an integer type. Scale and
// Zero are of one element or of one for each channel; Zero may be missing.
type Requantize struct {
	Type        tensor.DType
	Scale, Zero *Value
}

// A Step is a micro-operation (see td.MicroOp): one of
//
//	td.MicroScaleBias   v*A + B
//	td.MicroActivation  Function(v), with A and B
//	td.MicroEW          EW(v, second), or EW(second, v) if Swap
//	td.MicroTypeCast    v rounded to Type
//
// The second value is Operand, of the result's extents or 1 along each axis;
// without one it is what an earlier step made, if Earlier says so, else A.
type Step struct {
	Code     td.MicroCode
	Function td.Function
	EW       td.EWKind
	Operand  *Value
	Earlier  int // 0: none; 1: what the slots before made; k+2: what step k made
	Swap     bool
	A, B     float32
	Type     tensor.DType
}

// Empty reports whether the epilogue does nothing.
func (e *Epilogue) Empty() bool {
	return e.Texture == nil && e.Broadcast == Dims{} && e.Pre == nil && e.GOC == nil && e.Post == nil &&
		len(e.Steps) == 0 && e.Transpose == nil && e.Quant == nil
}

// slots are the places that hold what the epilogue reads.
func (e *Epilogue) slots() []**Value {
	var slots []**Value
	if e.GOC != nil {
		slots = append(slots, &e.GOC.Gain, &e.GOC.Offset)
	}
	for i := range e.Steps {
		slots = append(slots, &e.Steps[i].Operand)
	}
	if e.Quant != nil {
		slots = append(slots, &e.Quant.Scale, &e.Quant.Zero)
	}
	return slots
}

// clone returns a copy that shares values and no slots.
func (e *Epilogue) clone() Epilogue {
	c := *e
	c.Pre, c.Post, c.Transpose = copyOf(e.Pre), copyOf(e.Post), copyOf(e.Transpose)
	c.GOC, c.Quant = copyOf(e.GOC), copyOf(e.Quant)
	c.Steps = slices.Clone(e.Steps)
	return c
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// apply returns the type after the epilogue.
func (e *Epilogue) apply(t Type) (Type, error) {
	if e.Texture != nil {
		if e.Texture.Info().TextureSlot != Yes {
			return t, fmt.Errorf("epilogue: %v does not go into the texture slot", e.Texture.Info().Kind)
		}
		types, err := e.Texture.infer(&operands{contract: e.Texture.Info().Contract, types: []Type{t}})
		if err != nil {
			return t, fmt.Errorf("epilogue: %v: %w", e.Texture.Info().Kind, err)
		}
		t = types[0]
	}
	if e.Broadcast != (Dims{}) {
		if err := broadcasts("epilogue: the result", t.Dims, e.Broadcast, allAxes); err != nil {
			return t, err
		}
		t.Dims = e.Broadcast
	}
	for _, a := range []*Activation{e.Pre, e.Post} {
		if a != nil && !a.Function.Valid() {
			return t, fmt.Errorf("epilogue: %v is not known", a.Function)
		}
	}
	if e.GOC != nil {
		if e.GOC.Gain == nil && e.GOC.Offset == nil {
			return t, fmt.Errorf("epilogue: gain and offset are both missing")
		}
		if err := perChannel(t.Dims, "gain", e.GOC.Gain, "offset", e.GOC.Offset); err != nil {
			return t, err
		}
	}
	for i := range e.Steps {
		if err := e.Steps[i].check(i, t.Dims); err != nil {
			return t, fmt.Errorf("epilogue: step %d: %w", i, err)
		}
	}
	if e.Transpose != nil {
		if !e.Transpose.Valid() {
			return t, fmt.Errorf("epilogue: transpose %v is not a permutation", *e.Transpose)
		}
		t.Dims = e.Transpose.Apply(t.Dims)
	}
	if q := e.Quant; q != nil {
		switch {
		case !q.Type.IsInteger():
			return t, fmt.Errorf("epilogue: requantized to %v, want an integer type", q.Type)
		case q.Scale == nil:
			return t, fmt.Errorf("epilogue: requantized without a scale")
		}
		if err := perChannel(t.Dims, "scale", q.Scale, "zero", q.Zero); err != nil {
			return t, err
		}
		t.DType = q.Type
	}
	return t, nil
}

func (s *Step) check(i int, dims Dims) error {
	if s.Code != td.MicroEW && (s.Operand != nil || s.Earlier != 0 || s.Swap) {
		return fmt.Errorf("%v takes no second value", s.Code)
	}
	switch s.Code {
	case td.MicroScaleBias:
	case td.MicroActivation:
		if !s.Function.Valid() {
			return fmt.Errorf("%v is not known", s.Function)
		}
	case td.MicroEW:
		if !s.EW.Valid() {
			return fmt.Errorf("%v is not known", s.EW)
		}
		if s.EW == td.EWSelect {
			return fmt.Errorf("%v takes three values, a step has two", s.EW)
		}
		if s.Operand != nil {
			return broadcasts("operand", s.Operand.Type.Dims, dims, allAxes)
		}
		if s.Earlier < 0 || s.Earlier > i+1 {
			return fmt.Errorf("reads a step that is not before it")
		}
	case td.MicroTypeCast:
		if _, ok := td.ElementCode(s.Type); !ok {
			return fmt.Errorf("no task can hold %v", s.Type)
		}
	default:
		return fmt.Errorf("%v is no step", s.Code)
	}
	return nil
}

// perChannel holds values to one element, or one for each channel.
func perChannel(dims Dims, nameA string, a *Value, nameB string, b *Value) error {
	for i, v := range []*Value{a, b} {
		if v == nil {
			continue
		}
		if d := v.Type.Dims; d != (Dims{1, 1, 1, 1, 1}) && d != (Dims{1, 1, dims[C], 1, 1}) {
			return fmt.Errorf("epilogue: %s has extents %v, want one element or %d along C", []string{nameA, nameB}[i], d, dims[C])
		}
	}
	return nil
}
