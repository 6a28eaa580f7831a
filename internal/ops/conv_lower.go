package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A convolution or pooling of the model has batch and channel first, whatever its rank; a layer has them along N
// and C, and what the window walks over along D, H and W:
//
//	rank 2  [n, c]           lies on 1,1,1,n,c   Reshape    n,1,c,1,1
//	rank 3  [n, c, w]        lies on 1,1,n,c,w   Reshape    n,1,c,1,w
//	rank 4  [n, c, h, w]     lies on n,1,c,h,w   as it is
//	rank 5  [n, c, d, h, w]  lies on n,c,d,h,w   Transpose  n,d,c,h,w

// swapDC exchanges depth and channels.
var swapDC = anec.Perm{anec.N, anec.C, anec.D, anec.H, anec.W}

// toImage brings a value of two to five axes, batch or outputs first and channels second, to N, D, C, H, W.
func (l *Lowering) toImage(v *anec.Value, rank int) *anec.Value {
	if v == nil {
		return nil
	}
	switch d := v.Type.Dims; rank {
	case 2:
		return l.Reshape(v, anec.Dims{d[anec.H], 1, d[anec.W], 1, 1})
	case 3:
		return l.Reshape(v, anec.Dims{d[anec.C], 1, d[anec.H], 1, d[anec.W]})
	case 5:
		return l.Transpose(v, swapDC)
	}
	return v
}

// giveImage undoes toImage for the result.
func (l *Lowering) giveImage(v *anec.Value) {
	if len(l.OutShape(0)) == 5 {
		v = l.Transpose(v, swapDC)
	}
	l.Give(0, l.Reshape(v, l.OutDims(0)))
}

// perChannel brings a vector to the axis of channels; nil if it is left out.
func (l *Lowering) perChannel(param string) *anec.Value {
	if !l.Has(param) {
		return nil
	}
	n, _ := l.Shape(param).Count()
	return l.Reshape(l.In(param), anec.Dims{1, 1, n, 1, 1})
}

// windowOf is the window of up to three slides, those on the axes that come last.
func windowOf(slides []slide) anec.Window {
	w := anec.UnitWindow
	for i, s := range slides {
		at := len(w.Kernel) - len(slides) + i
		w.Kernel[at], w.Stride[at], w.Dilation[at] = int(s.kernel), s.stride, s.dilation
		w.PadBefore[at], w.PadAfter[at] = s.before, s.after
	}
	return w
}

func lowerConv(l *Lowering) error {
	return l.convolve(l.In("weight"), l.perChannel("bias"))
}

// convolve adds a convolution with weights that lie as the parameter does.
func (l *Lowering) convolve(weight, bias *anec.Value) error {
	slides, err := l.slides(l.Shape("x")[2:], l.Shape("weight")[2:], roundDown)
	if err != nil {
		return err
	}
	rank := l.Rank("x")
	conv := &anec.Conv{Window: windowOf(slides), Groups: l.Int("groups"), PaddingMode: td.PadZero}
	l.giveImage(l.Layer(l.Name(), conv, l.toImage(l.In("x"), rank), l.toImage(weight, rank), bias))
	return nil
}

// lowerConvQuantized keeps the integers as they are stored: those of a table become a constant with a palette;
// linear ones, of which the constant (q - offset)·scale does not have the form, are decoded by layers that read
// constants alone. The weights are fp32, as the evaluator has them.
func lowerConvQuantized(l *Lowering) error {
	stored := l.Raw("weight")
	if stored == nil {
		return l.Refuse("the stored integers of its weight are computed")
	}
	if most, limit := maxOf(stored.Int64s()), int64(1)<<l.Int("nbits"); most >= limit {
		return l.Refuse("weight has the element %d: %d bits hold less than %d", most, l.Int("nbits"), limit)
	}
	var weight *anec.Value
	if l.Str("quantization_type") == "lut" {
		var err error
		if weight, err = l.fromTable(stored); err != nil {
			return err
		}
	} else {
		weight = l.Layer(l.Name()+"_product", &anec.ElementWise{Type: td.EWMult},
			l.Cast(l.In("weight"), tensor.Float32), l.Cast(l.perOutput("quant_scale"), tensor.Float32))
		weight = l.Layer(l.Name()+"_weight", &anec.ElementWise{Type: td.EWAdd},
			weight, l.Cast(l.perOutput("quant_bias"), tensor.Float32))
	}
	return l.convolve(weight, l.Cast(l.perChannel("bias"), tensor.Float32))
}

func maxOf(vals []int64) int64 {
	most := int64(0)
	for _, v := range vals {
		most = max(most, v)
	}
	return most
}

