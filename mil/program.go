package mil

import "strconv"

// Program is a set of functions.
type Program struct {
	Version    string // "1", "1.0" … "1.3"; the protobuf form counts 1
	Attributes Attributes
	Functions  []*Function // in the order of their names, unless a reader has a better one
}

// Function finds a function by name; nil if there is none.
func (p *Program) Function(name string) *Function {
	for _, f := range p.Functions {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Function is a callable body.
type Function struct {
	Name       string
	Opset      string   // as the file spells it: "CoreML5", "ios15"
	Inputs     []*Value // no Def
	Attributes Attributes
	Body       *Block // its Inputs are empty: the function's inputs are in scope
}

// OpenInputs are the inputs whose shapes the function leaves open: who runs it chooses them.
func (f *Function) OpenInputs() []*Value {
	var open []*Value
	for _, v := range f.Inputs {
		if t, ok := v.Type.(*TensorType); ok && (t.AnyRank || !t.Shape.Known()) {
			open = append(open, v)
		}
	}
	return open
}

// Block is a sequence of operations. A nested block sees the values of the blocks around it.
type Block struct {
	Inputs     []*Value // the loop variables of a while_loop's blocks
	Operations []*Operation
	Outputs    []*Value
	Attributes Attributes
}

// Operation applies an operation of the catalogue to values.
type Operation struct {
	Kind       string // "conv"
	Inputs     []Input
	Outputs    []*Value
	Blocks     []*Block
	Attributes Attributes // "name", for const also "val"
	Pos        Pos
}

// Pos says where in a file something was read: a line of a text, or a byte of a binary file.
type Pos struct {
	Line, Column int   // of a text, from 1
	Offset       int64 // of a binary file
}

// String returns "line 3:14", "byte 0x40", or "" for what was not read from a file.
func (p Pos) String() string {
	switch {
	case p.Line > 0:
		return "line " + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
	case p.Offset > 0:
		return "byte 0x" + strconv.FormatInt(p.Offset, 16)
	}
	return ""
}

// Input binds a parameter of an operation to one argument, or to several for a variadic parameter.
type Input struct {
	Param string
	Args  []Arg
}

// Arg is what a parameter is bound to: a value of the program, or a constant written in place.
type Arg struct {
	Value *Value // one of the two is set
	Const *Constant
}

// Type is the type of the argument.
func (a Arg) Type() Type {
	if a.Value != nil {
		return a.Value.Type
	}
	return a.Const.Type
}

// Value is defined once and may be used many times.
type Value struct {
	Name string
	Type Type
	Def  *Operation // nil for the inputs of functions and blocks
}

// Const returns the constant that defines v, if v is the output of a const operation.
func (v *Value) Const() *Constant {
	if v.Def == nil || v.Def.Kind != "const" {
		return nil
	}
	return v.Def.Attributes.Get("val")
}

// Input finds the arguments bound to a parameter; nil if it is not bound.
func (op *Operation) Input(param string) []Arg {
	for i := range op.Inputs {
		if op.Inputs[i].Param == param {
			return op.Inputs[i].Args
		}
	}
	return nil
}

// Name is what messages call the operation: the name of its first output, which is unique, or for an
// operation without outputs its name attribute, or its kind.
func (op *Operation) Name() string {
	if len(op.Outputs) > 0 && op.Outputs[0].Name != "" {
		return op.Outputs[0].Name
	}
	if c := op.Attributes.Get("name"); c != nil {
		if s, ok := c.Str(); ok && s != "" {
			return s
		}
	}
	return op.Kind
}

// Attributes are named constants, sorted by name.
type Attributes []Attribute

// Attribute is a named constant.
type Attribute struct {
	Name  string
	Value *Constant
}

// Get finds an attribute; nil if there is none.
func (a Attributes) Get(name string) *Constant {
	for i := range a {
		if a[i].Name == name {
			return a[i].Value
		}
	}
	return nil
}

// Set adds or replaces an attribute, keeping the order of the names.
func (a *Attributes) Set(name string, v *Constant) {
	i := 0
	for i < len(*a) && (*a)[i].Name < name {
		i++
	}
	if i < len(*a) && (*a)[i].Name == name {
		(*a)[i].Value = v
		return
	}
	*a = append(*a, Attribute{})
	copy((*a)[i+1:], (*a)[i:])
	(*a)[i] = Attribute{name, v}
}

// Walk calls f for each operation of the block and of the blocks nested in it, in program order, an
// operation before its blocks.
func (b *Block) Walk(f func(*Operation)) {
	for _, op := range b.Operations {
		f(op)
		for _, nested := range op.Blocks {
			nested.Walk(f)
		}
	}
}

// VisitUses calls f for each value that the operation reads, itself or in its nested blocks, with repetitions.
// Values that a nested block defines and uses are among them.
func (op *Operation) VisitUses(f func(*Value)) {
	for _, in := range op.Inputs {
		for _, a := range in.Args {
			if a.Value != nil {
				f(a.Value)
			}
		}
	}
	for _, b := range op.Blocks {
		for _, inner := range b.Operations {
			inner.VisitUses(f)
		}
		for _, v := range b.Outputs {
			f(v)
		}
	}
}

// VisitConstants calls f for each constant that the operation itself holds: its attributes, and arguments written in
// place.
func (op *Operation) VisitConstants(f func(*Constant)) {
	for _, a := range op.Attributes {
		f(a.Value)
	}
	for _, in := range op.Inputs {
		for _, a := range in.Args {
			if a.Const != nil {
				f(a.Const)
			}
		}
	}
}
