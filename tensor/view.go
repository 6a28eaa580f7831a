package tensor

import (
	"fmt"
	"slices"
)

// The functions here return views: same memory, other shape and strides. They return an error where the
// arguments do not fit, as these often come from a file.

// Reshape returns the same elements in another shape: a view of a contiguous tensor, else of a dense copy.
func (t *Tensor) Reshape(shape ...int) (*Tensor, error) {
	n, ok := Count(shape)
	if !ok || n != t.Len() {
		return nil, fmt.Errorf("cannot reshape %v to %v", ShapeOf(t.shape...), ShapeOf(shape...))
	}
	v := *t
	if !t.Contiguous() {
		v = *t.Clone()
	}
	v.shape, v.strides = slices.Clone(shape), rowMajor(shape)
	return &v, nil
}

// Transpose permutes the axes: axis i of the result is axis perm[i] of t.
func (t *Tensor) Transpose(perm ...int) (*Tensor, error) {
	seen := make([]bool, len(t.shape))
	v := *t
	v.shape, v.strides = make([]int, len(perm)), make([]int, len(perm))
	if len(perm) != len(t.shape) {
		return nil, fmt.Errorf("permutation %v does not fit rank %d", perm, len(t.shape))
	}
	for i, p := range perm {
		if p < 0 || p >= len(perm) || seen[p] {
			return nil, fmt.Errorf("%v is not a permutation of %d axes", perm, len(perm))
		}
		seen[p] = true
		v.shape[i], v.strides[i] = t.shape[p], t.strides[p]
	}
	return &v, nil
}

// Slice takes every step-th of the indices begin, begin+step, … on one axis, count of them. step may be
// negative.
func (t *Tensor) Slice(axis, begin, count, step int) (*Tensor, error) {
	if axis < 0 || axis >= len(t.shape) {
		return nil, fmt.Errorf("axis %d of rank %d", axis, len(t.shape))
	}
	n := t.shape[axis]
	if count < 0 || count > 0 && (begin < 0 || begin >= n) || !stays(begin, count-1, step, n) {
		return nil, fmt.Errorf("slice of %d from %d by %d leaves axis %d of length %d", count, begin, step, axis, n)
	}
	v := *t
	v.shape, v.strides = slices.Clone(t.shape), slices.Clone(t.strides)
	v.shape[axis] = count
	if _, ok := Count(v.shape); !ok { // with a step of 0 there may be any number
		return nil, fmt.Errorf("slice of %d on axis %d of %v has too many elements", count, axis, t)
	}
	if count > 0 && t.Len() > 0 { // an empty tensor may have no memory to point into
		v.offset += begin * t.strides[axis]
		v.strides[axis] *= step
	}
	return &v, nil
}

// stays reports whether so many steps from begin, which is in [0, n), end there too. The product may overflow.
func stays(begin, steps, step, n int) bool {
	switch {
	case steps <= 0 || step == 0:
		return true
	case step > 0:
		return steps <= (n-1-begin)/step
	}
	return steps <= begin/-step
}

// BroadcastTo repeats axes of length 1, and adds axes in front, by strides of zero.
func (t *Tensor) BroadcastTo(shape ...int) (*Tensor, error) {
	if _, ok := Count(shape); !ok || len(shape) < len(t.shape) {
		return nil, fmt.Errorf("cannot broadcast %v to %v", ShapeOf(t.shape...), ShapeOf(shape...))
	}
	v := *t
	v.shape, v.strides = slices.Clone(shape), make([]int, len(shape))
	for i, d := range t.shape {
		j := i + len(shape) - len(t.shape)
		switch {
		case d == shape[j]:
			v.strides[j] = t.strides[i]
		case d != 1:
			return nil, fmt.Errorf("cannot broadcast %v to %v", ShapeOf(t.shape...), ShapeOf(shape...))
		}
	}
	return &v, nil
}

// CopyFrom writes the elements of src, of the same type and shape, into t's memory.
func (t *Tensor) CopyFrom(src *Tensor) error {
	if t.dtype != src.dtype || !slices.Equal(t.shape, src.shape) {
		return fmt.Errorf("cannot copy %v into %v", src, t)
	}
	if t.dtype == String {
		vals, k := src.Strings(), 0
		t.each(func(i int) { t.strs[i] = vals[k]; k++ })
		return nil
	}
	bits, k := t.dtype.Bits(), 0
	data := src.Bytes()
	if t.Contiguous() && bits >= 8 {
		copy(t.data[t.offset*bits/8:], data)
		return nil
	}
	t.each(func(i int) {
		if bits >= 8 {
			copy(t.data[i*bits/8:(i+1)*bits/8], data[k*bits/8:])
		} else {
			putBits(t.data, i, bits, getBits(data, k, bits))
		}
		k++
	})
	return nil
}
