package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeStrides takes strides above 2 out of a convolution, where they are made of the target's factors: positions move
// to channels, and the kernel is as much smaller (guide 4 and A, stride factor list).
//
//	%y = Conv(%x, %w) Kernel=[1,16,16] Stride=[1,16,16]       %x [1,1,3,224,224], %w [768,1,3,16,16]
//
//	%p fp16[1,1,768,14,14] = PixelUnshuffle(%x) X=16 Y=16
//	%y = Conv(%p, %v)                                         %v [768,1,768,1,1]: the same memory here
//
// What the kernel does not cover of its blocks has the weight zero, what the input lacks is padded.
func legalizeStrides(s *Segment) error {
	return rewriteConvs(s, func(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
		return unstride(b, l, s.Target)
	})
}

// rewriteConvs applies a rule to the convolutions of a segment, on targets with limits for them.
func rewriteConvs(s *Segment, r rule) error {
	if len(s.Target.Limits.StrideFactors) == 0 {
		return nil
	}
	return rewriteKinds(r, anec.KindConv)(s)
}

// unstridden are the blocks that a stride makes, along D, H and W; 1 where it stays.
func unstridden(p *anec.Conv, t *hal.Target) (f [3]int, any bool) {
	f = [3]int{1, 1, 1}
	for i := 1; i < 3; i++ {
		if p.Stride[i] > 2 && madeOf(p.Stride[i], t.Limits.StrideFactors) {
			f[i], any = p.Stride[i], true
		}
	}
	return f, any
}

// madeOf reports whether a number is a product of factors.
func madeOf(n int, factors []int) bool {
	for _, f := range factors {
		for f > 1 && n%f == 0 {
			n /= f
		}
	}
	return n == 1
}

func unstride(b *anec.Builder, l *anec.Layer, t *hal.Target) (*anec.Value, error) {
	p := *l.Params.(*anec.Conv)
	f, any := unstridden(&p, t)
	w := l.Bottoms[1]
	padded := p.PadBefore != [3]int{} || p.PadAfter != [3]int{}
	if !any || p.Transposed || p.Dilation != [3]int{1, 1, 1} || p.Kernel[0] != 1 || padded && p.PaddingMode != td.PadZero ||
		w.Const == nil || !w.Const.Plain() || w.Const.Stored.DType().Bits()%8 != 0 {
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
		if f[i] == 1 {
			continue
		}
		blocks := kernel.Shape()[a]
		length := (bare.Dims[a] + blocks - 1) * f[i] // that the blocks of all windows cover
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
	x = b.Layer(x.Name, &anec.PixelUnshuffle{Factors: anec.Factors{X: f[2], Y: f[1], Z: 1}}, x)
	c := anec.ConstantOf(kernel)
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

// unstriddenKernel moves the places in a block to the channels, behind them: [o,1,c,ky·fy,kx·fx] becomes
// [o,1,c·fy·fx,ky,kx].
func unstriddenKernel(w *tensor.Tensor, f [3]int) (*tensor.Tensor, error) {
	s := w.Shape()
	o, c := s[anec.N], s[anec.C]
	ky, kx := (s[anec.H]+f[1]-1)/f[1], (s[anec.W]+f[2]-1)/f[2]
	if whole := []int{o, 1, c, ky * f[1], kx * f[2]}; !slices.Equal(whole, s) {
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
	apart, err := w.Reshape(o, c, ky, f[1], kx, f[2])
	if err != nil {
		return nil, err
	}
	if apart, err = apart.Transpose(0, 1, 3, 5, 2, 4); err != nil {
		return nil, err
	}
	if ky == 1 && kx == 1 { // nothing changes places
		apart = w
	}
	return apart.Reshape(o, 1, c*f[1]*f[2], ky, kx)
}
