package engine_test

import (
	"context"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

const subnormal = 0x1p-20 // of fp16

var dotWeights = []float32{1, 1, 1, 1, 0, 1, 0, -1}

// dotTask is dot on the multiply array.
func dotTask(b *builder) {
	in, out := dims{4, 1, 1}, dims{2, 1, 1}
	b.port("x", hwx.In, 1, 4, 1, 1)
	b.port("y", hwx.Out, 1, 2, 1, 1)
	b.task(td.TypeArray, in, out, true).engines(1, 0).
		from(portA, portSurface(in)).to(portB, portSurface(out)).
		weights(&td.Weights{Values: halvesOf(dotWeights)})
}

// planarTask is planarOf on the planar engine.
func planarTask(op int) func(b *builder) {
	return func(b *builder) {
		size := dims{4, 1, 1}
		b.port("x", hwx.In, 1, 4, 1, 1)
		b.port("z", hwx.In, 1, 4, 1, 1)
		b.port("y", hwx.Out, 1, 4, 1, 1)
		b.task(td.TypePlanarBinary, size, size, false).set(td.V7PEOperator, op).
			from(portA, portSurface(size)).with(portB, portSurface(size)).to(portC, portSurface(size))
	}
}

const (
	peAdd      = 0
	peMultiply = 1
	peMaximum  = 2
)

// rsqrtTask is rsqrtSum on the planar engine.
func rsqrtTask(b *builder) {
	size := dims{2, 1, 2}
	b.port("x", hwx.In, 1, 2, 1, 2)
	b.port("y", hwx.Out, 1, 2, 1, 1)
	b.task(td.TypePlanarReduce, size, size, false).set(td.V7PEFinal, 2).
		from(portA, portSurface(size)).to(portB, portSurface(dims{2, 1, 1}))
}

// TestHazards switches each rule on alone, and holds the result with and without
// it, in every encoding.
func TestHazards(t *testing.T) {
	chip := h13(t)
	for _, test := range []struct {
		name    string
		build   both
		rule    func(n *hal.Numerics)
		x, z    []float32
		off, on []float32
	}{
		{
			name: "the port saturates at 2^15", build: dot,
			rule: func(n *hal.Numerics) { n.SaturateAtPort = chip.SaturateAtPort },
			x:    []float32{16384, 16384, 0, 0}, off: []float32{32768, 16384}, on: []float32{inf, 16384},
		},
		{
			name: "the port passes what is below", build: dot,
			rule: func(n *hal.Numerics) { n.SaturateAtPort = chip.SaturateAtPort },
			x:    []float32{16368, 16384, 0, 0}, off: []float32{32752, 16384}, on: []float32{32752, 16384},
		},
		{
			name: "the port keeps the sign", build: dot,
			rule: func(n *hal.Numerics) { n.SaturateAtPort = chip.SaturateAtPort },
			x:    []float32{-40000, 0, 0, 0}, off: []float32{-40000, 0}, on: []float32{-inf, 0},
		},
		{
			name: "the planar engine has no such port", build: planarOf(peAdd),
			rule: func(n *hal.Numerics) { n.SaturateAtPort = chip.SaturateAtPort },
			x:    []float32{16384, 0, 0, 0}, z: []float32{16384, 0, 0, 0},
			off: []float32{32768, 0, 0, 0}, on: []float32{32768, 0, 0, 0},
		},
		{
			name: "NaN is read as +inf", build: planarOf(peMaximum),
			rule: func(n *hal.Numerics) { n.NaNToInf = true },
			x:    []float32{nan, 1, nan, 2}, z: []float32{0, nan, nan, 1},
			off: []float32{nan, nan, nan, 2}, on: []float32{inf, inf, inf, 2},
		},
		{
			name: "no NaN is stored", build: planarOf(peAdd),
			rule: func(n *hal.Numerics) { n.NaNToInf = true },
			x:    []float32{inf, 1, 0, 0}, z: []float32{-inf, 1, 0, 0},
			off: []float32{nan, 2, 0, 0}, on: []float32{inf, 2, 0, 0},
		},
		{
			name: "inf-inf of the planar engine", build: planarOf(peAdd),
			rule: func(n *hal.Numerics) { n.IndeterminateToZero = true },
			x:    []float32{inf, inf, nan, 1}, z: []float32{-inf, inf, 0, 1},
			off: []float32{nan, inf, nan, 2}, on: []float32{0, inf, nan, 2},
		},
		{
			name: "0·inf of the planar engine", build: planarOf(peMultiply),
			rule: func(n *hal.Numerics) { n.IndeterminateToZero = true },
			x:    []float32{inf, inf, 0, 1}, z: []float32{0, 2, -inf, 1},
			off: []float32{nan, inf, nan, 1}, on: []float32{0, inf, 0, 1},
		},
		{
			name: "indeterminate forms of the array", build: dot,
			rule: func(n *hal.Numerics) { n.IndeterminateToZero = true },
			// The first output adds inf, then -inf, then 3; the second
			// multiplies inf by 0.
			x: []float32{inf, 5, -inf, 3}, off: []float32{nan, nan}, on: []float32{3, 2},
		},
		{
			name: "the square root of a negative number", build: rsqrtSum,
			rule: func(n *hal.Numerics) { n.IndeterminateToZero = true },
			x:    []float32{-1, -3, 1, 3}, off: []float32{nan, 0.5}, on: []float32{0, 0.5},
		},
		{
			name: "subnormals of the array", build: dot,
			rule: func(n *hal.Numerics) { n.FlushArraySubnormals = true },
			x:    []float32{subnormal, 0x1p-14, 0, 0}, off: []float32{0x1p-14 + subnormal, 0x1p-14}, on: []float32{0x1p-14, 0x1p-14},
		},
		{
			name: "a subnormal result of the array", build: dot,
			rule: func(n *hal.Numerics) { n.FlushArraySubnormals = true },
			x:    []float32{0x1.8p-14, -0x1p-14, 0, 0}, off: []float32{0x1p-15, -0x1p-14}, on: []float32{0, -0x1p-14},
		},
		{
			name: "subnormals of the planar engine stay", build: planarOf(peAdd),
			rule: func(n *hal.Numerics) { n.FlushArraySubnormals = true },
			x:    []float32{subnormal, 0, 0, 0}, z: []float32{subnormal, 0, 0, 0},
			off: []float32{2 * subnormal, 0, 0, 0}, on: []float32{2 * subnormal, 0, 0, 0},
		},
		{
			name: "a partial sum saturates", build: dot,
			rule: func(n *hal.Numerics) { n.SaturateAtPort, n.SaturatePartials = chip.SaturateAtPort, true },
			x:    []float32{32000, 1000, -1000, 0}, off: []float32{32000, 1000}, on: []float32{inf, 1000},
		},
		{
			name: "a partial sum is nothing to the port", build: dot,
			rule: func(n *hal.Numerics) { n.SaturateAtPort = chip.SaturateAtPort },
			x:    []float32{32000, 1000, -1000, 0}, off: []float32{32000, 1000}, on: []float32{32000, 1000},
		},
		{
			name: "a tile of four lanes", build: dot,
			rule: func(n *hal.Numerics) { n.TileLanes = 4 },
			x:    []float32{4096, 1, 1, 1}, off: []float32{4100, 0}, on: []float32{4096, 0},
		},
		{
			name: "ties", build: planarOf(peAdd),
			rule: func(n *hal.Numerics) { n.RoundHalfEven = false },
			x:    []float32{2048, -2048, 2050, 0x1p-24}, z: []float32{1, -1, 1, 0},
			off: []float32{2048, -2048, 2052, 0x1p-24}, on: []float32{2050, -2050, 2052, 0x1p-24},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			inputs := map[string][]float32{"x": test.x, "z": test.z}
			on := plain
			test.rule(&on)
			for name, file := range test.build.files(t) {
				equal(t, name+", off", execute(t, load(t, file, plain), inputs)["y"], test.off)
				equal(t, name+", on", execute(t, load(t, file, on), inputs)["y"], test.on)
			}
		})
	}
}

