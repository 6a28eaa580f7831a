package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/tensor"
)

// A Chip is what the encoders of chips with these engines have in common: all of an encoder but the words.
type Chip struct {
	Target *hal.Target

	// Words is why words cannot say an operation, nil if they can.
	Words func(*units.Op) *diag.Reason
}

func (c Chip) machine() units.Machine { return units.Machine{Sizes: c.Target.Sizes} }

// Layout is in rows as ports have them.
func (c Chip) Layout(t anec.Type) (strides [anec.NumAxes]int64, size int64) {
	return segment.PortLayout(t, c.Target)
}

// Align is that of rows.
func (c Chip) Align() int64 { return int64(c.Target.Sizes.RowAlign) }

// Names reports whether a surface can be there.
func (c Chip) Names(at segment.Spot, t anec.Type) bool {
	_, why := surfaceAt(c.machine(), at.Offset, at.Strides, t)
	return why == nil
}

// Groups finds layers that another one's tasks compute along: which one that is.
func (Chip) Groups(s *segment.Segment, layers []*anec.Layer) map[*anec.Layer]*anec.Layer {
	b := newBuilder(&segment.Choice{Segment: s})
	root := map[*anec.Layer]*anec.Layer{}
	for _, l := range slices.Backward(layers) {
		stands := l
		if r := root[l]; r != nil {
			stands = r
		}
		before := len(b.joined)
		b.join(l)
		if len(b.joined) == before {
			continue
		}
		for j := range b.joined {
			if root[j] == nil {
				root[j] = stands
			}
		}
	}
	return root
}

// Takes knows the kinds that have tasks, and that all values are in fp16 or bool, without depth, and in no state that is written.
func (Chip) Takes(s *segment.Segment, l *anec.Layer) error {
	if row, ok := kindRows[l.Kind()]; !ok || row.copy {
		return otherKind(l)
	}
	for _, v := range append(l.Reads(), l.Tops...) {
		switch {
		case v.Const != nil || segment.IsDecoded(v):
		case v.Type.Dims[anec.D] != 1:
			return about(v, diag.Decline(diag.NativeDepth, "has depth").Measure(1, v.Type.Dims[anec.D]))
		case v.Type.DType != tensor.Float16 && v.Type.DType != tensor.Bool:
			return about(v, otherType(v.Type))
		case slices.ContainsFunc(s.Graph.States, func(s *anec.State) bool { return s.Before == v && s.Written() }):
			return about(v, inState())
		}
	}
	return nil
}

// Choose selects the tasks of a choice. An error is a *diag.Reason, here and of Takes and Fits.
func (Chip) Choose(c *segment.Choice) ([]segment.Task, error) {
	b := newBuilder(c)
	ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) {
		ops, why := selectLayer(c.Layer(), b)
		if why == nil && len(ops) == 0 {
			why = diag.Decline(diag.NativeKind, "%v becomes no task here: what it makes is packed, or lies in place", c.Layer().Kind())
		}
		return ops, why
	})
	if why != nil {
		return nil, why
	}
	c.Bytes = int64(b.scratch)
	tasks := make([]segment.Task, len(ops))
	for i, o := range ops {
		tasks[i] = segment.Task{Layer: c.Layer(), Unit: o}
	}
	return tasks, nil
}

// Fits declines tasks that may not stand for the layers of a choice: because words cannot say them, the numerics do not allow
// them, or one writes over what a later one reads.
func (chip Chip) Fits(c *segment.Choice, tasks []segment.Task) error {
	for _, t := range tasks {
		o := t.Unit
		switch {
		case c.ExactFunctions && o.NonLinear == units.Table:
			return diag.Decline(diag.NativeNumerics, "a task computes a function by a table of knots, and the numerics ask for exact ones").In("NonLinear")
		case c.ExactFunctions && o.Rounded:
			return diag.Decline(diag.NativeNumerics, "a task rounds constants of the model to fp16, and the numerics ask for exact ones")
		case c.OtherCrops && o.Cropped:
			return diag.Decline(diag.NativeNumerics, "a slice along W multiplies and divides by %v on the way, and the numerics have another gain", chip.Target.Numerics.WidthSliceGain).In("PostScale")
		}
		if why := chip.Words(o.Bind(c.Entry)); why != nil {
			return why
		}
	}
	stored := segment.ReadsStored(tasks)
	for _, y := range c.Touched {
		for _, x := range c.Touched {
			if !c.Makes(y) || c.Makes(x) || !c.Meet(x, y) {
				continue
			}
			if stored {
				return about(y, diag.Decline(diag.NativeOverlap, "lies where %q does, which a later task reads again", x.Name))
			}
			if !c.InPlace(x, y) {
				return about(y, diag.Decline(diag.NativeOverlap, "lies where %q does, and not element over element", x.Name))
			}
		}
	}
	return nil
}

// Keep leaves a result on chip that supplies the next task directly, where both tasks can:
//
//	task 0  conv   x from memory       a to memory                   task 0  conv   x from memory     a on chip
//	task 1  relu   a from memory       y to memory          →        task 1  relu   a on chip         y to memory
//
// The value lies behind all that the two tasks have on chip besides. One for which there is no room goes through memory.
func (c Chip) Keep(v *anec.Value, spot segment.Spot, from, to []segment.Task) bool {
	m := c.machine()
	at, why := surfaceAt(m, spot.Offset, spot.Strides, v.Type)
	if why != nil || len(from) == 0 || len(to) == 0 {
		return false
	}
	at.Base = spot.Buffer.ID
	made, taken := from[len(from)-1].Unit, to[0].Unit
	if made == nil || taken == nil || !made.Leaves(at) || !taken.Takes(at) {
		return false
	}
	size, groups := sizeOf(v.Type.Dims)
	lo, hi := at.Hull(size, groups)
	again := slices.ContainsFunc(to[1:], func(t segment.Task) bool { return t.Unit.Reads(at.Base, lo, hi) })
	if groups != 1 || made.Out != size || taken.In != size || again {
		return false // one of them reads its axes otherwise, or a part of it later
	}
	chip := m.ResidentChip(units.Apart(units.Align(max(m.ChipEnd(made), m.ChipEnd(taken)), 0x40)), size)
	if chip.End(size.H) >= m.OnChip {
		return false
	}
	made.Result, made.Chip = nil, chip
	taken.Source1 = units.Source{Chip: chip}
	return true
}
