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

// Windows. No record shows a task that pools. But channels may lie on chip side by side, and then columns and rows so far
// apart as strides may say: what a window has is views of the tensor, each some columns or rows further on.
//
//	x[C,H,W] ─ exchange ─ [W,H,C] on chip ─ max of every 2nd column and its neighbour ─ of every 2nd row and its ─ exchange ─ y
//
// An average is a convolution of each channel by itself where the array has it.

// A pool is a pooling of windows.
type pool struct {
	units.Machine
	operator   uint32
	fill       uint16         // what there is beside the image,
	beside     *units.Surface // and where it lies; nil: nothing is
	w          units.Window
	dx, dy     int // dilation
	in, out    units.Size
	wide, high int            // with what there is beside the image
	scale      uint16         // of the result,
	counts     *units.Surface // or one for each place
}

var poolOperators = map[td.PoolKind]uint32{td.PoolAvg: 0, td.PoolMax: 2, td.PoolMin: 3}

// pooling selects the tasks of a layer that pools.
func (b *builder) pooling(l *anec.Layer, p *anec.Pooling) ([]*units.Op, *diag.Reason) {
	operator, known := poolOperators[p.Type]
	if !known {
		return nil, otherPool(p)
	}
	stages, why := stagesOf(l)
	if why := firstOf(why, withoutTranspose(l), inPlane(&p.Window)); why != nil {
		return nil, why
	}
	return b.staged(l, 0, stages, func(w *work) ([]*units.Op, *diag.Reason) { return b.pool(l, p, operator, w) })
}

// pool selects the tasks without what follows.
func (b *builder) pool(l *anec.Layer, p *anec.Pooling, operator uint32, work *work) ([]*units.Op, *diag.Reason) {
	if work.columns != anec.W || work.apart != 0 {
		return nil, otherColumns(work)
	}
	q := &pool{Machine: b.Machine, operator: operator, dx: p.Dilation[2], dy: p.Dilation[1], scale: units.One}
	q.w = planeWindow(&p.Window)
	q.in, _ = sizeOf(l.Bottoms[0].Type.Dims)
	q.out, _ = sizeOf(l.Top().Type.Dims)
	right, bottom := (q.out.W-1)*q.w.SX+(q.w.KW-1)*q.dx+1, (q.out.H-1)*q.w.SY+(q.w.KH-1)*q.dy+1
	q.wide, q.high = max(q.w.PX+q.in.W, right), max(q.w.PY+q.in.H, bottom)
	padded := q.wide > q.in.W || q.high > q.in.H
	if padded {
		if why := q.meets(); why != nil {
			return nil, why
		}
		if why := q.fillWith(p); why != nil {
			return nil, why
		}
		q.beside = &units.Surface{Base: segment.Packed, Offset: b.constants.Repeated(q.fill, 1), Row: b.RowAlign, Plane: b.RowAlign, Depth: b.RowAlign, Group: b.RowAlign}
	}
	if p.Type == td.PoolAvg {
		q.scale = tensor.ToF16(1 / float32(q.w.KW*q.w.KH))
		if padded && p.ExcludePad {
			if q.scale = units.One; b.RowAlign*q.out.W*q.out.H > b.OnChip {
				return nil, noRoom("a share for each window, without what pads,", b.OnChip, b.RowAlign*q.out.W*q.out.H)
			}
			q.counts = q.counted(b)
		}
	}
	// Rows stay rows; the other axes are channels, as one if they may.
	kept, _ := pathsOf(work.d, td.AxesOf(anec.H), work.from, work.to)
	kept = asOne(kept, 1)
	channels := path{axis: anec.C, n: 1, from: work.from.Plane, to: work.to.Plane}
	if n := len(kept); n > 0 {
		kept, channels = kept[:n-1], kept[n-1]
	}
	from, to := *work.from, *work.to
	from.Plane, to.Plane = channels.from, channels.to
	var average *units.Op
	var noConvolution *diag.Reason
	if p.Type == td.PoolAvg && q.counts == nil {
		average, noConvolution = q.convolution(b, channels.n)
	}
	ops, why := forEach(kept, &from, &to, func(from, to *units.Surface) ([]*units.Op, *diag.Reason) {
		if average != nil {
			o := *average
			o.Source1.Memory, o.Result = from, to
			return []*units.Op{&o}, nil
		}
		bytes := func(n int) int {
			_, end := q.tasks(from, to, n)
			return end
		}
		return inPieces(q.Machine, channels, from, to, bytes, func(from, to *units.Surface, n int) []*units.Op {
			ops, _ := q.tasks(from, to, n)
			return ops
		})
	})
	if why != nil && noConvolution != nil {
		return nil, neither(noConvolution, why)
	}
	return ops, why
}

// convolution is an average as a convolution of each channel by itself, if the array has one.
func (q *pool) convolution(b *builder, channels int) (*units.Op, *diag.Reason) {
	c := &convolution{in: q.in, out: q.out, groups: channels, window: q.w, after: after{scale: tensor.F16(q.scale)}}
	c.in.C, c.out.C = channels, channels
	c.weights = slices.Repeat([]uint16{units.One}, channels*q.w.KW*q.w.KH)
	c.dilate(q.dy, q.dx)
	if why := c.evenStrides(); why != nil {
		return nil, why
	}
	ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) {
		o, why := b.convTask(c)
		return []*units.Op{o}, why
	})
	if why != nil {
		return nil, why
	}
	return ops[0], nil
}

// meets declines padded windows that have dilation, or of which one has no element of the image.
func (q *pool) meets() *diag.Reason {
	switch {
	case q.dx != 1 || q.dy != 1:
		return diag.Decline(diag.NativeWindow, "windows with padding have dilation").Measure(1, max(q.dx, q.dy))
	case !q.w.Meets(q.in, q.out):
		return emptyWindows()
	}
	return nil
}

