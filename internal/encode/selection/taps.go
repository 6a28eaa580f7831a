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

// Windows that do not lie on chip as a whole, or that have depth: axis by axis, over the taps of the window.
//
//	x row 0 2 4 … ─┐
//	x row 1 3 5 … ─┴─ max ─┐
//	x row 2 4 6 … ─────────┴─ max ─ y
//
// Rows, planes and groups begin on 64 bytes in memory, so that a tap is another offset, and a stride a greater one. For
// the columns, C and W change places before, and after.

// poolAxes are the axes of a window, by their place in it.
var poolAxes = [3]td.Axis{anec.D, anec.H, anec.W}

// windows selects the tasks of a pooling in memory.
func (b *builder) windows(l *anec.Layer, p *anec.Pooling) ([]*units.Op, *diag.Reason) {
	padded := segment.HasPadding(&p.Window)
	stages, why := stagesOf(l)
	kind := td.EWMax
	switch {
	case p.Type == td.PoolAvg && !padded:
		kind = td.EWAdd
		n := p.Kernel[0] * p.Kernel[1] * p.Kernel[2]
		stages = merged(append([]stage{{scale: tensor.RoundF16(1 / float32(n))}}, stages...))
	case p.Type == td.PoolAvg:
		return nil, diag.Decline(diag.NativeWindow, "an average that goes tap by tap has padding")
	case p.Type != td.PoolMax:
		return nil, otherPool(p)
	case padded && p.PaddingMode != td.PadNegative:
		return nil, diag.Decline(diag.NativeWindow, "what lies beside the image is not the least number, which a maximum leaves out").Measure(td.PadNegative, p.PaddingMode)
	}
	switch {
	case why != nil:
		return nil, why
	case p.Dilation != [3]int{1, 1, 1}:
		return nil, diag.Decline(diag.NativeWindow, "windows that are pooled tap by tap have dilation, along D, H and W").Measure(1, p.Dilation)
	case len(stages) > 0 && l.Epilogue.Transpose != nil:
		return nil, diag.Decline(diag.NativeEpilogue, "the result is transposed (%v), and other steps follow the windows", *l.Epilogue.Transpose)
	}
	from, why1 := b.layout(l.Bottoms[0])
	to, why2 := b.layout(l.Top())
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	out := l.Top().Type.Dims
	if perm := l.Epilogue.Transpose; perm != nil {
		inverse := perm.Inverse()
		out, to = inverse.Apply(out), to.permuted(inverse)
	}
	c := &chain{b: b}
	x := box{l.Bottoms[0].Type.Dims, from, anec.W}
	for i, a := range poolAxes {
		if p.Kernel[i] == 1 && p.Stride[i] == 1 {
			continue
		}
		column := anec.W
		if a == anec.W {
			column = anec.C
		}
		if x, why = c.lie(x, column); why != nil {
			return nil, why
		}
		if x, why = c.taps(kind, x, a, out[a], p, i); why != nil {
			return nil, why
		}
	}
	if len(stages) == 0 {
		why = c.move(x, to)
		return c.ops, why
	}
	y, why1 := b.tensorOf(l.Top())
	x, why2 = c.lie(x, anec.W)
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	flat := y
	flat.memory = x.surface()
	why = c.finish(flat, stages, y.memory)
	return c.ops, why
}

// A box is a tensor in memory whose columns are any axis: that along which elements lie side by side.
type box struct {
	dims   anec.Dims
	at     layout
	column td.Axis
}

// move takes a box where a layout says.
func (c *chain) move(x box, to layout) *diag.Reason {
	moves, why := c.b.moves(c.b.moveOf(x.dims, x.at, to))
	c.ops = append(c.ops, moves...)
	return why
}

// lie is a box with the given columns in which every other axis goes by whole 64 bytes: x itself, or a copy.
func (c *chain) lie(x box, column td.Axis) (box, *diag.Reason) {
	if x.column == column && c.regular(&x) {
		return x, nil
	}
	y := c.newBox(x.dims, column)
	return y, c.move(x, y.at)
}

func (c *chain) regular(x *box) bool {
	if x.at.offset%c.b.RowAlign != 0 {
		return false
	}
	for a, n := range x.dims {
		stride := x.at.strides[a]
		if n > 1 && (td.Axis(a) == x.column && stride != 2 || td.Axis(a) != x.column && (stride <= 0 || stride%c.b.RowAlign != 0)) {
			return false
		}
	}
	return true
}

// newBox takes scratch memory for a box.
func (c *chain) newBox(d anec.Dims, column td.Axis) box {
	y := box{dims: d, column: column}
	step := c.b.RowBytes(d[column])
	for _, a := range []td.Axis{anec.W, anec.H, anec.C, anec.D, anec.N} {
		if y.at.strides[a] = step; a == column {
			y.at.strides[a] = 2
			continue
		}
		step *= d[a]
	}
	y.at.origin = c.b.takeScratch(step)
	return y
}

