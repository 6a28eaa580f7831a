package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"

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
	places []place // of its operands
	lo, hi int     // of its results: where they lie, from the first byte to the last
	memory int
	wanted bool // somebody reads the result
	lasts  bool // a step does, in every dispatch: not only another derivation, or what packs
}

// addDerivation notes a task that makes derived memory.
func (p *Program) addDerivation(s step, op *strided.Op, places []place, results int) {
	d := derivation{step: s, op: op, places: places[results:], memory: -1}
	for i := range places[:results] {
		if places[i].region.empty() {
			continue
		}
		lo, hi := places[i].region.hull()
		if d.memory < 0 {
			d.memory, d.lo, d.hi = places[i].Memory, int(lo), int(hi)
		}
		d.lo, d.hi = min(d.lo, int(lo)), max(d.hi, int(hi))
	}
	if p.origins == nil {
		p.origins = make(map[originKey]int)
	}
	p.origins[originKey{places[0].Memory, places[0].Offset}] = len(p.once)
	p.once = append(p.once, d)
}

// An originKey is where the first result of a derivation begins.
type originKey struct {
	memory int
	offset int64
}

// origin is the operation that has made an operand, or what it is a view of, nil if
// there is none: one whose first result begins where the operand does.
func (p *Program) origin(pl *place) *strided.Op {
	if pl.region.empty() || p.memories[pl.Memory].kind != derived {
		return nil
	}
	if i, made := p.origins[originKey{pl.Memory, pl.Offset}]; made {
		return p.once[i].op
	}
	return nil
}

// wants notes that an operand is read, in every dispatch or only while the program is
// loaded.
func (p *Program) wants(pl *place, lasts bool) {
	if pl.region.empty() || p.memories[pl.Memory].kind != derived {
		return
	}
	lo, hi := pl.region.hull()
	p.runs += int64(len(p.once)) // a program may not keep us busy with this either
	for i := range p.once {
		if d := &p.once[i]; d.memory == pl.Memory && d.lo < int(hi) && int(lo) < d.hi {
			d.wanted, d.lasts = true, d.lasts || lasts
		}
	}
}

// wantsOrigin notes that what an operand was made of is read.
func (p *Program) wantsOrigin(of *strided.Op, lasts bool) {
	for i := range p.once {
		if d := &p.once[i]; d.op == of {
			for j := range d.places {
				p.wants(&d.places[j], lasts)
			}
		}
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
		case m.island:
			return false, fmt.Errorf("operand %d: reads constants that may change; what makes derived memory is run once", i)
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
			m.pages.Close()                    // of those before Reload
			m.pages = osfile.NewPages(m.reach) // of the rest, nobody reads anything
			m.data = m.pages.Bytes()
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
		if d := &p.once[i]; d.wanted {
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
	p.room.Close()
	p.room = osfile.NewPages(p.packs.Room())
	p.packed = p.packs.New(p.room.Bytes())
	pool.ForUpTo(p.threads, len(p.packed), 1, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			p.packs.Fill(p.packed, i, memory, nil)
		}
	})
	for i := range p.memories {
		if m := &p.memories[i]; m.kind == constant { // most of it is packed by now
			osfile.Unload(m.data)
		}
	}
	p.dropDerived()
	p.newBase()
	if p.packs.Small {
		debug.FreeOSMemory() // what compiling and packing have left behind
	}
}

// dropDerived gives back the derived memory that nobody reads any more.
func (p *Program) dropDerived() {
	for i := range p.memories {
		m := &p.memories[i]
		if m.kind != derived {
			continue
		}
		var kept []*derivation
		for j := range p.once {
			if d := &p.once[j]; d.memory == i && d.wanted && d.lasts {
				kept = append(kept, d)
			}
		}
		slices.SortFunc(kept, func(a, b *derivation) int { return cmp.Compare(a.lo, b.lo) })
		end := 0 // of what is kept so far
		m.kept = 0
		for _, d := range kept {
			m.pages.Empty(end, min(d.lo, len(m.data)))
			m.kept += max(0, d.hi-max(d.lo, end))
			end = max(end, d.hi)
		}
		m.pages.Empty(min(end, len(m.data)), len(m.data))
	}
}

// Close gives back the memory that the program has made when it was loaded. No run may be
// under way, and none may follow. A program that is not closed leaves it to the
// collector.
func (p *Program) Close() {
	p.room.Close()
	p.packed, p.room = nil, nil
	if p.base != nil {
		p.base.packed = nil
	}
	for i := range p.memories {
		if m := &p.memories[i]; m.pages != nil {
			m.pages.Close()
			m.data, m.pages = nil, nil
		}
	}
}
