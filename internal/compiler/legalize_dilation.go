package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// legalizeDilation brings the elements that a dilated kernel meets side by side, where the kernel does not fit the engine with
// what lies between them: positions move to the batch, as far as the dilation is made of the target's factors, and the kernel is
// dense (guide 13, convolution variants).
//
//	%y = anec.convolution(%x, %w) {kernel_sizes = [3, 3], dilation_rates = [8, 8]}             %x [1,1,8,32,32]
//
//	%b = anec.space_to_batch(%x) {x = 8, y = 8} : fp16[64,1,8,4,4]
//	%c = anec.convolution(%b, %w) {kernel_sizes = [3, 3]} : fp16[64,1,8,2,2]
//	%y = anec.batch_to_space(%c) {x = 8, y = 8} : fp16[1,1,8,16,16]
//
// What the blocks lack at the end is padded, and cut off from the result; what of a dilation is made of no factor stays. A stride
// meets other elements: then the convolution stays as it is. The guide has every dilation go through the batch. Here one that
// fits stays in the kernel: it is one task, and of those that move positions to the batch no encoding is known.
func legalizeDilation(s *segment.Segment) error {
	return rewriteConvCores(s, td.AxesOf(anec.C), func(b *anec.Builder, l *anec.Layer, core builder) (*anec.Value, error) {
		p, x := l.Params.(*anec.Conv), l.Bottoms[0]
		padded := segment.HasPadding(&p.Window)
		if p.Transposed || p.Dilation[0] != 1 || p.Kernel[0] != 1 || p.Stride != [3]int{1, 1, 1} || padded && p.PaddingMode != td.PadZero ||
			x.Type.Dims[anec.D] != 1 || dilatedFits(p, s.Target) {
			return nil, nil
		}
		d := dilationOf(p, s.Target)
		if len(d.steps) == 0 || x.Type.Dims[anec.N]*d.blocks[0]*d.blocks[1] > s.Target.Limits.Tensor[anec.N] {
			return nil, nil
		}
		return batchedConv(b, l, d, core)
	})
}

// dilatedFits reports whether a kernel is within what the engine has, zeros between its elements and all.
func dilatedFits(p *anec.Conv, t *hal.Target) bool {
	reach := func(i int) int { return (p.Kernel[i]-1)*p.Dilation[i] + 1 }
	return p.Dilation == [3]int{1, 1, 1} || reach(1) <= t.Limits.KernelHeight[hal.Large] && reach(2) <= t.Limits.KernelWidth[hal.Large][hal.FP16Format].Max
}

// A dilation is that of a convolution along H and W: in so many elements of blocks, by steps, and what stays in the kernel.
type dilation struct {
	blocks, rest [2]int
	steps        []anec.Factors // outermost first
}

func dilationOf(p *anec.Conv, t *hal.Target) dilation {
	d := dilation{blocks: [2]int{1, 1}, rest: [2]int{1, 1}}
	var factors [2][]int
	for i := range d.rest {
		if p.Kernel[i+1] == 1 {
			continue // there is nothing between its elements
		}
		d.rest[i] = p.Dilation[i+1]
		for _, f := range slices.Backward(t.Limits.StrideFactors) { // the largest first
			for f > 1 && d.rest[i]%f == 0 {
				factors[i] = append(factors[i], f)
				d.rest[i] /= f
				d.blocks[i] *= f
			}
		}
	}
	for i := range max(len(factors[0]), len(factors[1])) {
		step := anec.UnitFactors
		if i < len(factors[0]) {
			step.Y = factors[0][i]
		}
		if i < len(factors[1]) {
			step.X = factors[1][i]
		}
		d.steps = append(d.steps, step)
	}
	return d
}

func batchedConv(b *anec.Builder, l *anec.Layer, d dilation, core builder) (*anec.Value, error) {
	p, x := *l.Params.(*anec.Conv), l.Bottoms[0]
	bare, err := bareType(l)
	if err != nil {
		return nil, err
	}
	bottoms := slices.Clone(l.Bottoms)
	var before, after anec.Dims
	for i, a := range []td.Axis{anec.H, anec.W} {
		if d.blocks[i] > 1 {
			before[a], after[a] = p.PadBefore[i+1], p.PadAfter[i+1]
			whole := x.Type.Dims[a] + before[a] + after[a]
			after[a] += (d.blocks[i] - whole%d.blocks[i]) % d.blocks[i]
			p.PadBefore[i+1], p.PadAfter[i+1] = 0, 0
		}
		p.Dilation[i+1] = d.rest[i]
	}
	if before != (anec.Dims{}) || after != (anec.Dims{}) {
		x = b.Layer(x.Name, &anec.Padding{Before: before, After: after, Mode: td.PadZero}, x)
	}
	for _, step := range d.steps {
		x = b.Layer(x.Name, &anec.SpaceToBatch{Factors: step}, x)
	}
	bottoms[0] = x
	y := core(&p, bottoms...)
	for _, step := range slices.Backward(d.steps) {
		y = b.Layer(l.Name, &anec.BatchToSpace{Factors: step}, y)
	}
	return cutTo(b, l.Name, y, bare.Dims), b.Err()
}