// surface is a dense box, columns along W, with batch and depth as the groups.
func (x *box) surface() *units.Surface {
	s := x.at.strides
	return &units.Surface{Base: x.at.base, Offset: x.at.offset, Row: s[anec.H], Plane: s[anec.C], Depth: s[anec.D], Group: s[anec.D]}
}

// taps makes one element of each window along an axis.
func (c *chain) taps(kind td.EWKind, x box, a td.Axis, windows int, p *anec.Pooling, i int) (box, *diag.Reason) {
	d := x.dims
	d[a] = windows
	y := c.newBox(d, x.column)
	stride, before, n := p.Stride[i], p.PadBefore[i], x.dims[a]
	// A tap is the elements at one place of all windows. At the edges some windows have none there.
	type tap struct{ at, lo, hi int }
	var taps []tap
	for k := range p.Kernel[i] {
		t := tap{k, max(0, (before-k+stride-1)/stride), min(windows, (n-1-k+before)/stride+1)}
		if n-1-k+before >= 0 && t.lo < t.hi {
			taps = append(taps, t)
		}
	}
	of := func(t tap) box {
		part := x
		part.dims[a] = t.hi - t.lo
		part.at.offset += (t.lo*stride + t.at - before) * x.at.strides[a]
		part.at.strides[a] *= stride
		return part
	}
	in := func(t tap) box {
		part := y
		part.dims[a] = t.hi - t.lo
		part.at.offset += t.lo * y.at.strides[a]
		return part
	}
	// Those that all windows have come first. Two of them begin; without two, copies do, of what there is for each window.
	slices.SortStableFunc(taps, func(s, t tap) int { return (t.hi - t.lo) - (s.hi - s.lo) })
	switch {
	case len(taps) >= 2 && taps[1].hi-taps[1].lo == windows:
		if why := c.both(kind, of(taps[0]), of(taps[1]), y); why != nil {
			return y, why
		}
		taps = taps[2:]
	default:
		for from := 0; from < windows; {
			next := tap{hi: from}
			for _, t := range taps {
				if t.lo <= from && t.hi > next.hi {
					next = tap{t.at, from, t.hi}
				}
			}
			if next.hi == from {
				return y, emptyWindows()
			}
			if why := c.move(of(next), in(next).at); why != nil {
				return y, why
			}
			from = next.hi
		}
		if len(taps) > 0 && taps[0].hi-taps[0].lo == windows {
			taps = taps[1:] // it was copied as a whole
		} else if kind != td.EWMax { // one that was copied would count twice
			return y, diag.Decline(diag.NativeWindow, "no element that is copied to begin an average is in all windows along %v", a)
		}
	}
	for _, t := range taps {
		if why := c.both(kind, in(t), of(t), in(t)); why != nil {
			return y, why
		}
	}
	return y, nil
}

// both is an operation of two boxes of the same extents and columns. A task has three axes beside the columns; for each
// element of a fourth there is one more.
func (c *chain) both(kind td.EWKind, x, z, y box) *diag.Reason {
	var axes []td.Axis
	for _, a := range []td.Axis{anec.H, anec.C, anec.W, anec.D, anec.N} {
		if a != y.column && y.dims[a] > 1 {
			axes = append(axes, a)
		}
	}
	if len(axes) > 3 {
		last := axes[len(axes)-1]
		if y.dims[last] > maxTasks {
			return tooManyTasks(maxTasks, y.dims[last])
		}
		for i := range y.dims[last] {
			part := func(b box) box {
				b.dims[last] = 1
				b.at.offset += i * b.at.strides[last]
				return b
			}
			if why := c.both(kind, part(x), part(z), part(y)); why != nil {
				return why
			}
		}
		return nil
	}
	extent := [3]int{1, 1, 1}
	for i, a := range axes {
		extent[i] = y.dims[a]
	}
	size, groups := units.Size{W: y.dims[y.column], H: extent[0], D: 1, C: extent[1]}, extent[2]
	switch {
	case max(size.W, size.H) > maxPlane:
		return diag.Decline(diag.NativeSize, "an axis has too many elements for the plane of a task").Measure(maxPlane, max(size.W, size.H))
	case size.C > maxChannels:
		return diag.Decline(diag.NativeSize, "an axis has too many elements for the channels of a task").In("Cin").Measure(maxChannels, size.C)
	case groups > maxGroups:
		return diag.Decline(diag.NativeSize, "an axis has too many elements for the groups of a task").In("Groups").Measure(maxGroups, groups)
	}
	operand := func(b box) operand {
		s := &units.Surface{Base: b.at.base, Offset: b.at.offset}
		next := c.b.RowBytes(size.W)
		for i, stride := range []*int{&s.Row, &s.Plane, &s.Group} {
			if *stride = next; i < len(axes) {
				*stride = b.at.strides[axes[i]]
			}
			next = *stride * extent[i]
		}
		s.Depth = s.Group
		return operand{size: size, groups: groups, memory: s}
	}
	like := operand(y)
	_, why := c.two(kind, operand(x), operand(z), like, like.memory, nil)
	return why
}
