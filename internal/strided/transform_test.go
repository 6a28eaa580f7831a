package strided

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/transform"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// conv3x3 is a convolution of n pictures with a bias and, after it, a residual. Its
// result is fp32, so that what was computed can be seen.
func conv3x3(n, in, out, height, width, top, left, bottom, right int) *Op {
	y := dense(0, tensor.Float32, n, 1, out, height+top+bottom-2, width+left+right-2)
	weights := dense(2, tensor.Float16, out, 1, in, 3, 3)
	weights.Constant = true
	residual := y
	residual.Memory = 4
	return &Op{
		Operands: []Operand{
			y, dense(1, tensor.Float16, n, 1, in, height, width), weights, dense(3, tensor.Float16, 1, 1, out, 1, 1), residual,
		},
		Epilogue: []td.MicroOp{{Code: td.MicroEW, Function: uint8(td.EWAdd), Source: td.FromOperand(4)}},
		Params: &td.Convolution{Groups: 1, Window: td.Window{
			Kernel: [3]int{1, 3, 3}, Stride: [3]int{1, 1, 1}, Dilation: [3]int{1, 1, 1},
			PadBefore: [3]int{0, top, left}, PadAfter: [3]int{0, bottom, right},
		}},
	}
}

// runOn runs what bind makes of an operation on memory, tile by tile, the last one
// first, and returns the result.
func runOn(t *testing.T, op *Op, memory [][]byte, bind func(*Op) (Kernel, error)) []float32 {
	t.Helper()
	packs := new(Packs)
	op.Packs = packs
	k, err := bind(op)
	if err != nil {
		t.Fatal(err)
	}
	w := NewScratch(k.Need())
	for i := range w.float {
		w.float[i] = float32(math.NaN()) // of the last user
	}
	for i := range w.panels {
		w.panels[i] = float32(math.NaN())
	}
	w.Memory = append([][]byte{make([]byte, op.Operands[0].bytes())}, memory[1:]...)
	w.Packed = packs.New(make([]byte, packs.Room()))
	for i := range w.Packed {
		packs.Fill(w.Packed, i, w.Memory, nil)
	}
	n, _ := k.Tiles()
	for i := n - 1; i >= 0; i-- {
		k.Run(w, i, i+1)
	}
	y := make([]float32, elements(op.Operands[0].Dims))
	loadDense(y, tensor.Float32, w.Memory[0])
	return y
}

// fill makes memory of numbers; of the weights, small ones.
func (op *Op) fill(r *rand.Rand) [][]byte {
	memory := make([][]byte, len(op.Operands))
	for i := 1; i < len(op.Operands); i++ {
		o := &op.Operands[i]
		memory[i] = make([]byte, o.bytes())
		for at := 0; at < len(memory[i]); at += sizeOf(o.Type) {
			putFloat(o.Type, memory[i][at:], float32(r.NormFloat64()))
		}
	}
	return memory
}

// exactly computes a convolution of conv3x3 in fp64, and for each element the sum
// of the magnitudes.
func (op *Op) exactly(memory [][]byte) (values, sums []float64) {
	y, x := &op.Operands[0], &op.Operands[1]
	read := func(i, at int) float64 {
		o := &op.Operands[i]
		return float64(floatAt(o.Type, memory[i], at*sizeOf(o.Type)))
	}
	pad := op.Params.(*td.Convolution).PadBefore
	for n := range y.Dims[axisN] {
		for c := range y.Dims[axisC] {
			for h := range y.Dims[axisH] {
				for v := range y.Dims[axisW] {
					sum := read(3, c)
					size := math.Abs(sum)
					for d := range x.Dims[axisC] {
						for tap := range 9 {
							i, j := h+tap/3-pad[1], v+tap%3-pad[2]
							if i < 0 || j < 0 || i >= x.Dims[axisH] || j >= x.Dims[axisW] {
								continue
							}
							p := read(2, (c*x.Dims[axisC]+d)*9+tap) * read(1, ((n*x.Dims[axisC]+d)*x.Dims[axisH]+i)*x.Dims[axisW]+j)
							sum += p
							size += math.Abs(p)
						}
					}
					p := read(4, len(values))
					values, sums = append(values, sum+p), append(sums, size+math.Abs(p))
				}
			}
		}
	}
	return values, sums
}

// forTransforms runs a test with each transform that can be run, and a micro-kernel
// that it goes with.
func forTransforms(t *testing.T, test func(t *testing.T, form *transform.Row, row *gemm.Row)) {
	for _, form := range transform.Rows() {
		for _, row := range testRows() {
			if lines := row.ForFloats().B.Lines; lines%form.Lanes == 0 && row.Needs >= form.Needs {
				t.Run(form.Name+" "+row.Name, func(t *testing.T) { test(t, form, row) })
			}
		}
	}
}

// bindForm binds by a transform, and sees that it is.
func bindForm(t *testing.T, form *transform.Row) func(op *Op) (Kernel, error) {
	return func(op *Op) (Kernel, error) {
		k, err := bindTransform(op, form)
		if _, ok := k.(*transformed); !ok && err == nil {
			t.Fatal("it is not transformed")
		}
		return k, err
	}
}

