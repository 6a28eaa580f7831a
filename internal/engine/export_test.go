package engine

import (
	"sync"

	"github.com/espalier-ane/espalier/internal/strided"
)

// DispatchBytes is the memory of a context: what tests must know before they run
// a program that they did not write.
func (p *Program) DispatchBytes() int64 { return p.dispatchBytes() }

// Bound is what task i was bound to.
func (p *Program) Bound(i int) any { return &p.steps[i] }

// Steps is the number of tasks that a dispatch runs.
func (p *Program) Steps() int { return len(p.steps) }

// StopEverywhere makes every task stop the runs of a context, once before and once after
// each portion of its tiles.
func (p *Program) StopEverywhere(c *Context) {
	for i := range p.steps {
		for j, k := range p.steps[i].kernels {
			p.steps[i].kernels[j] = &stopping{Kernel: k, c: c, seen: make(map[int]bool)}
		}
	}
}

// A stopping kernel stops the run that it is part of.
type stopping struct {
	strided.Kernel
	c    *Context
	mu   sync.Mutex
	seen map[int]bool // by first tile
}

func (k *stopping) Run(s *strided.Scratch, lo, hi int) {
	k.mu.Lock()
	again := k.seen[lo]
	k.seen[lo] = true
	k.mu.Unlock()
	if !again { // which a long tile sees
		k.c.Stop()
	}
	k.Kernel.Run(s, lo, hi)
	k.c.Stop()
}

// Rooms are how many operands of a version have memory that somebody uses.
func (v *Version) Rooms() (n int) {
	for _, r := range v.rooms {
		if r.users.Load() > 0 {
			n++
		}
	}
	return n
}
