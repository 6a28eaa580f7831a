package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A v7build selects the tasks of a choice. Values lie in memory where the choice says, in rows where that is what registers
// can say; what lies between the tasks is on chip, or in memory that they alone use.
type v7build struct {
	units.Machine
	*choice
	surfaces  map[*anec.Value]*units.Surface // of values that no plan knows
	constants *packedConstants
	scratch   int                  // bytes of temporaries, so far
	tasks     int                  // how many there are so far
	joined    map[*anec.Layer]bool // layers that another one's tasks compute
	placed    []*anec.Value        // of surfaces, in the order in which they got them
	graph     *anec.Graph
}

func newV7build(c *choice) *v7build {
	b := &v7build{
		Machine: machineOf(c.Segment), choice: c, graph: c.Graph, constants: &c.Packed,
		surfaces: map[*anec.Value]*units.Surface{}, joined: map[*anec.Layer]bool{},
	}
	b.constants.align = b.RowAlign
	for _, l := range c.layers[:max(len(c.layers)-1, 0)] {
		b.joined[l] = true
	}
	return b
}

// lies is where a value lies that tasks read or write. What is read and lies as no register can say is copied first.
func (b *v7build) lies(v *anec.Value) (spot, bool) {
	at, ok := b.spot(v)
	if _, named := surfaceAt(b.Machine, at.offset, at.strides, v.Type); ok && !named {
		if _, dense := b.denseSurface(v.Type); dense {
			if c, copied := b.copy(v); copied {
				at = c
			}
		}
	}
	b.touched = append(b.touched, v)
	return at, ok
}

// surface is where a value lies, as registers have it; false if they cannot say it.
func (b *v7build) surface(v *anec.Value) (*units.Surface, bool) {
	if s := b.surfaces[v]; s != nil {
		return s, true
	}
	at, ok := b.lies(v)
	if !ok || !b.addressed(at.buffer) {
		return nil, false
	}
	s, ok := surfaceAt(b.Machine, at.offset, at.strides, v.Type)
	if ok {
		s.Base = at.buffer.id
	}
	return s, ok
}

// addressed reports whether tasks may read and write a memory. No record has a state.
func (b *v7build) addressed(m *buffer) bool {
	return m.region == InScratch || m.region == InPort && m.state == nil
}

// attempt selects tasks, and takes back constants and memory of what does not succeed.
func (b *v7build) attempt(selection func() ([]*units.Op, bool)) ([]*units.Op, bool) {
	constants, scratch, placed := b.constants.mark(), b.scratch, len(b.placed)
	ops, ok := selection()
	if !ok {
		for _, v := range b.placed[placed:] {
			delete(b.surfaces, v)
		}
		b.constants.reset(constants)
		b.scratch, b.placed = scratch, b.placed[:placed]
	}
	return ops, ok
}

// surfaceAt is a tensor at an offset, with strides, in some memory; false if the registers cannot say it.
func surfaceAt(m units.Machine, offset int64, strides [anec.NumAxes]int64, t anec.Type) (*units.Surface, bool) {
	s, ok := denseSurface(m, t)
	d, row := t.Dims, int64(m.RowAlign)
	if !ok || offset%row != 0 || offset >= 1<<31 || d[anec.W] > 1 && strides[anec.W] != int64(t.DType.Size()) {
		return nil, false
	}
	s.Offset = int(offset)
	// Along an axis of one element a stride leads nowhere; it is as a dense tensor would have it.
	next := int64(s.Row)
	for _, axis := range []struct {
		axis   td.Axis
		stride *int
	}{{anec.H, &s.Row}, {anec.C, &s.Plane}, {anec.N, &s.Group}} {
		stride := next
		if d[axis.axis] > 1 {
			stride = strides[axis.axis]
		}
		if stride <= 0 || stride%row != 0 || stride >= 1<<31 {
			return nil, false
		}
		*axis.stride = int(stride)
		next = stride * int64(d[axis.axis])
		if axis.axis == anec.C {
			s.Depth = int(next)
		}
	}
	return s, true
}
