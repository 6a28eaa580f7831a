package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A builder selects the tasks of a choice. Values lie in memory where the choice says, in rows where that is what registers
// can say; what lies between the tasks is on chip, or in memory that they alone use.
type builder struct {
	units.Machine
	*segment.Choice
	surfaces  map[*anec.Value]*units.Surface // of values that no plan knows
	constants *segment.PackedConstants
	scratch   int                  // bytes of temporaries, so far
	tasks     int                  // how many there are so far
	joined    map[*anec.Layer]bool // layers that another one's tasks compute
	placed    []*anec.Value        // of surfaces, in the order in which they got them
	graph     *anec.Graph
}

func newBuilder(c *segment.Choice) *builder {
	b := &builder{
		Machine: segment.MachineOf(c.Segment), Choice: c, graph: c.Graph, constants: &c.Packed,
		surfaces: map[*anec.Value]*units.Surface{}, joined: map[*anec.Layer]bool{},
	}
	b.constants.Align = b.RowAlign
	for _, l := range c.Layers[:max(len(c.Layers)-1, 0)] {
		b.joined[l] = true
	}
	return b
}

// lies is where a value lies that tasks read or write. What is read and lies as no register can say is copied first.
func (b *builder) lies(v *anec.Value) (segment.Spot, bool) {
	at, ok := b.Spot(v)
	if _, named := SurfaceAt(b.Machine, at.Offset, at.Strides, v.Type); ok && !named {
		if _, dense := b.denseSurface(v.Type); dense {
			if c, copied := b.Copy(v); copied {
				at = c
			}
		}
	}
	b.Touched = append(b.Touched, v)
	return at, ok
}

// surface is where a value lies, as registers have it; false if they cannot say it.
func (b *builder) surface(v *anec.Value) (*units.Surface, bool) {
	if s := b.surfaces[v]; s != nil {
		return s, true
	}
	at, ok := b.lies(v)
	if !ok || !b.addressed(at.Buffer) {
		return nil, false
	}
	s, ok := SurfaceAt(b.Machine, at.Offset, at.Strides, v.Type)
	if ok {
		s.Base = at.Buffer.ID
	}
	return s, ok
}

// addressed reports whether tasks may read and write a memory. No record has a state.
func (b *builder) addressed(m *segment.Buffer) bool {
	return m.Region == segment.InScratch || m.Region == segment.InPort && m.State == nil
}

// attempt selects tasks, and takes back constants and memory of what does not succeed.
func (b *builder) attempt(selection func() ([]*units.Op, bool)) ([]*units.Op, bool) {
	constants, scratch, placed := b.constants.Mark(), b.scratch, len(b.placed)
	ops, ok := selection()
	if !ok {
		for _, v := range b.placed[placed:] {
			delete(b.surfaces, v)
		}
		b.constants.Reset(constants)
		b.scratch, b.placed = scratch, b.placed[:placed]
	}
	return ops, ok
}

// SurfaceAt is a tensor at an offset, with strides, in some memory; false if the registers cannot say it.
func SurfaceAt(m units.Machine, offset int64, strides [anec.NumAxes]int64, t anec.Type) (*units.Surface, bool) {
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
