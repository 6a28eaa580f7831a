package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Verify holds every operation of a program against the catalogue: its signature, and the declared type of
// each output against the one that the type rule gives. mil.Verify is the structural half. The
// program's weight files need not be there. Operations that the catalogue does not have are named all at once.
func Verify(p *mil.Program) error {
	var unknown []error
	for _, f := range p.Functions {
		unknown = append(unknown, unknownOperations(f)...)
	}
	if err := errors.Join(unknown...); err != nil {
		return err
	}
	for _, f := range p.Functions {
		if _, err := Infer(f); err != nil {
			return err
		}
	}
	return nil
}

// unknownOperations names the operations of a function that nothing can run: those that are not in the catalogue, or not
// in the function's opset.
func unknownOperations(f *mil.Function) (unknown []error) {
	o, err := ParseOpset(f.Opset)
	if err != nil {
		return nil // inference names it
	}
	f.Body.Walk(func(op *mil.Operation) {
		if _, _, err := version(op.Kind, o); err != nil {
			unknown = append(unknown, &Error{Function: f.Name, Op: op, Err: err})
		}
	})
	return unknown
}

// Infer returns the type of every value of a function: the declared one, refined by what the type rules
// give. Each unknown length of an input becomes a symbol.
func Infer(f *mil.Function) (map[*mil.Value]mil.Type, error) {
	a, err := Analyze(f, nil)
	if err != nil {
		return nil, err
	}
	types := make(map[*mil.Value]mil.Type, len(a.in.known))
	for v, a := range a.in.known {
		types[v] = a.typ
	}
	return types, nil
}

type inferrer struct {
	f       *mil.Function
	opset   Opset
	known   map[*mil.Value]argument
	symbols int
}

func newInferrer(f *mil.Function) (*inferrer, error) {
	o, err := ParseOpset(f.Opset)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.Name, err)
	}
	return &inferrer{f: f, opset: o, known: map[*mil.Value]argument{}}, nil
}

func (in *inferrer) withSymbols(t mil.Type) mil.Type {
	tt, ok := t.(*mil.TensorType)
	if !ok || tt.Shape.Known() {
		return t
	}
	shape := make(tensor.Shape, len(tt.Shape))
	for i, d := range tt.Shape {
		if d == tensor.Unknown {
			d = tensor.Symbol(in.symbols)
			in.symbols++
		}
		shape[i] = d
	}
	return &mil.TensorType{DType: tt.DType, Shape: shape, AnyRank: tt.AnyRank}
}

func (in *inferrer) block(b *mil.Block) error {
	for _, op := range b.Operations {
		if err := in.infer(op); err != nil {
			return err
		}
	}
	return nil
}

// infer gives the results of an operation their types, and an error the operation's name.
func (in *inferrer) infer(op *mil.Operation) error {
	err := in.operation(op)
	if _, nested := errors.AsType[*Error](err); err == nil || nested {
		return err // from a nested block: the innermost operation is the one to name
	}
	return &Error{Function: in.f.Name, Op: op, Err: err}
}

func (in *inferrer) operation(op *mil.Operation) error {
	c, err := bind(op, in.opset, in)
	if err != nil {
		return err
	}
	c.blocks = in
	types, err := in.outputTypes(c)
	if err != nil {
		return err
	}
	if len(types) != len(op.Outputs) {
		return fmt.Errorf("the operation has %d outputs, found %d", len(types), len(op.Outputs))
	}
	for i, out := range op.Outputs {
		if !mil.Compatible(types[i], out.Type) {
			return fmt.Errorf("value %q is declared %v, but the operation gives %v", out.Name, out.Type, types[i])
		}
		in.known[out] = argument{typ: refine(types[i], out.Type), fixed: c.fixed()}
	}
	in.fold(c)
	return nil
}

// outputTypes applies the type rule. Where an argument's rank is open, or a constant that the rule needs
// is in a file that is not there, the declared types stand.
func (in *inferrer) outputTypes(c *Call) ([]mil.Type, error) {
	for i := range c.version.Params {
		p := &c.version.Params[i]
		for _, a := range c.args[p.Name] {
			if t, ok := a.typ.(*mil.TensorType); ok && t.AnyRank || p.Const && a.val == nil && !isBulk(a.typ) && !a.mutable {
				return declaredTypes(c.Op), nil
			}
		}
	}
	return c.infer()
}

func declaredTypes(op *mil.Operation) []mil.Type {
	types := make([]mil.Type, len(op.Outputs))
	for i, v := range op.Outputs {
		types[i] = v.Type
	}
	return types
}

func (c *Call) infer() ([]mil.Type, error) {
	if c.version.Infer != nil {
		return c.version.Infer(c)
	}
	return c.Def.Infer(c)
}

