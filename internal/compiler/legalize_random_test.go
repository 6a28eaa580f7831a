package compiler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Each rule that takes a layer apart for a chip is held to the layer itself, at random: what is legal there, run on our own
// engine, gives the same numbers. Bound is how far the largest of them may be off, by the largest of all: products of other
// weights are rounded otherwise.
var randomLegal = []struct {
	name  string
	gone  anec.Kind // no layer of the result has it, if the case says that it is taken apart
	bound float64
	build func(r *rand.Rand, b *anec.Builder) (y *anec.Value, apart bool)
}{
	{"transposed strides", 0, 0.002, func(r *rand.Rand, b *anec.Builder) (*anec.Value, bool) {
		groups := 1 + r.IntN(2)
		p := &anec.Conv{Window: anec.UnitWindow, Groups: groups, Transposed: true, PaddingMode: td.PadZero}
		p.Kernel, p.Stride = [3]int{1, 1 + r.IntN(6), 1 + r.IntN(6)}, [3]int{1, 1 + r.IntN(4), 3 + r.IntN(2)}
		for i := 1; i < 3; i++ {
			p.PadBefore[i], p.PadAfter[i] = r.IntN(p.Kernel[i]), r.IntN(p.Kernel[i])
			p.OutputPad[i] = r.IntN(p.Stride[i])
		}
		x := randomInput(r, b, 2, groups*(1+r.IntN(3)), 2+r.IntN(5), 2+r.IntN(5))
		outputs := 1 + r.IntN(3)
		w := randomConstant(r, b, "w", x.Type.Dims[anec.C], 1, outputs, p.Kernel[1], p.Kernel[2])
		return b.Layer("y", p, x, w, randomConstant(r, b, "bias", 1, 1, outputs*groups, 1, 1)), false
	}},
	{"strides", 0, 0.002, func(r *rand.Rand, b *anec.Builder) (*anec.Value, bool) {
		p := &anec.Conv{Window: anec.UnitWindow, Groups: 1, PaddingMode: td.PadZero}
		strides := []int{1, 2, 3, 4, 6, 8, 9, 12, 16}
		p.Kernel, p.Stride = [3]int{1, 1 + r.IntN(9), 1 + r.IntN(9)}, [3]int{1, strides[r.IntN(9)], strides[2+r.IntN(7)]}
		for i := 1; i < 3; i++ {
			p.PadBefore[i], p.PadAfter[i] = r.IntN(4), r.IntN(4)
		}
		x := randomInput(r, b, 1+r.IntN(2), 1+r.IntN(3), 11+r.IntN(20), 33+r.IntN(20))
		return b.Layer("y", p, x, randomConstant(r, b, "w", 2, 1, x.Type.Dims[anec.C], p.Kernel[1], p.Kernel[2])), false
	}},
	{"dilation", 0, 0, func(r *rand.Rand, b *anec.Builder) (*anec.Value, bool) {
		p := &anec.Conv{Window: anec.UnitWindow, Groups: 1, PaddingMode: td.PadZero}
		p.Kernel, p.Dilation = [3]int{1, 1 + r.IntN(3), 2 + r.IntN(2)}, [3]int{1, 1 + r.IntN(6), []int{2, 3, 4, 6, 8, 12, 16}[r.IntN(7)]}
		for i := 1; i < 3; i++ {
			p.PadBefore[i], p.PadAfter[i] = r.IntN(4), r.IntN(4)
		}
		x := randomInput(r, b, 1+r.IntN(2), 1+r.IntN(3), 11+r.IntN(8), 33+r.IntN(8))
		return b.Layer("y", p, x, randomConstant(r, b, "w", 2, 1, x.Type.Dims[anec.C], p.Kernel[1], p.Kernel[2])), false
	}},
	{"resize", anec.KindResize, 0.002, func(r *rand.Rand, b *anec.Builder) (*anec.Value, bool) {
		x := randomInput(r, b, 1+r.IntN(2), 1+r.IntN(3), 1+r.IntN(6), 1+r.IntN(6))
		grids := []td.SamplingGrid{td.GridAlignedCorners, td.GridUnalignedCorners, td.GridOffsetCorners, td.GridDefault, td.GridStrictAlignedCorners}
		p := &anec.Resize{
			Size: [2]int{1 + r.IntN(9), 1 + r.IntN(9)}, Grid: grids[r.IntN(len(grids))],
			Method: []td.SamplingMethod{td.SampleLinear, td.SampleNearest}[r.IntN(2)], Rounding: td.NearestRounding(r.IntN(6)),
		}
		return b.Layer("y", p, x), p.Size != [2]int{x.Type.Dims[anec.H], x.Type.Dims[anec.W]}
	}},
	{"mirrors", anec.KindPadding, 0, func(r *rand.Rand, b *anec.Builder) (*anec.Value, bool) {
		x := randomInput(r, b, 1+r.IntN(2), 1+r.IntN(3), 2+r.IntN(16), 2+r.IntN(6))
		p := &anec.Padding{Mode: []td.PaddingMode{td.PadReflective, td.PadSymmetric}[r.IntN(2)]}
		for _, a := range []td.Axis{anec.H, anec.W} {
			p.Before[a], p.After[a] = r.IntN(x.Type.Dims[a]), r.IntN(x.Type.Dims[a])
		}
		return b.Layer("y", p, x), p.Before != p.After
	}},
	{"known gather", anec.KindGather, 0, func(r *rand.Rand, b *anec.Builder) (*anec.Value, bool) {
		x := randomInput(r, b, 1, 1+r.IntN(9), 1+r.IntN(9), 1+r.IntN(9))
		a := []td.Axis{anec.C, anec.H, anec.W}[r.IntN(3)]
		indices, n, outside := make([]int64, 1+r.IntN(6)), x.Type.Dims[a], r.IntN(4) == 0
		for i := range indices {
			indices[i] = int64(r.IntN(2*n) - n)
		}
		if outside { // it reads 0, which no slice does
			indices[r.IntN(len(indices))] = []int64{int64(n), int64(-n - 1), 14}[r.IntN(3)]
		}
		shape := anec.Dims{1, 1, 1, 1, 1}.With(a, len(indices))
		i := b.Constant("i", anec.ConstantOf(tensor.FromInt64s(tensor.Int32, indices, shape[:]...)))
		return b.Layer("y", &anec.Gather{Axes: []td.Axis{a}}, x, i), len(indices) <= mostRuns && !outside
	}},
}

