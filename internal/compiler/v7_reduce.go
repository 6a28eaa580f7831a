package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Reductions. The planar engine reduces the plane of each channel, so the axes to reduce are brought into the plane: by
// reading the surface otherwise where that does, else by copies that exchange C and W.

// rowsAsChannels reads a surface such that each of its rows is a channel.
func rowsAsChannels(s v7surface, d anec.Dims) (*v7surface, v7size, bool) {
	size := v7size{w: d[anec.W], h: 1, d: 1, c: d[anec.C] * d[anec.H]}
	if d[anec.H] > 1 && d[anec.C] > 1 && s.plane != s.row*d[anec.H] {
		return nil, size, false
	}
	step := s.row
	if d[anec.H] == 1 {
		step = s.plane
	}
	total := step * size.c
	s.row, s.plane, s.depth, s.group = total, step, total, total
	return &s, size, true
}

var planarReductions = map[td.ReductionKind]uint32{td.ReduceSum: 0, td.ReduceAvg: 0, td.ReduceMax: 2}

func (b *v7build) reduction(l *anec.Layer, p *anec.Reduction) ([]*v7op, bool) {
	x := l.Bottoms[0]
	d := x.Type.Dims
	if _, ok := planarReductions[p.Type]; !ok || p.Square || !l.Epilogue.Empty() || d[anec.N] != 1 {
		return nil, false
	}
	mx, ok1 := b.surface(x)
	top := l.Top()
	flat := b.flattened(l)
	if flat != nil {
		top = flat
	}
	my, ok2 := b.surface(top)
	if !ok1 || !ok2 {
		return nil, false
	}
	reduced := func(a td.Axis) bool { return p.Axes.Has(a) || d[a] == 1 }
	size, _ := v7sizeOf(x)
	n := 1
	for a := range td.Axis(anec.NumAxes) {
		if p.Axes.Has(a) {
			n *= d[a]
		}
	}
	planes := func(m v7surface, size v7size) *v7op {
		o := newPlanar(td.TypePlanarReduce, size)
		o.reduction = planarReductions[p.Type]
		if p.Type == td.ReduceAvg {
			o.finalScale = 1 / float32(n)
		}
		o.lowest = p.Type == td.ReduceMax
		o.source1 = v7source{memory: &m, chip: planarChip(0, size)}
		o.result = my
		o.chip = passing(o.source1.chip, size.h)
		return o
	}
	channels := p.Axes.Has(anec.C) && d[anec.C] > 1
	switch {
	case channels && p.Type == td.ReduceMax && !flatAxes(p.Axes, d, anec.H, anec.W):
		return b.channelMaximum(mx, my, size), flat == nil
	case !channels && reduced(anec.H) && reduced(anec.W):
		o := planes(*mx, size)
		if flat != nil {
			o.exchanged()
			o.chip.channel = v7align(2*size.c, 16)
			o.chip.row, o.chip.depth, o.chip.group = o.chip.channel, o.chip.channel, o.chip.channel
			o.resides = true
		}
		return []*v7op{o}, true
	case flat != nil:
		return nil, false
	case !channels && reduced(anec.W):
		rows, size, ok := rowsAsChannels(*mx, d)
		if !ok {
			return nil, false
		}
		o := planes(*rows, size)
		to, _, ok := rowsAsChannels(*my, top.Type.Dims)
		o.result = to
		return []*v7op{o}, ok
	case channels && reduced(anec.H) && reduced(anec.W):
		// All of a tensor: its rows are one plane's.
		if mx.plane != mx.row*d[anec.H] {
			return nil, false
		}
		whole := *mx
		whole.plane = mx.row * d[anec.H] * d[anec.C]
		whole.depth, whole.group = whole.plane, whole.plane
		return []*v7op{planes(whole, v7size{w: d[anec.W], h: d[anec.H] * d[anec.C], d: 1, c: 1})}, true
	case channels && !flatAxes(p.Axes, d, anec.H, anec.W):
		return b.channelSum(planes, mx, my, size), true
	case !channels && reduced(anec.H):
		return b.heightSum(planes, mx, my, size), true
	}
	return nil, false
}

// flatAxes reports whether one of the axes is reduced and longer than 1.
func flatAxes(axes td.Axes, d anec.Dims, among ...td.Axis) bool {
	for _, a := range among {
		if axes.Has(a) && d[a] > 1 {
			return true
		}
	}
	return false
}

// flattened is the output that a reduction is only flattened into, if it is: one number for each channel, in a row.
func (b *v7build) flattened(l *anec.Layer) *anec.Value {
	top := l.Top()
	if len(top.Uses) != 1 || !b.joined[top.Uses[0]] {
		return nil
	}
	return top.Uses[0].Top()
}

