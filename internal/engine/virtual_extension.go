package engine

import (
	"github.com/espalier-ane/espalier/internal/kernel"
	"github.com/espalier-ane/espalier/td"
)

// A program of H13 may have extensions among its tasks of version 7. What
// either kind of task writes, the other may read.

// writtenByV7 reports whether a task of version 7 has written a byte.
func (m *memory) writtenByV7(at int) bool {
	if m.written.bits == nil && len(m.written.pending) == 0 {
		return false
	}
	halfword := kernel.View{Offset: at &^ 1, Dims: [kernel.Axes]int{1, 1, 1, 1, 1}}
	_, missing := m.written.gap(&halfword, m.size)
	return !missing
}

// showToV7 notes what an extension has written where tasks of version 7 look.
// They count in halfwords; half of one does not count.
func (p *Program) showToV7(result *td.Operand) {
	pl, err := p.placeOperand(result)
	if err != nil {
		panic("bug: a result that was bound: " + err.Error())
	}
	m := &p.memories[pl.memory]
	pl.region.eachRun(func(at, n int) bool {
		lo, hi := (at+1)&^1, (at+n)&^1
		if lo < hi {
			m.written.add(&kernel.View{
				Offset: lo, Dims: [kernel.Axes]int{1, 1, 1, 1, (hi - lo) / 2}, Strides: [kernel.Axes]int{4: 2},
			})
		}
		return true
	})
}
