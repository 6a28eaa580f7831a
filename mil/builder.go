package mil

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Builder writes a function, one operation after the other:
//
//	b := mil.NewBuilder("main", "CoreML8")
//	x := b.Input("x", mil.Tensor(tensor.Float32, 1, 3))
//	y := b.Op("mul", "y", x.Type, mil.Args{"x": x, "y": float32(2)})
//	b.Return(y)
//	p, err := b.Program()
//
// It does not know what operations mean, so the caller gives the types of their outputs. The same calls give the
// same program. A name that is taken gets a number. Mistakes are gathered, and Program reports them.
type Builder struct {
	f      *Function
	block  *Block         // where operations go
	taken  map[string]int // names in use, with the number that a second use may get
	errors []error
}

// Args are the arguments of an operation by parameter. An argument is one of
//
//   - a *Value, or for a variadic parameter a []*Value or a []any of arguments;
//   - a *Constant, which is bound in place;
//   - anything that Const takes, which becomes a const operation in front, as compilers write it.
type Args map[string]any

// NewBuilder begins a function; the opset is spelled as in a file: "CoreML8", "ios18".
func NewBuilder(function, opset string) *Builder {
	body := &Block{}
	return &Builder{
		f:     &Function{Name: function, Opset: opset, Body: body},
		block: body,
		taken: map[string]int{},
	}
}

func (b *Builder) fail(op, format string, args ...any) {
	b.errors = append(b.errors, fmt.Errorf("function %s: operation %s: %w", b.f.Name, op, fmt.Errorf(format, args...)))
}

// unique returns the name, with a number if it is taken.
func (b *Builder) unique(name string) string {
	free := name
	for b.taken[free] > 0 {
		free = name + "_" + strconv.Itoa(b.taken[name])
		b.taken[name]++
	}
	b.taken[free] = 1
	return free
}

// Input adds an input of the function.
func (b *Builder) Input(name string, t Type) *Value {
	if b.taken[name] > 0 {
		b.errors = append(b.errors, fmt.Errorf("function %s: input %q is not the first value of that name", b.f.Name, name))
	}
	b.taken[name] = 1
	v := &Value{Name: name, Type: t}
	b.f.Inputs = append(b.f.Inputs, v)
	return v
}

// Const adds a const operation. The value is a *tensor.Tensor, a *Constant, or a Go bool, string or number, or a
// slice of them for rank 1. int and float64, the types of Go's untyped constants, become int32 and fp32;
// every other type keeps its width.
func (b *Builder) Const(name string, value any) *Value {
	c, err := constantOf(value)
	if err != nil {
		b.fail(name, "%w", err)
		c = ConstOf(false)
	}
	op := &Operation{Kind: "const"}
	op.Attributes.Set("val", c)
	b.place(op, name, []Type{c.Type})
	return op.Outputs[0]
}

// Op adds an operation with one output.
func (b *Builder) Op(kind, name string, t Type, args Args) *Value {
	return b.Add(Spec{Kind: kind, Name: name, Outputs: []Type{t}, Args: args})[0]
}

// Do adds an operation without outputs.
func (b *Builder) Do(kind string, args Args) { b.Add(Spec{Kind: kind, Args: args}) }

// Spec describes an operation in full.
type Spec struct {
	Kind       string
	Name       string // of the output, and what those of several outputs begin with; Kind if empty
	Outputs    []Type
	Args       Args
	Attributes map[string]any // what Const takes, beside "name"
	Blocks     []BlockSpec
}

// BlockSpec describes a nested block. Body adds the operations, with the same builder, and returns the
// outputs of the block.
type BlockSpec struct {
	Inputs []*Value // made by the caller, without Def; Add gives them names that are free
	Body   func() []*Value
}

// Add adds an operation and returns its outputs.
func (b *Builder) Add(s Spec) []*Value {
	op := &Operation{Kind: s.Kind}
	name := s.Name
	if name == "" {
		name = s.Kind
	}
	for _, param := range slices.Sorted(maps.Keys(s.Args)) {
		op.Inputs = append(op.Inputs, Input{Param: param, Args: b.arguments(name, param, s.Args[param])})
	}
	for _, attr := range slices.Sorted(maps.Keys(s.Attributes)) {
		c, err := constantOf(s.Attributes[attr])
		if err != nil {
			b.fail(name, "attribute %q: %w", attr, err)
			continue
		}
		op.Attributes.Set(attr, c)
	}
	outer := b.block
	for _, spec := range s.Blocks {
		block := &Block{Inputs: spec.Inputs}
		for _, in := range spec.Inputs {
			in.Name = b.unique(in.Name)
		}
		b.block = block
		block.Outputs = spec.Body()
		op.Blocks = append(op.Blocks, block)
	}
	b.block = outer
	b.place(op, name, s.Outputs)
	return op.Outputs
}

