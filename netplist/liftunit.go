package netplist

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// isExchange reports whether a layer does no more than exchange C and H.
func isExchange(layer *anec.Layer) bool {
	if layer == nil || layer.Kind() != anec.KindTranspose || layer.OutputType != tensor.Invalid || !layer.Epilogue.Empty() {
		return false
	}
	return layer.Params.(*anec.Transpose).Perm == exchange
}

// absorb finds the exchanges about attention and matrix products that their units have in themselves: those that Procedures made, and
// any that are like them.
func (l *lifting) absorb() {
	g := l.graph
	inside := func(v *anec.Value) bool { return len(v.Uses) == 1 && !g.IsOutput(v) }
	for _, layer := range g.Layers {
		swap := exchanged(layer.Kind())
		if swap == nil {
			continue
		}
		for i, v := range layer.Bottoms {
			if v != nil && slices.Contains(swap, layer.Info().Contract.Bottoms[i].Name) && isExchange(v.Def) && inside(v) {
				l.absorbed[v.Def] = true
			}
		}
		if top := layer.Top(); inside(top) && isExchange(top.Uses[0]) {
			l.absorbed[top.Uses[0]] = true
		}
	}
}

// operand is the symbol of a unit's operand; of one that is exchanged, what the exchange reads.
func (l *lifting) operand(unit string, v *anec.Value, swap bool) (string, error) {
	switch {
	case !swap:
		return l.symbol(v)
	case v.Def != nil && l.absorbed[v.Def]:
		return l.symbol(v.Def.Bottoms[0])
	}
	from, err := l.symbol(v)
	if err != nil {
		return "", err
	}
	return l.exchangeUnit(unit, from, exchange.Apply(v.Type.Dims), v.Type.DType), nil
}

func (l *lifting) exchangeUnit(hint, from string, dims anec.Dims, d tensor.DType) string {
	u := &Unit{
		Name: fresh(l.taken, hint), Type: anec.KindTranspose.String(), Bottom: []string{from}, InputType: []string{typeName(d)},
		OutputType: typeName(d), OutputChannels: dims[td.AxisC],
	}
	w := &paramWriter{unit: u, kind: anec.KindTranspose}
	w.write(&anec.Transpose{Perm: exchange})
	l.net.Units = append(l.net.Units, u)
	return u.Name
}

// unit writes a layer.
func (l *lifting) unit(layer *anec.Layer) error {
	kind, rows := layer.Kind(), layer.Info().Contract.Bottoms
	if !layer.Epilogue.Empty() {
		return fmt.Errorf("layer %q has an epilogue, for which lists have no place", layer.Name)
	}
	swap := exchanged(kind)
	u := &Unit{Name: layer.Name, Type: unitType(kind)}
	w := &paramWriter{unit: u, kind: kind, bottoms: layer.Bottoms}
	w.write(layer.Params)
	var names []string
	var bias *anec.Constant // of a convolution, which a unit behind it adds
	for i, v := range layer.Bottoms {
		row := rows[min(i, len(rows)-1)]
		if v == nil || l.inParams(w, layer, row.Name, v) {
			continue
		}
		if row.Name == "bias" && kind == anec.KindConv && v.Const != nil && v.Const.Plain() {
			bias = v.Const
			continue
		}
		symbol, err := l.operand(layer.Name+"."+row.Name, v, slices.Contains(swap, row.Name))
		if err != nil {
			return fmt.Errorf("layer %q: %w", layer.Name, err)
		}
		u.Bottom, names = append(u.Bottom, symbol), append(names, row.Name)
		u.InputType = append(u.InputType, typeName(v.Type.DType))
	}
	if !slices.Equal(names, usualOperands(kind, layer.Params, len(names))) {
		w.setOurs("Operands", anyOf(names))
	}
	top := layer.Top()
	u.OutputType = typeName(top.Type.DType)
	u.OutputChannels = top.Type.Dims[td.AxisC]
	if kind == anec.KindLinear {
		u.OutputChannels = layer.Bottoms[1].Type.Dims[td.AxisH]
	}
	var result *anec.Value // behind the exchange that the unit has in itself
	if swap != nil {
		u.OutputChannels = top.Type.Dims[td.AxisH]
		if len(top.Uses) == 1 && l.absorbed[top.Uses[0]] {
			result = top.Uses[0].Top()
		}
	}
	if bias != nil {
		u.Name += ".conv"
	}
	u.Name = fresh(l.taken, u.Name)
	l.net.Units = append(l.net.Units, u)
	switch {
	case bias != nil:
		l.symbols[top] = l.biasUnit(layer, u, bias)
	case swap == nil:
		l.symbols[top] = u.Name
	case result != nil:
		l.symbols[result] = u.Name
	default:
		l.symbols[top] = l.exchangeUnit(layer.Name+".y", u.Name, top.Type.Dims, top.Type.DType)
	}
	if len(layer.Origin) > 0 && layer.Info().Hidden == anec.Yes {
		w.set(originOf, anyOf(layer.Origin))
		w.strange = append(w.strange, originOf)
	}
	if len(layer.Tops) > 1 {
		var more []string
		for _, v := range layer.Tops[1:] {
			l.symbols[v] = fresh(l.taken, v.Name)
			more = append(more, l.symbols[v])
		}
		w.setOurs("Tops", anyOf(more))
	}
	if isOurs(u.Type) {
		l.note(layer.Name, fmt.Sprintf("unit %q, type %s: Apple's compiler does not know it", u.Name, u.Type))
	}
	for _, key := range w.strange {
		l.note(layer.Name, fmt.Sprintf("unit %q, key %s: Apple's compiler does not know it", u.Name, key))
	}
	return nil
}

