package ops

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// gather takes elements of x along an axis at indices, which broadcast to the result.
func (l *Lowering) gather(x, indices *anec.Value, axis td.Axis) *anec.Value {
	return l.Layer(l.Name(), &anec.Gather{Axes: []td.Axis{axis}}, x, indices)
}

// take takes slices of x along an axis at known places. Places that are equally far apart are a view.
func (l *Lowering) take(x *anec.Value, axis td.Axis, at []int) *anec.Value {
	if step, ok := evenly(at); ok {
		return l.view(x, section{axis: axis, first: at[0], count: len(at), step: step})
	}
	vals := make([]int32, len(at))
	for i, p := range at {
		vals[i] = int32(p)
	}
	return l.gather(x, l.integers(along(axis, len(at)), vals), axis)
}

// evenly finds how far apart places are, if all of them equally.
func evenly(at []int) (step int, ok bool) {
	if len(at) < 2 {
		return 1, len(at) == 1
	}
	step = at[1] - at[0]
	for i := 2; i < len(at); i++ {
		if at[i]-at[i-1] != step {
			return 0, false
		}
	}
	return step, step != 0
}

// checksNothing refuses indices that have to be checked when the program runs: a task of an engine has no way to report one that
// points nowhere, and the host has.
func (l *Lowering) checksNothing() error {
	if validates(l.Call) && !l.arg("indices").fixed {
		return l.Refuse("validate_indices is true, and a task reports no index that is out of range: with false, it reads zero and writes nothing there")
	}
	return nil
}

// knownPositions are where known indices point on an axis of length n; nil if they are not known. What points nowhere is refused:
// views and slices have no place for it.
func (l *Lowering) knownPositions(n int) ([]int, error) {
	if !l.Known("indices") {
		return nil, l.checksNothing()
	}
	at := positions(l.Call, n)
	if i := slices.Index(at, nowhere); i >= 0 {
		return nil, l.Refuse("indices has %d at element %d, which is no place of %d", l.Int64s("indices")[i], i, n)
	}
	return at, nil
}

// lowerGather looks at x as [batch, before, n, inner] and at indices as [batch, m], and takes along the third axis.
// A vector of indices needs no other look at x than its own.
func lowerGather(l *Lowering) error {
	axis, err := l.Axis("axis", l.Rank("x"))
	if err != nil {
		return err
	}
	batch, err := gatherBatch(l.Call)
	if err != nil {
		return err
	}
	s, _ := l.Shape("x").Ints()
	at, err := l.knownPositions(s[axis])
	if err != nil {
		return err
	}
	indices, _ := l.Shape("indices").Ints()
	m := lengthOf(indices[batch:])
	if lengthOf(s[:batch]) > 1 {
		x := l.Reshape(l.In("x"), anec.Dims{lengthOf(s[:batch]), 1, lengthOf(s[batch:axis]), s[axis], lengthOf(s[axis+1:])})
		chosen := l.Reshape(l.In("indices"), anec.Dims{lengthOf(s[:batch]), 1, 1, m, 1})
		l.Give(0, l.Reshape(l.gather(x, chosen, anec.H), l.OutDims(0)))
		return nil
	}
	a := l.Axis5("x", axis)
	x := l.In("x")
	if at != nil {
		x = l.take(x, a, at)
	} else {
		x = l.gather(x, l.Reshape(l.In("indices"), along(a, m)), a)
	}
	l.Give(0, l.Reshape(x, l.OutDims(0)))
	return nil
}

func lowerGatherAlongAxis(l *Lowering) error {
	axis, err := l.Axis("axis", l.Rank("x"))
	if err != nil {
		return err
	}
	n, _ := l.Shape("x").Ints()
	if _, err := l.knownPositions(n[axis]); err != nil {
		return err
	}
	l.Give(0, l.gather(l.In("x"), l.In("indices"), l.Axis5("x", axis)))
	return nil
}