// A reciprocal that comes from a table of version 7 is odd, but for the sign of
// zero where the rule takes it.
func TestZeroSignOfTables(t *testing.T) {
	size := dims{1, 1, 4}
	b := newBuilder(t)
	b.port("x", hwx.In, 1, 1, 1, 4)
	b.port("y", hwx.Out, 1, 1, 1, 4)
	b.bypass(size, true).from(portA, portSurface(size)).to(portB, portSurface(size)).
		set(td.V7NENonLinear, 2).weights(&td.Weights{Table: td.ReciprocalTable().Encode()})
	file := b.file()
	drop := plain
	drop.DropZeroSign = true
	x := map[string][]float32{"x": {0, float32(math.Copysign(0, -1)), 2, -2}}
	equal(t, "off", execute(t, load(t, file, plain), x)["y"], []float32{inf, -inf, 0.5, -0.5})
	equal(t, "on", execute(t, load(t, file, drop), x)["y"], []float32{inf, inf, 0.5, -0.5})
}

// TestReload patches one weight and sees that one result changes, in a context
// made before, without loading the program again.
func TestReload(t *testing.T) {
	b := newBuilder(t)
	dotTask(b)
	file := b.file()
	p := load(t, file, plain)
	c := p.NewContext()
	x := []float32{1, 2, 3, 4}
	run := func() [2]float32 {
		t.Helper()
		var y [2]float32
		if err := c.Set("x", x); err != nil {
			t.Fatal(err)
		}
		if err := p.RunAll(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		if err := c.Get("y", y[:]); err != nil {
			t.Fatal(err)
		}
		return y
	}
	if got := run(); got != [2]float32{10, -2} {
		t.Fatalf("got %v", got)
	}
	before := b.bytes()
	after, err := hwx.PatchWeights(before, hwx.Weight{Task: 0, Out: 1, In: 2, Value: tensor.ToF16(0.5)})
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i := range after {
		if after[i] != before[i] {
			changed++
		}
	}
	if len(after) != len(before) || changed > 2 {
		t.Errorf("%d bytes changed; a weight has 2", changed)
	}
	patched, err := hwx.NewFile(after)
	if err != nil {
		t.Fatal(err)
	}
	bound := p.Bound(0)
	if err := p.Reload(patched); err != nil {
		t.Fatal(err)
	}
	if p.Bound(0) != bound {
		t.Error("the task was bound again")
	}
	if got := run(); got != [2]float32{10, -0.5} {
		t.Errorf("after the patch: got %v, want [10 -0.5]", got)
	}

	for what, change := range map[string]func(b *builder){
		"another program": planarTask(peAdd),
		"other tasks": func(b *builder) {
			dotTask(b)
			b.tasks[0].set(td.V7NENonLinear, 1)
		},
	} {
		other := newBuilder(t)
		change(other)
		if err := p.Reload(other.file()); err == nil {
			t.Errorf("constants of %s are taken", what)
		}
	}
	if got := run(); got != [2]float32{10, -0.5} {
		t.Errorf("after a failed reload: got %v", got)
	}
}

// TestTableFromKnots switches the last rule: an operation of version 256 computes
// its function, or takes it from the table that a chip would load. A task of
// version 7 has nothing but the table.
func TestTableFromKnots(t *testing.T) {
	x := make([]float32, 3*64)
	for i := range x {
		x[i] = float32(8*(i-96)+3) / 128 // between the knots
	}
	knots := plain
	knots.TableFromKnots = true
	for _, test := range []struct {
		function td.Function
		a        float32
		table    *td.Table
		exact    func(x float64) float64
		in       func(x float32) float32
	}{
		{td.FuncSigmoid, 0, td.SigmoidTable(), func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, nil},
		{td.FuncTanh, 0, td.TanhTable(), math.Tanh, nil},
		{td.FuncGELU, 0, td.GELUTable(), func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, nil},
		{td.FuncExp2, 0, td.Exp2Table(), math.Exp2, nil},
		{td.FuncRSqrt, 7, td.RSqrtTable(), func(x float64) float64 { return 1 / math.Sqrt(x+7) }, func(x float32) float32 { return x + 7 }},
		{td.FuncLog2, 7, td.Log2Table(), func(x float64) float64 { return math.Log2(x + 7) }, func(x float32) float32 { return x + 7 }},
		{td.FuncInverse, 7, td.ReciprocalTable(), func(x float64) float64 { return 1 / (x + 7) }, func(x float32) float32 { return x + 7 }},
	} {
		t.Run(test.function.String(), func(t *testing.T) {
			file := virtualFile(t, "virtual", td.V256, &td.Op{Params: &td.Copy{},
				Operands: []td.Operand{td.Dense(baseY, 0, tensor.Float16, rowDims), td.Dense(baseX, 0, tensor.Float16, rowDims)},
				Epilogue: []td.MicroOp{{Code: td.MicroActivation, Function: uint8(test.function), A: test.a}}})
			table, err := test.table.Func()
			if err != nil {
				t.Fatal(err)
			}
			off, on := make([]float32, len(x)), make([]float32, len(x))
			differ := false
			for i, v := range x {
				off[i] = float32(test.exact(float64(v)))
				if test.in != nil {
					v = test.in(v)
				}
				on[i] = table(v)
				differ = differ || tensor.ToF16(on[i]) != tensor.ToF16(off[i])
			}
			if !differ {
				t.Error("the table is the function: nothing is tested")
			}
			inputs := map[string][]float32{"x": x}
			equal(t, "off", execute(t, load(t, file, plain), inputs)["y"], off)
			equal(t, "on", execute(t, load(t, file, knots), inputs)["y"], on)
		})
	}
	file := own(t, "leaky ReLU by table").file(t)
	port := load(t, file, plain).Ports()[0]
	in := map[string][]float32{port.Name: grid(newRand(3), port.Len())}
	off, on := execute(t, load(t, file, plain), in), execute(t, load(t, file, knots), in)
	for name := range off {
		equal(t, name, on[name], off[name])
	}
}
