package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

// neuronFloors are the functions that not all families have, with the first that
// does (guide 24 and 35: sqrt, erf and exp2 are of A13, sine and cosine of A15).
var neuronFloors = map[td.Function]hal.Family{
	td.FuncSqrt:  hal.A13,
	td.FuncRSqrt: hal.A13,
	td.FuncErf:   hal.A13,
	td.FuncExp2:  hal.A13,
	td.FuncSin:   hal.A15,
	td.FuncCos:   hal.A15,
}

// neuronMadeOf are functions that the chips do not number, or number past the 46
// that the validator takes, and the modes of which their compiler makes them, in
// one layer or a few (guide A has them as native).
var neuronMadeOf = map[td.Function][]td.Function{
	td.FuncAbs:                   {},                          // an ElementWise Abs
	td.FuncSoftplus:              {td.FuncExp, td.FuncLog2},   // log2(1 + exp(x)), scaled
	td.FuncSoftsign:              {td.FuncInverse},            // x times the inverse of 1 + Abs
	td.FuncScaledTanh:            {td.FuncTanh},               // scaled before and after
	td.FuncGELUTanhApproximation: {td.FuncGELU},               // the table is as exact
	td.FuncLog:                   {td.FuncLog2},               // scaled
	td.FuncClip:                  {td.FuncReLU, td.FuncReLUN}, // moved, clamped, moved back
}

// neuronInstead says what to write for functions that a target does not have.
var neuronInstead = map[td.Function]string{
	td.FuncSin:       "a polynomial of x, reduced to a period; or a table that is gathered from",
	td.FuncCos:       "a polynomial of x, reduced to a period; or a table that is gathered from",
	td.FuncSqrt:      "ElementWise Power with 0.5",
	td.FuncRSqrt:     "ElementWise Power with -0.5",
	td.FuncErf:       "gelu, or a tanh that approximates it",
	td.FuncTan:       "sin over cos on " + hal.A15.OrLater() + ", else a polynomial",
	td.FuncSinh:      "(exp(x) - exp(-x)) / 2",
	td.FuncCosh:      "(exp(x) + exp(-x)) / 2",
	td.FuncAsinh:     "log(x + sqrt(x*x + 1))",
	td.FuncAcosh:     "log(x + sqrt(x*x - 1))",
	td.FuncAtanh:     "log((1 + x) / (1 - x)) / 2",
	td.FuncAsin:      "atan(x / sqrt(1 - x*x))",
	td.FuncAcos:      "pi/2 - atan(x / sqrt(1 - x*x))",
	td.FuncCustomLUT: "a linear, relu, linear chain through the points of the table",
}

func validateNeuron(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*Neuron)
	if r := wantInputs(l, 1, diag.Finding{ID: diag.NeuronInputs, Text: "Neuron layer must have only one single input.", Source: "gate: guide B; text: ours",
		Remedy: "make the slope a constant"}); r != nil {
		return r
	}
	if r := wantArithmetic(l); r != nil {
		return r
	}
	if r := validateFunction(p.Type, t); r != nil {
		return r
	}
	if p.Type == td.FuncReLUN && !(p.A > 0) {
		return &diag.Finding{
			ID: diag.NeuronReLUN, Text: fmt.Sprintf("Neuron %v: parameter %g must be positive.", p.Type, p.A),
			Limit: "above 0", Found: fmt.Sprint(p.A), Remedy: "negate the input and the result, or use clip",
			Source: "gate: guide B, where one byte of the target is 0, which byte is not said: taken for all; text: ours, after a pattern of Core ML",
		}
	}
	return nil
}

// validateActivations holds the functions of an epilogue to those that a layer of
// their own may have.
func validateActivations(e *Epilogue, t *hal.Target) *diag.Finding {
	for _, a := range []*Activation{e.Pre, e.Post} {
		if a == nil {
			continue
		}
		if r := validateFunction(a.Function, t); r != nil {
			return r
		}
	}
	return nil
}

func validateFunction(f td.Function, t *hal.Target) *diag.Finding {
	modes, made := neuronMadeOf[f]
	if !made {
		modes = []td.Function{f}
	}
	for _, mode := range modes {
		if r := validateMode(f, mode, t); r != nil {
			return r
		}
	}
	return nil
}

// The modes that the validator takes. Past them is abs, which is an ElementWise.
const firstMode, lastMode = 1, 46

// validateMode asks for a mode that a function is made of.
func validateMode(whole, f td.Function, t *hal.Target) *diag.Finding {
	r := &diag.Finding{
		ID: diag.NeuronMode, Text: fmt.Sprintf("This platform doesn't support Neuron %v", f), Found: whole.String(),
		Source: "text: guide B (Core ML's pattern goes on with \"(aka …)\"); which: guide 24 and A",
	}
	if r.Remedy = "write it with functions that the target has"; neuronInstead[f] != "" {
		r.Remedy = "write " + neuronInstead[f]
	}
	floor, gated := neuronFloors[f]
	switch {
	case f < firstMode || f > lastMode || f == td.FuncCustomLUT:
		r.Limit = fmt.Sprintf("modes %d to %d", firstMode, lastMode)
	case gated && t.Family < floor:
		r.Limit, r.Found = floor.OrLater(), t.Family.Chips()
	default:
		return nil
	}
	return r
}

var neuronCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenSineAuthored, Subject: "sine and cosine as units", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "sine and cosine have no form in a network description", Remedy: "take the conversion route, on " + hal.A15.OrLater() + "; else write a polynomial of x, reduced to a period",
		Status: hal.Decoded, Source: "guide 4 and 26 (two compile routes): no authoring bridge; text: ours",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			f := l.Params.(*Neuron).Type
			return f.String(), f == td.FuncSin || f == td.FuncCos
		},
	},
}

var neuronCustomCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenCustomTable, Subject: "an activation by a table of its own", From: firstFamily, To: lastFamily, Fails: true,
		Text: "no network description has both sets of keys that the parser wants", Remedy: "the same curve as linear, relu, linear: espalier fit finds it",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide 26; text: ours",
	},
}
