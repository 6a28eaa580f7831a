package compiler

import (
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// liveConv is a convolution whose weights are live. They become the rows of a matrix, which are the streams of engines as
// those of a product are; the layout of a stream is the same as with constants (h13 3.3).
//
//	w[O,I,kh,kw] ─ copy ─ [O][I·kh·kw] ─ kernel ─┐
//	x ───────────────────────────────── image ───┴─ convolution ─ y
//
// No stream that leaves out zeros is known to be made at run time, and one with strides does: the windows of all rows and
// columns are computed, and those that are wanted are copied.
func (b *v7build) liveConv(l *anec.Layer, p *anec.Conv) ([]*v7op, bool) {
	x, w, y := l.Bottoms[0], l.Bottoms[1], l.Top()
	after, ok := afterLiveConv(l, p)
	if !ok || w.Type.DType != tensor.Float16 || w.Type.Dims[anec.D] != 1 {
		return nil, false
	}
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(y)
	if !ok1 || !ok2 || mx.element != v7fp16 || my.element != v7fp16 {
		return nil, false
	}
	c := v7conv{groups: 1}
	var images int
	c.in, images = v7sizeOf(x.Type.Dims)
	c.out, _ = v7sizeOf(y.Type.Dims)
	c.window = planeWindow(&p.Window)
	c.window.sx, c.window.sy = 1, 1
	strided := p.Stride[1] > 1 || p.Stride[2] > 1
	to, wanted := *my, c.out
	if strided {
		c.out.h, c.out.w = (c.out.h-1)*p.Stride[1]+1, (c.out.w-1)*p.Stride[2]+1
		to = *b.scratchSurface(c.out, 1)
	}
	if images > v7maxImages || !c.meets() {
		return nil, false
	}
	matrix := anec.Dims{1, 1, 1, c.out.c, c.in.c * c.window.kh * c.window.kw}
	s := v7sublayers{v7build: b, tasks: b.tasks}
	rows := s.layer(matrix, &anec.Reshape{Dims: matrix}, anec.Epilogue{}, w)
	b.tasks = s.tasks
	if s.failed {
		return nil, false
	}
	f := &liveProduct{v7build: b, m: matrix[anec.H], k: matrix[anec.W], ops: s.ops, lanes: kernelLanes(matrix[anec.H])}
	if f.x, ok = b.matricesAt(rows, anec.Identity); !ok {
		return nil, false
	}
	for n := range images {
		from, result := *mx, to
		from.offset += n * mx.group
		if !strided {
			result.offset += n * my.group
		}
		for _, part := range rowParts(f.m, 16*f.lanes) {
			o := newBypass(c.in)
			if o.kernel, ok = f.streams(0, 0, part); !ok {
				return nil, false
			}
			o.out, o.window = c.out, c.window
			o.runtime(part.count, f.lanes)
			o.post = tensor.ToF16(after.scale)
			if after.act != nil {
				o.nonLinear = v7ReLU
			}
			at := result
			at.offset += part.first * result.plane
			o.source1 = v7source{memory: &from, chip: windowChip(c.in, false)}
			o.result, o.chip = &at, passing(o.source1.chip, c.in.h)
			f.ops = append(f.ops, o)
		}
		if strided {
			taken := v7layout{v7spot{hwx.BaseScratch, to.offset}, to.strides()}
			taken.strides[anec.H] *= p.Stride[1]
			taken.strides[anec.W] *= p.Stride[2]
			dest := v7layout{v7spot{my.base, my.offset + n*my.group}, my.strides()}
			moves, ok := b.moves(moveOf(anec.Dims{1, 1, wanted.c, wanted.h, wanted.w}, taken, dest))
			if !ok {
				return nil, false
			}
			f.ops = append(f.ops, moves...)
		}
	}
	return f.ops, true
}

// afterLiveConv reads what a convolution with live weights does with its result; false if the array has no such convolution.
func afterLiveConv(l *anec.Layer, p *anec.Conv) (v7after, bool) {
	after, perm, ok := afterProduct(l)
	if !ok || perm != anec.Identity || after.bias != nil || after.offset != 0 || after.act != nil && after.act.Function != td.FuncReLU {
		return after, false
	}
	if bottom(l, 2) != nil || p.Transposed || p.Groups != 1 || p.Dilation != [3]int{1, 1, 1} {
		return after, false
	}
	return after, inPlane(&p.Window) && (p.PaddingMode == td.PadZero || !hasPadding(&p.Window))
}
