package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Values that are put together of parts: concatenation, padding, tiles, blocks of space and channels.

// A piece is a part of a value: where it begins, its extents, and where its elements come from.
type piece struct {
	at, dims anec.Dims
	from     layout
	before   bool    // as of a move
	number   *uint16 // not nil: every element is this one
}

// start is where the part begins in the whole.
func (p *piece) start(whole layout) layout {
	for a, at := range p.at {
		whole.offset += at * whole.strides[a]
	}
	return whole
}

// beginsInside reports whether a part begins inside of 64 bytes.
func (b *builder) beginsInside(y layout, parts []piece) bool {
	return slices.ContainsFunc(parts, func(p piece) bool { return p.start(y).offset%b.RowAlign != 0 })
}

// compose selects the tasks that put parts together. If one of them begins inside of 64 bytes, they are put together in
// scratch memory, where columns lie apart, and the whole is moved from there:
//
//	a [h][3] ─ exchange ─ [3 of 5][h] ─┐
//	b [h][2] ─ exchange ─ [2 of 5][h] ─┴─ exchange ─ y [h][5]
func (b *builder) compose(y layout, d anec.Dims, parts []piece) ([]*units.Op, *diag.Reason) {
	if len(parts) > maxTasks {
		return nil, tooManyTasks(maxTasks, len(parts))
	}
	to, columns := y, int(anec.W)
	var last []*units.Op
	if b.beginsInside(y, parts) {
		var why *diag.Reason
		if to, columns, why = b.spread(y, d, parts); why != nil {
			return nil, why
		}
		if last, why = b.moves(b.moveOf(d, to, y)); why != nil {
			return nil, why
		}
	}
	var ops []*units.Op
	for i := range parts {
		p := &parts[i]
		from := p.from
		if p.number != nil {
			n := 1
			if columns >= 0 {
				n = p.dims[columns]
			}
			from = layout{origin: origin{segment.Packed, b.constants.Repeated(*p.number, n)}}
			if columns >= 0 {
				from.strides[columns] = 2
			}
		}
		m := b.moveOf(p.dims, from, p.start(to))
		m.before = p.before
		some, why := b.moves(m)
		if why != nil {
			return nil, why
		}
		if ops = append(ops, some...); len(ops) > maxTasks {
			return nil, tooManyTasks(maxTasks, len(ops))
		}
	}
	return append(ops, last...), nil
}

// spread gives a value scratch memory in which columns lie apart. What lies side by side there is an axis that every part
// has whole; -1 is none.
func (b *builder) spread(y layout, d anec.Dims, parts []piece) (at layout, columns int, why *diag.Reason) {
	bytes := func(k int) int {
		n := b.RowAlign
		if k >= 0 {
			n = b.RowBytes(d[k])
		}
		for a, extent := range d {
			if a != k && n <= maxExpand {
				n *= extent
			}
		}
		return n
	}
	inner := -1
	for a := range int(anec.W) {
		whole := !slices.ContainsFunc(parts, func(p piece) bool { return p.at[a] != 0 || p.dims[a] != d[a] })
		if d[a] > 1 && y.strides[a]%b.RowAlign == 0 && whole && bytes(a) < bytes(inner) {
			inner = a
		}
	}
	total := bytes(inner)
	if total > maxExpand {
		return at, -1, tooMuchMemory(total)
	}
	at.origin = b.takeScratch(total)
	width := b.RowAlign
	if inner >= 0 {
		at.strides[inner], width = 2, b.RowBytes(d[inner])
	}
	for a := anec.NumAxes - 1; a >= 0; a-- {
		if a != inner {
			at.strides[a] = width
			width *= d[a]
		}
	}
	return at, inner, nil
}

// concat puts its bottoms together. Those that lie in place are there already.
func (b *builder) concat(l *anec.Layer, p *anec.Concat) ([]*units.Op, *diag.Reason) {
	y, why := b.layout(l.Top())
	switch {
	case why != nil:
		return nil, why
	case p.Interleave:
		return nil, diag.Decline(diag.NativeKind, "no tasks are known that interleave what they concatenate")
	case l.OutputType != tensor.Invalid:
		return nil, otherResult(l)
	}
	if why := bareOnly(l); why != nil {
		return nil, why
	}
	parts := concatParts(l, p)
	for i, v := range l.Bottoms {
		if parts[i].from, why = b.source(v); why != nil {
			return nil, why
		}
		parts[i].before = b.inRows(v)
	}
	if !b.beginsInside(y, parts) {
		parts = slices.DeleteFunc(parts, func(p piece) bool { return p.from.same(p.start(y), p.dims) })
	}
	ops, why := b.compose(y, l.Top().Type.Dims, parts)
	if b.Target.Form2020 {
		b.depthOfWhole(ops, y)
	}
	return ops, why
}

