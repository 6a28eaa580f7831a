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
		return errorf(InvalidUnit, "found %q, which is no layer kind that is known; see espalier layers", u.Type).at("", "", "Type")
	}
	p := anec.NewParams(kind)
	t := take(u.Params)
	given, err := l.bottoms(u)
	if err != nil {
		return err
	}
	l.unit = u
	defer func() { l.unit = nil }()
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

// operands puts what the unit names, and the weights that its parameters name, in the places of the kind's contract.
func (l *lowering) operands(u *Unit, kind anec.Kind, p anec.Params, given []*anec.Value, t *taker) ([]*anec.Value, *Error) {
	rows := kind.Info().Contract.Bottoms
	names, err := l.operandNames(u, kind, p, len(given), t)
	if err != nil {
		return nil, err
	}
	var bottoms []*anec.Value
	place := func(name string, v *anec.Value) *Error {
		i := slices.IndexFunc(rows, func(o anec.Operand) bool { return o.Name == name })
		if i < 0 {
			return errorf(InvalidBottomCount, "a %v has no operand %q", kind, name).at("", "", "Bottom")
		}
		if rows[i].Repeats && len(bottoms) > i {
			i = len(bottoms)
		}
		for len(bottoms) <= i {
			bottoms = append(bottoms, nil)
		}
		if bottoms[i] != nil {
			return errorf(InvalidBottomCount, "two operands %q", name).at("", "", "Bottom")
		}
		bottoms[i] = v
		return nil
	}
	for i, v := range given {
		if err := place(names[i], v); err != nil {
			return nil, err
		}
	}
	constant := func(name string, c *anec.Constant) *Error {
		v, err := l.addConstant(l.last(u).Name+"."+name, c)
		if err != nil {
			return err
		}
		return place(name, v)
	}
	switch kind {
	case anec.KindConv, anec.KindLinear:
		if slices.Contains(names, "w") {
			break
		}
		if len(bottoms) == 0 || bottoms[0] == nil {
			return nil, errorf(InvalidBottomCount, "it reads nothing").at("", "", "Bottom")
		}
		if c, ok := p.(*anec.Conv); ok && u.Params["Type"] == "ChannelWiseDeConv" {
			c.Groups = bottoms[0].Type.Dims[td.AxisC]
		}
		dims, err := kernelDims(u, p, bottoms[0].Type.Dims)
		if err != nil {
			return nil, err
		}
		c, err := l.kernel(u, t, dims)
		if err != nil {
			return nil, err
		}
		if err := constant("w", c); err != nil {
			return nil, err
		}
		if bias := l.behind[u.Name]; bias != nil {
			t := take(bias.Params)
			_, offset, _, err := l.groupData(t)
			if err == nil && (offset == nil || len(t.left) > 0) {
				err = errorf(InvalidParamSyntax, "found %s, want a bias and no more", describe(bias.Params))
			}
			if err == nil {
				err = constant("bias", offset)
			}
			if err != nil {
				return nil, err.at("", bias.Name, "")
			}
		}
	case anec.KindGOC:
		scale, bias, exact, err := l.groupData(t)
		if err != nil {
			return nil, err
		}
		bias = (&paramReader{unit: u, kind: kind, t: t}).bias(p.(*anec.GOC), scale, bias, exact)
		if scale != nil {
			if err := constant("scale", scale); err != nil {
				return nil, err
			}
		}
		if bias != nil {
			if err := constant("bias", bias); err != nil {
				return nil, err
			}
		}
	}
	return bottoms, nil
}

