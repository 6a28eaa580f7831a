package engine

// What happens if two ports share memory.
//
// A run must give what it would if each port had memory of its own. Where a task
// writes over an input that is read later, or not element by element, it does
// not: such an input is copied before the run (see bind.go). Of the rest, tasks
// write over what nobody needs any more.
//
//	task 0   t ← x                       y may lie over x: nobody reads x after
//	task 1   y ← t                       task 1 has begun to write
//
//	task 0   y ← x transposed            y may not: an element would be read after
//	                                     another has taken its place

// An access is what a task does to a port.
type access struct {
	step   int
	lo, hi int64 // the hull of the region
	place

	writes bool
	first  bool // of what is written: the first result
	over   bool // of what is read: td.Op.InPlace
	before bool // of what is read: all of it, before anything is written
}

// note keeps what the next step does to a port.
func (p *Program) note(a access) {
	m := &p.memories[a.Memory]
	if a.region.empty() || !m.kind.port() {
		return
	}
	a.step = len(p.steps)
	a.lo, a.hi = a.region.hull()
	m.accesses = append(m.accesses, a)
}

// maxAliasWork bounds the accesses and the runs of bytes that are compared for
// two ports, and with them the time that Bind takes: some milliseconds. Beyond,
// ports are taken to be in each other's way.
const maxAliasWork = 1 << 20

// An overlap is two ports that share memory: byte k of the second is byte k+shift
// of the first.
type overlap struct {
	program       *Program
	first, second *Port
	shift         int64
	work          int64 // so far
}

// accesses are those of a port.
func (o *overlap) accesses(p *Port) []access { return o.program.memories[p.memory].accesses }

// meet reports whether an access of the first port and one of the second share a
// byte.
func (o *overlap) meet(a, b *access) bool {
	if o.work++; b.lo+o.shift >= a.hi || a.lo >= b.hi+o.shift {
		return false
	}
	if o.work += a.region.runs() + b.region.runs(); o.work > maxAliasWork {
		return true
	}
	if o.shift < 0 {
		moved := a.region.moved(int(-o.shift))
		return moved.overlaps(&b.region)
	}
	moved := b.region.moved(int(o.shift))
	return moved.overlaps(&a.region)
}

// moved is the region so many bytes further on.
func (r *region) moved(by int) region {
	to := region{make([]block, len(r.blocks)), r.separate}
	for i, b := range r.blocks {
		b.offset += by
		to.blocks[i] = b
	}
	return to
}

// spoils reports whether a run may write the second port where it still has to
// read the first, an input.
func (o *overlap) spoils() bool {
	reads := o.accesses(o.first)
	for i := range o.accesses(o.second) {
		w := &o.accesses(o.second)[i]
		for j := range reads {
			r := &reads[j]
			if !w.writes || r.step < w.step || r.step == w.step && o.inPlace(r, w) {
				continue
			}
			if o.meet(r, w) || o.work > maxAliasWork {
				return true
			}
		}
	}
	return false
}

// inPlace reports whether a task may write w over what it reads as r.
func (o *overlap) inPlace(r, w *access) bool {
	return r.before || r.over && w.first && r.liesOn(&w.place, o.shift)
}

// clash reports whether a run writes bytes of one port that are to have the
// content of the other afterwards: both are outputs or states.
func (o *overlap) clash() bool {
	first, second := o.accesses(o.first), o.accesses(o.second)
	keptFirst, keptSecond := o.kept(o.first), o.kept(o.second)
	return o.writesOver(first, keptSecond, o.meet) ||
		o.writesOver(second, keptFirst, func(w, kept *access) bool { return o.meet(kept, w) })
}

func (o *overlap) writesOver(accesses, kept []access, meet func(w, kept *access) bool) bool {
	for i := range accesses {
		for j := range kept {
			if accesses[i].writes && (meet(&accesses[i], &kept[j]) || o.work > maxAliasWork) {
				return true
			}
		}
	}
	return false
}

// kept is what the caller finds in a port after a run: all of a state, and what
// is written of an output.
func (o *overlap) kept(p *Port) []access {
	if p.Direction == State {
		return []access{{hi: int64(p.bytes), place: place{region: newRegion(0, p.bytes, nil, nil)}}}
	}
	var kept []access
	for _, a := range o.accesses(p) {
		if a.writes {
			kept = append(kept, a)
		}
	}
	return kept
}
