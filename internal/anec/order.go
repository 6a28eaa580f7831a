package anec

import "container/heap"

// Order returns the layers such that each stands after those it reads from, and
// otherwise by ID: the one order that goes by the graph and not by its storage.
// It is shorter than Layers if layers read each other in a circle.
func (g *Graph) Order() []*Layer {
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
