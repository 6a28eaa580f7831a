package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
)

// The tasks of reductions, by the axes.

// over folds a source over axes.
func (f *folding) over(work *work, to *units.Surface) ([]*units.Op, *diag.Reason) {
	d, axes, from := work.d, work.axes, work.from
	kept, folded := pathsOf(d, axes, from, to)
	for i := range folded {
		folded[i].to = 0 // the result has one element there
	}
	w := d[anec.W]
	columnwise := w > 1 && !axes.Has(anec.W)
	if columnwise && len(folded) == 0 { // of one element each
		folded = []path{{axis: anec.D, n: 1, from: from.Depth}}
	}
	if columnwise && work.apart != 0 {
		return nil, otherColumns(work)
	}
	switch {
	case f.largest && !f.negate && f.plain() && len(folded) == 1 && folded[0].axis != anec.H && (columnwise || w == 1 && folded[0].axis == anec.C && len(kept) == 0):
		return f.acrossChannels(w, kept, folded[0], from, to)
	case !columnwise:
		return f.planes(w, kept, folded, from, to)
	case len(folded) == 1 && folded[0].axis == anec.H:
		if ops, why := f.height(w, kept, folded[0], from, to); why == nil {
			return ops, nil
		}
	}
	return f.byExchange(w, kept, folded, from, to)
}

// plain reports whether nothing is done with the result.
func (f *folding) plain() bool { return f.scale == 1 && f.epsilon == 0 && f.final == 0 }