// perOutput brings one element, or one for each output channel, to where a weight of the model has its first axis.
func (l *Lowering) perOutput(param string) *anec.Value {
	n, _ := l.Shape(param).Count()
	dims := anec.Dims{1, 1, 1, 1, 1}
	dims[l.Axis5("weight", 0)] = n
	return l.Reshape(l.In(param), dims)
}

// fromTable is the constant of which the weight parameter has the indices and quant_scale the table.
func (l *Lowering) fromTable(indices *tensor.Tensor) (*anec.Value, error) {
	dims, err := anec.DimsOf(indices.Shape())
	if err != nil {
		return nil, err
	}
	stored, err := indices.Reshape(dims[:]...)
	if err != nil {
		return nil, err
	}
	entries := l.Floats("quant_scale")
	return l.Constant(l.Name()+"_weight", &anec.Constant{
		DType: tensor.Float32, Dims: dims, Stored: stored,
		Palette: &anec.Palette{Table: tensor.Of(entries, 1, 1, 1, 1, 1, len(entries), 1), VectorAxis: anec.W},
	}), l.Err()
}

// lowerConvTranspose: the layer cuts PadBefore and PadAfter off, and adds OutputPad where output_shape asks for
// more than inputs reach.
func lowerConvTranspose(l *Lowering) error {
	axes, err := l.outAxes(l.Shape("x")[2:], l.Shape("weight")[2:])
	if err != nil {
		return err
	}
	conv := &anec.Conv{Window: anec.UnitWindow, Groups: l.Int("groups"), Transposed: true, PaddingMode: td.PadZero}
	for i, s := range axes {
		at := len(conv.Kernel) - len(axes) + i
		conv.Kernel[at], conv.Stride[at], conv.Dilation[at] = int(s.kernel), s.stride, s.dilation
		conv.PadBefore[at] = s.crop
		reached := (int(s.in)-1)*s.stride + (int(s.kernel)-1)*s.dilation + 1
		if over := l.OutShape(0)[2+i] + s.crop - reached; over > 0 {
			conv.OutputPad[at] = over
		} else {
			conv.PadAfter[at] = -over
		}
	}
	if err := td.CheckPhases(conv.Stride, conv.Groups); err != nil {
		return l.Refuse("%v", err)
	}
	rank := l.Rank("x")
	l.giveImage(l.Layer(l.Name(), conv, l.toImage(l.In("x"), rank), l.toImage(l.In("weight"), rank), l.perChannel("bias")))
	return nil
}

// lowerPool is the lowering of a pooling kind.
//
// With ceil_mode a last window may reach beyond the padding, by extra elements. They are padding like any other for a
// maximum and for a sum. For an average that counts padding they are not, so that padding has to be real:
//
//	Pooling{pad, extra} over x  →  Padding{pad}, Pooling{extra, ExcludePad}
func lowerPool(kind td.PoolKind, padding td.PaddingMode) LowerFunc {
	return func(l *Lowering) error {
		slides, err := l.poolSlides()
		if err != nil {
			return err
		}
		rank := l.Rank("x")
		x := l.toImage(l.In("x"), rank)
		p := &anec.Pooling{Window: windowOf(slides), Type: kind, PaddingMode: padding}
		p.ExcludePad = l.Has("exclude_padding_from_average") && l.Bool("exclude_padding_from_average")
		if l.Bool("ceil_mode") {
			extra := [3]int{}
			for i := range slides {
				at := len(extra) - len(slides) + i
				p.PadAfter[at], extra[at] = slides[i].ceilPads()
			}
			if extra != [3]int{} && kind == td.PoolAvg && !p.ExcludePad {
				x = l.padImage(x, &p.Window)
				p.ExcludePad = true
			}
			for i := range extra {
				p.PadAfter[i] += extra[i]
			}
		}
		l.giveImage(l.Layer(l.Name(), p, x))
		return nil
	}
}

// ceilPads is the padding that the windows of ceil_mode need at the end: of the given padding, and beyond it.
func (s *slide) ceilPads() (given, extra int) {
	need := (int(s.out)-1)*s.stride + s.reach() - int(s.in) - s.before
	return min(s.after, max(0, need)), max(0, need-s.after)
}

// padImage makes the padding of a window elements of x, and takes it from the window.
func (l *Lowering) padImage(x *anec.Value, w *anec.Window) *anec.Value {
	pad := &anec.Padding{Mode: td.PadZero}
	for i, a := range [...]td.Axis{anec.D, anec.H, anec.W} {
		pad.Before[a], pad.After[a] = w.PadBefore[i], w.PadAfter[i]
	}
	w.PadBefore, w.PadAfter = [3]int{}, [3]int{}
	if pad.Before == (anec.Dims{}) && pad.After == (anec.Dims{}) {
		return x
	}
	return l.Layer(l.Name()+"_pad", pad, x)
}
