package ops

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var controlFlowOps = []Def{
	{
		Name:     "const",
		Doc:      "a constant of the program",
		Versions: since(IOS15, Param{Name: "val", Kind: AnyValues, Types: AnyType, Const: true}),
		Infer: func(c *Call) ([]mil.Type, error) {
			return []mil.Type{c.AnyType("val", 0)}, nil
		},
		Eval: func(c *Call) error {
			c.Return(0, c.Value("val"))
			return nil
		},
		Lower: lowerSame("val"),
	},
	{
		Name:     "cond",
		Doc:      "one of two blocks, chosen by a condition",
		Versions: since(IOS15, In("pred", B)),
		Blocks:   2,
		Infer:    inferCond,
		Eval:     evalCond,
		HostOnly: "no layer chooses between blocks",
	},
	{
		Name:     "while_loop",
		Doc:      "a block repeated while another one, run before each iteration, gives true",
		Versions: since(IOS15, Param{Name: "loop_vars", Kind: AnyValues, Types: AnyType}),
		Blocks:   2,
		Infer:    inferWhile,
		Eval:     evalWhile,
		HostOnly: "no layer repeats a block",
	},
}

func inferCond(c *Call) ([]mil.Type, error) {
	yes, err := c.InferBlock(0, nil)
	if err != nil {
		return nil, err
	}
	no, err := c.InferBlock(1, nil)
	if err != nil {
		return nil, err
	}
	if len(yes) != len(no) {
		return nil, fmt.Errorf("the blocks give %d and %d values", len(yes), len(no))
	}
	for i := range yes {
		if yes[i], err = join(yes[i], no[i]); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	return yes, nil
}

func evalCond(c *Call) error {
	branch := 1
	if c.Bool("pred") {
		branch = 0
	}
	vals, err := c.RunBlock(branch, nil)
	if err != nil {
		return err
	}
	for i, v := range vals {
		c.Return(i, v)
	}
	return nil
}

func inferWhile(c *Call) ([]mil.Type, error) {
	vars := make([]mil.Type, c.Count("loop_vars"))
	for i := range vars {
		vars[i] = c.AnyType("loop_vars", i)
	}
	test, err := c.InferBlock(0, vars)
	if err != nil {
		return nil, err
	}
	if len(test) != 1 || !isCondition(test[0]) {
		return nil, errors.New("the first block must give one bool")
	}
	next, err := c.InferBlock(1, vars)
	if err != nil {
		return nil, err
	}
	if len(next) != len(vars) {
		return nil, fmt.Errorf("the loop has %d variables, but its body gives %d values", len(vars), len(next))
	}
	for i := range vars {
		if vars[i], err = join(vars[i], next[i]); err != nil {
			return nil, fmt.Errorf("loop variable %d: %w", i, err)
		}
	}
	return vars, nil
}

// isCondition reports whether a type is that of one bool: coremltools writes conditions of shape [1] too.
func isCondition(t mil.Type) bool {
	tt, ok := t.(*mil.TensorType)
	if !ok || tt.DType != tensor.Bool {
		return false
	}
	n, known := tt.Shape.Count()
	return !known || n == 1
}

func evalWhile(c *Call) error {
	vars := make([]Value, c.Count("loop_vars"))
	for i := range vars {
		vars[i] = c.ValueAt("loop_vars", i)
	}
	for {
		// The blocks ask before each of their operations, but may have none.
		if err := c.Context().Err(); err != nil {
			return err
		}
		test, err := c.RunBlock(0, vars)
		if err != nil {
			return err
		}
		if !isTrue(test[0]) {
			break
		}
		if vars, err = c.RunBlock(1, vars); err != nil {
			return err
		}
	}
	for i, v := range vars {
		c.Return(i, v)
	}
	return nil
}
