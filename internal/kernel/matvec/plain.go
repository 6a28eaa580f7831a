package matvec

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// plain is the definition: each product and each sum is rounded.
var plain = Row{Name: "go", Side: 4, dots: plainDots, strips: plainStrips, panels: plainPanels, Doc: "plain Go"}

func plainDots(p *Product) {
	for l := range p.Lines {
		plainLine(p, l, l*p.Apart, 2)
	}
}

func plainStrips(p *Product) {
	for l := range p.Lines {
		plainLine(p, l, 2*l, p.Apart)
	}
}

func plainPanels(p *Product) {
	for l := range p.Lines {
		plainLine(p, l, l/4*p.Apart+2*(l%4), 2*4)
	}
}

// plainLine adds up line l, whose factors lie from a byte on, each a step further.
func plainLine(p *Product, l, at, step int) {
	var s [MaxRows]float32
	for r := range p.Rows {
		s[r] = p.S[r*p.Stride+l]
	}
	for k := range p.Depth {
		w := half.Float(binary.LittleEndian.Uint16(p.W[at:]))
		at += step
		for r, x := range p.X[k*p.Rows:][:p.Rows] {
			s[r] += float32(w * x)
		}
	}
	for r := range p.Rows {
		p.S[r*p.Stride+l] = s[r]
	}
}
