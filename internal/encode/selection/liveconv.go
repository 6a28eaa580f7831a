package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
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
func (b *builder) liveConv(l *anec.Layer, p *anec.Conv) ([]*units.Op, *diag.Reason) {
	x, w, y := l.Bottoms[0], l.Bottoms[1], l.Top()
	after, why := afterLiveConv(l, p)
	if why != nil {
		return nil, why
	}
	if why := halfOnly(w); why != nil {
		return nil, why
	}
	if w.Type.Dims[anec.D] != 1 {
		return nil, about(w, diag.Decline(diag.NativeDepth, "has depth").Measure(1, w.Type.Dims[anec.D]))
	}
	mx, why1 := b.surface(x)
	my, why2 := b.surface(y)
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	if mx.Element != units.FP16 || my.Element != units.FP16 {
		return nil, halfOnly(x, y)
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
	if images > maxImages {
		return nil, tooManyImages(images)
	}
	if why := c.meets(); why != nil {
		return nil, why
	}
	matrix := anec.Dims{1, 1, 1, c.out.C, c.in.C * c.window.KH * c.window.KW}
	s := sublayers{builder: b, tasks: b.tasks}
	rows := s.layer(matrix, &anec.Reshape{Dims: matrix}, anec.Epilogue{}, w)
	b.tasks = s.tasks
	if s.why != nil {
		return nil, s.why
	}
	f := &liveProduct{builder: b, m: matrix[anec.H], k: matrix[anec.W], ops: s.ops, lanes: b.kernelLanes(matrix[anec.H])}
	if f.x, why = b.matricesAt(rows, anec.Identity); why != nil {
		return nil, why
	}
	for n := range images {
		from, result := *mx, to
		from.Offset += n * mx.Group
		if !strided {
			result.Offset += n * my.Group
		}
		for _, part := range rowParts(f.m, f.Engines*f.lanes) {
			o := b.Bypass(c.in)
			if o.Kernel, why = f.streams(0, 0, part); why != nil {
				return nil, why
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
			moves, why := b.moves(b.moveOf(anec.Dims{1, 1, wanted.C, wanted.H, wanted.W}, taken, dest))
			if why != nil {
				return nil, why
			}
			f.ops = append(f.ops, moves...)
		}
	}
	return f.ops, nil
}

// afterLiveConv reads what a convolution with live weights does with its result, if the array has such a convolution.
func afterLiveConv(l *anec.Layer, p *anec.Conv) (after, *diag.Reason) {
	after, perm, why := afterProduct(l)
	if why == nil {
		why = runtimeOnly(&after)
	}
	switch {
	case why != nil:
		return after, why
	case perm != anec.Identity:
		return after, withoutTranspose(l)
	case segment.Bottom(l, 2) != nil:
		return after, diag.Decline(diag.NativeEpilogue, "a kernel that is made at run time carries no bias").In("Bias")
	case p.Transposed:
		return after, diag.Decline(diag.NativeRecord, "a transposed convolution has live weights, which no recorded program has")
	case p.Groups != 1:
		return after, diag.Decline(diag.NativeRecord, "a convolution with live weights has groups, which no recorded program has").In("Groups").Measure(1, p.Groups)
	case p.Dilation != [3]int{1, 1, 1}:
		return after, diag.Decline(diag.NativeWindow, "live weights have dilation, along D, H and W; only constants get zeros between them").Measure(1, p.Dilation)
	}
	return after, firstOf(inPlane(&p.Window), zerosBeside(&p.Window, p.PaddingMode))
}

// runtimeOnly declines what follows a product with a kernel that is made at run time: it carries a scale and a relu.
func runtimeOnly(a *after) *diag.Reason {
	switch {
	case a.bias != nil || a.offset != 0:
		return diag.Decline(diag.NativeEpilogue, "a kernel that is made at run time carries no bias").In("Bias")
	case a.act != nil && a.act.Function != td.FuncReLU:
		return diag.Decline(diag.NativeEpilogue, "a kernel that is made at run time carries no table for %v", a.act.Function)
	}
	return nil
}
