package engine

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/td"
)

// How much a program may compute. A few bytes that broadcast over every axis
// could ask for any amount.

// maxWork bounds the steps of a program, multiplications for the most part: more
// than a network has that fits the memory of a dispatch, and a few hours.
const maxWork = 1 << 44

// maxTileWork bounds the steps of a tile, and with them the time until a Run
// that was told to end does: a few seconds.
const maxTileWork = 1 << 31

// countWork notes the steps of a task, and refuses a task that has too many in
// all, in one tile, or for what is done while loading.
func (p *Program) countWork(steps, perTile float64, once bool) error {
	p.work += steps
	if once {
		p.onceWork += steps
	}
	if allowed := p.limits.Steps; allowed > 0 && p.work > float64(allowed) {
		return &limit.Error{Resource: limit.Steps, What: "the task", Asked: limit.Clamp(steps), InUse: limit.Clamp(p.work - steps), Allowed: allowed}
	}
	switch {
	case p.onceWork > maxOnceWork:
		return fmt.Errorf("%.3g steps to make derived memory; want %.3g or less in all", p.onceWork, float64(maxOnceWork))
	case p.work > maxWork:
		return fmt.Errorf("%.3g steps, after %.3g of the tasks before; want %.3g or less in all", steps, p.work-steps, float64(maxWork))
	case perTile > maxTileWork:
		return fmt.Errorf("%.3g steps that cannot be divided; want %.3g or less", perTile, float64(maxTileWork))
	}
	return nil
}

// How long tasks take on one thread is guessed, to spare short ones the way to others.
const (
	productsPerNanosecond = 16 // by machine code; and about one element of anything else

	// tinyProgram is how long a program takes at most that one thread runs alone: as
	// long as it takes others to wake up and share a few tasks.
	tinyProgram = 30e3

	// tinyTask is how long a task takes at most for which nobody is woken, in a program
	// that does not take longProgram. Who is awake helps all the same.
	tinyTask    = 10e3
	longProgram = 100e3
)

// operationTime guesses the nanoseconds of an operation that has so many steps.
func operationTime(op *td.Op, steps float64) float64 {
	switch op.Params.(type) {
	case *td.Convolution, *td.MatMul, *td.Attention, *td.CrossCorrelation:
		elements := 1.0
		for _, d := range op.Operands[0].Dims {
			elements *= float64(d)
		}
		return steps/productsPerNanosecond + elements
	}
	return steps
}
