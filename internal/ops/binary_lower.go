package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// lowerPair is the lowering of an operation on the pairs of elements of x and y.
func lowerPair(kind td.EWKind) LowerFunc {
	return func(l *Lowering) error {
		l.Give(0, l.Layer(l.Name(), &anec.ElementWise{Type: kind}, l.InAligned("x"), l.InAligned("y")))
		return nil
	}
}

// lowerSelect lets three operands meet.
func lowerSelect(l *Lowering) error {
	l.Give(0, l.Layer(l.Name(), &anec.Select{}, l.InAligned("cond"), l.InAligned("a"), l.InAligned("b")))
	return nil
}
