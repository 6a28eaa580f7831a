package vec

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// definitions are the functions in the words of the standard library.
var definitions = map[Function]func(x, a float64) float64{
	Exp:     func(x, _ float64) float64 { return math.Exp(x) },
	Sigmoid: func(x, _ float64) float64 { return 1 / (1 + math.Exp(-x)) },
	Swish:   func(x, a float64) float64 { return times(x, 1/(1+math.Exp(-a*x))) },
	Tanh:    func(x, _ float64) float64 { return math.Tanh(x) },
	GELU:    func(x, _ float64) float64 { return times(x, math.Erfc(-x/math.Sqrt2)/2) },
	GELUTanh: func(x, _ float64) float64 {
		return times(x, 1/(1+math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))))
	},
}

func times(x, y float64) float64 {
	if y == 0 && math.IsInf(x, 0) {
		return 0
	}
	return x * y
}

// Functions are within two units of fp32 of their definitions, at every fp16
// number and between; and rounded to odd and then to fp16, they are the nearest.
func TestFunctions(t *testing.T) {
	if !Applies() {
		t.Skip("this processor, or ESPALIER_ISA, has no machine code for them")
	}
	for f, want := range definitions {
		for _, a := range []float32{1, 1.702, -0.5} {
			var inputs []float32
			for h := range 1 << 16 {
				x := half.Float(uint16(h))
				inputs = append(inputs, x, x*1.0003, x*0x1p-30)
			}
			got := append([]float32(nil), inputs...)
			Apply(f, got, a, false)
			for i, x := range inputs {
				w := want(float64(x), float64(a))
				if !near(got[i], w) {
					t.Fatalf("function %d of %g (a = %g) is %g, expected %g", f, x, a, got[i], w)
				}
			}
			copy(got, inputs)
			Apply(f, got, a, true)
			half.RoundAll(got)
			for i := range inputs {
				w := half.Round(toOdd(want(float64(inputs[i]), float64(a))))
				if !same(got[i], w) {
					t.Fatalf("function %d of %g (a = %g), in fp16, is %g, expected %g", f, inputs[i], a, got[i], w)
				}
			}
			if f != Swish {
				break
			}
		}
	}
}

func near(got float32, want float64) bool {
	w := float32(want)
	if same(got, w) {
		return true
	}
	unit := math.Abs(float64(math.Nextafter32(w, float32(math.Inf(1))) - w))
	return math.Abs(float64(got)-want) <= 2*unit
}

// toOdd rounds towards 0 and sets the last bit if that was not exact.
func toOdd(v float64) float32 {
	f := float32(v)
	if float64(f) == v || v != v {
		return f
	}
	if math.Abs(float64(f)) > math.Abs(v) {
		f = math.Nextafter32(f, 0)
	}
	return math.Float32frombits(math.Float32bits(f) | 1)
}
