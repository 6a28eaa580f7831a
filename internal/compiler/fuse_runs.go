package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// fuseRuns makes one layer of a layer and the elementwise layers after it. Values between them are never stored:
// they stay fp32.
//
//	%a = anec.convolution(%x, %w)
//	%s = anec.sigmoid(%a)
//	%m = anec.multiply(%a, %s)
//	%y = anec.add(%m, %r)
//
//	%y = anec.convolution(%x, %w) | act sigmoid | ew Mult #0 | ew Add %r
//
// It goes from the outputs to the inputs. A layer swallows the producer of a value that it reads if nobody else
// reads the value, so whole graphs of elementwise layers end as one, whichever way their values go: what the
// producer made is an earlier value, which any number of steps may read.
//
// Where the value comes through reshapes or transposes, the layer moves before them.
//
// An integer is never one of the values between, for fp32 does not hold all of them.
//
// Where the target has no runs, a layer swallows its producer only if slots take all that follows: see fuse_slots.go. It
// goes from the inputs then, for slots fill in the order in which they act.
func fuseRuns(s *segment.Segment) error {
	f := newFusion(s)
	order := s.Graph.Order()
	if s.Target.Ways.ElementwiseRuns {
		slices.Reverse(order)
	}
	for _, l := range order {
		for f.swallow(l) {
		}
	}
	s.Graph.Sweep()
	f.tidy() // views that stand side by side now
	s.Graph.Sweep()
	return f.err
}

// takesSteps reports whether steps can follow in the epilogue of a layer. With them, a class that can compute in
// integers would compute in fp32.
func (f *fusion) takesSteps(l *anec.Layer) bool {
	if l.Info().Integers == anec.Yes && !inFloats(l) {
		return false
	}
	if l.Kind() == anec.KindTypeCast && l.Top().Type.DType == tensor.Bool && l.Bottoms[0].Type.DType.IsInteger() {
		return false // it is the store that makes a bool of an integer, and steps come before
	}
	return f.hasEpilogue(l) && len(l.Tops) == 1 && isExact(l.Top().Type.DType) &&
		l.Epilogue.Transpose == nil && l.Epilogue.Quant == nil
}

// swallow puts one producer before the elementwise layer e. Elementwise producers go first, because those of
// another kind end the run.
func (f *fusion) swallow(e *anec.Layer) bool {
	if f.gone[e] || f.err != nil {
		return false
	}
	s, ok := scriptOf(e)
	if !ok {
		return false
	}
	var others []*anec.Layer
	for _, v := range e.Reads() {
		p := v.Def
		if p == nil || f.gone[p] || !f.readBy(v, e) || v.Type.Dims != s.dims || !f.takesSteps(p) || !f.canDelay(p) {
			continue
		}
		if _, elementwise := scriptOf(p); !elementwise {
			others = append(others, p)
		} else if f.merge(p, e, s) {
			return true
		}
	}
	slices.SortStableFunc(others, func(a, b *anec.Layer) int { return a.ID - b.ID })
	for _, p := range others {
		if f.merge(p, e, s) {
			return true
		}
	}
	return f.moveBeforeViews(e, s)
}

// merge makes of e the layer p with e's steps, if a task holds it.
func (f *fusion) merge(p, e *anec.Layer, s script) bool {
	if q := s.quant; q != nil && (q.Scale == p.Top() || q.Zero == p.Top()) {
		return false
	}
	m := f.basis(p)
	m.Epilogue.Steps = follow(m.Epilogue.Steps, s, p.Top())
	m.Epilogue.Quant = s.quant
	m.Epilogue.Transpose = e.Epilogue.Transpose
	out := e.Top().Type.DType
	if !f.holds(&m, p.Top().Type.Dims) || out != p.Top().Type.DType && s.quant == nil && !f.target.Ways.ElementwiseRuns {
		return false
	}
	if s.quant != nil || out == naturalType(&m, p) {
		out = tensor.Invalid
	}
	f.check(f.Edit(e, func(l *anec.Layer) {
		l.Params, l.Bottoms, l.Epilogue, l.OutputType = m.Params, slices.Clone(m.Bottoms), m.Epilogue, out
		l.Origin = segment.JoinOrigins(p.Origin, e.Origin)
	}))
	f.discard(p)
	return true
}

