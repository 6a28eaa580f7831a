package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/tensor"
)

// The types of this file are the schema of dump --json for dispatch descriptors; docs/json.md explains them.

type descriptorDump struct {
	dumpHead
	descriptorReport
}

type descriptorReport struct {
	Version   int           `json:"format_version"`
	BuildInfo orderedObject `json:"build_info"`
	Functions []e5Function  `json:"functions"`
	Aliases   []e5Alias     `json:"aliases,omitempty"`
	Symbols   []string      `json:"symbols"`
	Extra     []e5Section   `json:"extra_sections,omitempty"`
	Unknown   []string      `json:"unknown_fields,omitempty"`
}

type e5Function struct {
	Name        string    `json:"name"`
	AneHashPath string    `json:"anehash_path,omitempty"`
	Inputs      []e5Port  `json:"inputs"`
	Outputs     []e5Port  `json:"outputs"`
	Blocks      []e5Block `json:"blocks"`
}

type e5Port struct {
	Name     string `json:"name"`
	ByteSize uint64 `json:"byte_size"`
	Aperture string `json:"aperture"`
}

type e5Block struct {
	Name       string        `json:"name"`
	Operations []e5Operation `json:"operations"`
}

type e5Operation struct {
	Name       string        `json:"name"`
	Kind       string        `json:"kind"`
	Inputs     []e5Operand   `json:"inputs"`
	Outputs    []e5Operand   `json:"outputs"`
	Attributes orderedObject `json:"attributes"`
}

type e5Operand struct {
	Symbol        string   `json:"symbol"`
	Type          string   `json:"type"`
	Shape         []uint64 `json:"shape"`
	Strides       []uint64 `json:"strides"`
	ComponentPack int32    `json:"component_pack,omitempty"`
}

type e5Alias struct {
	Name   string `json:"name"`
	Symbol string `json:"symbol"`
	Offset uint32 `json:"offset"`
}

type e5Section struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Size int    `json:"size"`
}

func explainDescriptor(d *dumpFile) (explanation, error) {
	p, err := e5.Decode(d.data)
	if err != nil {
		return nil, d.named(err)
	}
	return &descriptorDump{d.dumpHead, newDescriptorReport(p)}, nil
}

func newDescriptorReport(p *e5.Program) descriptorReport {
	r := descriptorReport{Version: e5.FormatVersion, BuildInfo: orderedObject{}, Functions: []e5Function{}, Symbols: p.Symbols, Unknown: p.Unknown}
	for _, kv := range p.BuildInfo {
		r.BuildInfo = append(r.BuildInfo, member{kv.Key, kv.Value})
	}
	for _, f := range p.Functions {
		fn := e5Function{Name: f.Name, AneHashPath: f.AneHashPath, Inputs: e5Ports(f.Inputs), Outputs: e5Ports(f.Outputs), Blocks: []e5Block{}}
		for _, b := range f.Blocks {
			block := e5Block{Name: b.Name, Operations: []e5Operation{}}
			for _, op := range b.Operations {
				block.Operations = append(block.Operations, e5Operation{
					op.Name, op.Kind().String(), e5Operands(op.Inputs), e5Operands(op.Outputs), e5Attributes(op.Attrs),
				})
			}
			fn.Blocks = append(fn.Blocks, block)
		}
		r.Functions = append(r.Functions, fn)
	}
	for _, a := range p.Aliases {
		r.Aliases = append(r.Aliases, e5Alias(a))
	}
	for _, s := range p.Extra {
		r.Extra = append(r.Extra, e5Section{s.Name, s.Kind.String(), len(s.Data)})
	}
	return r
}

func e5Ports(ports []e5.IOPort) []e5Port {
	list := []e5Port{}
	for _, p := range ports {
		list = append(list, e5Port{p.Name, p.ByteSize, hexAddress(p.Aperture)})
	}
	return list
}

