package compiler

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// Slices of floats that begin inside of a row become tasks on targets with a gain of width slices, and only they, and
// only there.
func TestCrops(t *testing.T) {
	const graph = `graph g
input %x : fp16[1,1,4,8,8]
input %i : int32[1,1,4,8,8]
%offset = anec.input_view(%x) {axis = W, offset = 3, size = 5} : fp16[1,1,4,8,5] @offset
%first = anec.input_view(%x) {axis = W, offset = 0, size = 5} : fp16[1,1,4,8,5] @first
%rows = anec.input_view(%x) {axis = H, offset = 3, size = 5} : fp16[1,1,4,5,8] @rows
%whole = anec.input_view(%i) {axis = W, offset = 3, size = 5} : int32[1,1,4,8,5] @whole
output %offset
output %first
output %rows
output %whole
`
	for target, want := range map[string]string{"virtual": "", "h13": "offset", "h14g": "offset", "h15": "", "h17s": ""} {
		row, err := hal.Lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		s := &segment.Segment{Name: "net", Target: row, Graph: parseGraph(t, graph)}
		if err := legalizeCrops(s); err != nil {
			t.Fatal(err)
		}
		var crops []string
		for _, l := range s.Graph.Order() {
			if p, ok := l.Params.(*anec.InputView); ok && p.Crop {
				crops = append(crops, l.Name)
				if segment.IsView(l) {
					t.Errorf("%s: %s is a view", target, l.Name)
				}
			}
		}
		if got := strings.Join(crops, " "); got != want {
			t.Errorf("%s: crops are %q, want %q", target, got, want)
		}
	}
}
