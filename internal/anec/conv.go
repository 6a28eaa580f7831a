package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// A Window is how a layer walks over D, H and W, in this order.
type Window struct {
	Kernel    [3]int `net:"Kernel{Depth,Height,Width}" anec:"kernel_sizes,spatial"`
	Stride    [3]int `net:"Step" anec:"strides,spatial"` // as W, H, D there
	Dilation  [3]int `anec:"dilation_rates,spatial"`     // netplists: not seen; MIL and the anec dialect have it (guide 22: dilation_rates)
	PadBefore [3]int `net:"Pad{Front,Top,Left}" anec:"explicit_padding,spatial"`
	PadAfter  [3]int `net:"Pad{Back,Bot,Right}" anec:"explicit_padding,spatial"`
}

// UnitWindow covers one element.
var UnitWindow = Window{Kernel: ones, Stride: ones, Dilation: ones}

var ones = [3]int{1, 1, 1}

var windowAxes = [3]td.Axis{D, H, W}

// maxField bounds the numbers of a layer, so that sums and products of two
// cannot overflow.
const maxField = 1 << 30

func (w *Window) check() error {
	for i, a := range windowAxes {
		for _, n := range []int{w.Kernel[i], w.Stride[i], w.Dilation[i]} {
			if n < 1 || n > maxField {
				return fmt.Errorf("kernel %d, stride %d, dilation %d along %v: want 1 or more", w.Kernel[i], w.Stride[i], w.Dilation[i], a)
			}
		}
		if min(w.PadBefore[i], w.PadAfter[i]) < 0 || max(w.PadBefore[i], w.PadAfter[i]) > maxField {
			return fmt.Errorf("padding %d and %d along %v: want 0 or more", w.PadBefore[i], w.PadAfter[i], a)
		}
	}
	return nil
}

// reach is how many elements the kernel spans along axis i.
func (w *Window) reach(i int) int { return (w.Kernel[i]-1)*w.Dilation[i] + 1 }

// over returns the extents of a window that walks over others: one element for
// each place at which all of the kernel lies on x or its padding.
func (w *Window) over(dims Dims) (Dims, error) {
	if err := w.check(); err != nil {
		return dims, err
	}
	for i, a := range windowAxes {
		padded := dims[a] + w.PadBefore[i] + w.PadAfter[i]
		if padded < w.reach(i) {
			return dims, fmt.Errorf("a kernel that spans %d along %v does not fit into %d, padding and all", w.reach(i), a, padded)
		}
		dims[a] = (padded-w.reach(i))/w.Stride[i] + 1
	}
	return dims, nil
}

// under returns the extents that a window walks over if it leaves these.
func (w *Window) under(dims Dims, outputPad [3]int) (Dims, error) {
	if err := w.check(); err != nil {
		return dims, err
	}
	for i, a := range windowAxes {
		if outputPad[i] < 0 || outputPad[i] > maxField || dims[a] > maxField {
			return dims, fmt.Errorf("output padding %d over %d along %v", outputPad[i], dims[a], a)
		}
		n := (dims[a]-1)*w.Stride[i] + w.reach(i) + outputPad[i] - w.PadBefore[i] - w.PadAfter[i]
		if n < 1 {
			return dims, fmt.Errorf("nothing is left of %d along %v after padding %d and %d is cut off", dims[a], a, w.PadBefore[i], w.PadAfter[i])
		}
		dims[a] = n
	}
	return dims, nil
}

// Conv is a convolution on up to three axes, or its transpose.
//
// w has the output channels along N and the input channels of one group along C,
// the kernel along D, H, W. Transposed, it has the input channels along N and
// the output channels of one group along C, and x is spread out by the stride.
// bias has the output channels along C.
//
// Netplists have the weights in Params (KernelIndex, KernelOffset, KernelMode,
// KernelType) and the transpose and the groups in the key Type: Conv,
// ChannelWiseDeConv are known.
type Conv struct {
	Window
	Groups      int            `net:"NumGroups"`
	Transposed  bool           `net:"Type"`
	OutputPad   [3]int         `anec:"output_padding,spatial"` // transposed: elements more at the end
	PaddingMode td.PaddingMode `net:"PaddingMode"`
}

var convInfo = KindInfo{
	Kind: KindConv, Name: "Conv", Dialect: Dialect{"convolution", "Transposed", map[string]string{"true": "deconvolution"}}, Standing: Descriptor, Desc: "Conv", Class: td.ClassConv,
	Sources:  "export plist unit 22 B",
	New:      func() Params { return &Conv{Window: UnitWindow, Groups: 1, PaddingMode: td.PadZero} },
	Contract: contract("y", "x w~ bias?~"),
	Example:  Example{"Kernel=[1,3,3] PadBefore=[0,1,1] PadAfter=[0,1,1]", "fp16[1,1,8,16,16] !fp16[16,1,8,3,3]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: validateConv, Codegen: convCodegen,

	Unit: OnArray, Epilogue: EpilogueArray, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: convRows, AtLoad: always, Cost: Cost{FLOPs: convFLOPs},
}

func (*Conv) Info() *KindInfo { return &convInfo }

func (p *Conv) infer(o *operands) ([]Type, error) {
	x, w := o.dims(0), o.dims(1)
	if p.Groups < 1 || p.Groups > max(w[N], 1) {
		return nil, fmt.Errorf("%d groups of the %d channels along N of w", p.Groups, w[N])
	}
	if err := valid(p.PaddingMode); err != nil {
		return nil, err
	}
	for i, a := range windowAxes {
		if err := o.wantExtent(1, a, p.Kernel[i]); err != nil {
			return nil, fmt.Errorf("%w, as the kernel", err)
		}
	}
	var y Dims
	var err error
	in, out := w[C]*p.Groups, w[N]
	if p.Transposed {
		in, out = w[N], w[C]*p.Groups
		y, err = p.under(x, p.OutputPad)
	} else {
		if p.OutputPad != [3]int{} {
			return nil, fmt.Errorf("output padding %v goes with a transposed convolution only", p.OutputPad)
		}
		y, err = p.over(x)
	}
	switch {
	case err != nil:
		return nil, err
	case in != x[C]:
		return nil, fmt.Errorf("x has %d channels, w takes %d in %d groups", x[C], in, p.Groups)
	case w[N]%p.Groups != 0:
		return nil, fmt.Errorf("the %d channels along N of w do not divide into %d groups", w[N], p.Groups)
	}
	if err := o.want(2, Dims{1, 1, out, 1, 1}); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, y.With(C, out))
}

// convRows: a transposed one reads from all over.
func convRows(l *Layer, v *Value, tile int) int {
	if p := l.Params.(*Conv); l.bottom(0) == v && !p.Transposed {
		return p.Window.rows(v, tile)
	}
	return v.Type.Dims[H]
}

// convFLOPs: each element of the result takes a product for each input channel of its group and each place of the
// kernel; transposed, each element of x makes one for each output channel. (An epilogue may change the extents of the
// top: they are taken from the window.)
func convFLOPs(l *Layer) float64 {
	p := l.Params.(*Conv)
	x, w := l.Bottoms[0].Type.Dims, l.Bottoms[1]
	products := p.Volume() * float64(w.Type.Dims[C])
	if p.Transposed {
		return 2 * products * x.Elements() * nonZero(w)
	}
	places := float64(x[N])
	for i, a := range windowAxes {
		places *= float64((x[a]+p.PadBefore[i]+p.PadAfter[i]-p.reach(i))/p.Stride[i] + 1)
	}
	return 2 * products * places * float64(w.Type.Dims[N]) * nonZero(w)
}
