package e5rt

import (
	"bytes"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// A cast follows the rules of tensor.Convert for every pair of types.
func TestConvert(t *testing.T) {
	values := []float32{0, 1, -1, 0.5, -2.75, 127, 128, 255, 256, -129, 65504, 70000, 3e9, -3e9, 1e19, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.Float32frombits(0xffe56789), 3e-6}
	for len(values) < 600 { // more than one portion
		values = append(values, float32(len(values)))
	}
	bits := []int64{0, 1, -1, 127, 128, -128, 255, 1 << 15, -1 << 31, 1<<31 + 1, math.MaxInt64, math.MinInt64}
	for len(bits) < 600 {
		bits = append(bits, int64(len(bits))*0x1234567)
	}
	pairs := 0
	for _, s := range tensor.DTypes() {
		for _, d := range tensor.DTypes() {
			if !converts(s, d) || s == tensor.String || s.SubByte() {
				continue
			}
			pairs++
			from := tensor.FromInt64s(s, bits, len(bits))
			if s.IsFloat() {
				from = tensor.FromFloat32s(s, values, len(values))
			}
			want, err := from.Convert(d)
			if err != nil {
				t.Fatal(err)
			}
			to := tensor.New(d, from.Len())
			a, b := DenseLayout(d, from.Len()), DenseLayout(s, from.Len())
			m := newMove(&a, &b)
			m.do(to.Bytes(), from.Bytes(), 0)
			if !bytes.Equal(to.Bytes(), want.Bytes()) {
				t.Errorf("%v to %v differs", s, d)
			}
			if n := testing.AllocsPerRun(3, func() { m.do(to.Bytes(), from.Bytes(), 0) }); n != 0 {
				t.Errorf("%v to %v: %v allocations", s, d, n)
			}
		}
	}
	if pairs < 12*12 {
		t.Errorf("%d pairs", pairs)
	}
	if converts(tensor.Float64, tensor.Float16) || converts(tensor.Int4, tensor.Int8) {
		t.Error("a cast that cannot be computed is let pass")
	}
}
