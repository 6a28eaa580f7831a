package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Softmax, with everything on chip between the tasks. Which task finds the largest and the sum depends on the axis.
//
//	x ─ max ─ (x - max)*log2 e ─ exp2 ─ 1/sum ─ product ─ y

func (b *builder) softmax(l *anec.Layer, p *anec.Softmax) ([]*units.Op, *diag.Reason) {
	stages, why := stagesOf(l)
	if why := firstOf(why, withoutTranspose(l)); why != nil {
		return nil, why
	}
	return b.staged(l, p.Axes, stages, func(w *work) ([]*units.Op, *diag.Reason) {
		kept, along := pathsOf(w.d, w.axes, w.from, w.to)
		switch rows := w.axes.Has(anec.W); {
		case rows && len(along) == 0:
			return b.softmaxOfRows(w, kept)
		case len(along) == 1 && (!rows || w.d[anec.W] == 1):
			return b.softmaxOfChannels(w, kept, along[0])
		}
		if len(along) == 0 {
			return nil, diag.Decline(diag.NativeAxes, "a softmax is along %v, which has one element; its tasks go along more", axesOf(p.Axes))
		}
		return nil, diag.Decline(diag.NativeAxes, "a softmax is along several axes, and its tasks go along one").Measure("1 axis", axesOf(p.Axes))
	})
}

// softmaxOfRows is over W.
func (b *builder) softmaxOfRows(w *work, kept []path) ([]*units.Op, *diag.Reason) {
	form := formOfRows(kept)
	size := units.Size{W: w.d[anec.W], H: form.rows.n, D: 1, C: form.channels.n}
	return form.tasks(w, func(from, to *units.Surface) ([]*units.Op, *diag.Reason) {
		switch {
		case form.rows.n > 1:
			bytes := func(n int) int {
				if n > maxGroups {
					return b.OnChip
				}
				_, _, small := b.softmaxPlaces(units.Size{W: size.W, H: n, D: 1, C: size.C})
				return small.End(1)
			}
			return form.inPieces(form.rows, from, to, bytes, func(from, to *units.Surface, n int) []*units.Op {
				return b.softmaxOfPlanes(from, to, units.Size{W: size.W, H: n, D: 1, C: size.C})
			})
		case size.W == 1:
			bytes := func(n int) int { return 4*n*0x10 + 0x1000 }
			return form.inPieces(form.channels, from, to, bytes, func(from, to *units.Surface, n int) []*units.Op {
				return b.softmaxOfOne(from, to, units.Size{W: 1, H: 1, D: 1, C: n})
			})
		}
		bytes := func(n int) int {
			_, full := b.softmaxOfRowPlaces(units.Size{W: size.W, H: 1, D: 1, C: n})
			return full.End(2)
		}
		return form.inPieces(form.channels, from, to, bytes, func(from, to *units.Surface, n int) []*units.Op {
			return b.softmaxOfEachChannel(from, to, units.Size{W: size.W, H: 1, D: 1, C: n})
		})
	})
}

// softmaxOfRowPlaces are where the numbers of channels, and the rows, lie. One number for each channel lies in a row:
// [1,1,C].
func (b *builder) softmaxOfRowPlaces(size units.Size) (row, full units.Chip) {
	channel := b.ChannelBytes(size.C)
	row = units.Chip{Channel: channel, Row: channel, Depth: channel}
	full = units.Chip{Base: units.Align(channel, 0x80), Channel: b.ChannelBytes(size.W)}
	full.Depth = size.C * full.Channel
	full.Row = full.Depth
	return row, full
}

// softmaxOfEachChannel is over the row of each channel.
func (b *builder) softmaxOfEachChannel(from, to *units.Surface, size units.Size) []*units.Op {
	row, full := b.softmaxOfRowPlaces(size)
	resident := units.Source{Chip: full}

	peak := b.Exchanged(b.Planar(td.TypePlanarReduce, size))
	peak.Reduction, peak.Lowest, peak.WideResult = planarLargest, true, true
	peak.Source1 = units.Source{Memory: from, Keep: true, Chip: full}
	peak.Source1.Chip.Group = full.Depth
	peak.Chip = row

	less := b.Planar(td.TypePlanarBinary, size)
	less.Source1, less.Source2 = resident, &units.Source{Chip: row}
	less.Broadcast2, less.Transpose2 = units.BroadcastW, true
	less.Negate2, less.Scale, less.WideSource = true, log2e, true
	less.Chip = full

	sum := b.Exchanged(b.Planar(td.TypePlanarReduce, size))
	sum.Final, sum.WideResult = planarReciprocal, true
	sum.Source1, sum.Chip = resident, row

	product := b.Planar(td.TypePlanarBinary, size)
	product.Source1, product.Source2 = units.Source{Chip: row}, &units.Source{Chip: full}
	product.Broadcast1, product.Transpose1 = units.BroadcastW, true
	product.Operator, product.WideSource = 1, true
	product.Result = to
	product.Chip = units.Chip{Base: full.End(1)}
	return []*units.Op{peak, less, b.powers(size, full, full), sum, product}
}

