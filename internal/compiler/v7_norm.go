package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Normalizations: what a layer does with the mean and the deviation along some axes, everything on chip between the tasks.
//
//	x ─ mean ─ 1/sqrt(mean of (x-mean)² + ε) ─ (x - mean)*that ─ y
//
// A scale and a bias, which Apple's compiler refuses there, are elementwise tasks behind.

// A v7norm is a normalization.
type v7norm struct {
	b       *v7build
	epsilon uint16
	n       int       // elements that are normalized together
	centred bool      // the mean is taken off; else the elements are divided by the root of the sum of their squares
	affine  *v7affine // nil: none
}

func (b *v7build) layerNorm(l *anec.Layer, p *anec.LayerNorm) ([]*v7op, bool) {
	if p.Groups > 1 {
		return nil, false
	}
	return b.norm(l, p.Axes, p.Epsilon, true)
}

func (b *v7build) instanceNorm(l *anec.Layer, p *anec.InstanceNorm) ([]*v7op, bool) {
	return b.norm(l, p.Axes, p.Epsilon, true)
}

func (b *v7build) l2Norm(l *anec.Layer, p *anec.L2Norm) ([]*v7op, bool) {
	return b.norm(l, p.Axes, p.Epsilon, false)
}

func (b *v7build) norm(l *anec.Layer, axes td.Axes, epsilon float32, centred bool) ([]*v7op, bool) {
	half := tensor.ToF16(epsilon)
	stages, ok := stagesOf(l)
	if !ok || l.Epilogue.Transpose != nil || half == 0 && epsilon != 0 {
		return nil, false
	}
	return b.staged(l, axes, stages, func(w *v7work) ([]*v7op, bool) {
		return (&v7norm{b: b, epsilon: half, n: 1, centred: centred}).tasks(l, w)
	})
}

// tasks selects the form by the axes, and its tasks.
func (m *v7norm) tasks(l *anec.Layer, work *v7work) ([]*v7op, bool) {
	d, axes := work.d, work.axes
	for a, n := range d {
		if axes.Has(td.Axis(a)) {
			m.n *= n
		}
	}
	kept, along := v7paths(d, axes, work.from, work.to)
	w := d[anec.W]
	rows := axes.Has(anec.W) || w == 1
	var form v7form
	switch {
	case rows && len(along) == 0:
		form = formOfRows(kept)
	case rows && len(along) == 1:
		form = formOfPlanes(kept, along[0], !slices.ContainsFunc(l.Bottoms[1:], func(v *anec.Value) bool { return v != nil }))
	case rows && len(along) == 2:
		form = v7form{channels: along[0], rows: along[1], outside: kept}
	case len(along) == 1:
		form = formOfChannels(kept, along[0])
	default:
		return nil, false
	}
	if !m.takeAffine(l, work, &form) {
		return nil, false
	}
	someRows := func(n int) v7size { return v7size{w: w, h: n, d: 1, c: form.channels.n} }
	someChannels := func(n int) v7size { return v7size{w: w, h: form.rows.n, d: 1, c: n} }
	ops, ok := form.tasks(work, func(from, to *v7surface) ([]*v7op, bool) {
		switch {
		case len(along) == 2 && form.exchange:
			return nil, false
		case len(along) == 2:
			return m.whole(from, to, someRows(form.rows.n))
		case !rows:
			return m.inPieces(&form, form.rows, from, to, someRows, m.acrossChannels)
		case len(along) == 0 && form.rows.n > 1:
			return m.inPieces(&form, form.rows, from, to, someRows, m.byRow)
		}
		return m.inPieces(&form, form.channels, from, to, someChannels, m.byPlane)
	})
	if m.affine != nil {
		ops = append(m.affine.loads, ops...)
	}
	return ops, ok
}

// inPieces selects the tasks for as much at a time as there is room for on chip. A selection says with its tasks how much
// they take.
func (m *v7norm) inPieces(form *v7form, axis v7path, from, to *v7surface, sizeOf func(n int) v7size, selection func(from, to *v7surface, size v7size) ([]*v7op, int)) ([]*v7op, bool) {
	bytes := func(n int) int {
		if axis == form.rows && n > v7maxGroups {
			return v7chipBytes
		}
		_, end := selection(from, to, sizeOf(n))
		return end
	}
	if m.affine != nil && m.affine.vector != anec.W && bytes(axis.n) >= v7chipBytes {
		return nil, false // each piece would have a part of them
	}
	return form.inPieces(axis, from, to, bytes, func(from, to *v7surface, n int) []*v7op {
		ops, _ := selection(from, to, sizeOf(n))
		return ops
	})
}

// base is the first byte on chip that is free.
func (m *v7norm) base() int {
	if m.affine == nil {
		return 0
	}
	return m.affine.end
}

