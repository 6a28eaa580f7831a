package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// listSchedule orders the layers for a chip as its compiler does: of those that are ready, the first by a fixed row of
// rules goes next (seed compiler, phase 3):
//
//	before   %a = anec.convolution(%x)           after   %a = anec.convolution(%x)
//	         %b = anec.convolution(%x)                   %c = anec.convolution(%a)      it goes on where %a was; %b would begin another branch
//	         %c = anec.convolution(%a)                   %b = anec.convolution(%x)
//	         %d = anec.convolution(%b)                   %d = anec.convolution(%b)
//	         %y = anec.elementwise(%c, %d)        %y = anec.elementwise(%c, %d)
//
// The seed has the names of the rules and their order. What each counts is ours, such that the whole does what the seed
// says of it: a branch that has begun is drained before the working set grows.
//
// Layers of constants alone come first, as they run when the program is loaded; views come as soon as they can.
func listSchedule(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	base := s.Graph.Order()
	if len(base) != len(s.Graph.Layers) {
		return fmt.Errorf("layers read each other in a circle: %d of %d can be ordered", len(base), len(s.Graph.Layers))
	}
	picks := newLister(s, base).run()
	s.Order = make([]*anec.Layer, len(picks))
	for i, p := range picks {
		s.Order[i] = p.layer
		s.Picked[p.layer] = p.rule.String()
		if segment.IsView(p.layer) {
			s.Picked[p.layer] = "a view"
		}
	}
	return nil
}

// ScheduleText is the order of the layers, each with the rule by which it went before the others that were ready.
//
//	0 %a Conv: branch sibling
//	1 %c Conv: alone
func ScheduleText(s *segment.Segment) string {
	var b strings.Builder
	for i, l := range s.Order {
		fmt.Fprintf(&b, "%d %%%s %v: %s\n", i, l.Top().Name, l.Kind(), s.Picked[l])
	}
	return b.String()
}

// firstScheduleText says where the order is replaced: on chips, by the pass list.
func firstScheduleText(s *segment.Segment) string {
	text := ScheduleText(s)
	if keepsOnChip(s) {
		text = "the list scheduler of the chip replaces this order, see --emit list\n" + text
	}
	return text
}

// A pickRule is why a layer was taken before the others that were ready.
type pickRule uint8

// The rules, in the order in which they decide.
const (
	byRingBuffer    pickRule = iota // it writes a ring buffer
	byBranchSibling                 // fewer layers that share its operands have gone: it does not begin another branch
	byMergeSibling                  // more layers that its readers wait for have gone: it completes a merge
	byWorkingSet                    // it begins the larger branch, which still fits on chip
	byTopology                      // it is nearer to the inputs
	byNodeID                        // it was made first
	byItself                        // nothing else was ready
)

var pickRuleNames = [...]string{"ring buffer", "branch sibling", "merge sibling", "working set", "topological order", "node", "alone"}

func (r pickRule) String() string { return pickRuleNames[r] }

// A pick is a layer in the order, and the rule that put it before the next best.
type pick struct {
	layer *anec.Layer
	rule  pickRule
}

// A lister is a list schedule in the making. Layers are numbers, as in the scheduler; sources are layers too, and after
// them what comes from outside: inputs and states.
type lister struct {
	*scheduler
	derived map[*anec.Layer]bool
	sources [][]int // whose bytes a layer reads, through views; constants are none
	readers [][]int // layers but views that read the bytes of a source
	bytes   []int64 // of a source

	ring      []bool
	forkGone  []int   // layers that have gone and share an operand with one
	mergeGone []int   // layers that have gone and that a reader waits for beside one
	branch    []int64 // bytes of the branch that a layer begins, if it fits; else 0
	level     []int   // the longest way from the inputs
}

func newLister(s *segment.Segment, base []*anec.Layer) *lister {
	sc := newScheduler(s.Graph, base)
	sc.orderStates()
	n := len(base)
	li := &lister{scheduler: sc, derived: segment.DerivedLayers(base), sources: make([][]int, n),
		ring: make([]bool, n), forkGone: make([]int, n), mergeGone: make([]int, n), branch: make([]int64, n), level: make([]int, n)}
	for i, l := range base {
		li.ring[i] = l.Kind() == anec.KindRingBufferWriter
	}
	li.findSources()
	for _, i := range topological(sc) {
		for _, d := range sc.deps[i] {
			step := 1
			if segment.IsView(base[i]) {
				step = 0
			}
			li.level[i] = max(li.level[i], li.level[d]+step)
		}
	}
	li.findBranches(int64(s.Target.Sizes.OnChip))
	return li
}

