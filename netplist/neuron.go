package netplist

import (
	"reflect"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A Neuron's constants have keys that depend on its function.

// neuronOf is the row of a Type.
func neuronOf(name string) (neuronRow, bool) {
	for _, row := range neurons {
		if row.name == name {
			return row, true
		}
	}
	if word, ok := strings.CutPrefix(name, ours); ok {
		for f := range td.Function(255) {
			if f.Valid() && f.String() == word {
				return neuronRow{f, name, "", ""}, true
			}
		}
	}
	return neuronRow{}, false
}

func (r *paramReader) neuron(p *anec.Neuron) {
	var row neuronRow
	if !r.t.key("Type", func(x any) *Error {
		name, err := asString(x)
		if err != nil {
			return err
		}
		var ok bool
		if row, ok = neuronOf(name); !ok {
			var all []string
			for _, n := range neurons {
				all = append(all, n.name)
			}
			return wrong(x, "one of "+strings.Join(all, ", "))
		}
		return nil
	}) {
		r.t.err = errorf(InvalidParamSyntax, "it is not there, and the unit needs it").at("", "", "Type")
	}
	half := func(key string) (f float32) {
		if key != "" {
			r.t.key(key, func(x any) *Error { return setBits(reflect.ValueOf(&f).Elem(), x) })
		}
		return f
	}
	*p = anec.Neuron{Type: row.function, A: half(row.a), B: half(row.b)}
	switch row.name {
	case "LeakyReLU":
		if offset := half("ReluOffset"); offset != 0 && r.t.err == nil {
			r.t.err = errorf(InvalidParamSyntax, "found an offset of %g; what that means no source says", offset).at("", "", "ReluOffset")
		}
	case "ReLUN":
		if slope := half("ReluSlope"); slope != 0 { // leaky below 0, and at most so much
			*p = anec.Neuron{Type: td.FuncClampedReLU, A: slope, B: p.A}
		}
	case "ClampedReLU":
		if p.A == 0 { // the engine's own
			*p = anec.Neuron{Type: td.FuncReLUN, A: p.B}
		}
	case "Swish":
		p.A = 1
	}
	r.t.key(ours+"A", func(x any) *Error { return setPlain(reflect.ValueOf(&p.A).Elem(), x) })
	r.t.key(ours+"B", func(x any) *Error { return setPlain(reflect.ValueOf(&p.B).Elem(), x) })
}

func (w *paramWriter) neuron(p *anec.Neuron) {
	if p.Type == td.FuncClampedReLU {
		w.set("Type", "ReLUN")
		w.setBits("ReluSlope", "A", p.A)
		w.setBits("ReluMax", "B", p.B)
		if v := w.unit.Params["ReluSlope"]; v == int64(0) { // read back it would be another function
			w.set("Type", functionWord(p.Type))
			w.strange = append(w.strange, "Params.Type")
			delete(w.unit.Params, "ReluSlope")
			delete(w.unit.Params, "ReluMax")
			w.setOurs("A", float64(p.A))
			w.setOurs("B", float64(p.B))
		}
		return
	}
	row := neuronRow{function: p.Type, name: functionWord(p.Type)}
	for _, r := range neurons {
		if r.function == p.Type {
			row = r
		}
	}
	w.set("Type", row.name)
	if isOurs(row.name) {
		w.strange = append(w.strange, "Params.Type")
	}
	usualA := float32(0)
	if row.name == "Swish" {
		usualA = 1
	}
	for _, c := range []struct {
		key, name    string
		value, usual float32
	}{{row.a, "A", p.A, usualA}, {row.b, "B", p.B, 0}} {
		switch {
		case c.key != "":
			w.setBits(c.key, c.name, c.value)
		case c.value != c.usual:
			w.setOurs(c.name, float64(c.value))
		}
	}
}
