package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Layers that are several tasks one after the other, each working on whole tensors:
//
//	memory ─ task ─ on chip ─ task ─ on chip ─ task ─ memory
//
// What lies between two tasks is on chip, one tensor behind the other from byte 0; rows that stream in pass behind them all.
// What is too large for that lies in scratch memory.

// An operand is an operand of a task of a chain.
type operand struct {
	size   units.Size
	groups int
	memory *units.Surface // nil: it is on chip
	chip   units.Chip
}

// A chain is a layer's tasks in the making.
type chain struct {
	b    *builder
	ops  []*units.Op
	free int // the first byte on chip where nothing lies
}

// room is how much of the chip's memory what lies between tasks may take. The rest is for what streams.
func (c *chain) room() int { return c.b.OnChip / 2 }

// tensorOf is a value as an operand. A constant is put into the section of constants as a tensor of memory is.
func (b *builder) tensorOf(v *anec.Value) (t operand, why *diag.Reason) {
	t.size, t.groups = sizeOf(v.Type.Dims)
	if v.Const != nil {
		t.memory, why = b.constantSurface(v)
		return t, why
	}
	t.memory, why = b.groupedSurface(v)
	return t, why
}

// groupedSurface is where a value lies, with batch and depth as the groups.
func (b *builder) groupedSurface(v *anec.Value) (*units.Surface, *diag.Reason) {
	d := v.Type.Dims
	if d[anec.D] == 1 {
		return b.surface(v)
	}
	at, ok := b.Spot(v)
	switch {
	case !ok:
		return nil, noPlace(v)
	case !addressed(at.Buffer):
		return nil, notAddressed(v, at.Buffer)
	case d[anec.N] > 1 && at.Strides[anec.N] != int64(d[anec.D])*at.Strides[anec.D]:
		return nil, depthApart(v)
	}
	b.Touched = append(b.Touched, v)
	flat := v.Type
	flat.Dims[anec.N], flat.Dims[anec.D] = d[anec.N]*d[anec.D], 1
	at.Strides[anec.N] = at.Strides[anec.D]
	s, why := surfaceAt(b.Machine, at.Offset, at.Strides, flat)
	if why != nil {
		return nil, about(v, why)
	}
	s.Base = at.Buffer.ID
	return s, nil
}

// depthApart declines a value whose batch and depth are not one axis as it lies.
func depthApart(v *anec.Value) *diag.Reason {
	return about(v, diag.Decline(diag.NativeDepth, "has batch and depth that do not lie as one axis, and a task has groups alone"))
}

// streamed is an operand as a source, of the planar engine or of the array.
func (c *chain) streamed(t operand, planar bool) units.Source {
	switch {
	case t.memory == nil:
		return units.Source{Chip: t.chip}
	case t.memory.Element == units.Byte: // two lie where one number would
		t.size.W = (t.size.W + 1) / 2
	}
	if planar {
		return units.Source{Memory: t.memory, Chip: c.b.PlanarChip(c.free, t.size)}
	}
	return units.Source{Memory: t.memory, Chip: c.b.ArrayChip(c.free, t.size)}
}

// keep gives the result of a task a place on chip, or in scratch memory if it is too large. The task's sources have to be
// given after that.
func (c *chain) keep(o *units.Op) operand {
	t := operand{size: o.Out, groups: o.Groups, chip: c.b.ResidentChip(c.free, o.Out)}
	end := t.chip.End(o.Out.H)
	if o.Groups > 1 {
		t.chip.Group = end - c.free
		end = c.free + o.Groups*t.chip.Group
	}
	if end <= c.room() {
		o.Chip, c.free = t.chip, end
		return t
	}
	s := c.b.scratchSurface(o.Out, o.Groups)
	o.Result = s
	return operand{size: o.Out, groups: o.Groups, memory: s}
}

// A destination of a task in a chain is a surface; nil stands for wherever there is room, as keep finds it.

// place gives the result of a task its destination.
func (c *chain) place(o *units.Op, to *units.Surface) operand {
	if to == nil {
		return c.keep(o)
	}
	o.Result = to
	return operand{size: o.Out, groups: o.Groups, memory: to}
}

// add ends a task: a result that leaves passes behind what streams in.
func (c *chain) add(o *units.Op) {
	if o.Result != nil && o.Chip == (units.Chip{}) {
		o.Chip = units.Chip{Base: c.free}
		switch {
		case o.Source2 != nil && o.Source2.Memory != nil:
			o.Chip = c.b.Passing(o.Source2.Chip, o.In.H)
		case o.Source1.Memory != nil:
			o.Chip = c.b.Passing(o.Source1.Chip, o.In.H)
		}
	}
	c.ops = append(c.ops, o)
}

// pass copies an operand, by a function if there is one.
func (c *chain) pass(t operand, f *function, to *units.Surface) operand {
	o := c.b.Bypass(t.size)
	o.Groups = t.groups
	y := c.place(o, to)
	o.Source1 = c.streamed(t, false)
	if f != nil {
		c.b.apply(o, *f)
	}
	c.add(o)
	return y
}

// byTable is a function of an operand that one table is.
func (c *chain) byTable(t operand, table *td.Table, to *units.Surface) operand {
	return c.pass(t, &function{nonLinear: units.Table, table: table, post: units.One}, to)
}

