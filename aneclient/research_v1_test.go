package aneclient_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/aneclient"
)

// The first prototype: two convolutions of 64 channels over 32, each of which halves.

func TestV1Phase1(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		a, b := load(t, c, half(t, 64, 32)), load(t, c, half(t, 64, 32))
		if a.State() != 3 || b.State() != 3 || a.ProgramHandle() == b.ProgramHandle() || a.ProgramHandle() == 0 {
			t.Errorf("states %d and %d, handles %d and %d", a.State(), b.State(), a.ProgramHandle(), b.ProgramHandle())
		}
		if a.HexStringIdentifier() != b.HexStringIdentifier() {
			t.Error("two identifiers")
		}
	})
}

func TestV1Phase2(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		wants(t, "y", apart(t, c, filled(64*32, 1), load(t, c, half(t, 64, 32)), load(t, c, half(t, 64, 32))), 0.25)
	})
}

func TestV1Phase3(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	r := chainRequest(t, c, 1, load(t, c, half(t, 64, 32))).request
	r.Inputs[0].SymbolIndex = aneclient.NoSymbol
	if err := r.Validate(); !errors.Is(err, aneclient.ErrBadArgument) || !strings.Contains(err.Error(), "input 0 has no symbol index") {
		t.Errorf("without a symbol: %v", err)
	}
	r.Inputs[0].SymbolIndex = 0
	check(t, r.Validate())
}

func TestV1Phase4(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		p := chainRequest(t, c, 1, load(t, c, half(t, 64, 32))).loop().prepare(t)
		p.put(t, 0, filled(64*32, 1))
		for _, want := range []float32{0.5, 0.25, 0.125} {
			wants(t, "y", p.execute(t, 0), want)
		}
	})
}
