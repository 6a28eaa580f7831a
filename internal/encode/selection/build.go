package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
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
func (b *builder) lies(v *anec.Value) (segment.Spot, *diag.Reason) {
	at, ok := b.Spot(v)
	b.Touched = append(b.Touched, v)
	if !ok {
		return at, noPlace(v)
	}
	if _, unnamed := surfaceAt(b.Machine, at.Offset, at.Strides, v.Type); unnamed != nil {
		if _, why := b.denseSurface(v.Type); why == nil {
			if c, copied := b.Copy(v); copied {
				at = c
			}
		}
	}
	return at, nil
}

// noPlace declines a value that is nowhere in memory, like a constant that nothing has packed.
func noPlace(v *anec.Value) *diag.Reason {
	return about(v, diag.Decline(diag.NativeLayout, "lies in no memory that tasks read or write"))
}

// surface is where a value lies, as registers have it.
func (b *builder) surface(v *anec.Value) (*units.Surface, *diag.Reason) {
	if s := b.surfaces[v]; s != nil {
		return s, nil
	}
	at, why := b.lies(v)
	if why != nil {
		return nil, why
	}
	if !addressed(at.Buffer) {
		return nil, notAddressed(v, at.Buffer)
	}
	s, why := surfaceAt(b.Machine, at.Offset, at.Strides, v.Type)
	if why != nil {
		return nil, about(v, why)
	}
	s.Base = at.Buffer.ID
	return s, nil
}

// addressed reports whether tasks may read and write a memory. No record has a state; one that is only read is an input.
func addressed(m *segment.Buffer) bool {
	return m.Region == segment.InScratch || m.Region == segment.InPort && (m.State == nil || !m.State.Written())
}

// notAddressed declines a value that lies in another memory than that.
func notAddressed(v *anec.Value, m *segment.Buffer) *diag.Reason {
	if m.State != nil {
		return about(v, inState())
	}
	return about(v, diag.Decline(diag.NativeLayout, "lies in a memory that tasks do not read or write (%v)", m.Region))
}

// attempt selects tasks, and takes back constants and memory of what does not succeed.
func (b *builder) attempt(selection func() ([]*units.Op, *diag.Reason)) ([]*units.Op, *diag.Reason) {
	constants, scratch, placed := b.constants.Mark(), b.scratch, len(b.placed)
	ops, why := selection()
	if why != nil {
		for _, v := range b.placed[placed:] {
			delete(b.surfaces, v)
		}
		b.constants.Reset(constants)
		b.scratch, b.placed = scratch, b.placed[:placed]
	}
	return ops, why
}

// maxSurface bounds the bytes of offsets and strides: their registers have signs.
const maxSurface = 1 << 31

// surfaceAt is a tensor at an offset, with strides, in some memory, if registers can say it. The reason is about the tensor,
// which its caller names.
func surfaceAt(m units.Machine, offset int64, strides [anec.NumAxes]int64, t anec.Type) (*units.Surface, *diag.Reason) {
	s, why := denseSurface(m, t)
	if why != nil {
		return nil, why
	}
	d, row := t.Dims, int64(m.RowAlign)
	switch {
	case offset%row != 0:
		return nil, diag.Decline(diag.NativeLayout, "begins where no row may, in bytes").In("Base").Measure(multiplesOf(row), offset)
	case offset >= maxSurface:
		return nil, diag.Decline(diag.NativeLayout, "begins too far behind the base of its memory").In("Base").Measure(maxSurface, offset)
	case d[anec.W] > 1 && strides[anec.W] != int64(t.DType.Size()):
		return nil, diag.Decline(diag.NativeLayout, "has elements along W that do not lie side by side, in bytes").Measure(t.DType.Size(), strides[anec.W])
	}
	s.Offset = int(offset)
	// Along an axis of one element a stride leads nowhere; it is as a dense tensor would have it.
	next := int64(s.Row)
	for _, axis := range []struct {
		axis     td.Axis
		stride   *int
		register string
	}{{anec.H, &s.Row, "Row"}, {anec.C, &s.Plane, "Plane"}, {anec.N, &s.Group, "Group"}} {
		stride := next
		if d[axis.axis] > 1 {
			stride = strides[axis.axis]
		}
		if stride <= 0 || stride%row != 0 {
			return nil, diag.Decline(diag.NativeLayout, "has a stride along %v that the register does not hold, in bytes", axis.axis).In(axis.register).Measure(multiplesOf(row), stride)
		}
		if stride >= maxSurface {
			return nil, diag.Decline(diag.NativeLayout, "has a stride along %v that the register does not hold, in bytes", axis.axis).In(axis.register).Measure(maxSurface, stride)
		}
		*axis.stride = int(stride)
		next = stride * int64(d[axis.axis])
		if axis.axis == anec.C {
			s.Depth = int(next)
		}
	}
	return s, nil
}
