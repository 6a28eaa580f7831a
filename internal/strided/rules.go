package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel"
)

// Rules are what a chip does to numbers otherwise than plain arithmetic. They
// are settled while an operation is bound:
//
//	memory → passage → class → arrival → step → … → passage → memory
//	                     |                |
//	                  careful          settled
//
// An operation that is bound without rules has none of these on its way.
type Rules struct {
	NaNToInf        bool    // NaN is +inf to who reads it, and is stored as that
	Settle          bool    // +0 where arithmetic has no answer to numbers
	FlushProducts   bool    // fp16 subnormals are 0 for sums of products, and as such sums
	DropZeroSign    bool    // divisors of 0 are +0
	RoundToHalf     bool    // wider floats are rounded to fp16 as they are read and stored
	RoundReductions bool    // reductions are rounded to fp16 before their epilogue
	Stages          bool    // layers that take several tasks round between them, and add up in fp32
	HalfAway        bool    // ties of fp16 go away from zero
	Sentinels       bool    // what tables answer at their ends
	Port            float32 // magnitude from which on a sum of products is infinity; 0: none
	Partials        bool    // so is what is added up on the way
	Lanes           int     // products that are added up with few bits; 0: none
	CropGain        float32 // of an input view
	Tables          *Tables // what is computed by tables of knots; nil: nothing
}

// Tables are functions as a chip has them, beside those of an epilogue's steps:
// for classes that take more than one step.
type Tables struct{ Exp2, Inverse func(float32) float32 }

// half rounds to fp16, as what lies between two steps is.
func half(x float32) float32 { return kernel.FromHalf(kernel.ToHalf(x)) }

// The numbers of functions and kinds that rules are about.
const (
	rsqrtNumber    = 16
	inverseNumber  = 18
	softplusNumber = 64
	softsignNumber = 65
	logNumber      = 68
	pairDiv        = 6
)

// A passage is what happens to floats between memory and the unit that computes.
type passage uint8

const (
	passNaN   passage = 1 << iota // NaN becomes +inf
	passHalf                      // rounded to fp16
	passAway                      // rounded to fp16, ties away from zero
	passFlush                     // fp16 subnormals become 0
)

var infinity = float32(math.Inf(1))

const leastNormal = 0x1p-14 // of fp16

func (p passage) apply(v []float32) {
	if p&passNaN != 0 {
		for j, x := range v {
			if x != x {
				v[j] = infinity
			}
		}
	}
	if p&passAway != 0 {
		for j, x := range v {
			v[j] = halfAway(x)
		}
	}
	if p&passHalf != 0 {
		castFloats(F16, v)
	}
	if p&passFlush != 0 {
		for j, x := range v {
			if x > -leastNormal && x < leastNormal {
				v[j] = 0
			}
		}
	}
}

func halfAway(x float32) float32 { return kernel.FromHalf(kernel.Rounding{HalfAway: true}.Half(x)) }

// isProduct reports whether a class is sums of products, which the array makes.
func isProduct(class uint8) bool {
	return class == classConv || class == classMatMul || class == classAttention || class == classCrossCorrelation
}

// sums is how many sources of a class, from operand 1 on, are multiplied and
// added up.
func sums(class uint8) int {
	switch {
	case class == classAttention:
		return 3
	case isProduct(class):
		return 2
	}
	return 0
}

// ruled returns the operation with the passages of its operands, and the steps
// that rules add.
func (op *Op) ruled() *Op {
	r := op.Rules
	to := *op
	to.Operands = append([]Operand(nil), op.Operands...)
	for i := range to.Operands {
		o := &to.Operands[i]
		if !o.Type.isFloat() {
			continue
		}
		if r.NaNToInf {
			o.pass |= passNaN
		}
		if r.RoundToHalf && (o.Type == F32 || o.Type == F64 || o.Type == BF16) {
			o.pass |= passHalf
		}
		if i == 0 && r.HalfAway && (o.Type == F16 || o.pass&passHalf != 0) {
			o.pass |= passAway
		}
		if r.FlushProducts && i >= 1 && i <= sums(op.Class) {
			o.pass |= passFlush
		}
	}
	if r.RoundReductions && op.Class == classReduction && len(op.Steps) > 0 && to.Operands[1].Type.isFloat() {
		to.Steps = []Step{{Kind: Cast, Code: uint8(F16)}}
		for _, st := range op.Steps {
			if st.Earlier > 0 {
				st.Earlier++
			}
			to.Steps = append(to.Steps, st)
		}
	}
	return &to
}

