package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

func lowerBatchNorm(l *Lowering) error {
	x := l.toImage(l.In("x"), l.Rank("x"))
	l.giveImage(l.Layer(l.Name(), &anec.BatchNorm{Epsilon: l.Float("epsilon")}, x,
		l.perChannel("mean"), l.perChannel("variance"), l.perChannel("gamma"), l.perChannel("beta")))
	return nil
}

func lowerInstanceNorm(l *Lowering) error {
	x := l.toImage(l.In("x"), l.Rank("x"))
	norm := &anec.InstanceNorm{Axes: td.AxesOf(anec.D, anec.H, anec.W), Epsilon: l.Float("epsilon")}
	l.giveImage(l.Layer(l.Name(), norm, x, l.perChannel("gamma"), l.perChannel("beta")))
	return nil
}

// lowerLayerNorm lays gamma and beta, which have the shape of the normalized axes alone, along these.
func lowerLayerNorm(l *Lowering) error {
	axes, err := reducedAxes(l.Call)
	if err != nil {
		return err
	}
	over, err := l.axesOf("x", axes)
	if err != nil {
		return err
	}
	x := l.In("x")
	along := anec.Dims{1, 1, 1, 1, 1}
	for _, a := range axes {
		at := l.Axis5("x", a)
		along[at] = l.OutDims(0)[at]
	}
	scale := func(param string) *anec.Value {
		if !l.Has(param) {
			return nil
		}
		return l.Reshape(l.In(param), along)
	}
	norm := &anec.LayerNorm{Axes: over, Epsilon: l.Float("epsilon"), Groups: 1}
	l.Give(0, l.Layer(l.Name(), norm, x, scale("gamma"), scale("beta")))
	return nil
}

// lowerL2Norm is over the last three axes, which lie along C, H and W whatever the rank.
func lowerL2Norm(l *Lowering) error {
	norm := &anec.L2Norm{Axes: td.AxesOf(anec.C, anec.H, anec.W), Epsilon: l.Float("epsilon")}
	l.Give(0, l.Layer(l.Name(), norm, l.In("x")))
	return nil
}

func lowerLocalResponseNorm(l *Lowering) error {
	x := l.toImage(l.In("x"), l.Rank("x"))
	norm := &anec.LRN{Size: l.Int("size"), Alpha: l.Float("alpha"), Beta: l.Float("beta"), K: l.Float("k"), Around: true}
	l.giveImage(l.Layer(l.Name(), norm, x))
	return nil
}
