package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// Softmax, with everything on chip between the tasks. Which task finds the largest and the sum depends on the axis.
//
//	x ─ max ─ (x - max)*log2 e ─ exp2 ─ 1/sum ─ product ─ y

func (b *v7build) softmax(l *anec.Layer, p *anec.Softmax) ([]*v7op, bool) {
	stages, ok := stagesOf(l)
	if !ok || l.Epilogue.Transpose != nil {
		return nil, false
	}
	return b.staged(l, p.Axes, stages, func(w *v7work) ([]*v7op, bool) {
		kept, along := v7paths(w.d, w.axes, w.from, w.to)
		switch rows := w.axes.Has(anec.W); {
		case rows && len(along) == 0:
			return b.softmaxOfRows(w, kept)
		case len(along) == 1 && (!rows || w.d[anec.W] == 1):
			return b.softmaxOfChannels(w, kept, along[0])
		}
		return nil, false
	})
}

// softmaxOfRows is over W.
func (b *v7build) softmaxOfRows(w *v7work, kept []v7path) ([]*v7op, bool) {
	form := formOfRows(kept)
	size := v7size{w: w.d[anec.W], h: form.rows.n, d: 1, c: form.channels.n}
	return form.tasks(w, func(from, to *v7surface) ([]*v7op, bool) {
		switch {
		case form.rows.n > 1:
			bytes := func(n int) int {
				if n > v7maxGroups {
					return v7chipBytes
				}
				_, _, small := softmaxPlaces(v7size{w: size.w, h: n, d: 1, c: size.c})
				return small.end(1)
			}
			return form.inPieces(form.rows, from, to, bytes, func(from, to *v7surface, n int) []*v7op {
				return b.softmaxOfPlanes(from, to, v7size{w: size.w, h: n, d: 1, c: size.c})
			})
		case size.w == 1:
			bytes := func(n int) int { return 4*n*0x10 + 0x1000 }
			return form.inPieces(form.channels, from, to, bytes, func(from, to *v7surface, n int) []*v7op {
				return b.softmaxOfOne(from, to, v7size{w: 1, h: 1, d: 1, c: n})
			})
		}
		bytes := func(n int) int {
			_, full := softmaxOfRowPlaces(v7size{w: size.w, h: 1, d: 1, c: n})
			return full.end(2)
		}
		return form.inPieces(form.channels, from, to, bytes, func(from, to *v7surface, n int) []*v7op {
			return b.softmaxOfEachChannel(from, to, v7size{w: size.w, h: 1, d: 1, c: n})
		})
	})
}

// softmaxOfRowPlaces are where the numbers of channels, and the rows, lie. One number for each channel lies in a row:
// [1,1,C].
func softmaxOfRowPlaces(size v7size) (row, full v7chip) {
	channel := v7align(2*size.c, 16)
	row = v7chip{channel: channel, row: channel, depth: channel}
	full = v7chip{base: v7align(channel, 0x80), channel: v7align(2*size.w, 16)}
	full.depth = size.c * full.channel
	full.row = full.depth
	return row, full
}

// softmaxOfEachChannel is over the row of each channel.
func (b *v7build) softmaxOfEachChannel(from, to *v7surface, size v7size) []*v7op {
	row, full := softmaxOfRowPlaces(size)
	resident := v7source{chip: full}

	peak := newPlanar(td.TypePlanarReduce, size).exchanged()
	peak.reduction, peak.lowest, peak.wideResult = planarLargest, true, true
	peak.source1 = v7source{memory: from, keep: true, chip: full}
	peak.source1.chip.group = full.depth
	peak.chip = row

	less := newPlanar(td.TypePlanarBinary, size)
	less.source1, less.source2 = resident, &v7source{chip: row}
	less.broadcast2, less.transpose2 = v7BroadcastW, true
	less.negate2, less.scale, less.wideSource = true, v7log2e, true
	less.chip = full

	sum := newPlanar(td.TypePlanarReduce, size).exchanged()
	sum.final, sum.wideResult = planarReciprocal, true
	sum.source1, sum.chip = resident, row

	product := newPlanar(td.TypePlanarBinary, size)
	product.source1, product.source2 = v7source{chip: row}, &v7source{chip: full}
	product.broadcast1, product.transpose1 = v7BroadcastW, true
	product.operator, product.wideSource = 1, true
	product.result = to
	product.chip = v7chip{base: full.end(1)}
	return []*v7op{peak, less, b.powers(size, full, full), sum, product}
}