// An arrival is what happens to the values of a class before the epilogue.
type arrival struct {
	settle bool    // NaN becomes 0
	flush  bool    // fp16 subnormals become 0
	port   float32 // magnitude from which on there is infinity; 0: none
	gain   float32 // of a store as fp16 on the way; 0: none
}

// arrival is that of a class, nil if nothing happens.
func (r *Rules) arrival(class uint8) *arrival {
	if r == nil {
		return nil
	}
	// With NaN that may have been read, nobody knows where one comes from.
	a := arrival{settle: r.Settle && r.NaNToInf}
	if isProduct(class) {
		a.flush, a.port = r.FlushProducts, r.Port
	}
	if class == classInputView {
		a.gain = r.CropGain
	}
	if a == (arrival{}) {
		return nil
	}
	return &a
}

func (a *arrival) apply(v []float32) {
	if a.settle {
		for j, x := range v {
			if x != x {
				v[j] = 0
			}
		}
	}
	if a.flush || a.port != 0 {
		for j, x := range v {
			half := kernel.FromHalf(kernel.ToHalf(x)) // the port looks at what would be stored
			switch {
			case a.flush && half > -leastNormal && half < leastNormal:
				v[j] = 0
			case a.port != 0 && half >= a.port:
				v[j] = infinity
			case a.port != 0 && half <= -a.port:
				v[j] = -infinity
			}
		}
	}
	if a.gain != 0 {
		for j, x := range v {
			v[j] = kernel.FromHalf(kernel.ToHalf(x*a.gain)) / a.gain
		}
	}
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
func (r *Rules) classPair(code uint8, p pair) pair {
	if r != nil && r.NaNToInf && code != pairDiv {
		return p
	}
	return r.pair(code, p)
}

// pair is a pair under rules.
func (r *Rules) pair(code uint8, p pair) pair {
	div := r != nil && code == pairDiv && (r.DropZeroSign || r.Tables != nil)
	if r == nil || p.unary || !r.Settle && !div {
		return p
	}
	p.name = "" // no loop of its own
	drop := r.DropZeroSign && code == pairDiv
	single, double := p.float, p.double
	if code == pairDiv && r.Tables != nil { // the reciprocal, then the product
		single = func(a, b float32) float32 { return a * half(r.Tables.Inverse(b)) }
	}
	if single != nil {
		p.float = func(a, b float32) float32 {
			if drop && b == 0 {
				b = 0
			}
			v := single(a, b)
			if r.Settle {
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

// function is a function under rules.
func (r *Rules) function(code uint8, f func(x, a, b float64) float64) func(x, a, b float64) float64 {
	if r == nil {
		return f
	}
	return func(x, a, b float64) float64 {
		if r.DropZeroSign && x == 0 && (code == rsqrtNumber || code == inverseNumber) {
			x = 0
		}
		if r.Sentinels {
			switch {
			case (code == softplusNumber || code == softsignNumber) && math.IsInf(x, 1):
				return 0
			case code == logNumber && x+a == 0:
				return -45440
			}
		}
		v := f(x, a, b)
		if r.Settle && v != v && x == x {
			return 0
		}
		return v
	}
}

// scaleBias is v*a+b under rules.
func (r *Rules) scaleBias(x, a, b float64) float64 {
	if !r.Settle {
		return x*a + b
	}
	product := orZero(x*a, x, a)
	return orZero(product+b, product, b)
}

// reducer is a reducer under rules.
func (r *Rules) reducer(kind uint8) reducer {
	to := reducers[kind]
	if r != nil && r.Stages {
		to = inSingle(to)
	}
	if r == nil || !r.Settle {
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
func viewMoves(op *Op) bool { return moves(op) && (op.Rules == nil || op.Rules.CropGain == 0) }
