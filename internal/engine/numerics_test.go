package engine_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What the guide's chapter on numerics publishes of the M1, on H13; and plain
// arithmetic on virtual.

func numericsOf(t testing.TB, target string) hal.Numerics {
	t.Helper()
	n, err := hal.ParseNumerics(target)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// row is an operation along W, from x, or x and z, to y.
func row(n, results uint32, params td.Params, epilogue ...td.MicroOp) operation {
	return operation{
		ports:  []hwx.PortSpec{port("x", hwx.In, 1, 1, 1, n), port("y", hwx.Out, 1, 1, 1, results)},
		params: params, epilogue: epilogue,
	}
}

func pairOf(kind td.EWKind, n uint32) operation {
	o := row(n, n, &td.ElementWise{Kind: kind})
	o.ports = []hwx.PortSpec{o.ports[0], port("z", hwx.In, 1, 1, 1, n), o.ports[1]}
	return o
}

func functionOf(f td.Function, n uint32) operation {
	return row(n, n, &td.Copy{}, td.MicroOp{Code: td.MicroActivation, Function: uint8(f)})
}

// linear is x times a column of ones.
func linear(n int) operation {
	o := row(uint32(n), 1, &td.MatMul{})
	o.constants, o.constant = manyOnes(n), [td.NumAxes]int{1, 1, 1, n, 1}
	return o
}

// channels is a convolution of so many channels with a kernel of ones.
func channels(n uint32) operation {
	return operation{
		ports:     []hwx.PortSpec{port("x", hwx.In, 1, n, 1, 1), port("y", hwx.Out, 1, 1, 1, 1)},
		constants: manyOnes(int(n)), constant: [td.NumAxes]int{1, 1, int(n), 1, 1},
		params: &td.Convolution{Window: td.UnitWindow, Groups: 1},
	}
}

func manyOnes(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// crop reads x from its second element on, if it does, as a slice along W.
func crop(n uint32, offset int64) operation {
	var params td.Params = &td.InputView{}
	if offset == 0 {
		params = &td.Copy{}
	}
	o := row(n+uint32(offset), n, params)
	o.view = func(operands []td.Operand) {
		operands[1].Offset += offset * halfSize
		operands[1].Dims[td.AxisW] = int(n)
	}
	return o
}

func TestPublishedNumerics(t *testing.T) {
	const denormal = 0x1p-24
	minusZero := float32(math.Copysign(0, -1))
	f := func(v ...float32) []float32 { return v }
	for _, test := range []struct {
		name    string
		op      operation
		x, z    []float32
		h13     []float32
		virtual []float32 // nil: as on h13
	}{
		// Saturation hazard: the multiply-accumulate output port.
		{"linear below the ceiling, K = 1", linear(1), f(32752), nil, f(32752), nil},
		{"linear at the ceiling, K = 1", linear(1), f(32768), nil, f(inf), f(32768)},
		{"linear at the ceiling, K = 2", linear(2), f(16384, 16384), nil, f(inf), f(32768)},
		{"linear below the ceiling, K = 2", linear(2), f(16384, 16368), nil, f(32752), nil},
		{"linear at the ceiling, negative", linear(2), f(-16384, -16384), nil, f(-inf), f(-32768)},
		{"convolution of two channels", channels(2), f(16384, 16384), nil, f(inf), f(32768)},
		{"convolution of two channels, below", channels(2), f(16384, 16368), nil, f(32752), nil},
		{"convolution of one channel", channels(1), f(60000), nil, f(60000), nil},
		{"an interior partial", linear(4), f(30000, 3000, -3000, 0), nil, f(inf), f(30000)},
		{"reduce-sum keeps the range", row(2, 1, &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisW)}), f(32768, 32736), nil, f(65504), nil},
		{"reduce-sum overflows", row(2, 1, &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisW)}), f(32768, 32768), nil, f(inf), nil},
		{"elementwise multiply keeps the range", pairOf(td.EWMult, 2), f(30000, 256), f(2, 256), f(60000, inf), nil},

		// Saturation hazard: the width slice.
		{"width slice with an offset", crop(5, 1), f(0, 4094, 4096, 4100, -4100, -4094), nil, f(4094, inf, inf, -inf, -4094), f(4094, 4096, 4100, -4100, -4094)},
		{"width slice with an offset, small", crop(4, 1), f(0, 1, 0.333, denormal, 2047), nil, f(1, 0.333, denormal, 2047), nil},
		{"width slice without an offset", crop(2, 0), f(60000, -4100), nil, f(60000, -4100), nil},

		// NaN at the input boundary.
		{"NaN + 0", pairOf(td.EWAdd, 1), f(nan), f(0), f(inf), f(nan)},
		{"copy of NaN", crop(1, 0), f(nan), nil, f(inf), f(nan)},
		{"relu of NaN", functionOf(td.FuncReLU, 1), f(nan), nil, f(inf), f(nan)},
		{"sigmoid of NaN", functionOf(td.FuncSigmoid, 1), f(nan), nil, f(1), f(nan)},
		{"tanh of NaN", functionOf(td.FuncTanh, 1), f(nan), nil, f(1), f(nan)},
		{"erf of NaN", functionOf(td.FuncErf, 1), f(nan), nil, f(1), f(nan)},
		{"exp of NaN", functionOf(td.FuncExp, 1), f(nan), nil, f(inf), f(nan)},
		{"maximum with NaN", pairOf(td.EWMax, 2), f(nan, 1), f(1, nan), f(inf, inf), f(nan, nan)},
		{"softmax with NaN", row(3, 3, &td.Softmax{Axis: td.AxisW}), f(1, nan, 3), nil, f(0, 1, 0), f(nan, nan, nan)},

		// Indeterminate forms.
		{"inf - inf", pairOf(td.EWSub, 2), f(inf, 1), f(inf, inf), f(0, -inf), f(nan, -inf)},
		{"0 · inf", pairOf(td.EWMult, 2), f(0, 2), f(inf, inf), f(0, inf), f(nan, inf)},
		{"0 / 0", pairOf(td.EWDiv, 1), f(0), f(0), f(0), f(nan)},
		{"inf - inf in a product", linear(3), f(inf, -inf, 3), nil, f(3), f(nan)},
		{"inf - inf in a reduction", row(3, 1, &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisW)}), f(inf, -inf, 3), nil, f(3), f(nan)},
		{"sqrt of -1", functionOf(td.FuncSqrt, 1), f(-1), nil, f(0), f(nan)},
		{"rsqrt of -1", functionOf(td.FuncRSqrt, 1), f(-1), nil, f(0), f(nan)},
		{"log of -1", functionOf(td.FuncLog, 1), f(-1), nil, f(0), f(nan)},

		// Subnormals.
		{"x + 0 of a subnormal", pairOf(td.EWAdd, 1), f(denormal), f(0), f(denormal), nil},
		{"x · 1 of a subnormal", pairOf(td.EWMult, 1), f(denormal), f(1), f(denormal), nil},
		{"subnormals in a product", linear(2), f(denormal, denormal), nil, f(0), f(2 * denormal)},

		// Signed zero.
		{"1 / -0", pairOf(td.EWDiv, 1), f(1), f(minusZero), f(inf), f(-inf)},
		{"rsqrt of -0", functionOf(td.FuncRSqrt, 1), f(minusZero), nil, f(inf), nil},

		// Ends of tables.
		{"softplus of inf", row(1, 1, &td.Copy{}, td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncSoftplus), A: 1, B: 1}), f(inf), nil, f(0), f(inf)},
		{"softsign of inf", functionOf(td.FuncSoftsign, 1), f(inf), nil, f(0), f(1)},
		{"log of 0", functionOf(td.FuncLog, 1), f(0), nil, f(-45440), f(-inf)},
		{"exp overflows at 11.094", functionOf(td.FuncExp, 1), f(11.094), nil, f(inf), nil},
		{"square overflows at 256", row(2, 2, &td.ElementWise{Kind: td.EWSquare}), f(255.875, 256), nil, f(65472, inf), nil},

		// Softmax takes the maximum out.
		{"softmax of 1000", row(4, 4, &td.Softmax{Axis: td.AxisW}), f(1000, 1, 2, 3), nil, f(1, 0, 0, 0), nil},
		{"softmax of equals", row(4, 4, &td.Softmax{Axis: td.AxisW}), f(7, 7, 7, 7), nil, f(0.25, 0.25, 0.25, 0.25), nil},

		// Rounding and the wide accumulator.
		{"a tie", pairOf(td.EWAdd, 1), f(2048), f(1), f(2048), nil},
		{"16000 ones", linear(16000), manyOnes(16000), nil, f(16000), nil},
		{"reduction, then square", row(2, 1, &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisW)},
			td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWSquare)}), f(1, 0x1p-11), nil, f(1), f(1.001)},
	} {
		t.Run(test.name, func(t *testing.T) {
			inputs := map[string][]float32{"x": test.x, "z": test.z}
			virtual := test.virtual
			if virtual == nil {
				virtual = test.h13
			}
			for name, file := range (&both{op: test.op}).files(t) {
				equal(t, name+" on h13", execute(t, load(t, file, numericsOf(t, "h13")), inputs)["y"], test.h13)
				equal(t, name+" on virtual", execute(t, load(t, file, numericsOf(t, "virtual")), inputs)["y"], virtual)
			}
		})
	}
}

