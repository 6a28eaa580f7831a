package netplist

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/tensor"
)

// FromGraphs makes a list of graphs, each a network and a procedure of its own, and their weights files by name. It is the other way
// of Procedures: what it makes reads back as graphs that compute the same, with the names that ports had. Layers have no epilogues in
// a list: a graph is taken before it is fused. The findings name what Apple's compiler does not know.
func FromGraphs(graphs []*anec.Graph) (*File, map[string][]byte, []diag.Finding, error) {
	f := &File{Version: schema2026}
	if len(graphs) > 0 && !slices.ContainsFunc(graphs, func(g *anec.Graph) bool { return !g.Form2020 }) {
		f.Version = schema2020
	}
	files := map[string][]byte{}
	var findings []diag.Finding
	taken := map[string]bool{"": true, "Networks": true, "Version": true, "ProcedureList": true}
	for _, g := range graphs {
		name := fresh(taken, g.Name)
		l := &lifting{
			graph: g, net: &Network{Name: name}, entry: &Entry{Name: name}, taken: map[string]bool{},
			symbols: map[*anec.Value]string{}, blobs: map[*tensor.Tensor]int{}, absorbed: map[*anec.Layer]bool{},
		}
		for _, word := range []string{"Inputs", "Outputs", "States", "Units", "Constants", "Weights", "MutableWeights", "InputParams", "WeightFileProperties", ""} {
			l.taken[word] = true
		}
		if err := l.run(); err != nil {
			return nil, nil, nil, fmt.Errorf("graph %q: %w", g.Name, err)
		}
		if len(l.weights) > 0 {
			name := fileName(l.net.Name) + ".weights"
			for files[name] != nil {
				name = "_" + name
			}
			files[name], l.net.Weights = l.weights, []string{name}
		}
		f.Networks = append(f.Networks, l.net)
		f.ProcedureList = append(f.ProcedureList, l.entry)
		findings = append(findings, l.findings...)
	}
	return f, files, findings, nil
}

// fresh takes a name that is not taken: the hint, or with a number.
func fresh(taken map[string]bool, hint string) string {
	name := hint
	for i := 1; taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", hint, i)
	}
	taken[name] = true
	return name
}

// fileName has no characters that mean something in a path.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
}

// A lifting makes the network of one graph.
type lifting struct {
	graph    *anec.Graph
	net      *Network
	entry    *Entry
	taken    map[string]bool // symbols of the network
	symbols  map[*anec.Value]string
	weights  []byte
	blobs    map[*tensor.Tensor]int
	absorbed map[*anec.Layer]bool // exchanges of axes that a unit has in itself
	findings []diag.Finding
}

func (l *lifting) run() error {
	g := l.graph
	operation := "op0"
	l.entry.Operations = []Operation{{Name: operation, Network: l.net.Name}}
	for _, v := range g.Inputs {
		p := l.port(v, v.Name)
		p.Operation = operation
		l.entry.Inputs = append(l.entry.Inputs, p)
		l.symbols[v] = v.Name
		l.taken[v.Name] = true
	}
	for _, s := range g.States {
		p := l.port(s.Before, s.Before.Name)
		if s.Name != s.Before.Name {
			p.Extra = Dict{ours + "Name": s.Name}
		}
		l.net.States = append(l.net.States, p)
		l.symbols[s.Before] = p.Symbol
		l.taken[p.Symbol] = true
	}
	for _, v := range g.Outputs { // ports keep their names, units get others if need be
		l.taken[v.Name] = true
	}
	l.absorb()
	l.keepPlaces()
	for _, layer := range g.Order() {
		if !l.absorbed[layer] {
			if err := l.unit(layer); err != nil {
				return err
			}
		}
	}
	for i, s := range g.States {
		if s.Written() {
			p := l.net.States[i]
			if p.Extra == nil {
				p.Extra = Dict{}
			}
			after, err := l.symbol(s.After)
			if err != nil {
				return err
			}
			p.Extra[ours+"After"] = after
			l.note("", fmt.Sprintf("state %q, keys %sAfter and the like: Apple's compiler does not know them", p.Symbol, ours))
		}
	}
	for i, v := range g.Outputs {
		if slices.Contains(g.Outputs[:i], v) {
			continue
		}
		if err := l.output(v, operation); err != nil {
			return err
		}
	}
	return nil
}

func (l *lifting) note(unit, text string) {
	f := diag.Finding{ID: diag.NetplistOurs, Text: text}
	l.findings = append(l.findings, *f.At(0, diag.Place{Function: l.graph.Name, Layer: unit}))
}

