package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// The convention between the shapes of a model, which have any rank, and the
// five axes here. A shape is laid out from the right, in its own order:
//
//	rank 0  []               1,1,1,1,1
//	rank 1  [w]              1,1,1,1,w
//	rank 2  [h, w]           1,1,1,h,w
//	rank 3  [c, h, w]        1,1,c,h,w
//	rank 4  [n, c, h, w]     n,1,c,h,w
//	rank 5  [n, d, c, h, w]  n,d,c,h,w
//
// Up to rank 4 the depth is 1, so that Apple's compiler's layouts result: [1,64]
// is [1,1,1,64] and [1,S,D] is [1,1,S,D] in N,C,H,W (facts/oracles.md, 4). The
// order of the elements in memory never changes, whatever the rank.
//
// Operations that give axes a meaning by their place from the left must say so
// with layers: a convolution of rank 3, [n, c, w], wants the channel along C and
// gets a Reshape to n,1,c,1,w; one of rank 5, [n, c, d, h, w], a Transpose that
// exchanges D and C.

// MaxRank is the highest rank that the axes can hold.
const MaxRank = NumAxes

// DimsOf lays a shape out on the axes.
func DimsOf(shape []int) (Dims, error) {
	dims := Dims{1, 1, 1, 1, 1}
	if len(shape) > MaxRank {
		return dims, fmt.Errorf("rank %d: a layer takes at most %d axes", len(shape), MaxRank)
	}
	for i, n := range shape {
		dims[AxisOf(len(shape), i)] = n
	}
	return dims, nil
}

// ShapeOf is the inverse of DimsOf for a known rank. The axes that the rank does
// not have must be of extent 1.
func ShapeOf(dims Dims, rank int) ([]int, error) {
	if rank < 0 || rank > MaxRank {
		return nil, fmt.Errorf("rank %d, want 0 to %d", rank, MaxRank)
	}
	shape := make([]int, rank)
	rest := dims
	for i := range shape {
		a := AxisOf(rank, i)
		shape[i], rest[a] = dims[a], 1
	}
	if rest != (Dims{1, 1, 1, 1, 1}) {
		return nil, fmt.Errorf("extents %v have no shape of rank %d", dims, rank)
	}
	return shape, nil
}

// AxisOf returns where axis i, counted from 0, of a shape of the rank lies.
func AxisOf(rank, i int) td.Axis {
	if rank < 0 || rank > MaxRank || i < 0 || i >= rank {
		panic(fmt.Sprintf("bug: axis %d of rank %d", i, rank))
	}
	a := NumAxes - rank + i
	if rank == 4 && i == 0 { // D stays 1
		a = int(N)
	}
	return td.Axis(a)
}

// MinimalRank returns the lowest rank that can hold the extents.
func MinimalRank(dims Dims) int {
	for rank := range MaxRank {
		if _, err := ShapeOf(dims, rank); err == nil {
			return rank
		}
	}
	return MaxRank
}
