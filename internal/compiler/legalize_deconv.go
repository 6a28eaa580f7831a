package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeDeconv writes a transposed convolution with a stride above 2, which an engine does not have, as a convolution that
// makes the elements of a block side by side, as channels (guide C: strides 1 and 2; 3 and 4 are taken apart). Of a kernel of k
// elements, each place in a block of s meets every s-th:
//
//	%y = anec.deconvolution(%x, %w) {kernel_sizes = [3, 3], strides = [3, 3]}       %x [1,1,8,5,5], %w [8,1,4,3,3]
//
//	%c = anec.convolution(%x, %v) : fp16[1,1,36,5,5]                                    %v [36,1,8,1,1]
//	%y = anec.pixel_shuffle(%c) {x = 3, y = 3} : fp16[1,1,4,15,15]
//
// What the blocks have too much at the end is cut off. Padding moves the kernel against the blocks instead of cutting their
// beginning: a slice that begins inside of a row is no view on every chip.
func legalizeDeconv(s *segment.Segment) error {
	return rewriteConvCores(s, 0, func(b *anec.Builder, l *anec.Layer, core builder) (*anec.Value, error) {
		p, w := l.Params.(*anec.Conv), l.Bottoms[1]
		if !p.Transposed || max(p.Stride[1], p.Stride[2]) <= 2 || p.Kernel[0] != 1 || p.Stride[0] != 1 || p.Dilation != [3]int{1, 1, 1} ||
			w.Const == nil || !w.Const.Plain() || w.Const.Stored.DType().Bits() != 16 || !mayCopy(s, w) {
			return nil, nil
		}
		if w.Type.Dims[anec.C]*p.Groups*p.Stride[1]*p.Stride[2] > s.Target.Limits.Tensor[anec.C] {
			return nil, nil
		}
		if bias := segment.Bottom(l, 2); bias != nil && (bias.Const == nil || !bias.Const.Plain()) {
			return nil, nil
		}
		return shuffledConv(b, l, core)
	})
}

// A phasing is how the blocks of a result meet a kernel along an axis. Element q·stride + r of the result is the sum over t of
// x[q + ahead - t] · w[t·stride + r + rest], for every t from first to last where there is such a weight.
type phasing struct {
	stride, kernel, ahead, rest, first, last int
}

func phasingOf(p *anec.Conv, i int) phasing {
	f := phasing{stride: p.Stride[i], kernel: p.Kernel[i], ahead: p.PadBefore[i] / p.Stride[i], rest: p.PadBefore[i] % p.Stride[i]}
	f.last = (f.kernel - 1) / f.stride
	if f.rest > 0 {
		f.first = -1
	}
	return f
}

// taps is the extent of the kernel that makes blocks.
func (f phasing) taps() int { return f.last - f.first + 1 }

// weight is the element of the kernel that tap u has for place r of a block; false if there is none.
func (f phasing) weight(u, r int) (int, bool) {
	k := (f.last-u)*f.stride + r + f.rest
	return k, k >= 0 && k < f.kernel
}

func shuffledConv(b *anec.Builder, l *anec.Layer, core builder) (*anec.Value, error) {
	p, x, w := l.Params.(*anec.Conv), l.Bottoms[0], l.Bottoms[1].Const.Stored
	bare, err := bareType(l)
	if err != nil {
		return nil, err
	}
	conv := &anec.Conv{Window: anec.UnitWindow, Groups: p.Groups, PaddingMode: td.PadZero}
	var along [3]phasing
	for i, a := range segment.WindowAxes {
		f := phasingOf(p, i)
		along[i] = f
		if f.last < f.ahead { // all of what the kernel begins with is cut off
			return nil, nil
		}
		blocks := (bare.Dims[a] + f.stride - 1) / f.stride
		conv.Kernel[i], conv.PadBefore[i] = f.taps(), f.last-f.ahead
		if need := blocks + f.ahead - f.first; need < x.Type.Dims[a] {
			x = b.Layer(x.Name, &anec.InputView{Axis: a, Size: need, Step: 1}, x)
		} else {
			conv.PadAfter[i] = need - x.Type.Dims[a]
		}
		if b.Err() != nil {
			return nil, b.Err()
		}
	}
	shuffled := anec.ConstantOf(shuffledKernel(w, p.Groups, along))
	shuffled.Mutable = l.Bottoms[1].Const.Mutable
	kernel := b.Constant(l.Bottoms[1].Name, shuffled)
	bottoms := []*anec.Value{x, kernel}
	if bias := segment.Bottom(l, 2); bias != nil {
		bottoms = append(bottoms, b.Constant(bias.Name, repeatedBias(bias.Const, p.Stride[1]*p.Stride[2])))
	}
	y := core(conv, bottoms...)
	y = b.Layer(l.Name, &anec.PixelShuffle{Factors: anec.Factors{X: p.Stride[2], Y: p.Stride[1], Z: 1}}, y)
	return cutTo(b, l.Name, y, bare.Dims), b.Err()
}

// shuffledKernel is the kernel of a transposed convolution, [inputs,1,outputs of a group,h,w], as one that makes the places of a
// block as channels: [outputs·places,1,inputs of a group,taps,taps].
func shuffledKernel(w *tensor.Tensor, groups int, along [3]phasing) *tensor.Tensor {
	from, fy, fx := w.Shape(), along[1], along[2]
	inputs, outputs := from[anec.N]/groups, from[anec.C]
	places := fy.stride * fx.stride
	old := tensor.Data[uint16](w.Dense())
	moved := make([]uint16, groups*outputs*places*inputs*fy.taps()*fx.taps())
	at := 0
	for o := range groups * outputs * places {
		out, place := o/places, o%places
		for in := range inputs {
			plane := ((out/outputs*inputs+in)*outputs + out%outputs) * fy.kernel * fx.kernel
			for uy := range fy.taps() {
				for ux := range fx.taps() {
					ky, inY := fy.weight(uy, place/fx.stride)
					kx, inX := fx.weight(ux, place%fx.stride)
					if inY && inX {
						moved[at] = old[plane+ky*fx.kernel+kx]
					}
					at++
				}
			}
		}
	}
	t := tensor.Of(moved, groups*outputs*places, 1, inputs, fy.taps(), fx.taps())
	half, err := t.Alias(w.DType())
	if err != nil {
		panic("bug: " + err.Error()) // both are of 16 bits
	}
	return half
}

// repeatedBias has each number of a plain constant so many times.
func repeatedBias(c *anec.Constant, times int) *anec.Constant {
	n := c.Dims[anec.C]
	t, err := c.Stored.Reshape(n, 1)
	if err == nil {
		t, err = t.BroadcastTo(n, times)
	}
	if err == nil {
		t, err = t.Dense().Reshape(1, 1, n*times, 1, 1)
	}
	if err != nil {
		panic("bug: " + err.Error()) // a bias has its numbers along C
	}
	repeated := anec.ConstantOf(t)
	repeated.Mutable = c.Mutable
	return repeated
}

// mayCopy reports whether weights may be written in another order. Zeros that stand for weights that are not there may be more
// than any file would have.
func mayCopy(s *segment.Segment, w *anec.Value) bool {
	const most = 64 << 20
	n, _ := w.Type.Dims.Count()
	return !s.AbsentWeights || n <= most
}
