package selection

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Elements that go from one place to another as they are. The registers have three strides of whole 64 bytes, along rows,
// planes and groups, and columns that lie side by side, so a task is one of
//
//	copy        columns stay columns                       the array
//	exchange    C and W change places on the way out       the array
//	broadcast   an axis of one element is repeated         the planar engine, which keeps the source on chip
//	            (layout/tile_r_1x8x1x375_reps_113751, layout/tile_r_1x1x375_reps_13751)
//	interleave  I channels lie side by side in columns     either (h13 3.1)
//
// What none of them can say goes through scratch memory, in which every element, or every run of elements of an axis that
// lies well on both sides, begins on 64 bytes: two exchanges. That is how columns begin at an odd one.

// Bounds of the extents of a task (guide 17, extents of an M1; h13 2.3, the width of the field of groups).
const (
	maxPlane    = 1 << 14
	maxChannels = 1 << 16
	maxGroups   = 1<<13 - 1
)

const (
	maxTasks      = 256     // of a layer; nothing says so, but an extension record does with one
	maxExpand     = 1 << 26 // bytes of scratch memory or of constants that a layer may take
	maxInterleave = 15      // the field has four bits
)

// An axis is an axis along which elements are moved: how many there are, and how far apart they lie, in bytes, where they
// come from and where they go. From 0 they are all the same one.
type axis struct {
	axis        td.Axis // of the result: where it would go in a task
	n, from, to int
}

// An origin is a byte in a memory that tasks address.
type origin struct{ base, offset int }

// A move takes elements from one place to another.
type move struct {
	units.Machine
	from, to origin
	axes     []axis

	// before says that the bytes between the columns that are moved, and those before them back to a multiple of 64, are
	// elements too, and may be read.
	before bool
}

// moves selects the tasks of a move.
func (b *builder) moves(m move) ([]*units.Op, *diag.Reason) {
	m.axes = slices.DeleteFunc(slices.Clone(m.axes), func(a axis) bool { return a.n == 1 })
	if ops, why := m.tasks(maxTasks); why == nil {
		return ops, nil
	}
	return b.through(m)
}

// tasks selects tasks that need nothing in between: one, or one for each element of axes that it has no more room for.
func (m *move) tasks(most int) ([]*units.Op, *diag.Reason) {
	o, long, why := m.task()
	if why == nil {
		return []*units.Op{o}, nil
	}
	if long.n > 0 {
		return m.inParts(long, most)
	}
	if joined := m.joined(); joined != nil {
		return joined.tasks(most)
	}
	order := make([]int, len(m.axes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(m.axes[i].n, m.axes[j].n) })
	for _, i := range order {
		a := m.axes[i]
		if a.n > most || a.from%m.RowAlign != 0 || a.to%m.RowAlign != 0 {
			continue
		}
		one := *m
		one.axes = slices.Delete(slices.Clone(m.axes), i, i+1)
		if _, why := one.tasks(most / a.n); why != nil {
			continue
		}
		var ops []*units.Op
		for range a.n {
			part, _ := one.tasks(most / a.n)
			ops = append(ops, part...)
			one.from.offset += a.from
			one.to.offset += a.to
		}
		return ops, nil
	}
	return nil, why
}

// A longAxis is an axis that has to be taken n elements at a time.
type longAxis struct{ axis, n int }

// inParts takes an axis in parts.
func (m *move) inParts(long longAxis, most int) ([]*units.Op, *diag.Reason) {
	var ops []*units.Op
	a := m.axes[long.axis]
	for at := 0; at < a.n; at += long.n {
		part := *m
		part.axes = slices.Clone(m.axes)
		part.axes[long.axis].n = min(long.n, a.n-at)
		part.axes = slices.DeleteFunc(part.axes, func(a axis) bool { return a.n == 1 })
		part.from.offset += at * a.from
		part.to.offset += at * a.to
		some, why := part.tasks(most - len(ops))
		if why != nil {
			return nil, why
		}
		if ops = append(ops, some...); len(ops) > most {
			return nil, tooManyTasks(most, len(ops))
		}
	}
	return ops, nil
}

