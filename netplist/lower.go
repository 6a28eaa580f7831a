package netplist

import (
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
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
	origin  []string // of the layer that the unit becomes
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
	if len(l.graph.Outputs) == 0 && len(l.graph.States) == 0 {
		return errorf(InvalidUnit, "it leaves nothing: there is neither an output nor a state").at("", "procedure "+l.entry.Name, "Outputs")
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
