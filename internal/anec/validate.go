package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

// A Check is the validator of a kind.
type Check func(l *Layer, t *hal.Target) *diag.Finding

// Validate is the per-layer validator: it asks whether a target takes a layer at
// all, and returns nil if so. What it returns else has Apple's own string where a
// source has it; where in the model that is and how grave, the caller knows. That code can be generated for it is another
// question: see Codegen.
//
//	layer ─→ every tensor within the extents ─→ the kind's validator ─→ nil
//	                      │                             │
//	                      └────────── Finding ←─────────┘
//
// The target `virtual` takes everything.
func Validate(l *Layer, t *hal.Target) *diag.Finding {
	if t.Family == hal.Virtual {
		return nil
	}
	if r := validateTensors(l, t); r != nil {
		return r
	}
	if check := l.Info().Check; check != nil {
		if r := check(l, t); r != nil {
			return r
		}
	}
	return validateActivations(&l.Epilogue, t)
}

// validateTensors holds the tensors of a layer to the extents that surfaces have
// on the target.
func validateTensors(l *Layer, t *hal.Target) *diag.Finding {
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
	row, ok := l.Info().Contract.operand(i)
	return ok && (row.Const || row.Weight) && l.Bottoms[i].Const != nil
}

func validateExtents(v *Value, least int, t *hal.Target) *diag.Finding {
	limit := t.Limits.Tensor
	for a, n := range v.Type.Dims {
		if n >= least && n <= limit[a] {
			continue
		}
		d := v.Type.Dims
		return &diag.Finding{
			ID: diag.TensorExtent,
			Text: fmt.Sprintf("Tensor dimensions N%dD%dC%dH%dW%d are not within supported range, N[1-%d]D[1-%d]C[1-%d]H[1-%d]W[1-%d]",
				d[N], d[D], d[C], d[H], d[W], limit[N], limit[D], limit[C], limit[H], limit[W]),
			Limit:  fmt.Sprintf("[1, %d] along %v", limit[a], td.Axis(a)),
			Found:  fmt.Sprintf("%d in %s", n, v.Name),
			Remedy: fmt.Sprintf("split the tensor along its %s into parts of at most %d, or move the extent to another axis with a reshape", axisNames[a], limit[a]),
			Source: "limits: guide A and 17, measured on M1; text: " + fromCoreML,

			Confidence: t.LimitStatus(extentLimits[a]).Confidence(),
		}
	}
	return nil
}

// extentLimits are the limits of tensors along the axes, by their names in hal.
var extentLimits = [NumAxes]string{"tensor_batch_max", "tensor_depth_max", "tensor_channels_max", "tensor_height_max", "tensor_width_max"}

// axisNames are the axes as the compiler's strings call them.
var axisNames = [NumAxes]string{"batch", "depth", "channel", "height", "width"}
