package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/tensor"
)

// validateDropout: a rate of 0, as in inference, is a copy, which runs without the
// capability (guide B).
func validateDropout(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*Dropout)
	if r := wantInputs(l, 1, diag.Finding{ID: diag.DropoutInputs, Text: "Dropout layer must have only one single input.", Source: "gate: guide B; text: ours"}); r != nil {
		return r
	}
	if !(p.Rate >= 0 && p.Rate < 1) {
		return &diag.Finding{
			ID: diag.DropoutRate, Text: fmt.Sprintf("dropout rate %g, it should be in [0, 1)", p.Rate),
			Limit: "[0, 1)", Found: fmt.Sprint(p.Rate), Remedy: "use a rate below 1", Source: "gate: guide B; text: ours",
		}
	}
	if p.Rate == 0 {
		return nil
	}
	return needs(t, hal.CapDropoutRandom, diag.Finding{
		ID: diag.DropoutCapability, Text: "Dropout layer is not supported on this architecture.",
		Remedy: "set the rate to 0 for inference, or multiply with a mask that is an input", Source: "guide 22.5 and B",
	})
}

// randomOutputs has fp32 too, which the compiler takes and computes as fp16.
var randomOutputs = []tensor.DType{tensor.Int8, tensor.UInt8, tensor.Float16, tensor.Float32}

func validateRandom(l *Layer, t *hal.Target) *diag.Finding {
	if r := needs(t, hal.CapDropoutRandom, diag.Finding{
		ID: diag.RandomCapability, Text: "Random layer is not supported on this architecture.",
		Remedy: "give the random numbers as an input", Source: "guide B",
	}); r != nil {
		return r
	}
	p := l.Params.(*Random)
	switch {
	case !(p.Low < p.High):
		return &diag.Finding{
			ID: diag.RandomRange, Text: fmt.Sprintf("random numbers from %g to %g: low should be below high", p.Low, p.High),
			Limit: "low below high", Found: fmt.Sprintf("%g and %g", p.Low, p.High), Remedy: "exchange them", Source: "gate: guide B; text: ours",
		}
	case len(l.Tops) > 0 && !slices.Contains(randomOutputs, l.Tops[0].Type.DType):
		return &diag.Finding{
			ID: diag.RandomFormat, Text: fmt.Sprintf("random numbers of %v: should be Int8, UInt8 or Float16", l.Tops[0].Type.DType),
			Limit: "int8, uint8, fp16", Found: typeName(l.Tops[0]), Remedy: "make them in fp16 and cast", Source: "gate: guide B; text: ours",
		}
	}
	return nil
}
