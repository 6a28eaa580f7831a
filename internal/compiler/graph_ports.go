package compiler

import (
	"fmt"
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
	if t.Family == hal.Virtual {
		return nil
	}
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		asked := g.Ports[v.Name]
		laid, _ := segment.PortLayout(v.Type, t)
		for i, bytes := range asked {
			a := td.Axis(i)
			if bytes == 0 || v.Type.Dims[a] == 1 || int64(bytes) == laid[a] {
				continue
			}
			f := diag.Finding{
				ID: diag.PortStrides, Text: fmt.Sprintf("port %q asks for %d bytes from one element along %v to the next", v.Name, bytes, a),
				Limit: fmt.Sprint(laid[a]), Found: fmt.Sprint(bytes), Source: "ours: the layout that containers of the target have here",
			}
			return f.At(0, diag.Place{Function: g.Name})
		}
	}
	return nil
}
