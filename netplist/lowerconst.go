package netplist

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

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