// powers are the powers of 2 of what lies on chip.
func (b *v7build) powers(size v7size, from, to v7chip) *v7op {
	o := newBypass(size)
	o.source1, o.chip = v7source{chip: from}, to
	b.apply(o, v7function{nonLinear: v7Table, table: td.Exp2Table(), post: v7One})
	return o
}

// softmaxOfOne is the softmax of rows of one element. The exponentials are taken of a row of all channels.
func (b *v7build) softmaxOfOne(from, to *v7surface, size v7size) []*v7op {
	column := v7chip{channel: 0x10, depth: 0x10 * size.c}
	column.row = column.depth
	row := v7chip{base: column.end(1), channel: v7align(2*size.c, 16)}
	row.row, row.depth = row.channel, row.channel
	full := column
	full.base = row.end(1)

	peak := newPlanar(td.TypePlanarReduce, size)
	peak.reduction, peak.lowest, peak.wideResult = planarLargest, true, true
	peak.source1 = v7source{memory: from, keep: true, chip: full}
	peak.source1.chip.group = full.depth
	peak.chip = column

	less := newPlanar(td.TypePlanarBinary, size).exchanged()
	less.source1, less.source2 = v7source{chip: full}, &v7source{chip: column}
	less.broadcast2, less.negate2, less.scale, less.wideSource = v7BroadcastW, true, v7log2e, true
	less.chip = row
	less.result = b.backed(v7align(2*size.c, v7row), 1)

	power := b.powers(v7size{w: size.c, h: 1, d: 1, c: 1}, row, column)
	power.exchanged()
	power.source1.memory = less.result

	inverse := column
	inverse.base = v7apart(column.end(1))
	sum := newPlanar(td.TypePlanarReduce, size)
	sum.final, sum.wideResult = planarReciprocal, true
	sum.source1, sum.chip = v7source{chip: column}, inverse

	product := newPlanar(td.TypePlanarBinary, size)
	product.source1, product.source2 = v7source{chip: inverse}, &v7source{chip: column}
	product.broadcast1, product.operator, product.wideSource = v7BroadcastW, 1, true
	product.result = to
	product.chip = v7chip{base: inverse.end(1)}
	return []*v7op{peak, less, power, sum, product}
}

// softmaxPlaces are where a tensor of several rows lies, its powers, and one number for each row of each channel.
func softmaxPlaces(size v7size) (full, powers, small v7chip) {
	full = residentChip(0, size)
	powers = planarChip(full.end(size.h), size)
	powers.group = 0
	return full, powers, rowNumbers(powers.end(size.h), size)
}

// rowNumbers is where one number for each row of each channel lies: channels side by side, row after row. Tasks that work
// on a row at a time make it.
func rowNumbers(base int, size v7size) v7chip {
	plane := 0x10 * size.c
	return v7chip{base: base, channel: 0x10, row: size.h * plane, depth: plane, group: plane}
}

// byRow makes a reduction on chip one of each row: rows are groups.
func (o *v7op) byRow(from v7chip, rows int) *v7op {
	o.groups = rows
	o.source1 = v7source{chip: v7chip{base: from.base, channel: from.channel, row: from.depth, depth: from.depth, group: from.row}}
	return o
}

// perRow is how a task on whole planes reads a number for each row.
func (c v7chip) perRow() *v7source {
	return &v7source{chip: v7chip{base: c.base, channel: c.channel, row: c.group, depth: c.depth}}
}

