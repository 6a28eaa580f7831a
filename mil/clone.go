package mil

// A Cloner copies operations into another function, where other values stand for those that they read.
type Cloner struct {
	by     map[*Value]*Value
	rename func(string) string
}

// NewCloner makes a Cloner. The results of copied operations are named by rename; nil keeps their names.
func NewCloner(rename func(string) string) *Cloner {
	if rename == nil {
		rename = func(name string) string { return name }
	}
	return &Cloner{map[*Value]*Value{}, rename}
}

// Stand has one value stand for another from now on.
func (c *Cloner) Stand(by, v *Value) { c.by[v] = by }

// Value returns what stands for a value: itself if nothing does.
func (c *Cloner) Value(v *Value) *Value {
	if by := c.by[v]; by != nil {
		return by
	}
	return v
}

// Values does as Value, for several.
func (c *Cloner) Values(vs []*Value) []*Value {
	by := make([]*Value, len(vs))
	for i, v := range vs {
		by[i] = c.Value(v)
	}
	return by
}

// Touches reports whether an operation reads a value for which another stands.
func (c *Cloner) Touches(op *Operation) bool {
	found := false
	op.VisitUses(func(v *Value) { found = found || c.by[v] != nil })
	return found
}

// Operation copies an operation with its blocks. Its results stand for the old ones.
func (c *Cloner) Operation(op *Operation) *Operation {
	made := *op
	made.Inputs = make([]Input, len(op.Inputs))
	for i, in := range op.Inputs {
		made.Inputs[i] = Input{Param: in.Param, Args: make([]Arg, len(in.Args))}
		for j, a := range in.Args {
			if a.Value != nil {
				a.Value = c.Value(a.Value)
			}
			made.Inputs[i].Args[j] = a
		}
	}
	made.Blocks = make([]*Block, len(op.Blocks))
	for i, b := range op.Blocks {
		made.Blocks[i] = c.block(b)
	}
	made.Outputs = make([]*Value, len(op.Outputs))
	for i, v := range op.Outputs {
		made.Outputs[i] = &Value{Name: c.rename(v.Name), Type: v.Type, Def: &made}
		c.by[v] = made.Outputs[i]
	}
	return &made
}

func (c *Cloner) block(b *Block) *Block {
	made := &Block{Attributes: b.Attributes}
	for _, v := range b.Inputs {
		in := &Value{Name: c.rename(v.Name), Type: v.Type}
		c.by[v] = in
		made.Inputs = append(made.Inputs, in)
	}
	for _, op := range b.Operations {
		made.Operations = append(made.Operations, c.Operation(op))
	}
	made.Outputs = c.Values(b.Outputs)
	return made
}