// operandNames are the operands that the bottoms are: in the order of the contract, less those that parameters name; or as a key of
// ours says.
func (l *lowering) operandNames(u *Unit, kind anec.Kind, p anec.Params, n int, t *taker) ([]string, *Error) {
	var names []string
	if t.key(ours+"Operands", into(&names, asStrings)) {
		if t.err == nil && len(names) != n {
			return nil, errorf(InvalidBottomCount, "%d names for %d bottoms", len(names), n).at("", "", ours+"Operands")
		}
		return names, t.err
	}
	names = usualOperands(kind, p, n)
	if len(names) < n {
		rows := kind.Info().Contract
		return nil, errorf(InvalidBottomCount, "found %d bottoms of a %v, want %s", n, kind, &rows).at("", "", "Bottom")
	}
	return names, nil
}

// usualOperands are the operands that the bottoms of a unit are without a word, at most n.
func usualOperands(kind anec.Kind, p anec.Params, n int) []string {
	var names []string
	for _, o := range kind.Info().Contract.Bottoms {
		switch {
		case kind == anec.KindConv && o.Name != "x", kind == anec.KindLinear && o.Name != "x", kind == anec.KindGOC && o.Name != "x":
			continue // in Params
		case kind == anec.KindDynamicGOC && o.Name == "scale" && p.(*anec.DynamicGOC).BiasOnly:
			continue
		}
		names = append(names, o.Name)
		for o.Repeats && len(names) < n {
			names = append(names, o.Name)
		}
	}
	return names[:min(n, len(names))]
}

// join finds units that are parts of the layer of the unit before them: the bias of a convolution, which FromGraphs marks; and the
// exchange of axes behind attention or a matrix product, which undoes the one that its layer would have.
func (l *lowering) join() *Error {
	readers := map[string]int{}
	for _, u := range l.net.Units {
		for _, symbol := range u.Bottom {
			readers[symbol]++
		}
	}
	for _, p := range l.net.Outputs {
		readers[p.Bottom]++
	}
	for _, p := range l.entry.Outputs {
		if l.ports[p.Symbol] == nil {
			readers[p.Unit]++
		}
	}
	for _, u := range l.net.Units {
		isBias := u.Extra[biasOf] == true
		var first *Unit
		if len(u.Bottom) == 1 && readers[u.Bottom[0]] == 1 {
			first = l.units[u.Bottom[0]]
		}
		switch {
		case isBias && (u.Type != anec.KindGOC.String() || first == nil || first.Type != anec.KindConv.String()):
			return errorf(InvalidUnit, "the bias of a convolution is a GOC behind it, which alone reads it").at("", u.Name, biasOf)
		case isBias, first != nil && isExchangeUnit(u) && swaps(first.Type) && (u.OutputType == "" || u.OutputType == first.OutputType):
			l.behind[first.Name], l.before[u.Name] = u, first
		}
	}
	return nil
}

// isExchangeUnit reports whether a unit does no more than exchange C and H.
func isExchangeUnit(u *Unit) bool {
	if u.Type != anec.KindTranspose.String() {
		return false
	}
	t, p := take(u.Params), anec.NewParams(anec.KindTranspose)
	err := (&paramReader{unit: u, kind: anec.KindTranspose, t: t}).read(p)
	return err == nil && len(t.left) == 0 && p.(*anec.Transpose).Perm == exchange
}

func swaps(unit string) bool {
	kind, ok := kindOf(unit)
	return ok && exchanged(kind) != nil
}

// last is the unit by whose name others read what a unit makes.
func (l *lowering) last(u *Unit) *Unit {
	if behind := l.behind[u.Name]; behind != nil {
		return behind
	}
	return u
}

// exchange is the permutation between the axes of a unit and those of its layer.
var exchange = anec.Perm{anec.N, anec.D, anec.H, anec.C, anec.W}

// exchanged are the operands of kinds whose units have C where the layer has H; an attention's scale is one number.
func exchanged(kind anec.Kind) []string {
	switch kind {
	case anec.KindMatMul:
		return []string{"x", "z"}
	case anec.KindSDPA:
		return []string{"q", "k", "v", "mask"}
	}
	return nil
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
	spec := anec.Spec{Name: last.Name, Params: p, Bottoms: bottoms, Tops: []string{name}}
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