// naturalType is the element type that a basis makes if it says nothing; Invalid if that is not clear.
func naturalType(m, p *anec.Layer) tensor.DType {
	switch {
	case m.Kind() == anec.KindCopy:
		return m.Bottoms[0].Type.DType
	case p.OutputType == tensor.Invalid:
		return p.Top().Type.DType
	}
	return tensor.Invalid
}

// basis is a producer to which steps can be added, not yet in the graph. One that is nothing but steps becomes a
// Copy with them:
//
//	GOC(%x, %gain, %offset)
//
//	Copy(%x) | ew Mult %gain | ew Add %offset
//
// A layer that combines two tensors stays what it is, unless one is a constant for gain or offset.
func (f *fusion) basis(p *anec.Layer) anec.Layer {
	m := anec.Layer{Params: p.Params, Bottoms: p.Bottoms, Epilogue: p.Epilogue, OutputType: p.OutputType, Tops: p.Tops}
	m.Epilogue.Steps = slices.Clone(p.Epilogue.Steps)
	s, ok := scriptOf(p)
	if !ok || s.steps[0].Operand.Type.Dims != s.dims {
		return m
	}
	switch p.Kind() {
	case anec.KindElementWise, anec.KindScaledElementWise:
		if len(s.steps) > 1 && s.steps[1].Operand != nil && !f.isAffine(&s.steps[1], s.dims) || len(p.Bottoms) == 1 {
			return m
		}
	}
	m.Params, m.Bottoms = &anec.Copy{}, []*anec.Value{s.steps[0].Operand}
	m.Epilogue = anec.Epilogue{Steps: tighten(withoutLoad(s.steps))}
	return m
}

// withoutLoad are steps that begin with the loaded value in place.
func withoutLoad(steps []anec.Step) []anec.Step {
	rest := slices.Clone(steps[1:])
	for i := range rest {
		if rest[i].Earlier > 0 {
			rest[i].Earlier--
		}
	}
	return rest
}

// follow appends a script to the steps of the layer that makes v. What the script reads of v is then an earlier
// value:
//
//	steps of v   act relu                         act relu
//	script       load %v | ew Mult %z | ew Add %v         ew Mult %z | ew Add #1
//	script       load %z | ew Sub %v              act relu | ew Sub %z swap
//	script       load %z | act tanh | ew Add %v   act relu | load %z | act tanh | ew Add #1
//
// Where a step that is not continuous reads v, v is rounded first to the type that it would have been stored in.
func follow(steps []anec.Step, s script, v *anec.Value) []anec.Step {
	more := slices.Clone(s.steps)
	isV := func(i int) bool { return i < len(more) && more[i].Operand == v }
	inPlace := 0 // 1: the load goes, because its value is in place
	switch {
	case isV(0):
		inPlace = 1
	case len(more) > 1 && isV(1) && !reads(more, 2) && !isLoad(&more[1]):
		more[1].Operand, more[1].Swap = more[0].Operand, !more[1].Swap && !commutes[more[1].EW]
		inPlace = 1
	}
	more = more[inPlace:]
	if v.Type.DType != tensor.Float32 && v.Type.DType != tensor.Bool && jumpsFrom(more, v, inPlace == 1, s.quant != nil) {
		steps = append(steps, anec.Step{Code: td.MicroTypeCast, Type: v.Type.DType})
	}
	made := len(steps)
	for _, step := range more {
		switch {
		case step.Operand == v:
			step.Operand, step.Earlier = nil, made+1
		case step.Earlier > 0:
			step.Earlier += made - inPlace
		}
		steps = append(steps, step)
	}
	return tighten(steps)
}

// commutes has the kinds that do not care for the order of their values.
var commutes = segment.SetOf(td.EWAdd, td.EWMult, td.EWMax, td.EWMin, td.EWEqual, td.EWNotEqual, td.EWAnd, td.EWOr, td.EWXor)

// jumpsFrom reports whether a step that is not continuous, or a quantization, reads v: as the value in place, or as an
// operand.
func jumpsFrom(steps []anec.Step, v *anec.Value, inPlace, quantizes bool) bool {
	for i := range steps {
		first := inPlace && (i == 0 || steps[i].Earlier == 2)
		if jumps(&steps[i]) && (first || steps[i].Operand == v) {
			return true
		}
	}
	return quantizes && len(steps) == 0
}