// joined makes one axis of two that lie one after the other on both sides, as often as there are such; nil if there are none.
func (m *move) joined() *move {
	axes := slices.Clone(m.axes)
	for i := 0; i < len(axes); i++ {
		for j := range axes {
			outer, inner := axes[i], axes[j]
			if i == j || outer.from != inner.n*inner.from || outer.to != inner.n*inner.to || outer.to == 0 {
				continue
			}
			axes[j].n *= outer.n
			axes = slices.Delete(axes, i, i+1)
			i = -1
			break
		}
	}
	if len(axes) == len(m.axes) {
		return nil
	}
	one := *m
	one.axes = axes
	return &one
}

// columns are the axes of a side along which elements lie closer than 64 bytes: the columns, apart from each other by so
// many elements, and what lies in between them. An axis that there is not is -1.
type columns struct{ axis, lane, apart int }

func (m *move) columns(stride func(axis) int) (c columns, why *diag.Reason) {
	c = columns{axis: -1, lane: -1, apart: 1}
	var close []int
	for i, a := range m.axes {
		if stride(a)%m.RowAlign != 0 {
			close = append(close, i)
		}
	}
	slices.SortStableFunc(close, func(i, j int) int { return cmp.Compare(stride(m.axes[i]), stride(m.axes[j])) })
	switch len(close) {
	case 0:
		return c, nil
	case 1:
		c.axis = close[0]
	case 2:
		if c.lane, c.axis = close[0], close[1]; stride(m.axes[c.lane]) != 2 {
			return c, diag.Decline(diag.NativeLayout, "elements of two axes lie closer than %d bytes, and neither side by side, in bytes", m.RowAlign).Measure(2, stride(m.axes[c.lane]))
		}
	default:
		return c, diag.Decline(diag.NativeLayout, "elements of too many axes lie closer than %d bytes", m.RowAlign).Measure(2, len(close))
	}
	step := stride(m.axes[c.axis])
	c.apart = step / 2
	switch {
	case step <= 0 || step%2 != 0:
		return c, diag.Decline(diag.NativeLayout, "columns do not follow each other by whole elements, in bytes").Measure(multiplesOf(2), step)
	case c.apart > maxInterleave:
		return c, diag.Decline(diag.NativeLayout, "columns lie further apart than channels interleave").In("Interleave").Measure(maxInterleave, c.apart)
	case c.lane >= 0 && m.axes[c.lane].n > c.apart:
		return c, diag.Decline(diag.NativeLayout, "elements between the columns overlap").Measure(c.apart, m.axes[c.lane].n)
	}
	return c, nil
}

// A slots is which axis of a move goes where in a task; -1 is an extent of 1.
type slots struct{ w, c, h, group int }

// A route is where the axes of a move go in its one task, and how the columns of both sides lie. A lane lies between the
// columns of one side; with bundles of lanes it is the channels.
type route struct {
	slots
	x, y         columns
	lane, bundle int  // axes; -1: none
	exchange     bool // C and W change places
}

// route finds the one task of a move.
func (m *move) route() (r route, why *diag.Reason) {
	for _, side := range []struct {
		name   string
		offset int
	}{{"read", m.from.offset}, {"written", m.to.offset}} {
		if side.offset%m.RowAlign != 0 {
			return r, diag.Decline(diag.NativeLayout, "what is %s begins where no row may, in bytes", side.name).In("Base").Measure(multiplesOf(m.RowAlign), side.offset)
		}
	}
	if slices.ContainsFunc(m.axes, func(a axis) bool { return a.from < 0 }) {
		return r, diag.Decline(diag.NativeRecord, "elements are read backwards, and no recorded program has a negative stride")
	}
	x, why1 := m.columns(func(a axis) int { return a.from })
	y, why2 := m.columns(func(a axis) int { return a.to })
	if why := firstOf(why1, why2); why != nil {
		return r, why
	}
	if x.apart > 1 && y.apart > 1 {
		return r, diag.Decline(diag.NativeLayout, "columns lie apart on both sides, and a task interleaves one").In("Interleave")
	}
	r = route{x: x, y: y, lane: max(x.lane, y.lane), bundle: -1}
	switch {
	case x.apart > 1 || y.apart > 1:
		if x.axis != y.axis {
			return r, diag.Decline(diag.NativeLayout, "columns lie apart, and are not the columns of the other side").In("Interleave")
		}
		if r.lane >= 0 {
			r.bundle = m.bundles(r.lane, max(x.apart, y.apart))
		}
		r.slots, why = m.slots(x.axis, r.lane, r.bundle, true)
	case x.axis == y.axis, x.axis < 0 && m.axes[y.axis].from == 0:
		r.slots, why = m.slots(y.axis, -1, -1, false)
	default:
		r.exchange = true
		r.slots, why = m.slots(x.axis, y.axis, -1, true)
	}
	return r, why
}

