package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Normalizations: what a layer does with the mean and the deviation along some axes, everything on chip between the tasks.
//
//	x ─ mean ─ 1/sqrt(mean of (x-mean)² + ε) ─ (x - mean)*that ─ y
//
// A scale and a bias, which Apple's compiler refuses there, are elementwise tasks behind.

// A normalization is a normalization.
type normalization struct {
	b       *builder
	epsilon uint16
	n       int     // elements that are normalized together
	centred bool    // the mean is taken off; else the elements are divided by the root of the sum of their squares
	affine  *affine // nil: none
}

func (b *builder) layerNorm(l *anec.Layer, p *anec.LayerNorm) ([]*units.Op, *diag.Reason) {
	if p.Groups > 1 {
		return nil, diag.Decline(diag.NativeAxes, "channels are normalized in groups").Measure(1, p.Groups)
	}
	return b.norm(l, p.Axes, p.Epsilon, true)
}

func (b *builder) instanceNorm(l *anec.Layer, p *anec.InstanceNorm) ([]*units.Op, *diag.Reason) {
	return b.norm(l, p.Axes, p.Epsilon, true)
}

func (b *builder) l2Norm(l *anec.Layer, p *anec.L2Norm) ([]*units.Op, *diag.Reason) {
	return b.norm(l, p.Axes, p.Epsilon, false)
}

func (b *builder) norm(l *anec.Layer, axes td.Axes, epsilon float32, centred bool) ([]*units.Op, *diag.Reason) {
	half := tensor.ToF16(epsilon)
	stages, why := stagesOf(l)
	if why := firstOf(why, withoutTranspose(l)); why != nil {
		return nil, why
	}
	if half == 0 && epsilon != 0 {
		return nil, diag.Decline(diag.NativeNumerics, "epsilon is 0 in fp16, which is what the register has").In("Epsilon").Measure(fp16Least, epsilon)
	}
	return b.staged(l, axes, stages, func(w *work) ([]*units.Op, *diag.Reason) {
		return (&normalization{b: b, epsilon: half, n: 1, centred: centred}).tasks(l, w)
	})
}

