package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// A chain of views is walked once, however long it is: each view of it asks what it is a view of.
func TestViewsAreWalkedOnce(t *testing.T) {
	for _, n := range []int{100, 200, 400} {
		g := anec.New("main")
		b := &anec.Builder{Graph: g}
		v, err := g.AddInput("x", anec.TypeOf(tensor.Float16, 1, 1, 8, 16, 16))
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			v = b.Layer("v", &anec.InputView{Axis: anec.C, Offset: 7, Size: 8, Step: -1}, v)
		}
		g.AddOutput(v)
		if b.Err() != nil {
			t.Fatal(b.Err())
		}
		f := newFusion(&segment.Segment{Name: "main", Target: virtual(t), Graph: g})
		f.tidy()
		if f.err != nil || f.walked > n {
			t.Errorf("%d views: %d steps, error %v", n, f.walked, f.err)
		}
	}
}
