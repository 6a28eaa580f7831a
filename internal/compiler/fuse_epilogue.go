package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// fuseEpilogue moves the first steps into the operands and slots that are made for them: a bias, an activation, a
// gain and an offset for each channel, another activation.
//
//	Conv(%x, %w) | ew Add %b | ew Mult %g | ew Add %o | act relu | ew Add %r
//
//	Conv(%x, %w, %b) | goc %g %o | post relu | ew Add %r
//
// What a later step reads again stays a step.
func fuseEpilogue(s *segment.Segment) error {
	f := newFusion(s)
	for _, l := range s.Graph.Order() {
		if len(l.Epilogue.Steps) > 0 {
			f.check(f.Edit(l, func(l *anec.Layer) {
				dims := l.Top().Type.Dims
				if t := l.Epilogue.Transpose; t != nil {
					dims = t.Inverse().Apply(dims)
				}
				f.fillSlots(l, dims, f.number)
			}))
		}
	}
	s.Graph.Sweep()
	return f.err
}

// number is a constant of one element, for a slot.
func (f *fusion) number(a float32) *anec.Value { return f.constant("number", numberConstant(a)) }

func numberConstant(a float32) *anec.Constant {
	return anec.ConstantOf(tensor.Of([]float32{a}, 1, 1, 1, 1, 1))
}

// fillSlots moves steps until one has no slot. The extents are those of the result before it is transposed.
func (f *fusion) fillSlots(l *anec.Layer, dims anec.Dims, number func(float32) *anec.Value) {
	e := &l.Epilogue
	for len(e.Steps) > 0 && !reads(e.Steps, 1) && f.fillSlot(l, &e.Steps[0], dims, number) {
		e.Steps = withoutLoad(e.Steps)
	}
	if len(e.Steps) == 0 {
		e.Steps = nil
	}
}

// fillSlot puts the first step where it belongs.
func (f *fusion) fillSlot(l *anec.Layer, s *anec.Step, dims anec.Dims, number func(float32) *anec.Value) bool {
	e := &l.Epilogue
	if s.Code == td.MicroActivation {
		if e.Post != nil || !f.slotTakes(l, s.Function) {
			return false
		}
		e.Post = &anec.Activation{Function: s.Function, A: s.A, B: s.B}
		return true
	}
	if s.Code == td.MicroEW && s.EW == td.EWAdd && s.Operand != nil && takesBias(l, s.Operand) {
		l.Bottoms = append(slices.Clone(l.Bottoms), s.Operand)
		return true
	}
	a, ok := f.affineOf(l, s, dims)
	if !ok {
		return false
	}
	if e.GOC != nil && (e.Post != nil || a.hasGain() || e.GOC.Offset != nil) {
		return false
	}
	// After an activation, the slots go on only if it can be the one before gain and offset.
	if e.Post != nil {
		if e.Pre != nil || !f.target.Ways.PreActivation || f.isPlanar(l) {
			return false
		}
		e.Pre, e.Post = e.Post, nil
	}
	var goc anec.GainOffset
	if e.GOC != nil {
		goc = *e.GOC
	}
	if a.scale != 1 {
		a.gain = number(a.scale)
	}
	if a.bias != 0 {
		a.offset = number(a.bias)
	}
	if a.gain != nil {
		goc.Gain = a.gain
	}
	if a.offset != nil {
		goc.Offset = a.offset
	}
	e.GOC = &goc
	return true
}

// takesBias reports whether a constant can be the bias of a layer that has none, and has done nothing with its
// result yet.
func takesBias(l *anec.Layer, b *anec.Value) bool {
	var axis td.Axis
	switch p := l.Params.(type) {
	case *anec.Conv:
		axis = anec.C
	case *anec.Linear:
		axis = p.Axis
	default:
		return false
	}
	e := &l.Epilogue
	return b.Const != nil && len(l.Bottoms) == 2 && e.Texture == nil && e.Broadcast == (anec.Dims{}) &&
		e.Pre == nil && e.GOC == nil && e.Post == nil && b.Type.Dims == anec.Dims{1, 1, 1, 1, 1}.With(axis, outputs(l))
}

// outputs is the number of output channels of a Conv or a Linear.
func outputs(l *anec.Layer) int {
	w := l.Bottoms[1].Type.Dims
	switch p := l.Params.(type) {
	case *anec.Conv:
		if p.Transposed {
			return w[anec.C] * p.Groups
		}
		return w[anec.N]
	default:
		return w[anec.H]
	}
}
