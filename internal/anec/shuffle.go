package anec

import "math/rand/v2"

// Shuffle changes the order in which layers and values are stored, and nothing
// that the graph means. Tests call it between passes, so that none leans on the
// order of storage.
func Shuffle(g *Graph, r *rand.Rand) {
	r.Shuffle(len(g.Layers), func(i, j int) { g.Layers[i], g.Layers[j] = g.Layers[j], g.Layers[i] })
	r.Shuffle(len(g.Values), func(i, j int) { g.Values[i], g.Values[j] = g.Values[j], g.Values[i] })
}
