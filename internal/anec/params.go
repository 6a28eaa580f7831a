package anec

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Params are the fields of a layer. The types that implement it are the kinds;
// NewParams makes one with the values that fields have if nothing is said.
//
// A field that Apple's netplists have carries the key in the tag `net`, or a
// pattern of keys, such as "Kernel{Depth,Height,Width}". "?" after it: no source
// has the key, it is inferred from others. A field without a tag is ours, or one
// of a descriptor whose key is not known.
type Params interface {
	// Info is the row of the kind.
	Info() *KindInfo

	// infer is the shape rule: the types of the tops from those of the bottoms.
	// The bottoms have been held to the contract. The element types that it
	// gives are those of a layer without OutputType.
	infer(*operands) ([]Type, error)
}

// A Contract says what a kind reads and makes.
type Contract struct {
	Bottoms []Operand
	Tops    []string
}

// An Operand is one bottom of a contract.
type Operand struct {
	Name     string
	Optional bool // may be missing
	Repeats  bool // any number of them, one or more; it is the last

	// Indices count elements. Apple's layers take them in fp16 too, tasks in integers alone.
	Indices bool

	// Const: must be a constant. Weight: is one on every chip, but the graph
	// holds live ones too, for targets that take them.
	Const, Weight bool
}

// contract reads the short form of a contract: the names of the tops, then those
// of the bottoms. After a name, "?" is optional, "!" constant, "~" weight, "*"
// repeats, "#" indices.
func contract(tops, bottoms string) Contract {
	c := Contract{Tops: strings.Fields(tops)}
	for _, word := range strings.Fields(bottoms) {
		name := strings.TrimRight(word, "?!~*#")
		marks := word[len(name):]
		c.Bottoms = append(c.Bottoms, Operand{
			Name:     name,
			Optional: strings.Contains(marks, "?"),
			Const:    strings.Contains(marks, "!"),
			Weight:   strings.Contains(marks, "~"),
			Repeats:  strings.Contains(marks, "*"),
			Indices:  strings.Contains(marks, "#"),
		})
	}
	return c
}

// operand returns the row of bottom i; false if there is none.
func (c *Contract) operand(i int) (Operand, bool) {
	if last := len(c.Bottoms) - 1; last >= 0 && i > last && c.Bottoms[last].Repeats {
		i = last
	}
	if i >= len(c.Bottoms) {
		return Operand{}, false
	}
	return c.Bottoms[i], true
}

// check holds bottoms to the contract.
func (c *Contract) check(bottoms []*Value) error {
	for i, v := range bottoms {
		row, ok := c.operand(i)
		switch {
		case !ok:
			return fmt.Errorf("%d bottoms, want at most %d (%s)", len(bottoms), len(c.Bottoms), c)
		case v == nil && !row.Optional:
			return fmt.Errorf("%s is missing", row.Name)
		case v != nil && row.Const && v.Const == nil:
			return fmt.Errorf("%s must be a constant, %q is not", row.Name, v.Name)
		}
	}
	for i := len(bottoms); i < len(c.Bottoms); i++ {
		if !c.Bottoms[i].Optional {
			return fmt.Errorf("%s is missing: the bottoms are %s", c.Bottoms[i].Name, c)
		}
	}
	return nil
}

// String lists the bottoms: optional ones in brackets, "…" after one that
// repeats.
func (c *Contract) String() string {
	words := make([]string, len(c.Bottoms))
	for i, o := range c.Bottoms {
		words[i] = o.Name
		if o.Repeats {
			words[i] += " …"
		}
		if o.Optional {
			words[i] = "[" + words[i] + "]"
		}
	}
	return strings.Join(words, ", ")
}

// operands are what a shape rule sees of the bottoms.
type operands struct {
	contract Contract
	types    []Type // of DType Invalid where one is missing
}

func (o *operands) len() int        { return len(o.types) }
func (o *operands) has(i int) bool  { return i < len(o.types) && o.types[i].DType != tensor.Invalid }
func (o *operands) dims(i int) Dims { return o.types[i].Dims }
func (o *operands) typeOf(i int) Type {
	return Type{DType: o.types[i].DType, Dims: o.types[i].Dims, Interleave: 1}
}

func (o *operands) name(i int) string {
	row, _ := o.contract.operand(i)
	if row.Repeats {
		return fmt.Sprintf("%s %d", row.Name, i)
	}
	return row.Name
}

// want holds operand i to extents.
func (o *operands) want(i int, dims Dims) error {
	if o.has(i) && o.dims(i) != dims {
		return fmt.Errorf("%s has extents %v, want %v", o.name(i), o.dims(i), dims)
	}
	return nil
}

