package anec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever the numbers of the layers and wherever they are stored, the order is the same in both ways to find it; where it
// cannot be found by the numbers, that is said.
func TestOrderByID(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	byID := 0
	for range 500 {
		n := 1 + r.IntN(20)
		ids := r.Perm(n + r.IntN(40))[:n]
		if r.IntN(2) == 0 {
			slices.Sort(ids) // as passes leave them, mostly
		}
		g := &Graph{}
		tops := []*Value{nil, {}} // none, and an input
		for _, id := range ids {
			l := &Layer{ID: id}
			for range r.IntN(3) {
				l.Bottoms = append(l.Bottoms, tops[r.IntN(len(tops))])
			}
			g.Layers = append(g.Layers, l)
			tops = append(tops, &Value{Def: l})
		}
		if r.IntN(10) == 0 { // a circle, or a reader of itself
			l := g.Layers[r.IntN(n)]
			l.Bottoms = append(l.Bottoms, tops[len(tops)-1])
		}
		if r.IntN(10) == 0 { // what is read is not there
			g.Layers = g.Layers[:n-1]
		}
		r.Shuffle(len(g.Layers), func(i, j int) { g.Layers[i], g.Layers[j] = g.Layers[j], g.Layers[i] })
		want := g.orderByReads()
		if got, ok := g.orderByID(); ok {
			byID++
			if !slices.Equal(got, want) {
				t.Fatalf("%d layers have another order by their numbers", n)
			}
		}
		if got := g.Order(); !slices.Equal(got, want) {
			t.Fatalf("%d layers are ordered as %d", len(want), len(got))
		}
	}
	if byID < 100 || byID > 400 {
		t.Errorf("%d of 500 are ordered by number", byID)
	}
}