func TestLegalAtRandom(t *testing.T) {
	chip := lookup(t, "h13")
	for _, c := range randomLegal {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(40) {
				build := func() (*anec.Graph, []float32, bool) {
					r := rand.New(rand.NewPCG(seed, 1))
					b := &anec.Builder{Graph: anec.New("g")}
					y, apart := c.build(r, b)
					if b.Err() != nil {
						return nil, nil, false
					}
					if r.IntN(2) == 0 {
						y = b.Layer("relu", &anec.Neuron{Type: td.FuncReLU}, y)
					}
					b.Graph.AddOutput(y)
					n, _ := b.Graph.Inputs[0].Type.Dims.Count()
					return b.Graph, randomNumbers(r, n), apart
				}
				plain, x, apart := build()
				if plain == nil {
					continue // padding may leave nothing
				}
				want := evaluateGraph(t, plain, x)[0]
				g, _, _ := build()
				fusedFor(t, chip, g, 0)
				legalFor(t, chip, g, 0)
				for _, l := range g.Layers {
					if r := anec.Validate(l, chip); r != nil {
						t.Fatalf("seed %d: %s is legal, and yet %v\n%s", seed, l.Name, r, anec.Print(g))
					}
					if apart && l.Kind() == c.gone {
						t.Errorf("seed %d: it is still there\n%s", seed, anec.Print(g))
					}
				}
				after := anec.Print(g)
				most, off := 0.0, 0.0
				for i, y := range evaluateGraph(t, g, x)[0] {
					most, off = max(most, math.Abs(float64(want[i]))), max(off, math.Abs(float64(y-want[i])))
				}
				if off > c.bound*most {
					t.Errorf("seed %d: off by %g of %g\n%s", seed, off, most, after)
				}
			}
		})
	}
}

func randomNumbers(r *rand.Rand, n int) []float32 {
	numbers := make([]float32, n)
	for i := range numbers {
		numbers[i] = float32(r.IntN(33)-16) / 8
	}
	return numbers
}

func randomInput(_ *rand.Rand, b *anec.Builder, n, c, h, w int) *anec.Value {
	x, err := b.Graph.AddInput(fmt.Sprint("x", len(b.Graph.Inputs)), anec.TypeOf(tensor.Float16, n, 1, c, h, w))
	b.Fail(err)
	return x
}

func randomConstant(r *rand.Rand, b *anec.Builder, name string, shape ...int) *anec.Value {
	n, _ := anec.Dims(shape).Count()
	return b.Constant(name, anec.ConstantOf(tensor.FromFloat32s(tensor.Float16, randomNumbers(r, n), shape...)))
}
