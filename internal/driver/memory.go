package driver

import (
	"slices"

	"github.com/espalier-ane/espalier/hal"
)

// A Surface is memory of a client, with a number by which calls name it: what an IOSurface is.
type Surface struct {
	client *Client
	id     uint32
	memory []byte
}

// NewSurface makes memory, all zero.
func (c *Client) NewSurface(bytes int) (*Surface, error) {
	if bytes <= 0 || bytes > c.device.target.Driver.Aperture {
		return nil, fail(BadArgument, "a surface of %d bytes", bytes)
	}
	return c.WrapSurface(make([]byte, bytes))
}

// WrapSurface makes a surface of memory that the client has.
func (c *Client) WrapSurface(memory []byte) (*Surface, error) {
	if len(memory) == 0 {
		return nil, fail(BadArgument, "a surface of no bytes")
	}
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	s := &Surface{c, c.device.surfaces.Add(1), memory}
	c.surfaces[s.id] = s
	return s, nil
}

// ID is the number by which calls name the surface.
func (s *Surface) ID() uint32 { return s.id }

// Bytes is its memory.
func (s *Surface) Bytes() []byte { return s.memory }

// Release forgets the surface: its number names nothing any more. Maps of it stay.
func (s *Surface) Release() {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	delete(s.client.surfaces, s.id)
}

// surface finds one by its number. The lock is held.
func (c *Client) surface(id uint32) (*Surface, error) {
	if s := c.surfaces[id]; s != nil {
		return s, nil
	}
	return nil, fail(NotFound, "surface %d is none of this client", id)
}

// A space is the addresses that the engine sees of a client. Each client has its own, as each has a context of the
// translation unit (guide 28). Addresses are given on and on and used again only after all others, so that a load gets others than the one before.
type space struct {
	page, end, next uint64
	regions         []region // by address
}

// A region is memory that the engine sees.
type region struct {
	start, size uint64
	memory      []byte // nil: of a program, which knows itself what is there
}

const granule = 0x4000 // guide 28: a page of the translation unit

func newSpace(t *hal.Target) space {
	page := uint64(max(t.Sizes.PageSize, granule))
	return space{page: page, next: page, end: uint64(t.Driver.Aperture)}
}

// take finds addresses for so many bytes.
func (s *space) take(size uint64) (uint64, error) {
	size = (max(size, 1) + s.page - 1) / s.page * s.page
	for _, from := range []uint64{s.next, s.page} {
		at := from
		i, _ := slices.BinarySearchFunc(s.regions, from, func(r region, a uint64) int {
			if r.start+r.size <= a {
				return -1
			}
			return 1
		})
		for ; i < len(s.regions) && at+size > s.regions[i].start; i++ {
			at = s.regions[i].start + s.regions[i].size
		}
		if at+size > at && at+size <= s.end {
			s.regions = slices.Insert(s.regions, i, region{start: at, size: size})
			s.next = at + size
			return at, nil
		}
	}
	return 0, fail(NoMemory, "no %#x bytes of addresses are left of %#x", size, s.end)
}

// find returns the region of an address.
func (s *space) find(at uint64) *region {
	i, _ := slices.BinarySearchFunc(s.regions, at, func(r region, a uint64) int {
		if r.start+r.size <= a {
			return -1
		}
		return 1
	})
	if i == len(s.regions) || s.regions[i].start > at {
		return nil
	}
	return &s.regions[i]
}

// put gives addresses memory.
func (s *space) put(at uint64, memory []byte) { s.find(at).memory = memory }

// give takes addresses back.
func (s *space) give(at uint64) {
	i := slices.IndexFunc(s.regions, func(r region) bool { return r.start == at })
	s.regions = slices.Delete(s.regions, i, i+1)
}

// translate returns the memory at an address, to the end of what is mapped there.
func (s *space) translate(at, size uint64) ([]byte, error) {
	r := s.find(at)
	if r == nil || r.memory == nil || at-r.start > uint64(len(r.memory)) || size > uint64(len(r.memory))-(at-r.start) {
		return nil, fail(BadArgument, "DART fault: %#x bytes at %#x are not mapped", size, at)
	}
	return r.memory[at-r.start:], nil
}

// A Mapping is a surface that the engine sees, in a slot of the client.
type Mapping struct {
	Slot    int
	Surface *Surface
	Address uint64
}

// Map makes a surface visible to the engine, in a slot; AnySlot is the first that is free.
func (c *Client) Map(slot int, s *Surface) (*Mapping, error) {
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	return c.mapLocked(slot, s)
}

// AnySlot is a slot that the driver chooses.
const AnySlot = -1

func (c *Client) mapLocked(slot int, s *Surface) (*Mapping, error) {
	if s == nil || c.surfaces[s.id] != s {
		return nil, fail(NotFound, "the surface is none of this client")
	}
	if slot == AnySlot {
		if slot = slices.Index(c.buffers, nil); slot < 0 {
			return nil, fail(NoResources, "all %d buffer slots are taken", len(c.buffers))
		}
	}
	switch {
	case slot < 0 || slot >= len(c.buffers):
		return nil, fail(BadArgument, "buffer slot %d: there are %d", slot, len(c.buffers))
	case c.buffers[slot] != nil:
		return nil, fail(Busy, "buffer slot %d is taken", slot)
	}
	at, err := c.space.take(uint64(len(s.memory)))
	if err != nil {
		return nil, err
	}
	c.space.put(at, s.memory)
	m := &Mapping{slot, s, at}
	c.buffers[slot] = m
	return m, nil
}

// Unmap ends a mapping. Requests that were submitted keep their memory.
func (c *Client) Unmap(slot int) error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	return c.unmapLocked(slot)
}

func (c *Client) unmapLocked(slot int) error {
	if slot < 0 || slot >= len(c.buffers) || c.buffers[slot] == nil {
		return fail(NotFound, "nothing is mapped in buffer slot %d", slot)
	}
	c.space.give(c.buffers[slot].Address)
	c.buffers[slot] = nil
	return nil
}

// mappingOf is where the engine sees a surface, nil if it does not.
func (c *Client) mappingOf(s *Surface) *Mapping {
	for _, m := range c.buffers {
		if m != nil && m.Surface == s {
			return m
		}
	}
	return nil
}