// joinFlat finds a reshape that lays the one number of each channel in a row.
func (b *v7build) joinFlat(l *anec.Layer) {
	p, ok := l.Params.(*anec.Reduction)
	top := l.Top()
	if !ok || len(top.Uses) != 1 || b.graph.IsOutput(top) {
		return
	}
	c := top.Type.Dims[anec.C]
	d := l.Bottoms[0].Type.Dims
	use := top.Uses[0]
	_, reshape := use.Params.(*anec.Reshape)
	if reshape && c > 1 && top.Type.Dims == (anec.Dims{1, 1, c, 1, 1}) && use.Top().Type.Dims == (anec.Dims{1, 1, 1, 1, c}) &&
		!p.Axes.Has(anec.C) && d[anec.C] == c && use.Epilogue.Empty() {
		b.joined[use] = true
	}
}

// channelMaximum is the maximum over channels: the array does it.
func (b *v7build) channelMaximum(mx, my *v7surface, size v7size) []*v7op {
	o := newBypass(size)
	o.out.c, o.unicast, o.operation, o.engines = 1, size.c, v7Maximum, 1
	o.lowest = true
	o.source1 = v7source{memory: mx, chip: arrayChip(0, size)}
	o.result = my
	o.chip = passing(o.source1.chip, size.h)
	return []*v7op{o}
}

// channelSum is the sum over channels: a copy exchanges C and W, then the planar engine reduces the rows, a group each.
//
//	x[C,H,W] ─ copy ─ [W,H,C] on chip ─ reduce W, for each H ─ [W,H,1] ─ y[1,H,W]
func (b *v7build) channelSum(planes func(v7surface, v7size) *v7op, mx, my *v7surface, size v7size) []*v7op {
	turned := v7size{w: size.c, h: size.h, d: 1, c: size.w}
	turn := newBypass(size).exchanged()
	turn.chip = residentChip(0, turned)
	end := turn.chip.end(size.h)
	turn.source1 = v7source{memory: mx, chip: arrayChip(end, size)}

	o := planes(v7surface{}, v7size{w: size.c, h: 1, d: 1, c: size.w})
	o.groups = size.h
	o.exchanged()
	at := turn.chip
	o.source1 = v7source{chip: v7chip{base: at.base, channel: at.channel, row: at.depth, depth: at.depth, group: at.row}}
	to := *my
	to.group = my.row
	to.row, to.depth = my.plane, my.plane
	o.result = &to
	channel := v7align(2*size.w, 16)
	o.chip = v7chip{base: end, channel: channel, row: size.h * channel, depth: channel}
	o.resides = true
	return []*v7op{turn, o}
}

// heightSum is the sum over rows: a copy that reads rows as channels exchanges them with columns, the planar engine
// reduces, another copy brings the columns back.
//
//	x[C,H,W] ─ copy ─ [C,W,H] on chip ─ reduce H, for each W ─ [C,1] ─ copy ─ y[C,1,W]
func (b *v7build) heightSum(planes func(v7surface, v7size) *v7op, mx, my *v7surface, size v7size) []*v7op {
	from := *mx
	from.row, from.plane = mx.plane, mx.row
	in := v7size{w: size.w, h: size.c, d: 1, c: size.h}
	turn := newBypass(in).exchanged()
	turn.chip = residentChip(0, v7size{w: size.h, h: size.c, d: 1, c: size.w})
	end := turn.chip.end(size.c)
	turn.source1 = v7source{memory: &from, chip: arrayChip(end, in)}

	o := planes(v7surface{}, v7size{w: size.h, h: 1, d: 1, c: size.c})
	o.groups = size.w
	at := turn.chip
	o.source1 = v7source{chip: v7chip{base: 0, channel: at.row, row: at.depth, depth: at.depth, group: at.channel}}
	o.result = nil
	plane := size.c * 0x10
	o.chip = v7chip{base: end, channel: 0x10, row: size.w * plane, depth: plane, group: plane}

	back := newBypass(v7size{w: 1, h: size.c, d: 1, c: size.w}).exchanged()
	back.source1 = v7source{chip: v7chip{base: end, channel: plane, row: 0x10, depth: plane}}
	to := *my
	to.row = my.plane
	back.result = &to
	back.chip = v7chip{base: end + size.w*plane}
	return []*v7op{turn, o, back}
}

