package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
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
func (b *builder) liveConv(l *anec.Layer, p *anec.Conv) ([]*units.Op, bool) {
	x, w, y := l.Bottoms[0], l.Bottoms[1], l.Top()
	after, ok := afterLiveConv(l, p)
	if !ok || w.Type.DType != tensor.Float16 || w.Type.Dims[anec.D] != 1 {
		return nil, false
	}
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(y)
	if !ok1 || !ok2 || mx.Element != units.FP16 || my.Element != units.FP16 {
		return nil, false
	}
	c := convolution{groups: 1}
	var images int
	c.in, images = sizeOf(x.Type.Dims)
	c.out, _ = sizeOf(y.Type.Dims)
	c.window = planeWindow(&p.Window)
	c.window.SX, c.window.SY = 1, 1
	strided := p.Stride[1] > 1 || p.Stride[2] > 1
	to, wanted := *my, c.out
	if strided {
		c.out.H, c.out.W = (c.out.H-1)*p.Stride[1]+1, (c.out.W-1)*p.Stride[2]+1
		to = *b.scratchSurface(c.out, 1)
	}
	if images > maxImages || !c.meets() {
		return nil, false
	}
	matrix := anec.Dims{1, 1, 1, c.out.C, c.in.C * c.window.KH * c.window.KW}
	s := sublayers{builder: b, tasks: b.tasks}
	rows := s.layer(matrix, &anec.Reshape{Dims: matrix}, anec.Epilogue{}, w)
	b.tasks = s.tasks
	if s.failed {
		return nil, false
	}
	f := &liveProduct{builder: b, m: matrix[anec.H], k: matrix[anec.W], ops: s.ops, lanes: kernelLanes(matrix[anec.H])}
	if f.x, ok = b.matricesAt(rows, anec.Identity); !ok {
		return nil, false
	}
	for n := range images {
		from, result := *mx, to
		from.Offset += n * mx.Group
		if !strided {
			result.Offset += n * my.Group
		}
		for _, part := range rowParts(f.m, 16*f.lanes) {
			o := b.Bypass(c.in)
			if o.Kernel, ok = f.streams(0, 0, part); !ok {
				return nil, false
			}
			o.Out, o.Window = c.out, c.window
			b.multiplyLive(o, part.count, f.lanes)
			o.Post = tensor.ToF16(after.scale)
			if after.act != nil {
				o.NonLinear = units.ReLU
			}
			at := result
			at.Offset += part.first * result.Plane
			o.Source1 = units.Source{Memory: &from, Chip: b.windowChip(c.in, false)}
			o.Result, o.Chip = &at, b.Passing(o.Source1.Chip, c.in.H)
			f.ops = append(f.ops, o)
		}
		if strided {
			taken := layout{origin{segment.Temporaries, to.Offset}, to.Strides()}
			taken.strides[anec.H] *= p.Stride[1]
			taken.strides[anec.W] *= p.Stride[2]
			dest := layout{origin{my.Base, my.Offset + n*my.Group}, my.Strides()}
			moves, ok := b.moves(b.moveOf(anec.Dims{1, 1, wanted.C, wanted.H, wanted.W}, taken, dest))
			if !ok {
				return nil, false
			}
			f.ops = append(f.ops, moves...)
		}
	}
	return f.ops, true
}

// afterLiveConv reads what a convolution with live weights does with its result; false if the array has no such convolution.
func afterLiveConv(l *anec.Layer, p *anec.Conv) (after, bool) {
	after, perm, ok := afterProduct(l)
	if !ok || perm != anec.Identity || after.bias != nil || after.offset != 0 || after.act != nil && after.act.Function != td.FuncReLU {
		return after, false
	}
	if segment.Bottom(l, 2) != nil || p.Transposed || p.Groups != 1 || p.Dilation != [3]int{1, 1, 1} {
		return after, false
	}
	return after, inPlane(&p.Window) && (p.PaddingMode == td.PadZero || !segment.HasPadding(&p.Window))
}
