package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/td"
)

// A Reject is why a target does not take a layer.
type Reject struct {
	ID   string // stable: what and which gate, as in "conv-kernel-range"
	Text string // Apple's own string where a source has it, else ours

	// Limit is what the target allows and Found what the layer has.
	Limit, Found string

	Remedy string // what to write instead
	Source string // where the gate and the text are from
}

func (r *Reject) Error() string {
	if r.Found == "" {
		return r.Text
	}
	return fmt.Sprintf("%s (limit %s, found %s)", r.Text, r.Limit, r.Found)
}

// Validate is the per-layer validator: it asks whether a target takes a layer at
// all, and returns nil if so. That code can be generated for it is another
// question: see Codegen.
//
//	layer ─→ every tensor within the extents ─→ the kind's validator ─→ nil
//	                      │                             │
//	                      └────────── Reject ←──────────┘
//
// The target `virtual` takes everything.
func Validate(l *Layer, t *hal.Target) *Reject {
	if t.Family == hal.Virtual {
		return nil
	}
	if r := validateTensors(l, t); r != nil {
		return r
	}
	if check := checks[l.Kind()]; check != nil {
		if r := check(l, t); r != nil {
			return r
		}
	}
	return validateActivations(&l.Epilogue, t)
}

// validateTensors holds the tensors of a layer to the extents that surfaces have
// on the target.
func validateTensors(l *Layer, t *hal.Target) *Reject {
	for i, b := range l.Bottoms {
		if b == nil || l.isKernel(i) {
			continue
		}
		if r := validateExtents(b, 1, t); r != nil {
			return r
		}
	}
	for _, top := range l.Tops {
		if r := validateExtents(top, 0, t); r != nil { // that it is empty, the kind knows better to say
			return r
		}
	}
	return nil
}

// isKernel reports whether bottom i is part of the program and no surface: a
// constant where the kind takes one.
func (l *Layer) isKernel(i int) bool {
	contract := l.Params.Contract()
	row, ok := contract.operand(i)
	return ok && (row.Const || row.Weight) && l.Bottoms[i].Const != nil
}

func validateExtents(v *Value, least int, t *hal.Target) *Reject {
	limit := t.Limits.Tensor
	for a, n := range v.Type.Dims {
		if n >= least && n <= limit[a] {
			continue
		}
		d := v.Type.Dims
		return &Reject{
			ID: "tensor-extent",
			Text: fmt.Sprintf("Tensor dimensions N%dD%dC%dH%dW%d are not within supported range, N[1-%d]D[1-%d]C[1-%d]H[1-%d]W[1-%d]",
				d[N], d[D], d[C], d[H], d[W], limit[N], limit[D], limit[C], limit[H], limit[W]),
			Limit:  fmt.Sprintf("[1, %d] along %v", limit[a], td.Axis(a)),
			Found:  fmt.Sprintf("%d in %s", n, v.Name),
			Remedy: fmt.Sprintf("split the tensor along its %s into parts of at most %d, or move the extent to another axis with a reshape", axisNames[a], limit[a]),
			Source: "limits: guide A and 17, measured on M1; text: " + fromCoreML,
		}
	}
	return nil
}

// axisNames are the axes as the compiler's strings call them.
var axisNames = [NumAxes]string{"batch", "depth", "channel", "height", "width"}
