package strided

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel"
)

// line is an operand along W, at the beginning of a memory of its own.
func line(base int, t Type, n int) Operand {
	o := Operand{Base: base, Type: t, Interleave: 1, Dims: [NumAxes]int{1, 1, 1, 1, n}}
	for a := range o.Strides {
		o.Strides[a] = n * t.size()
	}
	o.Strides[axisW] = t.size()
	return o
}

// runLine binds an operation on lines of fp32 and returns its result. Operands
// other than the first have these values.
func runLine(t *testing.T, op *Op, sources ...[]float32) []float32 {
	t.Helper()
	n := op.Operands[0].Dims[axisW]
	memory := [][]byte{make([]byte, 4*n)}
	for _, v := range sources {
		m := make([]byte, 4*len(v))
		for i, x := range v {
			binary.LittleEndian.PutUint32(m[4*i:], math.Float32bits(x))
		}
		memory = append(memory, m)
	}
	k, err := Bind(op)
	if err != nil {
		t.Fatal(err)
	}
	w := NewScratch(k.Need())
	w.Memory = memory
	tiles, _ := k.Tiles()
	k.Run(w, 0, tiles)
	y := make([]float32, n)
	for i := range y {
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(memory[0][4*i:]))
	}
	return y
}

// Wider floats come in and go out as fp16 numbers, integers as they are.
func TestRoundToHalf(t *testing.T) {
	x, z := []float32{1 + 0x1p-12, 70000, 0.1}, []float32{1, 1, 1}
	for _, test := range []struct {
		rules *Rules
		want  []float32
	}{
		{nil, []float32{1 + 0x1p-12 + 1, 70001, 0.1 + 1}},
		{&Rules{RoundToHalf: true}, []float32{2, infinity, kernel.FromHalf(kernel.ToHalf(kernel.FromHalf(kernel.ToHalf(0.1)) + 1))}},
	} {
		op := &Op{Class: classElementWise, Params: Params{Kind: 1}, Operands: []Operand{line(0, F32, 3), line(1, F32, 3), line(2, F32, 3)}, Rules: test.rules}
		for i, got := range runLine(t, op, x, z) {
			if got != test.want[i] {
				t.Errorf("%+v: element %d is %v, want %v", test.rules, i, got, test.want[i])
			}
		}
	}
	whole := &Op{Class: classCopy, Operands: []Operand{line(0, I32, 1), line(1, I32, 1)}, Rules: &Rules{RoundToHalf: true, NaNToInf: true}}
	if got := runLine(t, whole, []float32{math.Float32frombits(70001)}); math.Float32bits(got[0]) != 70001 {
		t.Errorf("an integer became %d", math.Float32bits(got[0]))
	}
}

// A step that refers to an earlier value still does when a rule has put one
// before it.
func TestRoundReductions(t *testing.T) {
	// y = (sum+1)*sum
	steps := []Step{{Kind: ScaleBias, A: 1, B: 1}, {Kind: Pair, Code: 2, Earlier: 1}}
	x := []float32{1, 0x1p-11, 0, 0}
	for _, test := range []struct {
		rules *Rules
		want  float32
	}{
		{nil, (2 + 0x1p-11) * (1 + 0x1p-11)},
		{&Rules{RoundReductions: true}, 2},
	} {
		op := &Op{
			Class: classReduction, Params: Params{Axes: 1 << axisW}, Steps: steps, Rules: test.rules,
			Operands: []Operand{line(0, F32, 1), line(1, F32, 4)},
		}
		if got := runLine(t, op, x)[0]; got != test.want {
			t.Errorf("%+v: %v, want %v", test.rules, got, test.want)
		}
	}
}

// Rules leave every bit of what they do not change, in all the ways to add up
// products: where there is nothing to do, and where a tile is added up again
// because of another of its sums.
func TestRulesThatDoNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	dense := func(base int, d [NumAxes]int) Operand {
		o := Operand{Base: base, Type: F32, Interleave: 1, Dims: d}
		stride := 4
		for a := NumAxes - 1; a >= 0; a-- {
			o.Strides[a] = stride
			stride *= d[a]
		}
		return o
	}
	for _, c := range []struct{ inputs, groups, kernel, stride int }{
		{1, 1, 3, 1}, {300, 1, 1, 1}, {5, 1, 3, 2}, {1, 6, 3, 1}, {1, 6, 3, 2},
	} {
		const outputs, size = 6, 9
		places := (size-c.kernel)/c.stride + 1
		op := &Op{Class: classConv, Operands: []Operand{
			dense(0, [NumAxes]int{1, 1, outputs, places, places}),
			dense(1, [NumAxes]int{1, 1, c.inputs * c.groups, size, size}),
			dense(2, [NumAxes]int{outputs, 1, c.inputs, c.kernel, c.kernel}),
		}}
		op.Params.Groups = c.groups
		op.Params.Window = Window{Kernel: [3]int{1, c.kernel, c.kernel}, Stride: [3]int{1, c.stride, c.stride}, Dilation: [3]int{1, 1, 1}}
		memory := make([][]byte, 3)
		for i := range memory {
			memory[i] = make([]byte, 4*product(op.Operands[i].Dims))
			for j := 0; i > 0 && j < len(memory[i]); j += 4 {
				binary.LittleEndian.PutUint32(memory[i][j:], math.Float32bits(float32(r.NormFloat64())))
			}
		}
		run := func(rules *Rules) []uint32 {
			o := *op
			o.Rules = rules
			k, err := Bind(&o)
			if err != nil {
				t.Fatal(err)
			}
			w := NewScratch(k.Need())
			w.Memory = memory
			tiles, _ := k.Tiles()
			k.Run(w, 0, tiles)
			bits := make([]uint32, len(memory[0])/4)
			for i := range bits {
				bits[i] = binary.LittleEndian.Uint32(memory[0][4*i:])
			}
			return bits
		}
		rules := &Rules{NaNToInf: true, Settle: true, Partials: true, Port: 1 << 15}
		for _, infinite := range []bool{false, true} {
			if infinite { // of x, where weights of 0 meet it and others
				binary.LittleEndian.PutUint32(memory[1], math.Float32bits(infinity))
				clear(memory[2][:4])
			}
			plain, ruled := run(nil), run(rules)
			none := 0
			for i, want := range plain {
				v := math.Float32frombits(want)
				if v != v {
					none++
					if got := math.Float32frombits(ruled[i]); got != got {
						t.Fatalf("%+v: element %d is still NaN", c, i)
					}
				} else if ruled[i] != want {
					t.Fatalf("%+v, infinite %v: element %d is %v, want %v", c, infinite, i, math.Float32frombits(ruled[i]), v)
				}
			}
			if infinite != (none > 0) {
				t.Fatalf("%+v: %d NaN", c, none)
			}
		}
	}
}
