package engine

import (
	"fmt"
	"unsafe"
)

// Memory of the caller for ports.
//
// Ports may share it. An input that a run would spoil before it has read all of
// it is copied when the run begins, to memory that Bind makes:
//
//	           ┌── x ──┐                         copy ── tasks read x here
//	caller     │ bytes │              caller   ┌──┴────┐
//	           └── y ──┘                       └── y ──┘
//	           in place                        with a buffer between
//
// Nothing helps two ports that are both to hold a result there: those are
// refused.

// An OverlapError is about two ports, outputs or states, that were to be bound to
// memory in which a run would write one over what the other has to keep.
type OverlapError struct{ Ports [2]Port }

func (e *OverlapError) Error() string {
	a, b := &e.Ports[0], &e.Ports[1]
	return fmt.Sprintf("engine: %v %q and %v %q share memory, and cannot both have their content there after a run", a.Direction, a.Name, b.Direction, b.Name)
}

// BindAll makes all ports use memory of the caller, in the order of
// Program.Ports, as Bind does one. It costs nothing if they have that memory
// already. After an error, ports are bound as before.
func (c *Context) BindAll(surfaces [][]byte) error {
	ports := c.program.ports
	if len(surfaces) != len(ports) {
		return fmt.Errorf("engine: memory for %d ports; want %d", len(surfaces), len(ports))
	}
	same := true
	for i := range ports {
		if err := ports[i].fits(surfaces[i]); err != nil {
			return err
		}
		now := c.given(ports[i].memory)
		same = same && len(now) == len(surfaces[i]) && unsafe.SliceData(now) == unsafe.SliceData(surfaces[i])
	}
	if same {
		return nil
	}
	return c.rebind(surfaces)
}

// Unbind lets go of the memory of all ports, which are as in a new context.
func (c *Context) Unbind() {
	for i := range c.program.ports {
		m := c.program.ports[i].memory
		c.memories[m], c.between[m] = nil, nil
		if c.copies[m] != nil {
			c.copies[m].given = nil
		}
	}
	c.sharing, c.copied = false, 0
}

func (p *Port) fits(surface []byte) error {
	if len(surface) < p.bytes {
		return fmt.Errorf("engine: port %q: %d bytes; want %d", p.Name, len(surface), p.bytes)
	}
	return nil
}

func (c *Context) bind(p *Port, surface []byte) error {
	if err := p.fits(surface); err != nil {
		return err
	}
	surfaces := make([][]byte, len(c.program.ports))
	for i := range surfaces {
		q := &c.program.ports[i]
		if surfaces[i] = c.given(q.memory); q.memory == p.memory {
			surfaces[i] = surface
		}
	}
	return c.rebind(surfaces)
}

// CopiedPerRun is how many bytes of inputs each run copies, since it writes over them.
func (c *Context) CopiedPerRun() int64 { return c.copied }

// given is the memory of a port as the caller knows it, nil if it has none yet.
func (c *Context) given(memory int) []byte {
	if b := c.between[memory]; b != nil {
		return b.given
	}
	return c.memories[memory]
}

// A between is a port of which tasks see a copy.
type between struct{ given, copy []byte }

// rebind gives every port its memory, nil for those that have none yet.
func (c *Context) rebind(surfaces [][]byte) error {
	ports := c.program.ports
	clear(c.spoiled)
	sharing := false
	for i := range ports {
		for j := range i {
			shift, meet := ports[j].shares(surfaces[j], &ports[i], surfaces[i])
			if !meet {
				continue
			}
			sharing = true
			if err := c.share(i, j, shift); err != nil {
				return err
			}
		}
	}
	c.sharing, c.copied = sharing, 0
	for i := range ports {
		p := &ports[i]
		m := p.memory
		c.memories[m], c.between[m] = surfaces[i], nil
		if !c.spoiled[i] {
			continue
		}
		if c.copies[m] == nil {
			c.copies[m] = &between{copy: make([]byte, p.bytes)}
		}
		c.copies[m].given = surfaces[i]
		c.copied += int64(p.bytes)
		c.memories[m], c.between[m] = c.copies[m].copy, c.copies[m]
	}
	return nil
}

// share notes which of two ports that share memory is to be copied, and refuses
// them if that does not help. Byte k of port i is byte k+shift of port j.
func (c *Context) share(i, j int, shift int64) error {
	ports := c.program.ports
	if ports[i].Direction == Input {
		i, j, shift = j, i, -shift
	}
	first, second := &ports[j], &ports[i]
	o := overlap{program: c.program, first: first, second: second, shift: shift}
	switch {
	case second.Direction == Input: // both are read only
	case first.Direction == Input:
		c.spoiled[j] = c.spoiled[j] || o.spoils()
	case o.clash():
		return &OverlapError{[2]Port{*first, *second}}
	}
	return nil
}

// shares reports whether the bytes of p and q share memory, and then which byte
// of p is the first of q.
func (p *Port) shares(mine []byte, q *Port, others []byte) (shift int64, meet bool) {
	if mine == nil || others == nil || p.memory == q.memory {
		return 0, false
	}
	at := func(b []byte) int64 { return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
	shift = at(others) - at(mine)
	return shift, shift < int64(p.bytes) && -shift < int64(q.bytes)
}