func e5Operands(operands []e5.Operand) []e5Operand {
	list := []e5Operand{}
	for _, o := range operands {
		t := o.Tensor
		typ := t.StorageType.String()
		if d := t.StorageType.DType(); d != tensor.Invalid {
			typ = d.String()
		}
		list = append(list, e5Operand{o.Symbol, typ, t.Dim, t.Stride, t.ComponentPack})
	}
	return list
}

func e5Attributes(a e5.Attrs) orderedObject {
	element := func(e e5.ElementType) string {
		if d := e.DType(); d != tensor.Invalid {
			return d.String()
		}
		return e.String()
	}
	switch a := a.(type) {
	case e5.CastAttrs:
		return orderedObject{{"source", element(a.Source)}, {"destination", element(a.Destination)}, {"component_pack", a.ComponentPack}}
	case e5.AneInferenceAttrs:
		return orderedObject{{"procedure_name", a.ProcedureName}, {"anehash", a.AneHash}, {"program_symbol", a.ProgramSymbol},
			{"intermediate_buffer", a.IntermediateBuffer}, {"compiler_options", a.CompilerOptions}}
	case e5.CpuInferenceAttrs:
		return orderedObject{{"function", a.Function}}
	case e5.RawAttrs:
		return orderedObject{{"data", hex.EncodeToString(a.Data)}}
	}
	return orderedObject{}
}

func (d *descriptorDump) print(w *bufio.Writer) {
	d.printHead(w, fmt.Sprintf("format version %d", d.Version))
	d.descriptorReport.print(w)
}

func (r *descriptorReport) print(w *bufio.Writer) {
	var rows [][]string
	for _, kv := range r.BuildInfo {
		rows = append(rows, []string{kv.name, fmt.Sprint(kv.value)})
	}
	printColumns(w, "  ", rows)
	for _, f := range r.Functions {
		fmt.Fprintf(w, "function %s\n", printable(f.Name))
		if f.AneHashPath != "" {
			fmt.Fprintf(w, "  hash path %s\n", printable(f.AneHashPath))
		}
		rows = nil
		for _, p := range f.Inputs {
			rows = append(rows, []string{"in", p.Name, plural(int(p.ByteSize), "byte"), "at " + p.Aperture})
		}
		for _, p := range f.Outputs {
			rows = append(rows, []string{"out", p.Name, plural(int(p.ByteSize), "byte"), "at " + p.Aperture})
		}
		printColumns(w, "  ", rows)
		for _, b := range f.Blocks {
			fmt.Fprintf(w, "  block %s\n", printable(b.Name))
			for _, op := range b.Operations {
				op.print(w)
			}
		}
	}
	rows = nil
	for _, a := range r.Aliases {
		rows = append(rows, []string{"alias " + a.Name, at(a.Symbol, int(a.Offset))})
	}
	for _, s := range r.Extra {
		rows = append(rows, []string{"section " + s.Name, s.Kind + ", nothing refers to it", plural(s.Size, "byte")})
	}
	for _, u := range r.Unknown {
		rows = append(rows, []string{"unknown field", u})
	}
	printColumns(w, "", rows)
	fmt.Fprintf(w, "symbols: %s\n", printable(strings.Join(r.Symbols, ", ")))
}

func (op *e5Operation) print(w *bufio.Writer) {
	var attributes []string
	for _, m := range op.Attributes {
		if text := fmt.Sprint(m.value); text != "" {
			attributes = append(attributes, m.name+" "+text)
		}
	}
	fmt.Fprintf(w, "    %s: %s, %s\n", printable(op.Name), op.Kind, printable(strings.Join(attributes, ", ")))
	var rows [][]string
	add := func(direction string, list []e5Operand) {
		for _, o := range list {
			rows = append(rows, []string{direction, o.Symbol, fmt.Sprintf("%s %v", o.Type, o.Shape), "strides " + strings.Trim(fmt.Sprint(o.Strides), "[]")})
		}
	}
	add("in", op.Inputs)
	add("out", op.Outputs)
	printColumns(w, "      ", rows)
}