// softmax is over rows, each a channel: five tasks with everything on chip.
//
//	x ─ max ─ (x - max)*log2 e ─ exp2 ─ 1/sum ─ product ─ y
func (b *v7build) softmax(l *anec.Layer, p *anec.Softmax) ([]*v7op, bool) {
	x := l.Bottoms[0]
	d := x.Type.Dims
	if p.Axes != td.AxesOf(anec.W) || !l.Epilogue.Empty() || d[anec.N] != 1 {
		return nil, false
	}
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(l.Top())
	if !ok1 || !ok2 {
		return nil, false
	}
	from, size, ok1 := rowsAsChannels(*mx, d)
	to, _, ok2 := rowsAsChannels(*my, d)
	if d[anec.H] == 1 {
		from, to = mx, my
	}
	if !ok1 || !ok2 {
		return nil, false
	}
	if size.w == 1 {
		return b.softmaxOfOne(from, to, size), 2*size.c*0x10+0x1000 < v7chipBytes
	}
	// One number for each channel lies in a row: [1,1,C].
	channel := v7align(2*size.c, 16)
	row := v7chip{channel: channel, row: channel, depth: channel}
	full := v7chip{base: v7align(channel, 0x80), channel: v7align(2*size.w, 16)}
	full.depth = size.c * full.channel
	full.row = full.depth
	if full.end(2) >= v7chipBytes {
		return nil, false
	}
	resident := v7source{chip: full}

	peak := newPlanar(td.TypePlanarReduce, size).exchanged()
	peak.reduction, peak.lowest, peak.wideResult = 2, true, true
	peak.source1 = v7source{memory: from, keep: true, chip: full}
	peak.source1.chip.group = full.depth
	peak.chip = row

	less := newPlanar(td.TypePlanarBinary, size)
	less.source1, less.source2 = resident, &v7source{chip: row}
	less.broadcast2, less.transpose2 = v7BroadcastW, true
	less.negate2, less.scale, less.wideSource = true, v7log2e, true
	less.chip = full

	power := newBypass(size)
	power.source1, power.chip = resident, full
	b.apply(power, v7function{nonLinear: v7Table, table: td.Exp2Table(), post: v7One})

	sum := newPlanar(td.TypePlanarReduce, size).exchanged()
	sum.final, sum.wideResult = 1, true
	sum.source1, sum.chip = resident, row

	product := newPlanar(td.TypePlanarBinary, size)
	product.source1, product.source2 = v7source{chip: row}, &v7source{chip: full}
	product.broadcast1, product.transpose1 = v7BroadcastW, true
	product.operator, product.wideSource = 1, true
	product.result = to
	product.chip = v7chip{base: full.end(1)}
	return []*v7op{peak, less, power, sum, product}, true
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
	peak.reduction, peak.lowest, peak.wideResult = 2, true, true
	peak.source1 = v7source{memory: from, keep: true, chip: full}
	peak.source1.chip.group = full.depth
	peak.chip = column

	less := newPlanar(td.TypePlanarBinary, size).exchanged()
	less.source1, less.source2 = v7source{chip: full}, &v7source{chip: column}
	less.broadcast2, less.negate2, less.scale, less.wideSource = v7BroadcastW, true, v7log2e, true
	less.chip = row
	less.result = b.backed(v7align(2*size.c, 64), 1)

	power := newBypass(v7size{w: size.c, h: 1, d: 1, c: 1}).exchanged()
	power.source1 = v7source{memory: less.result, chip: row}
	power.chip = column
	b.apply(power, v7function{nonLinear: v7Table, table: td.Exp2Table(), post: v7One})

	inverse := column
	inverse.base = v7apart(column.end(1))
	sum := newPlanar(td.TypePlanarReduce, size)
	sum.final, sum.wideResult = 1, true
	sum.source1, sum.chip = v7source{chip: column}, inverse

	product := newPlanar(td.TypePlanarBinary, size)
	product.source1, product.source2 = v7source{chip: inverse}, &v7source{chip: column}
	product.broadcast1, product.operator, product.wideSource = v7BroadcastW, 1, true
	product.result = to
	product.chip = v7chip{base: inverse.end(1)}
	return []*v7op{peak, less, power, sum, product}
}

// layerNorm is the normalization of rows, or of a whole tensor: mean, reciprocal of the deviation, gain and offset.
//
//	x ─ mean ─ 1/sqrt(mean of (x-mean)² + ε) ─ (x - mean)*that ─ y
func (b *v7build) layerNorm(l *anec.Layer, p *anec.LayerNorm) ([]*v7op, bool) {
	x := l.Bottoms[0]
	d := x.Type.Dims
	if p.Groups > 1 || !l.Epilogue.Empty() || d[anec.N] != 1 || l.Top().Type.DType != tensor.Float16 {
		return nil, false
	}
	for _, v := range l.Bottoms[1:] {
		if v != nil {
			return nil, false // gamma and beta: refused by Apple's compiler too
		}
	}
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(l.Top())
	if !ok1 || !ok2 {
		return nil, false
	}
	epsilon := tensor.ToF16(p.Epsilon)
	axes := p.Axes
	for a, n := range d {
		if n == 1 {
			axes &^= td.AxesOf(td.Axis(a))
		}
	}
	switch {
	case axes == td.AxesOf(anec.W):
		return b.layerNormRows(mx, my, d, epsilon)
	case axes == td.AxesOf(anec.C, anec.H, anec.W):
		return b.layerNormAll(mx, my, d, epsilon)
	}
	return nil, false
}

