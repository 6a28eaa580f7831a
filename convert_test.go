package espalier

import (
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestConversionKeepsEveryValueOrFails(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tc := range []struct {
		name string
		in   *tensor.Tensor
		to   tensor.DType
		err  string // "" if it converts
	}{
		{"float64 to float32 rounds", tensor.Of([]float64{0.1}, 1), tensor.Float32, ""},
		{"float32 to half rounds", tensor.Of([]float32{0.1, inf, nan}, 3), tensor.Float16, ""},
		{"finite must stay finite", tensor.Of([]float32{1, 70000}, 2), tensor.Float16, "element [1] is 70000, which fp16 cannot hold"},
		{"float64 beyond float32", tensor.Of([]float64{1e300}, 1), tensor.Float32, "cannot hold"},
		{"whole floats to integers", tensor.Of([]float32{3, -4}, 2), tensor.Int32, ""},
		{"fractions do not", tensor.Of([]float32{3.5}, 1), tensor.Int32, "element [0] is 3.5"},
		{"NaN is no integer", tensor.Of([]float32{nan}, 1), tensor.Int32, "cannot hold"},
		{"int64 to int32 in range", tensor.Of([]int64{math.MaxInt32}, 1), tensor.Int32, ""},
		{"int64 to int32 out of range", tensor.Of([]int64{1 << 31}, 1), tensor.Int32, "cannot hold"},
		{"uint64 to int64 out of range", tensor.Of([]uint64{1 << 63}, 1), tensor.Int64, "cannot hold"},
		{"negative to unsigned", tensor.Of([]int8{-1}, 1), tensor.UInt64, "cannot hold"},
		{"int to float, exact", tensor.Of([]int32{1 << 24}, 1), tensor.Float32, ""},
		{"int to float, not exact", tensor.Of([]int32{1<<24 + 1}, 1), tensor.Float32, "element [0] is 16777217"},
		{"int64 that rounds up to 2^63", tensor.Of([]int64{math.MaxInt64}, 1), tensor.Float32, "cannot hold"},
		{"int to half overflows", tensor.Of([]int32{65520}, 1), tensor.Float16, "cannot hold"},
		{"2^63 as a float", tensor.Of([]float64{1 << 63}, 1), tensor.Int64, "cannot hold"},
		{"bool to float", tensor.Of([]bool{true, false}, 2), tensor.Float32, ""},
		{"zero and one to bool", tensor.Of([]int64{0, 1}, 2), tensor.Bool, ""},
		{"two is no bool", tensor.Of([]int64{2}, 1), tensor.Bool, "cannot hold"},
		{"text is no number", tensor.Of([]string{"1"}, 1), tensor.Float32, "it holds string, expected fp32"},
	} {
		out, err := convertLossless(tc.in, tc.to)
		switch {
		case tc.err == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.err == "" && out.DType() != tc.to:
			t.Errorf("%s: gives %v", tc.name, out.DType())
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%s: error %v, expected one that says %q", tc.name, err, tc.err)
		}
	}
}
