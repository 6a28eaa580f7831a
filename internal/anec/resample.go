package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// Sampling is how a layer that computes where it samples does so.
type Sampling struct {
	Method     td.SamplingMethod `net:"SamplingMethod?"`
	Coordinate td.CoordinateMode `net:"CoordinateInfo?"`
	Padding    td.PaddingMode    `net:"PaddingInfo?"`
	Background float32           `net:"BackgroundValue?"`

	// AlignCorners: the ends of a normalized range are the centres of the outer
	// elements, not their outer edges.
	AlignCorners bool
}

func (s *Sampling) check() error { return valid(s.Method, s.Coordinate, s.Padding) }

// Resample takes elements of x at positions that an operand gives: one channel
// of coordinates for W, or two, for W and then H. y has its extents along H and W.
type Resample struct {
	Sampling
}

var resampleInfo = KindInfo{
	Kind: KindResample, Name: "Resample", Dialect: Dialect{Name: "resample"}, Standing: Descriptor, Desc: "Resample", Class: td.ClassResample,
	Sources: "export desc B", Unsure: "which coordinate comes first; its keys",
	New: func() Params { return &Resample{Sampling: defaultSampling} }, Contract: contract("y", "x coordinates"),
	Example: Example{"", "fp16[1,1,8,16,16] fp16[1,1,2,5,6]"},

	Pattern: Pattern{2, 2, "", onlyCount}, Check: matched(validateResample), Codegen: resampleCodegen,

	Unit: OnTexture, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: weightedMean,
}

func (*Resample) Info() *KindInfo { return &resampleInfo }

func (p *Resample) infer(o *operands) ([]Type, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	x, at := o.dims(0), o.dims(1)
	if at[C] != 1 && at[C] != 2 {
		return nil, fmt.Errorf("coordinates has %d along C, want 1 or 2", at[C])
	}
	if at[D] != 1 || at[N] != 1 && at[N] != x[N] {
		return nil, fmt.Errorf("coordinates has extents %v, x %v: want 1 along D, and along N 1 or %d", at, x, x[N])
	}
	if at[C] == 1 && at[H] != x[H] && at[H] != 1 {
		return nil, fmt.Errorf("coordinates for W alone has %d along H, want %d or 1", at[H], x[H])
	}
	if at[C] == 2 {
		x[H] = at[H]
	}
	x[W] = at[W]
	return one(o.types[0].DType, x)
}

// AffineTransform samples x on a grid that a matrix of two rows (H) and three
// columns (W), one for all or one for each batch element, maps each position of
// y to. y has the extents of Size along H and W.
type AffineTransform struct {
	Sampling
	Size [2]int // H, W
}

var affineTransformInfo = KindInfo{
	Kind: KindAffineTransform, Name: "AffineTransform", Dialect: Dialect{Name: "affine_transform"}, Standing: Descriptor, Desc: "AffineTransform", Class: td.ClassAffineTransform,
	Sources: "export desc B mil", Unsure: "the layout of the matrix; its keys",
	New: func() Params { return &AffineTransform{Sampling: defaultSampling} }, Contract: contract("y", "x matrix"),
	Example: Example{"Size=[16,16]", "fp16[1,1,8,16,16] fp16[1,1,1,2,3]"},

	Pattern: Pattern{2, 2, "", onlyCount}, Check: matched(validateAffineTransform),

	Unit: OnTexture, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: weightedMean,
}

func (*AffineTransform) Info() *KindInfo { return &affineTransformInfo }

func (p *AffineTransform) infer(o *operands) ([]Type, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if min(p.Size[0], p.Size[1]) < 1 {
		return nil, fmt.Errorf("size %v", p.Size)
	}
	x, m := o.dims(0), o.dims(1)
	if m[N] != 1 && m[N] != x[N] {
		return nil, fmt.Errorf("matrix has %d along N, want 1 or %d", m[N], x[N])
	}
	if err := o.want(1, Dims{m[N], 1, 1, 2, 3}); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, x.With(H, p.Size[0]).With(W, p.Size[1]))
}

// CropResize cuts boxes out of x and resizes each. A box is four numbers along
// C, or five, the first of which is the batch element that it is cut from; with
// four, box i is cut from batch element i, or all from the only one. y has the
// boxes along N.
type CropResize struct {
	Sampling
	Size  [2]int          // H, W (anec: output_dims)
	Grid  td.SamplingGrid `net:"SamplingGridMode?"`
	Boxes td.BoxMode      // what the numbers of a box are
	Scale float32         // by which the numbers of a box are multiplied
}

var cropResizeInfo = KindInfo{
	Kind: KindCropResize, Name: "CropResize", Dialect: Dialect{Name: "crop_resize"}, Standing: Descriptor, Desc: "CropResize", Class: td.ClassCropResize,
	Sources: "export desc B mil", Unsure: "the layout of the boxes; its keys",
	Contract: contract("y", "x boxes"),
	Example:  Example{"Size=[4,4]", "fp16[1,1,8,16,16] fp16[7,1,4,1,1]"},
	New: func() Params {
		return &CropResize{Sampling: defaultSampling, Grid: td.GridDefault, Boxes: td.BoxCornersHeightFirst, Scale: 1}
	},

	Pattern: Pattern{2, 2, "", onlyCount}, Check: matched(validateCropResize), Codegen: cropResizeCodegen,

	Unit: OnTexture, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: weightedMean,
}

func (*CropResize) Info() *KindInfo { return &cropResizeInfo }

func (p *CropResize) infer(o *operands) ([]Type, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := valid(p.Grid, p.Boxes); err != nil {
		return nil, err
	}
	if min(p.Size[0], p.Size[1]) < 1 {
		return nil, fmt.Errorf("size %v", p.Size)
	}
	x, boxes := o.dims(0), o.dims(1)
	if c := boxes[C]; c != 4 && c != 5 {
		return nil, fmt.Errorf("boxes has %d along C, want 4 or 5", c)
	}
	if err := o.want(1, Dims{boxes[N], 1, boxes[C], 1, 1}); err != nil {
		return nil, err
	}
	if boxes[C] == 4 && x[N] != 1 && x[N] != boxes[N] {
		return nil, fmt.Errorf("%d boxes without an index for %d batch elements", boxes[N], x[N])
	}
	return one(o.types[0].DType, x.With(N, boxes[N]).With(H, p.Size[0]).With(W, p.Size[1]))
}