// powers are the powers of 2 of what lies on chip.
func (b *builder) powers(size units.Size, from, to units.Chip) *units.Op {
	o := b.Bypass(size)
	o.Source1, o.Chip = units.Source{Chip: from}, to
	b.apply(o, function{nonLinear: units.Table, table: td.Exp2Table(), post: units.One})
	return o
}

// softmaxOfOne is the softmax of rows of one element. The exponentials are taken of a row of all channels.
func (b *builder) softmaxOfOne(from, to *units.Surface, size units.Size) []*units.Op {
	column := units.Chip{Channel: 0x10, Depth: 0x10 * size.C}
	column.Row = column.Depth
	row := units.Chip{Base: column.End(1), Channel: b.ChannelBytes(size.C)}
	row.Row, row.Depth = row.Channel, row.Channel
	full := column
	full.Base = row.End(1)

	peak := b.Planar(td.TypePlanarReduce, size)
	peak.Reduction, peak.Lowest, peak.WideResult = planarLargest, true, true
	peak.Source1 = units.Source{Memory: from, Keep: true, Chip: full}
	peak.Source1.Chip.Group = full.Depth
	peak.Chip = column

	less := b.Exchanged(b.Planar(td.TypePlanarBinary, size))
	less.Source1, less.Source2 = units.Source{Chip: full}, &units.Source{Chip: column}
	less.Broadcast2, less.Negate2, less.Scale, less.WideSource = units.BroadcastW, true, log2e, true
	less.Chip = row
	less.Result = b.backed(b.RowBytes(size.C), 1)

	power := b.powers(units.Size{W: size.C, H: 1, D: 1, C: 1}, row, column)
	b.Exchanged(power)
	power.Source1.Memory = less.Result

	inverse := column
	inverse.Base = units.Apart(column.End(1))
	sum := b.Planar(td.TypePlanarReduce, size)
	sum.Final, sum.WideResult = planarReciprocal, true
	sum.Source1, sum.Chip = units.Source{Chip: column}, inverse

	product := b.Planar(td.TypePlanarBinary, size)
	product.Source1, product.Source2 = units.Source{Chip: inverse}, &units.Source{Chip: column}
	product.Broadcast1, product.Operator, product.WideSource = units.BroadcastW, 1, true
	product.Result = to
	product.Chip = units.Chip{Base: inverse.End(1)}
	return []*units.Op{peak, less, power, sum, product}
}

// softmaxPlaces are where a tensor of several rows lies, its powers, and one number for each row of each channel.
func (b *builder) softmaxPlaces(size units.Size) (full, powers, small units.Chip) {
	full = b.ResidentChip(0, size)
	powers = b.PlanarChip(full.End(size.H), size)
	powers.Group = 0
	return full, powers, rowNumbers(powers.End(size.H), size)
}

// rowNumbers is where one number for each row of each channel lies: channels side by side, row after row. Tasks that work
// on a row at a time make it.
func rowNumbers(base int, size units.Size) units.Chip {
	plane := 0x10 * size.C
	return units.Chip{Base: base, Channel: 0x10, Row: size.H * plane, Depth: plane, Group: plane}
}

// byRow makes a reduction on chip one of each row: rows are groups.
func byRow(o *units.Op, from units.Chip, rows int) *units.Op {
	o.Groups = rows
	o.Source1 = units.Source{Chip: units.Chip{Base: from.Base, Channel: from.Channel, Row: from.Depth, Depth: from.Depth, Group: from.Row}}
	return o
}

// perRow is how a task on whole planes reads a number for each row.
func perRow(c units.Chip) *units.Source {
	return &units.Source{Chip: units.Chip{Base: c.Base, Channel: c.Channel, Row: c.Group, Depth: c.Depth}}
}

