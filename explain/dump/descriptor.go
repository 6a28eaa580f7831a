package dump

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/tensor"
)

// A Descriptor is a dispatch descriptor.
type Descriptor struct {
	Version   int                  `json:"format_version"`
	BuildInfo report.Object        `json:"build_info"`
	Functions []DescriptorFunction `json:"functions"`
	Aliases   []Alias              `json:"aliases,omitempty"`
	Symbols   []string             `json:"symbols"`
	Extra     []ExtraSection       `json:"extra_sections,omitempty"`
	Unknown   []string             `json:"unknown_fields,omitempty"`
}

// A DescriptorFunction is a function of a descriptor.
type DescriptorFunction struct {
	Name        string            `json:"name"`
	AneHashPath string            `json:"anehash_path,omitempty"`
	Inputs      []DescriptorPort  `json:"inputs"`
	Outputs     []DescriptorPort  `json:"outputs"`
	Blocks      []DescriptorBlock `json:"blocks"`
}

// A DescriptorPort is an input or output of a function.
type DescriptorPort struct {
	Name     string `json:"name"`
	ByteSize uint64 `json:"byte_size"`
	Aperture string `json:"aperture"`
}

// A DescriptorBlock is a run of operations.
type DescriptorBlock struct {
	Name       string                `json:"name"`
	Operations []DescriptorOperation `json:"operations"`
}

// A DescriptorOperation is one that the runtime dispatches.
type DescriptorOperation struct {
	Name       string        `json:"name"`
	Kind       string        `json:"kind"`
	Inputs     []Operand     `json:"inputs"`
	Outputs    []Operand     `json:"outputs"`
	Attributes report.Object `json:"attributes"`
}

// An Operand is what an operation reads or writes.
type Operand struct {
	Symbol        string   `json:"symbol"`
	Type          string   `json:"type"`
	Shape         []uint64 `json:"shape"`
	Strides       []uint64 `json:"strides"`
	ComponentPack int32    `json:"component_pack,omitempty"`

	// Port is how it lies in the port of a container, by the fields that have names: batch, channels, height, width. nil if they
	// are all 0.
	Port *OperandPort `json:"port,omitempty"`
}

// An OperandPort is the extents and strides that an operand has by name.
type OperandPort struct {
	Shape   [4]uint64 `json:"shape"`
	Strides [4]uint64 `json:"strides"`
}

// An Alias is another name for a place behind a symbol.
type Alias struct {
	Name   string `json:"name"`
	Symbol string `json:"symbol"`
	Offset uint32 `json:"offset"`
}

// An ExtraSection is one that nothing refers to.
type ExtraSection struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Size int    `json:"size"`
}

func explainDescriptor(f *file) (Content, error) {
	p, err := e5.Decode(f.data)
	if err != nil {
		return nil, f.named(err)
	}
	return newDescriptor(p), nil
}

func newDescriptor(p *e5.Program) *Descriptor {
	r := &Descriptor{Version: e5.FormatVersion, BuildInfo: report.Object{}, Functions: []DescriptorFunction{}, Symbols: p.Symbols, Unknown: p.Unknown}
	for _, kv := range p.BuildInfo {
		r.BuildInfo.Add(kv.Key, kv.Value)
	}
	for _, f := range p.Functions {
		fn := DescriptorFunction{Name: f.Name, AneHashPath: f.AneHashPath, Inputs: e5Ports(f.Inputs), Outputs: e5Ports(f.Outputs), Blocks: []DescriptorBlock{}}
		for _, b := range f.Blocks {
			block := DescriptorBlock{Name: b.Name, Operations: []DescriptorOperation{}}
			for _, op := range b.Operations {
				block.Operations = append(block.Operations, DescriptorOperation{
					op.Name, op.Kind().String(), e5Operands(op.Inputs), e5Operands(op.Outputs), e5Attributes(op.Attrs),
				})
			}
			fn.Blocks = append(fn.Blocks, block)
		}
		r.Functions = append(r.Functions, fn)
	}
	for _, a := range p.Aliases {
		r.Aliases = append(r.Aliases, Alias(a))
	}
	for _, s := range p.Extra {
		r.Extra = append(r.Extra, ExtraSection{s.Name, s.Kind.String(), len(s.Data)})
	}
	return r
}

func e5Ports(ports []e5.IOPort) []DescriptorPort {
	list := []DescriptorPort{}
	for _, p := range ports {
		list = append(list, DescriptorPort{p.Name, p.ByteSize, report.Address(p.Aperture)})
	}
	return list
}

