package compiler

import (
	"fmt"
	"math/bits"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/estimate"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// ConstantsOn says what becomes of the constants on a target: a weight that is stored in another form streams as it
// is, or folds. Nothing of them runs, so no segment has them.
func (e *Examination) ConstantsOn(t *hal.Target) []*Placed {
	placed := make([]*Placed, len(e.Constants))
	for i, op := range e.Constants {
		placed[i] = &Placed{Op: op, Verdict: e.constantVerdict(op, t)}
	}
	return placed
}

func (e *Examination) constantVerdict(op *mil.Operation, t *hal.Target) Verdict {
	if t.Family == hal.Virtual {
		return Verdict{}
	}
	c, _ := ops.ConversionOf(op.Kind)
	if c.Native != "" {
		return Verdict{Status: Native}
	}
	if c.Instead != "" && ops.IsConstexpr(op.Kind) {
		return noEngineOperation(op.Kind, c)
	}
	form, stored := hal.FormOf(op.Kind)
	if !stored {
		return Verdict{Status: Bridge, Finding: &diag.Finding{ID: diag.Folded, Text: "it is known when the program is compiled, and no code is generated for it", Source: "guide A, const"}}
	}
	w := estimate.Weight{Compressed: true, Form: form, Bits: e.paletteBits(op)}
	streams, status := w.Streams(t)
	if streams {
		return Verdict{Status: Native}
	}
	return Verdict{Status: Bridge, Finding: &diag.Finding{
		ID: diag.WeightsFold, Text: fmt.Sprintf("the weights fold to fp16: the chip does not take the form %s as it is", form), Confidence: status.Confidence(),
		Remedy: "a palette of 4 bits streams on " + hal.A13.OrLater(), Source: "guide 7, what streams; guide A",
	}}
}

// paletteBits is the width of an index into the table of a constexpr; 0 if it has none. A table is [entries] in iOS16
// and […, entries, elements of one] after it.
func (e *Examination) paletteBits(op *mil.Operation) int {
	var table mil.Type
	if args := op.Input("lut"); len(args) > 0 && args[0].Value != nil {
		table = e.Analysis.Type(args[0].Value)
	} else if c := op.Attributes.Get("lut"); c != nil { // as programs of iOS16 have it
		table = c.Type
	}
	t, ok := table.(*mil.TensorType)
	if !ok || len(t.Shape) == 0 {
		return 0
	}
	return bits.Len(uint(t.Shape[max(0, len(t.Shape)-2)])) - 1
}
