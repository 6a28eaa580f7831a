package dump

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/model"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A Model is a model or MIL text: what package model says of it, and its programs.
type Model struct {
	model.Report

	Programs []Program `json:"programs"`
	Unknown  []string  `json:"unknown_fields,omitempty"`
}

// A Program is the program of the model, or of a stage.
type Program struct {
	Stage     []int      `json:"stage,omitempty"`
	Functions []Function `json:"functions"`

	program *mil.Program
}

// A Function is a function of a program.
type Function struct {
	Name   string  `json:"name"`
	Opset  string  `json:"opset"`
	Inputs []Value `json:"inputs"`
	Block
}

// A Block is a run of operations.
type Block struct {
	Operations []Operation `json:"operations"`
	Outputs    []string    `json:"outputs"`
}

// An Operation is one of a program.
type Operation struct {
	Kind      string     `json:"kind"`
	Place     string     `json:"place,omitempty"`
	Arguments []Argument `json:"arguments,omitempty"`
	Results   []Value    `json:"results"`
	Value     *Constant  `json:"value,omitempty"`
	Blocks    []Block    `json:"blocks,omitempty"`
}

// An Argument is what is given for a parameter.
type Argument struct {
	Name   string     `json:"name"`
	Values []string   `json:"values,omitempty"`
	Inline []Constant `json:"constants,omitempty"`
}

// A Value is an input or a result.
type Value struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// A Constant is one written in place, or where it lies in a weight file.
type Constant struct {
	Type   string         `json:"type"`
	File   string         `json:"file,omitempty"`
	Offset uint64         `json:"offset,omitempty"`
	Values *report.Nested `json:"values,omitempty"`
}

// shownConstant is how many elements a constant may have that JSON shows.
const shownConstant = 64

func explainModel(f *file) (Content, error) {
	m, err := coreml.Open(f.File)
	if err != nil {
		return nil, err
	}
	f.opened = append([]io.Closer{m}, f.opened...)
	described, err := model.Describe(f.File, m)
	if described == nil {
		return nil, err
	}
	f.Format, f.Size = m.Format.String(), m.Size
	r := &Model{Report: *described, Programs: []Program{}}
	return r, errors.Join(err, r.addPrograms(m, nil))
}

// addPrograms adds the program of a model, or those of its stages.
func (r *Model) addPrograms(m *coreml.Model, stage []int) error {
	if m.Type == coreml.MLProgram {
		p, err := m.Program()
		if err != nil {
			return err
		}
		d := Program{Stage: stage, Functions: []Function{}, program: p}
		for _, f := range p.Functions {
			d.Functions = append(d.Functions, Function{f.Name, f.Opset, dumpValues(f.Inputs), dumpBlock(f.Body)})
		}
		r.Programs = append(r.Programs, d)
	}
	for _, u := range m.Unknown() {
		r.Unknown = append(r.Unknown, fmt.Sprintf("%s: field %d at byte 0x%x, %s", u.Message, u.Number, u.Offset, report.Count(len(u.Raw), "byte")))
	}
	for i, s := range m.Stages {
		if err := r.addPrograms(s.Model, append(stage[:len(stage):len(stage)], i)); err != nil {
			return fmt.Errorf("stage %d: %w", i, err)
		}
	}
	return nil
}

func dumpValues(values []*mil.Value) []Value {
	list := []Value{}
	for _, v := range values {
		list = append(list, Value{v.Name, v.Type.String()})
	}
	return list
}

func dumpBlock(b *mil.Block) Block {
	d := Block{Operations: []Operation{}, Outputs: []string{}}
	for _, op := range b.Operations {
		o := Operation{Kind: op.Kind, Place: op.Pos.String(), Results: dumpValues(op.Outputs)}
		for _, in := range op.Inputs {
			a := Argument{Name: in.Param}
			for _, arg := range in.Args {
				if arg.Value != nil {
					a.Values = append(a.Values, arg.Value.Name)
				} else {
					a.Inline = append(a.Inline, dumpConstant(arg.Const))
				}
			}
			o.Arguments = append(o.Arguments, a)
		}
		if v := op.Attributes.Get("val"); v != nil {
			c := dumpConstant(v)
			o.Value = &c
		}
		for _, nested := range op.Blocks {
			o.Blocks = append(o.Blocks, dumpBlock(nested))
		}
		d.Operations = append(d.Operations, o)
	}
	for _, v := range b.Outputs {
		d.Outputs = append(d.Outputs, v.Name)
	}
	return d
}

func dumpConstant(c *mil.Constant) Constant {
	d := Constant{Type: c.Type.String()}
	switch {
	case c.File != nil:
		d.File, d.Offset = c.File.Path, c.File.Offset
	case c.Tensor != nil && c.Tensor.Len() <= shownConstant && c.Tensor.DType() != tensor.Invalid:
		d.Values = &report.Nested{Tensor: c.Tensor}
	}
	return d
}

// MarshalJSON leaves out the format, which the head of the report has.
func (d *Model) MarshalJSON() ([]byte, error) {
	type fields Model // without this method
	c := fields(*d)
	c.Format = ""
	return report.Marshal(&c)
}

// writeText writes what inspect says, then the programs as MIL text.
func (d *Model) writeText(w *bufio.Writer, _ *Head) {
	if err := d.Report.WriteText(w); err != nil {
		return // the writer keeps it
	}
	for _, u := range d.Unknown {
		fmt.Fprintf(w, "unknown field: %s\n", report.Printable(u))
	}
	for _, p := range d.Programs {
		fmt.Fprintln(w)
		if p.Stage != nil {
			fmt.Fprintf(w, "// stage %v\n", p.Stage)
		}
		if err := mil.WriteText(w, p.program); err != nil {
			fmt.Fprintf(w, "\n// the program cannot be written as text: %v\n", err)
		}
	}
}
