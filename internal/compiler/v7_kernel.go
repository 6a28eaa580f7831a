package compiler

import (
	"math/bits"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the array with weights.

// backed is scratch memory behind an on-chip tensor of so many channels in rows of the given bytes.
func (b *v7build) backed(row, channels int) *v7surface {
	total := row * channels
	s := &v7surface{base: hwx.BaseScratch, offset: b.scratch, row: row, plane: row, depth: total, group: total, backing: true}
	b.scratch += v7align(total, 0x4000)
	return s
}

// weigh gives a task its kernel: packs the weights, a bias or a table with them, and says where the streams lie.
func (b *v7build) weigh(o *v7op, k td.Kernel, w td.Weights, after *v7after, bias []uint16) bool {
	o.unity, o.operation = false, v7MultiplyAdd
	o.lanesLog2, o.engines = bits.Len(uint(k.Lanes))-1, k.Engines
	if bias != nil && after.offset != 0 {
		return false
	}
	if after.offset != 0 {
		bias = make([]uint16, k.Groups*k.Outputs)
		for i := range bias {
			bias[i] = tensor.ToF16(after.offset)
		}
	}
	o.post = tensor.ToF16(after.scale)
	if bias != nil && o.post != v7One {
		return false // which comes first is not known
	}
	if after.act != nil {
		f, ok := functionOf(after.act)
		if !ok || f.epsilon != 0 || f.post != v7One && (o.post != v7One || bias != nil) {
			return false
		}
		if f.post != v7One {
			o.post = f.post
		}
		o.nonLinear = f.nonLinear
		if f.table != nil {
			w.Table, k.Table = f.table.Encode(), true
		}
	}
	w.Bias, k.Bias, o.biased = bias, bias != nil, bias != nil
	streams, err := k.Pack(&w)
	if err != nil {
		return false
	}
	o.kernel = &v7kernel{base: v7const, zeroSkip: k.ZeroSkip, producer: -1}
	for _, s := range streams {
		o.kernel.offsets = append(o.kernel.offsets, b.constants.add(s))
		o.kernel.sizes = append(o.kernel.sizes, len(s))
	}
	return true
}

// v7lanes is how many outputs an engine computes side by side: a power of 2, at most the given one.
func v7lanes(outputs, most int) int {
	lanes := max(1, outputs/16)
	return min(most, 1<<(bits.Len(uint(lanes))-1))
}

// conv is a convolution: one task.
func (b *v7build) conv(l *anec.Layer, p *anec.Conv) ([]*v7op, bool) {
	x, y := l.Bottoms[0], l.Top()
	var biasValue *anec.Value
	if len(l.Bottoms) > 2 {
		biasValue = l.Bottoms[2]
	}
	weights, ok := halves(l.Bottoms[1])
	after, simple := afterButTranspose(l)
	turned := l.Epilogue.Transpose != nil
	if turned && *l.Epilogue.Transpose != exchange(anec.C, anec.W) {
		return nil, false
	}
	if !ok || !simple || p.Transposed || p.Dilation != [3]int{1, 1, 1} || p.Kernel[0] != 1 || p.Stride[0] != 1 {
		return nil, false
	}
	if p.PadBefore[0] != 0 || p.PadAfter[0] != 0 || p.PaddingMode != td.PadZero && (p.PadBefore != [3]int{} || p.PadAfter != [3]int{}) {
		return nil, false
	}
	in, groups := v7sizeOf(x)
	out, _ := v7sizeOf(y)
	if turned {
		out.c, out.w = out.w, out.c
	}
	if !windowsMeet(&p.Window, 1, in.h, out.h) || !windowsMeet(&p.Window, 2, in.w, out.w) {
		return nil, false
	}
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(y)
	if !ok1 || !ok2 || groups != 1 || turned && p.Groups > 1 {
		return nil, false
	}
	if after.bias != nil {
		if biasValue != nil {
			return nil, false
		}
		biasValue = after.bias
	}
	var bias []uint16
	if biasValue != nil {
		if bias, ok = halves(biasValue); !ok || len(bias) != out.c {
			return nil, false
		}
	}
	strided := p.Stride[1] > 1 || p.Stride[2] > 1
	depthwise := p.Groups > 1 && p.Groups == in.c && out.c == in.c
	if strided && (p.Groups > 1 || bias != nil) {
		return nil, false // not certain
	}
	o := newBypass(in)
	o.unicast = 0
	o.window = v7window{kw: p.Kernel[2], kh: p.Kernel[1], sx: p.Stride[2], sy: p.Stride[1], px: p.PadBefore[2], py: p.PadBefore[1]}
	k := td.Kernel{
		Groups: p.Groups, Outputs: out.c / p.Groups, Inputs: in.c / p.Groups,
		Height: p.Kernel[1], Width: p.Kernel[2], StrideY: p.Stride[1], StrideX: p.Stride[2],
		Format: td.KernelFP16, ZeroSkip: strided,
	}
	from, to := *mx, *my
	switch {
	case depthwise:
		o.unicast = 1
		k.Groups, k.Outputs, k.Inputs, k.Lanes = 1, out.c, 1, 1
	default:
		most := 16
		if max(out.w, out.h) <= 8 {
			most = 32
		}
		k.Lanes = v7lanes(k.Outputs, most)
		o.groups = p.Groups
		in.c, out.c = k.Inputs, k.Outputs
		if p.Groups > 1 {
			from.group, to.group = in.c*mx.plane, out.c*my.plane
		}
	}
	k.Engines = v7engines(k.Outputs)
	o.in, o.out = in, out
	chip := v7chip{channel: max(16, v7align(2*in.w, 16))}
	chip.depth = in.c * chip.channel
	chip.row, chip.group = chip.depth, chip.depth
	if chip.depth%0x100 == 0 {
		chip.row += 0x30
		if strided || chip.depth == 0x200 {
			chip.row = chip.depth + 0x20
		}
	}
	o.source1 = v7source{memory: &from, chip: chip}
	o.result, o.exchange = &to, turned
	o.chip = passing(chip, in.h)
	if !b.weigh(o, k, td.Weights{Values: weights}, &after, bias) {
		return nil, false
	}
	return []*v7op{o}, true
}