func (c *Call) eval() error {
	if c.version.Eval != nil {
		return c.version.Eval(c)
	}
	return c.Def.Eval(c)
}

// fixed reports whether the results are known when the program is compiled.
func (c *Call) fixed() bool {
	for _, args := range c.args {
		for i := range args {
			if !args[i].fixed {
				return false
			}
		}
	}
	return !c.Def.Impure && len(c.Op.Blocks) == 0
}

// foldLimit bounds the arrays that verification computes: shapes, axes and indices, not weights.
const foldLimit = 4096

// fold computes the outputs of an operation whose arguments are known, if they are small: programs compute
// shapes and axes, and type rules want their values.
func (in *inferrer) fold(c *Call) {
	if c.Op.Kind == "const" {
		a := in.known[c.Op.Outputs[0]]
		a.val = c.Value("val")
		in.known[c.Op.Outputs[0]] = a
		return
	}
	if c.Def.Impure || len(c.Op.Blocks) > 0 {
		return
	}
	for _, args := range c.args {
		for i := range args {
			if args[i].val == nil && !(c.Def.FromTypes && hasShape(args[i].typ)) {
				return
			}
		}
	}
	for _, v := range c.Op.Outputs {
		t, ok := in.known[v].typ.(*mil.TensorType)
		if !ok {
			return
		}
		if n, ok := t.Shape.Count(); !ok || n > foldLimit {
			return
		}
		c.outs = append(c.outs, t)
	}
	c.memory = foldMemory
	if c.work() > foldWork || c.eval() != nil {
		return // the evaluation will say so, should it come to that
	}
	for i, v := range c.Op.Outputs {
		if i < len(c.results) {
			a := in.known[v]
			a.val, _ = store(nil, c.results[i], a.typ, Virtual)
			in.known[v] = a
		}
	}
}

func hasShape(t mil.Type) bool {
	tt, ok := t.(*mil.TensorType)
	return ok && !tt.AnyRank && tt.Shape.Known()
}

func (in *inferrer) value(v *mil.Value) (argument, error) {
	if a, ok := in.known[v]; ok {
		return a, nil
	}
	return argument{}, fmt.Errorf("value %q is used before it is defined", v.Name)
}

// constant loads what type rules may ask for, and leaves weights where they are.
func (in *inferrer) constant(k *mil.Constant) (argument, error) {
	a := argument{typ: k.Type, fixed: true}
	if isBulk(k.Type) || k.Mutable {
		a.mutable = k.Mutable
		return a, nil
	}
	if k.File != nil && k.File.Files == nil {
		return a, nil
	}
	val, err := constantValue(k)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	a.val = val
	return a, err
}

// isBulk tells weights from parameters: no type rule looks at their values.
func isBulk(t mil.Type) bool {
	tt, ok := t.(*mil.TensorType)
	if !ok {
		return false
	}
	n, ok := tt.Shape.Count()
	return !ok || n > foldLimit || n > 64 && !tt.DType.IsInteger() && tt.DType.Kind() != tensor.KindBool
}

func (in *inferrer) inferBlock(b *mil.Block, args []mil.Type) ([]mil.Type, error) {
	if len(args) != len(b.Inputs) {
		return nil, fmt.Errorf("a nested block has %d inputs, expected %d", len(b.Inputs), len(args))
	}
	for i, v := range b.Inputs {
		if !mil.Compatible(v.Type, args[i]) {
			return nil, fmt.Errorf("the input %q of a nested block is declared %v, but is given %v", v.Name, v.Type, args[i])
		}
		// A loop may change lengths from iteration to iteration: what the block declares holds, no more.
		in.known[v] = argument{typ: v.Type}
	}
	if err := in.block(b); err != nil {
		return nil, err
	}
	out := make([]mil.Type, len(b.Outputs))
	for i, v := range b.Outputs {
		a, err := in.value(v)
		if err != nil {
			return nil, err
		}
		out[i] = a.typ
	}
	return out, nil
}

// refine joins an inferred and a compatible declared type: known lengths first, then symbols.
func refine(inferred, declared mil.Type) mil.Type {
	a, ok := inferred.(*mil.TensorType)
	b, ok2 := declared.(*mil.TensorType)
	if !ok || !ok2 || a.Shape.Known() && !a.AnyRank {
		return inferred
	}
	if a.AnyRank || b.AnyRank {
		if b.AnyRank {
			return a
		}
		return b
	}
	shape := make(tensor.Shape, len(a.Shape))
	for i := range shape {
		shape[i] = a.Shape[i]
		if b.Shape[i].Known() {
			shape[i] = b.Shape[i]
		}
	}
	return &mil.TensorType{DType: a.DType, Shape: shape}
}

func (in *inferrer) runBlock(context.Context, *mil.Block, []Value) ([]Value, error) {
	panic("bug: operations with blocks are not folded")
}
