package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Windows. No record shows a task that pools. But channels may lie on chip side by side, and then columns and rows so far
// apart as strides may say: what a window has is views of the tensor, each some columns or rows further on.
//
//	x[C,H,W] ─ exchange ─ [W,H,C] on chip ─ max of every 2nd column and its neighbour ─ of every 2nd row and its ─ exchange ─ y
//
// An average is a convolution of each channel by itself where the array has it.

// A v7pool is a pooling of windows.
type v7pool struct {
	operator   uint32
	fill       uint16     // what there is beside the image,
	beside     *v7surface // and where it lies; nil: nothing is
	w          v7window
	dx, dy     int // dilation
	in, out    v7size
	wide, high int        // with what there is beside the image
	scale      uint16     // of the result,
	counts     *v7surface // or one for each place
}

var v7pools = map[td.PoolKind]uint32{td.PoolAvg: 0, td.PoolMax: 2, td.PoolMin: 3}

// pooling selects the tasks of a layer that pools.
func (b *v7build) pooling(l *anec.Layer, p *anec.Pooling) ([]*v7op, bool) {
	operator, known := v7pools[p.Type]
	stages, ok := stagesOf(l)
	if !ok || !known || l.Epilogue.Transpose != nil || !inPlane(&p.Window) {
		return nil, false
	}
	return b.staged(l, 0, stages, func(w *v7work) ([]*v7op, bool) { return b.pool(l, p, operator, w) })
}

// pool selects the tasks without what follows.
func (b *v7build) pool(l *anec.Layer, p *anec.Pooling, operator uint32, work *v7work) ([]*v7op, bool) {
	if work.columns != anec.W || work.apart != 0 {
		return nil, false
	}
	q := &v7pool{operator: operator, dx: p.Dilation[2], dy: p.Dilation[1], scale: v7One}
	q.w = planeWindow(&p.Window)
	q.in, _ = v7sizeOf(l.Bottoms[0].Type.Dims)
	q.out, _ = v7sizeOf(l.Top().Type.Dims)
	right, bottom := (q.out.w-1)*q.w.sx+(q.w.kw-1)*q.dx+1, (q.out.h-1)*q.w.sy+(q.w.kh-1)*q.dy+1
	q.wide, q.high = max(q.w.px+q.in.w, right), max(q.w.py+q.in.h, bottom)
	padded := q.wide > q.in.w || q.high > q.in.h
	if padded {
		if !q.meets() || !q.fillWith(p) {
			return nil, false
		}
		q.beside = &v7surface{base: hwx.BaseConst, offset: b.constants.repeated(q.fill, 1), row: v7row, plane: v7row, depth: v7row, group: v7row}
	}
	if p.Type == td.PoolAvg {
		q.scale = tensor.ToF16(1 / float32(q.w.kw*q.w.kh))
		if padded && p.ExcludePad {
			if q.scale = v7One; v7row*q.out.w*q.out.h > v7chipBytes {
				return nil, false
			}
			q.counts = q.counted(b)
		}
	}
	// Rows stay rows; the other axes are channels, as one if they may.
	kept, _ := v7paths(work.d, td.AxesOf(anec.H), work.from, work.to)
	kept = asOne(kept, 1)
	channels := v7path{axis: anec.C, n: 1, from: work.from.plane, to: work.to.plane}
	if n := len(kept); n > 0 {
		kept, channels = kept[:n-1], kept[n-1]
	}
	from, to := *work.from, *work.to
	from.plane, to.plane = channels.from, channels.to
	var average *v7op
	if p.Type == td.PoolAvg && q.counts == nil {
		average = q.convolution(b, channels.n)
	}
	return forEach(kept, &from, &to, func(from, to *v7surface) ([]*v7op, bool) {
		if average != nil {
			o := *average
			o.source1.memory, o.result = from, to
			return []*v7op{&o}, true
		}
		bytes := func(n int) int {
			_, end := q.tasks(from, to, n)
			return end
		}
		return inPieces(channels, from, to, bytes, func(from, to *v7surface, n int) []*v7op {
			ops, _ := q.tasks(from, to, n)
			return ops
		})
	})
}

// convolution is an average as a convolution of each channel by itself, if the array has one; else nil.
func (q *v7pool) convolution(b *v7build, channels int) *v7op {
	c := &v7conv{in: q.in, out: q.out, groups: channels, window: q.w, after: v7after{scale: tensor.F16(q.scale)}}
	c.in.c, c.out.c = channels, channels
	c.weights = slices.Repeat([]uint16{v7One}, channels*q.w.kw*q.w.kh)
	c.dilate(q.dy, q.dx)
	if !c.evenStrides() {
		return nil
	}
	ops, ok := b.attempt(func() ([]*v7op, bool) {
		o, ok := b.convTask(c)
		return []*v7op{o}, ok
	})
	if !ok {
		return nil
	}
	return ops[0]
}