// depthOfWhole gives tasks that write planes of a value the depth stride of the value, not of their own planes, as both
// concatenations of 2020 have it (concat_0f988933, concat_fb59e09a). Nothing reads it: depth is 1. No record of 2026 shows it.
func (b *builder) depthOfWhole(ops []*units.Op, y layout) {
	for _, o := range ops {
		if o.Result != nil && o.Result.Base == y.base && o.Result.Plane == y.strides[anec.C] && y.strides[anec.D]%b.RowAlign == 0 {
			o.Result.Depth = y.strides[anec.D]
		}
	}
}

// plainConcat reports whether a concatenation does nothing else.
func plainConcat(l *anec.Layer, p *anec.Concat) bool {
	return !p.Interleave && l.Epilogue.Empty() && l.OutputType == tensor.Invalid
}

// concatParts is which part of the whole each bottom is.
func concatParts(l *anec.Layer, p *anec.Concat) []piece {
	parts := make([]piece, len(l.Bottoms))
	at := 0
	for i, v := range l.Bottoms {
		parts[i].dims = v.Type.Dims
		parts[i].at[p.Axis] = at
		at += v.Type.Dims[p.Axis]
	}
	return parts
}

// An elementRun is a run of elements of an axis: n of them, which are those of x from first on, step apart, or a number.
type elementRun struct {
	n, first, step int
	number         bool
}

// axisRuns joins indices into x to as few runs as there are; -1 is the number.
func axisRuns(indices []int) (list []elementRun) {
	for _, i := range indices {
		if len(list) == 0 {
			list = append(list, elementRun{1, i, 1, i < 0})
			continue
		}
		last := &list[len(list)-1]
		switch next := i - (last.first + (last.n-1)*last.step); {
		case last.number && i < 0, !last.number && i >= 0 && last.n > 1 && next == last.step:
			last.n++
		case !last.number && i >= 0 && last.n == 1 && next >= 0:
			last.n, last.step = 2, next
		default:
			list = append(list, elementRun{1, i, 1, i < 0})
		}
	}
	return list
}

// remap puts a value together of elements of x: along each axis these, by number; -1 is the given number.
func (b *builder) remap(l *anec.Layer, indices [anec.NumAxes][]int, number uint16) ([]*units.Op, *diag.Reason) {
	x, why1 := b.source(l.Bottoms[0])
	y, why2 := b.layout(l.Top())
	if why := firstOf(why1, why2, asIs(l)); why != nil {
		return nil, why
	}
	d := l.Top().Type.Dims
	var parts []piece
	var choose func(axis int, p piece)
	choose = func(axis int, p piece) {
		if len(parts) > maxTasks {
			return
		}
		if axis == anec.NumAxes {
			parts = append(parts, p)
			return
		}
		at := 0
		for _, r := range axisRuns(indices[axis]) {
			part := p
			part.at[axis], part.dims[axis] = at, r.n
			at += r.n
			if r.number { // along the axes that follow, all of it
				for a := axis + 1; a < anec.NumAxes; a++ {
					part.at[a], part.dims[a] = 0, d[a]
				}
				part.number, part.before = &number, false
				parts = append(parts, part)
				continue
			}
			part.from.offset += r.first * x.strides[axis]
			part.from.strides[axis] = r.step * x.strides[axis]
			choose(axis+1, part)
		}
	}
	choose(0, piece{from: x, before: b.inRows(l.Bottoms[0])})
	return b.compose(y, d, parts)
}

