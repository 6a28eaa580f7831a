package compiler

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// schedule sets the order of the layers, such that little memory is held between them:
//
//	before   %a = anec.convolution(%x)       after   %a = anec.convolution(%x)
//	         %b = anec.convolution(%x)               %c = anec.reduce_sum(%a)     %a is free before %b is made
//	         %c = anec.reduce_sum(%a)          %b = anec.convolution(%x)
//	         %d = anec.reduce_sum(%b)          %d = anec.reduce_sum(%b)
//
// Two rules, one inside the other. The outer: of what is ready, a layer that frees at least as much as it makes goes at
// once. The inner: else the next in the order of wants, in which every layer stands just before the first that
// needs it, and of several that one layer needs, the one whose making holds the most memory is first.
//
// Layers of constants alone come before all others: they run once, when the program is loaded. Readers of a state
// come before the layer that overwrites it (schedule_states.go).
func schedule(s *segment.Segment) error {
	base := s.Graph.Order()
	if len(base) != len(s.Graph.Layers) {
		return fmt.Errorf("layers read each other in a circle: %d of %d can be ordered", len(base), len(s.Graph.Layers))
	}
	sc := newScheduler(s.Graph, base)
	sc.orderStates()
	derived := segment.DerivedLayers(base)
	s.Order, s.Picked = s.Order[:0], map[*anec.Layer]string{}
	var live []*anec.Layer
	order, relieves := sc.list(sc.wants())
	for k, i := range order {
		l := base[i]
		switch {
		case derived[l]:
			s.Order, s.Picked[l] = append(s.Order, l), "it runs when the program is loaded"
			continue
		case segment.IsView(l):
			s.Picked[l] = "a view"
		case relieves[k]:
			s.Picked[l] = "it frees at least as much as it makes"
		default:
			s.Picked[l] = "the next that is wanted"
		}
		live = append(live, l)
	}
	s.Order = append(s.Order, live...)
	return nil
}

// A scheduler has the layers by their numbers in Graph.Order, which go by the graph and not by its storage.
type scheduler struct {
	graph  *anec.Graph
	layers []*anec.Layer
	number map[*anec.Layer]int
	deps   [][]int // what must come before; states add to it
	feeds  [][]int // the inverse

	size  []int64 // bytes that a layer makes in scratch
	roots [][]int // layers whose bytes a layer reads, through views

	readers [][]int // layers but views that read the bytes of a layer
}

func newScheduler(g *anec.Graph, layers []*anec.Layer) *scheduler {
	n := len(layers)
	sc := &scheduler{
		graph: g, layers: layers, number: make(map[*anec.Layer]int, n),
		deps: make([][]int, n), feeds: make([][]int, n),
		size: make([]int64, n), roots: make([][]int, n), readers: make([][]int, n),
	}
	for i, l := range layers {
		sc.number[l] = i
	}
	ported := map[*anec.Layer]bool{} // writes where the caller says, for all that is known here
	for _, v := range g.Outputs {
		ported[v.Def] = true
	}
	for _, s := range g.States {
		ported[s.After.Def] = true
	}
	derived := segment.DerivedLayers(layers)
	for i, l := range layers {
		for _, v := range l.Reads() {
			if v.Def == nil {
				continue
			}
			d := sc.number[v.Def]
			if slices.Contains(sc.deps[i], d) {
				continue
			}
			sc.depend(i, d)
			from := []int{d}
			if segment.IsView(v.Def) {
				from = sc.roots[d]
			}
			for _, r := range from {
				if !slices.Contains(sc.roots[i], r) {
					sc.roots[i] = append(sc.roots[i], r)
				}
			}
		}
		if segment.IsView(l) {
			continue
		}
		for _, r := range sc.roots[i] {
			sc.readers[r] = append(sc.readers[r], i)
		}
		if derived[l] || ported[l] {
			continue
		}
		for _, v := range l.Tops {
			bytes, _ := v.Type.Bytes()
			sc.size[i] += int64(bytes)
		}
	}
	return sc
}

func (sc *scheduler) depend(layer, on int) {
	sc.deps[layer] = append(sc.deps[layer], on)
	sc.feeds[on] = append(sc.feeds[on], layer)
}

