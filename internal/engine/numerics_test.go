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
	"github.com/espalier-ane/espalier/internal/testkit"
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

// published is a computation that the guide has measured: as an operation, and as a
// task of version 7 where there is one.
type published struct {
	both
	knots bool // the task has a table, whatever the numerics
}

func alone(o operation) published { return published{both: both{op: o}} }

func pairOf(kind td.EWKind, n uint32) published {
	o := row(n, n, &td.ElementWise{Kind: kind})
	o.ports = []hwx.PortSpec{o.ports[0], port("z", hwx.In, 1, 1, 1, n), o.ports[1]}
	p := alone(o)
	operator := map[td.EWKind]int{td.EWAdd: 0, td.EWSub: 0, td.EWMult: 1, td.EWMax: 2}
	if op, ok := operator[kind]; ok {
		p.v7 = func(b *builder) {
			size := dims{1, 1, int(n)}
			b.ports(&o)
			b.task(td.TypePlanarBinary, size, size, false).set(td.V7PEOperator, op).
				from(portA, portSurface(size)).with(portB, portSurface(size)).to(portC, portSurface(size)).
				setIf(kind == td.EWSub, td.V7PESource2Sign, 3)
		}
	}
	return p
}

// functionOf is a function by a table, if there is one.
func functionOf(f td.Function, n uint32) published {
	o := row(n, n, &td.Copy{}, td.MicroOp{Code: td.MicroActivation, Function: uint8(f)})
	p := alone(o)
	table := map[td.Function]*td.Table{
		td.FuncReLU: nil, td.FuncSigmoid: td.SigmoidTable(), td.FuncTanh: td.TanhTable(), td.FuncGELU: td.GELUTable(),
		td.FuncExp: td.Exp2Table(), td.FuncSqrt: td.SqrtTable(), td.FuncRSqrt: td.RSqrtTable(), td.FuncInverse: td.ReciprocalTable(),
	}
	t, ok := table[f]
	if !ok {
		return p
	}
	p.knots = t != nil
	p.v7 = func(b *builder) {
		size := dims{1, 1, int(n)}
		b.ports(&o)
		task := b.bypass(size, t != nil).engines(0, 0).set(td.V7NENonLinear, 1).
			from(portA, portSurface(size)).to(portB, portSurface(size))
		if t != nil {
			task.set(td.V7NENonLinear, 2).weights(&td.Weights{Table: t.Encode()})
		}
		task.setIf(f == td.FuncExp, td.V7NEPostScale, 0x3dc5)
	}
	return p
}

// ports are those of an operation.
func (b *builder) ports(o *operation) {
	for _, p := range o.ports {
		b.port(p.Name, p.Direction, p.Shape[0], p.Shape[1], p.Shape[2], p.Shape[3])
	}
}

// linear is x times a column of ones.
func linear(n int) published {
	o := row(uint32(n), 1, &td.MatMul{})
	o.constants, o.constant = manyOnes(n), [td.NumAxes]int{1, 1, 1, n, 1}
	p := alone(o)
	p.v7 = func(b *builder) { b.channels(uint32(n)) }
	return p
}

// channels is a convolution of so many channels with a kernel of ones.
func channels(n uint32) published {
	p := alone(operation{
		ports:     []hwx.PortSpec{port("x", hwx.In, 1, n, 1, 1), port("y", hwx.Out, 1, 1, 1, 1)},
		constants: manyOnes(int(n)), constant: [td.NumAxes]int{1, 1, int(n), 1, 1},
		params: &td.Convolution{Window: td.UnitWindow, Groups: 1},
	})
	p.v7 = func(b *builder) { b.channels(n).setIf(n == 1, td.V7Unicast, 1) }
	return p
}

// channels is the sum of so many channels, on the array.
func (b *builder) channels(n uint32) *task {
	in, out := dims{int(n), 1, 1}, dims{1, 1, 1}
	b.port("x", hwx.In, 1, n, 1, 1)
	b.port("y", hwx.Out, 1, 1, 1, 1)
	return b.task(td.TypeArray, in, out, true).engines(0, 0).from(portA, portSurface(in)).to(portB, portSurface(out)).
		weights(&td.Weights{Values: halvesOf(manyOnes(int(n)))})
}

// sum is the sum along W.
func sum(n uint32) published {
	p := alone(row(n, 1, &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisW)}))
	p.v7 = planeSumsOf(dims{1, 1, int(n)}).v7
	return p
}