// fillWith says what there is beside the image.
func (q *pool) fillWith(p *anec.Pooling) *diag.Reason {
	switch {
	case p.Type == td.PoolAvg && p.PaddingMode == td.PadZero:
		q.fill = 0
	case p.Type == td.PoolMax && p.PaddingMode == td.PadNegative:
		q.fill = infinity | signBit
	case p.PaddingMode != td.PadZero:
		return diag.Decline(diag.NativeWindow, "what lies beside the image in %v pooling is none of what tasks fill with", p.Type).In("PadMode").Measure(td.PadZero, p.PaddingMode)
	}
	return nil
}

// otherPool declines a kind of pooling.
func otherPool(p *anec.Pooling) *diag.Reason {
	return diag.Decline(diag.NativeKind, "no tasks are known for %v pooling", p.Type)
}

// otherColumns declines a source in which another axis than W lies in columns, or a result with other columns than it.
func otherColumns(w *work) *diag.Reason {
	if w.columns == anec.W {
		return diag.Decline(diag.NativeLayout, "another axis lies side by side in the result than in the source")
	}
	return diag.Decline(diag.NativeLayout, "another axis lies side by side in the source than the task reads so").Measure(anec.W, w.columns)
}

// counted lays, for each place, the reciprocal of how many elements of the image its window has: channels are the places of
// a row.
func (q *pool) counted(b *builder) *units.Surface {
	along := func(at, stride, before, kernel, n int) int {
		first := at*stride - before
		return min(first+kernel, n) - max(first, 0)
	}
	shares := make([]uint16, 0, q.out.W*q.out.H)
	for x := range q.out.W {
		for y := range q.out.H {
			n := along(x, q.w.SX, q.w.PX, q.w.KW, q.in.W) * along(y, q.w.SY, q.w.PY, q.w.KH, q.in.H)
			shares = append(shares, tensor.ToF16(1/float32(n)))
		}
	}
	return b.constantImage(shares, 1, q.out.H, q.out.W)
}

// tasks pool so many channels. They return the first byte on chip that is free.
func (q *pool) tasks(from, to *units.Surface, channels int) (ops []*units.Op, end int) {
	in := q.in
	in.C = channels
	// Columns are channels here, and channels are columns.
	image := q.ResidentChip(0, units.Size{W: channels, H: q.high, D: 1, C: q.wide})
	image.Row = max(image.Row, q.wide*image.Channel)
	end = image.End(q.high)

	if q.beside != nil {
		all := q.Planar(td.TypePlanarUnary, units.Size{W: channels, H: q.high, D: 1, C: q.wide})
		all.Broadcast1 = units.BroadcastW | units.BroadcastH | units.BroadcastC
		all.Source1 = units.Source{Memory: q.beside, Chip: units.Chip{Base: end, Channel: 0x10, Row: 0x20, Depth: 0x10}}
		all.Chip = image
		ops = append(ops, all)
	}
	exchange := q.Exchanged(q.Bypass(in))
	exchange.Source1 = units.Source{Memory: from, Chip: q.ArrayChip(end, in)}
	exchange.Chip = image
	exchange.Chip.Base += q.w.PY*image.Row + q.w.PX*image.Channel
	ops = append(ops, exchange)

	// Along columns, then along rows.
	at, size := image, units.Size{W: channels, H: q.high, D: 1, C: q.out.W}
	at.Channel *= q.w.SX
	if q.w.KH == 1 {
		size.H = q.out.H
		at.Row *= q.w.SY
	}
	if q.w.KW > 1 {
		next := q.ResidentChip(end, size)
		end = next.End(size.H)
		ops = append(ops, q.along(size, at, next, q.w.KW, q.dx*image.Channel)...)
		at = next
	}
	if q.w.KH > 1 {
		size.H = q.out.H
		step := q.dy * at.Row
		at.Row *= q.w.SY
		next := q.ResidentChip(end, size)
		end = next.End(size.H)
		ops = append(ops, q.along(size, at, next, q.w.KH, step)...)
		at = next
	}
	var last *units.Op
	switch {
	case q.counts != nil:
		small := units.Size{W: 1, H: size.H, D: 1, C: size.C}
		load := q.Bypass(small)
		load.Chip = q.ResidentChip(end, small)
		end = load.Chip.End(small.H)
		load.Source1 = units.Source{Memory: q.counts, Chip: q.ArrayChip(end, small)}
		ops = append(ops, load)
		last = onChipProduct(q.Machine, size, at, load.Chip, units.BroadcastW)
		last.WideSource = false
		ops = append(ops, last)
	case q.w.KW > 1 || q.w.KH > 1:
		last = ops[len(ops)-1]
		last.Scale = q.scale
	default: // nothing but strides
		last = q.Planar(td.TypePlanarUnary, size)
		last.Source1 = units.Source{Chip: at}
		ops = append(ops, last)
	}
	q.Exchanged(last)
	last.Result, last.Chip = to, units.Chip{Base: end}
	return ops, end
}

// along joins so many views, each some bytes further on.
func (q *pool) along(size units.Size, from, to units.Chip, n, step int) []*units.Op {
	var ops []*units.Op
	for i := 1; i < n; i++ {
		o := q.Planar(td.TypePlanarBinary, size)
		o.Operator = q.operator
		next := from
		next.Base += i * step
		o.Source1, o.Source2 = units.Source{Chip: to}, &units.Source{Chip: next}
		if i == 1 {
			o.Source1.Chip = from
		}
		o.Chip = to
		ops = append(ops, o)
	}
	return ops
}
