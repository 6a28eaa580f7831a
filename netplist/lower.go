package netplist

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A Procedure is a function of a list: a graph of native layers.
type Procedure struct {
	Name  string
	Graph *anec.Graph
}

// Procedures makes a graph of each procedure: of each entry of the ProcedureList or, without one, of each network. open reads a
// weights file by the name that stands in the list; a file that no unit reads is not opened. An output has the name of its port:
//
//	unit my_layer, output probs@output      %"probs@output" = anec.convolution(%image, %w) : … @my_layer
//
// The findings are about keys that nothing reads, about keys of ours, and about attention that does not subtract the largest score.
func (f *File) Procedures(open func(name string) ([]byte, error)) (procedures []Procedure, findings []diag.Finding, err error) {
	version, err := f.schema()
	if err != nil {
		return nil, nil, err
	}
	entries := f.ProcedureList
	if entries == nil {
		for _, n := range f.Networks {
			entries = append(entries, &Entry{Name: n.Name, Inputs: n.Inputs, Outputs: n.Outputs, Operations: []Operation{{Network: n.Name}}})
		}
	}
	s := &store{open: open, files: map[string][]byte{}}
	networks := map[string]*Network{}
	for _, n := range f.Networks {
		networks[n.Name] = n
	}
	names := map[string]bool{}
	for i, e := range entries {
		name := e.Name
		if name == "" {
			name = "procedure" + strconv.Itoa(i)
		}
		if names[name] {
			return nil, nil, errorf(InvalidUnit, "two procedures %q", name).at("", "", "ProcedureList")
		}
		names[name] = true
		l := &lowering{file: f, networks: networks, store: s, entry: e, graph: anec.New(name), outside: map[string]*anec.Value{}, shared: map[place]*anec.Value{}}
		if err := l.run(); err != nil {
			return nil, nil, err
		}
		l.graph.Form2020 = slices.Compare(version[:], newest[:]) < 0
		procedures = append(procedures, Procedure{name, l.graph})
		findings = append(findings, l.findings...)
	}
	l := &lowering{}
	for _, key := range f.Extra.keys() {
		l.unknown(key)
	}
	return procedures, append(findings, l.findings...), nil
}

// The schemas that are known (guide 22): that of 2026, and that which the compiler of 2020 read, in all lists at hand.
var newest = [3]int{1, 0, 10}

const (
	schema2026 = "1.0.10"
	schema2020 = "1.0.9"
)

// schema is the version of the list. A later one is refused, as the compiler does.
func (f *File) schema() (v [3]int, err error) {
	parts := strings.Split(f.Version, ".")
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || i >= len(v) {
			return v, errorf(InvalidParamSyntax, "found %q, want a version such as 1.0.10", f.Version).at("", "", "Version")
		}
		v[i] = n
	}
	if slices.Compare(v[:], newest[:]) > 0 {
		return v, &diag.Finding{ID: diag.SchemaNewer, Severity: diag.Refusal, Text: "the network description is of schema " + f.Version,
			Limit: schema2026, Found: f.Version, Source: "gate: guide 22; text: ours"}
	}
	return v, nil
}

// A lowering makes the graph of one procedure.
type lowering struct {
	file     *File
	networks map[string]*Network
	store    *store
	entry    *Entry
	graph    *anec.Graph
	outside  map[string]*anec.Value // what earlier operations left, by symbol
	shared   map[place]*anec.Value  // constants of files
	findings []diag.Finding

	// Of the operation at hand.
	net     *Network
	op      string
	values  map[string]*anec.Value
	units   map[string]*Unit
	started map[string]bool
	consts  map[string]*Constant
	ports   map[string]*Port  // the network's outputs
	names   map[string]string // of what units leave by ports: the value's name, by the unit's
	behind  map[string]*Unit  // the unit that is a part of the layer of another, by that one's name
	before  map[string]*Unit  // and the other way
	unit    *Unit
}

func (l *lowering) run() error {
	if len(l.entry.Operations) == 0 {
		return errorf(InvalidUnit, "no OperationList").at("", "procedure "+l.entry.Name, "OperationList")
	}
	for _, o := range l.entry.Operations {
		if l.net, l.op = l.networks[o.Network], o.Name; l.net == nil {
			return errorf(InvalidUnit, "no network %q", o.Network).at("", "procedure "+l.entry.Name, "OperationList")
		}
		if err := l.operation(); err != nil {
			return err.at(l.net.Name, "", "")
		}
	}
	if err := l.outputs(); err != nil {
		return err
	}
	l.graph.Sweep() // exchanges of axes that undid each other
	return anec.Verify(l.graph)
}

