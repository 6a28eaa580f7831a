package engine

// DispatchBytes is the memory of a context: what tests must know before they run
// a program that they did not write.
func (p *Program) DispatchBytes() int64 { return p.dispatchBytes() }

// Bound is what task i was bound to.
func (p *Program) Bound(i int) any { return &p.steps[i] }

// Steps is the number of tasks that a dispatch runs.
func (p *Program) Steps() int { return len(p.steps) }
