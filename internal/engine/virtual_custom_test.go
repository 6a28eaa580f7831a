package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The class whose function is a table that the task carries, by the definition of
// the table (h13 3.5), in fp64.

// plainTable is a table at x, and how large the numbers are that it is the sum of.
// It knows the forms whose knots lie side by side on the axis, and exp2.
func plainTable(t *td.Table, x float64) (y, terms float64) {
	half := func(h uint16) float64 { return float64(tensor.F16(h)) }
	if t.Sign() == td.SignOdd && math.Signbit(x) {
		plain := *t
		plain.Mode &= 15
		y, terms = plainTable(&plain, -x)
		return -y, terms
	}
	switch {
	case math.IsNaN(x):
		return x, 0
	case x <= half(t.XLow):
		return half(t.YLow), 0
	case x >= half(t.XHigh):
		return half(t.YHigh), 0
	}
	position, scale := math.Ldexp(x, int(t.SpacingLog2)), 1.0
	tail := (*td.Tail)(nil)
	switch t.Form() {
	case td.FormExp2:
		whole := math.Floor(x)
		position, scale = math.Ldexp(x-whole, int(t.SpacingLog2)), math.Exp2(whole)
	case td.FormCentred:
		if position += 16; position < 0 {
			tail = &t.Left
		}
	}
	if position > 32 {
		tail = &t.Right
	}
	if tail != nil {
		y = half(tail.Slope)*x + half(tail.Intercept)
		return y, math.Abs(half(tail.Slope)*x) + math.Abs(half(tail.Intercept))
	}
	i := min(int(position), 31)
	a, b := half(t.Knots[i]), half(t.Knots[i+1])
	return scale * (a + (b-a)*(position-float64(i))), scale * (math.Abs(a) + math.Abs(b))
}

func randomTable(r *rand.Rand) *td.Table {
	half := func(v float64) uint16 { return tensor.ToF16(float32(v)) }
	number := func() uint16 { return half(randomValue(r, tensor.Float32)) }
	t := &td.Table{
		XLow: half(math.Inf(-1)), XHigh: half(math.Inf(1)), YLow: number(), YHigh: number(),
		Left: td.Tail{Slope: number(), Intercept: number()}, Right: td.Tail{Slope: number(), Intercept: number()},
		SpacingLog2: uint16(r.IntN(7)), Mode: uint16(pick(r, td.FormCentred, td.FormOrigin)),
	}
	for i := range t.Knots {
		t.Knots[i] = number()
	}
	if r.IntN(2) == 0 {
		t.XLow, t.XHigh = half(-float64(r.IntN(64))/32), half(float64(r.IntN(64))/32)
	}
	switch {
	case t.Form() == td.FormOrigin && r.IntN(2) == 0:
		t.Mode |= uint16(td.SignOdd) << 4
	case t.Form() == td.FormOrigin:
		t.XLow = 0 // what lies left of its knots no source says
	}
	return t
}

func testNeuronCustom(t *testing.T, r *rand.Rand) {
	dims := quantDims(r)
	table := randomTable(r)
	op := &td.Op{Params: &td.NeuronCustom{Table: *table}, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...),
	}}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) { return plainTable(table, b.get(1, i)) })
}

// Every fp16 number, through tables of each form that the definition above knows.
func TestNeuronCustomOfAllHalves(t *testing.T) {
	t.Parallel()
	bump := &td.Table{XLow: tensor.ToF16(-4), XHigh: tensor.ToF16(4), SpacingLog2: 2, Mode: uint16(td.FormCentred)}
	for i := range bump.Knots {
		x := float64(i-16) / 4
		bump.Knots[i] = tensor.ToF16(float32(math.Exp(-x * x)))
	}
	for name, table := range map[string]*td.Table{
		"bump": bump, "sigmoid": td.SigmoidTable(), "tanh": td.TanhTable(), "gelu": td.GELUTable(), "silu": td.SiLUTable(), "exp2": td.Exp2Table(),
	} {
		op := &td.Op{Params: &td.NeuronCustom{Table: *table}, Operands: []td.Operand{
			operand256(tensor.Float16, 1, 1, 16, 64, 64), operand256(tensor.Float16, 1, 1, 16, 64, 64),
		}}
		b := newBench(t, rand.New(rand.NewPCG(1, 7)), op)
		dims := op.Operands[1].Dims
		b.fill(1, func(i [td.NumAxes]int) float64 { return float64(tensor.F16(uint16(linear(dims, i)))) })
		bound := boundOf(op)
		if name == "bump" || name == "tanh" {
			bound.Result, bound.Terms = 0, 0 // the nearest fp16 number: fp32 holds enough of these
		}
		b.check(t, bound, func(i [td.NumAxes]int) (want, terms float64) { return plainTable(table, b.get(1, i)) })
	}
}

func largeCustomOps() []*td.Op {
	return []*td.Op{
		{Params: &td.NeuronCustom{Table: *td.GELUTable()}, Operands: []td.Operand{operand256(tensor.Float16, 1, 1, 9, 30, 40), operand256(tensor.Float16, 1, 1, 9, 30, 40)}},
		{Params: &td.NeuronCustom{Table: *td.TanhTable()}, Operands: []td.Operand{operand256(tensor.Float16, 1, 1, 9, 30, 40), operand256(tensor.Float16, 1, 1, 9, 30, 40)}},
	}
}