func manyOnes(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// crop reads x from its second element on, if it does, as a slice along W.
func crop(n uint32, offset int64) published {
	var params td.Params = &td.InputView{}
	if offset == 0 {
		params = &td.Copy{}
	}
	o := row(n+uint32(offset), n, params)
	o.view = func(operands []td.Operand) {
		operands[1].Offset += offset * halfSize
		operands[1].Dims[td.AxisW] = int(n)
	}
	return alone(o)
}

func TestPublishedNumerics(t *testing.T) {
	const denormal = 0x1p-24
	minusZero := float32(math.Copysign(0, -1))
	f := func(v ...float32) []float32 { return v }
	for _, test := range []struct {
		name    string
		op      published
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
		{"reduce-sum keeps the range", sum(2), f(32768, 32736), nil, f(65504), nil},
		{"reduce-sum overflows", sum(2), f(32768, 32768), nil, f(inf), nil},
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
		{"softmax with NaN", alone(row(3, 3, &td.Softmax{Axis: td.AxisW})), f(1, nan, 3), nil, f(0, 1, 0), f(nan, nan, nan)},

		// Indeterminate forms.
		{"inf - inf", pairOf(td.EWSub, 2), f(inf, 1), f(inf, inf), f(0, -inf), f(nan, -inf)},
		{"0 · inf", pairOf(td.EWMult, 2), f(0, 2), f(inf, inf), f(0, inf), f(nan, inf)},
		{"0 / 0", pairOf(td.EWDiv, 1), f(0), f(0), f(0), f(nan)},
		{"inf - inf in a product", linear(3), f(inf, -inf, 3), nil, f(3), f(nan)},
		{"inf - inf in a reduction", sum(3), f(inf, -inf, 3), nil, f(3), f(nan)},
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
		{"softplus of inf", alone(row(1, 1, &td.Copy{}, td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncSoftplus), A: 1, B: 1})), f(inf), nil, f(0), f(inf)},
		{"softsign of inf", functionOf(td.FuncSoftsign, 1), f(inf), nil, f(0), f(1)},
		{"log of 0", functionOf(td.FuncLog, 1), f(0), nil, f(-45440), f(-inf)},
		{"exp overflows at 11.094", functionOf(td.FuncExp, 1), f(11.094), nil, f(inf), nil},
		{"square overflows at 256", alone(row(2, 2, &td.ElementWise{Kind: td.EWSquare})), f(255.875, 256), nil, f(65472, inf), nil},

		// Softmax takes the maximum out.
		{"softmax of 1000", alone(row(4, 4, &td.Softmax{Axis: td.AxisW})), f(1000, 1, 2, 3), nil, f(1, 0, 0, 0), nil},
		{"softmax of equals", alone(row(4, 4, &td.Softmax{Axis: td.AxisW})), f(7, 7, 7, 7), nil, f(0.25, 0.25, 0.25, 0.25), nil},

		// Rounding and the wide accumulator.
		{"a tie", pairOf(td.EWAdd, 1), f(2048), f(1), f(2048), nil},
		{"16000 ones", linear(16000), manyOnes(16000), nil, f(16000), nil},
		{"reduction, then square", alone(row(2, 1, &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisW)},
			td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWSquare)})), f(1, 0x1p-11), nil, f(1), f(1.001)},
	} {
		t.Run(test.name, func(t *testing.T) {
			inputs := map[string][]float32{"x": test.x, "z": test.z}
			virtual := test.virtual
			if virtual == nil {
				virtual = test.h13
			}
			for name, file := range test.op.files(t) {
				equal(t, name+" on h13", execute(t, load(t, file, numericsOf(t, "h13")), inputs)["y"], test.h13)
				if name == "version 7" && test.op.knots {
					continue
				}
				equal(t, name+" on virtual", execute(t, load(t, file, numericsOf(t, "virtual")), inputs)["y"], virtual)
			}
		})
	}
}

// A rule costs no allocation, whatever it does.
func TestRulesAllocateNothing(t *testing.T) {
	for name, o := range map[string]published{
		"product": linear(300), "indeterminate product": linear(3), "crop": crop(5, 1), "function": functionOf(td.FuncSigmoid, 9), "pair": pairOf(td.EWDiv, 9),
	} {
		p := load(t, o.op.file(t, "virtual", td.V256), numericsOf(t, "h13,tile-lanes=4"))
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
		if n := testkit.Allocs(50, func() { p.RunAll(context.Background(), c) }); n != 0 {
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
	file := o.op.file(t, "virtual", td.V256)
	x := map[string][]float32{"x": {16384, 16384}}
	for profile, want := range map[string]float32{"h13": inf, "h14": inf, "h13,saturate-at-port=0": 32768, "h15": 32768} {
		equal(t, profile, execute(t, load(t, file, numericsOf(t, profile)), x)["y"], []float32{want})
	}
}

// tableError is the worst error of a function over all fp16 numbers of magnitude
// 8 or less, against the exact function rounded to fp16.
func tableError(t *testing.T, encoding string, n hal.Numerics, f td.Function, exact func(float64) float64) (worst float64) {
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
		y := execute(t, load(t, o.files(t)[encoding], n), map[string][]float32{"x": part})["y"]
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
		for _, encoding := range []string{"version 7", "extension"} {
			h13 := tableError(t, encoding, numericsOf(t, "h13"), test.f, test.exact)
			t.Logf("%v, %s: worst error %.4f, published %.4f", test.f, encoding, h13, test.published)
			if math.Abs(h13-test.ours) > 0.00005 {
				t.Errorf("%v, %s: the worst error is %.5f, want %.4f", test.f, encoding, h13, test.ours)
			}
		}
		if math.Abs(test.ours-test.published) >= 0.0003 {
			t.Errorf("%v: %.4f is not near what is published, %.4f", test.f, test.ours, test.published)
		}
		if v := tableError(t, "version 256", numericsOf(t, "virtual"), test.f, test.exact); v > 0x1p-11 {
			t.Errorf("%v: the worst error on virtual is %g", test.f, v)
		}
	}
}

// TestFourLaneTile runs the published sweep: sixteen times a large value, its
// negation and a one, and counts the ones that are left.
func TestFourLaneTile(t *testing.T) {
	if numericsOf(t, "h13").TileLanes != 0 {
		t.Error("the tile is on by default")
	}
	for _, encoding := range []string{"version 7", "extension"} {
		t.Run(encoding, func(t *testing.T) { checkFourLaneTile(t, encoding) })
	}
}

func checkFourLaneTile(t *testing.T, encoding string) {
	const times = 16
	o := linear(3 * times)
	file := o.files(t)[encoding]
	tile := numericsOf(t, "h13,tile-lanes=4")
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
	file = o.files(t)[encoding]
	x := manyOnes(1025)
	x[0] = 4096
	for profile, want := range map[string]float32{"h13,tile-lanes=4": 5116, "h13": 5120, "virtual": 5120} {
		equal(t, profile, execute(t, load(t, file, numericsOf(t, profile)), map[string][]float32{"x": x})["y"], []float32{want})
	}
}
