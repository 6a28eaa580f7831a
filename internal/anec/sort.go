package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Sorting is what Sort and TopK share. Equal elements keep their order.
type Sorting struct {
	Axis td.Axis `net:"SortDimension"`

	// VectorAxis: the elements along it stay together and are compared by those
	// that Keys name. Without Keys, each element is by itself.
	VectorAxis td.Axis `net:"VectorDimension"`
	Keys       []int   `net:"SortIndices"`

	Results td.Results `net:"Indices"`
}

// tops returns the types of what is wanted, where so many elements are left.
func (s *Sorting) tops(o *operands, left int) ([]Type, error) {
	if err := checkAxis(s.Axis); err != nil {
		return nil, err
	}
	if err := valid(s.Results); err != nil {
		return nil, err
	}
	x := o.typeOf(0)
	values, indices := x, x
	indices.DType = tensor.Int32
	if len(s.Keys) > 0 {
		if err := distinct([]td.Axis{s.Axis, s.VectorAxis}); err != nil {
			return nil, err
		}
		for _, k := range s.Keys {
			if k < 0 || k >= x.Dims[s.VectorAxis] {
				return nil, fmt.Errorf("key %d of %d along %v", k, x.Dims[s.VectorAxis], s.VectorAxis)
			}
		}
		indices.Dims[s.VectorAxis] = 1
	}
	values.Dims[s.Axis], indices.Dims[s.Axis] = left, left
	switch s.Results {
	case td.ResultIndices:
		return []Type{indices}, nil
	case td.ResultBoth:
		return []Type{values, indices}, nil
	}
	return []Type{values}, nil
}

// Sort sorts along an axis.
type Sort struct {
	Direction td.SortDirection `net:"Direction"`
	Sorting
}

var sortInfo = KindInfo{
	Kind: KindSort, Name: "Sort", Dialect: Dialect{Name: "sort"}, Standing: Descriptor, Desc: "Sort", Class: td.ClassSort, Sources: "export desc unit B C",
	New: func() Params { return &Sort{Direction: td.Ascending} }, Contract: contract("values indices", "x"),
	Example: Example{"Axis=W", "fp16[1,1,1,16,64]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validateSort), Codegen: sortCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyData},
}

func (*Sort) Info() *KindInfo { return &sortInfo }

func (p *Sort) infer(o *operands) ([]Type, error) {
	if err := valid(p.Direction); err != nil {
		return nil, err
	}
	if err := checkAxis(p.Axis); err != nil {
		return nil, err
	}
	return p.tops(o, o.dims(0)[p.Axis])
}

// TopK takes the K largest or smallest along an axis, the extreme one first.
type TopK struct {
	Type td.Extreme `net:"Type"`
	K    int        `net:"K"`
	Sorting
}

var topKInfo = KindInfo{
	Kind: KindTopK, Name: "TopK", Dialect: Dialect{Name: "top_k"}, Standing: Descriptor, Desc: "TopK", Class: td.ClassTopK, Sources: "export desc unit B C",
	New: func() Params { return &TopK{Type: td.Max} }, Contract: contract("values indices", "x"),
	Example: Example{"Axis=W K=5 Results=Both", "fp16[1,1,1,16,64]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validateTopK), Codegen: topKCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyData},
}

func (*TopK) Info() *KindInfo { return &topKInfo }

func (p *TopK) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type); err != nil {
		return nil, err
	}
	if err := checkAxis(p.Axis); err != nil {
		return nil, err
	}
	if n := o.dims(0)[p.Axis]; p.K < 1 || p.K > n {
		return nil, fmt.Errorf("the first %d of %d along %v", p.K, n, p.Axis)
	}
	return p.tops(o, p.K)
}
