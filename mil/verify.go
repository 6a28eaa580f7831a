package mil

import (
	"fmt"
	"slices"
)

// VerifyError says what is wrong with the structure of a program, and where.
type VerifyError struct {
	Function string     // "" if it is not in a function
	Op       *Operation // nil if it is not in an operation
	Value    string     // the value that is to blame; "" if none is
	Msg      string
}

func (e *VerifyError) Error() string {
	s := ""
	if e.Function != "" {
		s += "function " + e.Function + ": "
	}
	if e.Op != nil {
		s += "operation " + describe(e.Op)
		if pos := e.Op.Pos.String(); pos != "" {
			s += ", " + pos
		}
		s += ": "
	}
	return s + e.Msg
}

// Verify checks the structure of a program: every name is there and unique, every value is defined once and
// before its uses, in a block that sees them, every type is complete, every constant has the size and type that
// it declares, every function returns something. What operations mean is the catalogue's business
// (internal/ops). The error is a *VerifyError and names the operation.
func Verify(p *Program) error {
	v := &verifier{}
	v.program(p)
	if v.err != nil {
		return v.err
	}
	return nil
}

// verifier keeps the first error.
type verifier struct {
	function string
	op       *Operation
	scope    *names
	defined  map[*Value]bool // every value of the function, in scope or not
	err      *VerifyError
}

// names are the values that a block and the ones around it define.
type names struct {
	outer  *names
	values map[string]*Value
}

func (n *names) find(name string) *Value {
	for ; n != nil; n = n.outer {
		if v := n.values[name]; v != nil {
			return v
		}
	}
	return nil
}

func (v *verifier) fail(format string, args ...any) { v.failValue("", format, args...) }

func (v *verifier) failValue(value, format string, args ...any) {
	if v.err == nil {
		v.err = &VerifyError{Function: v.function, Op: v.op, Value: value, Msg: fmt.Sprintf(format, args...)}
	}
}

func (v *verifier) program(p *Program) {
	if !isVersion(p.Version) {
		v.fail("the version of the program is %q: expected a number such as 1.3", p.Version)
	}
	v.attributes(p.Attributes, 0)
	var functions nameSet
	for _, f := range p.Functions {
		switch {
		case f == nil || f.Name == "":
			v.fail("a function has no name")
		case !functions.add(f.Name):
			v.fail("function %q is defined twice", f.Name)
		default:
			v.function = f.Name
			v.body(f)
			v.function = ""
		}
		if v.err != nil {
			return
		}
	}
}

func (v *verifier) body(f *Function) {
	v.defined = map[*Value]bool{}
	v.scope = &names{values: map[string]*Value{}}
	if f.Opset == "" {
		v.fail("the function has no opset")
	}
	v.attributes(f.Attributes, 0)
	for _, in := range f.Inputs {
		v.define(in, nil, "an input of the function", 0)
	}
	switch {
	case f.Body == nil:
		v.fail("the function has no body")
		return
	case len(f.Body.Inputs) > 0:
		v.fail("the body of the function has inputs of its own")
	}
	v.block(f.Body, 1)
	if len(f.Body.Outputs) == 0 && !slices.ContainsFunc(f.Inputs, isState) { // one that writes a state has done something
		v.fail("the function returns nothing: its return, \"-> (…)\", is missing or empty")
	}
}

func isState(v *Value) bool {
	_, state := v.Type.(*StateType)
	return state
}

// define notes a value and puts its name in scope.
func (v *verifier) define(val *Value, op *Operation, what string, depth int) {
	switch {
	case val == nil:
		v.fail("%s is nil", what)
		return
	case val.Name == "":
		v.fail("%s has no name", what)
	case v.defined[val] || v.scope.find(val.Name) != nil:
		v.failValue(val.Name, "value %q is defined a second time", val.Name)
	case val.Def != op:
		v.failValue(val.Name, "value %q does not know the operation that defines it", val.Name)
	}
	if msg := checkType(val.Type, depth); msg != "" {
		v.failValue(val.Name, "value %q: %s", val.Name, msg)
	}
	v.defined[val] = true
	v.scope.values[val.Name] = val
}

