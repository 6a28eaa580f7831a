package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeStrides takes strides above 2 out of a convolution, where they are made of the target's factors: positions move
// to channels, and the kernel is as much smaller (guide 4 and A, stride factor list).
//
//	%y = anec.convolution(%x, %w) {kernel_sizes = [16, 16], strides = [16, 16]}       %x [1,1,3,224,224], %w [768,1,3,16,16]
//
//	%o = anec.pixel_unshuffle(%x) {x = 8, y = 8} : fp16[1,1,192,28,28]
//	%p = anec.pixel_unshuffle(%o) {x = 2, y = 2} : fp16[1,1,768,14,14]
//	%y = anec.convolution(%p, %v)                                         %v [768,1,768,1,1]
//
// What the kernel does not cover of its blocks has the weight zero, what the input lacks is padded. A stride of 16 is made of two
// factors, 8 and 2: positions move in two steps, which leaves the places of a block in another order.
func legalizeStrides(s *segment.Segment) error {
	return rewriteConvs(s, func(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
		return unstride(b, l, s)
	})
}

// rewriteConvs applies a rule to the convolutions of a segment, on targets with limits for them.
func rewriteConvs(s *segment.Segment, r rule) error {
	if len(s.Target.Limits.StrideFactors) == 0 {
		return nil
	}
	return rewriteKinds(r, anec.KindConv)(s)
}

// rewriteConvCores is rewriteConvs for a rule that moves things around a convolution.
func rewriteConvCores(s *segment.Segment, axes td.Axes, r coreRule) error {
	if len(s.Target.Limits.StrideFactors) == 0 {
		return nil
	}
	var refused refusals
	for _, l := range s.Graph.Order() {
		if l.Kind() == anec.KindConv {
			refused.add(l, rewriteCore(s.Graph, l, axes, r))
		}
	}
	return refused.err()
}

// A blocking is what becomes of a stride along an axis: blocks of so many elements, in steps of at most two factors.
type blocking struct {
	size  int // 1: the stride stays
	steps [2]int
}

// blockingOf makes blocks of a stride of a target's factors (guide 35: at most two for an axis), the larger one first.
func blockingOf(stride int, t *hal.Target) blocking {
	if stride > 2 {
		for _, f := range slices.Backward(t.Limits.StrideFactors) {
			if rest := stride / f; stride%f == 0 && (rest == 1 || slices.Contains(t.Limits.StrideFactors, rest)) {
				return blocking{stride, [2]int{f, rest}}
			}
		}
	}
	return blocking{1, [2]int{1, 1}}
}

func unstride(b *anec.Builder, l *anec.Layer, s *segment.Segment) (*anec.Value, error) {
	p := *l.Params.(*anec.Conv)
	f := [3]blocking{blockingOf(1, s.Target), blockingOf(p.Stride[1], s.Target), blockingOf(p.Stride[2], s.Target)}
	w := l.Bottoms[1]
	padded := segment.HasPadding(&p.Window)
	if f[1].size*f[2].size == 1 || l.Bottoms[0].Type.Dims[anec.C]*f[1].size*f[2].size > s.Target.Limits.Tensor[anec.C] || p.Transposed || p.Dilation != [3]int{1, 1, 1} || p.Kernel[0] != 1 || padded && p.PaddingMode != td.PadZero ||
		w.Const == nil || !w.Const.Plain() || w.Const.Stored.DType().Bits()%8 != 0 || !mayCopy(s, w) {
		return nil, nil
	}
	bare, err := bareType(l)
	if err != nil {
		return nil, err
	}
	kernel, err := unstriddenKernel(w.Const.Stored, f)
	if err != nil {
		return nil, err
	}
	x := l.Bottoms[0]
	before, after := anec.Dims{}, anec.Dims{}
	for i, a := range []td.Axis{anec.D, anec.H, anec.W} {
		if f[i].size == 1 {
			continue
		}
		blocks := kernel.Shape()[a]
		length := (bare.Dims[a] + blocks - 1) * f[i].size // that the blocks of all windows cover
		if have := p.PadBefore[i] + x.Type.Dims[a]; have > length {
			x = b.Layer(x.Name, &anec.InputView{Axis: a, Size: length - p.PadBefore[i], Step: 1}, x)
		} else {
			after[a] = length - have
		}
		before[a] = p.PadBefore[i]
		p.Kernel[i], p.Stride[i], p.PadBefore[i], p.PadAfter[i] = blocks, 1, 0, 0
		if b.Err() != nil {
			return nil, b.Err()
		}
	}
	if before != (anec.Dims{}) || after != (anec.Dims{}) {
		x = b.Layer(x.Name, &anec.Padding{Before: before, After: after, Mode: td.PadZero}, x)
	}
	for i := range f[1].steps {
		if step := (anec.Factors{X: f[2].steps[i], Y: f[1].steps[i], Z: 1}); step != anec.UnitFactors {
			x = b.Layer(x.Name, &anec.PixelUnshuffle{Factors: step}, x)
		}
		if b.Err() != nil {
			return nil, b.Err()
		}
	}
	c := anec.ConstantOf(kernel)
	c.Mutable = w.Const.Mutable
	if start, _ := kernel.Memory(); start == startOf(w.Const.Stored) {
		c.Source = w.Const.Source
	}
	bottoms := append([]*anec.Value{x, b.Constant(w.Name, c)}, l.Bottoms[2:]...)
	return layerAs(b, bare.DType, l.Name, &p, bottoms...), nil
}

func startOf(t *tensor.Tensor) *byte {
	start, _ := t.Memory()
	return start
}

// unstriddenKernel moves the places in a block to the channels, behind them, those of the first step before those of the second:
// [o,1,c,ky·fy,kx·fx] becomes [o,1,c·fy·fx,ky,kx].
func unstriddenKernel(w *tensor.Tensor, f [3]blocking) (*tensor.Tensor, error) {
	s, fy, fx := w.Shape(), f[1], f[2]
	o, c := s[anec.N], s[anec.C]
	ky, kx := (s[anec.H]+fy.size-1)/fy.size, (s[anec.W]+fx.size-1)/fx.size
	if whole := []int{o, 1, c, ky * fy.size, kx * fx.size}; !slices.Equal(whole, s) {
		grown := tensor.New(w.DType(), whole...)
		inside, err := grown.Slice(int(anec.H), 0, s[anec.H], 1)
		if err == nil {
			inside, err = inside.Slice(int(anec.W), 0, s[anec.W], 1)
		}
		if err == nil {
			err = inside.CopyFrom(w)
		}
		if err != nil {
			return nil, err
		}
		w = grown
	}
	apart, err := w.Reshape(o, c, ky, fy.steps[1], fy.steps[0], kx, fx.steps[1], fx.steps[0])
	if err != nil {
		return nil, err
	}
	if apart, err = apart.Transpose(0, 1, 4, 7, 3, 6, 2, 5); err != nil {
		return nil, err
	}
	return apart.Reshape(o, 1, c*fy.size*fx.size, ky, kx)
}
