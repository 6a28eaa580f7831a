package mil

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// EqualPrograms reports whether two programs are the same: versions, names, kinds, types, parameters, attributes
// and blocks, which value goes where, and constants, bit for bit in the program and by path and offset in files.
// Where they were read from does not matter, nor does the order of functions and parameters. The error names
// the first difference; it is nil if there is none.
func EqualPrograms(a, b *Program) error {
	if a.Version != b.Version {
		return fmt.Errorf("version %s ≠ %s", a.Version, b.Version)
	}
	if err := equalAttributes(a.Attributes, b.Attributes); err != nil {
		return err
	}
	if len(a.Functions) != len(b.Functions) {
		return fmt.Errorf("%d functions ≠ %d", len(a.Functions), len(b.Functions))
	}
	byName := make(map[string]*Function, len(b.Functions))
	for _, g := range b.Functions {
		byName[g.Name] = g
	}
	for _, f := range a.Functions {
		g := byName[f.Name]
		if g == nil {
			return fmt.Errorf("function %s is missing", f.Name)
		}
		c := comparer{same: map[*Value]*Value{}}
		if err := c.functions(f, g); err != nil {
			return fmt.Errorf("function %s: %w", f.Name, err)
		}
	}
	return nil
}

// comparer walks through two functions side by side.
type comparer struct {
	same map[*Value]*Value // a value of the first function, and the value of the second in its place
}

func (c *comparer) functions(f, g *Function) error {
	if f.Opset != g.Opset {
		return fmt.Errorf("opset %s ≠ %s", f.Opset, g.Opset)
	}
	if err := c.define("input", f.Inputs, g.Inputs); err != nil {
		return err
	}
	if err := equalAttributes(f.Attributes, g.Attributes); err != nil {
		return err
	}
	if f.Body == nil || g.Body == nil {
		if f.Body != g.Body {
			return errors.New("a body is missing")
		}
		return nil
	}
	return c.blocks(f.Body, g.Body)
}

func (c *comparer) define(what string, as, bs []*Value) error {
	if len(as) != len(bs) {
		return fmt.Errorf("%d %ss ≠ %d", len(as), what, len(bs))
	}
	for i, a := range as {
		b := bs[i]
		switch {
		case a.Name != b.Name:
			return fmt.Errorf("%s %d: value %q ≠ %q", what, i, a.Name, b.Name)
		case !Equal(a.Type, b.Type):
			return fmt.Errorf("%s %q: %v ≠ %v", what, a.Name, a.Type, b.Type)
		}
		c.same[a] = b
	}
	return nil
}

func (c *comparer) blocks(a, b *Block) error {
	if err := c.define("block input", a.Inputs, b.Inputs); err != nil {
		return err
	}
	if err := equalAttributes(a.Attributes, b.Attributes); err != nil {
		return err
	}
	for i := range min(len(a.Operations), len(b.Operations)) {
		if err := c.operations(a.Operations[i], b.Operations[i]); err != nil {
			return fmt.Errorf("operation %s: %w", describe(a.Operations[i]), err)
		}
	}
	if len(a.Operations) != len(b.Operations) {
		return fmt.Errorf("%d operations ≠ %d", len(a.Operations), len(b.Operations))
	}
	if len(a.Outputs) != len(b.Outputs) {
		return fmt.Errorf("%d block outputs ≠ %d", len(a.Outputs), len(b.Outputs))
	}
	for i, v := range a.Outputs {
		if c.same[v] != b.Outputs[i] {
			return fmt.Errorf("block output %d: value %q ≠ %q", i, v.Name, b.Outputs[i].Name)
		}
	}
	return nil
}

// describe is what messages call an operation: "y (conv)".
func describe(op *Operation) string {
	if name := op.Name(); name != op.Kind {
		return name + " (" + op.Kind + ")"
	}
	return op.Kind
}

