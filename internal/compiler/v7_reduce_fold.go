package compiler

import "github.com/espalier-ane/espalier/internal/anec"

// The tasks of reductions, by the axes.

// over folds a source over axes.
func (f *v7folding) over(work *v7work, to *v7surface) ([]*v7op, bool) {
	d, axes, from := work.d, work.axes, work.from
	kept, folded := v7paths(d, axes, from, to)
	for i := range folded {
		folded[i].to = 0 // the result has one element there
	}
	w := d[anec.W]
	turns := w > 1 && !axes.Has(anec.W)
	if turns && len(folded) == 0 { // of one element each
		folded = []v7path{{axis: anec.D, n: 1, from: from.depth}}
	}
	if turns && work.apart != 0 {
		return nil, false
	}
	switch {
	case f.largest && !f.negate && f.plain() && len(folded) == 1 && folded[0].axis != anec.H && (turns || w == 1 && folded[0].axis == anec.C && len(kept) == 0):
		return f.acrossChannels(w, kept, folded[0], from, to)
	case !turns:
		return f.planes(w, kept, folded, from, to)
	case len(folded) == 1 && folded[0].axis == anec.H:
		if ops, ok := f.height(w, kept, folded[0], from, to); ok {
			return ops, true
		}
	}
	return f.turned(w, kept, folded, from, to)
}

// plain reports whether nothing is done with the result.
func (f *v7folding) plain() bool { return f.scale == 1 && f.epsilon == 0 && f.final == 0 }

// planes folds rows, and with them other axes: those lie in the plane, the others are channels and groups.
func (f *v7folding) planes(w int, kept, folded []v7path, from, to *v7surface) ([]*v7op, bool) {
	folded, kept = asOne(folded, 1), asOne(kept, 2)
	if len(folded) > 2 {
		return nil, false
	}
	if len(kept) == 2 && max(kept[0].n, kept[1].n) > v7maxGroups {
		kept = asOne(kept, 1)
	}
	var outside []v7path
	if len(kept) > 2 {
		outside, kept = kept[:len(kept)-2], kept[len(kept)-2:]
	}
	// Groups are the outer axis, but of channels and rows the rows (reduce_probe_mean_ax3_1x64x8x8). What becomes columns is
	// channels, which are exchanged then (reduce_probe_mean_ax2_3_1x64x8x8_flat).
	var channels, groups v7path
	inner := len(kept) == 2 && !(kept[0].axis == anec.C && kept[1].axis == anec.H)
	exchange := false
	for i := range kept {
		if kept[i].to == 2 {
			exchange, inner = true, i == 1
		}
	}
	for _, a := range outside {
		if a.to == 2 {
			return nil, false
		}
	}
	switch {
	case len(kept) == 1:
		channels = kept[0]
	case len(kept) == 2 && inner:
		groups, channels = kept[0], kept[1]
	case len(kept) == 2:
		channels, groups = kept[0], kept[1]
	}
	size := v7size{w: w, h: 1, d: 1, c: max(channels.n, 1)}
	source, result := *from, *to
	switch len(folded) {
	case 0:
		if channels.axis == anec.H || groups.axis == anec.H {
			source.row, result.row = from.group, to.group
		}
	case 1:
		size.h, source.row = folded[0].n, folded[0].from
	case 2:
		size.h, source.row = folded[0].n, folded[0].from
		size.d, source.depth = folded[1].n, folded[1].from
	}
	switch {
	case channels.n == 0:
		source.plane = source.row * size.h
		source.group = source.plane
		if size.d == 1 {
			source.depth = source.plane
		}
	default:
		source.plane, result.plane = channels.from, channels.to
	}
	if exchange {
		total := v7align(2*channels.n, v7row)
		result.row, result.plane, result.depth = total, total, total
	}
	if groups.n > 0 {
		source.group, result.group = groups.from, groups.to
	}
	return forEach(outside, &source, &result, func(from, to *v7surface) ([]*v7op, bool) {
		o := f.task(size).fromTo(from, to)
		o.groups = max(groups.n, 1)
		if exchange {
			o.intoRow()
		}
		return []*v7op{o}, true
	})
}

// acrossChannels is the maximum across channels: the array does it.
func (f *v7folding) acrossChannels(w int, kept []v7path, folded v7path, from, to *v7surface) ([]*v7op, bool) {
	kept = asOne(kept, 2)
	source, result := *from, *to
	size := v7size{w: w, h: 1, d: 1, c: folded.n}
	source.plane = folded.from
	if n := len(kept); n > 0 {
		rows := kept[n-1]
		size.h, source.row, result.row = rows.n, rows.from, rows.to
		kept = kept[:n-1]
	}
	groups := 1
	if n := len(kept); n > 0 {
		groups, source.group, result.group = kept[n-1].n, kept[n-1].from, kept[n-1].to
		kept = kept[:n-1]
	}
	return forEach(kept, &source, &result, func(from, to *v7surface) ([]*v7op, bool) {
		o := newBypass(size).fromTo(from, to)
		o.groups = groups
		o.out.c, o.unicast, o.operation, o.engines = 1, size.c, v7Maximum, 1
		o.lowest = true
		return []*v7op{o}, true
	})
}

