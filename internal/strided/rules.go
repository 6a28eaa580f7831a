package strided

import (
	"math"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Rules are what a chip does to numbers otherwise than plain arithmetic. They
// are fixed while an operation is bound:
//
//	memory → passage → class → arrival → step → … → passage → memory
//	                     |                |
//	                  careful          to zero
//
// An operation that is bound without rules has none of these on its way.
type Rules struct {
	hal.Numerics
	tables *tables // what is computed by tables of knots; nil: nothing
}

// RulesOf are the rules of numerics; nil for plain arithmetic.
func RulesOf(n hal.Numerics) *Rules {
	if n.Plain() {
		return nil
	}
	r := &Rules{Numerics: n}
	if n.TableFromKnots {
		r.tables = newTables()
	}
	return r
}

// A passage is what happens to floats between memory and the unit that computes.
type passage uint8

const (
	passNaN    passage = 1 << iota // NaN becomes +inf
	passFinite                     // or the largest number instead
	passHalf                       // rounded to fp16
	passAway                       // rounded to fp16, ties away from zero
	passFlush                      // fp16 subnormals become 0
	passReLU                       // negative numbers become 0
	passByte                       // rounded to whole numbers that a byte holds; NaN becomes 0
)

var infinity = float32(math.Inf(1))

func (p passage) apply(v []float32) {
	l := vec.NoLimits
	if p&passNaN != 0 {
		if l.None = infinity; p&passFinite != 0 {
			l.None = half.Max
		}
	}
	rounds := p&(passAway|passHalf) != 0
	if p&passFlush != 0 && !rounds {
		l.Least = half.LeastNormal
	}
	if p&(passNaN|passFlush) != 0 {
		l.Apply(v)
	}
	if p&passAway != 0 {
		half.RoundAllAway(v)
	}
	if p&passHalf != 0 {
		castFloats(tensor.Float16, v)
	}
	if p&passFlush != 0 && rounds {
		l = vec.NoLimits
		l.Least = half.LeastNormal
		l.Apply(v)
	}
	if p&passReLU != 0 {
		relu(v)
	}
	if p&passByte != 0 {
		for j, x := range v {
			if x = float32(math.RoundToEven(float64(x))); !(x > 0) {
				x = 0
			}
			v[j] = min(x, math.MaxUint8)
		}
	}
}

// relu makes negative values, and the negative zero, 0. NaN stays.
func relu(v []float32) { vec.ReLU(v) }

// isProduct reports whether a class is sums of products, which the array makes.
func isProduct(class td.Class) bool {
	return class == td.ClassConv || class == td.ClassMatrixMultiplication || class == td.ClassSDPA || class == td.ClassCrossCorrelation
}

// sums is how many sources of a class, from operand 1 on, are multiplied and
// added up.
func sums(class td.Class) int {
	switch {
	case class == td.ClassSDPA:
		return 3
	case isProduct(class):
		return 2
	}
	return 0
}

// ruled returns the operation with the passages of its operands, and the steps
// that rules add.
func (op *Op) ruled() *Op {
	r, class := op.Rules, op.class()
	to := *op
	to.Operands = append([]Operand(nil), op.Operands...)
	for i := range to.Operands {
		o := &to.Operands[i]
		if !o.Type.IsFloat() {
			continue
		}
		if r.NaNToInf {
			o.pass |= passNaN
		}
		if r.RoundToHalf && (o.Type == tensor.Float32 || o.Type == tensor.Float64 || o.Type == tensor.BFloat16) {
			o.pass |= passHalf
		}
		if i == 0 && !r.RoundHalfEven && (o.Type == tensor.Float16 || o.pass&passHalf != 0) {
			o.pass |= passAway
		}
		if r.FlushArraySubnormals && i >= 1 && i <= sums(class) {
			o.pass |= passFlush
		}
	}
	if r.RoundReductions && class == td.ClassReduction && len(op.Epilogue) > 0 && to.Operands[1].Type.IsFloat() {
		half, _ := td.ElementCode(tensor.Float16)
		to.Epilogue = []td.MicroOp{{Code: td.MicroTypeCast, Function: half}}
		for _, m := range op.Epilogue {
			if k, ok := m.Source.Step(); ok {
				m.Source = td.FromStep(k + 1)
			}
			to.Epilogue = append(to.Epilogue, m)
		}
	}
	return &to
}

// An arrival is what happens to the values of a class before the epilogue.
type arrival struct {
	toZero bool    // NaN becomes 0
	flush  bool    // fp16 subnormals become 0
	port   float32 // magnitude from which on there is infinity; 0: none
	gain   float32 // of a store as fp16 on the way; 0: none
}

// arrival is that of a class, nil if nothing happens.
func (r *Rules) arrival(class td.Class) *arrival {
	if r == nil {
		return nil
	}
	// With NaN that may have been read, nobody knows where one comes from.
	a := arrival{toZero: r.IndeterminateToZero && r.NaNToInf}
	if isProduct(class) {
		a.flush, a.port = r.FlushArraySubnormals, r.SaturateAtPort
	}
	if class == td.ClassInputView {
		a.gain = r.WidthSliceGain
	}
	if a == (arrival{}) {
		return nil
	}
	return &a
}

func (a *arrival) apply(v []float32) {
	l := a.limits()
	l.Apply(v)
	if a.gain != 0 {
		for j, x := range v {
			v[j] = half.Round(x*a.gain) / a.gain
		}
	}
}

// limits is what happens but for the gain.
func (a *arrival) limits() vec.Limits {
	l := vec.NoLimits
	if a.toZero {
		l.None = 0
	}
	if a.flush { // what would be stored as a subnormal, and not rounded up to a normal number
		l.Least = half.LeastNormal - 0x1p-25
	}
	if a.port != 0 {
		l.Most = storedFrom(a.port)
	}
	return l
}

// storedFrom is the least number that is stored as an fp16 number of this magnitude
// or a greater one: the port looks at what is stored.
func storedFrom(port float32) float32 {
	b := half.Bits(port)
	if half.Float(b) < port {
		b++
	}
	if b == 0 {
		return 0
	}
	above := half.Float(b)
	if b == half.Inf {
		above = 0x1p16
	}
	middle := (half.Float(b-1) + above) / 2
	if half.Bits(middle) >= b {
		return middle
	}
	return math.Nextafter32(middle, infinity)
}

// orZero returns v, or +0 if it is NaN and came from operands that are not.
func orZero[F float32 | float64](v, a, b F) F {
	if v != v && a == a && b == b {
		return 0
	}
	return v
}

// classPair is the pair of a class under rules. What has no answer is left to the
// arrival if that knows that no NaN was read: then all pairs but the quotient are
// themselves.
func (r *Rules) classPair(p pair) pair {
	if r != nil && r.NaNToInf && p.kind != td.EWDiv {
		return p
	}
	return r.pair(p)
}

// pair is a pair under rules.
func (r *Rules) pair(p pair) pair {
	if r == nil {
		return p
	}
	drop, byTable := r.DropZeroSign && p.kind == td.EWDiv, r.tables != nil && p.kind == td.EWDiv
	if p.kind.Unary() || !r.IndeterminateToZero && !drop && !byTable {
		return p
	}
	p.ruled = true
	single, double := p.float, p.double
	if byTable { // the reciprocal, then the product
		single = func(a, b float32) float32 { return a * half.Round(r.tables.inverse(b)) }
	}
	if single != nil {
		p.float = func(a, b float32) float32 {
			if drop && b == 0 {
				b = 0
			}
			v := single(a, b)
			if r.IndeterminateToZero {
				v = orZero(v, a, b)
			}
			return v
		}
	}
	if double != nil {
		p.double = func(a, b float64) float64 { return orZero(double(a, b), a, b) }
	}
	return p
}

// function is a function of a step under rules, and whether it is the function
// itself, not what tables of knots have of it.
func (r *Rules) function(number td.Function, a, b float32) (ruled func(x, a, b float64) float64, plain bool) {
	f := functions[number]
	if r == nil {
		return f, true
	}
	table := r.knots(number, a, b)
	if table != nil {
		f = func(x, _, _ float64) float64 { return float64(table(float32(x))) }
	}
	return func(x, a, b float64) float64 {
		if r.DropZeroSign && x == 0 && (number == td.FuncRSqrt || number == td.FuncInverse) {
			x = 0
		}
		if r.TableSentinels {
			switch {
			case (number == td.FuncSoftplus || number == td.FuncSoftsign) && math.IsInf(x, 1):
				return 0
			case number == td.FuncLog && x+a == 0:
				return -45440
			}
		}
		v := f(x, a, b)
		if r.IndeterminateToZero && v != v && x == x {
			return 0
		}
		return v
	}, table == nil
}

// scaleBias is v*a+b under rules.
func (r *Rules) scaleBias(x, a, b float64) float64 {
	if !r.IndeterminateToZero {
		return x*a + b
	}
	product := orZero(x*a, x, a)
	return orZero(product+b, product, b)
}

// reducer is a reducer under rules.
func (r *Rules) reducer(kind td.ReductionKind) reducer {
	to := reducers[kind]
	if r != nil && r.RoundStages {
		to = inSingle(kind, to)
	}
	if r == nil || !r.IndeterminateToZero {
		return to
	}
	if join := to.join; join != nil {
		to.join = func(sum, v float64) float64 { return orZero(join(sum, v), sum, v) }
	}
	if end := to.end; end != nil {
		to.end = func(sum float64, count int) float64 { return orZero(end(sum, count), sum, sum) }
	}
	return to
}

// viewMoves reports whether an input view only moves elements.
func viewMoves(op *Op) bool { return moves(op) && (op.Rules == nil || op.Rules.WidthSliceGain == 0) }
