package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// Every pair of types, on values that both have or that show the conversion. The rules, towards zero and
// by x ≠ 0, are NumPy's.
func TestCast(t *testing.T) {
	in := []float64{0, 1, 3, -2.75, 100.5}
	for _, from := range tensor.DTypes() {
		for _, to := range tensor.DTypes() {
			if !castTypes17.Has(from) || !castTypes17.Has(to) {
				continue
			}
			x := floats(from, dims(5), in)
			held := x.Float64s()
			want := make([]float64, len(in))
			for i, v := range held {
				switch {
				case to == tensor.Bool && v != 0:
					want[i] = 1
				case to == tensor.Float16: // of 65534, infinity
					want[i] = float64(tensor.RoundF16(float32(v)))
				case to == tensor.Bool || to.IsFloat():
					want[i] = v
				default:
					lo, hi := to.IntRange()
					n := int64(hi) - lo + 1
					want[i] = float64(((int64(v)-lo)%n+n)%n + lo)
				}
			}
			o := IOS15
			if !castTypes.Has(from) || !castTypes.Has(to) {
				o = IOS17
			}
			got := evalOp(t, o, "cast", args{"x": x, "dtype": to.String()})
			wantFloats(t, got[0], 0, want...)
			if typ := inferOp(t, o, "cast", args{"x": x, "dtype": to.String()})[0]; typ != "tensor<"+to.String()+", [5]>" {
				t.Errorf("cast of %v to %v gives %s", from, to, typ)
			}
		}
	}
}

func TestCastValues(t *testing.T) {
	// NumPy.
	got := evalOp(t, IOS15, "cast", args{"x": f32(dims(4), 1.99, -1.99, 65519, 65520), "dtype": "fp16"})
	wantFloats(t, got[0], 0, 1.990234375, -1.990234375, 65504, inf)
	wantInts(t, evalOp(t, IOS15, "cast", args{"x": f32(dims(3), 1.99, -1.99, 16777216), "dtype": "int32"})[0], 1, -1, 16777216)
	wantInts(t, evalOp(t, IOS17, "cast", args{"x": i32(dims(3), 300, -1, 128), "dtype": "uint8"})[0], 44, 255, 128)
	wantInts(t, evalOp(t, IOS17, "cast", args{"x": i32(dims(3), 300, -1, 128), "dtype": "int8"})[0], 44, -1, -128)
	wantBools(t, evalOp(t, IOS15, "cast", args{"x": f16(dims(3), 0, 0.5, nan), "dtype": "bool"})[0], false, true, true)
	wantFloats(t, evalOp(t, IOS15, "cast", args{"x": scalarI32(16777217), "dtype": "fp32"})[0], 0, 16777216)
}

func TestCastErrors(t *testing.T) {
	x := f32(dims(1))
	wantErr(t, IOS15, "cast", args{"x": x, "dtype": "uint8"}, `dtype is "uint8", expected bool, fp16, fp32 or int32`)
	wantErr(t, IOS17, "cast", args{"x": x, "dtype": "int64"}, `dtype is "int64"`)
	wantErr(t, IOS17, "cast", args{"x": x, "dtype": "complex"}, `dtype is "complex"`)
	wantErr(t, IOS15, "cast", args{"x": i8(dims(1)), "dtype": "fp16"}, "x is tensor<int8, [1]>")
	wantErr(t, IOS15, "cast", args{"x": x, "dtype": []string{"fp16", "fp32"}}, "expected a scalar")
}
