package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The element types that cast converts between, all pairs.
const (
	castTypes   = Number | B
	castTypes17 = castTypes | I8 | U8 | I16 | U16
)

var castOps = []Def{{
	Name: "cast",
	Doc:  "x converted to another element type: floats to integers towards zero, to bool by x ≠ 0",
	Versions: []Version{
		{Since: IOS15, Params: []Param{In("x", castTypes).As("T"), Const("dtype", Str)}, Infer: inferCast(castTypes)},
		{Since: IOS17, Params: []Param{In("x", castTypes17).As("T"), Const("dtype", Str)}, Infer: inferCast(castTypes17)},
	},
	Eval: func(c *Call) error {
		c.Return(0, c.Tensor("x")) // storing a result converts it
		return nil
	},
	Lower: func(l *Lowering) error {
		l.Give(0, l.Cast(l.In("x"), l.OutDType(0)))
		return nil
	},
}}

func inferCast(allowed TypeSet) InferFunc {
	return func(c *Call) ([]mil.Type, error) {
		d, err := namedType(c, "dtype", allowed)
		if err != nil {
			return nil, err
		}
		return one(d, c.Shape("x"))
	}
}

// namedType is the element type that a string argument names.
func namedType(c *Call, param string, allowed TypeSet) (tensor.DType, error) {
	if err := checkScalars(c, param); err != nil {
		return tensor.Invalid, err
	}
	name := c.Str(param)
	d, err := tensor.ParseDType(name)
	if err != nil || !allowed.Has(d) {
		return tensor.Invalid, fmt.Errorf("%s is %q, expected %v", param, name, allowed)
	}
	return d, nil
}