// place names the outputs of an operation and appends it to the block.
func (b *Builder) place(op *Operation, name string, types []Type) {
	if len(types) == 1 {
		name = b.unique(name)
	}
	op.Attributes.Set("name", ConstOf(name))
	for i, t := range types {
		out := name
		if len(types) > 1 {
			out = b.unique(name + "_" + strconv.Itoa(i))
		}
		op.Outputs = append(op.Outputs, &Value{Name: out, Type: t, Def: op})
	}
	b.block.Operations = append(b.block.Operations, op)
}

// arguments turns what the caller gave for a parameter into what it is bound to.
func (b *Builder) arguments(op, param string, arg any) []Arg {
	switch arg := arg.(type) {
	case []*Value:
		args := make([]Arg, len(arg))
		for i, v := range arg {
			args[i] = b.argument(op, param, v)
		}
		return args
	case []any:
		args := make([]Arg, len(arg))
		for i, a := range arg {
			args[i] = b.argument(op, param, a)
		}
		return args
	}
	return []Arg{b.argument(op, param, arg)}
}

func (b *Builder) argument(op, param string, arg any) Arg {
	switch arg := arg.(type) {
	case *Value:
		if arg == nil {
			b.fail(op, "parameter %q: the value is nil", param)
		}
		return Arg{Value: arg}
	case *Constant:
		if arg == nil {
			b.fail(op, "parameter %q: the constant is nil", param)
		}
		return Arg{Const: arg}
	}
	c, err := constantOf(arg)
	if err != nil {
		b.fail(op, "parameter %q: %w", param, err)
		return Arg{}
	}
	return Arg{Value: b.Const(op+"_"+param+"_0", c)}
}

// Cond adds a cond: the outputs of one of the two blocks, by the value of pred.
func (b *Builder) Cond(name string, outputs []Type, pred *Value, then, otherwise func() []*Value) []*Value {
	return b.Add(Spec{Kind: "cond", Name: name, Outputs: outputs, Args: Args{"pred": pred},
		Blocks: []BlockSpec{{Body: then}, {Body: otherwise}}})
}

// While adds a while_loop: body gives the loop variables of the next turn as long as test gives true. The
// variables keep the types of the values that they begin with.
func (b *Builder) While(name string, vars []*Value, test func(vars []*Value) *Value, body func(vars []*Value) []*Value) []*Value {
	types := make([]Type, len(vars))
	for i, v := range vars {
		if v == nil {
			b.fail(name, "loop variable %d is nil", i)
			return make([]*Value, len(vars))
		}
		types[i] = v.Type
	}
	inside := func() []*Value {
		in := make([]*Value, len(vars))
		for i, v := range vars {
			in[i] = &Value{Name: v.Name + "_x", Type: v.Type}
		}
		return in
	}
	testVars, bodyVars := inside(), inside()
	return b.Add(Spec{Kind: "while_loop", Name: name, Outputs: types, Args: Args{"loop_vars": vars},
		Blocks: []BlockSpec{
			{Inputs: testVars, Body: func() []*Value { return []*Value{test(testVars)} }},
			{Inputs: bodyVars, Body: func() []*Value { return body(bodyVars) }},
		}})
}

// Return ends the function.
func (b *Builder) Return(outputs ...*Value) {
	if b.block != b.f.Body {
		b.errors = append(b.errors, fmt.Errorf("function %s: Return in a nested block", b.f.Name))
	}
	b.f.Body.Outputs = outputs
}

// Program returns a program of this function alone.
func (b *Builder) Program() (*Program, error) { return Build(b) }

// Build returns the program of several functions, in the order of their names, or every mistake that was
// made. What it returns passes Verify.
func Build(functions ...*Builder) (*Program, error) {
	p := &Program{Version: "1.3"}
	var errs []error
	for _, b := range functions {
		errs = append(errs, b.errors...)
		p.Functions = append(p.Functions, b.f)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortStableFunc(p.Functions, func(f, g *Function) int { return strings.Compare(f.Name, g.Name) })
	if err := Verify(p); err != nil {
		return nil, err
	}
	return p, nil
}
