package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// CrossProduct is the cross product of vectors of three channels.
type CrossProduct struct{}

var crossProductInfo = KindInfo{
	Kind: KindCrossProduct, Name: "CrossProduct", Dialect: Dialect{Name: "cross_product"}, Standing: Computed, Desc: "CrossProduct",
	Class: td.ClassCrossProduct, Sources: "22 unit B",
	New: func() Params { return &CrossProduct{} }, Contract: contract("y", "x z"),
	Example: Example{"", "fp16[2,1,3,1,1] fp16[2,1,3,1,1]"},

	Pattern: Pattern{2, 2, "", "guide B, catalog" + textOurs},
	Check:   matched(validateCrossProduct), Codegen: crossProductCodegen,

	Unit: OnPlanar, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(3),
}

func (*CrossProduct) Info() *KindInfo { return &crossProductInfo }

func (p *CrossProduct) infer(o *operands) ([]Type, error) {
	if err := o.wantExtent(0, C, 3); err != nil {
		return nil, err
	}
	if err := o.want(1, o.dims(0)); err != nil {
		return nil, err
	}
	return like(o)
}

// FurthestPointSampling takes Count of the points, the first one first and then
// always the one furthest from all that are taken. Points lie along W with three
// channels.
type FurthestPointSampling struct {
	Count  int               `net:"CentroidCount"`
	Metric td.DistanceMetric `net:"DistanceMetric"`
}

var furthestPointSamplingInfo = KindInfo{
	Kind: KindFurthestPointSampling, Name: "FurthestPointSampling", Dialect: Dialect{Name: "furthest_point_sampling"}, Standing: UnitOnly,
	Class: td.ClassFurthestPointSampling, Sources: "unit B",
	New: func() Params { return &FurthestPointSampling{Metric: td.DistanceL2} }, Contract: contract("y", "points"),
	Example: Example{"Count=4", "fp16[1,1,3,1,100]"},

	NoValidator: "a unit; metric and sizes are held where it is parsed", Check: validateFurthestPointSampling,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyData},
}

func (*FurthestPointSampling) Info() *KindInfo { return &furthestPointSamplingInfo }

func (p *FurthestPointSampling) infer(o *operands) ([]Type, error) {
	if err := valid(p.Metric); err != nil {
		return nil, err
	}
	if err := points(o, 0); err != nil {
		return nil, err
	}
	if n := o.dims(0)[W]; p.Count < 1 || p.Count > n {
		return nil, fmt.Errorf("%d of %d points", p.Count, n)
	}
	return one(o.types[0].DType, o.dims(0).With(W, p.Count))
}

// points holds an operand to points along W.
func points(o *operands, i int) error {
	d := o.dims(i)
	return o.want(i, Dims{d[N], 1, 3, 1, d[W]})
}

// RadiusSearch says which points lie within a radius of which centroids: y has a
// row (H) for each point, a column (W) for each centroid, and 1 where the point
// lies no further off.
type RadiusSearch struct {
	Radius float32 `net:"Radius"`
}

var radiusSearchInfo = KindInfo{
	Kind: KindRadiusSearch, Name: "RadiusSearch", Dialect: Dialect{Name: "radius_search"}, Standing: UnitOnly, Class: td.ClassRadiusSearch, Sources: "unit B",
	New: func() Params { return &RadiusSearch{} }, Contract: contract("y", "centroids points"),
	Example: Example{"Radius=1", "fp16[1,1,3,1,4] fp16[1,1,3,1,100]"},

	NoValidator: "a unit; its extents are held where it is parsed", Check: validateRadiusSearch,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyNoTree},
}

func (*RadiusSearch) Info() *KindInfo { return &radiusSearchInfo }

func (p *RadiusSearch) infer(o *operands) ([]Type, error) {
	if !(p.Radius > 0) {
		return nil, fmt.Errorf("radius %g", p.Radius)
	}
	for i := range 2 {
		if err := points(o, i); err != nil {
			return nil, err
		}
	}
	if err := o.wantExtent(1, N, o.dims(0)[N]); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, Dims{o.dims(0)[N], 1, 1, o.dims(1)[W], o.dims(0)[W]})
}

// CostVolume is the cost of matching two pictures at each disparity:
// y[d, x] = |aux[x] - ref[x+d]| for d from 0 to Range, d along C.
type CostVolume struct {
	Direction int `net:"DisparityDirection"` // 0 is along W; others are not known
	Range     int `net:"DisparityRange"`
}