// mean makes a reduction that of means.
func (m *v7norm) mean(o *v7op) *v7op {
	o.finalScale, o.wideResult = 1/float32(m.n), true
	return o
}

// deviation makes a reduction that of the reciprocal deviation of what has its mean at 0, or is to have: 1/sqrt(mean of
// squares + ε).
func (m *v7norm) deviation(o *v7op) *v7op {
	o.operator, o.final, o.epsilon = planarSquare, planarRSqrt, m.epsilon
	o.wideResult, o.wideSource = true, true
	if m.centred {
		o.finalScale = 1 / float32(m.n)
	}
	return o
}

// last ends the tasks: the one that normalizes stores its result, or leaves it on chip for a scale and a bias.
func (m *v7norm) last(ops []*v7op, o *v7op, on v7chip, end int, to *v7surface) []*v7op {
	o.result, o.chip = to, v7chip{base: end}
	if m.affine == nil {
		return append(ops, o)
	}
	on.group = 0
	o.result, o.chip = nil, on
	return append(append(ops, o), m.affine.tasks(o.in, on, to)...)
}

// byPlane normalizes the plane of each channel (chain_base_layer_norm_d256_s64, norm_layer_norm_ax2_3_1x64x8x8). What
// there is for each channel lies in a row.
func (m *v7norm) byPlane(from, to *v7surface, size v7size) ([]*v7op, int) {
	channel := v7align(2*size.c, 16)
	mean := v7chip{base: m.base(), channel: channel, row: channel, depth: channel}
	deviation := mean
	deviation.base = mean.end(1)
	full := residentChip(deviation.end(1), size)
	end := full.end(size.h)
	kept := full
	kept.group = full.depth
	plane := uint32(v7BroadcastW)
	if size.h > 1 {
		plane |= v7BroadcastH
	}
	if !m.centred {
		spread := m.deviation(newPlanar(td.TypePlanarReduce, size).exchanged())
		spread.source1 = v7source{memory: from, keep: true, chip: kept}
		spread.chip = mean
		scale := onChipProduct(size, full, mean, plane)
		scale.transpose2 = true
		return m.last([]*v7op{spread}, scale, full, end, to), end
	}

	average := m.mean(newPlanar(td.TypePlanarReduce, size).exchanged())
	average.source1 = v7source{memory: from, keep: true, chip: kept}
	average.chip = mean

	spread := m.deviation(newPlanar(td.TypePlanarReduce2, size).exchanged())
	spread.source1, spread.source2 = v7source{chip: mean}, &v7source{chip: full}
	spread.broadcast1, spread.transpose1, spread.negate1 = plane, true, true
	spread.chip = deviation

	scale := newPlanar(td.TypePlanarGain, size)
	scale.source1, scale.source2 = v7source{chip: full}, &v7source{chip: mean}
	scale.transpose2, scale.negate2, scale.wideSource = true, true, true
	return m.last([]*v7op{average, spread}, scale, full, end, to), end
}

// onChipProduct is the product of what lies on chip with what there is less of.
func onChipProduct(size v7size, x, z v7chip, broadcast uint32) *v7op {
	o := newPlanar(td.TypePlanarBinary, size)
	o.source1, o.source2 = v7source{chip: x}, &v7source{chip: z}
	o.broadcast2, o.operator, o.wideSource = broadcast, 1, true
	return o
}

// onChipDifference is the difference of the same.
func onChipDifference(size v7size, x, z v7chip, broadcast uint32) *v7op {
	o := onChipProduct(size, x, z, broadcast)
	o.operator, o.negate2, o.wideResult = 0, true, true
	return o
}

// byRow normalizes the rows of planes (norm_layer_norm_ax3_1x64x8x8): a copy brings them on chip, where a row is a group.
func (m *v7norm) byRow(from, to *v7surface, size v7size) ([]*v7op, int) {
	row := v7size{w: size.w, h: 1, d: 1, c: size.c}
	centred := planarChip(m.base(), size)
	centred.group = 0
	full := residentChip(centred.end(size.h), size)
	mean := rowNumbers(full.end(size.h), size)
	deviation := rowNumbers(full.base, size)

	load := newBypass(size)
	load.source1 = v7source{memory: from, chip: arrayChip(full.end(size.h), size)}
	load.chip = full
	ops := []*v7op{load}
	if m.centred {
		average := m.mean(newPlanar(td.TypePlanarReduce, row).byRow(full, size.h))
		average.chip = mean
		less := onChipDifference(size, full, mean.perRow().chip, v7BroadcastW)
		less.chip = centred
		ops = append(ops, average, less)
	} else {
		centred, deviation = full, mean
	}
	spread := m.deviation(newPlanar(td.TypePlanarReduce, row).byRow(centred, size.h))
	spread.chip = deviation
	scale := onChipProduct(size, centred, deviation.perRow().chip, v7BroadcastW)
	return m.last(append(ops, spread), scale, centred, deviation.end(1), to), mean.end(1)
}

