package anec

import (
	"cmp"
	"container/heap"
	"slices"
)

// Order returns the layers such that each stands after those it reads from, and
// otherwise by ID: the one order that goes by the graph and not by its storage.
// It is shorter than Layers if layers read each other in a circle.
func (g *Graph) Order() []*Layer {
	if order, ok := g.orderByID(); ok {
		return order
	}
	return g.orderByReads()
}

// orderByReads is the order of any graph.
func (g *Graph) orderByReads() []*Layer {
	waits := make(map[*Layer]int, len(g.Layers)) // tops that a layer waits for
	feeds := make(map[*Layer][]*Layer, len(g.Layers))
	var ready layerHeap
	for _, l := range g.Layers {
		for _, v := range l.Reads() {
			d := v.Def
			if d == nil {
				continue
			}
			if fed := feeds[d]; len(fed) == 0 || fed[len(fed)-1] != l { // else it is counted already
				waits[l]++
				feeds[d] = append(fed, l)
			}
		}
		if waits[l] == 0 {
			ready = append(ready, l)
		}
	}
	heap.Init(&ready)
	order := make([]*Layer, 0, len(g.Layers))
	for len(ready) > 0 {
		l := heap.Pop(&ready).(*Layer)
		order = append(order, l)
		for _, next := range feeds[l] {
			if waits[next]--; waits[next] == 0 {
				heap.Push(&ready, next)
			}
		}
	}
	return order
}

// orderByID is the order of a graph in which each layer has a greater ID than those it reads from, as most have: that of the
// IDs. It is found without a map of the layers.
func (g *Graph) orderByID() (order []*Layer, ok bool) {
	order = slices.Clone(g.Layers)
	byID := func(a, b *Layer) int { return cmp.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(order, byID) {
		slices.SortFunc(order, byID)
	}
	if len(order) == 0 {
		return order, true
	}
	first, span := order[0].ID, order[len(order)-1].ID-order[0].ID+1
	if span > 8*len(order)+64 {
		return nil, false
	}
	stands := make([]*Layer, span)
	for _, l := range order {
		for _, slot := range l.slots() {
			if v := *slot; v != nil && v.Def != nil {
				if d := v.Def.ID; d < first || d >= l.ID || stands[d-first] != v.Def {
					return nil, false
				}
			}
		}
		if stands[l.ID-first] != nil {
			return nil, false
		}
		stands[l.ID-first] = l
	}
	return order, true
}

// layerHeap has the layer with the smallest ID on top.
type layerHeap []*Layer

func (h layerHeap) Len() int           { return len(h) }
func (h layerHeap) Less(i, j int) bool { return h[i].ID < h[j].ID }
func (h layerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *layerHeap) Push(l any)        { *h = append(*h, l.(*Layer)) }

func (h *layerHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
