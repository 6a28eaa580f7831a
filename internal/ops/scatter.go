package ops

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The scatter operations write updates to places of data. Where several go to the same place they are
// applied one after the other, in row-major order: the last update stays, sums add up.

var scatterOps = []Def{
	{
		Name: "scatter",
		Doc:  "data with slices along an axis combined with updates, at indices",
		Versions: scatterVersions(
			In("data", Number).As("T"), In("indices", I32), In("updates", Number).As("T"), OptConst("axis", I32, 0)),
		Infer: inferScatter,
		Eval:  evalScatter,
		Lower: lowerScatter,
	},
	{
		Name: "scatter_along_axis",
		Doc:  "data with elements combined with updates, each with an index of its own along an axis",
		Versions: scatterVersions(
			In("data", Number).As("T"), In("indices", I32), In("updates", Number).As("T"), OptConst("axis", I32, 0)),
		Infer: inferScatterAlongAxis,
		Eval:  evalScatterAlongAxis,
		Lower: lowerScatterAlongAxis,
	},
	{
		Name: "scatter_nd",
		Doc:  "data with slices combined with updates, each at a vector of indices into the first axes",
		Versions: scatterVersions(
			In("data", Number).As("T"), In("indices", I32), In("updates", Number).As("T")),
		Infer: inferScatterND,
		Eval:  evalScatterND,
		Lower: lowerScatterND,
	},
}

// scatterVersions adds the parameters that the scatter operations share: the mode, and from iOS17 on
// whether indices are checked.
func scatterVersions(params ...Param) []Version {
	v15 := append(params, OptConst("mode", Str, "add"))
	v17 := append(v15[:len(v15):len(v15)], OptConst("validate_indices", B, false))
	return []Version{{Since: IOS15, Params: v15}, {Since: IOS17, Params: v17}}
}

func inferScatter(c *Call) ([]mil.Type, error) {
	data := c.Shape("data")
	axis, err := c.Axis("axis", len(data))
	if err != nil {
		return nil, err
	}
	want := joinShapes(data[:axis], c.Shape("indices"), data[axis+1:])
	because := fmt.Sprintf("that of data %v with the shape of indices %v in place of axis %d", data, c.Shape("indices"), axis)
	if err := mustMatch("updates", c.Shape("updates"), want, because); err != nil {
		return nil, err
	}
	if err := checkIndices(c, data[axis]); err != nil {
		return nil, err
	}
	return scatterResult(c)
}

func inferScatterAlongAxis(c *Call) ([]mil.Type, error) {
	axis, err := inferAlongAxis(c, "data")
	if err != nil {
		return nil, err
	}
	if err := mustMatch("updates", c.Shape("updates"), c.Shape("indices"), "that of indices"); err != nil {
		return nil, err
	}
	if err := checkIndices(c, c.Shape("data")[axis]); err != nil {
		return nil, err
	}
	return scatterResult(c)
}

func inferScatterND(c *Call) ([]mil.Type, error) {
	data, indices := c.Shape("data"), c.Shape("indices")
	if len(indices) == 0 {
		return nil, errors.New("indices is a scalar, expected a last axis that holds index vectors")
	}
	depth := indices[len(indices)-1]
	if !depth.Known() {
		return scatterResult(c)
	}
	if int(depth) > len(data) {
		return nil, fmt.Errorf("index vectors have length %d, expected at most %d, the rank of data", depth, len(data))
	}
	want := joinShapes(indices[:len(indices)-1], data[depth:])
	because := fmt.Sprintf("one slice of data %v for each index vector of indices %v", data, indices)
	if err := mustMatch("updates", c.Shape("updates"), want, because); err != nil {
		return nil, err
	}
	if err := checkIndexVectors(c, data[:depth]); err != nil {
		return nil, err
	}
	return scatterResult(c)
}

// scatterResult is the type of data, once the mode is known to be one.
func scatterResult(c *Call) ([]mil.Type, error) {
	if _, ok := scatterFloat[c.Str("mode")]; !ok {
		return nil, fmt.Errorf("mode is %q, expected add, sub, mul, div, max, min or update", c.Str("mode"))
	}
	return []mil.Type{c.Type("data")}, nil
}

