package engine_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Weights are packed when a program is loaded, and again when it gets others, in
// a context made before.
func TestVirtualReload(t *testing.T) {
	f16 := tensor.Float16
	mix := func() *td.Op { // the first channel is 1·a + 2·b + 3·c, the others are 0
		return &td.Op{Params: &td.Convolution{Window: td.UnitWindow, Groups: 1}, Operands: []td.Operand{
			td.Dense(baseY, 0, f16, rowDims), td.Dense(baseX, 0, f16, rowDims),
			td.Dense(hwx.BaseConst, 0, f16, [td.NumAxes]int{3, 1, 3, 1, 1}),
		}}
	}
	p := load(t, virtualFile(t, "virtual", td.V256, mix()), plain)
	c := p.NewContext()
	x := grid(newRand(1), 3*64)
	check := func(what string, a, b, d float32) {
		t.Helper()
		want := make([]float32, 3*64)
		for w := range 64 {
			want[w] = a*x[w] + b*x[64+w] + d*x[128+w]
		}
		if err := c.Set("x", x); err != nil {
			t.Fatal(err)
		}
		if err := p.RunAll(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, len(want))
		if err := c.Get("y", got); err != nil {
			t.Fatal(err)
		}
		equal(t, what, got, want)
	}
	check("as loaded", 1, 2, 3)
	other := virtualFile(t, "virtual", td.V256, mix())
	one := tensor.ToF16(1)
	changed := false
	for _, s := range other.Sections() {
		if s != other.Text() && len(s.Data) > 2 && binary.LittleEndian.Uint16(s.Data) == one {
			binary.LittleEndian.PutUint16(s.Data, tensor.ToF16(4))
			changed = true
		}
	}
	if !changed {
		t.Fatal("the container has no constants")
	}
	if err := p.Reload(other); err != nil {
		t.Fatal(err)
	}
	check("with another weight", 4, 2, 3)
}
