package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// fuseEpilogue moves the first steps into the operands and slots that are made for them: a bias, an activation, a
// gain and an offset for each channel, another activation.
//
//	Conv(%x, %w) | ew Add %b | ew Mult %g | ew Add %o | act relu | ew Add %r
//
//	Conv(%x, %w, %b) | goc %g %o | post relu | ew Add %r
//
// What a later step reads again stays a step.
func fuseEpilogue(s *Segment) error {
	f := newFusion(s.Graph)
	for _, l := range s.Graph.Order() {
		if len(l.Epilogue.Steps) > 0 {
			f.check(f.Edit(l, fillSlots))
		}
	}
	s.Graph.Sweep()
	return f.err
}

func fillSlots(l *anec.Layer) {
	e := &l.Epilogue
	dims := l.Top().Type.Dims
	if e.Transpose != nil {
		dims = e.Transpose.Inverse().Apply(dims)
	}
	for len(e.Steps) > 0 && !reads(e.Steps, 1) && fillSlot(l, &e.Steps[0], dims) {
		e.Steps = withoutLoad(e.Steps)
	}
	if len(e.Steps) == 0 {
		e.Steps = nil
	}
}

// fillSlot puts the first step where it belongs.
func fillSlot(l *anec.Layer, s *anec.Step, dims anec.Dims) bool {
	e := &l.Epilogue
	switch {
	case s.Code == td.MicroActivation && e.Post == nil:
		e.Post = &anec.Activation{Function: s.Function, A: s.A, B: s.B}
		return true
	case s.Code != td.MicroEW || s.Operand == nil:
		return false
	case s.EW == td.EWAdd && takesBias(l, s.Operand):
		l.Bottoms = append(slices.Clone(l.Bottoms), s.Operand)
		return true
	case !isPerChannel(s.Operand, dims):
		return false
	}
	// After an activation, the slots go on only if it can be the one before gain and offset.
	if e.Post != nil {
		if e.Pre != nil || e.GOC != nil || s.EW != td.EWMult && s.EW != td.EWAdd {
			return false
		}
		e.Pre, e.Post = e.Post, nil
	}
	switch {
	case s.EW == td.EWMult && e.GOC == nil:
		e.GOC = &anec.GainOffset{Gain: s.Operand}
		return true
	case s.EW == td.EWAdd && e.GOC == nil:
		e.GOC = &anec.GainOffset{Offset: s.Operand}
		return true
	case s.EW == td.EWAdd && e.GOC.Offset == nil:
		e.GOC = &anec.GainOffset{Gain: e.GOC.Gain, Offset: s.Operand}
		return true
	}
	return false
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