// sides are the surfaces of a route's task, and the extents of its source.
func (m *move) sides(r *route) (source, result *units.Surface, size units.Size) {
	out := r.slots
	if r.exchange {
		out.w, out.c = r.c, r.w
	}
	source = m.surface(r.slots, m.from, func(a axis) int { return a.from })
	result = m.surface(out, m.to, func(a axis) int { return a.to })
	size = units.Size{W: m.extent(r.w), H: m.extent(r.h), D: 1, C: m.extent(r.c)}
	if r.bundle >= 0 {
		if size.C *= m.axes[r.bundle].n; r.y.lane >= 0 {
			result.Plane = m.axes[r.bundle].to
		} else {
			source.Plane = m.axes[r.bundle].from
		}
	}
	source.Interleave, result.Interleave = r.x.apart, r.y.apart
	return source, result, size
}

// task selects the one task of a move. If it fails only because an axis is too long, long says by how much.
func (m *move) task() (o *units.Op, long longAxis, why *diag.Reason) {
	r, why := m.route()
	if why != nil {
		return nil, long, why
	}
	s := r.slots
	source, result, size := m.sides(&r)
	for _, bound := range []longAxis{{s.w, maxPlane}, {s.h, maxPlane}, {s.c, maxChannels}, {s.group, maxGroups &^ 31}} {
		if n := m.extent(bound.axis); n > bound.n && r.lane < 0 {
			return nil, bound, diag.Decline(diag.NativeSize, "an axis has too many elements for a task").Measure(bound.n, n)
		}
	}
	if s.group >= 0 && m.axes[s.group].from == 0 {
		return nil, long, diag.Decline(diag.NativeLayout, "elements repeat along more axes than a task repeats").In("Groups")
	}
	o = m.Bypass(size)
	at := m.ArrayChip(0, size)
	switch bits, stored := m.repeated(s, size); {
	case bits != 0:
		if o, why = m.repetition(size, stored, bits, m.extent(s.group)); why != nil {
			return nil, long, why
		}
	case at.Row >= m.OnChip/2:
		if r.lane < 0 {
			long = longAxis{s.c, m.OnChip / 4 / at.Channel &^ 31}
		}
		return nil, long, noRoom("a row of all channels that are moved", m.OnChip/2, at.Row)
	default:
		o.Source1.Chip, o.Chip = at, m.Passing(at, size.H)
	}
	if r.exchange {
		m.Exchanged(o)
		if s.h < 0 { // as the recorded exchange has it: a row is all there is
			source.Row, result.Row = source.Depth, result.Depth
		}
		// The result passes as it leaves (encoder_transpose_r3_021).
		if at := m.ResidentChip(o.Chip.Base, units.Size{W: size.C, H: size.H, D: 1, C: size.W}); at.Row < m.OnChip {
			at.Group = at.Depth
			o.Chip = at
		}
	}
	o.Groups = m.extent(s.group)
	o.Source1.Memory, o.Result = source, result
	return o, long, nil
}

// repeated are the axes of a task along which the source has one element, and what it has.
func (m *move) repeated(s slots, size units.Size) (bits uint32, stored units.Size) {
	stored = size
	for _, slot := range []struct {
		axis   int
		bit    uint32
		extent *int
	}{{s.w, units.BroadcastW, &stored.W}, {s.h, units.BroadcastH, &stored.H}, {s.c, units.BroadcastC, &stored.C}} {
		if slot.axis >= 0 && m.axes[slot.axis].from == 0 {
			bits |= slot.bit
			*slot.extent = 1
		}
	}
	return bits, stored
}

