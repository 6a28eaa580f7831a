package strided

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
)

// A curve is the function of its table, at fp16 numbers and between them.
func TestCurveOf(t *testing.T) {
	for name, table := range map[string]*td.Table{
		"sigmoid": td.SigmoidTable(), "gelu": td.GELUTable(), "silu": td.SiLUTable(), "exp2": td.Exp2Table(),
		"clamp": td.ClampTable(0, 0x4600), "leaky": td.LeakyReLUTable(0x3000), "hard sigmoid": td.HardSigmoidTable(0x3155, 0x3800),
	} {
		f, err := table.Func()
		if err != nil {
			t.Fatal(err)
		}
		c := CurveOf(table)
		if c == nil {
			t.Logf("%s is no curve", name)
			continue
		}
		x := make([]float32, 0, 3<<16)
		for h := range 1 << 16 {
			v := half.Float(uint16(h))
			x = append(x, v, math.Nextafter32(v, 0), v*1.0003)
		}
		got := append([]float32(nil), x...)
		(&Activation{F: f, Curve: c}).apply(got)
		for i, v := range x {
			if want := f(v); math.Float32bits(got[i]) != math.Float32bits(want) && !(want != want && got[i] != got[i]) {
				t.Fatalf("%s of %v: got %v, want %v", name, v, got[i], want)
			}
		}
	}
	if CurveOf(td.TanhTable()) != nil || CurveOf(td.RSqrtTable()) != nil {
		t.Error("tables of other forms are curves")
	}
}
