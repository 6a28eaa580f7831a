package td

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// tableHashes are the first digits of the SHA-256 of the stored tables (h13 3.5,
// oracles 6); those not in the sheets are from sections that TestRecordedSections
// rebuilds.
var tableHashes = map[string]string{
	"sigmoid":        "73f5680a",
	"tanh":           "f4a38468",
	"gelu":           "34540958",
	"silu":           "0d48f9b9",
	"exp2":           "b7b6085a",
	"sqrt":           "07dff4d8",
	"rsqrt":          "182158a2",
	"reciprocal":     "8a584050",
	"log2":           "d6889430",
	"fraction":       "0770439a",
	"less than zero": "7e690e6a",
}

func TestTables(t *testing.T) {
	for _, n := range namedTables {
		table := n.make()
		b := table.Encode()
		if len(b) != TableBytes {
			t.Errorf("%s: %d bytes", n.name, len(b))
		}
		if want := tableHashes[n.name]; want != "" && sum(b)[:8] != want {
			t.Errorf("%s: hash %s, want %s", n.name, sum(b)[:8], want)
		}
		again, err := DecodeTable(b)
		if err != nil || *again != *table {
			t.Errorf("%s: differs after encode and decode (%v)", n.name, err)
		}
		if again.Name() != n.name {
			t.Errorf("%s is recognised as %q", n.name, again.Name())
		}
	}
	if name := LeakyReLUTable(0x3000).Name(); name != "" {
		t.Errorf("leaky ReLU is recognised as %q", name)
	}
}

// TestTableErrors compares tables with the functions they stand for over every
// finite fp16 number in a range, both rounded to fp16 (h13 3.5).
func TestTableErrors(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	gelu := func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }
	half := uint16(0x3800)
	for _, c := range []struct {
		name     string
		table    *Table
		f        func(float64) float64
		lo, hi   float64
		absolute float64 // largest error
		relative float64 // of the result, where the absolute one is exceeded
	}{
		{"sigmoid", SigmoidTable(), sigmoid, -8, 8, 0.0035, 0},
		{"tanh", TanhTable(), math.Tanh, -8, 8, 0.0018, 0},
		{"gelu", GELUTable(), gelu, -8, 8, 0.0062, 0},
		{"silu", SiLUTable(), func(x float64) float64 { return x * sigmoid(x) }, -8, 8, 0.018, 0},
		{"exp2", Exp2Table(), math.Exp2, -14, 15.9, 0, 0.001},
		{"log2", Log2Table(), math.Log2, 0x1p-24, 65504, 0.001, 0.001},
		{"sqrt", SqrtTable(), math.Sqrt, 0x1p-24, 65504, 0, 0.002},
		{"rsqrt", RSqrtTable(), func(x float64) float64 { return 1 / math.Sqrt(x) }, 0x1p-24, 65504, 0, 0.004},
		{"reciprocal", ReciprocalTable(), func(x float64) float64 { return 1 / x }, 0x1p-14, 8192, 0, 0.0015},
		{"reciprocal of negatives", ReciprocalTable(), func(x float64) float64 { return 1 / x }, -8192, -0x1p-14, 0, 0.0015},
		{"fraction", FractionTable(), func(x float64) float64 { return x - math.Trunc(x) }, -65504, 65504, 0, 0},
		{"integer part", IntegerTable(), math.Trunc, -65504, 65504, 0, 0},
		{"leaky ReLU", LeakyReLUTable(0x3000), func(x float64) float64 { return max(x, x/8) }, -65504, 65504, 0, 0.0005},
		{"maximum", MaxTable(half), func(x float64) float64 { return max(x, 0.5) }, -65504, 65504, 0, 0},
		{"maximum with a negative", MaxTable(0xb800), func(x float64) float64 { return max(x, -0.5) }, -65504, 65504, 0, 0},
		{"minimum", MinTable(half), func(x float64) float64 { return min(x, 0.5) }, -65504, 65504, 0, 0},
		{"minimum with a negative", MinTable(0xb800), func(x float64) float64 { return min(x, -0.5) }, -65504, 65504, 0, 0},
		{"between", ClampTable(0, 0x4600), func(x float64) float64 { return min(max(x, 0), 6) }, -65504, 65504, 0, 0},
		{"between negatives", ClampTable(0xc200, 0xbc00), func(x float64) float64 { return min(max(x, -3), -1) }, -65504, 65504, 0, 0},
		{"clamped ReLU", ClampedReLUTable(0x3000, 0x4200), func(x float64) float64 { return min(max(x, x/8), 3) }, -65504, 65504, 0, 0.0005},
		{"hard sigmoid", HardSigmoidTable(0x3155, 0x3800), func(x float64) float64 {
			return min(max(float64(tensor.F16(0x3155))*x+0.5, 0), 1)
		}, -65504, 65504, 0, 0.0005},
		{"threshold", ThresholdTable(0xc200), func(x float64) float64 {
			if x >= -3 {
				return x
			}
			return 0
		}, -65504, 65504, 0, 0},
		{"threshold at 0", ThresholdTable(0), func(x float64) float64 { return max(x, 0) }, -65504, 65504, 0, 0},
		{"less than zero", LessThanZeroTable(), func(x float64) float64 {
			if x < 0 {
				return 1
			}
			return 0
		}, -65504, 65504, 0, 0},
	} {
		f, err := c.table.Func()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		worst, at := 0.0, 0.0
		for bits := range 1 << 16 {
			x := tensor.F16(uint16(bits))
			if !(float64(x) >= c.lo && float64(x) <= c.hi) {
				continue
			}
			got := float64(tensor.RoundF16(f(x)))
			want := float64(tensor.F16(nearestF16(c.f(float64(x)))))
			if d := math.Abs(got - want); d > c.absolute && d > c.relative*math.Abs(want) && d > worst {
				worst, at = d, float64(x)
			}
		}
		if worst > 0 {
			t.Errorf("%s: error %g at %g (%g, want %g)", c.name, worst, at, f(float32(at)), c.f(at))
		}
	}
}

