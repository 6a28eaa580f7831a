package estimate

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// sumTraits follows sums and squares through a graph, so that differences of them are found however they are written:
// as layers of their own, or as steps of an epilogue.
//
//	%s = anec.elementwise(%x) {type = Square}            a square
//	%a = anec.reduce_mean(%s) {axes = W}          a sum of squares
//	%m = anec.reduce_mean(%x) {axes = W}          a sum
//	%q = anec.multiply(%m, %m)          the square of a sum
//	%v = anec.sub(%a, %q)           a difference: the variance
type sumTraits struct {
	of          map[*anec.Value]trait
	Differences map[*anec.Layer][]difference
}

// A trait is what a value is made of, up to a factor. Means are sums here.
type trait struct {
	kind traitKind
	n    int // elements under a sum
}

type traitKind uint8

const (
	anything traitKind = iota
	aSquare
	aSum
	aSumOfSquares
	aSquareOfSum
)

// A difference is one of two sums over n elements and more, or a variance.
type difference struct {
	Variance bool
	N        int
}

func findSums(g *anec.Graph) *sumTraits {
	s := &sumTraits{of: map[*anec.Value]trait{}, Differences: map[*anec.Layer][]difference{}}
	for _, l := range g.Order() {
		t := s.epilogue(l, s.layer(l))
		if len(l.Tops) == 1 && t.kind != anything {
			s.of[l.Top()] = t
		}
	}
	return s
}

func squared(t trait) trait {
	if t.kind == aSum {
		return trait{aSquareOfSum, t.n}
	}
	return trait{kind: aSquare}
}

func summed(t trait, n int) trait {
	switch {
	case n < 2:
		return t
	case t.kind == aSquare:
		return trait{aSumOfSquares, n}
	}
	return trait{aSum, n}
}

// layer is the trait of a layer's result before its epilogue.
func (s *sumTraits) layer(l *anec.Layer) trait {
	if len(l.Bottoms) == 0 || l.Bottoms[0] == nil {
		return trait{}
	}
	x := s.of[l.Bottoms[0]]
	switch p := l.Params.(type) {
	case *anec.Reduction:
		n := Reduced(p.Axes, l.Bottoms[0])
		switch {
		case p.Type == td.ReduceSumSquare:
			return trait{aSumOfSquares, n}
		case p.Type != td.ReduceSum && p.Type != td.ReduceAvg:
			return trait{}
		case p.Square:
			return squared(summed(x, n))
		}
		return summed(x, n)
	case *anec.Pooling:
		if p.Type == td.PoolAvg {
			return summed(x, int(p.Volume()))
		}
	case *anec.Neuron:
		if p.Type == td.FuncSquare {
			return squared(x)
		}
	case *anec.GOC:
		if len(l.Bottoms) == 1 && p.Bias == 0 {
			return x
		}
	case *anec.ElementWise:
		if len(l.Bottoms) == 1 || l.Bottoms[1] == nil {
			if p.Type == td.EWSquare {
				return squared(x)
			}
			return trait{}
		}
		z := l.Bottoms[1]
		if p.Type == td.EWPower {
			if number(z) && z.Const.Stored != nil {
				if power, ok := z.Const.Scalar(); ok && power == 2 {
					return squared(x)
				}
			}
			return trait{}
		}
		return s.pair(l, p.Type, x, s.of[z], z == l.Bottoms[0], number(l.Bottoms[0]), number(z))
	case *anec.Reshape, *anec.Transpose, *anec.TypeCast, *anec.Copy, *anec.Alias, *anec.Broadcast, *anec.Flatten, *anec.Unflatten:
		return x
	}
	return trait{}
}

// pair is the trait of a function of two values; same says that they are one, and xNumber and zNumber that they are
// constants of one element.
func (s *sumTraits) pair(l *anec.Layer, k td.EWKind, x, z trait, same, xNumber, zNumber bool) trait {
	switch {
	case k == td.EWNone:
		return x
	case k == td.EWSquare:
		return squared(x)
	case k == td.EWMult && same:
		return squared(x)
	case (k == td.EWMult || k == td.EWDiv) && zNumber:
		return x
	case k == td.EWMult && xNumber:
		return z
	case k != td.EWSub:
	case x.kind == aSumOfSquares && z.kind == aSquareOfSum, x.kind == aSquareOfSum && z.kind == aSumOfSquares:
		s.Differences[l] = append(s.Differences[l], difference{true, min(x.n, z.n)})
	case isSum(x) && isSum(z):
		s.Differences[l] = append(s.Differences[l], difference{false, min(x.n, z.n)})
	}
	return trait{}
}

func isSum(t trait) bool { return t.kind == aSum || t.kind == aSumOfSquares }

func number(v *anec.Value) bool { return v.Const != nil && v.Type.Dims == anec.Dims{1, 1, 1, 1, 1} }

// epilogue is the trait of what a layer stores.
func (s *sumTraits) epilogue(l *anec.Layer, t trait) trait {
	e := &l.Epilogue
	activate := func(a *anec.Activation) {
		switch {
		case a == nil || a.Function == td.FuncNone:
		case a.Function == td.FuncSquare:
			t = squared(t)
		default:
			t = trait{}
		}
	}
	activate(e.Pre)
	if e.GOC != nil && e.GOC.Offset != nil {
		t = trait{}
	}
	activate(e.Post)
	before := []trait{t} // what the slots made, then each step
	for i := range e.Steps {
		t = s.step(l, &e.Steps[i], t, before)
		before = append(before, t)
	}
	return t
}

func (s *sumTraits) step(l *anec.Layer, p *anec.Step, t trait, before []trait) trait {
	switch p.Code {
	case td.MicroScaleBias:
		if p.B == 0 {
			return t
		}
	case td.MicroTypeCast:
		return t
	case td.MicroActivation:
		if p.Function == td.FuncSquare {
			return squared(t)
		}
	case td.MicroEW:
		if p.EW == td.EWPower && p.Operand == nil && p.Earlier == 0 && !p.Swap && p.A == 2 {
			return squared(t)
		}
		second, isNumber := trait{}, p.Operand == nil && p.Earlier == 0
		switch {
		case p.Operand != nil:
			second, isNumber = s.of[p.Operand], number(p.Operand)
		case p.Earlier > 0 && p.Earlier <= len(before):
			second = before[p.Earlier-1]
		}
		same := p.Earlier == len(before)
		if p.Swap {
			return s.pair(l, p.EW, second, t, same, isNumber, false)
		}
		return s.pair(l, p.EW, t, second, same, false, isNumber)
	}
	return trait{}
}
