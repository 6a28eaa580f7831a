package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// An after is what a layer does with its result, as far as one task can: act(v*scale + offset), or a bias for each
// channel.
type after struct {
	scale, offset float32
	bias          *anec.Value
	act           *anec.Activation
}

// afterButTranspose reads a layer's epilogue but its transpose, if it is of this form.
func afterButTranspose(l *anec.Layer) (after, *diag.Reason) {
	a := after{scale: 1}
	e := &l.Epilogue
	if why := numbersOnly(e); why != nil {
		return a, why
	}
	if l.OutputType != tensor.Invalid {
		return a, otherResult(l)
	}
	if e.Pre != nil {
		if e.GOC != nil || e.Post != nil || len(e.Steps) > 0 {
			return a, diag.Decline(diag.NativeEpilogue, "more follows %v, with which a task ends", e.Pre.Function)
		}
		a.act = e.Pre
		return a, nil
	}
	if g := e.GOC; g != nil {
		if why := a.multiply(g.Gain); why != nil {
			return a, why
		}
		if why := a.add(g.Offset); why != nil {
			return a, why
		}
	}
	a.act = e.Post
	for i := range e.Steps {
		if why := a.step(&e.Steps[i]); why != nil {
			return a, why
		}
	}
	return a, nil
}

// numbersOnly declines an epilogue that does more than to compute with each element. Its transpose is another question.
func numbersOnly(e *anec.Epilogue) *diag.Reason {
	if e.Texture != nil || e.Broadcast != (anec.Dims{}) || e.Quant != nil {
		return diag.Decline(diag.NativeEpilogue, "after the layer there is %s, for which no task is known",
			slotOf(&anec.Epilogue{Texture: e.Texture, Broadcast: e.Broadcast, Quant: e.Quant}))
	}
	return nil
}

// otherResult declines a layer that says of what type its result is.
func otherResult(l *anec.Layer) *diag.Reason {
	return diag.Decline(diag.NativeType, "the layer is to make its result %v, and its tasks convert nothing", l.OutputType)
}

// behind declines a scale or an offset behind what a task does later.
func (a *after) behind(what string) *diag.Reason {
	switch {
	case a.act != nil:
		return diag.Decline(diag.NativeEpilogue, "%s follows %v, with which a task ends", what, a.act.Function)
	case a.offset != 0 || a.bias != nil:
		return diag.Decline(diag.NativeEpilogue, "%s follows an offset or bias; a task multiplies, adds once, and then has a function", what)
	}
	return nil
}

func (a *after) multiply(v *anec.Value) *diag.Reason {
	if v == nil {
		return nil
	}
	s, ok := scalarHalf(v)
	if !ok {
		return diag.Decline(diag.NativeEpilogue, "the result is multiplied with %q %v; the scale of a task is one constant number", v.Name, v.Type.Dims)
	}
	if why := a.behind("a scale"); why != nil {
		return why
	}
	a.scale = tensor.RoundF16(a.scale * tensor.F16(s))
	return nil
}

func (a *after) add(v *anec.Value) *diag.Reason {
	if v == nil {
		return nil
	}
	if why := a.behind("an offset"); why != nil {
		return why
	}
	if s, ok := scalarHalf(v); ok {
		a.offset = tensor.F16(s)
		return nil
	}
	if v.Const == nil {
		return liveStep(td.EWAdd, v)
	}
	a.bias = v
	return nil
}

func (a *after) step(s *anec.Step) *diag.Reason {
	switch {
	case s.Earlier != 0:
		return earlierStep(s)
	case s.Swap:
		return diag.Decline(diag.NativeEpilogue, "the result is the second operand of %v", s.EW)
	case a.act != nil:
		return diag.Decline(diag.NativeEpilogue, "%v follows %v, with which a task ends", s.Code, a.act.Function)
	}
	number := s.Operand == nil
	switch {
	case s.Code == td.MicroActivation:
		a.act = &anec.Activation{Function: s.Function, A: s.A, B: s.B}
		return nil
	case s.Code == td.MicroScaleBias && a.scale == 1 && a.offset == 0 && a.bias == nil:
		a.scale, a.offset = s.A, s.B
		return nil
	case s.Code == td.MicroScaleBias:
		return diag.Decline(diag.NativeEpilogue, "a scale and offset follow others; a task has one of each")
	case s.Code == td.MicroEW && s.EW == td.EWMult && number:
		why := a.behind("a scale")
		a.scale *= s.A
		return why
	case s.Code == td.MicroEW && s.EW == td.EWMult:
		return a.multiply(s.Operand)
	case s.Code == td.MicroEW && s.EW == td.EWAdd && number:
		why := a.behind("an offset")
		a.offset = s.A
		return why
	case s.Code == td.MicroEW && s.EW == td.EWAdd:
		return a.add(s.Operand)
	}
	return otherStep(s)
}

// earlierStep declines a step that goes back to what an earlier one made: tasks of a chain have one value at a time.
func earlierStep(s *anec.Step) *diag.Reason {
	return diag.Decline(diag.NativeEpilogue, "%v takes what an earlier step made, and tasks pass one value on", s.EW)
}

// liveStep declines a step with a live operand: the array reads one tensor, and the planar engine two.
func liveStep(kind td.EWKind, v *anec.Value) *diag.Reason {
	return diag.Decline(diag.NativeEpilogue, "%v takes %q, which is live; epilogues of tasks have constants", kind, v.Name)
}

// otherStep declines a step that no task has.
func otherStep(s *anec.Step) *diag.Reason {
	switch {
	case s.Code != td.MicroEW:
		return diag.Decline(diag.NativeEpilogue, "no task has %v as a step after it", s.Code)
	case s.Operand != nil && s.Operand.Const == nil:
		return liveStep(s.EW, s.Operand)
	}
	return diag.Decline(diag.NativeEpilogue, "no task has %v as a step after it", s.EW)
}

// afterProduct reads the epilogue of a product. That its result is fp16 goes without saying.
func afterProduct(l *anec.Layer) (after, anec.Perm, *diag.Reason) {
	plain := *l
	if l.OutputType == tensor.Float16 {
		plain.OutputType = tensor.Invalid
	}
	perm := anec.Identity
	if l.Epilogue.Transpose != nil {
		perm = *l.Epilogue.Transpose
	}
	after, why := afterButTranspose(&plain)
	return after, perm, why
}
