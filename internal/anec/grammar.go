package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// A Pattern is what the compiler matches a unit against before its validator
// reads a field: how many bottoms there are (MatchParams), and what it says if it
// is not so (MatchStatus). Parameters that we hold as operands, a convolution's
// kernel for one, do not count: to the compiler they are part of the unit.
//
// Of the compiler's grammar the sources have the counts (guide B, 17, 22) and
// some of the texts. The rest is by the contract of the kind, and its text ours.
type Pattern struct {
	Min, Max int    // bottoms; Max -1: any number
	Text     string // "": ours
	Source   string
}

const onlyCount = "guide B, bottoms" + textOurs

// Count says how many bottoms there are.
func (p *Pattern) Count() string {
	switch {
	case p.Max < 0:
		return fmt.Sprintf("%d or more", p.Min)
	case p.Max > p.Min:
		return fmt.Sprintf("%d to %d", p.Min, p.Max)
	}
	return fmt.Sprint(p.Min)
}

// matched is a validator that holds a layer to the pattern of its kind first:
// after that no bottom is missing.
func matched(c Check) Check {
	return func(l *Layer, t *hal.Target) *diag.Finding {
		if r := match(l); r != nil {
			return r
		}
		return c(l, t)
	}
}

func match(l *Layer) *diag.Finding {
	p := &l.Info().Pattern
	n, whole := matchedBottoms(l)
	if whole && n >= p.Min && (n <= p.Max || p.Max < 0) {
		return nil
	}
	limit, text := p.Count(), p.Text
	if text == "" {
		text = fmt.Sprintf("%v layer must have %s inputs", l.Kind(), limit)
	}
	return &diag.Finding{ID: diag.LayerBottoms, Text: text, Limit: limit, Found: fmt.Sprint(n), Remedy: "wire the operands of the kind", Source: p.Source}
}

// matchedBottoms counts the bottoms that the compiler has as such too. It is
// false if there is a gap where there must be none.
func matchedBottoms(l *Layer) (n int, whole bool) {
	c := &l.Info().Contract
	for i, b := range l.Bottoms {
		row, _ := c.operand(i)
		switch {
		case folded(l.Kind(), row):
		case b != nil:
			n++
		case !row.Optional:
			return n, false
		}
	}
	return n, true
}

// folded reports whether an operand is a parameter of the compiler's unit.
func folded(k Kind, row Operand) bool { return row.Weight || row.Const && k == KindGOC }
