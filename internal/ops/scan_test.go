package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestScan(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "cumsum", args{"x": seqFrom(tensor.Float32, 1, 2, 3)}, results{result(dims(2, 3), 1, 2, 3, 5, 7, 9)}},
		{IOS15, "cumsum", args{"x": seqFrom(tensor.Float32, 1, 2, 3), "axis": 1, "exclusive": true}, results{result(dims(2, 3), 0, 1, 3, 0, 4, 9)}},
		{IOS15, "cumsum", args{"x": seqFrom(tensor.Float32, 1, 2, 3), "axis": -1, "reverse": true}, results{result(dims(2, 3), 6, 5, 3, 15, 11, 6)}},
		{IOS15, "cumsum", args{"x": seqFrom(tensor.Float32, 1, 2, 3), "axis": 1, "reverse": true, "exclusive": true},
			results{result(dims(2, 3), 5, 3, 0, 11, 6, 0)}},
		{IOS15, "cumsum", args{"x": i32(dims(3), 2147483647, 1, 5), "axis": 0}, results{result(dims(3), 2147483647, -2147483648, -2147483643)}},
		{IOS15, "band_part", args{"x": seqFrom(tensor.Float32, 1, 2, 3, 3)},
			results{result(dims(2, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)}},
		{IOS15, "band_part", args{"x": seqFrom(tensor.Float32, 1, 2, 3, 3), "lower": 0, "upper": -1},
			results{result(dims(2, 3, 3), 1, 2, 3, 0, 5, 6, 0, 0, 9, 10, 11, 12, 0, 14, 15, 0, 0, 18)}},
		{IOS15, "band_part", args{"x": seqFrom(tensor.Float32, 1, 2, 3, 3), "lower": 1, "upper": 0},
			results{result(dims(2, 3, 3), 1, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0, 0, 13, 14, 0, 0, 17, 18)}},
		{IOS15, "band_part", args{"x": seqFrom(tensor.Int32, 1, 2, 4), "lower": 0, "upper": 1}, results{result(dims(2, 4), 1, 2, 0, 0, 0, 6, 7, 0)}},
		{IOS15, "band_part", args{"x": bools(dims(3, 2), true, true, true, true, true, true), "lower": 0, "upper": 0},
			results{result(dims(3, 2), 1, 0, 0, 1, 0, 0)}},
		{IOS15, "band_part", args{"x": f32(dims(4, 2), 1, 1, 1, 1, 1, 1, 1, 1), "lower": -1, "upper": 0},
			results{result(dims(4, 2), 1, 0, 1, 1, 1, 1, 1, 1)}},
		{IOS15, "non_zero", args{"x": f32(dims(3, 2), 3, 0, 0, 0, 0, 5)}, results{result(dims(2, 2), 0, 0, 2, 1)}},
		{IOS15, "non_zero", args{"x": bools(dims(3), false, true, true)}, results{result(dims(2, 1), 1, 2)}},
		{IOS15, "non_zero", args{"x": i32(dims(2), 0, 0)}, results{result(dims(0, 1))}},
	})
}

// TestLongCumSum adds 2^-25 to 1 for 1024 times, each too small for an fp32 sum by itself.
func TestLongCumSum(t *testing.T) {
	x := make([]float32, 1025)
	for i := range x {
		x[i] = 0x1p-25
	}
	x[0] = 1
	got := tensorOf(t, evalOp(t, IOS15, "cumsum", args{"x": tensor.Of(x, len(x))})[0]).Float32s()
	for _, n := range []int{0, 256, 1024} {
		if want := float32(1 + float64(n)*0x1p-25); got[n] != want {
			t.Errorf("the sum of 1 and %d more is %v, want %v", n, got[n], want)
		}
	}
}

// TestCumSumInFP32 adds up in fp32 or more and rounds to fp16 when the sums are stored, not in between.
func TestCumSumInFP32(t *testing.T) {
	got := evalOp(t, IOS15, "cumsum", args{"x": f16(dims(4), 2048, 1, 1, 1)})
	wantFloats(t, got[0], 0, 2048, 2048, 2050, 2052) // 2049 and 2051 are ties, which go to even
}

func TestScanErrors(t *testing.T) {
	x := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "cumsum", args{"x": x, "axis": 2}, "axis is 2")
	wantErr(t, IOS15, "band_part", args{"x": seq(tensor.Float32, 3)}, "rank 1, expected 2 or more")
}
