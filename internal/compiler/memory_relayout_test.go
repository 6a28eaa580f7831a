package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

func TestCommonPieces(t *testing.T) {
	rows := func(d anec.Dims) (s [anec.NumAxes]int64) { // of fp16, each on 64 bytes
		s[4] = 2
		step := int64((2*d[4] + 63) / 64 * 64)
		for a := 3; a >= 0; a-- {
			s[a] = step
			step *= int64(d[a])
		}
		return s
	}
	for _, c := range []struct {
		from, to anec.Dims
		pieces   anec.Dims // zero: there are none
	}{
		{anec.Dims{1, 1, 1, 16, 24}, anec.Dims{1, 1, 16, 3, 8}, anec.Dims{1, 1, 16, 3, 8}},
		{anec.Dims{1, 1, 16, 4, 8}, anec.Dims{1, 1, 1, 16, 32}, anec.Dims{1, 1, 1, 64, 8}}, // 32 fill their 64 bytes
		{anec.Dims{1, 1, 4, 8, 8}, anec.Dims{1, 1, 16, 4, 4}, anec.Dims{1, 1, 32, 2, 4}},
		{anec.Dims{1, 1, 1, 2, 10}, anec.Dims{1, 1, 1, 4, 5}, anec.Dims{1, 1, 2, 2, 5}},
		{anec.Dims{1, 1, 1, 2, 10}, anec.Dims{1, 1, 1, 5, 4}, anec.Dims{}},
		{anec.Dims{1, 1, 1, 1, 1}, anec.Dims{1, 1, 1, 1, 1}, anec.Dims{1, 1, 1, 1, 1}},
	} {
		x, y := rows(c.from), rows(c.to)
		dims, from, to, ok := segment.CommonPieces(c.from, x, c.to, y)
		if ok != (c.pieces != anec.Dims{}) || ok && dims != c.pieces {
			t.Errorf("%v to %v: %v, %t; want %v", c.from, c.to, dims, ok, c.pieces)
			continue
		}
		if !ok {
			continue
		}
		// Every element is found at the same offsets as by the tensors' own axes.
		n := dims[0] * dims[1] * dims[2] * dims[3] * dims[4]
		for i := range n {
			if got, want := offsetOf(i, dims, from), offsetOf(i, c.from, x); got != want {
				t.Fatalf("%v to %v: element %d is read at %d, lies at %d", c.from, c.to, i, got, want)
			}
			if got, want := offsetOf(i, dims, to), offsetOf(i, c.to, y); got != want {
				t.Fatalf("%v to %v: element %d is written at %d, belongs at %d", c.from, c.to, i, got, want)
			}
		}
	}
}

// offsetOf is where an element lies, by its number in order.
func offsetOf(i int, dims anec.Dims, strides [anec.NumAxes]int64) (at int64) {
	for a := anec.NumAxes - 1; a >= 0; a-- {
		at += int64(i%dims[a]) * strides[a]
		i /= dims[a]
	}
	return at
}