func (b *v7build) layerNormRows(mx, my *v7surface, d anec.Dims, epsilon uint16) ([]*v7op, bool) {
	from, size, ok1 := rowsAsChannels(*mx, d)
	to, _, ok2 := rowsAsChannels(*my, d)
	if !ok1 || !ok2 {
		return nil, false
	}
	channel := v7align(2*size.c, 16)
	mean := v7chip{channel: channel, row: channel, depth: channel}
	deviation := mean
	deviation.base = mean.end(1)
	full := v7chip{base: deviation.end(1), channel: v7align(2*size.w, 16)}
	full.depth = size.c * full.channel
	full.row = full.depth
	if full.end(1) >= v7chipBytes {
		return nil, false
	}
	kept := full
	kept.group = full.depth

	average := newPlanar(td.TypePlanarReduce, size).exchanged()
	average.finalScale, average.wideResult = 1/float32(size.w), true
	average.source1 = v7source{memory: from, keep: true, chip: kept}
	average.chip = mean

	spread := newPlanar(td.TypePlanarReduce2, size).exchanged()
	spread.source1, spread.source2 = v7source{chip: mean}, &v7source{chip: full}
	spread.broadcast1, spread.transpose1 = v7BroadcastW, true
	spread.deviation(epsilon, size.w)
	spread.chip = deviation

	scale := newPlanar(td.TypePlanarGain, size)
	scale.source1, scale.source2 = v7source{chip: full}, &v7source{chip: mean}
	scale.transpose2, scale.negate2, scale.wideSource = true, true, true
	scale.result = to
	scale.chip = v7chip{base: full.end(1)}
	return []*v7op{average, spread, scale}, true
}

// deviation sets what makes 1/sqrt(mean of squares + ε) of the sum -x1 + x2.
func (o *v7op) deviation(epsilon uint16, n int) {
	const squareOfSum, rsqrt = 4, 2
	o.operator, o.final, o.negate1 = squareOfSum, rsqrt, true
	o.epsilon, o.finalScale = epsilon, 1/float32(n)
	o.wideResult, o.wideSource = true, true
}

// layerNormAll has one mean for all: channels are read as rows and rows as depth.
func (b *v7build) layerNormAll(mx, my *v7surface, d anec.Dims, epsilon uint16) ([]*v7op, bool) {
	n := d[anec.C] * d[anec.H] * d[anec.W]
	size := v7size{w: d[anec.W], h: d[anec.C], d: d[anec.H], c: 1}
	from := *mx
	from.row, from.plane, from.depth = mx.plane, mx.group, mx.row
	mean := v7chip{channel: 0x10, row: 0x20, depth: 0x10}
	deviation := mean
	deviation.base = mean.end(1)
	full := v7chip{base: deviation.end(1), channel: v7align(2*size.w, 16)}
	full.depth = full.channel
	full.row = size.d * full.channel
	if full.end(size.h) >= v7chipBytes {
		return nil, false
	}
	kept := full
	kept.group = full.row

	average := newPlanar(td.TypePlanarReduce, size)
	average.finalScale, average.wideResult = 1/float32(n), true
	average.source1 = v7source{memory: &from, keep: true, chip: kept}
	average.chip = mean

	spread := newPlanar(td.TypePlanarReduce2, size)
	spread.source1, spread.source2 = v7source{chip: mean}, &v7source{chip: full}
	spread.broadcast1 = v7BroadcastW | v7BroadcastH | v7BroadcastD
	spread.deviation(epsilon, n)
	spread.chip = deviation

	native := v7size{w: d[anec.W], h: d[anec.H], d: 1, c: d[anec.C]}
	scale := newPlanar(td.TypePlanarGain, native)
	scale.source1 = v7source{memory: mx, chip: planarChip(full.base, native)}
	scale.source2 = &v7source{chip: mean}
	scale.broadcast2, scale.negate2, scale.wideSource = v7BroadcastC, true, true
	scale.result = my
	scale.chip = passing(scale.source1.chip, native.h)
	return []*v7op{average, spread, scale}, true
}
