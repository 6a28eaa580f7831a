package strided

import (
	"math"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Functions as a chip has them: by its tables.

// knotTables are the functions that are a table, or one of x+A.
var knotTables = map[td.Function]struct {
	table func() *td.Table
	plusA bool
}{
	td.FuncSigmoid:               {td.SigmoidTable, false},
	td.FuncTanh:                  {td.TanhTable, false},
	td.FuncGELU:                  {td.GELUTable, false},
	td.FuncGELUTanhApproximation: {td.GELUTable, false},
	td.FuncExp2:                  {td.Exp2Table, false},
	td.FuncLog2:                  {td.Log2Table, true},
	td.FuncSqrt:                  {td.SqrtTable, false},
	td.FuncRSqrt:                 {td.RSqrtTable, true},
	td.FuncInverse:               {td.ReciprocalTable, true},
}

// tableFunction is the function of a table of ours.
func tableFunction(t *td.Table) func(float32) float32 {
	f, err := t.Func()
	if err != nil {
		panic("bug: a table of ours: " + err.Error())
	}
	return f
}

// ln2 makes natural logarithms of those to base 2, in fp16. With it the published
// logarithm of 0 is that of the table, whose end -inf, 0xfc00, is taken for the
// number -2^16: 2^16·0x1.63p-1 is 45440.
var ln2 = tensor.RoundF16(math.Ln2)

// tables are functions as a chip has them, beside those of an epilogue's steps:
// for classes that take more than one step.
type tables struct{ exp2, inverse func(float32) float32 }

func newTables() *tables {
	return &tables{exp2: tableFunction(td.Exp2Table()), inverse: tableFunction(td.ReciprocalTable())}
}

// knots is a function by tables, nil if none are known or wanted.
func (r *Rules) knots(f td.Function, a, b float32) func(float32) float32 {
	if !r.TableFromKnots {
		return nil
	}
	if row, ok := knotTables[f]; ok {
		table := tableFunction(row.table())
		if row.plusA && a != 0 {
			if r.RoundStages {
				a = tensor.RoundF16(a) // the accumulator adds it
			}
			return func(x float32) float32 { return table(x + a) }
		}
		return table
	}
	switch {
	case f == td.FuncSwish && a == 1:
		return tableFunction(td.SiLUTable())
	case f == td.FuncExp: // the argument is scaled on its way (oracles, fusion words)
		exp2 := tableFunction(td.Exp2Table())
		return func(x float32) float32 { return exp2(x * log2e) }
	}
	return r.composed(f, a, b)
}

// composed is a function that a chip makes of several tables, one task
// after the other:
//
//	log(x + a)               the sum, its logarithm to base 2, a multiple of that
//	x·sigmoid(a·x)           swish, and the sigmoid form of gelu with a of 1.702
//	a·tanh(b·x)
//	x/(1 + |x|)              softsign
//	elu                      relu(x) + a·(exp(min(x, 0)) - 1)
//	softplus                 a·(relu(b·x) + log(1 + exp(-|b·x|)))
func (r *Rules) composed(f td.Function, a, b float32) func(float32) float32 {
	stage := func(x float32) float32 { return x } // what lies between two tasks
	if r.RoundStages {
		stage, a, b = tensor.RoundF16, tensor.RoundF16(a), tensor.RoundF16(b)
	}
	plus := func(x, c float32) float32 {
		if c == 0 {
			return x
		}
		return stage(x + c)
	}
	sigmoid, tanh := tableFunction(td.SigmoidTable()), tableFunction(td.TanhTable())
	exp2, logarithm, inverse := tableFunction(td.Exp2Table()), tableFunction(td.Log2Table()), tableFunction(td.ReciprocalTable())
	gated := func(c float32) func(float32) float32 {
		return func(x float32) float32 { x = stage(x); return x * stage(sigmoid(x*c)) }
	}
	switch f {
	case td.FuncLog:
		return func(x float32) float32 { return stage(logarithm(plus(stage(x), a))) * ln2 }
	case td.FuncSwish:
		return gated(a)
	case td.FuncGELUSigmoidApproximation:
		return gated(tensor.RoundF16(1.702))
	case td.FuncScaledTanh:
		return func(x float32) float32 { return stage(tanh(stage(x)*b)) * a }
	case td.FuncSoftsign:
		return func(x float32) float32 {
			x = stage(x)
			return x * stage(inverse(stage(max(x, -x)+1)))
		}
	case td.FuncELU:
		return func(x float32) float32 {
			x = stage(x)
			return stage(stage(exp2(min(x, 0)*log2e))*a-a) + max(x, 0)
		}
	case td.FuncSoftplus:
		return func(x float32) float32 {
			x = stage(x)
			if b != 1 {
				x = stage(x * b)
			}
			power := stage(exp2(max(x, -x) * -log2e))
			return (stage(stage(logarithm(stage(power+1)))*ln2) + max(x, 0)) * a
		}
	}
	return nil
}
