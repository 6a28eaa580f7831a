package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Copy is x, stored anew: the layer that an epilogue or another layout hangs on
// where nothing computes (Apple: COPY, the bypass path of the array).
type Copy struct{}

var copyContract = contract("y", "x")

func (*Copy) Kind() Kind                        { return KindCopy }
func (*Copy) Contract() Contract                { return copyContract }
func (*Copy) infer(o *operands) ([]Type, error) { return like(o) }

// TypeCast converts to another element type as a model's cast does: floats to
// integers towards zero, to bool by x ≠ 0. (A layer's OutputType rounds to the
// nearest.)
type TypeCast struct {
	To tensor.DType
}

var typeCastContract = contract("y", "x")

func (*TypeCast) Kind() Kind         { return KindTypeCast }
func (*TypeCast) Contract() Contract { return typeCastContract }

func (p *TypeCast) infer(o *operands) ([]Type, error) {
	if _, ok := td.ElementCode(p.To); !ok {
		return nil, fmt.Errorf("no task can hold %v", p.To)
	}
	return one(p.To, o.dims(0))
}

// Shape gives the extents of x along the axes, in their order, along W.
type Shape struct {
	Axes []td.Axis `net:"Dimension?"`
}

var shapeContract = contract("y", "x")

func (*Shape) Kind() Kind         { return KindShape }
func (*Shape) Contract() Contract { return shapeContract }

func (p *Shape) infer(o *operands) ([]Type, error) {
	if err := checkAxis(p.Axes...); err != nil {
		return nil, err
	}
	if len(p.Axes) == 0 {
		return nil, fmt.Errorf("no axes")
	}
	return one(tensor.Int32, Dims{1, 1, 1, 1, len(p.Axes)})
}
