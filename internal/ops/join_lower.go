package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// concat puts values side by side along an axis; one alone stays as it is.
func (l *Lowering) concat(axis td.Axis, values []*anec.Value) *anec.Value {
	if len(values) == 1 {
		return values[0]
	}
	return l.Layer(l.Name(), &anec.Concat{Axis: axis}, values...)
}

func lowerConcat(l *Lowering) error {
	rank := len(l.OutShape(0))
	axis, err := l.Axis("axis", rank)
	if err != nil {
		return err
	}
	var values []*anec.Value
	for i := range l.Count("values") {
		if shape := l.TypeAt("values", i).Shape; len(shape) > 0 && shape[axis] == 0 {
			continue // no layer takes an empty tensor, and it adds nothing
		}
		values = append(values, l.InAt("values", i))
	}
	a := anec.AxisOf(rank, axis)
	if l.Bool("interleave") && len(values) > 1 {
		l.Give(0, l.Layer(l.Name(), &anec.Concat{Axis: a, Interleave: true}, values...))
		return nil
	}
	l.Give(0, l.concat(a, values))
	return nil
}

// lowerStack gives each value an axis of length 1 and concatenates on it.
func lowerStack(l *Lowering) error {
	rank := len(l.OutShape(0))
	axis, err := l.Axis("axis", rank)
	if err != nil {
		return err
	}
	a := anec.AxisOf(rank, axis)
	values := make([]*anec.Value, l.Count("values"))
	for i := range values {
		values[i] = l.Reshape(l.InAt("values", i), l.OutDims(0).With(a, 1))
	}
	l.Give(0, l.concat(a, values))
	return nil
}

func lowerSplit(l *Lowering) error {
	axis, err := l.Axis("axis", l.Rank("x"))
	if err != nil {
		return err
	}
	x, begin := l.In("x"), 0
	for i := range l.outs {
		n := l.OutShape(i)[axis]
		l.Give(i, l.part(x, l.Axis5("x", axis), begin, n))
		begin += n
	}
	return nil
}

// lowerTile repeats x. Where all that is repeated has length 1 it is a broadcast, which moves nothing.
func lowerTile(l *Lowering) error {
	x, out := l.In("x"), l.OutDims(0)
	if l.Err() != nil {
		return nil
	}
	reps, broadcasts := out, true
	for a, n := range x.Type.Dims {
		reps[a] = out[a] / n
		broadcasts = broadcasts && (reps[a] == 1 || n == 1)
	}
	switch {
	case x.Type.Dims == out:
	case broadcasts:
		x = l.Layer(l.Name(), &anec.Broadcast{Dims: out}, x)
	default:
		x = l.Layer(l.Name(), &anec.Tile{Reps: reps}, x)
	}
	l.Give(0, x)
	return nil
}