// turned folds axes that are not rows: a copy exchanges one of them and W, then the planar engine folds the rows. Another
// axis, that stays, is a group each (reduce_mean_axes_1); one that is folded too lies in the plane.
//
//	x[C,H,W] ─ copy ─ [W,H,C] on chip ─ fold C, for each H ─ [W,H,1] ─ y[1,H,W]
func (f *v7folding) turned(w int, kept, folded []v7path, from, to *v7surface) ([]*v7op, bool) {
	folded = asOne(folded, 2)
	if len(folded) > 2 {
		return nil, false
	}
	across := folded[len(folded)-1]
	rows := v7path{n: 1, from: from.row, to: to.row} // folded too, or one for each group
	groups := rows
	var outside []v7path
	if n := len(kept); n > 0 {
		outside, groups = kept[:n-1], kept[n-1]
	}
	if len(folded) == 2 {
		rows = folded[0]
	}
	// Groups are the copy's rows, unless those are folded too.
	size := v7size{w: w, h: rows.n, d: 1, c: across.n}
	grouped := len(folded) == 2
	chipOf := func(n int) (chip v7chip, step int) {
		if grouped {
			chip = residentChip(0, v7size{w: across.n, h: rows.n, d: 1, c: w})
			chip.group = rows.n * chip.row
			return chip, chip.group
		}
		chip = residentChip(0, v7size{w: across.n, h: n, d: 1, c: w})
		return chip, chip.row
	}
	bytes := func(n int) int {
		if n > v7maxGroups {
			return v7chipBytes
		}
		_, step := chipOf(n)
		return n*step + n*v7align(2*w, 16)
	}
	return forEach(outside, from, to, func(from, to *v7surface) ([]*v7op, bool) {
		return inPieces(groups, from, to, bytes, func(from, to *v7surface, n int) []*v7op {
			chip, step := chipOf(n)
			end := n * step
			size := size
			source := from.moved(0)
			source.plane, source.row = across.from, groups.from
			if grouped {
				source.row, source.group = rows.from, groups.from
			} else {
				size.h = n
			}
			turn := newBypass(size).exchanged()
			turn.source1 = v7source{memory: source, chip: arrayChip(end, size)}
			turn.chip = chip

			o := f.task(v7size{w: across.n, h: rows.n, d: 1, c: w}).exchanged()
			o.groups = n
			o.source1 = v7source{chip: v7chip{channel: chip.channel, row: chip.depth, depth: chip.depth, group: step}}
			if grouped {
				turn.groups = n
				o.source1.chip.row = chip.row
			}
			result := to.moved(0)
			result.group, result.row, result.depth = groups.to, to.plane, to.plane
			o.result = result
			channel := v7align(2*w, 16)
			o.chip = v7chip{base: end, channel: channel, row: n * channel, depth: channel}
			o.resides = true
			return []*v7op{turn, o}
		})
	})
}

// height folds the rows of each channel: a copy that reads rows as channels exchanges them with columns, the planar engine
// folds, another copy brings the columns back.
//
//	x[C,H,W] ─ copy ─ [C,W,H] on chip ─ fold H, for each W ─ [C,1] ─ copy ─ y[C,1,W]
func (f *v7folding) height(w int, kept []v7path, folded v7path, from, to *v7surface) ([]*v7op, bool) {
	channels := v7path{n: 1, from: from.plane, to: to.plane}
	var outside []v7path
	if n := len(kept); n > 0 {
		outside, channels = kept[:n-1], kept[n-1]
	}
	in := v7size{w: w, h: channels.n, d: 1, c: folded.n}
	chip := residentChip(0, v7size{w: folded.n, h: channels.n, d: 1, c: w})
	end := chip.end(channels.n)
	plane := channels.n * 0x10
	if end+w*plane >= v7chipBytes || w > v7maxGroups {
		return nil, false
	}
	return forEach(outside, from, to, func(from, to *v7surface) ([]*v7op, bool) {
		source := from.moved(0)
		source.row, source.plane = channels.from, folded.from
		turn := newBypass(in).exchanged()
		turn.chip = chip
		turn.source1 = v7source{memory: source, chip: arrayChip(end, in)}

		o := f.task(v7size{w: folded.n, h: 1, d: 1, c: channels.n})
		o.groups = w
		o.source1 = v7source{chip: v7chip{channel: chip.row, row: chip.depth, depth: chip.depth, group: chip.channel}}
		o.chip = v7chip{base: end, channel: 0x10, row: w * plane, depth: plane, group: plane}

		back := newBypass(v7size{w: 1, h: channels.n, d: 1, c: w}).exchanged()
		back.source1 = v7source{chip: v7chip{base: end, channel: plane, row: 0x10, depth: plane}}
		result := to.moved(0)
		result.row = channels.to
		back.result = result
		back.chip = v7chip{base: end + w*plane}
		return []*v7op{turn, o, back}, true
	})
}
