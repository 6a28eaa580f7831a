package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

func lowerArgsort(l *Lowering) error {
	axis, err := l.Axis("axis", l.Rank("x"))
	if err != nil {
		return err
	}
	p := &anec.Sort{Direction: td.Descending}
	if l.Bool("ascending") {
		p.Direction = td.Ascending
	}
	p.Axis, p.Results = l.Axis5("x", axis), td.ResultIndices
	l.Give(0, l.Layer(l.Name(), p, l.In("x")))
	return nil
}

// lowerTopK gives sorted elements even where the program does not ask for it: any order will do then.
func lowerTopK(l *Lowering) error {
	axis, err := l.Axis("axis", l.Rank("x"))
	if err != nil {
		return err
	}
	p := &anec.TopK{Type: td.Max, K: l.OutShape(0)[axis]}
	if l.Bool("ascending") {
		p.Type = td.Min
	}
	p.Axis, p.Results = l.Axis5("x", axis), td.ResultValues
	if len(l.outs) > 1 {
		p.Results = td.ResultBoth
	}
	tops := l.Layers(tensor.Invalid, l.Name(), p, l.In("x"))
	for i, top := range tops {
		l.Give(i, l.Cast(top, l.OutDType(i)))
	}
	return nil
}
