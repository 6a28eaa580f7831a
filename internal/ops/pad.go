package ops

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var padOps = []Def{
	{
		Name: "pad",
		Doc:  "the last axes made longer at both ends, by a constant, by reflection or by repeating the edge",
		Versions: since(IOS15,
			In("x", Float).As("T"), In("pad", I32), OptConst("mode", Str, "constant"),
			OptConst("constant_val", Float, float32(0)).As("T")),
		Infer: inferPad,
		Eval:  evalPad,
		Lower: lowerPad,
	},
}

// padSource says which element of an axis of length n stands at place i, which lies before 0 or from n on. A
// mode without one fills with a constant.
var padSource = map[string]func(i, n int) int{
	"constant":  nil,
	"reflect":   func(i, n int) int { return max(i, -i) - 2*max(0, i-n+1) },
	"replicate": func(i, n int) int { return min(max(i, 0), n-1) },
}

func inferPad(c *Call) ([]mil.Type, error) {
	mode := c.Str("mode")
	if _, ok := padSource[mode]; !ok {
		return nil, fmt.Errorf("mode is %q, expected constant, reflect or replicate", mode)
	}
	if err := c.oneElement("constant_val"); err != nil {
		return nil, err
	}
	n, err := c.vectorLength("pad")
	if err != nil {
		return nil, err
	}
	shape := c.Shape("x")
	if !c.Known("pad") {
		if n.Known() && n != tensor.Dim(2*len(shape)) {
			return nil, fmt.Errorf("pad has %v elements, expected %d if it is not constant: two for each axis of x", n, 2*len(shape))
		}
		return one(c.DType("x"), unknownShape(len(shape)))
	}
	pad, err := padsOf(c)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(shape)
	for a := range out {
		before, after := pad[2*a], pad[2*a+1]
		if err := checkPad(mode, shape[a], before, after); err != nil {
			return nil, fmt.Errorf("axis %d: %w", a, err)
		}
		if out[a], err = addLength(shape[a], before+after); err != nil {
			return nil, err
		}
	}
	return one(c.DType("x"), out)
}

// padsOf is the pads of all axes, before and after each; the argument leaves out leading axes.
func padsOf(c *Call) ([]int, error) {
	given, rank := c.Ints("pad"), c.Rank("x")
	if len(given)%2 != 0 || len(given) > 2*rank {
		return nil, fmt.Errorf("pad has %d elements, expected two for each of up to %d axes", len(given), rank)
	}
	return append(make([]int, 2*rank-len(given)), given...), nil
}

func checkPad(mode string, n tensor.Dim, before, after int) error {
	switch {
	case before < 0 || after < 0:
		return fmt.Errorf("pad is %d and %d, expected no negative", before, after)
	case before == 0 && after == 0 || !n.Known():
		return nil
	case mode == "reflect" && tensor.Dim(max(before, after)) >= n:
		return fmt.Errorf("pad is %d and %d, but reflection on a length of %v gives up to %d", before, after, n, max(0, n-1))
	case mode == "replicate" && n == 0:
		return fmt.Errorf("pad is %d and %d, but there is no edge to repeat", before, after)
	}
	return nil
}

func evalPad(c *Call) error {
	x := c.Tensor("x")
	pad, err := padsOf(c)
	if err != nil {
		return err
	}
	source := padSource[c.Str("mode")]
	if source == nil {
		y, err := padConstant(c.halt, x, c.Tensor("constant_val"), pad)
		if err != nil {
			return err
		}
		c.Return(0, y)
		return nil
	}
	for a := range x.Shape() {
		if x, err = padAxis(c.halt, x, a, pad[2*a], pad[2*a+1], source); err != nil {
			return err
		}
	}
	c.Return(0, x)
	return nil
}

// padConstant surrounds x by a value. pad has the lengths before and after each axis.
func padConstant(h *halt, x, value *tensor.Tensor, pad []int) (*tensor.Tensor, error) {
	shape := slices.Clone(x.Shape())
	for a := range shape {
		shape[a] += pad[2*a] + pad[2*a+1]
	}
	value, err := value.Reshape()
	if err != nil {
		return nil, err
	}
	if value, err = value.BroadcastTo(shape...); err != nil {
		return nil, err
	}
	out := tensor.New(x.DType(), shape...)
	if err := h.copy(out, value); err != nil {
		return nil, err
	}
	inside := out
	for a, n := range x.Shape() {
		if inside, err = inside.Slice(a, pad[2*a], n, 1); err != nil {
			return nil, err
		}
	}
	return out, h.copy(inside, x)
}

// padAxis makes one axis longer by elements of x.
func padAxis(h *halt, x *tensor.Tensor, axis, before, after int, source func(i, n int) int) (*tensor.Tensor, error) {
	if before == 0 && after == 0 {
		return x, nil
	}
	n := x.Shape()[axis]
	shape := slices.Clone(x.Shape())
	shape[axis] += before + after
	out := tensor.New(x.DType(), shape...)
	if out.Len() == 0 { // another axis is empty, and this one may be made as long as a file likes
		return out, nil
	}
	move := func(to, from, count int) error {
		dst, err := out.Slice(axis, to, count, 1)
		if err != nil {
			return err
		}
		src, err := x.Slice(axis, from, count, 1)
		if err != nil {
			return err
		}
		return h.copy(dst, src)
	}
	if err := move(before, 0, n); err != nil {
		return nil, err
	}
	for i := range before + after {
		if h.asked() {
			break
		}
		at := i - before
		if i >= before {
			at = n + i - before
		}
		if err := move(before+at, source(at, n), 1); err != nil {
			return nil, err
		}
	}
	return out, nil
}