// one begins and ends a planar task of one operand; edit says what it does.
func (c *chain) one(t operand, to *units.Surface, edit func(*units.Op)) operand {
	o := c.b.Planar(td.TypePlanarUnary, t.size)
	o.Groups = t.groups
	edit(o)
	y := c.place(o, to)
	o.Source1 = c.streamed(t, true)
	c.add(o)
	return y
}

// two is a planar task of two operands, which have to broadcast to the size; edit, which may be nil, says what else it does.
//
//	x ─────────────┐                     x ─ copy ─┐
//	               ├─ op ─ y   or both:            ├─ op ─ y
//	z ─ copy ─ on chip                   z ─ copy ─┘
func (c *chain) two(kind td.EWKind, x, z operand, like operand, to *units.Surface, edit func(*units.Op)) (operand, *diag.Reason) {
	size, groups := like.size, like.groups
	full := func(t operand) bool { return t.size == size && t.groups == groups }
	need := c.free
	for _, t := range []operand{x, z} {
		if t.memory != nil && !full(t) {
			need += t.groups * c.b.ResidentChip(0, t.size).End(t.size.H)
		}
	}
	if need > c.room() && size.H > 1 {
		return c.twoInParts(kind, x, z, like, to, edit)
	}
	swapped := !full(x) && full(z)
	if swapped {
		x, z = z, x
	}
	for _, t := range []*operand{&z, &x} {
		if t.groups != 1 && t.groups != groups {
			return operand{}, diag.Decline(diag.NativeOperand, "an operand of %v broadcasts its groups, batch and depth, only from 1", kind).Measure(groups, t.groups)
		}
		if !spreads(t.size, size) {
			return operand{}, diag.Decline(diag.NativeOperand, "an operand of %v broadcasts only from extents of 1", kind).Measure(size, t.size)
		}
		if t.memory != nil && !full(*t) {
			bytes := t.groups * c.b.ResidentChip(0, t.size).End(t.size.H)
			if *t = c.pass(*t, nil, nil); t.memory != nil { // only on chip is it read more than once
				return operand{}, noRoom("an operand that is read again for each row or group", c.room(), bytes)
			}
		}
	}
	o := c.b.Planar(td.TypePlanarBinary, size)
	o.Groups, o.Operator = groups, planarOperators[kind]
	o.Negate1, o.Negate2 = kind == td.EWSub && swapped, kind == td.EWSub && !swapped
	o.Broadcast1, o.Broadcast2 = broadcastBits(size, x.size), broadcastBits(size, z.size)
	if edit != nil {
		edit(o)
	}
	y := c.place(o, to)
	c.connect(o, x, z)
	c.add(o)
	return y, nil
}

// twoInParts does the upper and the lower rows one after the other: what is read more than once is not on chip as a whole.
func (c *chain) twoInParts(kind td.EWKind, x, z, like operand, to *units.Surface, edit func(*units.Op)) (operand, *diag.Reason) {
	if to == nil {
		to = c.b.scratchSurface(like.size, like.groups)
	}
	y := operand{size: like.size, groups: like.groups, memory: to}
	half := (like.size.H + 1) / 2
	for _, rows := range [][2]int{{0, half}, {half, like.size.H}} {
		free := c.free
		part := y.rows(rows[0], rows[1])
		if _, why := c.two(kind, x.rows(rows[0], rows[1]), z.rows(rows[0], rows[1]), part, part.memory, edit); why != nil {
			return y, why
		}
		c.free = free
	}
	return y, nil
}

// rows is some rows of an operand; if it has but one, it is for all.
func (t operand) rows(from, to int) operand {
	if t.size.H == 1 {
		return t
	}
	t.size.H = to - from
	if t.memory == nil {
		t.chip.Base += from * t.chip.Row
		return t
	}
	m := *t.memory
	m.Offset += from * m.Row
	t.memory = &m
	return t
}

// connect gives a planar task its two operands. One that is there once is read again for each group.
func (c *chain) connect(o *units.Op, x, z operand) {
	if x.groups < o.Groups {
		x.chip.Group = 0
	}
	if z.groups < o.Groups {
		z.chip.Group = 0
	}
	source2 := c.streamed(z, true)
	o.Source1, o.Source2 = c.streamed(x, true), &source2
	if x.memory == nil || z.memory == nil {
		return
	}
	behind := func(h int) int { return units.Apart(units.Align(o.Source1.Chip.End(h), 0x40)) }
	h := o.In.H
	for behind(h)+h*source2.Chip.Row >= c.b.OnChip && h > 1 {
		h = (h + 1) / 2 // a tile of the rows
	}
	source2.Chip.Base = behind(h)
	if o.Result != nil {
		o.Chip = c.b.Passing(source2.Chip, h)
	}
}

// spreads reports whether a size broadcasts to another.
func spreads(from, to units.Size) bool {
	fits := func(a, b int) bool { return a == b || a == 1 }
	return fits(from.W, to.W) && fits(from.H, to.H) && fits(from.C, to.C)
}

// broadcastBits are the axes along which a source has one element and the task more.
func broadcastBits(task, source units.Size) (bits uint32) {
	if source.W < task.W {
		bits |= units.BroadcastW
	}
	if source.H < task.H {
		bits |= units.BroadcastH
	}
	if source.C < task.C {
		bits |= units.BroadcastC
	}
	return bits
}
