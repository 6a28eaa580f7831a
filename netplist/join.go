package netplist

import (
	"github.com/espalier-ane/espalier/internal/anec"
)

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