// operation lowers a network.
func (l *lowering) operation() *Error {
	l.values, l.units, l.consts = map[string]*anec.Value{}, map[string]*Unit{}, map[string]*Constant{}
	l.ports = map[string]*Port{}
	for _, p := range l.net.Outputs {
		l.ports[p.Symbol] = p
	}
	if l.store.units += len(l.net.Units); l.store.units > maxUnits {
		return errorf(InvalidUnit, "more than %d units over all procedures", maxUnits)
	}
	l.started, l.names = map[string]bool{}, map[string]string{}
	l.behind, l.before = map[string]*Unit{}, map[string]*Unit{}
	for _, u := range l.net.Units {
		if l.units[u.Name] != nil {
			return errorf(InvalidUnit, "ANE internal error: Unit name %q collision", u.Name).at("", u.Name, "Units")
		}
		l.units[u.Name] = u
	}
	for _, u := range l.net.Units {
		more, _ := asStrings(u.Params[ours+"Tops"])
		for _, symbol := range more {
			if l.units[symbol] != nil {
				return errorf(InvalidUnit, "a unit or top %q is there already", symbol).at("", u.Name, "Params."+ours+"Tops")
			}
			l.units[symbol] = u
		}
	}
	if err := l.join(); err != nil {
		return err
	}
	for _, c := range l.net.Constants {
		l.consts[c.Name] = c
	}
	for _, p := range l.entry.Inputs {
		if p.Operation == l.op || p.Operation == "" {
			if err := l.input(p); err != nil {
				return err.at("", p.Symbol, "")
			}
		}
	}
	var states []*anec.State
	for _, p := range l.net.States {
		t, err := l.portType(p)
		if err != nil {
			return err.at("", p.Symbol, "")
		}
		s, failed := l.graph.AddState(p.Symbol, t)
		if failed != nil {
			return wrapped(InvalidUnit, failed).at("", p.Symbol, "")
		}
		l.values[p.Symbol] = s.Before
		states = append(states, s)
		delete(l.outside, p.Symbol)
	}
	l.nameOutputs()
	for _, u := range l.net.Units {
		if _, err := l.value(u.Name, u.Name); err != nil {
			return err
		}
	}
	writers := l.writers()
	for i, p := range l.net.States {
		if err := l.after(states[i], p, writers); err != nil {
			return err.at("", p.Symbol, "")
		}
		l.strange(p.Symbol, p.Extra)
	}
	for _, p := range l.net.Outputs {
		v, err := l.value(p.Bottom, p.Symbol)
		if err != nil {
			return err.at("", p.Symbol, "Bottom")
		}
		l.outside[p.Symbol] = v
		l.strange(p.Symbol, p.Extra)
	}
	for _, p := range l.net.Inputs {
		l.strange(p.Symbol, p.Extra)
	}
	for symbol, v := range l.values {
		if l.outside[symbol] == nil {
			l.outside[symbol] = v
		}
	}
	l.strange("", l.net.Extra)
	return nil
}

func wrapped(c Code, err error) *Error { return &Error{Code: c, Err: err} }

// portType is the type of an input or a state. Extents that are not said are 1.
func (l *lowering) portType(p *Port) (anec.Type, *Error) {
	t := anec.Type{DType: tensor.Float16, Interleave: max(p.Interleave, 1)}
	for a, n := range p.Dims {
		if n < 0 {
			return t, errorf(InvalidParamSyntax, "an extent of %d along %s", n, axisNames[a])
		}
		t.Dims[a] = max(n, 1)
	}
	if p.Type != "" {
		d, err := asType(p.Type)
		if err != nil {
			return t, err.at("", "", "InputType")
		}
		t.DType = d
	}
	return t, nil
}

