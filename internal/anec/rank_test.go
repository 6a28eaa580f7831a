package anec

import (
	"slices"
	"testing"
)

func TestRanks(t *testing.T) {
	for _, c := range []struct {
		shape []int
		dims  Dims
	}{
		{nil, Dims{1, 1, 1, 1, 1}},
		{[]int{7}, Dims{1, 1, 1, 1, 7}},
		{[]int{1, 64}, Dims{1, 1, 1, 1, 64}},     // facts/oracles.md: [1,1,1,64] in N,C,H,W
		{[]int{1, 6, 7}, Dims{1, 1, 1, 6, 7}},    // [1,1,S,D]
		{[]int{2, 3, 4, 5}, Dims{2, 1, 3, 4, 5}}, // N,C,H,W
		{[]int{2, 3, 4, 5, 6}, Dims{2, 3, 4, 5, 6}},
	} {
		dims, err := DimsOf(c.shape)
		if err != nil || dims != c.dims {
			t.Errorf("DimsOf(%v): got %v, %v, want %v", c.shape, dims, err, c.dims)
		}
		shape, err := ShapeOf(dims, len(c.shape))
		if err != nil || !slices.Equal(shape, c.shape) {
			t.Errorf("ShapeOf(%v, %d): got %v, %v", dims, len(c.shape), shape, err)
		}
	}
	if _, err := DimsOf(make([]int, 6)); err == nil {
		t.Error("a shape of rank 6 has extents")
	}
	for _, c := range []struct {
		dims Dims
		rank int
	}{{Dims{1, 1, 2, 3, 4}, 2}, {Dims{1, 2, 1, 1, 1}, 4}, {Dims{2, 1, 1, 1, 1}, 3}, {Dims{1, 1, 1, 1, 1}, 6}, {Dims{}, -1}} {
		if shape, err := ShapeOf(c.dims, c.rank); err == nil {
			t.Errorf("ShapeOf(%v, %d) = %v", c.dims, c.rank, shape)
		}
	}
	for dims, want := range map[Dims]int{
		{1, 1, 1, 1, 1}: 0, {1, 1, 1, 1, 2}: 1, {1, 1, 1, 2, 1}: 2, {1, 1, 2, 1, 1}: 3, {2, 1, 1, 1, 1}: 4, {1, 2, 1, 1, 1}: 5,
	} {
		if got := MinimalRank(dims); got != want {
			t.Errorf("MinimalRank(%v) = %d, want %d", dims, got, want)
		}
	}
}
