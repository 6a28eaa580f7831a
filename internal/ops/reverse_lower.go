package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

func lowerReverse(l *Lowering) error {
	axes, err := l.axesOrAll("axes", l.Rank("x"))
	if err != nil {
		return err
	}
	lengths, _ := l.Shape("x").Ints()
	x := l.In("x")
	for _, i := range axes {
		if n := lengths[i]; n > 1 {
			x = l.view(x, section{axis: l.Axis5("x", i), first: n - 1, count: n, step: -1})
		}
	}
	l.Give(0, x)
	return nil
}

// lowerReverseSequence gathers along seq_axis, at place i from place length-1-i as long as that is a place:
//
//	length 3 of 5: 2 1 0 3 4
func lowerReverseSequence(l *Lowering) error {
	seq, batch, err := sequenceAxes(l.Call)
	if err != nil {
		return err
	}
	n, _ := l.Shape("x").Ints()
	seqAxis, batchAxis := l.Axis5("x", seq), l.Axis5("x", batch)
	forth := l.integers(along(seqAxis, n[seq]), l.counting(n[seq]))
	lengths := l.Reshape(l.Cast(l.In("lengths"), tensor.Int32), along(batchAxis, n[batch]))
	back := l.elementWise(td.EWSub, l.elementWise(td.EWSub, lengths, l.integer(1)), forth)
	within := l.elementWise(td.EWLessThan, forth, lengths)
	l.Give(0, l.gather(l.In("x"), l.Layer(l.Name(), &anec.Select{}, within, back, forth), seqAxis))
	return nil
}

// lowerSlidingWindows takes the elements of all windows along the axis, one window after the other, and gives the
// windows an axis. A view cannot: windows may overlap, and two axes would walk along one.
func lowerSlidingWindows(l *Lowering) error {
	axis, err := l.Axis("axis", l.Rank("x"))
	if err != nil {
		return err
	}
	windows, size, stride := l.OutShape(0)[axis], l.OutShape(0)[axis+1], l.Int("stride")
	if windows > maxIndices/size {
		return l.Refuse("%d windows of %d are more than %d indices", windows, size, maxIndices)
	}
	at := make([]int, 0, windows*size)
	for w := range windows {
		for i := range size {
			at = append(at, w*stride+i)
		}
	}
	l.Give(0, l.Reshape(l.take(l.In("x"), l.Axis5("x", axis), at), l.OutDims(0)))
	return nil
}