func (l *lowering) input(p *Port) *Error {
	t, err := l.portType(p)
	if err != nil {
		return err
	}
	if v := l.graph.Value(p.Symbol); v != nil { // a list names an input once for each unit that reads it
		if v.Type != t || !slices.Contains(l.graph.Inputs, v) {
			return errorf(InvalidUnit, "the input is listed twice, as %v and %v", v.Type, t)
		}
		l.values[p.Symbol] = v
		return nil
	}
	v, failed := l.graph.AddInput(p.Symbol, t)
	if failed != nil {
		return wrapped(InvalidParamSyntax, failed)
	}
	l.values[p.Symbol] = v
	l.demand(p)
	l.strange(p.Symbol, p.Extra)
	return nil
}

// demand keeps the strides that a port asks for.
func (l *lowering) demand(p *Port) {
	s := anec.PortStrides{p.Strides.Batch, p.Strides.Depth, p.Strides.Plane, p.Strides.Row}
	if s == (anec.PortStrides{}) {
		return
	}
	if l.graph.Ports == nil {
		l.graph.Ports = map[string]anec.PortStrides{}
	}
	l.graph.Ports[p.Symbol] = s
}

// bottomOf is the symbol that an output leaves. An entry names the unit that makes it; the network's own port, if there is one, what
// it reads.
func (l *lowering) bottomOf(p *Port) string {
	if q := l.ports[p.Symbol]; q != nil && q.Bottom != "" {
		return q.Bottom
	}
	if p.Bottom != "" {
		return p.Bottom
	}
	return p.Unit
}

// nameOutputs gives what a unit makes the name of the port that it leaves by, if there is one.
func (l *lowering) nameOutputs() {
	for _, p := range l.entry.Outputs {
		bottom := l.bottomOf(p)
		if p.Operation != "" && p.Operation != l.op || l.units[bottom] == nil || l.names[bottom] != "" {
			continue
		}
		if l.units[p.Symbol] == nil || p.Symbol == bottom {
			l.names[bottom] = p.Symbol
		}
	}
}

// outputs makes the ports of the procedure.
func (l *lowering) outputs() *Error {
	for _, p := range l.entry.Outputs {
		fail := func(err *Error) *Error { return err.at(l.net.Name, p.Symbol, "") }
		bottom := l.bottomOf(p)
		v := l.outside[bottom]
		if v == nil {
			if v = l.outside[p.Symbol]; v == nil {
				return fail(errorf(InvalidUnit, "nothing makes %q", bottom))
			}
		}
		if p.Type != "" {
			d, err := asType(p.Type)
			if err != nil {
				return fail(err.at("", "", "OutputType"))
			}
			if d != v.Type.DType {
				return fail(errorf(InvalidParamSyntax, "found %s, and %q is %s", p.Type, bottom, typeName(v.Type.DType)).at("", "", "OutputType"))
			}
		}
		if n := p.Dims[td.AxisC]; n != 0 && n != v.Type.Dims[td.AxisC] {
			return fail(errorf(InvalidParamSyntax, "found %d, and %q has %d", n, bottom, v.Type.Dims[td.AxisC]).at("", "", "OutputChannels"))
		}
		if v.Name != p.Symbol { // it leaves by another port too, or is no unit's
			layer, err := l.graph.Add(anec.Spec{Name: p.Symbol, Params: &anec.Copy{}, Bottoms: []*anec.Value{v}})
			if err != nil {
				return fail(wrapped(InvalidUnit, err))
			}
			v = layer.Top()
		}
		v.Type.Interleave = max(v.Type.Interleave, p.Interleave)
		l.graph.AddOutput(v)
		l.demand(p)
		if q := l.ports[p.Symbol]; q != nil {
			l.demand(q)
			v.Type.Interleave = max(v.Type.Interleave, q.Interleave)
		}
		if l.file.ProcedureList != nil {
			l.strange(p.Symbol, p.Extra)
		}
	}
	return nil
}

// after finds what a procedure leaves in a state: what a key of ours names, or what the last writer of it made.
func (l *lowering) after(s *anec.State, p *Port, writers map[*anec.Value]*anec.Value) *Error {
	if v, ok := p.Extra[ours+"Name"]; ok {
		name, err := asString(v)
		if err != nil {
			return err.at("", "", ours+"Name")
		}
		s.Name = name
	}
	if v, ok := p.Extra[ours+"After"]; ok {
		symbol, err := asString(v)
		if err != nil {
			return err.at("", "", ours+"After")
		}
		s.After, err = l.value(symbol, p.Symbol)
		return err
	}
	for next := writers[s.After]; next != nil; next = writers[s.After] {
		s.After = next
	}
	return nil
}