// port describes an input or a state.
func (l *lifting) port(v *anec.Value, symbol string) *Port {
	s := l.graph.Ports[symbol]
	return &Port{
		Symbol: symbol, Type: typeName(v.Type.DType), Dims: Dims(v.Type.Dims), Interleave: max(v.Type.Interleave, 1),
		Strides: Strides{s[0], s[1], s[2], s[3]},
	}
}

// output adds a port that a unit leaves by.
func (l *lifting) output(v *anec.Value, operation string) error {
	bottom, err := l.symbol(v)
	if err != nil {
		return err
	}
	s := l.graph.Ports[v.Name]
	p := &Port{Symbol: v.Name, Type: typeName(v.Type.DType), Interleave: max(v.Type.Interleave, 1), Strides: Strides{s[0], s[1], s[2], s[3]}}
	if bottom != v.Name { // an input that is an output too has no place of its own
		inner := *p
		inner.Bottom, inner.Unlisted = bottom, true
		l.net.Outputs = append(l.net.Outputs, &inner)
	}
	p.Unit, p.Operation = bottom, operation
	l.entry.Outputs = append(l.entry.Outputs, p)
	return nil
}

// symbol is the name by which units read a value. A constant enters the network when it is first read.
func (l *lifting) symbol(v *anec.Value) (string, error) {
	if s, ok := l.symbols[v]; ok {
		return s, nil
	}
	if v.Const == nil {
		return "", fmt.Errorf("%q is made by no unit", v.Name)
	}
	c := &Constant{Name: fresh(l.taken, v.Name), Type: typeName(v.Const.DType), Dims: Dims(v.Const.Dims), Interleave: 1}
	if v.Const.Plain() {
		c.Offset = l.blob(v.Const.Stored)
	} else {
		c.Extra = Dict{ours + "Parts": l.parts(v.Const)}
		l.note("", fmt.Sprintf("constant %q, key %sParts: Apple's compiler does not know it", c.Name, ours))
	}
	l.net.Constants = append(l.net.Constants, c)
	l.symbols[v] = c.Name
	return c.Name, nil
}

// blobAlign is where tensors begin in a weights file.
const blobAlign = 64

// keepPlaces has what lies in the weight file of the model lie at the same place of the list's: tasks that name the place of a constant
// then have the same words. It does not if most of that file is of others.
func (l *lifting) keepPlaces() {
	type place struct {
		t     *tensor.Tensor
		bytes []byte
		at    int64
	}
	var places []place
	file, size, end := "", int64(0), int64(0)
	for _, v := range l.graph.Values {
		c := v.Const
		if c == nil || c.Source.File == "" || file != "" && c.Source.File != file {
			continue
		}
		p := place{c.Stored, c.Stored.Dense().Bytes(), c.Source.Offset}
		places, file, size, end = append(places, p), c.Source.File, size+int64(len(p.bytes)), max(end, p.at+int64(len(p.bytes)))
	}
	if end > 4*size+1<<20 {
		return
	}
	l.weights = make([]byte, end)
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	end = 0
	for _, p := range places {
		if p.at < end && !bytes.Equal(l.weights[p.at:p.at+int64(len(p.bytes))], p.bytes) {
			continue // it was made of another: it goes behind all
		}
		copy(l.weights[p.at:], p.bytes)
		l.blobs[p.t], end = int(p.at), max(end, p.at+int64(len(p.bytes)))
	}
}

// blob stores a tensor, once, and returns where.
func (l *lifting) blob(t *tensor.Tensor) int {
	if at, ok := l.blobs[t]; ok {
		return at
	}
	l.weights = append(l.weights, make([]byte, (blobAlign-len(l.weights)%blobAlign)%blobAlign)...)
	at := len(l.weights)
	l.weights = append(l.weights, t.Dense().Bytes()...)
	l.blobs[t] = at
	return at
}

func (l *lifting) parts(c *anec.Constant) Dict {
	d := Dict{}
	part := func(name string, t *tensor.Tensor) {
		if t != nil {
			d[name] = Dict{"Type": typeName(t.DType()), "Dims": ints(t.Shape()), "Index": int64(0), "Offset": int64(l.blob(t))}
		}
	}
	part("data", c.Stored)
	part("mask", c.Mask)
	part("scale", c.Scale)
	part("offset", c.Offset)
	if p := c.Palette; p != nil {
		part("table", p.Table)
		part("table_scale", p.Scale)
		part("table_offset", p.Offset)
		d["VectorAxis"] = axisNames[p.VectorAxis]
	}
	return d
}
