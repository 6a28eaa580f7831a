package netplist

import (
	"bytes"
	"io"

	"howett.net/plist"
)

// A Form is how a property list is stored.
type Form int

// The forms.
const (
	XML Form = iota
	Binary
)

// Write writes the list. Dictionaries have their keys in the order of the alphabet.
func (f *File) Write(w io.Writer, form Form) error {
	root, err := f.dict()
	if err != nil {
		return err
	}
	format := plist.XMLFormat
	if form == Binary {
		format = plist.BinaryFormat
	}
	var buf bytes.Buffer
	enc := plist.NewEncoderForFormat(&buf, format)
	enc.Indent("\t")
	if err := enc.Encode(root); err != nil {
		return err
	}
	_, err2 := w.Write(buf.Bytes())
	return err2
}

// A maker fills a dictionary and complains of keys that meet.
type maker struct {
	dict Dict
	err  *Error
}

func make1(extra Dict) *maker {
	m := &maker{dict: Dict{}}
	for k, v := range extra {
		m.dict[k] = v
	}
	return m
}

func (m *maker) set(key string, v any) {
	if _, taken := m.dict[key]; taken && m.err == nil {
		m.err = errorf(InvalidUnit, "two values of the key %q", key)
	}
	m.dict[key] = v
}

func (m *maker) str(key, v string) {
	if v != "" {
		m.set(key, v)
	}
}

func (m *maker) strs(key string, list []string) {
	if list != nil {
		m.set(key, anyOf(list))
	}
}

func (m *maker) numbers(list []number) {
	for _, n := range list {
		if *n.at != 0 {
			m.set(n.key, int64(*n.at))
		}
	}
}

func (f *File) dict() (Dict, error) {
	m := make1(f.Extra)
	m.str("Version", f.Version)
	var names []string
	for _, n := range f.Networks {
		names = append(names, n.Name)
		d, err := n.dict()
		if err != nil {
			return nil, err.at(n.Name, "", "")
		}
		m.set(n.Name, d)
	}
	m.strs("Networks", names)
	if f.ProcedureList != nil {
		var list []any
		for _, e := range f.ProcedureList {
			list = append(list, e.dict())
		}
		m.set("ProcedureList", list)
	}
	if m.err != nil {
		return nil, m.err
	}
	return m.dict, nil
}

func (n *Network) dict() (Dict, *Error) {
	m := make1(n.Extra)
	listed := map[string][]string{}
	port := func(list, prefix string, p *Port) {
		if !p.Unlisted {
			listed[list] = append(listed[list], p.Symbol)
		}
		m.set(p.Symbol, p.dict(prefix, p.Unlisted))
	}
	for _, p := range n.Inputs {
		port("Inputs", "Input", p)
	}
	for _, p := range n.States {
		port("States", "Input", p)
	}
	for _, p := range n.Outputs {
		port("Outputs", "Output", p)
	}
	for _, c := range n.Constants {
		listed["Constants"] = append(listed["Constants"], c.Name)
		d := make1(c.Extra)
		d.str("ConstantName", c.Name)
		d.str("ConstantType", c.Type)
		d.numbers(c.numbers())
		m.set(c.Name, d.dict)
	}
	for _, u := range n.Units {
		listed["Units"] = append(listed["Units"], u.Name)
		m.set(u.Name, u.dict())
	}
	for list, names := range listed {
		m.strs(list, names)
	}
	m.strs("Weights", n.Weights)
	m.strs("MutableWeights", n.MutableWeights)
	return m.dict, m.err
}

// dict has the port's name where no list has it.
func (p *Port) dict(prefix string, named bool) Dict {
	m := make1(p.Extra)
	m.numbers(p.numbers(prefix))
	m.str(prefix+"Type", p.Type)
	if named {
		m.str(prefix+"Name", p.Symbol)
	}
	m.str("Bottom", p.Bottom)
	m.str("Name", p.Unit)
	m.str("OperationName", p.Operation)
	return m.dict
}

func (u *Unit) dict() Dict {
	m := make1(u.Extra)
	m.str("Name", u.Name)
	m.str("Type", u.Type)
	m.str("OutputType", u.OutputType)
	switch {
	case len(u.Bottom) == 1:
		m.set("Bottom", u.Bottom[0])
	case u.Bottom != nil:
		m.strs("Bottom", u.Bottom)
	}
	m.strs("InputType", u.InputType)
	m.numbers(u.numbers())
	if u.Params != nil {
		m.set("Params", u.Params)
	}
	return m.dict
}

func (e *Entry) dict() Dict {
	m := make1(e.Extra)
	m.str("Name", e.Name)
	list := func(ports []*Port, prefix string) []any {
		out := []any{}
		for _, p := range ports {
			out = append(out, p.dict(prefix, true))
		}
		return out
	}
	m.set("InputList", list(e.Inputs, "Input"))
	m.set("OutputList", list(e.Outputs, "Output"))
	operations := []any{}
	for _, o := range e.Operations {
		d := make1(o.Extra)
		d.str("OperationName", o.Name)
		d.str("NetworkName", o.Network)
		operations = append(operations, d.dict)
	}
	m.set("OperationList", operations)
	return m.dict
}
