package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// lowerReduction leaves the axes that go with extent 1, and then takes them out of the shape, which costs nothing.
func lowerReduction(l *Lowering, kind td.ReductionKind) error {
	if kind == td.ReduceLogSumExp && !l.DType("x").IsFloat() {
		return l.Refuse("tasks compute exponentials in fp32, which does not hold every %v", l.DType("x"))
	}
	axes, err := reducedAxes(l.Call)
	if err != nil {
		return err
	}
	gone, err := l.axesOf("x", axes)
	if err != nil {
		return err
	}
	l.Give(0, l.Reshape(l.Layer(l.Name(), &anec.Reduction{Type: kind, Axes: gone}, l.In("x")), l.OutDims(0)))
	return nil
}

// axesOf is where axes of an argument lie. For none, it is one of extent 1, over which each element stands alone.
func (l *Lowering) axesOf(param string, axes []int) (td.Axes, error) {
	var set td.Axes
	for _, a := range axes {
		set |= td.AxesOf(l.Axis5(param, a))
	}
	if set == 0 {
		if l.Rank(param) == anec.MaxRank {
			return 0, l.Refuse("it reduces no axis, and a layer of rank %d has none to spare", anec.MaxRank)
		}
		set = td.AxesOf(anec.D)
	}
	return set, nil
}

func lowerArg(l *Lowering, extreme td.Extreme) error {
	axis, err := l.Axis("axis", l.Rank("x"))
	if err != nil {
		return err
	}
	y := l.LayerAs(l.OutDType(0), l.Name(), &anec.GlobalArgMinMax{Type: extreme, Axis: l.Axis5("x", axis)}, l.In("x"))
	l.Give(0, l.Reshape(y, l.OutDims(0)))
	return nil
}
