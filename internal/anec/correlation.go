package anec

import "fmt"

// CrossCorrelation is a convolution with a kernel that is live: y has at each
// position the sum over the products of template and the part of x under it, not
// flipped. The template lies flat along W, in the order output channel, input
// channel of a group, row, column.
type CrossCorrelation struct {
	Template    [2]int `net:"Template{Height,Width}"`
	PadBefore   [2]int `net:"Pad{Top,Left}"`
	PadAfter    [2]int `net:"Pad{Bot,Right}"`
	Groups      int    `net:"NumGroups"`
	OutChannels int    `net:"OutputChannels"`
}

var crossCorrelationContract = contract("y", "x template")

func (*CrossCorrelation) Kind() Kind         { return KindCrossCorrelation }
func (*CrossCorrelation) Contract() Contract { return crossCorrelationContract }

func (p *CrossCorrelation) infer(o *operands) ([]Type, error) {
	x := o.dims(0)
	if p.Groups < 1 || p.OutChannels < 1 || p.OutChannels > maxField || x[C]%p.Groups != 0 || p.OutChannels%p.Groups != 0 {
		return nil, fmt.Errorf("%d channels to %d in %d groups", x[C], p.OutChannels, p.Groups)
	}
	w := UnitWindow
	for i := range p.Template {
		w.Kernel[i+1], w.PadBefore[i+1], w.PadAfter[i+1] = p.Template[i], p.PadBefore[i], p.PadAfter[i]
	}
	y, err := w.over(x)
	if err != nil {
		return nil, err
	}
	kernel := Dims{1, p.OutChannels, x[C] / p.Groups, p.Template[0], p.Template[1]}
	n, ok := kernel.Count()
	if !ok {
		return nil, fmt.Errorf("a template of %v", kernel)
	}
	if err := o.want(1, Dims{1, 1, 1, 1, n}); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, y.With(C, p.OutChannels))
}

// KernelRasterizer unfolds the windows of x: y has the elements of one window
// along C and the windows, row by row, along W. (Known are its keys; the extents
// are inferred from its use, the kernel of a convolution that is live.)
type KernelRasterizer struct {
	Kernel [2]int `net:"Kernel{Height,Width}"`
	Groups int    `net:"NumGroups"`
}

var kernelRasterizerContract = contract("y", "x")

func (*KernelRasterizer) Kind() Kind         { return KindKernelRasterizer }
func (*KernelRasterizer) Contract() Contract { return kernelRasterizerContract }

func (p *KernelRasterizer) infer(o *operands) ([]Type, error) {
	x := o.dims(0)
	if p.Groups < 1 || x[C]%p.Groups != 0 || x[D] != 1 {
		return nil, fmt.Errorf("%d channels and depth %d in %d groups", x[C], x[D], p.Groups)
	}
	w := UnitWindow
	copy(w.Kernel[1:], p.Kernel[:])
	y, err := w.over(x)
	if err != nil {
		return nil, err
	}
	return one(o.types[0].DType, Dims{x[N], 1, x[C] * p.Kernel[0] * p.Kernel[1], 1, y[H] * y[W]})
}