// A rule costs no allocation, whatever it does.
func TestRulesAllocateNothing(t *testing.T) {
	for name, o := range map[string]operation{
		"product": linear(300), "indeterminate product": linear(3), "crop": crop(5, 1), "function": functionOf(td.FuncSigmoid, 9), "pair": pairOf(td.EWDiv, 9),
	} {
		p := load(t, o.file(t, "virtual", td.V256), numericsOf(t, "h13,tile-lanes=4"))
		c := p.NewContext()
		for _, port := range p.Ports() {
			if port.Direction == engine.Input {
				v := make([]float32, port.Len())
				v[0], v[len(v)-1] = inf, -inf
				if err := c.Set(port.Name, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := testing.AllocsPerRun(50, func() { p.Run(context.Background(), c) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Every rule of H13 can be switched off, and with all of them off H13 is virtual.
func TestRulesOff(t *testing.T) {
	off := "h13"
	for _, r := range hal.Rules() {
		off += "," + r.Name + "=" + r.Value(numericsOf(t, "virtual"))
	}
	if n := numericsOf(t, off); n != numericsOf(t, "virtual") || !n.Plain() {
		t.Errorf("%s is %v", off, n)
	}
	o := linear(2)
	file := o.file(t, "virtual", td.V256)
	x := map[string][]float32{"x": {16384, 16384}}
	for profile, want := range map[string]float32{"h13": inf, "h14": inf, "h13,saturate-at-port=0": 32768, "h15": 32768} {
		equal(t, profile, execute(t, load(t, file, numericsOf(t, profile)), x)["y"], []float32{want})
	}
}

// tableError is the worst error of a function over all fp16 numbers of magnitude
// 8 or less, against the exact function rounded to fp16.
func tableError(t *testing.T, n hal.Numerics, f td.Function, exact func(float64) float64) (worst float64) {
	t.Helper()
	var x []float32
	for bits := range 1 << 16 {
		if v := tensor.F16(uint16(bits)); v >= -8 && v <= 8 {
			x = append(x, v)
		}
	}
	const most = 8192
	for len(x) > 0 {
		part := x[:min(most, len(x))]
		x = x[len(part):]
		o := functionOf(f, uint32(len(part)))
		y := execute(t, load(t, o.file(t, "virtual", td.V256), n), map[string][]float32{"x": part})["y"]
		for i, v := range part {
			want := tensor.RoundF16(float32(exact(float64(v))))
			worst = max(worst, math.Abs(float64(y[i])-float64(want)))
		}
	}
	return worst
}

func TestTableErrors(t *testing.T) {
	for _, test := range []struct {
		f         td.Function
		exact     func(float64) float64
		published float64
		ours      float64 // of the table that Apple's compiler emits
	}{
		{td.FuncSigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 0.0034, 0.0034},
		{td.FuncTanh, math.Tanh, 0.0017, 0.0017},
		{td.FuncGELU, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, 0.0059, 0.0061},
	} {
		h13 := tableError(t, numericsOf(t, "h13"), test.f, test.exact)
		t.Logf("%v: worst error %.4f, published %.4f", test.f, h13, test.published)
		if math.Abs(h13-test.ours) > 0.00005 {
			t.Errorf("%v: the worst error is %.5f, want %.4f", test.f, h13, test.ours)
		}
		if math.Abs(test.ours-test.published) >= 0.0003 {
			t.Errorf("%v: %.4f is not near what is published, %.4f", test.f, test.ours, test.published)
		}
		if v := tableError(t, numericsOf(t, "virtual"), test.f, test.exact); v > 0x1p-11 {
			t.Errorf("%v: the worst error on virtual is %g", test.f, v)
		}
	}
}

// The fitted tables are not 0 where their functions are.
func TestTableBias(t *testing.T) {
	o := functionOf(td.FuncGELU, 1)
	file := o.file(t, "virtual", td.V256)
	at := func(profile string) float32 {
		return execute(t, load(t, file, numericsOf(t, profile)), map[string][]float32{"x": {0}})["y"][0]
	}
	t.Logf("gelu of 0: %.6f, published -0.000543", at("h13"))
	if v := at("h13"); v > -0.0005 || v < -0.0008 {
		t.Errorf("gelu of 0 is %v on h13", v)
	}
	if v := at("virtual"); v != 0 {
		t.Errorf("gelu of 0 is %v on virtual", v)
	}
}

// TestFourLaneTile runs the published sweep: sixteen times a large value, its
// negation and a one, and counts the ones that are left.
func TestFourLaneTile(t *testing.T) {
	const times = 16
	o := linear(3 * times)
	file := o.file(t, "virtual", td.V256)
	tile := numericsOf(t, "h13,tile-lanes=4")
	if numericsOf(t, "h13").TileLanes != 0 {
		t.Error("the tile is on by default")
	}
	var matched []string
	for _, row := range []struct{ magnitude, survivors float32 }{
		{1024, 16}, {3000, 16}, {4000, 16}, {4090, 16}, {4096, 4}, {8000, 4}, {16000, 4}, {30000, 4},
	} {
		for _, order := range [][3]float32{{row.magnitude, -row.magnitude, 1}, {row.magnitude, 1, -row.magnitude}} {
			var x []float32
			for range times {
				x = append(x, order[:]...)
			}
			in := map[string][]float32{"x": x}
			got := execute(t, load(t, file, tile), in)["y"][0]
			wide := execute(t, load(t, file, numericsOf(t, "h13")), in)["y"][0]
			t.Logf("%5g: published %2g, with the tile %2g, without %2g", row.magnitude, row.survivors, got, wide)
			if wide != times {
				t.Errorf("%g: %g ones without the tile", row.magnitude, wide)
			}
			if got == row.survivors {
				matched = append(matched, fmt.Sprint(row.magnitude))
			}
		}
	}
	const want = "1024 1024 3000 3000 4000 4000 4090 4090 4096 4096 8000 8000 16000 16000 30000 30000"
	t.Logf("the tile matches %s", strings.Join(matched, " "))
	if strings.Join(matched, " ") != want {
		t.Errorf("matched are %v, want %s", matched, want)
	}

	// One 4096 and 1024 ones: 5116 on the chip, 5120 by a wide sum.
	o = linear(1025)
	file = o.file(t, "virtual", td.V256)
	x := manyOnes(1025)
	x[0] = 4096
	for profile, want := range map[string]float32{"h13,tile-lanes=4": 5116, "h13": 5120, "virtual": 5120} {
		equal(t, profile, execute(t, load(t, file, numericsOf(t, profile)), map[string][]float32{"x": x})["y"], []float32{want})
	}
}