// lowerGatherND makes one index of each vector of indices, into the axes that they point into, strung together:
//
//	x [2, 3, 4], indices [[0, 1], [1, 2]]     x as [6, 4] at 1 and 5
func lowerGatherND(l *Lowering) error {
	batch, err := gatherBatch(l.Call)
	if err != nil {
		return err
	}
	s, _ := l.Shape("x").Ints()
	indices, _ := l.Shape("indices").Ints()
	depth := indices[len(indices)-1]
	end := batch + depth
	batches, n, inner := lengthOf(s[:batch]), lengthOf(s[batch:end]), lengthOf(s[end:])
	m := lengthOf(indices[batch : len(indices)-1])
	if err := l.checksNothing(); err != nil {
		return err
	}
	x := l.Reshape(l.In("x"), anec.Dims{batches, 1, 1, n, inner})
	if l.Known("indices") && batches == 1 {
		at := vectorPositions(l.Call, s[batch:end], m)
		if i := slices.Index(at, nowhere); i >= 0 {
			return l.Refuse("vector %d of indices, %v, points nowhere", i, l.Int64s("indices")[i*depth:][:depth])
		}
		l.Give(0, l.Reshape(l.take(x, anec.H, at), l.OutDims(0)))
		return nil
	}
	if batches == 1 && (depth == 2 || depth == 3) {
		l.Give(0, l.Reshape(l.gatherSeveral(s[batch:end], m, inner), l.OutDims(0)))
		return nil
	}
	at := l.position(l.Reshape(l.In("indices"), anec.Dims{batches, 1, 1, m, depth}), s[batch:end])
	l.Give(0, l.Reshape(l.gather(x, at, anec.H), l.OutDims(0)))
	return nil
}

// gatherSeveral is one layer for two or three axes of given lengths, which lie before W, or with it where the elements
// are single; so on a chip without a texture engine, where the depth must be 1, three axes are all that it takes:
//
//	x [8, 16, 16]     [1, 1, 8, 16, 16]  Axes=[C,H,W]
//	x [8, 16, 64]     [1, 1, 8, 16, 64]  Axes=[C,H], 64 are taken at once
//
// The vectors of indices lie along C, m of them along H.
func (l *Lowering) gatherSeveral(lengths []int, m, inner int) *anec.Value {
	last := anec.H
	if inner == 1 {
		last = anec.W
	}
	dims := anec.Dims{1, 1, 1, 1, inner}
	axes := make([]td.Axis, len(lengths))
	for i, n := range lengths {
		axes[i] = last - td.Axis(len(lengths)-1-i)
		dims[axes[i]] = n
	}
	vectors := l.Reshape(l.In("indices"), anec.Dims{1, 1, m, len(lengths), 1})
	vectors = l.Layer(l.Name(), &anec.Transpose{Perm: anec.Perm{anec.N, anec.D, anec.H, anec.C, anec.W}}, vectors)
	return l.Layer(l.Name(), &anec.Gather{Axes: axes}, l.Reshape(l.In("x"), dims), vectors)
}

// position makes one index of the vectors along W, which count into axes of some lengths. Indices below 0 count from the end, if
// they may: index mod length is the place. A vector of which one points nowhere becomes an index that does; a vector of one index
// is that index.
func (l *Lowering) position(vectors *anec.Value, lengths []int) *anec.Value {
	vectors = l.Cast(vectors, tensor.Int32)
	if len(lengths) == 1 {
		return l.part(vectors, anec.W, 0, 1)
	}
	var sum, outside *anec.Value
	for i, n := range lengths {
		at := l.part(vectors, anec.W, i, 1)
		beyond := l.elementWise(td.EWFloorDiv, l.elementWise(td.EWAdd, at, l.integer(n)), l.integer(2*n)) // 0 from -n to n-1
		at = l.elementWise(td.EWMod, at, l.integer(n))
		if sum == nil {
			sum, outside = at, beyond
			continue
		}
		sum = l.elementWise(td.EWAdd, l.elementWise(td.EWMult, sum, l.integer(n)), at)
		outside = l.elementWise(td.EWOr, beyond, outside)
	}
	return l.Layer(l.Name(), &anec.Select{}, outside, l.integer(lengthOf(lengths)), sum)
}
