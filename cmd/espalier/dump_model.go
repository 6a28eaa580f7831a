package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The types of this file are the schema of dump --json for models and MIL text; docs/json.md explains them.

type modelDump struct {
	dumpHead
	inspectReport

	Programs []programDump `json:"programs"`
	Unknown  []string      `json:"unknown_fields,omitempty"`
}

// programDump is the program of the model, or of a stage.
type programDump struct {
	Stage     []int          `json:"stage,omitempty"`
	Functions []functionDump `json:"functions"`

	program *mil.Program
}

type functionDump struct {
	Name   string      `json:"name"`
	Opset  string      `json:"opset"`
	Inputs []valueDump `json:"inputs"`
	blockDump
}

type blockDump struct {
	Operations []operationDump `json:"operations"`
	Outputs    []string        `json:"outputs"`
}

type operationDump struct {
	Kind      string         `json:"kind"`
	Place     string         `json:"place,omitempty"`
	Arguments []argumentDump `json:"arguments,omitempty"`
	Results   []valueDump    `json:"results"`
	Value     *constantDump  `json:"value,omitempty"`
	Blocks    []blockDump    `json:"blocks,omitempty"`
}

type argumentDump struct {
	Name   string         `json:"name"`
	Values []string       `json:"values,omitempty"`
	Inline []constantDump `json:"constants,omitempty"`
}

type valueDump struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type constantDump struct {
	Type   string  `json:"type"`
	File   string  `json:"file,omitempty"`
	Offset uint64  `json:"offset,omitempty"`
	Values *nested `json:"values,omitempty"`
}

// shownConstant is how many elements a constant may have that JSON shows.
const shownConstant = 64

func explainModel(d *dumpFile) (explanation, error) {
	m, err := coreml.Open(d.File)
	if err != nil {
		return nil, err
	}
	d.opened = append([]io.Closer{m}, d.opened...)
	report, broken, err := inspectModel(d.File, m)
	if err != nil {
		return nil, err
	}
	r := &modelDump{dumpHead: d.dumpHead, inspectReport: report, Programs: []programDump{}}
	r.Format, r.Size = m.Format.String(), m.Size
	err = r.addPrograms(m, nil)
	return r, errors.Join(broken, err)
}

// addPrograms adds the program of a model, or those of its stages.
func (r *modelDump) addPrograms(m *coreml.Model, stage []int) error {
	if m.Type == coreml.MLProgram {
		p, err := m.Program()
		if err != nil {
			return err
		}
		d := programDump{Stage: stage, Functions: []functionDump{}, program: p}
		for _, f := range p.Functions {
			d.Functions = append(d.Functions, functionDump{f.Name, f.Opset, dumpValues(f.Inputs), dumpBlock(f.Body)})
		}
		r.Programs = append(r.Programs, d)
	}
	for _, u := range m.Unknown() {
		r.Unknown = append(r.Unknown, fmt.Sprintf("%s: field %d at byte 0x%x, %s", u.Message, u.Number, u.Offset, plural(len(u.Raw), "byte")))
	}
	for i, s := range m.Stages {
		if err := r.addPrograms(s.Model, append(stage[:len(stage):len(stage)], i)); err != nil {
			return fmt.Errorf("stage %d: %w", i, err)
		}
	}
	return nil
}

func dumpValues(values []*mil.Value) []valueDump {
	list := []valueDump{}
	for _, v := range values {
		list = append(list, valueDump{v.Name, v.Type.String()})
	}
	return list
}

func dumpBlock(b *mil.Block) blockDump {
	d := blockDump{Operations: []operationDump{}, Outputs: []string{}}
	for _, op := range b.Operations {
		o := operationDump{Kind: op.Kind, Place: op.Pos.String(), Results: dumpValues(op.Outputs)}
		for _, in := range op.Inputs {
			a := argumentDump{Name: in.Param}
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

func dumpConstant(c *mil.Constant) constantDump {
	d := constantDump{Type: c.Type.String()}
	switch {
	case c.File != nil:
		d.File, d.Offset = c.File.Path, c.File.Offset
	case c.Tensor != nil && c.Tensor.Len() <= shownConstant && c.Tensor.DType() != tensor.Invalid:
		d.Values = &nested{c.Tensor}
	}
	return d
}

// print prints what inspect does, then the programs as MIL text.
func (d *modelDump) print(w *bufio.Writer) {
	d.Model = d.File
	if err := printInspection(w, d.inspectReport); err != nil {
		return // the writer keeps it
	}
	for _, u := range d.Unknown {
		fmt.Fprintf(w, "unknown field: %s\n", printable(u))
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
