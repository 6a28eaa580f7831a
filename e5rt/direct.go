package e5rt

// Ports whose memory may lie as the engine wants it.
//
// A cast stands between a port and the engine where they differ. If nothing else
// uses the port, a caller may bind memory that lies as the engine's side does: it
// is the engine's then, and the cast is left out.
//
//	x ──Cast── x__engine ── AneInference      the caller's memory as x
//	           x__engine ── AneInference      the caller's memory as x__engine

// A direct is the other side of a port's cast.
type direct struct {
	slot int // whose memory the port may be; a root
	cast int // the step
}

// findDirect finds the ports that have one.
func (f *Function) findDirect() {
	f.direct = map[int]direct{}
	taken := map[int]bool{}
	for _, list := range [][]int{f.inputs, f.outputs} {
		for _, x := range list {
			if d, ok := f.directOf(x); ok && !taken[d.slot] {
				f.direct[x], taken[d.slot] = d, true
			}
		}
	}
}

// directOf finds the one step that uses a port, and the slot on its other side if
// that is a cast and no other port.
func (f *Function) directOf(x int) (d direct, ok bool) {
	root := f.slots[x].root
	for i, s := range f.steps {
		cast, isCast := s.do.(*castStep)
		reads, writes, _ := f.uses(i, root, root)
		switch {
		case !reads && !writes:
			continue
		case !isCast || ok:
			return d, false
		}
		d, ok = direct{f.slots[cast.to].root, i}, true
		if writes {
			d.slot = f.slots[cast.from].root
		}
	}
	return d, ok && !f.isPort(d.slot)
}

// isPort reports whether a root is the memory of a port or a state.
func (f *Function) isPort(root int) bool {
	for _, list := range [][]int{f.inputs, f.outputs, f.states} {
		for _, i := range list {
			if f.slots[i].root == root {
				return true
			}
		}
	}
	return false
}
