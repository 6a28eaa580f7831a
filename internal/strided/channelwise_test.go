package strided

import (
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A channelwise convolution has the bits of its definition, however its rows lie,
// whatever takes them, and in however many calls its tiles are run.
func TestChannelwise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	bands, sets, fused := 0, 0, 0
	for i := range 250 {
		channels, outputs := 2+r.IntN(40), 1+r.IntN(8)/7
		batch, height, width := 1+r.IntN(2), 1+r.IntN(20), 1+r.IntN(40)
		if i%20 == 0 {
			channels, height, width = 2+r.IntN(3), 60+r.IntN(60), 90+r.IntN(60)
		}
		win := td.UnitWindow
		for s := 1; s <= 2; s++ {
			win.Kernel[s], win.Stride[s], win.Dilation[s] = 1+r.IntN(5), 1+r.IntN(3), 1+r.IntN(5)/4
			win.PadBefore[s], win.PadAfter[s] = r.IntN(3), r.IntN(3)
			if i%2 == 0 {
				win.Kernel[s], win.Dilation[s], win.PadBefore[s], win.PadAfter[s] = 3, 1, 1, 1
			}
		}
		out := func(s, n int) int {
			return (n+win.PadBefore[s]+win.PadAfter[s]-(win.Kernel[s]-1)*win.Dilation[s]-1)/win.Stride[s] + 1
		}
		h, w := out(1, height), out(2, width)
		if h < 1 || w < 1 {
			continue
		}
		op := &Op{Params: &td.Convolution{Window: win, Groups: channels}, Operands: []Operand{
			dense(0, tensor.Float16, batch, 1, channels*outputs, h, w),
			dense(1, tensor.Float16, batch, 1, channels, height, width),
			dense(2, tensor.Float16, channels*outputs, 1, 1, win.Kernel[1], win.Kernel[2]),
		}}
		hasBias, step := r.IntN(2) == 0, r.IntN(4)
		if hasBias {
			op.Operands = append(op.Operands, dense(3, tensor.Float16, 1, 1, channels*outputs, 1, 1))
		}
		switch step {
		case 1:
			op.Epilogue = []td.MicroOp{activation(td.FuncReLU, 0, 0)}
		case 2:
			op.Epilogue = []td.MicroOp{activation(td.FuncClip, -0.25, 1)}
		case 3:
			op.Epilogue = []td.MicroOp{activation(td.FuncAbs, 0, 0)}
		}
		if r.IntN(4) == 0 { // rows with gaps between them
			x := &op.Operands[r.IntN(2)]
			x.Strides[axisH] += 6
			x.Strides[axisC] = x.Strides[axisH]*int64(x.Dims[axisH]) + 2
			x.Strides[axisN] = x.Strides[axisC] * int64(x.Dims[axisC])
			x.Strides[axisD] = x.Strides[axisN]
		}
		if !isChannelwise(op) {
			t.Fatalf("case %d is not channelwise", i)
		}
		b := bindDenseGaps(t, op)
		k := b.kernel.(*channelwise)
		if k.tiles > 1 {
			bands++
		}
		if k.channels > 1 {
			sets++
		}
		if k.stored && k.halves {
			fused++
		}
		for lo := 0; lo < b.tiles; {
			hi := min(b.tiles, lo+1+r.IntN(5))
			for j := range b.w.float { // what another kernel left there
				b.w.float[j] = 1e30
			}
			k.Run(b.w, lo, hi)
			lo = hi
		}
		at := func(o int, i index) float32 {
			a := op.Operands[o].array()
			return floatAt(tensor.Float16, b.w.Memory[o], a.at(&i))
		}
		for range 300 {
			n, c, y, x := r.IntN(batch), r.IntN(channels*outputs), r.IntN(h), r.IntN(w)
			if r.IntN(4) == 0 {
				x = w - 1
			}
			var sum float32
			for ky := range win.Kernel[1] {
				for kx := range win.Kernel[2] {
					iy, ix := k.under(1, y, ky), k.under(2, x, kx)
					var v float32
					if iy >= 0 && iy < height && ix >= 0 && ix < width {
						v = at(1, index{axisN: n, axisC: c / outputs, axisH: iy, axisW: ix})
					}
					sum += float32(v * at(2, index{axisN: c, axisH: ky, axisW: kx}))
				}
			}
			if hasBias {
				sum += at(3, index{axisC: c})
			}
			switch step {
			case 1:
				sum = max(sum, 0)
			case 2:
				sum = min(max(sum, -0.25), 1)
			case 3:
				sum = max(sum, -sum)
			}
			if got := at(0, index{axisN: n, axisC: c, axisH: y, axisW: x}); got != half.Round(sum) {
				t.Fatalf("case %d: channel %d, place %d, %d is %g, expected %g; %+v", i, c, y, x, got, half.Round(sum), win)
			}
		}
	}
	if bands < 5 || sets < 50 || fused < 50 {
		t.Errorf("%d cases have bands, %d several channels in a tile, %d all in machine code: too few", bands, sets, fused)
	}
}

// bindDenseGaps is bindDense of operands that may have gaps.
func bindDenseGaps(tb testing.TB, op *Op) *bound {
	b := bindDense(tb, op)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range op.Operands[:2] {
		o := &op.Operands[i]
		m := make([]byte, int(o.Strides[axisN])*o.Dims[axisN])
		for j := 0; i == 1 && j < len(m); j += 2 {
			putFloat(tensor.Float16, m[j:], float32(r.NormFloat64()))
		}
		b.w.Memory[i] = m
	}
	return b
}
