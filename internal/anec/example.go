package anec

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// An Example is a layer in short: its fields as "Name=value Name=value" by their names in Go, and the types of its bottoms, "!"
// before a constant.
type Example struct{ Fields, Bottoms string }

// setFields sets fields, and the element type OutputType.
func setFields(words string, params Params, out *tensor.DType) (err error) {
	for word := range strings.FieldsSeq(words) {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok:
			err = fmt.Errorf("%q is not a field", word)
		case name == "OutputType":
			*out, err = tensor.ParseDType(value)
		default:
			err = parseParam(params, name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ExampleGraph makes a graph of the example of a kind, with the name of the kind. What the layer reads are inputs, constants of
// ones, or of zeros where ones say nothing, and a state where the kind reads one.
func (k Kind) ExampleGraph() (*Graph, error) {
	info := k.Info()
	g := New(info.Name)
	s := Spec{Params: info.New()}
	if err := setFields(info.Example.Fields, s.Params, &s.OutputType); err != nil {
		return nil, err
	}
	var written *State
	for i, word := range strings.Fields(info.Example.Bottoms) {
		row, _ := info.Contract.operand(i)
		name := row.Name
		if row.Repeats {
			name = fmt.Sprintf("%s%d", name, i)
		}
		text, isConst := strings.CutPrefix(word, "!")
		t, err := parseType(text)
		if err != nil {
			return nil, err
		}
		var v *Value
		switch {
		case isConst:
			var c *tensor.Tensor
			number := float32(1)
			if k == KindNeuronCustom { // behind the knots of a table are zeros
				number = 0
			}
			if c, err = tensor.Scalar(number).Convert(t.DType); err == nil {
				c, err = c.BroadcastTo(t.Dims[:]...)
			}
			if err == nil {
				v, err = g.AddConstant(name, ConstantOf(c.Dense()))
			}
		case name == "state":
			if written, err = g.AddState(name, t); err == nil {
				v = written.Before
			}
		default:
			v, err = g.AddInput(name, t)
		}
		if err != nil {
			return nil, err
		}
		s.Bottoms = append(s.Bottoms, v)
	}
	types, err := (&Layer{Name: s.Name, Params: s.Params, Bottoms: s.Bottoms}).TopTypes()
	if err != nil {
		return nil, err
	}
	for _, name := range info.Contract.Tops[:len(types)] {
		if g.Value(name) != nil { // a bottom has it
			name += "_out"
		}
		s.Tops = append(s.Tops, name)
	}
	s.Name = s.Tops[0]
	l, err := g.Add(s)
	if err != nil {
		return nil, err
	}
	for _, v := range l.Tops {
		g.AddOutput(v)
	}
	if written != nil && l.Top().Type == written.Before.Type {
		written.After = l.Top()
	}
	return g, Verify(g)
}
