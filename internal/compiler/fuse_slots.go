package compiler

import (
	"math"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// What joins a layer on targets without runs: only what a slot of the epilogue takes. The slots are gain and offset,
// which are constants, and the activations around them. The guard of Apple's pass ScaledEWOrEWWithConstInToGOC is the
// line between both: exactly one live operand and one constant.
//
//	%a = anec.convolution(%x, %w)                           %y = anec.convolution(%x, %w, %b) | post relu
//	%b = anec.add(%a, %bias)
//	%y = anec.relu(%b)
//
//	%a = anec.convolution(%x, %w)                           as before
//	%y = anec.add(%a, %z)
//
// A layer on the planar engine has fewer: one number for gain, one for offset, and relu. But it can take the relu of one
// of its two operands as it reads it, which one layer says so:
//
//	%r = anec.relu(%x)                   %y = anec.copy(%x) | post relu | ew Add %z
//	%y = anec.add(%r, %z)

// hasEpilogue reports whether a layer's kind has an epilogue on the target.
func (f *fusion) hasEpilogue(l *anec.Layer) bool {
	if f.target.Ways.ElementwiseRuns {
		return l.Info().Epilogue.Steps()
	}
	return l.Info().Epilogue.Slots()
}

// isPlanar reports whether a layer's epilogue is that of the planar engine.
func (f *fusion) isPlanar(l *anec.Layer) bool {
	return f.target.Ways.PlanarSlots && l.Info().Epilogue == anec.EpiloguePlanar
}

// slotTakes reports whether an activation slot has a function.
func (f *fusion) slotTakes(l *anec.Layer, function td.Function) bool {
	return !f.isPlanar(l) || function == td.FuncReLU
}

// An affine is v*gain + offset, where each is a value or a number.
type affine struct {
	gain, offset *anec.Value
	scale, bias  float32
}

func (a *affine) hasGain() bool { return a.gain != nil || a.scale != 1 }

// affineOf reads a step as gain and offset. A target with runs has steps for numbers.
func (f *fusion) affineOf(l *anec.Layer, s *anec.Step, dims anec.Dims) (a affine, ok bool) {
	a.scale = 1
	runs := f.target.Ways.ElementwiseRuns
	if o := s.Operand; o != nil {
		if s.Code != td.MicroEW || !isPerChannel(o, dims) || !runs && o.Const == nil || f.isPlanar(l) {
			return a, false
		}
		switch s.EW {
		case td.EWMult:
			a.gain = o
		case td.EWAdd:
			a.offset = o
		default:
			return a, false
		}
		return a, true
	}
	if runs || s.Earlier != 0 {
		return a, false
	}
	switch {
	case s.Code == td.MicroScaleBias:
		a.scale, a.bias = s.A, s.B
	case isNumber(s, td.EWMult):
		a.scale = s.A
	case isNumber(s, td.EWDiv) && !s.Swap && isPowerOfTwo(s.A): // else 1/A is not exact
		a.scale = 1 / s.A
	case isNumber(s, td.EWAdd):
		a.bias = s.A
	case isNumber(s, td.EWSub) && s.Swap:
		a.scale, a.bias = -1, s.A
	case isNumber(s, td.EWSub):
		a.bias = -s.A
	}
	return a, a.scale != 1 || a.bias != 0
}

// isAffine reports whether a step combines with a constant that gain or offset takes, on a target without runs.
func (f *fusion) isAffine(s *anec.Step, dims anec.Dims) bool {
	_, ok := f.affineOf(copyLayer, s, dims)
	return ok && !f.target.Ways.ElementwiseRuns
}

var copyLayer = &anec.Layer{Params: &anec.Copy{}}

func isPowerOfTwo(a float32) bool {
	fraction, _ := math.Frexp(math.Abs(float64(a)))
	return fraction == 0.5
}

// holds reports whether a task of the target holds a layer whose steps are still to be moved into slots.
func (f *fusion) holds(m *anec.Layer, dims anec.Dims) bool {
	if f.target.Ways.ElementwiseRuns {
		return fits(m)
	}
	trial := *m
	f.fillSlots(&trial, dims, func(a float32) *anec.Value { return &anec.Value{Const: numberConstant(a)} })
	return len(trial.Epilogue.Steps) == 0 || f.readsThroughReLU(&trial, dims)
}

// readsThroughReLU reports whether a layer is two operands, one of them through relu, that the planar engine combines in
// a task. If the operand's producer has room for the relu, it goes there.
func (f *fusion) readsThroughReLU(m *anec.Layer, dims anec.Dims) bool {
	e := &m.Epilogue
	if !f.target.Ways.SourceReLU || m.Kind() != anec.KindCopy || len(e.Steps) != 1 ||
		e.Pre != nil || e.GOC != nil || e.Post == nil || e.Post.Function != td.FuncReLU {
		return false
	}
	x, s := m.Bottoms[0], &e.Steps[0]
	if p := x.Def; p != nil && len(x.Uses) == 1 && !f.kept[x] && f.hasEpilogue(p) {
		return false
	}
	return s.Code == td.MicroEW && units.CombinesPlanar(s.EW) && s.Operand != nil && s.Operand.Type.Dims == dims
}
