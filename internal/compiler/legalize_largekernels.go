package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeLargeKernels makes a kernel that the engine does not have of kernels of 8 by 8, whose results are added (guide 4
// and B, conv with large kernel).
//
//	%y = anec.convolution(%x, %w) {kernel_sizes = [8, 16]}
//
//	%x_1 = anec.input_view(%x) {axis = W, offset = 0} …
//	%y_1 = anec.convolution(%x_1, %w_1) {kernel_sizes = [8, 8]}
//	%x_2 = anec.input_view(%x) {axis = W, offset = 8} …
//	%y_2 = anec.convolution(%x_2, %w_2) {kernel_sizes = [8, 8]}
//	%y = anec.add(%y_1, %y_2)
//
// The validators take kernels of multiples of 8 only.
func legalizeLargeKernels(s *segment.Segment) error {
	return rewriteConvs(s, func(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
		return sumOfKernels(b, l, s)
	})
}

// smallKernel is the side of the kernels that a large one is made of.
const smallKernel = 8

// isLargeKernel reports whether a kernel is larger than an engine has, and of the form that is made of others.
func isLargeKernel(l *anec.Layer, t *hal.Target) bool {
	p, x := l.Params.(*anec.Conv), l.Bottoms[0]
	format := hal.FP16Format
	if d := x.Type.DType; d == tensor.Int8 || d == tensor.UInt8 {
		format = hal.DefaultFormat
	}
	if p.Kernel[1] <= t.Limits.KernelHeight[hal.Large] && p.Kernel[2] <= t.Limits.KernelWidth[hal.Large][format].Max {
		return false
	}
	padded := segment.HasPadding(&p.Window)
	return p.Kernel[1]%smallKernel == 0 && p.Kernel[2]%smallKernel == 0 && p.Kernel[0] == 1 && p.Groups == 1 && !p.Transposed &&
		p.Dilation == [3]int{1, 1, 1} && p.Stride[1] <= 2 && p.Stride[2] <= 2 && !(padded && p.PaddingMode != td.PadZero)
}

func sumOfKernels(b *anec.Builder, l *anec.Layer, s *segment.Segment) (*anec.Value, error) {
	p, w := l.Params.(*anec.Conv), l.Bottoms[1]
	if !isLargeKernel(l, s.Target) || w.Const == nil || !w.Const.Plain() || w.Const.Stored.DType().Bits()%8 != 0 || !mayCopy(s, w) {
		return nil, nil
	}
	bare, err := bareType(l)
	if err != nil {
		return nil, err
	}
	var sum *anec.Value
	for y := 0; y < p.Kernel[1]; y += smallKernel {
		for x := 0; x < p.Kernel[2]; x += smallKernel {
			part, err := partOfKernel(b, l, bare.Dims, [3]int{0, y, x})
			if err != nil {
				return nil, err
			}
			switch {
			case part == nil: // it lies on padding alone
			case sum == nil:
				sum = part
			default:
				sum = b.Layer(l.Name, &anec.ElementWise{Type: td.EWAdd}, sum, part)
			}
		}
	}
	if sum != nil && len(l.Bottoms) > 2 {
		sum = b.Layer(l.Name, &anec.ElementWise{Type: td.EWAdd}, sum, l.Bottoms[2])
	}
	return sum, b.Err()
}

// partOfKernel convolves with the 8 by 8 elements of a kernel from a place on. It reads what of the input they meet, with
// padding where they leave it; nil if that is nothing.
func partOfKernel(b *anec.Builder, l *anec.Layer, out anec.Dims, at [3]int) (*anec.Value, error) {
	p, x, w := *l.Params.(*anec.Conv), l.Bottoms[0], l.Bottoms[1].Const.Stored
	for i, a := range []td.Axis{anec.D, anec.H, anec.W} {
		if i == 0 {
			continue
		}
		var err error
		if w, err = w.Slice(int(a), at[i], smallKernel, 1); err != nil {
			return nil, err
		}
		begin := at[i] - p.PadBefore[i]
		end := begin + (out[a]-1)*p.Stride[i] + smallKernel
		from, to := max(begin, 0), min(end, x.Type.Dims[a])
		if from >= to {
			return nil, nil
		}
		if from > 0 || to < x.Type.Dims[a] {
			x = b.Layer(x.Name, &anec.InputView{Axis: a, Offset: from, Size: to - from, Step: 1}, x)
			if b.Err() != nil {
				return nil, b.Err()
			}
		}
		p.Kernel[i], p.PadBefore[i], p.PadAfter[i] = smallKernel, from-begin, end-to
	}
	copied := anec.ConstantOf(w.Dense())
	copied.Mutable = l.Bottoms[1].Const.Mutable
	dense := b.Constant(l.Bottoms[1].Name, copied)
	return layerAs(b, l.Bottoms[0].Type.DType, l.Name, &p, x, dense), nil
}
