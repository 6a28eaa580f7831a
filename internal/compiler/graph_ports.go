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
// element says nothing. The ports of a target of ours are nobody's surface: a description speaks of a chip's.
func portGate(g *anec.Graph, t *hal.Target) error {
	for f := range portFindings(g, t) {
		if f.ID == diag.PortStrides {
			return f.At(0, diag.Place{Function: g.Name})
		}
	}
	return nil
}

// portFindings is what there is to say of the strides that a description asks for. Apple's lists have the batch inside of the depth:
//
//	plists/concat.plist   2 × 4 × 2 × 2 × 3   row 64, plane 128, batch 256, depth 512
//
// A container has one stride for the two, so that here the depth lies inside of the batch. The elements are the same, and a caller asks
// the port how they lie: that is a note. All else is refused.
func portFindings(g *anec.Graph, t *hal.Target) iter.Seq[*diag.Finding] {
	return func(yield func(*diag.Finding) bool) {
		if t.Family == hal.Virtual {
			return
		}
		for _, v := range slices.Concat(g.Inputs, g.Outputs) {
			asked, dims := g.Ports[v.Name], v.Type.Dims
			laid, _ := segment.PortLayout(v.Type, t)
			a := differs(asked, dims, laid)
			if a < 0 {
				continue
			}
			f := &diag.Finding{
				ID: diag.PortStrides, Text: fmt.Sprintf("port %q asks for %d bytes from one element along %v to the next", v.Name, asked[a], td.Axis(a)),
				Limit: fmt.Sprint(laid[a]), Found: fmt.Sprint(asked[a]), Source: "ours: the layout that containers of the target have here",
			}
			laid[anec.N], laid[anec.D] = laid[anec.D], laid[anec.D]*int64(dims[anec.N])
			if differs(asked, dims, laid) < 0 {
				f = &diag.Finding{
					ID: diag.PortOrder, Text: fmt.Sprintf("port %q has the batch inside of the depth, and here the depth inside of the batch", v.Name), Source: f.Source,
				}
			}
			if !yield(f) {
				return
			}
		}
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