// softmaxOfPlanes is over the rows of planes (norm_softmax_a3_1x64x8x8): a copy brings them on chip, where a row is a group.
func (b *builder) softmaxOfPlanes(from, to *units.Surface, size units.Size) []*units.Op {
	full, powers, small := b.softmaxPlaces(size)
	row := units.Size{W: size.W, H: 1, D: 1, C: size.C}

	load := b.Bypass(size)
	load.Source1 = units.Source{Memory: from, Chip: b.ArrayChip(full.End(size.H), size)}
	load.Chip = full

	peak := byRow(b.Planar(td.TypePlanarReduce, row), full, size.H)
	peak.Reduction, peak.Lowest, peak.WideResult = planarLargest, true, true
	peak.Chip = small

	less := b.Planar(td.TypePlanarBinary, size)
	less.Source1, less.Source2 = units.Source{Chip: full}, perRow(small)
	less.Broadcast2, less.Negate2, less.Scale, less.WideSource = units.BroadcastW, true, log2e, true
	less.Chip = powers

	inverse := rowNumbers(0, size)
	sum := byRow(b.Planar(td.TypePlanarReduce, row), powers, size.H)
	sum.Final, sum.WideResult = planarReciprocal, true
	sum.Chip = inverse

	product := b.Planar(td.TypePlanarBinary, size)
	product.Source1, product.Source2 = *perRow(inverse), &units.Source{Chip: powers}
	product.Broadcast1, product.Operator, product.WideSource = units.BroadcastW, 1, true
	product.Result = to
	product.Chip = units.Chip{Base: max(powers.End(size.H), inverse.End(1))}
	return []*units.Op{load, peak, less, b.powers(size, powers, powers), sum, product}
}

// softmaxOfChannels is over another axis than W, which is read as the channels; the array finds the largest and the sum
// (norm_softmax_a1_1x64x8x8, norm_softmax_a2_1x64x8x8).
func (b *builder) softmaxOfChannels(w *work, kept []path, along path) ([]*units.Op, *diag.Reason) {
	form := formOfChannels(kept, along)
	sizeOf := func(rows int) units.Size { return units.Size{W: w.d[anec.W], H: rows, D: 1, C: along.n} }
	bytes := func(n int) int {
		_, _, full := b.softmaxOfChannelPlaces(sizeOf(n))
		return full.End(n)
	}
	return form.tasks(w, func(from, to *units.Surface) ([]*units.Op, *diag.Reason) {
		return form.inPieces(form.rows, from, to, bytes, func(from, to *units.Surface, n int) []*units.Op {
			return b.softmaxAcross(from, to, sizeOf(n))
		})
	})
}

// softmaxOfChannelPlaces are where the numbers of places lie, the powers, and the source.
func (b *builder) softmaxOfChannelPlaces(size units.Size) (small, powers, full units.Chip) {
	small = b.PlanarChip(0, units.Size{W: size.W, H: size.H, D: 1, C: 1})
	powers = b.PlanarChip(small.End(size.H), size)
	full = b.ResidentChip(powers.End(size.H), size)
	small.Group, powers.Group = 0, 0
	return small, powers, full
}

func (b *builder) softmaxAcross(from, to *units.Surface, size units.Size) []*units.Op {
	small, powers, full := b.softmaxOfChannelPlaces(size)
	across := func() *units.Op {
		o := b.Bypass(size)
		o.Out.C, o.Engines = 1, 1
		o.Chip = small
		return o
	}
	peak := across()
	peak.Unicast, peak.Operation, peak.Lowest = size.C, units.Maximum, true
	peak.Source1 = units.Source{Memory: from, Keep: true, Chip: full}
	peak.Source1.Chip.Group = full.Depth

	less := b.Planar(td.TypePlanarBinary, size)
	less.Source1, less.Source2 = units.Source{Chip: full}, &units.Source{Chip: small}
	less.Broadcast2, less.Negate2, less.Scale = units.BroadcastC, true, log2e
	less.Chip = powers

	power := b.powers(size, powers, powers)

	sum := across()
	sum.Unicast, sum.Operation = 0, units.MultiplyAdd
	sum.Source1 = units.Source{Chip: powers}
	sum.NonLinear, sum.Kernel = units.Table, b.constants.Table(td.ReciprocalTable(), 1)

	product := b.Planar(td.TypePlanarBinary, size)
	product.Source1, product.Source2 = units.Source{Chip: small}, &units.Source{Chip: powers}
	product.Broadcast1, product.Operator = units.BroadcastC, 1
	product.Result = to
	product.Chip = units.Chip{Base: powers.End(size.H)}
	return []*units.Op{peak, less, power, sum, product}
}
