package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

// circularFrom is the first family that has circular buffers. No byte is known
// for them (guide 26: gated hard on the M1, above it they run).
const circularFrom = hal.A14

// validateRingBufferWriter: a writer that wraps around needs a circular buffer,
// and that is a state. One that does not may write into any tensor: that is what
// an update of a slice becomes, slices put side by side and no buffer at all.
func validateRingBufferWriter(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*RingBufferWriter)
	if r := validateCircular(p.Circular, t); r != nil {
		return r
	}
	if state := l.Bottoms[0]; p.Circular != 0 && !isLiveState(state) {
		return &diag.Finding{
			ID: diag.RingBufferLiveState, Text: fmt.Sprintf("RingBufferWriter must connect to a live state buffer, %q is none", state.Name),
			Limit: "a state, or what another writer leaves in one", Found: fmt.Sprintf("the top of a layer: %q", state.Name),
			Remedy: "write into a state of the model", Source: fromGates + textOurs,
		}
	}
	return nil
}

// isLiveState reports whether a value can be a state: one that enters the graph,
// or what a chain of writers has made of one.
func isLiveState(v *Value) bool {
	for v.Def != nil && v.Def.Kind() == KindRingBufferWriter {
		v = v.Def.Bottoms[0]
	}
	return v.Def == nil && v.Const == nil
}

func validateRingBufferReader(l *Layer, t *hal.Target) *diag.Finding {
	return validateCircular(l.Params.(*RingBufferReader).Circular, t)
}

func validateCircular(circular td.Axes, t *hal.Target) *diag.Finding {
	if circular == 0 || t.Family >= circularFrom {
		return nil
	}
	return &diag.Finding{
		ID: diag.RingBufferCircular, Text: "Circular buffer is not supported on this architecture",
		Limit: "no circular axes", Found: axesString(circular), Remedy: "shift the window and write at its end; keep the cache in a buffer of the host's",
		Source: fromGates + "; guide 26: above the M1",
	}
}

var ringBufferWriterCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenRingBuffer, Subject: "a ring buffer in a network of one procedure", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "RingBufferWriter needs a network of several procedures", Remedy: "keep the cache in a buffer that the host binds, and write windows of fixed places",
		Status: hal.Measured, Seen: []hal.Family{hal.A17}, Source: fromForge + "; guide 19 and 26; text: ours",
	},
}
