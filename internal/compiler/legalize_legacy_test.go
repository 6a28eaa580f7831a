package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/segment"
)

// The quotients of the families before A13 are inexact where the reciprocal is, and have to be known.
func TestLegacyQuotients(t *testing.T) {
	const graph = `graph g
input %x : fp16[1,1,1,1,2]
input %z : fp16[1,1,1,1,2]
const %three : fp16[1,1,1,1,1] {data = [3]}
%y = anec.floor_div(%x, %three) : fp16[1,1,1,1,2]
output %y
`
	s := legalFor(t, lookup(t, "h12"), parseGraph(t, graph), 0)
	if got := evaluateGraph(t, s.Graph, []float32{6, 7}, []float32{0, 0})[0]; got[0] != 1 || got[1] != 2 {
		t.Errorf("6 and 7 by 3, rounded down: %v, want 1 and 2 (guide 35)", got)
	}
	live := &segment.Segment{Name: "net", Target: lookup(t, "h12"), Graph: parseGraph(t, `graph g
input %x : fp16[1,1,1,1,2]
input %z : fp16[1,1,1,1,2]
%y = anec.divide(%x, %z) : fp16[1,1,1,1,2]
output %y
`)}
	if refused := layerErrors(legalizeLegacy(live)); len(refused) != 1 {
		t.Errorf("a live divisor: refused %v, want the layer", refused)
	}
}