// scatterFloat and scatterInt are the modes: what becomes of an element and its update.
var (
	scatterFloat = scatterModes(func(a, b float32) float32 { return a / b })
	scatterInt   = scatterModes(func(a, b int32) int32 {
		if b == 0 {
			return 0 // as the processors of these devices divide
		}
		return a / b
	})
)

func scatterModes[T int32 | float32](divide func(old, update T) T) map[string]func(old, update T) T {
	return map[string]func(T, T) T{
		"update": func(_, b T) T { return b },
		"add":    func(a, b T) T { return a + b },
		"sub":    func(a, b T) T { return a - b },
		"mul":    func(a, b T) T { return a * b },
		"div":    divide,
		"max":    func(a, b T) T { return max(a, b) },
		"min":    func(a, b T) T { return min(a, b) },
	}
}

func evalScatter(c *Call) error {
	if nothingToScatter(c) {
		return nil
	}
	data := c.Tensor("data").Shape()
	axis, _ := c.Axis("axis", len(data))
	l := blockLayout{
		batch:  1,
		before: lengthOf(data[:axis]),
		n:      data[axis],
		inner:  lengthOf(data[axis+1:]),
	}
	scatterBlocks(c, l, positions(c, l.n))
	return nil
}

// nothingToScatter returns data as it is if there are no updates: lengths beside one of zero may be beyond all loops.
func nothingToScatter(c *Call) bool {
	if c.Tensor("updates").Len() > 0 {
		return false
	}
	c.Return(0, c.Tensor("data"))
	return true
}

func evalScatterND(c *Call) error {
	if nothingToScatter(c) {
		return nil
	}
	data, indices := c.Tensor("data").Shape(), c.Tensor("indices").Shape()
	depth := indices[len(indices)-1]
	l := blockLayout{batch: 1, before: 1, n: lengthOf(data[:depth]), inner: lengthOf(data[depth:])}
	scatterBlocks(c, l, vectorPositions(c, data[:depth], lengthOf(indices[:len(indices)-1])))
	return nil
}

// scatterBlocks combines block (p, j) of updates, an array [before, m, inner], with block (p, at[j]) of data.
func scatterBlocks(c *Call, l blockLayout, at []int) {
	each := func(combine func(data, update int)) {
		for p := range l.before {
			for j, to := range at {
				if to == nowhere {
					continue
				}
				for lo, hi := range c.pieces(l.inner) {
					for i := lo; i < hi; i++ {
						combine((p*l.n+to)*l.inner+i, (p*len(at)+j)*l.inner+i)
					}
				}
			}
		}
	}
	scatterInto(c, each)
}

func evalScatterAlongAxis(c *Call) error {
	data, updates := c.Tensor("data").Shape(), c.Tensor("updates").Shape()
	axis, _ := c.Axis("axis", len(data))
	n, m, inner := data[axis], updates[axis], lengthOf(data[axis+1:])
	at := positions(c, n)
	scatterInto(c, func(combine func(data, update int)) {
		for k, to := range at {
			if k%piece == 0 && c.asked() {
				return
			}
			if to != nowhere {
				combine((k/(m*inner)*n+to)*inner+k%inner, k)
			}
		}
	})
	return nil
}

// scatterInto returns a copy of data in which each pair of positions that a walk gives is combined.
func scatterInto(c *Call, walk func(combine func(data, update int))) {
	data, updates := c.Tensor("data"), c.Tensor("updates")
	if data.DType() == tensor.Int32 {
		c.Return(0, combined(data, updates, scatterInt[c.Str("mode")], walk))
		return
	}
	c.Return(0, combined(data, updates, scatterFloat[c.Str("mode")], walk))
}

func combined[T int32 | float32](data, updates *tensor.Tensor, f func(old, update T) T, walk func(combine func(data, update int))) *tensor.Tensor {
	out := append([]T(nil), tensor.Data[T](data)...)
	with := tensor.Data[T](updates)
	walk(func(i, j int) { out[i] = f(out[i], with[j]) })
	return tensor.Of(out, data.Shape()...)
}