var costVolumeInfo = KindInfo{
	Kind: KindCostVolume, Name: "CostVolume", Dialect: Dialect{Name: "cost_volume"}, Standing: UnitOnly, Class: td.ClassCostVolume,
	Sources: "unit B", Unsure: "the meaning of the keys ScaleFactorX and ScaleFactorY",
	New: func() Params { return &CostVolume{} }, Contract: contract("y", "aux ref"),
	Example: Example{"Range=2", "fp16[1,1,1,8,6] fp16[1,1,1,8,8]"},

	NoValidator: "a unit; its widths are held where it is parsed", Check: validateCostVolume, Codegen: costVolumeCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(2),
}

func (*CostVolume) Info() *KindInfo { return &costVolumeInfo }

func (p *CostVolume) infer(o *operands) ([]Type, error) {
	aux, ref := o.dims(0), o.dims(1)
	switch {
	case p.Direction != 0:
		return nil, fmt.Errorf("disparity direction %d is not known", p.Direction)
	case p.Range < 0 || p.Range > maxField:
		return nil, fmt.Errorf("disparity range %d", p.Range)
	case aux[C] != 1:
		return nil, fmt.Errorf("aux has %d channels, want 1", aux[C])
	case ref[W] < aux[W]+p.Range:
		return nil, fmt.Errorf("ref has %d along W, want %d and the range %d or more", ref[W], aux[W], p.Range)
	}
	if err := o.want(1, aux.With(W, ref[W])); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, aux.With(C, p.Range+1))
}

// Decomposition is what a matrix is decomposed by. Apple's numbers are not known.
type Decomposition uint8

// The decompositions.
const (
	NonQRGivens                    Decomposition = 64
	CrossProductOrthoNormalization Decomposition = 65
)

var decompositionNames = map[Decomposition]string{
	NonQRGivens: "NonQRGivens", CrossProductOrthoNormalization: "CrossProductOrthoNormalization",
}

func (d Decomposition) String() string { return nameOf(decompositionNames, d, "decomposition") }

// Valid reports whether d has a name.
func (d Decomposition) Valid() bool { return decompositionNames[d] != "" }

// MatrixDecomposition makes a rotation of each batch element: of a 3x3 matrix in
// nine channels a 4x4 one (NonQRGivens), of two vectors in six channels a 3x3
// one (CrossProductOrthoNormalization); rows along C, columns along W. (The
// extents are those that a known netplist has beside it; what the numbers are is
// not known, so no lowering makes this kind.)
type MatrixDecomposition struct {
	Type         Decomposition `net:"Type"`
	Epsilon      float32       `net:"Epsilon"` // as the bits of an fp16
	RotationAxis []int         `net:"RotationAxis"`
}

var matrixDecompositionInfo = KindInfo{
	Kind: KindMatrixDecomposition, Name: "MatrixDecomposition", Dialect: Dialect{Name: "matrix_decomposition"}, Standing: UnitOnly, Class: td.ClassMatrixDecomposition,
	Sources: "unit C", Unsure: "what it computes",
	New: func() Params { return &MatrixDecomposition{} }, Contract: contract("y", "x"),
	Example: Example{"Type=NonQRGivens RotationAxis=[7]", "fp16[1,1,9,1,1]"},

	NoValidator: "a unit that was never seen to compile (guide A): Codegen", Codegen: matrixDecompositionCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyNoTree},
	Refused: "no source says what numbers it makes of a matrix, and it was never seen to compile (guide A)",
	NoTask:  "what it computes is not known",
}

func (*MatrixDecomposition) Info() *KindInfo { return &matrixDecompositionInfo }

func (p *MatrixDecomposition) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type); err != nil {
		return nil, err
	}
	in, out := 9, 4
	if p.Type == CrossProductOrthoNormalization {
		in, out = 6, 3
	}
	n := o.dims(0)[N]
	if err := o.want(0, Dims{n, 1, in, 1, 1}); err != nil {
		return nil, err
	}
	if len(p.RotationAxis) != n && (p.Type == NonQRGivens || len(p.RotationAxis) != 0) {
		return nil, fmt.Errorf("%d rotation axes for %d batch elements", len(p.RotationAxis), n)
	}
	return one(tensor.Float16, Dims{n, 1, out, 1, out})
}
