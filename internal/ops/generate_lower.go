package ops

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// lowerFill repeats one stored element.
func lowerFill(l *Lowering) error {
	value := l.Reshape(l.In("value"), anec.Dims{1, 1, 1, 1, 1})
	l.Give(0, l.repeated(value, l.OutDims(0)))
	return nil
}

// repeated gives a value other extents where it has 1; nothing is added where they are the same.
func (l *Lowering) repeated(v *anec.Value, dims anec.Dims) *anec.Value {
	if v == nil || v.Type.Dims == dims {
		return v
	}
	return l.Layer(l.Name(), &anec.Broadcast{Dims: dims}, v)
}

// lowerRange stores the numbers. They are known: else the shape would not be.
func lowerRange(l *Lowering) error {
	if n := l.OutLen(0); n > maxIndices {
		return l.Refuse("it has %d elements, and a constant of them at most %d", n, maxIndices)
	}
	if err := evalRange(l.Call); err != nil {
		return err
	}
	t, err := l.results[0].(*tensor.Tensor).Convert(l.OutDType(0))
	if err != nil {
		return err
	}
	l.Give(0, l.TensorConstant(l.Name(), t))
	return nil
}

// lowerOneHot compares each index with the places along the new axis:
//
//	indices [n] as [n, 1]  =  0, 1, 2 … [size]   gives [n, size]
//
// That is the result if it is made of ones and zeros, else what chooses between the values.
func lowerOneHot(l *Lowering) error {
	shape := l.OutShape(0)
	axis, err := l.Axis("axis", len(shape))
	if err != nil {
		return err
	}
	apart, along := slices.Clone(shape), onesOf(len(shape))
	size := shape[axis]
	apart[axis], along[axis] = 1, size
	places := l.counting(size)
	if places == nil {
		return nil // the builder has the reason
	}
	indices := l.Reshape(l.In("indices"), dimsFrom(apart))
	line := l.TensorConstant(l.Name()+"_places", tensor.Of(places, along...))
	equal := &anec.ElementWise{Type: td.EWEqual}
	d := l.OutDType(0)
	on, off := l.Tensor("on_value").Float64s()[0], l.Tensor("off_value").Float64s()[0]
	if on == 1 && off == 0 {
		l.Give(0, l.LayerAs(d, l.Name(), equal, indices, line))
		return nil
	}
	hot := l.Layer(l.Name(), equal, indices, line)
	l.Give(0, l.Layer(l.Name(), &anec.Select{}, hot, l.Number("on", d, on), l.Number("off", d, off)))
	return nil
}