// planes folds rows, and with them other axes: those lie in the plane, the others are channels and groups.
func (f *folding) planes(w int, kept, folded []path, from, to *units.Surface) ([]*units.Op, *diag.Reason) {
	folded, kept = asOne(folded, 1), asOne(kept, 2)
	if len(folded) > 2 {
		return nil, diag.Decline(diag.NativeAxes, "beside W it reduces along more axes than a plane has").Measure(2, len(folded))
	}
	if len(kept) == 2 && max(kept[0].n, kept[1].n) > maxGroups {
		kept = asOne(kept, 1)
	}
	var outside []path
	if len(kept) > 2 {
		outside, kept = kept[:len(kept)-2], kept[len(kept)-2:]
	}
	// Groups are the outer axis, but of channels and rows the rows (reduce_probe_mean_ax3_1x64x8x8). What becomes columns is
	// channels, which are exchanged then (reduce_probe_mean_ax2_3_1x64x8x8_flat).
	var channels, groups path
	inner := len(kept) == 2 && !(kept[0].axis == anec.C && kept[1].axis == anec.H)
	exchange := false
	for i := range kept {
		if kept[i].to == 2 {
			exchange, inner = true, i == 1
		}
	}
	for _, a := range outside {
		if a.to == 2 {
			return nil, diag.Decline(diag.NativeLayout, "the columns of the result are an axis, %v, of which each element has a task of its own", a.axis)
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
	size := units.Size{W: w, H: 1, D: 1, C: max(channels.n, 1)}
	source, result := *from, *to
	switch len(folded) {
	case 0:
		if channels.axis == anec.H || groups.axis == anec.H {
			source.Row, result.Row = from.Group, to.Group
		}
	case 1:
		size.H, source.Row = folded[0].n, folded[0].from
	case 2:
		size.H, source.Row = folded[0].n, folded[0].from
		size.D, source.Depth = folded[1].n, folded[1].from
	}
	switch {
	case channels.n == 0:
		source.Plane = source.Row * size.H
		source.Group = source.Plane
		if size.D == 1 {
			source.Depth = source.Plane
		}
	default:
		source.Plane, result.Plane = channels.from, channels.to
	}
	if exchange {
		total := f.RowBytes(channels.n)
		result.Row, result.Plane, result.Depth = total, total, total
	}
	if groups.n > 0 {
		source.Group, result.Group = groups.from, groups.to
	}
	return forEach(outside, &source, &result, func(from, to *units.Surface) ([]*units.Op, *diag.Reason) {
		o := f.Between(f.task(size), from, to)
		o.Groups = max(groups.n, 1)
		if exchange {
			intoRow(f.Machine, o)
		}
		return []*units.Op{o}, nil
	})
}

// acrossChannels is the maximum across channels: the array does it.
func (f *folding) acrossChannels(w int, kept []path, folded path, from, to *units.Surface) ([]*units.Op, *diag.Reason) {
	kept = asOne(kept, 2)
	source, result := *from, *to
	size := units.Size{W: w, H: 1, D: 1, C: folded.n}
	source.Plane = folded.from
	if n := len(kept); n > 0 {
		rows := kept[n-1]
		size.H, source.Row, result.Row = rows.n, rows.from, rows.to
		kept = kept[:n-1]
	}
	groups := 1
	if n := len(kept); n > 0 {
		groups, source.Group, result.Group = kept[n-1].n, kept[n-1].from, kept[n-1].to
		kept = kept[:n-1]
	}
	return forEach(kept, &source, &result, func(from, to *units.Surface) ([]*units.Op, *diag.Reason) {
		o := f.Between(f.Bypass(size), from, to)
		o.Groups = groups
		o.Out.C, o.Unicast, o.Operation, o.Engines = 1, size.C, units.Maximum, 1
		o.Lowest = true
		return []*units.Op{o}, nil
	})
}

// byExchange folds axes that are not rows: a copy exchanges one of them and W, then the planar engine folds the rows. Another
// axis, that stays, is a group each (reduce_mean_axes_1); one that is folded too lies in the plane.
//
//	x[C,H,W] ─ copy ─ [W,H,C] on chip ─ fold C, for each H ─ [W,H,1] ─ y[1,H,W]
func (f *folding) byExchange(w int, kept, folded []path, from, to *units.Surface) ([]*units.Op, *diag.Reason) {
	folded = asOne(folded, 2)
	if len(folded) > 2 {
		return nil, diag.Decline(diag.NativeAxes, "it reduces along more axes than a copy brings into a plane, and not along W").Measure(2, len(folded))
	}
	across := folded[len(folded)-1]
	rows := path{n: 1, from: from.Row, to: to.Row} // folded too, or one for each group
	groups := rows
	var outside []path
	if n := len(kept); n > 0 {
		outside, groups = kept[:n-1], kept[n-1]
	}
	if len(folded) == 2 {
		rows = folded[0]
	}
	// Groups are the copy's rows, unless those are folded too.
	size := units.Size{W: w, H: rows.n, D: 1, C: across.n}
	grouped := len(folded) == 2
	chipOf := func(n int) (chip units.Chip, step int) {
		if grouped {
			chip = f.ResidentChip(0, units.Size{W: across.n, H: rows.n, D: 1, C: w})
			chip.Group = rows.n * chip.Row
			return chip, chip.Group
		}
		chip = f.ResidentChip(0, units.Size{W: across.n, H: n, D: 1, C: w})
		return chip, chip.Row
	}
	bytes := func(n int) int {
		if n > maxGroups {
			return f.OnChip
		}
		_, step := chipOf(n)
		return n*step + n*f.ChannelBytes(w)
	}
	return forEach(outside, from, to, func(from, to *units.Surface) ([]*units.Op, *diag.Reason) {
		return inPieces(f.Machine, groups, from, to, bytes, func(from, to *units.Surface, n int) []*units.Op {
			chip, step := chipOf(n)
			end := n * step
			size := size
			source := from.Moved(0)
			source.Plane, source.Row = across.from, groups.from
			if grouped {
				source.Row, source.Group = rows.from, groups.from
			} else {
				size.H = n
			}
			exchange := f.Exchanged(f.Bypass(size))
			exchange.Source1 = units.Source{Memory: source, Chip: f.ArrayChip(end, size)}
			exchange.Chip = chip

			o := f.Exchanged(f.task(units.Size{W: across.n, H: rows.n, D: 1, C: w}))
			o.Groups = n
			o.Source1 = units.Source{Chip: units.Chip{Channel: chip.Channel, Row: chip.Depth, Depth: chip.Depth, Group: step}}
			if grouped {
				exchange.Groups = n
				o.Source1.Chip.Row = chip.Row
			}
			result := to.Moved(0)
			result.Group, result.Row, result.Depth = groups.to, to.Plane, to.Plane
			o.Result = result
			channel := f.ChannelBytes(w)
			o.Chip = units.Chip{Base: end, Channel: channel, Row: n * channel, Depth: channel}
			o.Resides = true
			return []*units.Op{exchange, o}
		})
	})
}

// height folds the rows of each channel: a copy that reads rows as channels exchanges them with columns, the planar engine
// folds, another copy brings the columns back.
//
//	x[C,H,W] ─ copy ─ [C,W,H] on chip ─ fold H, for each W ─ [C,1] ─ copy ─ y[C,1,W]
func (f *folding) height(w int, kept []path, folded path, from, to *units.Surface) ([]*units.Op, *diag.Reason) {
	channels := path{n: 1, from: from.Plane, to: to.Plane}
	var outside []path
	if n := len(kept); n > 0 {
		outside, channels = kept[:n-1], kept[n-1]
	}
	in := units.Size{W: w, H: channels.n, D: 1, C: folded.n}
	chip := f.ResidentChip(0, units.Size{W: folded.n, H: channels.n, D: 1, C: w})
	end := chip.End(channels.n)
	plane := channels.n * 0x10
	if end+w*plane >= f.OnChip {
		return nil, noRoom("all rows that are reduced, with C and W exchanged,", f.OnChip, end+w*plane)
	}
	if w > maxGroups {
		return nil, diag.Decline(diag.NativeSize, "each column is a group").In("Groups").Measure(maxGroups, w)
	}
	return forEach(outside, from, to, func(from, to *units.Surface) ([]*units.Op, *diag.Reason) {
		source := from.Moved(0)
		source.Row, source.Plane = channels.from, folded.from
		exchange := f.Exchanged(f.Bypass(in))
		exchange.Chip = chip
		exchange.Source1 = units.Source{Memory: source, Chip: f.ArrayChip(end, in)}

		o := f.task(units.Size{W: folded.n, H: 1, D: 1, C: channels.n})
		o.Groups = w
		o.Source1 = units.Source{Chip: units.Chip{Channel: chip.Row, Row: chip.Depth, Depth: chip.Depth, Group: chip.Channel}}
		o.Chip = units.Chip{Base: end, Channel: 0x10, Row: w * plane, Depth: plane, Group: plane}

		back := f.Exchanged(f.Bypass(units.Size{W: 1, H: channels.n, D: 1, C: w}))
		back.Source1 = units.Source{Chip: units.Chip{Base: end, Channel: plane, Row: 0x10, Depth: plane}}
		result := to.Moved(0)
		result.Row = channels.to
		back.Result = result
		back.Chip = units.Chip{Base: end + w*plane}
		return []*units.Op{exchange, o, back}, nil
	})
}