// biasUnit adds the bias of a convolution as Apple's lists do, in a GOC. A key of ours says that the two are one layer.
func (l *lifting) biasUnit(layer *anec.Layer, conv *Unit, bias *anec.Constant) string {
	u := &Unit{
		Name: fresh(l.taken, layer.Name), Type: anec.KindGOC.String(), Bottom: []string{conv.Name}, InputType: []string{conv.OutputType},
		OutputType: conv.OutputType, OutputChannels: conv.OutputChannels, Extra: Dict{biasOf: true},
	}
	l.groupData(&paramWriter{unit: u, kind: anec.KindGOC}, "Bias", bias)
	l.net.Units = append(l.net.Units, u)
	return u.Name
}

// originOf names the operations of a model that a hidden unit was converted from: such a unit is no segment of its own on chips.
const originOf = ours + "Origin"

// biasOf marks a GOC that is the bias of the convolution before it, and no layer of its own.
const biasOf = ours + "Bias"

func (l *lifting) groupData(w *paramWriter, prefix string, c *anec.Constant) {
	d, _ := w.unit.Params["BiasScaleGroupData"].(Dict)
	if d == nil {
		d = Dict{}
		w.set("BiasScaleGroupData", d)
	}
	d[prefix+"Count"], d[prefix+"Index"] = int64(c.Dims[td.AxisC]), int64(0)
	d[prefix+"Offset"], d[prefix+"Type"] = int64(l.blob(c.Stored)), typeName(c.DType)
}

// inParams writes an operand that a unit has in its parameters, if this is one.
func (l *lifting) inParams(w *paramWriter, layer *anec.Layer, operand string, v *anec.Value) bool {
	if v.Const == nil {
		return false
	}
	switch kind := layer.Kind(); {
	case operand == "w" && (kind == anec.KindConv || kind == anec.KindLinear):
		l.kernel(w, v.Const)
	case kind == anec.KindGOC && plainGOC(layer):
		if operand == "scale" {
			l.groupData(w, "Scale", v.Const)
			break
		}
		var scale *anec.Constant
		if s := layer.Bottoms[1]; s != nil {
			scale = s.Const
		}
		q, exact := quotient(v.Const, scale, layer.Params.(*anec.GOC).Scale)
		l.groupData(w, "Bias", q)
		if !exact {
			l.groupData(w, ours+"Bias", v.Const)
			w.strange = append(w.strange, "BiasScaleGroupData."+ours+"BiasCount")
		}
	default:
		return false
	}
	return true
}

// plainGOC reports whether the constants of a GOC are such as BiasScaleGroupData has.
func plainGOC(layer *anec.Layer) bool {
	for _, v := range layer.Bottoms[1:] {
		if v != nil && !v.Const.Plain() {
			return false
		}
	}
	return true
}

// kernel writes weights, in the order output, input, depth, height, width.
func (l *lifting) kernel(w *paramWriter, c *anec.Constant) {
	w.set("KernelMode", "Dense")
	w.set("KernelType", typeName(c.DType))
	if !c.Plain() {
		w.setOurs("Parts", l.parts(c))
		return
	}
	stored := c.Stored
	if c.Dims[td.AxisD] != 1 {
		t, err := stored.Transpose(0, 2, 1, 3, 4)
		if err != nil {
			panic("bug: " + err.Error())
		}
		stored = t
	}
	w.set("KernelIndex", int64(0))
	w.set("KernelOffset", int64(l.blob(stored)))
	if layerType := w.unit.Params["Type"]; layerType == nil && w.kind == anec.KindConv {
		w.set("Type", "Conv")
	}
}