// softmaxOfPlanes is over the rows of planes (norm_softmax_a3_1x64x8x8): a copy brings them on chip, where a row is a group.
func (b *v7build) softmaxOfPlanes(from, to *v7surface, size v7size) []*v7op {
	full, powers, small := softmaxPlaces(size)
	row := v7size{w: size.w, h: 1, d: 1, c: size.c}

	load := newBypass(size)
	load.source1 = v7source{memory: from, chip: arrayChip(full.end(size.h), size)}
	load.chip = full

	peak := newPlanar(td.TypePlanarReduce, row).byRow(full, size.h)
	peak.reduction, peak.lowest, peak.wideResult = planarLargest, true, true
	peak.chip = small

	less := newPlanar(td.TypePlanarBinary, size)
	less.source1, less.source2 = v7source{chip: full}, small.perRow()
	less.broadcast2, less.negate2, less.scale, less.wideSource = v7BroadcastW, true, v7log2e, true
	less.chip = powers

	inverse := rowNumbers(0, size)
	sum := newPlanar(td.TypePlanarReduce, row).byRow(powers, size.h)
	sum.final, sum.wideResult = planarReciprocal, true
	sum.chip = inverse

	product := newPlanar(td.TypePlanarBinary, size)
	product.source1, product.source2 = *inverse.perRow(), &v7source{chip: powers}
	product.broadcast1, product.operator, product.wideSource = v7BroadcastW, 1, true
	product.result = to
	product.chip = v7chip{base: max(powers.end(size.h), inverse.end(1))}
	return []*v7op{load, peak, less, b.powers(size, powers, powers), sum, product}
}

// softmaxOfChannels is over another axis than W, which is read as the channels; the array finds the largest and the sum
// (norm_softmax_a1_1x64x8x8, norm_softmax_a2_1x64x8x8).
func (b *v7build) softmaxOfChannels(w *v7work, kept []v7path, along v7path) ([]*v7op, bool) {
	form := formOfChannels(kept, along)
	sizeOf := func(rows int) v7size { return v7size{w: w.d[anec.W], h: rows, d: 1, c: along.n} }
	bytes := func(n int) int {
		_, _, full := softmaxOfChannelPlaces(sizeOf(n))
		return full.end(n)
	}
	return form.tasks(w, func(from, to *v7surface) ([]*v7op, bool) {
		return form.inPieces(form.rows, from, to, bytes, func(from, to *v7surface, n int) []*v7op {
			return b.softmaxAcross(from, to, sizeOf(n))
		})
	})
}

// softmaxOfChannelPlaces are where the numbers of places lie, the powers, and the source.
func softmaxOfChannelPlaces(size v7size) (small, powers, full v7chip) {
	small = planarChip(0, v7size{w: size.w, h: size.h, d: 1, c: 1})
	powers = planarChip(small.end(size.h), size)
	full = residentChip(powers.end(size.h), size)
	small.group, powers.group = 0, 0
	return small, powers, full
}

func (b *v7build) softmaxAcross(from, to *v7surface, size v7size) []*v7op {
	small, powers, full := softmaxOfChannelPlaces(size)
	across := func() *v7op {
		o := newBypass(size)
		o.out.c, o.engines = 1, 1
		o.chip = small
		return o
	}
	peak := across()
	peak.unicast, peak.operation, peak.lowest = size.c, v7Maximum, true
	peak.source1 = v7source{memory: from, keep: true, chip: full}
	peak.source1.chip.group = full.depth

	less := newPlanar(td.TypePlanarBinary, size)
	less.source1, less.source2 = v7source{chip: full}, &v7source{chip: small}
	less.broadcast2, less.negate2, less.scale = v7BroadcastC, true, v7log2e
	less.chip = powers

	power := b.powers(size, powers, powers)

	sum := across()
	sum.unicast, sum.operation = 0, v7MultiplyAdd
	sum.source1 = v7source{chip: powers}
	sum.nonLinear, sum.kernel = v7Table, b.constants.table(td.ReciprocalTable(), 1)

	product := newPlanar(td.TypePlanarBinary, size)
	product.source1, product.source2 = v7source{chip: small}, &v7source{chip: powers}
	product.broadcast1, product.operator = v7BroadcastC, 1
	product.result = to
	product.chip = v7chip{base: powers.end(size.h)}
	return []*v7op{peak, less, power, sum, product}
}
