package engine_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/tensor"
)

// plain is arithmetic without a chip's hazards: fp32 inside, one rounding to
// fp16 where a value is stored.
var plain = hal.Numerics{RoundHalfEven: true}

// h13 is what the chip is known to do.
func h13(t testing.TB) hal.Numerics {
	t.Helper()
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	return target.Numerics
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 13)) }

// grid returns n values of both signs that are multiples of 1/16 up to 4. Sums
// of some hundred products of such values are exact in fp32, so that an engine
// that is right is right to the bit.
func grid(r *rand.Rand, n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.IntN(129)-64) / 16
	}
	return values
}

func load(t testing.TB, file *hwx.File, n hal.Numerics) *engine.Program {
	t.Helper()
	p, err := engine.Load(file, n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// execute runs a program once on named inputs and returns its outputs.
func execute(t testing.TB, p *engine.Program, inputs map[string][]float32) map[string][]float32 {
	t.Helper()
	c := p.NewContext()
	outputs := make(map[string][]float32)
	for _, port := range p.Ports() {
		if port.Direction == engine.Output {
			continue
		}
		if err := c.Set(port.Name, inputs[port.Name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.RunAll(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	for _, port := range p.Ports() {
		if port.Direction == engine.Input {
			continue
		}
		got := make([]float32, port.Len())
		if err := c.Get(port.Name, got); err != nil {
			t.Fatal(err)
		}
		outputs[port.Name] = got
	}
	return outputs
}

// equal fails the test unless got is want rounded to fp16. Zeros of both signs
// are the same: the planar engine adds a bias of +0.
func equal(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if w := tensor.RoundF16(want[i]); got[i] != w && (got[i] == got[i] || w == w) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], w)
		}
	}
}