// use checks that a value is in scope.
func (v *verifier) use(val *Value, what string) {
	if val == nil {
		v.fail("%s is nil", what)
		return
	}
	switch found := v.scope.find(val.Name); {
	case found == val:
	case found != nil:
		v.failValue(val.Name, "%s is a value %q, but not the one that is defined here", what, val.Name)
	case v.defined[val]:
		v.failValue(val.Name, "%s is value %q, which is out of scope: a block that does not contain the use defines it", what, val.Name)
	default:
		v.failValue(val.Name, "%s is value %q, which is not defined before its use", what, val.Name)
	}
}

func (v *verifier) block(b *Block, depth int) {
	if depth > maxNesting {
		v.fail("blocks are nested more than %d levels deep", maxNesting)
		return
	}
	v.attributes(b.Attributes, depth)
	for _, in := range b.Inputs {
		v.define(in, nil, "an input of a block", depth)
	}
	around := v.op
	for _, op := range b.Operations {
		if op == nil {
			v.fail("an operation is nil")
			return
		}
		v.op = op
		v.operation(op, depth)
		v.op = around
		if v.err != nil {
			return
		}
	}
	for _, out := range b.Outputs {
		v.use(out, "an output of the block")
	}
}

func (v *verifier) operation(op *Operation, depth int) {
	if op.Kind == "" {
		v.fail("the operation has no kind")
	}
	var params nameSet
	for i := range op.Inputs {
		in := &op.Inputs[i]
		switch {
		case in.Param == "":
			v.fail("a parameter has no name")
		case !params.add(in.Param):
			v.fail("parameter %q is given twice", in.Param)
		}
		for _, a := range in.Args {
			switch {
			case (a.Value == nil) == (a.Const == nil):
				v.fail("parameter %q must be bound to a value or to a constant, to one of the two", in.Param)
			case a.Value != nil:
				v.use(a.Value, fmt.Sprintf("parameter %q", in.Param))
			default:
				if msg := checkConstant(a.Const, depth); msg != "" {
					v.fail("parameter %q: %s", in.Param, msg)
				}
			}
		}
	}
	v.attributes(op.Attributes, depth)
	for _, b := range op.Blocks {
		if b == nil {
			v.fail("a block is nil")
			return
		}
		v.scope = &names{outer: v.scope, values: map[string]*Value{}}
		v.block(b, depth+1)
		v.scope = v.scope.outer
	}
	for _, out := range op.Outputs {
		v.define(out, op, "an output", depth)
	}
	if op.Kind == "const" {
		v.constOperation(op)
	}
}

// constOperation checks the one operation that is part of the structure: it turns a constant into a value.
func (v *verifier) constOperation(op *Operation) {
	val := op.Attributes.Get("val")
	switch {
	case v.err != nil:
	case val == nil:
		v.fail("a const needs the attribute \"val\"")
	case len(op.Outputs) != 1:
		v.fail("a const has 1 output, found %d", len(op.Outputs))
	case !Equal(val.Type, op.Outputs[0].Type):
		out := op.Outputs[0]
		v.failValue(out.Name, "value %q is declared %v, but its constant is %v", out.Name, out.Type, val.Type)
	}
}

func (v *verifier) attributes(attrs Attributes, depth int) {
	var seen nameSet
	for _, a := range attrs {
		switch {
		case a.Name == "":
			v.fail("an attribute has no name")
		case !seen.add(a.Name):
			v.fail("attribute %q is given twice", a.Name)
		}
		if msg := checkConstant(a.Value, depth); msg != "" {
			v.fail("attribute %q: %s", a.Name, msg)
		}
	}
}
