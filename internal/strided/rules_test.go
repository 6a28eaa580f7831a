package strided

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// line is an operand along W, in a memory of its own.
func line(memory int, t tensor.DType, n int) Operand { return dense(memory, t, 1, 1, 1, 1, n) }

// rulesOf are those of numerics that round to even.
func rulesOf(n hal.Numerics) *Rules {
	n.RoundHalfEven = true
	return RulesOf(n)
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
		{rulesOf(hal.Numerics{RoundToHalf: true}), []float32{2, infinity, half.Float(half.Bits(half.Float(half.Bits(0.1)) + 1))}},
	} {
		op := &Op{Params: &td.ElementWise{Kind: td.EWAdd}, Operands: []Operand{line(0, tensor.Float32, 3), line(1, tensor.Float32, 3), line(2, tensor.Float32, 3)}, Rules: test.rules}
		for i, got := range runLine(t, op, x, z) {
			if got != test.want[i] {
				t.Errorf("%+v: element %d is %v, want %v", test.rules, i, got, test.want[i])
			}
		}
	}
	whole := &Op{Params: &td.Copy{}, Operands: []Operand{line(0, tensor.Int32, 1), line(1, tensor.Int32, 1)}, Rules: rulesOf(hal.Numerics{RoundToHalf: true, NaNToInf: true})}
	if got := runLine(t, whole, []float32{math.Float32frombits(70001)}); math.Float32bits(got[0]) != 70001 {
		t.Errorf("an integer became %d", math.Float32bits(got[0]))
	}
}

// A step that refers to an earlier value still does when a rule has put one
// before it.
func TestRoundReductions(t *testing.T) {
	// y = (sum+1)*sum
	steps := []td.MicroOp{{Code: td.MicroScaleBias, A: 1, B: 1}, {Code: td.MicroEW, Function: uint8(td.EWMult), Source: td.FromStep(-1)}}
	x := []float32{1, 0x1p-11, 0, 0}
	for _, test := range []struct {
		rules *Rules
		want  float32
	}{
		{nil, (2 + 0x1p-11) * (1 + 0x1p-11)},
		{rulesOf(hal.Numerics{RoundReductions: true}), 2},
	} {
		op := &Op{
			Params: &td.Reduction{Axes: td.AxesOf(td.AxisW)}, Epilogue: steps, Rules: test.rules,
			Operands: []Operand{line(0, tensor.Float32, 1), line(1, tensor.Float32, 4)},
		}
		if got := runLine(t, op, x)[0]; got != test.want {
			t.Errorf("%+v: %v, want %v", test.rules, got, test.want)
		}
	}
}

// Rules leave every bit of what they do not change, in all the ways to add up
// products: where there is nothing to do, and where another sum of the tile is
// added up again.
func TestRulesThatDoNothing(t *testing.T) { forRows(t, rulesThatDoNothing) }

func rulesThatDoNothing(t *testing.T, row *gemm.Row) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, c := range []struct{ inputs, groups, kernel, stride int }{
		{1, 1, 3, 1}, {300, 1, 1, 1}, {5, 1, 3, 2}, {1, 6, 3, 1}, {1, 6, 3, 2},
	} {
		const outputs, size = 6, 9
		places := (size-c.kernel)/c.stride + 1
		window := td.UnitWindow
		window.Kernel, window.Stride = [3]int{1, c.kernel, c.kernel}, [3]int{1, c.stride, c.stride}
		op := &Op{Params: &td.Convolution{Groups: c.groups, Window: window}, Operands: []Operand{
			dense(0, tensor.Float32, 1, 1, outputs, places, places),
			dense(1, tensor.Float32, 1, 1, c.inputs*c.groups, size, size),
			dense(2, tensor.Float32, outputs, 1, c.inputs, c.kernel, c.kernel),
		}}
		memory := make([][]byte, 3)
		for i := range memory {
			memory[i] = make([]byte, 4*elements(op.Operands[i].Dims))
			for j := 0; i > 0 && j < len(memory[i]); j += 4 {
				binary.LittleEndian.PutUint32(memory[i][j:], math.Float32bits(float32(r.NormFloat64())))
			}
		}
		run := func(rules *Rules) []uint32 {
			o := *op
			o.Rules, o.Gemm = rules, row
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
		rules := rulesOf(hal.Numerics{NaNToInf: true, IndeterminateToZero: true, SaturatePartials: true, SaturateAtPort: 1 << 15})
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

// What arrives at the port is judged by what would be stored.
func TestArrival(t *testing.T) {
	for _, a := range []arrival{{flush: true}, {port: 32768}, {port: 30000.5, flush: true}, {port: 65536, toZero: true}, {port: 1e9}} {
		for h := range 1 << 16 {
			for _, d := range []uint32{0, 0xfff, 0x1000, 0x1001} {
				x := math.Float32frombits(math.Float32bits(half.Float(uint16(h))) + d)
				stored := half.Round(x)
				want := x
				switch {
				case x != x:
					if a.toZero {
						want = 0
					}
				case a.flush && stored > -half.LeastNormal && stored < half.LeastNormal:
					want = 0
				case a.port != 0 && stored >= a.port:
					want = infinity
				case a.port != 0 && stored <= -a.port:
					want = -infinity
				}
				got := []float32{x}
				if a.apply(got); math.Float32bits(got[0]) != math.Float32bits(want) && (got[0] == got[0] || want == want) {
					t.Fatalf("%+v: %g becomes %g, expected %g", a, x, got[0], want)
				}
			}
		}
	}
}
