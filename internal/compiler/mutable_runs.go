package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/bundle"
)

// A nest is loops over elements, from the outermost on: see bundle.WeightPart.
type nest struct {
	at, first int64
	loops     []bundle.WeightLoop
}

// A run is elements that lie equally far apart and have equally different numbers.
type run struct {
	at, first, count int64
	bytes, elements  int64 // from one to the next
	width            int
}

// add adds an element, and reports whether it goes on with the run.
func (r *run) add(at, number int64, width int) bool {
	switch {
	case r.count == 0:
		*r = run{at: at, first: number, width: width}
	case r.width != width:
		return false
	case r.count == 1:
		r.bytes, r.elements = at-r.at, number-r.first
	case at != r.at+r.count*r.bytes || number != r.first+r.count*r.elements:
		return false
	}
	r.count++
	return true
}

func (r *run) nest() nest {
	n := nest{at: r.at, first: r.first}
	if r.count > 1 {
		n.loops = []bundle.WeightLoop{{r.count, r.bytes, r.elements}}
	}
	return n
}

// gather writes nests that are alike, and equally far apart, as one with another loop around it, as often as that makes fewer.
//
//	8×(2,9) at 0, 8×(2,9) at 16, 8×(2,9) at 32    →    3×(16,1) 8×(2,9) at 0
func gather(list []nest) []nest {
	for depth := 0; depth < 6; depth++ {
		var made []nest
		for i := 0; i < len(list); {
			n := list[i]
			alike := 1
			var bytes, elements int64
			for ; i+alike < len(list); alike++ {
				next, before := &list[i+alike], &list[i+alike-1]
				if !slices.Equal(next.loops, n.loops) {
					break
				}
				b, e := next.at-before.at, next.first-before.first
				if alike > 1 && (b != bytes || e != elements) {
					break
				}
				bytes, elements = b, e
			}
			if alike > 1 {
				n.loops = slices.Concat([]bundle.WeightLoop{{int64(alike), bytes, elements}}, n.loops)
			}
			made = append(made, n)
			i += alike
		}
		if len(made) == len(list) {
			break
		}
		list = made
	}
	return list
}