// writers are what units make that write into something, by what they write into.
func (l *lowering) writers() map[*anec.Value]*anec.Value {
	made := map[*anec.Value]*anec.Value{}
	for _, u := range l.net.Units {
		if v := l.values[u.Name]; v != nil && v.Def != nil && v.Def.Kind() == anec.KindRingBufferWriter {
			made[v.Def.Bottoms[0]] = v
		}
	}
	return made
}

// value is what a symbol stands for. reader is the unit or port that asks.
func (l *lowering) value(symbol, reader string) (*anec.Value, *Error) {
	if v := l.values[symbol]; v != nil {
		return v, nil
	}
	if u := l.units[symbol]; u != nil {
		if first := l.before[u.Name]; first != nil {
			u = first
		}
		if l.started[u.Name] {
			return nil, errorf(InvalidUnit, "it reads what it makes").at("", u.Name, "Bottom")
		}
		l.started[u.Name] = true
		if err := l.lower(u); err != nil {
			return nil, err.at("", u.Name, "")
		}
		return l.values[symbol], nil
	}
	if c := l.consts[symbol]; c != nil {
		v, err := l.constant(c)
		if err != nil {
			return nil, err.at("", c.Name, "")
		}
		l.values[symbol] = v
		return v, nil
	}
	if v := l.outside[symbol]; v != nil {
		return v, nil
	}
	return nil, errorf(InvalidUnit, "nothing is called %q", symbol).at("", reader, "Bottom")
}

func (l *lowering) constant(c *Constant) (*anec.Value, *Error) {
	b := blob{index: c.Index, offset: c.Offset, dtype: tensor.Float16}
	for _, n := range c.Dims {
		if n < 0 {
			return nil, errorf(InvalidParamSyntax, "an extent of %d", n)
		}
		b.dims = append(b.dims, max(n, 1))
	}
	if c.Type != "" {
		var err *Error
		if b.dtype, err = asType(c.Type); err != nil {
			return nil, err.at("", "", "ConstantType")
		}
	}
	known, err := l.store.constant(l.net, b, c.Extra)
	if err != nil {
		return nil, err.at("", "", "ConstantIndex")
	}
	l.strange(c.Name, c.Extra)
	return l.addConstant(c.Name, known)
}

// A place is where a plain constant lies.
type place struct {
	from anec.Source
	typ  tensor.DType
	dims anec.Dims
}

// addConstant adds a constant to the graph, once for what lies in one place of a file.
func (l *lowering) addConstant(name string, c *anec.Constant) (*anec.Value, *Error) {
	at := place{c.Source, c.DType, c.Dims}
	shared := c.Source.File != "" && c.Plain()
	if v := l.shared[at]; v != nil && shared {
		return v, nil
	}
	v, err := l.graph.AddConstant(l.graph.FreshName(name), c)
	if err != nil {
		return nil, wrapped(InvalidParamSyntax, err)
	}
	if shared {
		l.shared[at] = v
	}
	return v, nil
}

// unknown warns of a key that nothing reads, or of one of ours.
func (l *lowering) unknown(key string) {
	if idle[key] {
		return
	}
	place := diag.Place{Function: l.procedure()}
	where := ""
	if l.unit != nil {
		place.Layer, where = l.unit.Name, fmt.Sprintf("unit %q, ", l.unit.Name)
	}
	f := diag.Finding{ID: diag.NetplistKey, Text: where + "key " + key + ": nothing reads it"}
	if isOurs(key[strings.LastIndexByte(key, '.')+1:]) {
		f = diag.Finding{ID: diag.NetplistOurs, Text: where + "key " + key + ": Apple's compiler does not know it"}
	}
	l.findings = append(l.findings, *f.At(0, place))
}

func (l *lowering) procedure() string {
	if l.graph == nil {
		return ""
	}
	return l.graph.Name
}

// strange warns of the keys that are left of a dictionary.
func (l *lowering) strange(symbol string, left Dict) {
	l.unit = nil
	if symbol != "" {
		l.unit = &Unit{Name: symbol}
	}
	for _, key := range left.keys() {
		l.unknown(key)
	}
	l.unit = nil
}

// asError is the error of a layer, if it is one.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return wrapped(InvalidParamSyntax, err)
}