// tasks selects the form by the axes, and its tasks.
func (m *normalization) tasks(l *anec.Layer, work *work) ([]*units.Op, *diag.Reason) {
	d, axes := work.d, work.axes
	for a, n := range d {
		if axes.Has(td.Axis(a)) {
			m.n *= n
		}
	}
	kept, along := pathsOf(d, axes, work.from, work.to)
	w := d[anec.W]
	rows := axes.Has(anec.W) || w == 1
	var form workForm
	switch {
	case rows && len(along) == 0:
		form = formOfRows(kept)
	case rows && len(along) == 1:
		form = formOfPlanes(kept, along[0], !slices.ContainsFunc(l.Bottoms[1:], func(v *anec.Value) bool { return v != nil }))
	case rows && len(along) == 2:
		form = workForm{channels: along[0], rows: along[1], outside: kept}
	case len(along) == 1:
		form = formOfChannels(kept, along[0])
	case len(along) == 0:
		return nil, diag.Decline(diag.NativeAxes, "what is normalized has one element along its axes, and tasks go along more")
	case rows:
		return nil, diag.Decline(diag.NativeAxes, "beside W it normalizes along more axes than a task has").Measure(2, len(along))
	default:
		return nil, diag.Decline(diag.NativeAxes, "it normalizes along several axes and not along W; its tasks do so along one").Measure(1, len(along))
	}
	if why := m.takeAffine(l, work, &form); why != nil {
		return nil, why
	}
	someRows := func(n int) units.Size { return units.Size{W: w, H: n, D: 1, C: form.channels.n} }
	someChannels := func(n int) units.Size { return units.Size{W: w, H: form.rows.n, D: 1, C: n} }
	ops, why := form.tasks(work, func(from, to *units.Surface) ([]*units.Op, *diag.Reason) {
		switch {
		case len(along) == 2 && form.exchange:
			return nil, diag.Decline(diag.NativeLayout, "the result of a normalization over all axes has other columns than its source")
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
	return ops, why
}

// inPieces selects the tasks for as much at a time as there is room for on chip. A selection says with its tasks how much
// they take.
func (m *normalization) inPieces(form *workForm, axis path, from, to *units.Surface, sizeOf func(n int) units.Size, selection func(from, to *units.Surface, size units.Size) ([]*units.Op, int)) ([]*units.Op, *diag.Reason) {
	bytes := func(n int) int {
		if axis == form.rows && n > maxGroups {
			return m.b.OnChip
		}
		_, end := selection(from, to, sizeOf(n))
		return end
	}
	if m.affine != nil && m.affine.vector != anec.W && bytes(axis.n) >= m.b.OnChip { // each piece would have a part of them
		return nil, noRoom("a normalization, with a scale and a bias that do not go in pieces,", m.b.OnChip, bytes(axis.n))
	}
	return form.inPieces(axis, from, to, bytes, func(from, to *units.Surface, n int) []*units.Op {
		ops, _ := selection(from, to, sizeOf(n))
		return ops
	})
}

// base is the first byte on chip that is free.
func (m *normalization) base() int {
	if m.affine == nil {
		return 0
	}
	return m.affine.end
}

// mean makes a reduction that of means.
func (m *normalization) mean(o *units.Op) *units.Op {
	o.FinalScale, o.WideResult = 1/float32(m.n), true
	return o
}

// deviation makes a reduction that of the reciprocal deviation of what has its mean at 0, or is to have: 1/sqrt(mean of
// squares + ε).
func (m *normalization) deviation(o *units.Op) *units.Op {
	o.Operator, o.Final, o.Epsilon = planarSquare, planarRSqrt, m.epsilon
	o.WideResult, o.WideSource = true, true
	if m.centred {
		o.FinalScale = 1 / float32(m.n)
	}
	return o
}

// last ends the tasks: the one that normalizes stores its result, or leaves it on chip for a scale and a bias.
func (m *normalization) last(ops []*units.Op, o *units.Op, on units.Chip, end int, to *units.Surface) []*units.Op {
	o.Result, o.Chip = to, units.Chip{Base: end}
	if m.affine == nil {
		return append(ops, o)
	}
	on.Group = 0
	o.Result, o.Chip = nil, on
	return append(append(ops, o), m.affine.tasks(o.In, on, to)...)
}

// byPlane normalizes the plane of each channel (chain_base_layer_norm_d256_s64, norm_layer_norm_ax2_3_1x64x8x8). What
// there is for each channel lies in a row.
func (m *normalization) byPlane(from, to *units.Surface, size units.Size) ([]*units.Op, int) {
	channel := m.b.ChannelBytes(size.C)
	mean := units.Chip{Base: m.base(), Channel: channel, Row: channel, Depth: channel}
	deviation := mean
	deviation.Base = mean.End(1)
	full := m.b.ResidentChip(deviation.End(1), size)
	end := full.End(size.H)
	kept := full
	kept.Group = full.Depth
	plane := uint32(units.BroadcastW)
	if size.H > 1 {
		plane |= units.BroadcastH
	}
	if !m.centred {
		spread := m.deviation(m.b.Exchanged(m.b.Planar(td.TypePlanarReduce, size)))
		spread.Source1 = units.Source{Memory: from, Keep: true, Chip: kept}
		spread.Chip = mean
		scale := onChipProduct(m.b.Machine, size, full, mean, plane)
		scale.Transpose2 = true
		return m.last([]*units.Op{spread}, scale, full, end, to), end
	}

	average := m.mean(m.b.Exchanged(m.b.Planar(td.TypePlanarReduce, size)))
	average.Source1 = units.Source{Memory: from, Keep: true, Chip: kept}
	average.Chip = mean

	spread := m.deviation(m.b.Exchanged(m.b.Planar(td.TypePlanarReduce2, size)))
	spread.Source1, spread.Source2 = units.Source{Chip: mean}, &units.Source{Chip: full}
	spread.Broadcast1, spread.Transpose1, spread.Negate1 = plane, true, true
	spread.Chip = deviation

	scale := m.b.Planar(td.TypePlanarGain, size)
	scale.Source1, scale.Source2 = units.Source{Chip: full}, &units.Source{Chip: mean}
	scale.Transpose2, scale.Negate2, scale.WideSource = true, true, true
	return m.last([]*units.Op{average, spread}, scale, full, end, to), end
}

// onChipProduct is the product of what lies on chip with what there is less of.
func onChipProduct(m units.Machine, size units.Size, x, z units.Chip, broadcast uint32) *units.Op {
	o := m.Planar(td.TypePlanarBinary, size)
	o.Source1, o.Source2 = units.Source{Chip: x}, &units.Source{Chip: z}
	o.Broadcast2, o.Operator, o.WideSource = broadcast, 1, true
	return o
}

// onChipDifference is the difference of the same.
func onChipDifference(m units.Machine, size units.Size, x, z units.Chip, broadcast uint32) *units.Op {
	o := onChipProduct(m, size, x, z, broadcast)
	o.Operator, o.Negate2, o.WideResult = 0, true, true
	return o
}

// byRow normalizes the rows of planes (norm_layer_norm_ax3_1x64x8x8): a copy brings them on chip, where a row is a group.
func (m *normalization) byRow(from, to *units.Surface, size units.Size) ([]*units.Op, int) {
	row := units.Size{W: size.W, H: 1, D: 1, C: size.C}
	centred := m.b.PlanarChip(m.base(), size)
	centred.Group = 0
	full := m.b.ResidentChip(centred.End(size.H), size)
	mean := rowNumbers(full.End(size.H), size)
	deviation := rowNumbers(full.Base, size)

	load := m.b.Bypass(size)
	load.Source1 = units.Source{Memory: from, Chip: m.b.ArrayChip(full.End(size.H), size)}
	load.Chip = full
	ops := []*units.Op{load}
	if m.centred {
		average := m.mean(byRow(m.b.Planar(td.TypePlanarReduce, row), full, size.H))
		average.Chip = mean
		less := onChipDifference(m.b.Machine, size, full, perRow(mean).Chip, units.BroadcastW)
		less.Chip = centred
		ops = append(ops, average, less)
	} else {
		centred, deviation = full, mean
	}
	spread := m.deviation(byRow(m.b.Planar(td.TypePlanarReduce, row), centred, size.H))
	spread.Chip = deviation
	scale := onChipProduct(m.b.Machine, size, centred, perRow(deviation).Chip, units.BroadcastW)
	return m.last(append(ops, spread), scale, centred, deviation.End(1), to), mean.End(1)
}

// acrossChannels normalizes channels at each place (norm_layer_norm_ax1_1x64x8x8): copies that exchange C and W bring them
// into the rows, of which each is a group.
func (m *normalization) acrossChannels(from, to *units.Surface, size units.Size) ([]*units.Op, int) {
	channel := m.b.ChannelBytes(size.W)
	small := units.Chip{Base: m.base(), Channel: channel, Row: size.H * channel, Depth: channel, Group: channel}
	place := units.Chip{Base: small.Base, Channel: channel, Row: channel, Depth: channel}
	exchanged := m.b.ResidentChip(small.End(1), units.Size{W: size.C, H: size.H, D: 1, C: size.W})
	centred := m.b.PlanarChip(exchanged.Base, size)
	centred.Group = 0
	again := exchanged
	again.Base = max(exchanged.End(size.H), centred.End(size.H))
	full := m.b.ResidentChip(again.End(size.H), size)
	end := full.End(size.H)
	row := units.Size{W: size.C, H: 1, D: 1, C: size.W}

	exchange := m.b.Exchanged(m.b.Bypass(size))
	exchange.Source1 = units.Source{Memory: from, Keep: true, Chip: full}
	exchange.Source1.Chip.Group = full.Depth
	exchange.Chip = exchanged
	if !m.centred {
		spread := m.deviation(byRow(m.b.Exchanged(m.b.Planar(td.TypePlanarReduce, row)), exchanged, size.H))
		spread.Chip = small
		scale := onChipProduct(m.b.Machine, size, full, place, units.BroadcastC)
		return m.last([]*units.Op{exchange, spread}, scale, full, end, to), end
	}

	average := m.mean(byRow(m.b.Exchanged(m.b.Planar(td.TypePlanarReduce, row)), exchanged, size.H))
	average.Chip = small

	less := onChipDifference(m.b.Machine, size, full, place, units.BroadcastC)
	less.Chip = centred

	back := m.b.Exchanged(m.b.Bypass(size))
	back.Source1 = units.Source{Chip: centred}
	back.Chip = again
	back.WideResult = true

	spread := m.deviation(byRow(m.b.Exchanged(m.b.Planar(td.TypePlanarReduce, row)), again, size.H))
	spread.Chip = small

	scale := onChipProduct(m.b.Machine, size, centred, place, units.BroadcastC)
	return m.last([]*units.Op{exchange, average, less, back, spread}, scale, centred, again.Base, to), end
}

// whole has one mean for all (layer_norm_1x64x8x8): channels are read as rows and rows as depth.
func (m *normalization) whole(mx, my *units.Surface, native units.Size) ([]*units.Op, *diag.Reason) {
	size := units.Size{W: native.W, H: native.C, D: native.H, C: 1}
	from := *mx
	from.Row, from.Plane, from.Depth = mx.Plane, mx.Group, mx.Row
	mean := units.Chip{Base: m.base(), Channel: 0x10, Row: 0x20, Depth: 0x10}
	deviation := mean
	deviation.Base = mean.End(1)
	full := units.Chip{Base: deviation.End(1), Channel: m.b.ChannelBytes(size.W)}
	full.Depth = full.Channel
	full.Row = size.D * full.Channel
	streams := m.b.PlanarChip(full.Base, native)
	on := m.b.ResidentChip(full.Base, native)
	if full.End(size.H) >= m.b.OnChip || m.affine != nil && on.End(native.H) >= m.b.OnChip {
		return nil, noRoom("what has one mean", m.b.OnChip, max(full.End(size.H), on.End(native.H)))
	}
	kept := full
	kept.Group = full.Row
	const all = units.BroadcastW | units.BroadcastH | units.BroadcastD
	var ops []*units.Op
	var scale *units.Op
	if m.centred {
		average := m.mean(m.b.Planar(td.TypePlanarReduce, size))
		average.Source1 = units.Source{Memory: &from, Keep: true, Chip: kept}
		average.Chip = mean

		spread := m.deviation(m.b.Planar(td.TypePlanarReduce2, size))
		spread.Source1, spread.Source2 = units.Source{Chip: mean}, &units.Source{Chip: full}
		spread.Broadcast1, spread.Negate1 = all, true
		spread.Chip = deviation

		scale = m.b.Planar(td.TypePlanarGain, native)
		scale.Source2 = &units.Source{Chip: mean}
		scale.Broadcast2, scale.Negate2, scale.WideSource = units.BroadcastC, true, true
		ops = []*units.Op{average, spread}
	} else {
		spread := m.deviation(m.b.Planar(td.TypePlanarReduce, size))
		spread.Source1 = units.Source{Memory: &from, Keep: true, Chip: kept}
		spread.Chip = mean
		scale = onChipProduct(m.b.Machine, native, streams, mean, units.BroadcastW|units.BroadcastH|units.BroadcastC)
		ops = []*units.Op{spread}
	}
	scale.Source1 = units.Source{Memory: mx, Chip: streams}
	end := m.b.Passing(streams, native.H).Base
	if m.affine != nil {
		scale.Source1.Chip.Base = on.End(native.H)
	}
	return m.last(ops, scale, on, end, my), nil
}
