package compiler

import (
	"fmt"
	"iter"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// portGate refuses a graph whose description asks of a port to lie otherwise than the target lays it. A stride along an axis of one
// element says nothing. The ports of a target of ours are nobody's surface: strides of a description speak of a chip's.
func portGate(g *anec.Graph, t *hal.Target) error {
	for _, f := range portFindings(g, t) {
		if f.Severity == diag.Refusal {
			return f.At(0, diag.Place{Function: g.Name})
		}
	}
	return nil
}

// portFindings is what there is to say of the layout that a description asks for. Apple's lists have the batch inside of the depth:
//
//	plists/concat.plist   2 × 4 × 2 × 2 × 3   row 64, plane 128, batch 256, depth 512
//
// A container has one stride for the two, so that here the depth lies inside of the batch. The elements are the same, and a caller asks
// the port how they lie: that is a note. All else is refused.
func portFindings(g *anec.Graph, t *hal.Target) iter.Seq2[*anec.Value, *diag.Finding] {
	return func(yield func(*anec.Value, *diag.Finding) bool) {
		ports := slices.Concat(g.Inputs, g.Outputs)
		for _, s := range g.States {
			ports = append(ports, s.Before)
		}
		for _, v := range ports {
			if f := portFinding(g, v, t); f != nil && !yield(v, f.At(0, diag.Place{})) {
				return
			}
		}
	}
}

func portFinding(g *anec.Graph, v *anec.Value, t *hal.Target) *diag.Finding {
	const source = "ours: the layout that containers of the target have here"
	if n := v.Type.Interleave; n > 1 {
		return &diag.Finding{
			ID: diag.PortInterleave, Text: fmt.Sprintf("port %q asks for %d channels side by side", v.Name, n), Limit: "1", Found: fmt.Sprint(n), Source: source,
		}
	}
	if t.Family == hal.Virtual {
		return nil
	}
	asked, dims := g.Ports[v.Name], v.Type.Dims
	laid, _ := segment.PortLayout(v.Type, t)
	a := differs(asked, dims, laid)
	if a < 0 {
		return nil
	}
	refused := &diag.Finding{
		ID: diag.PortStrides, Text: fmt.Sprintf("port %q asks for %d bytes from one element along %v to the next", v.Name, asked[a], td.Axis(a)),
		Limit: fmt.Sprint(laid[a]), Found: fmt.Sprint(asked[a]), Source: source,
	}
	laid[anec.N], laid[anec.D] = laid[anec.D], laid[anec.D]*int64(dims[anec.N])
	if differs(asked, dims, laid) >= 0 {
		return refused
	}
	return &diag.Finding{
		ID: diag.PortOrder, Text: fmt.Sprintf("port %q has the batch inside of the depth, and here the depth inside of the batch", v.Name), Source: source,
	}
}

// differs is the first axis along which strides are not those asked for; -1: there is none.
func differs(asked anec.PortStrides, dims anec.Dims, laid [anec.NumAxes]int64) int {
	for a, bytes := range asked {
		if bytes != 0 && dims[a] != 1 && int64(bytes) != laid[a] {
			return a
		}
	}
	return -1
}
