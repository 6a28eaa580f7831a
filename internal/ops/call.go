package ops

import (
	"context"
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Call is an operation with arguments bound to its parameters.
type Call struct {
	Op    *mil.Operation
	Def   *Def
	Opset Opset

	version *Version
	args    map[string][]argument
	outs    []mil.Type // evaluation only: what the type rule gave
	results []Value    // evaluation only
	inPlace bool       // evaluation only: x is the memory of a state, to be written to
	blocks  blockRunner
	ctx     context.Context
	memory  int64                     // bytes that it may need; 0: the default
	inUse   func() int64              // how many of them the evaluation holds already; nil: none
	charge  func(steps float64) error // counts work; nil in constant folding
	*halt                             // of the evaluation; nil in constant folding
}

// argument is what one parameter, or one element of a variadic parameter, is bound to.
type argument struct {
	typ mil.Type
	val Value // nil if not known
	// fixed says that the value is known when the program is compiled, though it may not be here: a
	// weight file may be missing.
	fixed bool
	// mutable says that it is a weight that may change: it counts as one that is too large to look at.
	mutable bool
}

// blockRunner runs or infers the nested blocks of an operation.
type blockRunner interface {
	inferBlock(b *mil.Block, args []mil.Type) ([]mil.Type, error)
	runBlock(ctx context.Context, b *mil.Block, args []Value) ([]Value, error)
}

// Has reports whether a parameter is bound, be it by default.
func (c *Call) Has(name string) bool { return len(c.args[name]) > 0 }

// Count is how many arguments a variadic parameter has.
func (c *Call) Count(name string) int { return len(c.args[name]) }

func (c *Call) arg(name string) *argument {
	a := c.args[name]
	if len(a) == 0 {
		panic("bug: " + c.Def.Name + " asks for its parameter " + name + ", which is not bound")
	}
	return &a[0]
}

// AnyType is the type of an argument of any kind.
func (c *Call) AnyType(name string, i int) mil.Type { return c.args[name][i].typ }

// Type is the type of a tensor argument.
func (c *Call) Type(name string) *mil.TensorType { return c.arg(name).typ.(*mil.TensorType) }

// TypeAt is the type of the i-th tensor of a variadic parameter.
func (c *Call) TypeAt(name string, i int) *mil.TensorType {
	return c.args[name][i].typ.(*mil.TensorType)
}

// DType is the declared element type of a tensor argument.
func (c *Call) DType(name string) tensor.DType { return c.Type(name).DType }

// Shape is the shape of a tensor argument.
func (c *Call) Shape(name string) tensor.Shape { return c.Type(name).Shape }

// Rank is the rank of a tensor argument.
func (c *Call) Rank(name string) int { return len(c.Shape(name)) }

// Known reports whether every argument of a parameter has a value: always so in an evaluation, and for
// parameters that the signature calls constant.
func (c *Call) Known(name string) bool {
	for i := range c.args[name] {
		if c.args[name][i].val == nil {
			return false
		}
	}
	return len(c.args[name]) > 0
}

// Value is the value of an argument of any kind.
func (c *Call) Value(name string) Value { return c.arg(name).val }

// ValueAt is the value of the i-th argument of a variadic parameter.
func (c *Call) ValueAt(name string, i int) Value { return c.args[name][i].val }

// Tensor is the value of a tensor argument.
//
// A type rule may ask for a constant that verification left in its file because it is far larger than any
// parameter. Such a one counts as empty, and the rule says what it expected instead.
func (c *Call) Tensor(name string) *tensor.Tensor {
	a := c.arg(name)
	if t, ok := a.val.(*tensor.Tensor); ok {
		return t
	}
	return tensor.New(c.DType(name), 0)
}

// TensorAt is the value of the i-th tensor of a variadic parameter.
func (c *Call) TensorAt(name string, i int) *tensor.Tensor {
	return c.args[name][i].val.(*tensor.Tensor)
}

// Floats are the elements of a tensor argument; they must not be changed.
func (c *Call) Floats(name string) []float32 { return c.halt.floats(c.Tensor(name)) }

// Int64s are the elements of an integer or boolean tensor argument; they must not be changed.
func (c *Call) Int64s(name string) []int64 { return c.halt.ints(c.Tensor(name)) }

// Ints are the elements of a small integer argument such as axes or pads.
func (c *Call) Ints(name string) []int {
	vals := c.Tensor(name).Int64s()
	out := make([]int, len(vals))
	for i, v := range vals {
		out[i] = int(v)
	}
	return out
}

// Int is the value of an integer scalar. An array of one element will do.
func (c *Call) Int(name string) int {
	if v := c.Int64s(name); len(v) > 0 {
		return int(v[0])
	}
	return 0
}

// Float is the value of a floating-point scalar.
func (c *Call) Float(name string) float32 {
	if v := c.Floats(name); len(v) > 0 {
		return v[0]
	}
	return 0
}

// Bool is the value of a boolean scalar.
func (c *Call) Bool(name string) bool { return c.Int(name) != 0 }

// Str is the value of a string scalar.
func (c *Call) Str(name string) string {
	if v := c.Tensor(name).Strings(); len(v) > 0 {
		return v[0]
	}
	return ""
}

// Axis is an axis argument, counted from the end if negative, checked against a rank.
func (c *Call) Axis(name string, rank int) (int, error) { return normAxis(name, c.Int(name), rank) }

// Axes are axis arguments, counted from the end if negative, each checked against a rank and given once.
func (c *Call) Axes(name string, rank int) ([]int, error) {
	if !c.Known(name) { // more than verification loads
		return nil, fmt.Errorf("parameter %s is %v, expected at most %d axes", name, c.Type(name), rank)
	}
	axes := c.Ints(name)
	seen := make(map[int]bool, len(axes))
	for i, a := range axes {
		n, err := normAxis(name, a, rank)
		if err != nil {
			return nil, err
		}
		if seen[n] {
			return nil, fmt.Errorf("%s %v name an axis twice", name, axes)
		}
		seen[n] = true
		axes[i] = n
	}
	return axes, nil
}

func normAxis(name string, axis, rank int) (int, error) {
	n := axis
	if n < 0 {
		n += rank
	}
	if n < 0 || n >= rank {
		return 0, fmt.Errorf("%s is %d, expected -%d to %d for a tensor of rank %d", name, axis, rank, rank-1, rank)
	}
	return n, nil
}

// Out is the concrete type of the i-th output, in an evaluation.
func (c *Call) Out(i int) *mil.TensorType { return c.outs[i].(*mil.TensorType) }

// OutShape is the shape of the i-th output, in an evaluation. Operations whose output shapes depend on
// the data must not ask.
func (c *Call) OutShape(i int) []int {
	dims, ok := c.Out(i).Shape.Ints()
	if !ok {
		panic(fmt.Sprintf("bug: the type rule of %s leaves %v open in an evaluation", c.Def.Name, c.Out(i)))
	}
	return dims
}

// OutLen is the number of elements of the i-th output, in an evaluation.
func (c *Call) OutLen(i int) int {
	n, _ := c.Out(i).Shape.Count()
	return n
}

// Return hands over the value of the i-th output. A tensor may have any element type that holds its values:
// it is converted to what the evaluator keeps for the declared type.
func (c *Call) Return(i int, v Value) {
	for len(c.results) <= i {
		c.results = append(c.results, nil)
	}
	c.results[i] = v
}

// ReturnFloats hands over the elements of the i-th output, whose shape is that of the type rule.
func (c *Call) ReturnFloats(i int, vals []float32) { c.Return(i, tensor.Of(vals, c.OutShape(i)...)) }

// ReturnInts hands over the elements of the i-th output, wrapped to its element type.
func (c *Call) ReturnInts(i int, vals []int64) {
	c.Return(i, tensor.FromInt64s(c.Out(i).DType, vals, c.OutShape(i)...))
}

// ReturnBools hands over the elements of the i-th output.
func (c *Call) ReturnBools(i int, vals []bool) { c.Return(i, tensor.Of(vals, c.OutShape(i)...)) }

// Context ends when the caller of the evaluation gives up; long loops ask it.
func (c *Call) Context() context.Context {
	if c.ctx == nil { // constant folding
		return context.Background()
	}
	return c.ctx
}

// InferBlock is the types of a nested block's outputs for the types of its inputs.
func (c *Call) InferBlock(i int, args []mil.Type) ([]mil.Type, error) {
	return c.blocks.inferBlock(c.Op.Blocks[i], args)
}

// RunBlock evaluates a nested block.
func (c *Call) RunBlock(i int, args []Value) ([]Value, error) {
	return c.blocks.runBlock(c.ctx, c.Op.Blocks[i], args)
}
