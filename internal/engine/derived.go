package engine

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// Derived memory holds what tasks make of constants alone: weights that the file
// has compressed, for the most part. The program owns it, and all dispatches
// share it.
//
//	constants ──► decode ──► derived ──┐      when the program is loaded
//	─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─│─ ─
//	input ────────────────► multiply ◄─┘      in every dispatch
//
// A task that writes derived memory is run by Load, and again by Reload, in the
// order of the task list, and is no step of a dispatch. So that nobody can tell
// the difference, it reads constants and derived memory only, and no two tasks
// write the same byte.

// What no kernel reads is not made: one may read what a derivation was made of, and
// decode it as it goes.

// A derivation is a task that makes derived memory.
type derivation struct {
	step
	op     *strided.Op
	wanted bool // somebody reads the result
}

// addDerivation notes a task that makes derived memory at a place.
func (p *Program) addDerivation(s step, op *strided.Op, at *place) {
	if p.origins == nil {
		p.origins = make(map[strided.Operand]int)
	}
	p.origins[at.Operand] = len(p.once)
	p.once = append(p.once, derivation{step: s, op: op})
}

// origin is the operation that has made exactly an operand, nil if none has.
func (p *Program) origin(pl *place) *strided.Op {
	if i, made := p.origins[pl.Operand]; made && !pl.region.empty() {
		return p.once[i].op
	}
	return nil
}

// wants notes that an operand is read. One that is not exactly what a task has made
// may be a part of anything.
func (p *Program) wants(pl *place) {
	if pl.region.empty() || p.memories[pl.Memory].kind != derived {
		return
	}
	if i, made := p.origins[pl.Operand]; made {
		p.once[i].wanted = true
	} else {
		p.wantsAll = true
	}
}

// maxOnceWork bounds the steps of the tasks that make derived memory, and with
// them the time that Load takes: a minute or two. To decode fp16 numbers until
// they fill the memory of a dispatch takes a quarter of it.
const maxOnceWork = 1 << 33

// runsOnce reports whether an operation makes derived memory, and refuses one
// that does and may not.
func (p *Program) runsOnce(op *td.Op, places []place) (bool, error) {
	once := false
	for i := range op.Results() {
		pl := &places[i]
		once = once || !pl.region.empty() && p.memories[pl.Memory].kind == derived
	}
	if !once {
		return false, nil
	}
	for i := range places {
		pl := &places[i]
		if pl.region.empty() {
			continue
		}
		m := &p.memories[pl.Memory]
		switch {
		case i < op.Results() && m.kind != derived:
			return false, fmt.Errorf("operand %d: writes %v, but another result is derived memory", i, m)
		case !m.kind.shared():
			return false, fmt.Errorf("operand %d: reads %v; what makes derived memory may read constants and derived memory only", i, m)
		}
		if i >= op.Results() {
			continue
		}
		if at, found := m.written.common(&pl.region); found {
			return false, fmt.Errorf("operand %d: writes byte %#x of %v, which another task has written", i, at, m)
		}
	}
	return true, nil
}

// derive makes the derived memory of the constants that the program has, unless
// the context ends before.
func (p *Program) derive(ctx context.Context) {
	for i := range p.memories {
		if m := &p.memories[i]; m.kind == derived {
			m.data = make([]byte, m.reach) // of the rest, nobody reads anything
		}
	}
	if len(p.once) == 0 {
		return
	}
	c := p.emptyContext()
	c.done = ctx.Done()
	c.shareMemory()
	w := pool.Enter(p.threads)
	defer w.Leave()
	for i := 0; i < len(p.once) && !c.stop(); i++ {
		if d := &p.once[i]; d.wanted || p.wantsAll {
			c.run(w, &d.step)
		}
	}
}

// pack has the kernels lay out the constants and the derived memory that they
// multiply with, as they want them, unless the context ends before.
func (p *Program) pack(ctx context.Context) {
	memory := make([][]byte, len(p.memories))
	for i := range p.memories {
		memory[i] = p.memories[i].data
	}
	p.packed = p.packs.New()
	pool.ForUpTo(p.threads, len(p.packed), 1, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			p.packs.Fill(p.packed, i, memory)
		}
	})
	for i := range p.memories {
		if m := &p.memories[i]; m.kind == constant { // most of it is packed by now
			osfile.Unload(m.data)
		}
	}
	if p.packs.Small {
		debug.FreeOSMemory() // what compiling and packing have left behind
	}
}
