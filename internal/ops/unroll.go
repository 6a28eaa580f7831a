package ops

import (
	"strconv"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The most that unrolling may make of a function: beyond it, a loop is better run as one. What is written in vain, for a
// loop that turns out to be too long, counts as tried: loops in loops could be tried without end.
const (
	maxIterations = 1024
	maxWrittenOut = 20000 // operations
	maxTried      = 4 * maxWrittenOut
)

// Unroll writes control flow out where its way is known before the function runs, for concrete shapes of the
// inputs: a cond whose condition is known becomes one of its blocks, a while_loop whose condition is known in
// every iteration becomes them, one after the other:
//
//	i, x = while_loop(i < 3, {i+1, f(x)}) (0, a)    →    f(f(f(a)))
//
// The result shares inputs and operations with the function, which is not changed; it is the function itself if
// there is nothing to write out.
func Unroll(f *mil.Function, shapes map[string][]int) (*mil.Function, error) {
	if !hasControlFlow(f.Body) {
		return f, nil
	}
	in, err := newInferrer(f)
	if err != nil {
		return nil, err
	}
	if err := in.inputs(shapes); err != nil {
		return nil, err
	}
	u := &unroller{in: in, names: map[string]bool{}, copies: map[string]int{}}
	u.cloner = mil.NewCloner(u.fresh)
	f.Body.Walk(func(op *mil.Operation) {
		for _, v := range op.Outputs {
			u.names[v.Name] = true
		}
	})
	for _, v := range f.Inputs {
		u.names[v.Name] = true
	}
	if err := u.block(f.Body, false); err != nil {
		return nil, err
	}
	if !u.changed {
		return f, nil
	}
	flat := &mil.Function{Name: f.Name, Opset: f.Opset, Inputs: f.Inputs, Attributes: f.Attributes, Body: &mil.Block{Attributes: f.Body.Attributes}}
	for _, v := range f.Body.Outputs {
		flat.Body.Outputs = append(flat.Body.Outputs, u.named(v))
	}
	flat.Body.Operations = u.ops
	return flat, nil
}

func hasControlFlow(b *mil.Block) bool {
	for _, op := range b.Operations {
		if len(op.Blocks) > 0 {
			return true
		}
	}
	return false
}

type unroller struct {
	in      *inferrer
	ops     []*mil.Operation
	cloner  *mil.Cloner // knows what stands for a value of the function
	names   map[string]bool
	copies  map[string]int // of a name, so far
	tried   int            // operations that were written, in vain too
	changed bool
}

// block appends the operations of a block. Those of a nested one are copies, for they may be appended again.
func (u *unroller) block(b *mil.Block, nested bool) error {
	for _, op := range b.Operations {
		if len(op.Blocks) > 0 {
			done, err := u.controlFlow(op)
			if err != nil {
				return err
			}
			if done {
				u.changed = true
				continue
			}
		}
		if nested || u.cloner.Touches(op) {
			op = u.cloner.Operation(op)
		}
		u.ops = append(u.ops, op)
		u.tried++
		if err := u.in.infer(op); err != nil {
			return err
		}
	}
	return nil
}

// controlFlow writes an operation with blocks out, if its way is known.
func (u *unroller) controlFlow(op *mil.Operation) (bool, error) {
	switch op.Kind {
	case "cond":
		pred, known := u.condition(op.Input("pred")[0])
		if !known {
			return false, nil
		}
		taken := op.Blocks[1]
		if pred {
			taken = op.Blocks[0]
		}
		if err := u.block(taken, true); err != nil {
			return false, err
		}
		for i, v := range op.Outputs {
			u.cloner.Stand(u.cloner.Value(taken.Outputs[i]), v)
		}
		return true, nil
	case "while_loop":
		return u.loop(op)
	}
	return false, nil
}

func (u *unroller) loop(op *mil.Operation) (bool, error) {
	before, changed := len(u.ops), u.changed
	vars := make([]*mil.Value, 0, len(op.Outputs))
	for _, a := range op.Input("loop_vars") {
		if a.Value == nil {
			return false, nil
		}
		vars = append(vars, u.cloner.Value(a.Value))
	}
	test, body := op.Blocks[0], op.Blocks[1]
	for range maxIterations {
		u.bind(test.Inputs, vars)
		if err := u.block(test, true); err != nil {
			return false, err
		}
		again, known := u.condition(mil.Arg{Value: test.Outputs[0]})
		if !known || len(u.ops) > maxWrittenOut || u.tried > maxTried {
			break
		}
		if !again {
			u.bind(op.Outputs, vars)
			return true, nil
		}
		u.bind(body.Inputs, vars)
		if err := u.block(body, true); err != nil {
			return false, err
		}
		vars = u.cloner.Values(body.Outputs)
	}
	u.ops, u.changed = u.ops[:before], changed
	return false, nil
}

func (u *unroller) bind(names, vals []*mil.Value) {
	for i, v := range names {
		u.cloner.Stand(vals[i], v)
	}
}

// condition is a bool that is known.
func (u *unroller) condition(a mil.Arg) (value, known bool) {
	var val Value
	if a.Value != nil {
		val = u.in.known[u.cloner.Value(a.Value)].val
	} else if arg, err := u.in.constant(a.Const); err == nil {
		val = arg.val
	}
	t, ok := val.(*tensor.Tensor)
	if !ok || t.Len() != 1 {
		return false, false
	}
	return isTrue(t), true
}

// fresh is a name for a copy of a value. Names are counted: to look for a free one from 1 on would take as long as there
// are iterations, in every iteration.
func (u *unroller) fresh(name string) string {
	for {
		u.copies[name]++
		if candidate := name + "_" + strconv.Itoa(u.copies[name]); !u.names[candidate] {
			u.names[candidate] = true
			return candidate
		}
	}
}

// named is what stands for an output, under the output's name.
func (u *unroller) named(v *mil.Value) *mil.Value {
	by := u.cloner.Value(v)
	if by == v {
		return v
	}
	op := &mil.Operation{Kind: "identity", Inputs: []mil.Input{{Param: "x", Args: []mil.Arg{{Value: by}}}}}
	op.Attributes.Set("name", mil.ConstOf(v.Name))
	out := &mil.Value{Name: v.Name, Type: by.Type, Def: op}
	op.Outputs = []*mil.Value{out}
	u.ops = append(u.ops, op)
	return out
}