func TestTableEdges(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name    string
		table   *Table
		x, want float32
	}{
		{"sigmoid", SigmoidTable(), inf, 1},
		{"sigmoid", SigmoidTable(), -inf, 0},
		{"sigmoid", SigmoidTable(), 0, 0.5},
		{"tanh", TanhTable(), inf, 1},
		{"tanh", TanhTable(), -inf, -1},
		{"exp2", Exp2Table(), 16, inf},
		{"exp2", Exp2Table(), -25, 0},
		{"exp2", Exp2Table(), -3, 0.125},
		{"log2", Log2Table(), 0, -inf},
		{"log2", Log2Table(), -1, 0},
		{"log2", Log2Table(), 8, 3},
		{"sqrt", SqrtTable(), -1, 0},
		{"sqrt", SqrtTable(), 4, 2},
		{"sqrt", SqrtTable(), inf, inf},
		{"rsqrt", RSqrtTable(), 0, inf},
		{"rsqrt", RSqrtTable(), -1, 0},
		{"rsqrt", RSqrtTable(), 0.25, 2},
		{"reciprocal", ReciprocalTable(), 0, inf},
		{"reciprocal", ReciprocalTable(), -4, -0.25},
		{"reciprocal", ReciprocalTable(), inf, 0},
		{"integer part", IntegerTable(), -inf, -inf},
		{"fraction", FractionTable(), -2.75, -0.75},
	} {
		f, err := c.table.Func()
		if err != nil {
			t.Fatal(err)
		}
		if got := f(c.x); got != c.want {
			t.Errorf("%s(%g) = %g, want %g", c.name, c.x, got, c.want)
		}
		if got := f(nan); got == got {
			t.Errorf("%s(NaN) = %g", c.name, got)
		}
	}
}

func TestTableErrorsOfForm(t *testing.T) {
	for _, mode := range []uint16{0x02, 0x08, 0x0b, 0x0f, 0x10, 0x70, 0xf1, 0x101} {
		table := TanhTable()
		table.Mode = mode
		if _, err := table.Func(); err == nil {
			t.Errorf("mode %#x has a function", mode)
		}
	}
	table := TanhTable()
	table.SpacingLog2 = 1000
	if _, err := table.Func(); err == nil {
		t.Error("knots 2^-1000 apart have a function")
	}
	var f *FormatError
	if _, err := DecodeTable(make([]byte, 127)); !errors.As(err, &f) || f.Offset != 127 {
		t.Errorf("127 bytes: %v", err)
	}
	b := TanhTable().Encode()
	b[100] = 1
	if _, err := DecodeTable(b); !errors.As(err, &f) || f.Offset != 100 {
		t.Errorf("a byte after the table: %v", err)
	}
}

// TestSigmoidFile compares the table with the one in Apple's program.
func TestSigmoidFile(t *testing.T) {
	programs := programs(t)
	i := slices.IndexFunc(programs, func(p program) bool { return p.name == "sigmoid_7cc79341.hwx" })
	if i < 0 {
		t.Fatal("the program is not there")
	}
	if !bytes.Equal(programs[i].consts, SigmoidTable().Encode()) {
		t.Error("the table differs from the program's")
	}
}

func TestNearestF16(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want uint16
	}{
		{1, 0x3c00},
		{1 + 0x1p-11, 0x3c00},           // a tie goes to even
		{1 + 0x1p-11 + 0x1p-40, 0x3c01}, // float32 alone would make it a tie
		{1 + 0x1p-11 - 0x1p-40, 0x3c00},
		{1 + 3*0x1p-11 - 0x1p-40, 0x3c01}, // and here would go up
		{-1 - 0x1p-11 - 0x1p-40, 0xbc01},
		{0x1p-25, 0},
		{0x1p-25 + 0x1p-60, 1},
		{65520, 0x7c00},
		{65519.999999999, 0x7bff},
		{math.Inf(-1), 0xfc00},
		{0, 0},
	} {
		if got := nearestF16(c.v); got != c.want {
			t.Errorf("%v: %#04x, want %#04x", c.v, got, c.want)
		}
	}
}
