package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// CrossCorrelation is a convolution with a kernel that is live: y has at each
// position the sum over the products of template and the part of x under it, not
// flipped. The template lies flat along W, in the order output channel, input
// channel of a group, row, column.
type CrossCorrelation struct {
	Template    [2]int `net:"Template{Height,Width}" anec:"template_sizes"`
	PadBefore   [2]int `net:"Pad{Top,Left}" anec:"explicit_padding"`
	PadAfter    [2]int `net:"Pad{Bot,Right}" anec:"explicit_padding"`
	Groups      int    `net:"NumGroups"`
	OutChannels int    `net:"OutputChannels"`
}

var crossCorrelationInfo = KindInfo{
	Kind: KindCrossCorrelation, Name: "CrossCorrelation", Dialect: Dialect{Name: "cross_correlation"}, Standing: Descriptor, Desc: "CrossCorrelation", Class: td.ClassCrossCorrelation,
	Sources: "export desc unit B", Unsure: "the order of a template with several channels",
	New: func() Params { return &CrossCorrelation{Groups: 1, OutChannels: 1} }, Contract: contract("y", "x template"),
	Example: Example{"Template=[3,3]", "fp16[1,1,1,16,16] fp16[1,1,1,1,9]"},

	Pattern: Pattern{2, 2, "Input size for Cross Correlation layer must be 2", fromStrings},
	Check:   matched(validateCrossCorrelation),

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{FLOPs: correlationFLOPs},
}

func (*CrossCorrelation) Info() *KindInfo { return &crossCorrelationInfo }

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

func correlationFLOPs(l *Layer) float64 {
	p := l.Params.(*CrossCorrelation)
	products := float64(p.Template[0]) * float64(p.Template[1]) * float64(l.Bottoms[0].Type.Dims[C]/p.Groups)
	return 2 * l.Top().Type.Dims.Elements() * products
}

// RasterizerMode is how a KernelRasterizer lays windows out. Apple's numbers are
// not known, and of its names one.
type RasterizerMode uint8

// UnfoldedChannels puts the elements of a window along C.
const UnfoldedChannels RasterizerMode = 64

var rasterizerModeNames = map[RasterizerMode]string{UnfoldedChannels: "UnfoldedChannels"}

func (m RasterizerMode) String() string { return nameOf(rasterizerModeNames, m, "rasterizer mode") }

// Valid reports whether m has a name.
func (m RasterizerMode) Valid() bool { return rasterizerModeNames[m] != "" }

// KernelRasterizer unfolds the windows of x (im2col): y has at each position of a
// window its elements along C, in the order channel, row, column.
//
//	y[c*kh*kw + i*kw + j, h, w] = x[c, h+i, w+j]
//
// A chip's compiler takes windows of one element, of which it makes x.
type KernelRasterizer struct {
	Kernel [2]int         `net:"Kernel{Height,Width}" anec:"kernel_sizes"`
	Groups int            `net:"NumGroups"`
	Mode   RasterizerMode `net:"RasterizerMode"`
}

var kernelRasterizerInfo = KindInfo{
	Kind: KindKernelRasterizer, Name: "KernelRasterizer", Dialect: Dialect{Name: "kernel_rasterizer"}, Standing: UnitOnly, Class: td.ClassKernelRasterizer,
	Sources: "unit C", Unsure: "the order along C of windows of several elements; that groups do not change it",
	New: func() Params { return &KernelRasterizer{Kernel: [2]int{1, 1}, Groups: 1, Mode: UnfoldedChannels} }, Contract: contract("y", "x"),
	Example: Example{"Kernel=[1,1]", "fp16[1,1,8,16,16]"},

	NoValidator: "a unit; what compiles of it is Codegen's", Codegen: kernelRasterizerCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
	NoTask: "pass rasterizer makes slices and a concatenation of it",
}

func (*KernelRasterizer) Info() *KindInfo { return &kernelRasterizerInfo }

func (p *KernelRasterizer) infer(o *operands) ([]Type, error) {
	if err := valid(p.Mode); err != nil {
		return nil, err
	}
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
	return one(o.types[0].DType, y.With(C, x[C]*p.Kernel[0]*p.Kernel[1]))
}