// wants returns the place of each layer in the order of wants.
func (sc *scheduler) wants() []int {
	// What making a layer's result holds at its worst, if nothing is shared: after Sethi and Ullman.
	worst, held := make([]int64, len(sc.layers)), make([]int64, len(sc.layers))
	for i := range sc.layers {
		slices.SortFunc(sc.deps[i], func(a, b int) int {
			return cmp.Or(cmp.Compare(worst[b]-held[b], worst[a]-held[a]), cmp.Compare(sc.layers[a].ID, sc.layers[b].ID))
		})
		sum := int64(0)
		for _, d := range sc.deps[i] {
			worst[i] = max(worst[i], sum+worst[d])
			sum += held[d]
		}
		held[i] = sc.size[i]
		if segment.IsView(sc.layers[i]) {
			held[i] = sum
		}
		worst[i] = max(worst[i], sum+sc.size[i])
	}

	place := make([]int, len(sc.layers))
	placed, next := 0, make([]int, len(sc.layers)) // next of deps to visit, plus 1; -1 when placed
	visit := func(root int) {
		for stack := []int{root}; len(stack) > 0; {
			i := stack[len(stack)-1]
			if next[i] < 0 || next[i] >= len(sc.deps[i]) {
				if next[i] >= 0 {
					place[i], next[i] = placed, -1
					placed++
				}
				stack = stack[:len(stack)-1]
				continue
			}
			next[i]++
			if d := sc.deps[i][next[i]-1]; next[d] >= 0 {
				stack = append(stack, d)
			}
		}
	}
	for _, v := range sc.graph.Outputs {
		if v.Def != nil {
			visit(sc.number[v.Def])
		}
	}
	for _, s := range sc.graph.States {
		if s.After.Def != nil {
			visit(sc.number[s.After.Def])
		}
	}
	for i := range sc.layers { // what nobody wants
		visit(i)
	}
	return place
}

// list takes layers from the queues of those that are ready, and says of each whether it frees at least as much as it makes.
func (sc *scheduler) list(wants []int) (order []int, relieves []bool) {
	waits, left := make([]int, len(sc.layers)), make([]int, len(sc.layers))
	relief, others := &queue{key: wants}, &queue{key: wants}
	push := func(i int) {
		grows := sc.size[i]
		for _, r := range sc.roots[i] {
			if left[r] == 1 && !segment.IsView(sc.layers[i]) {
				grows -= sc.size[r]
			}
		}
		if grows <= 0 {
			heap.Push(relief, i)
		} else {
			heap.Push(others, i)
		}
	}
	for i := range sc.layers {
		waits[i], left[i] = len(sc.deps[i]), len(sc.readers[i])
	}
	for i := range sc.layers {
		if waits[i] == 0 {
			push(i)
		}
	}
	done := make([]bool, len(sc.layers))
	for relief.Len()+others.Len() > 0 {
		from := relief
		if relief.Len() == 0 {
			from = others
		}
		i := heap.Pop(from).(int)
		if done[i] { // it stands in both queues
			continue
		}
		done[i] = true
		order, relieves = append(order, i), append(relieves, from == relief)
		if !segment.IsView(sc.layers[i]) {
			for _, r := range sc.roots[i] {
				if left[r]--; left[r] != 1 {
					continue
				}
				for _, last := range sc.readers[r] { // it may give relief now
					if !done[last] && waits[last] == 0 {
						push(last)
					}
				}
			}
		}
		for _, f := range sc.feeds[i] {
			if waits[f]--; waits[f] == 0 {
				push(f)
			}
		}
	}
	return order, relieves
}

// A queue has the number with the smallest key on top.
type queue struct{ items, key []int }

func (q *queue) Len() int           { return len(q.items) }
func (q *queue) Less(i, j int) bool { return q.key[q.items[i]] < q.key[q.items[j]] }
func (q *queue) Swap(i, j int)      { q.items[i], q.items[j] = q.items[j], q.items[i] }
func (q *queue) Push(i any)         { q.items = append(q.items, i.(int)) }

func (q *queue) Pop() any {
	last := q.items[len(q.items)-1]
	q.items = q.items[:len(q.items)-1]
	return last
}