// meets reports whether every window has an element of the image.
func (q *v7pool) meets() bool {
	return q.dx == 1 && q.dy == 1 && q.w.meets(q.in, q.out)
}

// fillWith says what there is beside the image.
func (q *v7pool) fillWith(p *anec.Pooling) bool {
	switch {
	case p.Type == td.PoolAvg && p.PaddingMode == td.PadZero:
		q.fill = 0
	case p.Type == td.PoolMax && p.PaddingMode == td.PadNegative:
		q.fill = v7infinity | v7sign
	default:
		return p.PaddingMode == td.PadZero
	}
	return true
}

// counted lays, for each place, the reciprocal of how many elements of the image its window has: channels are the places of
// a row.
func (q *v7pool) counted(b *v7build) *v7surface {
	along := func(at, stride, before, kernel, n int) int {
		first := at*stride - before
		return min(first+kernel, n) - max(first, 0)
	}
	shares := make([]uint16, 0, q.out.w*q.out.h)
	for x := range q.out.w {
		for y := range q.out.h {
			n := along(x, q.w.sx, q.w.px, q.w.kw, q.in.w) * along(y, q.w.sy, q.w.py, q.w.kh, q.in.h)
			shares = append(shares, tensor.ToF16(1/float32(n)))
		}
	}
	return b.constantImage(shares, 1, q.out.h, q.out.w)
}

// tasks pool so many channels. They return the first byte on chip that is free.
func (q *v7pool) tasks(from, to *v7surface, channels int) (ops []*v7op, end int) {
	in := q.in
	in.c = channels
	// Columns are channels here, and channels are columns.
	image := residentChip(0, v7size{w: channels, h: q.high, d: 1, c: q.wide})
	image.row = max(image.row, q.wide*image.channel)
	end = image.end(q.high)

	if q.beside != nil {
		all := newPlanar(td.TypePlanarUnary, v7size{w: channels, h: q.high, d: 1, c: q.wide})
		all.broadcast1 = v7BroadcastW | v7BroadcastH | v7BroadcastC
		all.source1 = v7source{memory: q.beside, chip: v7chip{base: end, channel: 0x10, row: 0x20, depth: 0x10}}
		all.chip = image
		ops = append(ops, all)
	}
	turn := newBypass(in).exchanged()
	turn.source1 = v7source{memory: from, chip: arrayChip(end, in)}
	turn.chip = image
	turn.chip.base += q.w.py*image.row + q.w.px*image.channel
	ops = append(ops, turn)

	// Along columns, then along rows.
	at, size := image, v7size{w: channels, h: q.high, d: 1, c: q.out.w}
	at.channel *= q.w.sx
	if q.w.kh == 1 {
		size.h = q.out.h
		at.row *= q.w.sy
	}
	if q.w.kw > 1 {
		next := residentChip(end, size)
		end = next.end(size.h)
		ops = append(ops, q.along(size, at, next, q.w.kw, q.dx*image.channel)...)
		at = next
	}
	if q.w.kh > 1 {
		size.h = q.out.h
		step := q.dy * at.row
		at.row *= q.w.sy
		next := residentChip(end, size)
		end = next.end(size.h)
		ops = append(ops, q.along(size, at, next, q.w.kh, step)...)
		at = next
	}
	var last *v7op
	switch {
	case q.counts != nil:
		small := v7size{w: 1, h: size.h, d: 1, c: size.c}
		load := newBypass(small)
		load.chip = residentChip(end, small)
		end = load.chip.end(small.h)
		load.source1 = v7source{memory: q.counts, chip: arrayChip(end, small)}
		ops = append(ops, load)
		last = onChipProduct(size, at, load.chip, v7BroadcastW)
		last.wideSource = false
		ops = append(ops, last)
	case q.w.kw > 1 || q.w.kh > 1:
		last = ops[len(ops)-1]
		last.scale = q.scale
	default: // nothing but strides
		last = newPlanar(td.TypePlanarUnary, size)
		last.source1 = v7source{chip: at}
		ops = append(ops, last)
	}
	last.exchanged()
	last.result, last.chip = to, v7chip{base: end}
	return ops, end
}

// along joins so many views, each some bytes further on.
func (q *v7pool) along(size v7size, from, to v7chip, n, step int) []*v7op {
	var ops []*v7op
	for i := 1; i < n; i++ {
		o := newPlanar(td.TypePlanarBinary, size)
		o.operator = q.operator
		next := from
		next.base += i * step
		o.source1, o.source2 = v7source{chip: to}, &v7source{chip: next}
		if i == 1 {
			o.source1.chip = from
		}
		o.chip = to
		ops = append(ops, o)
	}
	return ops
}
