package engine_test

import (
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

// dot is a task of the multiply array: 4 inputs, 2 outputs with these weights.
func dot(b *builder) {
	in, out := dims{4, 1, 1}, dims{2, 1, 1}
	b.port("x", hwx.In, 1, 4, 1, 1)
	b.port("y", hwx.Out, 1, 2, 1, 1)
	b.task(td.TypeArray, in, out, true).engines(1, 0).
		from(portA, portSurface(in)).to(portB, portSurface(out)).
		weights(&td.Weights{Values: halvesOf([]float32{1, 1, 1, 1, 0, 1, 0, -1})})
}

// planar is a task of the planar engine: the operator on two inputs.
func planarOf(op int) func(b *builder) {
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

// rsqrtMean is a planar reduction with the reciprocal square root.
func rsqrtMean(b *builder) {
	size := dims{2, 1, 2}
	b.port("x", hwx.In, 1, 2, 1, 2)
	b.port("y", hwx.Out, 1, 2, 1, 1)
	b.task(td.TypePlanarReduce, size, size, false).set(td.V7PEFinal, 2).
		from(portA, portSurface(size)).to(portB, portSurface(dims{2, 1, 1}))
}

// TestHazards switches each rule on alone, and holds the result with and
// without it.
func TestHazards(t *testing.T) {
	chip := h13(t)
	for _, test := range []struct {
		name    string
		build   func(b *builder)
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
			name: "the square root of a negative number", build: rsqrtMean,
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
			name: "ties", build: planarOf(peAdd),
			rule: func(n *hal.Numerics) { n.RoundHalfEven = false },
			x:    []float32{2048, -2048, 2050, 0x1p-24}, z: []float32{1, -1, 1, 0},
			off: []float32{2048, -2048, 2052, 0x1p-24}, on: []float32{2050, -2050, 2052, 0x1p-24},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBuilder(t)
			test.build(b)
			file := b.file()
			inputs := map[string][]float32{"x": test.x, "z": test.z}
			on := plain
			test.rule(&on)
			equal(t, "off", execute(t, load(t, file, plain), inputs)["y"], test.off)
			equal(t, "on", execute(t, load(t, file, on), inputs)["y"], test.on)
		})
	}
}

// TestReload patches one weight and sees that one result changes, in a context
// made before, without loading the program again.
func TestReload(t *testing.T) {
	b := newBuilder(t)
	dot(b)
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
		if err := p.Run(c); err != nil {
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
	if err := p.Reload(patched); err != nil {
		t.Fatal(err)
	}
	if got := run(); got != [2]float32{10, -0.5} {
		t.Errorf("after the patch: got %v, want [10 -0.5]", got)
	}

	other := newBuilder(t)
	planarOf(peAdd)(other)
	if err := p.Reload(other.file()); err == nil {
		t.Error("constants of another program are taken")
	}
	if got := run(); got != [2]float32{10, -0.5} {
		t.Errorf("after a failed reload: got %v", got)
	}
}
