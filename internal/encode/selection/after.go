package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
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

// afterButTranspose reads a layer's epilogue but its transpose; false if it is not of this form.
func afterButTranspose(l *anec.Layer) (after, bool) {
	a := after{scale: 1}
	e := &l.Epilogue
	if e.Texture != nil || e.Broadcast != (anec.Dims{}) || e.Quant != nil || l.OutputType != tensor.Invalid {
		return a, false
	}
	if e.Pre != nil {
		if e.GOC != nil || e.Post != nil || len(e.Steps) > 0 {
			return a, false
		}
		a.act = e.Pre
		return a, true
	}
	if g := e.GOC; g != nil {
		if !a.multiply(g.Gain) || !a.add(g.Offset) {
			return a, false
		}
	}
	a.act = e.Post
	for i := range e.Steps {
		if !a.step(&e.Steps[i]) {
			return a, false
		}
	}
	return a, true
}

func (a *after) multiply(v *anec.Value) bool {
	if v == nil {
		return true
	}
	s, ok := scalarHalf(v)
	if !ok || a.offset != 0 || a.bias != nil || a.act != nil {
		return false
	}
	a.scale = tensor.RoundF16(a.scale * tensor.F16(s))
	return true
}

func (a *after) add(v *anec.Value) bool {
	if v == nil {
		return true
	}
	if a.offset != 0 || a.bias != nil || a.act != nil {
		return false
	}
	if s, ok := scalarHalf(v); ok {
		a.offset = tensor.F16(s)
		return true
	}
	if v.Const == nil {
		return false
	}
	a.bias = v
	return true
}

func (a *after) step(s *anec.Step) bool {
	if s.Earlier != 0 || s.Swap || a.act != nil {
		return false
	}
	number := s.Operand == nil
	switch {
	case s.Code == td.MicroActivation:
		a.act = &anec.Activation{Function: s.Function, A: s.A, B: s.B}
		return true
	case s.Code == td.MicroScaleBias && a.scale == 1 && a.offset == 0 && a.bias == nil:
		a.scale, a.offset = s.A, s.B
		return true
	case s.Code == td.MicroEW && s.EW == td.EWMult && number:
		ok := a.offset == 0 && a.bias == nil
		a.scale *= s.A
		return ok
	case s.Code == td.MicroEW && s.EW == td.EWMult:
		return a.multiply(s.Operand)
	case s.Code == td.MicroEW && s.EW == td.EWAdd && number:
		ok := a.offset == 0 && a.bias == nil
		a.offset = s.A
		return ok
	case s.Code == td.MicroEW && s.EW == td.EWAdd:
		return a.add(s.Operand)
	}
	return false
}

// afterProduct reads the epilogue of a product. That its result is fp16 goes without saying.
func afterProduct(l *anec.Layer) (after, anec.Perm, bool) {
	plain := *l
	if l.OutputType == tensor.Float16 {
		plain.OutputType = tensor.Invalid
	}
	perm := anec.Identity
	if l.Epilogue.Transpose != nil {
		perm = *l.Epilogue.Transpose
	}
	after, ok := afterButTranspose(&plain)
	return after, perm, ok
}
