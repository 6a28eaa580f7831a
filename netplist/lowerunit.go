package netplist

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

// kindOf is the kind of a unit's Type. Kinds that Apple has no type for have our prefix.
func kindOf(name string) (anec.Kind, bool) {
	word, prefixed := strings.CutPrefix(name, ours)
	k, ok := anec.KindOf(word)
	return k, ok && prefixed == (k.Info().Standing == anec.Ours)
}

// unitType is the Type of a kind.
func unitType(k anec.Kind) string {
	if k.Info().Standing == anec.Ours {
		return ours + k.String()
	}
	return k.String()
}

// lower makes the layers of a unit: one, and two or more about it where the unit has other axes.
func (l *lowering) lower(u *Unit) *Error {
	kind, ok := kindOf(u.Type)
	if !ok {
		if a, known := anec.FindAbsent(u.Type); known {
			return errorf(InvalidUnit, "found %q: %s", u.Type, a.Why).at("", "", "Type")
		}
		return errorf(InvalidUnit, "found %q, which is no layer kind that is known; see espalier layers", u.Type).at("", "", "Type")
	}
	p := anec.NewParams(kind)
	t := take(u.Params)
	given, err := l.bottoms(u)
	if err != nil {
		return err
	}
	l.unit = u
	defer func() { l.unit, l.origin = nil, nil }()
	var first []*anec.Value
	if len(given) > 0 {
		first = given[:1]
	}
	r := &paramReader{unit: u, kind: kind, t: t, bottoms: first}
	if err := r.read(p); err != nil {
		return err.at("", "", "").inParams()
	}
	bottoms, err := l.operands(u, kind, p, given, t)
	if err != nil {
		return err.inParams()
	}
	t.key(originOf, into(&l.origin, asStrings))
	if t.err != nil {
		return t.err
	}
	l.warn(u, t.left)
	if a, ok := p.(*anec.SDPA); ok && !a.SubtractMax {
		f := diag.Finding{ID: diag.NetplistSubtractMax, Text: fmt.Sprintf("unit %q: SubtractMax is false, and a score above 11 overflows fp16", u.Name),
			Remedy: "set Params.SubtractMax to true"}
		l.findings = append(l.findings, *f.At(0, diag.Place{Function: l.graph.Name, Layer: u.Name}))
	}
	return l.add(u, p, bottoms)
}

// warn speaks of the unit's keys that are ours, and of those that are left.
func (l *lowering) warn(u *Unit, left Dict) {
	if isOurs(u.Type) {
		f := diag.Finding{ID: diag.NetplistOurs, Text: fmt.Sprintf("unit %q, type %s: Apple's compiler does not know it", u.Name, u.Type)}
		l.findings = append(l.findings, *f.At(0, diag.Place{Function: l.graph.Name, Layer: u.Name}))
	}
	for _, key := range u.Params.keys() {
		if _, there := left[key]; there || isOurs(key) {
			l.unknown("Params." + key)
		}
	}
	for _, key := range u.Extra.keys() {
		l.unknown(key)
	}
	if behind := l.behind[u.Name]; behind != nil {
		l.strange(behind.Name, behind.Extra)
	}
}

// inParams says that the key is one of Params.
func (e *Error) inParams() *Error {
	switch e.Key {
	case "", "OutputChannels", "OutputType", "Bottom", "NumGroups":
	default:
		if !strings.HasPrefix(e.Key, "Params.") {
			e.Key = "Params." + e.Key
		}
	}
	return e
}

// bottoms are the values that a unit names.
func (l *lowering) bottoms(u *Unit) ([]*anec.Value, *Error) {
	var list []*anec.Value
	for _, symbol := range u.Bottom {
		v, err := l.value(symbol, u.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// add adds the layer of a unit.
func (l *lowering) add(u *Unit, p anec.Params, bottoms []*anec.Value) *Error {
	kind := p.Info().Kind
	last := l.last(u)
	name := last.Name
	if port := l.names[last.Name]; port != "" {
		name = port
	}
	swap := exchanged(kind)
	var failed error
	transpose := func(layer, top string, v *anec.Value) *anec.Value {
		if failed != nil {
			return nil
		}
		if isExchange(v.Def) { // undone
			return v.Def.Bottoms[0]
		}
		t, err := l.graph.Add(anec.Spec{Name: l.graph.FreshName(layer), Tops: []string{l.graph.FreshName(top)}, Params: &anec.Transpose{Perm: exchange}, Bottoms: []*anec.Value{v}})
		if err != nil {
			failed = err
			return nil
		}
		return t.Top()
	}
	for i, v := range bottoms {
		if v != nil && slices.Contains(swap, kind.Info().Contract.Bottoms[min(i, len(kind.Info().Contract.Bottoms)-1)].Name) {
			bottoms[i] = transpose(u.Name+"."+kind.Info().Contract.Bottoms[i].Name, u.Name+"."+kind.Info().Contract.Bottoms[i].Name, v)
		}
	}
	if failed != nil {
		return wrapped(InvalidParamSyntax, failed)
	}
	spec := anec.Spec{Name: last.Name, Params: p, Bottoms: bottoms, Tops: []string{name}, Origin: l.origin}
	back := swap != nil && last == u // the result is exchanged again
	if back {
		spec.Tops[0] = l.graph.FreshName(u.Name + ".y")
	}
	types, err := (&anec.Layer{Name: u.Name, Params: p, Bottoms: bottoms}).TopTypes()
	if err != nil {
		return l.refusal(u, kind, err)
	}
	if last.OutputType != "" {
		d, err := asType(last.OutputType)
		if err != nil {
			return err.at("", "", "OutputType")
		}
		if d != types[0].DType {
			spec.OutputType = d
		}
	}
	var more []string
	if v, ok := u.Params[ours+"Tops"]; ok {
		var err *Error
		if more, err = asStrings(v); err != nil {
			return err.at("", "", ours+"Tops").inParams()
		}
	}
	for _, symbol := range more {
		top := symbol
		if port := l.names[symbol]; port != "" {
			top = port
		}
		spec.Tops = append(spec.Tops, top)
	}
	layer, err := l.graph.Add(spec)
	if err != nil {
		return l.refusal(u, kind, err)
	}
	top := layer.Top()
	if back {
		if top = transpose(u.Name+".y", name, top); failed != nil {
			return wrapped(InvalidParamSyntax, failed)
		}
	}
	l.values[u.Name], l.values[last.Name] = top, top
	for i, symbol := range more {
		l.values[symbol] = layer.Tops[i+1]
	}
	if n := u.OutputChannels; n != 0 && kind != anec.KindLinear && (swap == nil || back) && n != top.Type.Dims[td.AxisC] {
		f := diag.Finding{ID: diag.NetplistChannels, Text: fmt.Sprintf("unit %q: OutputChannels is not what its operands make", u.Name),
			Limit: fmt.Sprint(top.Type.Dims[td.AxisC]), Found: fmt.Sprint(n)}
		l.findings = append(l.findings, *f.At(0, diag.Place{Function: l.graph.Name, Layer: u.Name}))
	}
	return nil
}

// refusal is the rule of a kind that a unit breaks, in the parser's words where it has some.
func (l *lowering) refusal(u *Unit, kind anec.Kind, err error) *Error {
	code := InvalidParamSyntax
	if kind == anec.KindInputView {
		code = InvalidInputViewSize
	}
	if kind.Info().Contract.String() != "" && len(u.Bottom) == 0 {
		code = InvalidBottomCount
	}
	return wrapped(code, err)
}