// A transformed convolution is the convolution, at all edges.
func TestTransformed(t *testing.T) {
	forTransforms(t, func(t *testing.T, form *transform.Row, row *gemm.Row) {
		r := rand.New(rand.NewPCG(4, 3))
		for _, op := range []*Op{
			conv3x3(1, 3, 5, 8, 8, 1, 1, 1, 1),
			conv3x3(2, 2, 13, 5, 7, 1, 1, 1, 1),
			conv3x3(1, 4, 2, 3, 3, 0, 0, 0, 0),
			conv3x3(1, 2, 3, 9, 6, 0, 2, 2, 0),
			conv3x3(1, 2, 3, 4, 66, 2, 0, 1, 3),
			conv3x3(1, 3, 2, 33, 130, 1, 1, 1, 1),
			conv3x3(1, row.Depth+7, 3, 4, 5, 1, 1, 1, 1),
			conv3x3(1, 2, 30, 21, 18, 1, 1, 1, 1),
			conv3x3(1, 1, 1, 1, 2, 1, 1, 1, 1),
		} {
			op.Gemm = row
			memory := op.fill(r)
			got := runOn(t, op, memory, bindForm(t, form))
			want, sums := op.exactly(memory)
			for i := range got {
				if math.Abs(float64(got[i])-want[i]) > 256*0x1p-24*sums[i] {
					t.Fatalf("x %v, w %v, element %d: %v, want %v", op.Operands[1].Dims, op.Operands[2].Dims, i, got[i], want[i])
				}
			}
		}
	})
}

// An infinity or a NaN goes where the plain convolution has it and nowhere else,
// and does not change other rows of tiles; nor does a picture beside it.
func TestTransformedNotFinite(t *testing.T) {
	forTransforms(t, func(t *testing.T, form *transform.Row, row *gemm.Row) {
		r := rand.New(rand.NewPCG(4, 3))
		for _, weights := range []bool{false, true} {
			op := conv3x3(2, 3, 4, 18, 13, 1, 1, 1, 1)
			op.Gemm = row
			memory := op.fill(r)
			before := runOn(t, op, memory, bindForm(t, form))
			for i, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), half.Max} {
				if weights {
					putFloat(tensor.Float16, memory[2][2*(7+i):], v)
				} else {
					putFloat(tensor.Float16, memory[1][2*(((i%3)*18+8+i%2)*13+4*i):], v) // of the first picture
				}
			}
			got, want := runOn(t, op, memory, bindForm(t, form)), runOn(t, op, memory, bindConv)
			for i := range got {
				if g, w := float64(got[i]), float64(want[i]); math.IsNaN(g) != math.IsNaN(w) || math.IsInf(g, 1) != math.IsInf(w, 1) || math.IsInf(g, -1) != math.IsInf(w, -1) {
					t.Fatalf("weights %v, element %d: %v, want %v", weights, i, g, w)
				}
			}
			if weights {
				continue
			}
			for i := range got {
				first := i/13%18 < 4 && i < len(got)/2
				if (first || i >= len(got)/2) && got[i] != before[i] {
					t.Fatalf("element %d was %v and is %v", i, before[i], got[i])
				}
			}
		}
	})
}

// Which convolutions are transformed, and in which tiles.
func TestTransforms(t *testing.T) {
	if transform.For(4) == nil {
		t.Skip("this processor, or ESPALIER_ISA, has no machine code for transforms")
	}
	floats := gemm.For(64, anyLines, 64).ForFloats()
	for _, tt := range []struct {
		what   string
		op     *Op
		change func(op *Op, p *td.Convolution)
		tile   int // 0: plain
	}{
		{"56 by 56", conv3x3(1, 64, 64, 56, 56, 1, 1, 1, 1), nil, 4},
		{"a batch", conv3x3(3, 64, 64, 56, 56, 1, 1, 1, 1), nil, 4},
		{"no padding", conv3x3(1, 64, 64, 28, 28, 0, 0, 0, 0), nil, 4},
		{"14 by 14", conv3x3(1, 256, 256, 14, 14, 1, 1, 1, 1), nil, 2},
		{"few places", conv3x3(8, 512, 512, 7, 7, 1, 1, 1, 1), nil, 0},
		{"few channels", conv3x3(1, 4, 96, 64, 64, 1, 1, 1, 1), nil, 0},
		{"few results", conv3x3(1, 96, 4, 64, 64, 1, 1, 1, 1), nil, 0},
		{"large weights", conv3x3(1, 1024, 1024, 32, 32, 1, 1, 1, 1), nil, 0},
		{"stride 2", conv3x3(1, 64, 64, 56, 56, 1, 1, 1, 1), func(_ *Op, p *td.Convolution) { p.Stride[2] = 2 }, 0},
		{"dilation", conv3x3(1, 64, 64, 56, 56, 1, 1, 1, 1), func(_ *Op, p *td.Convolution) { p.Dilation[1] = 2 }, 0},
		{"weights that change", conv3x3(1, 64, 64, 56, 56, 1, 1, 1, 1), func(op *Op, _ *td.Convolution) { op.Operands[2].Constant = false }, 0},
		{"rules", conv3x3(1, 64, 64, 56, 56, 1, 1, 1, 1), func(op *Op, _ *td.Convolution) { op.Rules = new(Rules) }, 0},
		{"little memory", conv3x3(1, 64, 64, 56, 56, 1, 1, 1, 1), func(op *Op, _ *td.Convolution) { op.Packs.Small = true }, 0},
		{"x along H", conv3x3(1, 64, 64, 56, 56, 1, 1, 1, 1), func(op *Op, _ *td.Convolution) {
			s := &op.Operands[1].Strides
			s[axisH], s[axisW] = s[axisW], s[axisH]
		}, 0},
	} {
		tt.op.Gemm, tt.op.Packs = floats, new(Packs)
		if tt.change != nil {
			tt.change(tt.op, tt.op.Params.(*td.Convolution))
		}
		tile := 0
		if row := transformOf(tt.op); row != nil {
			tile = row.Tile
		}
		if tile != tt.tile {
			t.Errorf("%s: tiles of %d places, want %d", tt.what, tile, tt.tile)
		}
	}
}
