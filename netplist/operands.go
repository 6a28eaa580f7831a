package netplist

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

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
		if !slices.Contains(names, "w") {
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
		if n, m := counts(scale), counts(bias); n > 1 && m > 1 && n != m {
			return nil, errorf(InvalidParamSyntax, "found %d, and ScaleCount is %d", m, n).at("", "", "BiasScaleGroupData.BiasCount")
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
