package tensor

import (
	"math"
	"testing"
)

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		name      string
		got, want *Tensor
		tol       float64
		match     bool
	}{
		{"equal", Of([]float32{1, 2}, 2), Of([]float32{1, 2}, 2), 0, true},
		{"within: 0.1 of rms 1", Of([]float32{1.1, -1}, 2), Of([]float32{1, -1}, 2), 0.11, true},
		{"beyond", Of([]float32{1.1, -1}, 2), Of([]float32{1, -1}, 2), 0.09, false},
		{"relative to rms, not to the element", Of([]float32{0.5, 100}, 2), Of([]float32{0, 100}, 2), 0.01, true},
		{"absolute for zeros", Of([]float32{0.02, 0}, 2), Of([]float32{0, 0}, 2), 0.01, false},
		{"absolute for zeros, within", Of([]float32{0.005, 0}, 2), Of([]float32{0, 0}, 2), 0.01, true},
		{"NaN matches NaN", Of([]float64{nan, 1}, 2), Of([]float64{nan, 1}, 2), 0, true},
		{"NaN does not match a number", Of([]float64{nan, 1}, 2), Of([]float64{1, 1}, 2), 10, false},
		{"a number does not match NaN", Of([]float64{1, 1}, 2), Of([]float64{nan, 1}, 2), 10, false},
		{"infinity matches itself", Of([]float64{inf, 1}, 2), Of([]float64{inf, 1}, 2), 0, true},
		{"not its opposite", Of([]float64{-inf, 1}, 2), Of([]float64{inf, 1}, 2), 10, false},
		{"rms over finite values", Of([]float64{inf, 1.2}, 2), Of([]float64{inf, 1}, 2), 0.1, false},
		{"integers are exact", Of([]int32{1, 3}, 2), Of([]int32{1, 2}, 2), 10, false},
		{"other integer type", Of([]int32{1, 2}, 2), Of([]int64{1, 2}, 2), 0, true},
		{"floats for integers", Of([]float32{1, 2.5}, 2), Of([]int64{1, 2}, 2), 10, false},
		{"bool", Of([]bool{true}, 1), Of([]bool{false}, 1), 10, false},
		{"strings", Of([]string{"a"}, 1), Of([]string{"b"}, 1), 10, false},
		{"scalar is [1]", Scalar(float32(1)), Of([]float32{1}, 1), 0, true},
		{"[1] is scalar", Of([]float32{1}, 1), Scalar(float32(1)), 0, true},
		{"other shapes differ", Of([]float32{1}, 1, 1), Of([]float32{1}, 1), 0, false},
		{"string for number", Of([]string{"1"}, 1), Of([]float32{1}, 1), 0, false},
		{"empty", New(Float32, 0), New(Float32, 0), 0, true},
	} {
		c := Compare(tc.got, tc.want, tc.tol)
		if c.Match != tc.match || c.Match == (c.Reason != "") {
			t.Errorf("%s: %+v", tc.name, c)
		}
	}
	if c := Compare(Of([]float32{1, 5, 2}, 3), Of([]float32{1, 1, 1}, 3), 0.1); c.Worst != 1 || c.Error != 4 {
		t.Errorf("the worst element is %d by %v", c.Worst, c.Error)
	}
}