// counted are the indices 0 to n-1.
func counted(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// padding puts elements about x.
func (b *builder) padding(l *anec.Layer, p *anec.Padding) ([]*units.Op, *diag.Reason) {
	number := uint16(0)
	switch p.Mode {
	case td.PadZero, td.PadReplication, td.PadSymmetric, td.PadReflective:
	case td.PadBackground:
		number = tensor.ToF16(p.Value)
	default:
		return nil, diag.Decline(diag.NativeKind, "no tasks are known for padding of mode %v", p.Mode)
	}
	var indices [anec.NumAxes][]int
	for a, n := range l.Bottoms[0].Type.Dims {
		for i := -p.Before[a]; i < n+p.After[a]; i++ {
			at := i
			switch outside := i < 0 || i >= n; {
			case !outside:
			case p.Mode == td.PadReplication:
				at = min(max(i, 0), n-1)
			case p.Mode == td.PadReflective:
				at = max(-i, min(i, 2*(n-1)-i))
			case p.Mode == td.PadSymmetric:
				at = max(-1-i, min(i, 2*n-1-i))
			default:
				at = -1
			}
			indices[a] = append(indices[a], at)
		}
	}
	return b.remap(l, indices, number)
}

// gathered takes the slices of x that known indices name.
func (b *builder) gathered(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	axis, known, ok := segment.KnownIndices(l)
	if !ok {
		return nil, otherIndices(l)
	}
	var indices [anec.NumAxes][]int
	for a, n := range l.Bottoms[0].Type.Dims {
		indices[a] = counted(n)
	}
	indices[axis] = known
	return b.remap(l, indices, 0)
}

// otherIndices declines a gather: tasks copy from places that they name.
func otherIndices(l *anec.Layer) *diag.Reason {
	indices := segment.Bottom(l, 1)
	switch n := len(l.Params.(*anec.Gather).Axes); {
	case n != 1:
		return diag.Decline(diag.NativeAxes, "it gathers along several axes").Measure(1, n)
	case indices == nil || indices.Const == nil:
		return diag.Decline(diag.NativeOperand, "the indices are known when the program runs, and tasks copy from places that they name")
	}
	return about(indices, diag.Decline(diag.NativeConstant, "is not one vector of indices along %v", l.Params.(*anec.Gather).Axes[0]))
}

// tile repeats x. Along an axis of x there are then two, of which one is repeated:
//
//	y [2·3][4]  =  [2][3][4], from x [ ][3][4]
func (b *builder) tile(l *anec.Layer, p *anec.Tile) ([]*units.Op, *diag.Reason) {
	x, why1 := b.source(l.Bottoms[0])
	y, why2 := b.layout(l.Top())
	if why := firstOf(why1, why2, asIs(l)); why != nil {
		return nil, why
	}
	d := l.Bottoms[0].Type.Dims
	m := b.moveOf(d, x, y)
	for a, n := range p.Reps {
		m.axes = append(m.axes, axis{td.Axis(a), n, 0, d[a] * y.strides[a]})
	}
	return b.moves(m)
}

// rearrange moves blocks of space into channels or a batch, or back: x fastest, then y.
//
//	PixelShuffle of 2·2      x [4c][h][w]  =  [c][j][i][h][w]      y [c][h][j][w][i]
func (b *builder) rearrange(l *anec.Layer, f anec.Factors, outer td.Axis, scatter, inner bool) ([]*units.Op, *diag.Reason) {
	x, why1 := b.source(l.Bottoms[0])
	y, why2 := b.layout(l.Top())
	if why := firstOf(why1, why2, asIs(l)); why != nil {
		return nil, why
	}
	if f.Z != 1 {
		return nil, diag.Decline(diag.NativeDepth, "blocks have depth").Measure(1, f.Z)
	}
	// many is where blocks are channels, space where they are not.
	many, space, d := x, y, l.Top().Type.Dims
	if !scatter {
		many, space, d = y, x, l.Bottoms[0].Type.Dims
	}
	d[anec.W] /= f.X
	d[anec.H] /= f.Y
	rest, place := 1, d[outer]
	if inner {
		rest, place = f.X*f.Y, 1
	}
	m := b.moveOf(d, many, space)
	m.axes[outer].from *= rest
	m.axes[anec.H].to *= f.Y
	m.axes[anec.W].to *= f.X
	m.axes = append(m.axes,
		axis{anec.W, f.X, place * many.strides[outer], space.strides[anec.W]},
		axis{anec.H, f.Y, f.X * place * many.strides[outer], space.strides[anec.H]})
	if !scatter {
		m.from, m.to = m.to, m.from
		for i := range m.axes {
			a := &m.axes[i]
			a.from, a.to = a.to, a.from
		}
		m.before = b.inRows(l.Bottoms[0])
	}
	return b.moves(m)
}
