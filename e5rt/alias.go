package e5rt

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/engine"
)

// Ports that share memory.
//
// A caller may bind an input to memory that an output or a state has, all of it
// or some. The run gives what it would if they lay apart: an input that a step
// still needs after another has written there is copied when the run begins. What
// happens within one dispatch, the engine knows.
//
//	step 0   t, y ← x        y over x: x is copied, for step 1 reads it
//	step 1   z ← t, x        z over x: the engine sees whether it can be in place
//
// Outputs and states must not share memory with each other.

// separate finds the ports that share memory, and makes copies of inputs, or says
// why two cannot be bound so.
func (o *Operation) separate() error {
	f := o.function
	clear(o.instead)
	written := slices.Concat(f.outputs, f.states)
	for i, y := range written {
		for _, z := range written[:i] {
			if o.overlap(y, z) {
				return &Error{Function: f.name, Err: fmt.Errorf("%s and %s share memory: %w", f.sideOf(z), f.sideOf(y), ErrOverlap)}
			}
		}
		for _, x := range f.inputs {
			root := f.slots[o.home(x)].root
			if o.instead[root] == nil && o.overlap(x, y) && o.spoils(root, f.slots[o.home(y)].root) {
				o.instead[root] = alignedBytes(len(o.memory(root)))
			}
		}
	}
	return nil
}

// sideOf names a port as callers know it.
func (f *Function) sideOf(slot int) string {
	if s := &f.slots[slot]; s.state >= 0 {
		return fmt.Sprintf("state %q", s.symbol)
	}
	return fmt.Sprintf("output %q", f.slots[slot].symbol)
}

// overlap reports whether two ports share a byte and are not the same.
func (o *Operation) overlap(x, y int) bool {
	x, y = o.function.slots[o.home(x)].root, o.function.slots[o.home(y)].root
	if x == y || o.function.slots[x].opaque || o.function.slots[y].opaque {
		return false
	}
	return overlaps(o.memory(x), o.memory(y))
}

// overlaps reports whether two memories share a byte.
func overlaps(a, b []byte) bool {
	at := func(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }
	return at(a) < at(b)+uintptr(len(b)) && at(b) < at(a)+uintptr(len(a))
}

// spoils reports whether a step writes y, a root, before or while one reads x.
func (o *Operation) spoils(x, y int) bool {
	f, written := o.function, false
	for i := range f.steps {
		if o.left[i] {
			continue
		}
		reads, writes, apart := f.uses(i, x, y)
		if reads && (written || writes && !apart) {
			return true
		}
		written = written || writes
	}
	return false
}

// uses says whether step i reads the root x, whether it writes y, and whether it
// does both as if they lay apart, wherever they do. The engine takes care of
// ports that it is bound to; what is neither converted nor laid out anew is moved.
func (f *Function) uses(i, x, y int) (reads, writes, apart bool) {
	is := func(slot, root int) bool { return f.slots[slot].root == root }
	switch s := f.steps[i].do.(type) {
	case *castStep:
		return is(s.from, x), is(s.to, y), s.move.apart()
	case *engineStep:
		for port, slot := range s.slots {
			reads = reads || is(slot, x) && s.directions[port] != engine.Output
			writes = writes || is(slot, y) && s.directions[port] != engine.Input
		}
		return reads, writes, true
	case *hostStep: // which writes its states, too, and may return what it was given
		in := func(list []int, root int) bool {
			return slices.ContainsFunc(list, func(slot int) bool { return is(slot, root) })
		}
		return in(s.inputs, x), in(s.outputs, y) || f.slots[y].state >= 0 && in(s.inputs, y), false
	}
	panic("bug: a step of no kind")
}
