package netplist

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// portType is the type of an input or a state. Extents that are not said are 1.
func (l *lowering) portType(p *Port) (anec.Type, *Error) {
	t := anec.Type{DType: tensor.Float16, Interleave: max(p.Interleave, 1)}
	if p.Interleave < 0 {
		return t, errorf(InvalidParamSyntax, "an interleave of %d", p.Interleave)
	}
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
