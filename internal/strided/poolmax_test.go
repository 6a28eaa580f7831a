package strided

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The greatest of windows is that of the definition, with padding that is never
// chosen, in however many calls the tiles are run.
func TestPoolMax(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	odd := []uint16{half.NaN, 0x8000, 0, half.Inf, 0xfc00, 0xfe01}
	bands, sets := 0, 0
	for i := range 200 {
		channels, batch, height, width := 1+r.IntN(40), 1+r.IntN(2), 1+r.IntN(20), 2+r.IntN(40)
		if i%20 == 0 {
			channels, height, width = 1+r.IntN(3), 90+r.IntN(60), 90+r.IntN(60)
		}
		win := td.UnitWindow
		for s := 1; s <= 2; s++ {
			win.Kernel[s], win.Stride[s], win.Dilation[s] = 1+r.IntN(4), 1+r.IntN(2), 1+r.IntN(5)/4
			win.PadBefore[s], win.PadAfter[s] = r.IntN(3), r.IntN(3)
		}
		out := func(s, n int) int {
			return (n+win.PadBefore[s]+win.PadAfter[s]-(win.Kernel[s]-1)*win.Dilation[s]-1)/win.Stride[s] + 1
		}
		h, w := out(1, height), out(2, width)
		if h < 1 || w < 2 {
			continue
		}
		op := &Op{Params: &td.Pooling{Window: win, Kind: td.PoolMax}, Operands: []Operand{
			dense(0, tensor.Float16, batch, 1, channels, h, w),
			dense(1, tensor.Float16, batch, 1, channels, height, width),
		}}
		least := math.Inf(-1)
		if r.IntN(3) == 0 {
			op.Epilogue, least = []td.MicroOp{activation(td.FuncReLU, 0, 0)}, 0
		}
		b := bindDense(t, op)
		k, ok := b.kernel.(*poolMax)
		if !ok {
			t.Fatalf("case %d is a %T", i, b.kernel)
		}
		if k.tiles > 1 {
			bands++
		}
		if k.channels > 1 {
			sets++
		}
		for j := range len(b.w.Memory[1]) / 2 {
			if r.IntN(20) == 0 {
				putFloat(tensor.Float16, b.w.Memory[1][2*j:], half.Float(odd[r.IntN(len(odd))]))
			}
		}
		for lo := 0; lo < b.tiles; {
			hi := min(b.tiles, lo+1+r.IntN(5))
			for j := range b.w.float {
				b.w.float[j] = 1e30
			}
			k.Run(b.w, lo, hi)
			lo = hi
		}
		at := func(o int, i index) float64 {
			a := op.Operands[o].array()
			return float64(floatAt(tensor.Float16, b.w.Memory[o], a.at(&i)))
		}
		for range 300 {
			n, c, y, x := r.IntN(batch), r.IntN(channels), r.IntN(h), r.IntN(w)
			want := math.Inf(-1)
			for ky := range win.Kernel[1] {
				for kx := range win.Kernel[2] {
					iy, ix := k.window.under(1, y, ky), k.window.under(2, x, kx)
					if iy >= 0 && iy < height && ix >= 0 && ix < width {
						want = max(want, at(1, index{axisN: n, axisC: c, axisH: iy, axisW: ix}))
					}
				}
			}
			want = max(want, least)
			if got := at(0, index{axisN: n, axisC: c, axisH: y, axisW: x}); math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
				t.Fatalf("case %d: channel %d, place %d, %d is %g, expected %g; %+v", i, c, y, x, got, want, win)
			}
		}
	}
	if bands < 5 || sets < 20 {
		t.Errorf("%d cases have bands, %d several channels in a tile: too few", bands, sets)
	}
}