// acrossChannels normalizes channels at each place (norm_layer_norm_ax1_1x64x8x8): copies that exchange C and W bring them
// into the rows, of which each is a group.
func (m *v7norm) acrossChannels(from, to *v7surface, size v7size) ([]*v7op, int) {
	channel := v7align(2*size.w, 16)
	small := v7chip{base: m.base(), channel: channel, row: size.h * channel, depth: channel, group: channel}
	place := v7chip{base: small.base, channel: channel, row: channel, depth: channel}
	turned := residentChip(small.end(1), v7size{w: size.c, h: size.h, d: 1, c: size.w})
	centred := planarChip(turned.base, size)
	centred.group = 0
	again := turned
	again.base = max(turned.end(size.h), centred.end(size.h))
	full := residentChip(again.end(size.h), size)
	end := full.end(size.h)
	row := v7size{w: size.c, h: 1, d: 1, c: size.w}

	turn := newBypass(size).exchanged()
	turn.source1 = v7source{memory: from, keep: true, chip: full}
	turn.source1.chip.group = full.depth
	turn.chip = turned
	if !m.centred {
		spread := m.deviation(newPlanar(td.TypePlanarReduce, row).exchanged().byRow(turned, size.h))
		spread.chip = small
		scale := onChipProduct(size, full, place, v7BroadcastC)
		return m.last([]*v7op{turn, spread}, scale, full, end, to), end
	}

	average := m.mean(newPlanar(td.TypePlanarReduce, row).exchanged().byRow(turned, size.h))
	average.chip = small

	less := onChipDifference(size, full, place, v7BroadcastC)
	less.chip = centred

	back := newBypass(size).exchanged()
	back.source1 = v7source{chip: centred}
	back.chip = again
	back.wideResult = true

	spread := m.deviation(newPlanar(td.TypePlanarReduce, row).exchanged().byRow(again, size.h))
	spread.chip = small

	scale := onChipProduct(size, centred, place, v7BroadcastC)
	return m.last([]*v7op{turn, average, less, back, spread}, scale, centred, again.base, to), end
}

// whole has one mean for all (layer_norm_1x64x8x8): channels are read as rows and rows as depth.
func (m *v7norm) whole(mx, my *v7surface, native v7size) ([]*v7op, bool) {
	size := v7size{w: native.w, h: native.c, d: native.h, c: 1}
	from := *mx
	from.row, from.plane, from.depth = mx.plane, mx.group, mx.row
	mean := v7chip{base: m.base(), channel: 0x10, row: 0x20, depth: 0x10}
	deviation := mean
	deviation.base = mean.end(1)
	full := v7chip{base: deviation.end(1), channel: v7align(2*size.w, 16)}
	full.depth = full.channel
	full.row = size.d * full.channel
	streams := planarChip(full.base, native)
	on := residentChip(full.base, native)
	if full.end(size.h) >= v7chipBytes || m.affine != nil && on.end(native.h) >= v7chipBytes {
		return nil, false
	}
	kept := full
	kept.group = full.row
	const all = v7BroadcastW | v7BroadcastH | v7BroadcastD
	var ops []*v7op
	var scale *v7op
	if m.centred {
		average := m.mean(newPlanar(td.TypePlanarReduce, size))
		average.source1 = v7source{memory: &from, keep: true, chip: kept}
		average.chip = mean

		spread := m.deviation(newPlanar(td.TypePlanarReduce2, size))
		spread.source1, spread.source2 = v7source{chip: mean}, &v7source{chip: full}
		spread.broadcast1, spread.negate1 = all, true
		spread.chip = deviation

		scale = newPlanar(td.TypePlanarGain, native)
		scale.source2 = &v7source{chip: mean}
		scale.broadcast2, scale.negate2, scale.wideSource = v7BroadcastC, true, true
		ops = []*v7op{average, spread}
	} else {
		spread := m.deviation(newPlanar(td.TypePlanarReduce, size))
		spread.source1 = v7source{memory: &from, keep: true, chip: kept}
		spread.chip = mean
		scale = onChipProduct(native, streams, mean, v7BroadcastW|v7BroadcastH|v7BroadcastC)
		ops = []*v7op{spread}
	}
	scale.source1 = v7source{memory: mx, chip: streams}
	end := passing(streams, native.h).base
	if m.affine != nil {
		scale.source1.chip.base = on.end(native.h)
	}
	return m.last(ops, scale, on, end, my), true
}
