package compiler

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
)

// A unit that only a network description reaches is a segment of its own on chips (seed hidden-layers), and no two share one.
// What a model's operation has become is none, but for attention. Our own engine does not cut.
func TestHiddenUnitsCut(t *testing.T) {
	const (
		clouds = `graph g
input %p : fp16[1,1,3,1,8]
%a = anec.relu(%p) : fp16[1,1,3,1,8]
%c = anec.furthest_point_sampling(%a) {count = 4} : fp16[1,1,3,1,4]
%y = anec.radius_search(%c, %a) {radius = 1} : fp16[1,1,1,8,4]
%z = anec.relu(%y) : fp16[1,1,1,8,4]
output %z
`
		crosses = `graph g
input %a : fp16[2,1,3,1,1]
input %b : fp16[2,1,3,1,1]
%x = anec.cross_product(%a, %b) : fp16[2,1,3,1,1]
%z = anec.cross_product(%b, %a) : fp16[2,1,3,1,1]
%y = anec.add(%x, %z) : fp16[2,1,3,1,1]
%w = anec.relu(%a) : fp16[2,1,3,1,1]
output %y
output %w
`
		heads = `graph g
input %q : fp16[1,1,1,4,8]
const %s : fp16[1,1,1,1,1] {data = [0.5]}
%a = anec.sdpa(%q, %q, %q, %s) {subtract_max = true} : fp16[1,1,1,4,8] from op
%b = anec.sdpa(%q, %q, %q, %s) {subtract_max = true} : fp16[1,1,1,4,8]
%y = anec.add(%a, %b) : fp16[1,1,1,4,8]
output %y
`
		moves = `graph g
input %x : fp16[1,1,4,2,2]
const %g : fp16[1,1,4,1,1] {data = splat(2)}
%a = anec.gain_offset_control(%x, %g) : fp16[1,1,4,2,2]
%b = anec.pixel_shuffle(%a) {x = 2, y = 2} : fp16[1,1,1,4,4]
%c = anec.input_view(%b) {axis = W, size = 2} : fp16[1,1,1,4,2]
%y = anec.concat(%c, %c) {axis = W} : fp16[1,1,1,4,4]
output %y
`
	)
	for _, c := range []struct{ name, text, target, want string }{
		{"one after the other", clouds, "h13", "Neuron; FurthestPointSampling; RadiusSearch; Neuron"},
		{"our own engine", clouds, "virtual", "Neuron FurthestPointSampling RadiusSearch Neuron"},
		{"side by side", crosses, "h13", "CrossProduct; CrossProduct; ElementWise Neuron"},
		{"attention of a model cuts too", heads, "h14", "SDPA; SDPA; ElementWise"},
		{"what folds or moves nothing stays", moves, "h13", "GOC; PixelShuffle; InputView Concat"},
		{"converted", strings.Replace(moves, ": fp16[1,1,1,4,4]\n%c", ": fp16[1,1,1,4,4] from op\n%c", 1), "h13", "GOC PixelShuffle InputView Concat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := cutGraph(parseGraph(t, c.text), "g", lookup(t, c.target))
			if err != nil {
				t.Fatal(err)
			}
			var segments []string
			for _, p := range f.parts {
				var kinds []string
				for _, l := range p.graph.Order() {
					kinds = append(kinds, l.Kind().String())
				}
				segments = append(segments, strings.Join(kinds, " "))
			}
			if got := strings.Join(segments, "; "); got != c.want {
				t.Errorf("segments %s, want %s", got, c.want)
			}
		})
	}
	hidden := 0
	for _, k := range anec.Kinds() {
		if k.Info().Hidden == anec.Yes {
			hidden++
		}
	}
	if hidden != 27 {
		t.Errorf("%d kinds are hidden, want the 27 of tables 26.1 and B that are not folded or views", hidden)
	}
}
