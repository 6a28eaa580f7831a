package compiler

import (
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// What follows a layer joins it if its kind takes steps, and stays a layer if not. Either way the engine computes it.
func TestWhatFollows(t *testing.T) {
	joined := map[anec.Kind]bool{}
	for _, c := range slices.Concat(pointwiseCases, epilogueCases, computeCases, movesCases) {
		t.Run(c.name, func(t *testing.T) {
			g := parseGraph(t, "graph g\n"+c.text)
			y := g.Outputs[0]
			if y.Def == nil || !y.Type.DType.IsFloat() || len(g.States) > 0 {
				t.Skip("no layer makes it, or not of floats, or states leave before it")
			}
			kind, view := y.Def.Kind(), segment.IsView(y.Def) // what follows a view may join what is before it
			b := &anec.Builder{Graph: g}
			g.Outputs[0] = b.Layer("negated", &anec.GOC{Scale: -1}, y)
			if err := b.Err(); err != nil {
				t.Fatal(err)
			}
			alone := fused(t, parseGraph(t, "graph g\n"+c.text), 0)
			if len(fused(t, g, 0).Layers) == len(alone.Layers) && !view {
				joined[kind] = true
			}
			want := slices.Clone(c.want)
			for i := range want {
				want[i] = -want[i]
			}
			compare(t, evaluateGraph(t, g, c.inputs...)[0], want)
		})
	}
	for _, k := range anec.Kinds() {
		if takes := k.Info().Epilogue.Steps(); takes != joined[k] {
			t.Errorf("%v takes steps: %t; what follows joined it: %t", k, takes, joined[k])
		}
	}
}
