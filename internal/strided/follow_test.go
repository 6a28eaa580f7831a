package strided

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What follows an operation in its task is done, whatever kernel the operation is bound
// to: each function gives the bits that it gives of the stored result in a task of its
// own. The operations choose or move elements, so that storing them loses nothing.
func TestFunctionsFollow(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, c := range choosers() {
		op := c.op()
		plain, y := bindDense(t, op), op.Operands[0]
		x := plain.w.Memory[1]
		for i := 0; i < len(x); i += 2 {
			putFloat(tensor.Float16, x[i:], float32(2*r.NormFloat64()))
		}
		if c.weights != nil {
			c.weights(plain.w.Memory[2])
		}
		plain.run()
		for f := td.FuncReLU; f < 128; f++ {
			if !f.Known() || f == td.FuncCustomLUT {
				continue
			}
			then := []td.MicroOp{activation(f, 1.25, 0.75)}
			want := bindDense(t, &Op{Params: &td.Copy{}, Epilogue: then, Operands: []Operand{
				y, {Operand: y.Operand, Memory: 1},
			}})
			copy(want.w.Memory[1], plain.w.Memory[0])
			want.run()
			op := c.op()
			op.Epilogue = then
			got := bindDense(t, op)
			copy(got.w.Memory[1], x)
			if c.weights != nil {
				c.weights(got.w.Memory[2])
			}
			got.run()
			if !bytes.Equal(got.w.Memory[0], want.w.Memory[0]) {
				t.Errorf("%s, then %v: %T gives other bits than %T and then %T", c.name, f, got.kernel, plain.kernel, want.kernel)
			}
		}
	}
}

// A chooser is an operation whose results are elements of x.
type chooser struct {
	name    string
	op      func() *Op
	weights func([]byte) // if it has any: those that pick one element
}

func choosers() []chooser {
	const channels, side = 24, 20
	one := func(at, every int) func([]byte) {
		return func(w []byte) {
			clear(w)
			for i := at; 2*i < len(w); i += every {
				putFloat(tensor.Float16, w[2*i:], 1)
			}
		}
	}
	conv := func(kernel, stride, groups int) func() *Op {
		return func() *Op {
			return without(benchConv(groups, channels, channels, side, kernel, stride, kernel/2, false))
		}
	}
	pool := func(kernel, stride int, kind td.PoolKind) func() *Op {
		return func() *Op {
			after := (side-kernel)/stride + 1
			win := td.UnitWindow
			win.Kernel[1], win.Kernel[2], win.Stride[1], win.Stride[2] = kernel, kernel, stride, stride
			return &Op{Params: &td.Pooling{Window: win, Kind: kind}, Operands: []Operand{
				dense(0, tensor.Float16, 1, 1, channels, after, after), dense(1, tensor.Float16, 1, 1, channels, side, side),
			}}
		}
	}
	const all = channels * 9
	return []chooser{
		{"max of 1×1", pool(1, 1, td.PoolMax), nil},
		{"max of 3×3", pool(3, 2, td.PoolMax), nil},
		{"min of 2×2", pool(2, 2, td.PoolMin), nil},
		{"average of 1×1", pool(1, 1, td.PoolAvg), nil},
		{"depthwise 3×3", conv(3, 1, channels), one(4, 9)},
		{"depthwise 3×3 with steps of 2", conv(3, 2, channels), one(4, 9)},
		{"depthwise 5×5", conv(5, 1, channels), one(12, 25)},
		{"convolution 1×1", conv(1, 1, 1), one(0, channels+1)},
		{"convolution 3×3 with steps of 2", conv(3, 2, 1), one(4, all+9)},
		{"groups 3×3", conv(3, 2, 4), one(4, all/4)},
		{"product", func() *Op { return benchMatMul(40, 32, 32, false) }, one(0, 33)},
		{"copy", func() *Op {
			return &Op{Params: &td.Copy{}, Operands: []Operand{dense(0, tensor.Float16, 1, 1, 3, 7, 9), dense(1, tensor.Float16, 1, 1, 3, 7, 9)}}
		}, nil},
	}
}

// without is the operation alone.
func without(op *Op) *Op {
	op.Epilogue = nil
	return op
}
