package ops

import (
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var selectOps = []Def{{
	Name: "select",
	Doc:  "a where cond is true, else b",
	Versions: since(IOS15, In("cond", B), In("a", Number|B).As("T"),
		In("b", Number|B).As("T")),
	Infer: inferSelect,
	Eval: func(c *Call) error {
		if c.DType("a").IsFloat() {
			c.ReturnFloats(0, choose(c, c.Floats("a"), c.Floats("b")))
		} else {
			c.ReturnInts(0, choose(c, c.Int64s("a"), c.Int64s("b")))
		}
		return nil
	},
	Lower: lowerSelect,
}}

// inferSelect lets the three arguments meet. coremltools leaves cond out of the shape that it declares;
// where that makes a difference the declaration is wrong.
func inferSelect(c *Call) ([]mil.Type, error) {
	shape, err := tensor.Broadcast(c.Shape("a"), c.Shape("b"))
	if err != nil {
		return nil, err
	}
	if shape, err = tensor.Broadcast(shape, c.Shape("cond")); err != nil {
		return nil, err
	}
	return one(c.DType("a"), shape)
}

func choose[T any](c *Call, a, b []T) []T {
	cond := c.Int64s("cond")
	out := make([]T, c.OutLen(0))
	shapes := newBroadcast(c.OutShape(0), c.Tensor("cond").Shape(), c.Tensor("a").Shape(), c.Tensor("b").Shape())
	shapes.each(c.halt, func(s stretch) {
		for i := range s.n {
			if cond[s.at[0]+i*s.step[0]] != 0 {
				out[s.out+i] = a[s.at[1]+i*s.step[1]]
			} else {
				out[s.out+i] = b[s.at[2]+i*s.step[2]]
			}
		}
	})
	return out
}
