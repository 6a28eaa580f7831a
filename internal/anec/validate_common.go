package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/tensor"
)

// Where the texts of findings are from, beside the chapters and appendices of the
// guide. "ours" marks a text that no source has: then the gate is known and its
// string is not.
const (
	// fromDecompiled is code whose condition was read beside the string.
	fromDecompiled = "ANECompiler of iOS 26.1, public decompilation (github.com/EthanArbuckle/iPhone18-3_26.1_23B85_Restore)"
	// fromStrings are strings of the binary; when they appear is inferred from what they say.
	fromStrings = "strings of ANECompiler, as listed in github.com/pkhairkh/MILLer"
	// fromCoreML are patterns in which Core ML recognizes the validators' messages.
	fromCoreML = "the patterns of Core ML's class MLComputePlanDeviceUsageSupportStateMatcher, public decompilation"
)

// bottom returns a bottom, or nil if it is missing. Validators see layers that no
// shape rule has seen.
func (l *Layer) bottom(i int) *Value {
	if i >= len(l.Bottoms) {
		return nil
	}
	return l.Bottoms[i]
}

// inputs counts the bottoms that are surfaces.
func (l *Layer) inputs() (n int) {
	for i, b := range l.Bottoms {
		if b != nil && !l.isKernel(i) {
			n++
		}
	}
	return n
}

// wantInputs holds a layer to a number of surfaces. The reject has the text and
// its source.
func wantInputs(l *Layer, want int, r diag.Finding) *diag.Finding {
	have := l.inputs()
	if have == want && (want == 0 || l.bottom(0) != nil) {
		return nil
	}
	r.Limit, r.Found = fmt.Sprint(want), fmt.Sprint(have)
	if r.Remedy == "" {
		r.Remedy = "give the layer its one tensor, and what else it reads as constants"
	}
	return &r
}

// needs holds a target to a capability. The reject has the text and its source.
func needs(t *hal.Target, c hal.Capability, r diag.Finding) *diag.Finding {
	if t.Has(c) {
		return nil
	}
	_, status := t.Capability(c)
	r.Limit, r.Found, r.Confidence = fmt.Sprintf("byte %v set", c), "clear", status.Confidence()
	return &r
}

// wantFloat holds the first top to a floating-point type.
func wantFloat(l *Layer, r diag.Finding) *diag.Finding {
	if len(l.Tops) == 0 || l.Tops[0].Type.DType.IsFloat() {
		return nil
	}
	r.Limit, r.Found = "a floating-point type", l.Tops[0].Type.DType.String()
	r.Remedy = "leave the result in fp16 and convert it in a layer of its own"
	return &r
}

// wantArithmetic holds the surfaces that a layer computes with to formats that the
// engines compute in. fp32 passes: the compiler takes the annotation and computes
// in fp16; bool is 0 or 1 in fp16 (guide 17).
func wantArithmetic(l *Layer) *diag.Finding {
	for i, b := range l.Bottoms {
		if b == nil || l.isKernel(i) {
			continue
		}
		switch d := b.Type.DType; d {
		case tensor.Float16, tensor.Float32, tensor.Bool, tensor.Int8, tensor.UInt8:
		default:
			return &diag.Finding{
				ID:     diag.TensorFormat,
				Text:   "OpLayer input format not acceptable (UINT8/SINT8/FP16)",
				Limit:  "uint8, int8, fp16",
				Found:  fmt.Sprintf("%v in %s", d, b.Name),
				Remedy: "let the operand be fp16 from the start, in which integers up to 2048 are exact; a cast of 32-bit integers runs on the host too",
				Source: "gate: guide 17, the datapath is fp16; text: " + fromStrings,
			}
		}
	}
	return nil
}