// findSources finds who reads whose bytes.
func (li *lister) findSources() {
	bytes := func(values ...*anec.Value) (sum int64) {
		for _, v := range values {
			n, _ := v.Type.Bytes()
			sum += int64(n)
		}
		return sum
	}
	for _, l := range li.layers {
		li.bytes = append(li.bytes, bytes(l.Tops...))
	}
	outside := map[*anec.Value]int{}
	for i, l := range li.layers {
		for _, v := range l.Reads() {
			var from []int
			switch {
			case v.Const != nil || v.Def != nil && li.derived[v.Def]:
			case v.Def == nil:
				at, ok := outside[v]
				if !ok {
					at = len(li.bytes)
					outside[v] = at
					li.bytes = append(li.bytes, bytes(v))
				}
				from = []int{at}
			case segment.IsView(v.Def):
				from = li.sources[li.number[v.Def]]
			default:
				from = []int{li.number[v.Def]}
			}
			for _, at := range from {
				if !slices.Contains(li.sources[i], at) {
					li.sources[i] = append(li.sources[i], at)
				}
			}
		}
	}
	li.readers = make([][]int, len(li.bytes))
	for i, l := range li.layers {
		if segment.IsView(l) {
			continue
		}
		for _, at := range li.sources[i] {
			li.readers[at] = append(li.readers[at], i)
		}
	}
}

// topological returns the numbers such that each stands after those it depends on, states and all.
func topological(sc *scheduler) []int {
	waits := make([]int, len(sc.layers))
	var order []int
	for i := range sc.layers {
		if waits[i] = len(sc.deps[i]); waits[i] == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, f := range sc.feeds[order[at]] {
			if waits[f]--; waits[f] == 0 {
				order = append(order, f)
			}
		}
	}
	return order
}

// findBranches weighs the branches of diamonds:
//
//	   x           x and y are the endpoints. If both fit on chip, the layer that begins the branch whose
//	 /   \         values are larger goes first, as long as the most that the branch holds at a time fits too:
//	a     b        it is drained before the other adds to the working set.
//	|     |
//	c     d
//	 \   /
//	   y
func (li *lister) findBranches(onChip int64) {
	for x, readers := range li.readers {
		if len(readers) < 2 || li.bytes[x] > onChip {
			continue
		}
		for _, first := range readers {
			sum, peak, held := int64(0), int64(0), li.bytes[x]
			for at := first; ; at = li.readers[at][0] {
				if at != first && len(li.sources[at]) > 1 { // the other end
					if li.bytes[at] > onChip {
						sum = 0
					}
					break
				}
				sum += li.bytes[at]
				peak, held = max(peak, held+li.bytes[at]), li.bytes[at]
				if len(li.readers[at]) != 1 {
					sum = 0 // it ends, or parts again: no diamond
					break
				}
			}
			if peak <= onChip {
				li.branch[first] = max(li.branch[first], sum)
			}
		}
	}
}

// run takes layers until none is left.
func (li *lister) run() []pick {
	waits := make([]int, len(li.layers))
	picks := make([]pick, 0, len(li.layers))
	var ready, free []int // free: views, and layers of constants alone
	push := func(i int) {
		if l := li.layers[i]; li.derived[l] || segment.IsView(l) {
			free = append(free, i)
		} else {
			ready = append(ready, i)
		}
	}
	for i := range li.layers {
		if waits[i] = len(li.deps[i]); waits[i] == 0 {
			push(i)
		}
	}
	var first, live []pick
	for len(ready)+len(free) > 0 {
		p := pick{rule: byItself}
		var i int
		if len(free) > 0 {
			i, free = free[0], free[1:]
		} else {
			best := 0
			for k := 1; k < len(ready); k++ {
				if c, _ := li.compare(ready[k], ready[best]); c < 0 {
					best = k
				}
			}
			i = ready[best]
			ready = slices.Delete(ready, best, best+1)
			for k, other := range ready {
				if _, rule := li.compare(i, other); k == 0 || rule > p.rule {
					p.rule = rule
				}
			}
			li.gone(i)
		}
		p.layer = li.layers[i]
		if li.derived[p.layer] {
			first = append(first, p)
		} else {
			live = append(live, p)
		}
		for _, f := range li.feeds[i] {
			if waits[f]--; waits[f] == 0 {
				push(f)
			}
		}
	}
	return append(append(picks, first...), live...)
}

// compare says which of two ready layers goes first, and by which rule.
func (li *lister) compare(a, b int) (int, pickRule) {
	for rule, c := range [...]int{
		byRingBuffer:    -compareBool(li.ring[a], li.ring[b]),
		byBranchSibling: cmp.Compare(li.forkGone[a], li.forkGone[b]),
		byMergeSibling:  -cmp.Compare(li.mergeGone[a], li.mergeGone[b]),
		byWorkingSet:    -cmp.Compare(li.branch[a], li.branch[b]),
		byTopology:      cmp.Compare(li.level[a], li.level[b]),
	} {
		if c != 0 {
			return c, pickRule(rule)
		}
	}
	return cmp.Compare(li.layers[a].ID, li.layers[b].ID), byNodeID
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// gone counts a layer that has been taken for those that it is a sibling of.
func (li *lister) gone(i int) {
	for _, r := range li.sources[i] { // it shares an operand with the other readers of what it reads
		for _, sibling := range li.readers[r] {
			if sibling != i {
				li.forkGone[sibling]++
			}
		}
	}
	for _, reader := range li.readers[i] { // and a reader with what else that reads
		for _, sibling := range li.sources[reader] {
			if sibling != i && sibling < len(li.layers) {
				li.mergeGone[sibling]++
			}
		}
	}
}