func e5Operands(operands []e5.Operand) []Operand {
	list := []Operand{}
	for _, o := range operands {
		t := o.Tensor
		typ := t.StorageType.String()
		if d := t.StorageType.DType(); d != tensor.Invalid {
			typ = d.String()
		}
		operand := Operand{Symbol: o.Symbol, Type: typ, Shape: t.Dim, Strides: t.Stride, ComponentPack: t.ComponentPack}
		port := OperandPort{
			[4]uint64{t.BatchNumber, t.Channels, t.Height, t.Width},
			[4]uint64{t.StrideBatchNumber, t.StrideChannels, t.StrideHeight, t.StrideWidth},
		}
		if port != (OperandPort{}) {
			operand.Port = &port
		}
		list = append(list, operand)
	}
	return list
}

func e5Attributes(a e5.Attrs) report.Object {
	element := func(e e5.ElementType) string {
		if d := e.DType(); d != tensor.Invalid {
			return d.String()
		}
		return e.String()
	}
	var o report.Object
	switch a := a.(type) {
	case e5.CastAttrs:
		o.Add("source", element(a.Source))
		o.Add("destination", element(a.Destination))
		o.Add("component_pack", a.ComponentPack)
	case e5.AneInferenceAttrs:
		o.Add("procedure_name", a.ProcedureName)
		o.Add("anehash", a.AneHash)
		o.Add("program_symbol", a.ProgramSymbol)
		o.Add("intermediate_buffer", a.IntermediateBuffer)
		o.Add("compiler_options", a.CompilerOptions)
	case e5.CpuInferenceAttrs:
		o.Add("function", a.Function)
	case e5.RawAttrs:
		o.Add("data", hex.EncodeToString(a.Data))
	}
	return o
}

func (r *Descriptor) writeText(w *bufio.Writer, h *Head) {
	h.writeText(w, fmt.Sprintf("format version %d", r.Version))
	r.writeBody(w)
}

func (r *Descriptor) writeBody(w *bufio.Writer) {
	var rows [][]string
	for _, kv := range r.BuildInfo {
		rows = append(rows, []string{kv.Name, fmt.Sprint(kv.Value)})
	}
	report.Columns(w, "  ", rows)
	for _, f := range r.Functions {
		fmt.Fprintf(w, "function %s\n", report.Printable(f.Name))
		if f.AneHashPath != "" {
			fmt.Fprintf(w, "  hash path %s\n", report.Printable(f.AneHashPath))
		}
		rows = nil
		for _, p := range f.Inputs {
			rows = append(rows, []string{"in", p.Name, report.Count(int(p.ByteSize), "byte"), "at " + p.Aperture})
		}
		for _, p := range f.Outputs {
			rows = append(rows, []string{"out", p.Name, report.Count(int(p.ByteSize), "byte"), "at " + p.Aperture})
		}
		report.Columns(w, "  ", rows)
		for _, b := range f.Blocks {
			fmt.Fprintf(w, "  block %s\n", report.Printable(b.Name))
			for _, op := range b.Operations {
				op.writeText(w)
			}
		}
	}
	rows = nil
	for _, a := range r.Aliases {
		rows = append(rows, []string{"alias " + a.Name, report.At(a.Symbol, int(a.Offset))})
	}
	for _, s := range r.Extra {
		rows = append(rows, []string{"section " + s.Name, s.Kind + ", nothing refers to it", report.Count(s.Size, "byte")})
	}
	for _, u := range r.Unknown {
		rows = append(rows, []string{"unknown field", u})
	}
	report.Columns(w, "", rows)
	fmt.Fprintf(w, "symbols: %s\n", report.Printable(strings.Join(r.Symbols, ", ")))
}

func (op *DescriptorOperation) writeText(w *bufio.Writer) {
	var attributes []string
	for _, m := range op.Attributes {
		if text := fmt.Sprint(m.Value); text != "" {
			attributes = append(attributes, m.Name+" "+text)
		}
	}
	fmt.Fprintf(w, "    %s: %s, %s\n", report.Printable(op.Name), op.Kind, report.Printable(strings.Join(attributes, ", ")))
	var rows [][]string
	add := func(direction string, list []Operand) {
		for _, o := range list {
			row := []string{direction, o.Symbol, fmt.Sprintf("%s %v", o.Type, o.Shape), "strides " + strings.Trim(fmt.Sprint(o.Strides), "[]")}
			if p := o.Port; p != nil {
				row = append(row, fmt.Sprintf("port %v", p.Shape), "strides "+strings.Trim(fmt.Sprint(p.Strides), "[]"))
			}
			rows = append(rows, row)
		}
	}
	add("in", op.Inputs)
	add("out", op.Outputs)
	report.Columns(w, "      ", rows)
}