// wantExtent holds operand i to an extent along an axis.
func (o *operands) wantExtent(i int, a td.Axis, extent int) error {
	if got := o.dims(i)[a]; got != extent {
		return fmt.Errorf("%s has %d along %v, want %d", o.name(i), got, a, extent)
	}
	return nil
}

// fits holds operands to extents or 1, where they are there.
func (o *operands) fits(dims Dims, axes td.Axes, operands ...int) error {
	for _, i := range operands {
		if o.has(i) {
			if err := broadcasts(o.name(i), o.dims(i), dims, axes); err != nil {
				return err
			}
		}
	}
	return nil
}

// floats holds operand i to a floating-point type.
func (o *operands) floats(operands ...int) error {
	for _, i := range operands {
		if o.has(i) && !o.types[i].DType.IsFloat() {
			return fmt.Errorf("%s is of %v, want a floating-point type", o.name(i), o.types[i].DType)
		}
	}
	return nil
}

// indices holds operand i to a type that can count: integers, or fp16, in which
// Apple's layers pass indices too (guide B).
func (o *operands) indices(i int) error {
	if d := o.types[i].DType; !d.IsInteger() && d != tensor.Float16 {
		return fmt.Errorf("%s is of %v, want integers or fp16", o.name(i), d)
	}
	return nil
}

const allAxes = td.Axes(1<<NumAxes - 1)

// broadcasts holds extents, along some axes, to others or 1.
func broadcasts(name string, dims, to Dims, axes td.Axes) error {
	for a := range td.Axis(NumAxes) {
		if axes.Has(a) && dims[a] != to[a] && dims[a] != 1 {
			return fmt.Errorf("%s has %d along %v, want %d or 1", name, dims[a], a, to[a])
		}
	}
	return nil
}

// meet returns the extents that operands have together, where 1 broadcasts.
func (o *operands) meet(axes td.Axes, operands ...int) (Dims, error) {
	var out Dims
	for k, i := range operands {
		if !o.has(i) {
			continue
		}
		for a := range td.Axis(NumAxes) {
			d := o.dims(i)[a]
			switch {
			case !axes.Has(a):
			case k == 0 || out[a] == 1:
				out[a] = d
			case d != 1 && d != out[a]:
				return out, fmt.Errorf("%s has %d along %v, %s has %d", o.name(operands[0]), out[a], a, o.name(i), d)
			}
		}
	}
	return out, nil
}

// one returns the answer of a rule with one top.
func one(d tensor.DType, dims Dims) ([]Type, error) {
	return []Type{{DType: d, Dims: dims, Interleave: 1}}, nil
}

// like returns the answer of a rule whose top is as operand 0.
func like(o *operands) ([]Type, error) { return []Type{o.typeOf(0)}, nil }

// TopTypes returns the types that the layer's tops have by the rule of its kind,
// its epilogue and its output type.
func (l *Layer) TopTypes() ([]Type, error) {
	if l.Params == nil {
		return nil, fmt.Errorf("layer %q has no kind", l.Name)
	}
	o := operands{contract: l.Info().Contract}
	if err := o.contract.check(l.Bottoms); err != nil {
		return nil, l.errorf("%w", err)
	}
	for i, v := range l.Bottoms {
		if v == nil {
			o.types = append(o.types, Type{})
			continue
		}
		if err := v.Type.check(); err != nil {
			return nil, l.errorf("%s: %w", o.name(i), err)
		}
		o.types = append(o.types, v.Type)
	}
	types, err := l.Params.infer(&o)
	if err != nil {
		return nil, l.errorf("%w", err)
	}
	if !l.Epilogue.Empty() {
		if len(types) != 1 {
			return nil, l.errorf("an epilogue on %d tops", len(types))
		}
		if types[0], err = l.Epilogue.apply(types[0]); err != nil {
			return nil, l.errorf("%w", err)
		}
	}
	if l.OutputType != tensor.Invalid && len(types) > 0 {
		types[0].DType = l.OutputType
	}
	for i := range types {
		if err := types[i].check(); err != nil {
			return nil, l.errorf("top %d: %w", i, err)
		}
	}
	return types, nil
}

// A LayerError says what is wrong with a layer.
type LayerError struct {
	Layer  string
	Kind   Kind
	Origin []string // of the layer: operations of the model
	Err    error
}

func (e *LayerError) Error() string {
	s := fmt.Sprintf("layer %q (%v): %v", e.Layer, e.Kind, e.Err)
	if len(e.Origin) > 0 {
		s += fmt.Sprintf(" [from %s]", strings.Join(e.Origin, ", "))
	}
	return s
}

func (e *LayerError) Unwrap() error { return e.Err }

func (l *Layer) errorf(format string, args ...any) error {
	e := &LayerError{Layer: l.Name, Origin: l.Origin, Err: fmt.Errorf(format, args...)}
	if l.Params != nil {
		e.Kind = l.Kind()
	}
	return e
}