func (c *comparer) operations(a, b *Operation) error {
	if a.Kind != b.Kind {
		return fmt.Errorf("kind %s ≠ %s", a.Kind, b.Kind)
	}
	if len(a.Inputs) != len(b.Inputs) {
		return fmt.Errorf("%d parameters ≠ %d", len(a.Inputs), len(b.Inputs))
	}
	as, bs := sortedInputs(a), sortedInputs(b)
	for i := range as {
		if as[i].Param != bs[i].Param {
			return fmt.Errorf("parameter %s ≠ %s", as[i].Param, bs[i].Param)
		}
		if err := c.arguments(as[i].Args, bs[i].Args); err != nil {
			return fmt.Errorf("parameter %s: %w", as[i].Param, err)
		}
	}
	if err := equalAttributes(a.Attributes, b.Attributes); err != nil {
		return err
	}
	if len(a.Blocks) != len(b.Blocks) {
		return fmt.Errorf("%d blocks ≠ %d", len(a.Blocks), len(b.Blocks))
	}
	for i := range a.Blocks {
		if err := c.blocks(a.Blocks[i], b.Blocks[i]); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	return c.define("output", a.Outputs, b.Outputs)
}

// sortedInputs returns the inputs by name; two with the same name stay in their order.
func sortedInputs(op *Operation) []Input {
	in := slices.Clone(op.Inputs)
	slices.SortStableFunc(in, func(a, b Input) int { return strings.Compare(a.Param, b.Param) })
	return in
}

func (c *comparer) arguments(as, bs []Arg) error {
	if len(as) != len(bs) {
		return fmt.Errorf("%d arguments ≠ %d", len(as), len(bs))
	}
	for i, a := range as {
		b := bs[i]
		if (a.Value == nil) != (b.Value == nil) || (a.Const == nil) != (b.Const == nil) {
			return errors.New("a value ≠ a constant")
		}
		if a.Value != nil && c.same[a.Value] != b.Value {
			return fmt.Errorf("value %q ≠ %q", a.Value.Name, b.Value.Name)
		}
		if err := equalConstants(a.Const, b.Const); err != nil {
			return err
		}
	}
	return nil
}

func equalAttributes(as, bs Attributes) error {
	for i := range max(len(as), len(bs)) {
		switch {
		case i >= len(bs) || i < len(as) && as[i].Name < bs[i].Name:
			return fmt.Errorf("attribute %s is missing in the second", as[i].Name)
		case i >= len(as) || as[i].Name > bs[i].Name:
			return fmt.Errorf("attribute %s is missing in the first", bs[i].Name)
		}
		if err := equalConstants(as[i].Value, bs[i].Value); err != nil {
			return fmt.Errorf("attribute %s: %w", as[i].Name, err)
		}
	}
	return nil
}

func equalConstants(a, b *Constant) error {
	if a == nil || b == nil {
		if a != b {
			return errors.New("a constant is missing")
		}
		return nil
	}
	if !Equal(a.Type, b.Type) {
		return fmt.Errorf("%v ≠ %v", a.Type, b.Type)
	}
	switch {
	case (a.Tensor == nil) != (b.Tensor == nil) || (a.File == nil) != (b.File == nil):
		return errors.New("a constant in the program ≠ one in a file")
	case a.File != nil && (a.File.Path != b.File.Path || a.File.Offset != b.File.Offset):
		return fmt.Errorf("%s at %d ≠ %s at %d", a.File.Path, a.File.Offset, b.File.Path, b.File.Offset)
	case len(a.Items) != len(b.Items):
		return fmt.Errorf("%d elements ≠ %d", len(a.Items), len(b.Items))
	case len(a.Entries) != len(b.Entries):
		return fmt.Errorf("%d entries ≠ %d", len(a.Entries), len(b.Entries))
	}
	if a.Tensor != nil {
		return equalArrays(a, b)
	}
	for i := range a.Items {
		if err := equalConstants(a.Items[i], b.Items[i]); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	for i := range a.Entries {
		if err := equalConstants(a.Entries[i].Key, b.Entries[i].Key); err != nil {
			return fmt.Errorf("key of entry %d: %w", i, err)
		}
		if err := equalConstants(a.Entries[i].Value, b.Entries[i].Value); err != nil {
			return fmt.Errorf("value of entry %d: %w", i, err)
		}
	}
	return nil
}

// equalArrays compares arrays bit for bit: a NaN equals itself, 0 is not -0.
func equalArrays(a, b *Constant) error {
	s, t := a.Tensor, b.Tensor
	if s.DType() != t.DType() || !slices.Equal(s.Shape(), t.Shape()) {
		return fmt.Errorf("%v ≠ %v", s, t)
	}
	x, err := newElements(s)
	if err != nil {
		return err
	}
	y, err := newElements(t)
	if err != nil {
		return err
	}
	if slices.Equal(x.strs, y.strs) && bytes.Equal(x.data, y.data) {
		return nil
	}
	for i := range s.Len() {
		if p, q := x.appendNext(nil), y.appendNext(nil); !bytes.Equal(p, q) {
			return fmt.Errorf("%s ≠ %s at element %d of %v", p, q, i, a.Type)
		}
	}
	return nil // only bits after the last sub-byte element differ
}
