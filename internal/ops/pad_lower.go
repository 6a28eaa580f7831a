package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// padModes are what the modes of pad are called in a task.
var padModes = map[string]td.PaddingMode{
	"constant":  td.PadBackground,
	"reflect":   td.PadReflective,
	"replicate": td.PadReplication,
}

func lowerPad(l *Lowering) error {
	if !l.Known("pad") {
		return l.Refuse("pad is only known when it runs")
	}
	pad, err := padsOf(l.Call)
	if err != nil {
		return err
	}
	p := &anec.Padding{Mode: padModes[l.Str("mode")]}
	if p.Mode == td.PadBackground {
		if p.Value = l.Float("constant_val"); p.Value == 0 {
			p.Mode = td.PadZero
		}
	}
	for i := range l.Rank("x") {
		a := l.Axis5("x", i)
		p.Before[a], p.After[a] = pad[2*i], pad[2*i+1]
	}
	l.Give(0, l.padded(l.In("x"), p))
	return nil
}

// padded puts elements about x; nothing is added where there are none.
func (l *Lowering) padded(x *anec.Value, p *anec.Padding) *anec.Value {
	if p.Before == (anec.Dims{}) && p.After == (anec.Dims{}) {
		return x
	}
	return l.Layer(l.Name(), p, x)
}