// repetition begins a task that repeats its source, which is kept on chip, if it has room there.
func (m *move) repetition(size, stored units.Size, bits uint32, groups int) (*units.Op, *diag.Reason) {
	at := m.PlanarChip(0, stored)
	end := at.End(stored.H)
	if bits&units.BroadcastH != 0 { // as the recorded tiles have it: there is but one row
		at.Row, end = at.Channel, at.Depth
	}
	if groups > 1 {
		at.Group = end
		end *= groups
	}
	o := m.Planar(td.TypePlanarUnary, size)
	o.Broadcast1 = bits
	o.Source1 = units.Source{Keep: true, Chip: at}
	o.Chip = m.patchChip(end, size)
	if end >= m.OnChip/2 {
		return nil, noRoom("what is repeated", m.OnChip/2, end)
	}
	return o, nil
}

// slots finds room for all axes: w and c are given (-1: none), one more has room already; the others are h and groups, and c
// if it is not fixed.
func (m *move) slots(w, c, other int, fixed bool) (s slots, why *diag.Reason) {
	s = slots{w: w, c: c, h: -1, group: -1}
	var rest []int
	for i := range m.axes {
		if i != w && i != c && i != other {
			rest = append(rest, i)
		}
	}
	room := []*int{&s.h, &s.group}
	if fixed { // the innermost of the source is the rows
		slices.SortStableFunc(rest, func(i, j int) int { return cmp.Compare(m.axes[i].from, m.axes[j].from) })
	} else {
		room = append(room, &s.c)
		names := map[td.Axis]*int{anec.H: &s.h, anec.N: &s.group, anec.C: &s.c}
		rest = slices.DeleteFunc(rest, func(i int) bool {
			slot := names[m.axes[i].axis]
			if slot == nil || *slot >= 0 {
				return false
			}
			*slot = i
			return true
		})
	}
	for _, i := range rest {
		free := slices.IndexFunc(room, func(slot *int) bool { return *slot < 0 })
		if free < 0 {
			return s, diag.Decline(diag.NativeLayout, "elements go along more axes than a task has").Measure(1+len(room), len(m.axes))
		}
		*room[free] = i
	}
	// Groups are not repeated: another axis may be.
	if s.group >= 0 && m.axes[s.group].from == 0 {
		for _, slot := range room {
			if slot != &s.group && (*slot < 0 || m.axes[*slot].from > 0) {
				s.group, *slot = *slot, s.group
				break
			}
		}
	}
	return s, nil
}

// bundles finds an axis along which whole bundles of lanes follow each other: with the lanes it is the channels.
func (m *move) bundles(lane, apart int) int {
	l := m.axes[lane]
	return slices.IndexFunc(m.axes, func(a axis) bool {
		return a != l && l.n == apart && a.to%m.RowAlign == 0 && a.from%m.RowAlign == 0 &&
			(l.to == 2 && a.from == l.n*l.from || l.from == 2 && a.to == l.n*l.to)
	})
}

func (m *move) extent(axis int) int {
	if axis < 0 {
		return 1
	}
	return m.axes[axis].n
}

// surface is a side of a move as registers have it. Along an axis of one element, or of one that is repeated, a stride leads
// nowhere; it is as a dense tensor would have it.
func (m *move) surface(s slots, at origin, of func(axis) int) *units.Surface {
	along := func(axis, otherwise int) (n, stride int) {
		if axis < 0 || of(m.axes[axis]) == 0 {
			return 1, otherwise
		}
		return m.axes[axis].n, of(m.axes[axis])
	}
	f := &units.Surface{Base: at.base, Offset: at.offset}
	width, step := along(s.w, 2)
	height, row := along(s.h, units.Align(width*step, m.RowAlign))
	channels, plane := along(s.c, row*height)
	if plane%m.RowAlign != 0 { // they lie between the columns
		plane = row * height
	}
	f.Row, f.Plane = row, plane
	f.Depth = max(row*height, plane*channels)
	_, f.Group = along(s.group, f.Depth)
	return f
}

// patchChip is where a result passes that is made patch by patch, 32 columns wide.
func (m *move) patchChip(base int, s units.Size) units.Chip {
	c := units.Chip{Base: base, Channel: m.ChannelBytes(min(s.W, 32))}
	c.Depth = s.C * c.Channel
	c.Row, c.Group = c.Depth, c.Depth
	if s.C > 1 && c.Depth%0x100 == 0 {
		c.Row += 0x10
	}
	if c.Row >= m.OnChip { // it is but a hint
		return units.Chip{Base: base}
	}
	return c
}
