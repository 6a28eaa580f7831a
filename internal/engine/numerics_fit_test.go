package engine_test

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Where the tables of gelu and silu come from, and why the guide has other numbers at 0.
//
// The tables in the records are the lines through 33 knots that are nearest to the function, by least squares over all
// normal fp16 numbers between the knots. Half of these numbers are close to 0, so that the knot there is nearly the function,
// and its neighbours make up for it. The published numbers are those of the same lines if there are 7,500 more samples at 0,
// of both functions: the chip that was measured had a table from another version of the fit.

// fittedKnots are the knots, 1/perUnit apart around 0, of the least squares. atZero counts more samples there.
func fittedKnots(f func(float64) float64, perUnit, atZero float64) [td.NumKnots]float64 {
	const n = td.NumKnots
	// The normal equations of hats are three diagonals, the outer two alike.
	var diagonal, beside, right [n]float64
	sample := func(x, weight float64) {
		p := x*perUnit + (n-1)/2
		if p < 0 || p > n-1 {
			return
		}
		i := min(int(p), n-2)
		t, y := p-float64(i), f(x)
		diagonal[i] += weight * (1 - t) * (1 - t)
		diagonal[i+1] += weight * t * t
		beside[i] += weight * t * (1 - t)
		right[i] += weight * (1 - t) * y
		right[i+1] += weight * t * y
	}
	for bits := 0x0400; bits < 0x7c00; bits++ {
		x := float64(tensor.F16(uint16(bits)))
		sample(x, 1)
		sample(-x, 1)
	}
	sample(0, 2+atZero)
	for i := 1; i < n; i++ {
		m := beside[i-1] / diagonal[i-1]
		diagonal[i] -= m * beside[i-1]
		right[i] -= m * right[i-1]
	}
	var knots [n]float64
	for i := n - 1; i >= 0; i-- {
		knots[i] = right[i]
		if i < n-1 {
			knots[i] -= beside[i] * knots[i+1]
		}
		knots[i] /= diagonal[i]
	}
	return knots
}

func TestFittedTables(t *testing.T) {
	const centre, moreAtZero = (td.NumKnots - 1) / 2, 7510
	for _, test := range []struct {
		name      string
		f         func(float64) float64
		function  td.MicroOp
		perUnit   float64
		table     *td.Table
		published float64
	}{
		{"gelu", func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncGELU)}, 4, td.GELUTable(), -0.000543},
		{"silu", func(x float64) float64 { return x / (1 + math.Exp(-x)) }, td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncSwish), A: 1}, 2, td.SiLUTable(), -0.001259},
	} {
		// The records' reading: the knots are the least squares, to two units of fp16, away from the ends.
		for i, fitted := range fittedKnots(test.f, test.perUnit, 0) {
			if got := float64(tensor.F16(test.table.Knots[i])); i >= 6 && i <= 26 && math.Abs(got-fitted) > math.Abs(fitted)/512+0x1p-18 {
				t.Errorf("%s: knot %d is %v, the fit %v", test.name, i, got, fitted)
			}
		}
		// It is what the engine computes on H13, and plain arithmetic does not.
		o := row(1, 1, &td.Copy{}, test.function)
		file := o.file(t, "virtual", td.V256)
		zero := map[string][]float32{"x": {0}}
		equal(t, test.name+" of 0 on h13", execute(t, load(t, file, numericsOf(t, "h13")), zero)["y"], []float32{tensor.F16(test.table.Knots[centre])})
		equal(t, test.name+" of 0 on virtual", execute(t, load(t, file, numericsOf(t, "virtual")), zero)["y"], []float32{0})

		// The guide's reading.
		if got := fittedKnots(test.f, test.perUnit, moreAtZero)[centre]; math.Abs(got-test.published) > 0.002*math.Abs(test.published) {
			t.Errorf("%s: with %d more samples at 0 the knot there is %.6f, published is %.6f", test.name, moreAtZero, got, test.published)
		}
	}
}
