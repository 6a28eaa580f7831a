package strided

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The reference below computes in 128 bits with series of its own, and shares
// nothing with the functions under test.

const prec = 128

type num = *big.Float

func flt(x float64) num { return new(big.Float).SetPrec(prec).SetFloat64(x) }
func add(a, b num) num  { return new(big.Float).SetPrec(prec).Add(a, b) }
func sub(a, b num) num  { return new(big.Float).SetPrec(prec).Sub(a, b) }
func mul(a, b num) num  { return new(big.Float).SetPrec(prec).Mul(a, b) }
func div(a, b num) num  { return new(big.Float).SetPrec(prec).Quo(a, b) }
func root(a num) num    { return new(big.Float).SetPrec(prec).Sqrt(a) }
func ldexp(a num, e int) num {
	return new(big.Float).SetPrec(prec).SetMantExp(a, e)
}

var (
	bigOne = flt(1)
	bigLn2 = logNear(flt(2))
	bigPi  = ldexp(sub(ldexp(atanSmall(div(bigOne, flt(5))), 2), atanSmall(div(bigOne, flt(239)))), 2) // Machin

	rootTwo       = root(flt(2))
	rootTwoOverPi = root(div(flt(2), bigPi))
	twoOverRootPi = div(flt(2), root(bigPi))
)

// tiny reports whether a term no longer counts beside a sum.
func tiny(term, sum num) bool {
	return term.Sign() == 0 || sum.Sign() != 0 && term.MantExp(nil) < sum.MantExp(nil)-prec
}

// A series adds terms without memory of its own for each of them.
type series struct{ term, next, sum num }

func newSeries(term, sum num) series { return series{flt(0).Set(term), flt(0), flt(0).Set(sum)} }

// times multiplies the term.
func (s *series) times(y num) {
	s.next.Mul(s.term, y)
	s.term, s.next = s.next, s.term
}

// plus adds the term over n to the sum.
func (s *series) plus(n int) { s.sum.Add(s.sum, s.next.Mul(s.term, reciprocals[n])) }

// reciprocals are 1/n, as many as any series needs.
var reciprocals = func() (r [1000]num) {
	for n := range r[1:] {
		r[n+1] = div(flt(1), flt(float64(n+1)))
	}
	return r
}()

// bigExp halves the argument, takes the series, and squares.
func bigExp(x num) num {
	if x.Sign() == 0 {
		return bigOne
	}
	halvings := max(0, x.MantExp(nil)+8)
	y := ldexp(x, -halvings)
	s := newSeries(y, add(bigOne, y))
	for n := 2; !tiny(s.term, s.sum); n++ {
		s.times(y)
		s.times(reciprocals[n])
		s.sum.Add(s.sum, s.term)
	}
	for range halvings {
		s.next.Mul(s.sum, s.sum)
		s.sum, s.next = s.next, s.sum
	}
	return s.sum
}

// logNear is 2·atanh((x-1)/(x+1)), for x not far from 1.
func logNear(x num) num {
	z := div(sub(x, bigOne), add(x, bigOne))
	s, square := newSeries(z, z), mul(z, z)
	for n := 3; ; n += 2 {
		s.times(square)
		if tiny(s.term, s.sum) {
			return ldexp(s.sum, 1)
		}
		s.plus(n)
	}
}

func bigLog(x num) num {
	e := x.MantExp(nil)
	m := ldexp(x, -e) // in [0.5, 1)
	if m.Cmp(flt(0.75)) < 0 {
		m, e = ldexp(m, 1), e-1
	}
	if m.Cmp(bigOne) == 0 {
		return mul(bigLn2, flt(float64(e)))
	}
	return add(mul(bigLn2, flt(float64(e))), logNear(m))
}

// atanSmall is the series of atan.
func atanSmall(x num) num {
	s, square := newSeries(x, x), mul(x, x)
	square.Neg(square)
	for n := 3; ; n += 2 {
		s.times(square)
		if tiny(s.term, s.sum) {
			return s.sum
		}
		s.plus(n)
	}
}

func bigAtan(x num) num {
	doublings := 0
	for range 4 { // atan(x) = 2·atan(x/(1+sqrt(1+x²)))
		x = div(x, add(bigOne, root(add(bigOne, mul(x, x)))))
		doublings++
	}
	return ldexp(atanSmall(x), doublings)
}

// bigSinCos takes out whole turns, then the series.
func bigSinCos(x num) (sin, cos num) {
	turns, _ := div(x, ldexp(bigPi, 1)).Float64()
	wide := new(big.Float).SetPrec(2*prec).Mul(ldexp(bigPi, 1), flt(math.Round(turns)))
	y := new(big.Float).SetPrec(prec).Sub(x, wide)
	s := newSeries(y, y)
	sin, cos = s.sum, flt(1)
	for n := 2; ; n++ {
		s.times(y)
		if s.times(reciprocals[n]); tiny(s.term, bigOne) && tiny(s.term, sin) {
			return sin, cos
		}
		switch n % 4 {
		case 0:
			cos.Add(cos, s.term)
		case 1:
			sin.Add(sin, s.term)
		case 2:
			cos.Sub(cos, s.term)
		case 3:
			sin.Sub(sin, s.term)
		}
	}
}

// bigErf is the series 2/√π·exp(-x²)·Σ 2ⁿx^(2n+1)/(2n+1)!!, which has no signs
// that alternate.
func bigErf(x num) num {
	square := ldexp(mul(x, x), 1)
	s := newSeries(x, x)
	for n := 3; !tiny(s.term, s.sum); n += 2 {
		s.times(square)
		s.times(reciprocals[n])
		s.sum.Add(s.sum, s.term)
	}
	minus := mul(x, x)
	minus.Neg(minus)
	return mul(mul(s.sum, bigExp(minus)), twoOverRootPi)
}

func bigSigmoid(x num) num {
	minus := new(big.Float).Neg(x)
	return div(bigOne, add(bigOne, bigExp(minus)))
}

func bigTanh(x num) num {
	e := bigExp(ldexp(x, 1))
	return div(sub(e, bigOne), add(e, bigOne))
}

// references are the functions that are not plain arithmetic. Beyond reach, the
// result of a finite argument is past the ends of fp16, or as far in as it gets.
var references = map[string]struct {
	reach float64
	f     func(x, a, b num) num
	in    func(x float64) bool // the domain; nil: everywhere
}{
	"sigmoid":                    {60, func(x, _, _ num) num { return bigSigmoid(x) }, nil},
	"sigmoid_high_precision":     {60, func(x, _, _ num) num { return bigSigmoid(x) }, nil},
	"tanh":                       {40, func(x, _, _ num) num { return bigTanh(x) }, nil},
	"swish":                      {60, func(x, a, _ num) num { return mul(x, bigSigmoid(mul(a, x))) }, nil},
	"sqrt":                       {1e9, func(x, _, _ num) num { return root(x) }, func(x float64) bool { return x > 0 }},
	"rsqrt":                      {1e9, func(x, a, _ num) num { return div(bigOne, root(add(x, a))) }, func(x float64) bool { return x+1 > 0 }},
	"inv":                        {1e9, func(x, a, _ num) num { return div(bigOne, add(x, a)) }, func(x float64) bool { return x+1 != 0 }},
	"log2":                       {1e9, func(x, a, _ num) num { return div(bigLog(add(x, a)), bigLn2) }, func(x float64) bool { return x+1 > 0 }},
	"log":                        {1e9, func(x, a, _ num) num { return bigLog(add(x, a)) }, func(x float64) bool { return x+1 > 0 }},
	"exp2":                       {60, func(x, _, _ num) num { return bigExp(mul(x, bigLn2)) }, nil},
	"exp":                        {60, func(x, _, _ num) num { return bigExp(x) }, nil},
	"elu":                        {60, func(x, a, _ num) num { return mul(a, sub(bigExp(x), bigOne)) }, func(x float64) bool { return x < 0 }},
	"sin":                        {1e9, func(x, _, _ num) num { s, _ := bigSinCos(x); return s }, nil},
	"cos":                        {1e9, func(x, _, _ num) num { _, c := bigSinCos(x); return c }, nil},
	"tan":                        {1e9, func(x, _, _ num) num { s, c := bigSinCos(x); return div(s, c) }, nil},
	"gelu":                       {8, func(x, _, _ num) num { return ldexp(mul(x, add(bigOne, bigErf(div(x, rootTwo)))), -1) }, nil},
	"gelu_sigmoid_approximation": {60, func(x, _, _ num) num { return mul(x, bigSigmoid(mul(flt(1.702), x))) }, nil},
	"gelu_tanh_approximation": {12, func(x, _, _ num) num {
		u := mul(rootTwoOverPi, add(x, mul(flt(0.044715), mul(x, mul(x, x)))))
		e := bigExp(ldexp(u, 1)) // 1+tanh(u) is 2e/(e+1)
		return div(mul(x, e), add(e, bigOne))
	}, nil},
	"atan": {1e9, func(x, _, _ num) num { return bigAtan(x) }, nil},
	"erf":  {6, func(x, _, _ num) num { return bigErf(x) }, nil},
	"softplus": {60, func(x, a, b num) num {
		return mul(a, bigLog(add(bigOne, bigExp(mul(b, x)))))
	}, nil},
	"softsign":    {1e9, func(x, _, _ num) num { return div(x, add(bigOne, new(big.Float).Abs(x))) }, nil},
	"scaled_tanh": {40, func(x, a, b num) num { return mul(a, bigTanh(mul(b, x))) }, nil},
	"asin": {1, func(x, _, _ num) num {
		return bigAtan(div(x, root(sub(bigOne, mul(x, x)))))
	}, func(x float64) bool { return math.Abs(x) < 1 }},
	"acos": {1, func(x, _, _ num) num { // 2·atan(sqrt((1-x)/(1+x)))
		return ldexp(bigAtan(root(div(sub(bigOne, x), add(bigOne, x)))), 1)
	}, func(x float64) bool { return math.Abs(x) < 1 }},
	"sinh":  {60, func(x, _, _ num) num { e := bigExp(x); return ldexp(sub(e, div(bigOne, e)), -1) }, nil},
	"cosh":  {60, func(x, _, _ num) num { e := bigExp(x); return ldexp(add(e, div(bigOne, e)), -1) }, nil},
	"asinh": {1e9, func(x, _, _ num) num { return bigAsinh(x) }, nil},
	"acosh": {1e9, func(x, _, _ num) num { return bigLog(add(x, root(sub(mul(x, x), bigOne)))) }, func(x float64) bool { return x > 1 }},
	"atanh": {1, func(x, _, _ num) num {
		return ldexp(bigLog(div(add(bigOne, x), sub(bigOne, x))), -1)
	}, func(x float64) bool { return math.Abs(x) < 1 }},
}

// symmetric are the functions of which f(-x) is f(x) with these bits changed.
var symmetric = map[string]uint16{
	"tanh": 0x8000, "sin": 0x8000, "tan": 0x8000, "atan": 0x8000, "erf": 0x8000, "softsign": 0x8000, "scaled_tanh": 0x8000,
	"asin": 0x8000, "sinh": 0x8000, "asinh": 0x8000, "atanh": 0x8000, "cos": 0, "cosh": 0,
}

func bigAsinh(x num) num {
	a := new(big.Float).Abs(x)
	y := bigLog(add(a, root(add(mul(a, a), bigOne))))
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y
}

// plainFunctions are exact in fp64, so that their definition is their value.
var plainFunctions = map[string]func(x, a, b float64) float64{
	"none": func(x, _, _ float64) float64 { return x },
	"relu": func(x, _, _ float64) float64 { return math.Max(x, 0) },
	"sigmoid_hard": func(x, a, b float64) float64 {
		return math.Min(math.Max(a*x+b, 0), 1)
	},
	"clamped_relu": func(x, a, b float64) float64 { return math.Min(branch(x < 0, a*x, x), b) },
	"prelu":        func(x, a, _ float64) float64 { return branch(x < 0, a*x, x) },
	"relun":        func(x, a, _ float64) float64 { return math.Min(math.Max(x, 0), a) },
	"dirac":        func(x, _, _ float64) float64 { return branch(x == 0, 1, 0) },
	"int":          func(x, _, _ float64) float64 { return math.Trunc(x) },
	"frac":         func(x, _, _ float64) float64 { return x - math.Trunc(x) },
	"sqr":          func(x, _, _ float64) float64 { return x * x },
	"sign":         func(x, _, _ float64) float64 { return branch(x > 0, 1, branch(x < 0, -1, x)) },

	"equal_zero":              func(x, _, _ float64) float64 { return branch(x == 0, 1, 0) },
	"not_equal_zero":          func(x, _, _ float64) float64 { return branch(x != 0, 1, 0) },
	"less_than_zero":          func(x, _, _ float64) float64 { return branch(x < 0, 1, 0) },
	"less_than_equal_zero":    func(x, _, _ float64) float64 { return branch(x <= 0, 1, 0) },
	"greater_than_equal_zero": func(x, _, _ float64) float64 { return branch(x >= 0, 1, 0) },
	"greater_than_zero":       func(x, _, _ float64) float64 { return branch(x > 0, 1, 0) },

	"swish_hard":       func(x, _, _ float64) float64 { return x * math.Min(math.Max(x+3, 0), 6) / 6 },
	"round_nearest":    func(x, _, _ float64) float64 { return math.RoundToEven(x) },
	"trunc":            func(x, _, _ float64) float64 { return math.Trunc(x) },
	"floor":            func(x, _, _ float64) float64 { return math.Floor(x) },
	"ceil":             func(x, _, _ float64) float64 { return math.Ceil(x) },
	"thresholded_relu": func(x, a, _ float64) float64 { return branch(x < a, 0, x) },
	"abs":              func(x, _, _ float64) float64 { return math.Abs(x) },
	"clip":             func(x, a, b float64) float64 { return math.Min(math.Max(x, a), b) },
}

func branch(b bool, yes, no float64) float64 {
	if b {
		return yes
	}
	return no
}

// constants are A and B of the tests; 1 and 1 where a function has none.
var constants = map[string][2]float32{
	"sigmoid_hard": {0.2, 0.5}, "clamped_relu": {0.25, 6}, "prelu": {0.3, 0}, "relun": {6, 0}, "elu": {1.5, 0},
	"thresholded_relu": {0.75, 0}, "clip": {-1.5, 2.5}, "softplus": {1.5, 0.5}, "scaled_tanh": {1.75, 0.625},
}

// nearestHalf rounds to the nearest fp16 number, ties to even, in big numbers.
func nearestHalf(v num) uint16 {
	sign := uint16(0)
	if v.Signbit() {
		sign = 0x8000
	}
	a := new(big.Float).Abs(v)
	rough, _ := a.Float64()
	lo := min(uint16(sort.Search(0x7c00, func(h int) bool { return float64(half.Float(uint16(h))) > rough })), 0x7bff)
	for lo > 0 && float64(half.Float(lo)) > rough { // to the greatest number that is not above
		lo--
	}
	hi := lo + 1
	above := 65536.0
	if hi < 0x7c00 {
		above = float64(half.Float(hi))
	}
	middle := (float64(half.Float(lo)) + above) / 2 // exact
	side := cmp.Compare(rough, middle)
	if side == 0 { // where rounding to 53 bits may have gone over it
		side = a.Cmp(flt(middle))
	}
	if side > 0 || side == 0 && lo&1 == 1 {
		lo = hi
	}
	return sign | lo
}

// unary binds a function of n elements of a type.
func unary(t testing.TB, f td.Function, typ tensor.DType, n int, c [2]float32) Kernel {
	t.Helper()
	k, err := Bind(&Op{
		Params: &td.ElementWise{}, Operands: []Operand{dense(0, typ, 1, 1, 1, 1, n), dense(1, typ, 1, 1, 1, 1, n)},
		Epilogue: []td.MicroOp{activation(f, c[0], c[1])},
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func runAll(k Kernel, memory ...[]byte) {
	s := NewScratch(k.Need())
	s.Memory = memory
	n, _ := k.Tiles()
	k.Run(s, 0, n)
}

// Every function that is computed gives, for each of the 65,536 numbers, the
// fp16 number that is nearest to the exact result.
func TestFunctionsOfHalves(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 37
	}
	x := make([]byte, 2<<16)
	for h := range 1 << 16 {
		binary.LittleEndian.PutUint16(x[2*h:], uint16(h))
	}
	for number := range functions {
		name := number.String()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ok := constants[name]
			if !ok {
				c = [2]float32{1, 1}
			}
			y := make([]byte, len(x))
			runAll(unary(t, number, tensor.Float16, 1<<16, c), y, x)
			wrong := 0
			for h := 0; h < 1<<16; h += stride {
				got := binary.LittleEndian.Uint16(y[2*h:])
				var want uint16
				var known bool
				if flip, ok := symmetric[name]; ok && h > 0x8000 {
					// The reference has seen the number without its sign.
					want = binary.LittleEndian.Uint16(y[2*(h&0x7fff):]) ^ flip
					known = want&0x7fff <= 0x7c00 // not NaN
				} else {
					want, known = exactHalf(t, name, half.Float(uint16(h)), c)
				}
				if !known || got == want || got&0x7fff == 0 && want&0x7fff == 0 {
					continue
				}
				if wrong++; wrong <= 3 {
					t.Errorf("%s(%v) is %v, want %v", name, half.Float(uint16(h)), half.Float(got), half.Float(want))
				}
			}
			if wrong > 3 {
				t.Errorf("%d wrong", wrong)
			}
		})
	}
}

// exactHalf is the nearest fp16 number to the exact result; not known outside
// the domain and the reach of the reference.
func exactHalf(t *testing.T, name string, x float32, c [2]float32) (uint16, bool) {
	v := float64(x)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false // see TestFunctionsAtTheEnds
	}
	if f, ok := plainFunctions[name]; ok {
		return nearestHalf(flt(f(v, float64(c[0]), float64(c[1])))), true
	}
	r, ok := references[name]
	if !ok {
		t.Fatalf("%s has no reference", name)
	}
	if math.Abs(v) > r.reach || r.in != nil && !r.in(v) {
		return 0, false
	}
	return nearestHalf(r.f(flt(v), flt(float64(c[0])), flt(float64(c[1])))), true
}

// In fp32, functions are within 2 units in the last place.
func TestFunctionsOfFloats(t *testing.T) {
	const n = 400
	r := rand.New(rand.NewPCG(3, 4))
	for number := range functions {
		name := number.String()
		ref, ok := references[name]
		if !ok {
			continue
		}
		c, ok := constants[name]
		if !ok {
			c = [2]float32{1, 1}
		}
		x, y := make([]byte, 4*n), make([]byte, 4*n)
		for i := range n {
			v := float32(r.NormFloat64() * math.Exp2(float64(r.IntN(12)-8)))
			binary.LittleEndian.PutUint32(x[4*i:], math.Float32bits(v))
		}
		runAll(unary(t, number, tensor.Float32, n, c), y, x)
		for i := range n {
			v := float64(floatAt(tensor.Float32, x, 4*i))
			if math.Abs(v) > ref.reach || ref.in != nil && !ref.in(v) {
				continue
			}
			want, _ := ref.f(flt(v), flt(float64(c[0])), flt(float64(c[1]))).Float64()
			got := float64(floatAt(tensor.Float32, y, 4*i))
			w := float32(want)
			ulp := math.Abs(float64(math.Nextafter32(w, float32(math.Inf(1)))) - float64(w))
			if math.Abs(got-want) > 2*ulp {
				t.Errorf("%s(%v) is %v, want %v", name, v, got, want)
				break
			}
		}
	}
}

// What functions give for infinities and NaN, by their limits.
func TestFunctionsAtTheEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for name, want := range map[string][3]float64{ // of -inf, +inf, NaN
		"relu": {0, inf, nan}, "sigmoid": {0, 1, nan}, "tanh": {-1, 1, nan}, "swish": {0, inf, nan}, "swish_hard": {0, inf, nan},
		"gelu": {0, inf, nan}, "gelu_sigmoid_approximation": {0, inf, nan}, "gelu_tanh_approximation": {0, inf, nan},
		"exp": {0, inf, nan}, "log": {nan, inf, nan}, "sqrt": {nan, inf, nan}, "rsqrt": {nan, 0, nan}, "softplus": {0, inf, nan},
		"softsign": {-1, 1, nan}, "sign": {-1, 1, nan}, "erf": {-1, 1, nan}, "clip": {-1.5, 2.5, nan}, "elu": {-1.5, inf, nan},
		"equal_zero": {0, 0, 0}, "not_equal_zero": {1, 1, 1}, "sin": {nan, nan, nan}, "atan": {-math.Pi / 2, math.Pi / 2, nan},
	} {
		for number, f := range functions {
			if number.String() != name {
				continue
			}
			c, ok := constants[name]
			if !ok {
				c = [2]float32{1, 1}
			}
			for i, x := range []float64{-inf, inf, nan} {
				got := f(x, float64(c[0]), float64(c[1]))
				if got != want[i] && !(math.IsNaN(got) && math.IsNaN(want[i])) {
					t.Errorf("%s(%v) is %v, want %v", name, x, got, want[i])
				}
			}
		}
	}
}

// Rounding to odd, then to fp16, is rounding to fp16.
func TestToOdd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		h := uint16(r.UintN(0x7bff))
		lo, hi := float64(half.Float(h)), float64(half.Float(h+1))
		middle := (lo + hi) / 2
		for _, v := range []float64{middle, math.Nextafter(middle, 0), math.Nextafter(middle, hi), lo + (hi-lo)*r.Float64()} {
			for _, s := range []float64{v, -v} {
				if got, want := half.Bits(toOdd(s)), nearestHalf(flt(s)); got != want {
					t.Fatalf("%v becomes %#x, want %#x", s, got, want)
				}
				if got, want := toOdd(s), tensor.RoundToOdd(s); got != want { // a copy: kernels import nothing
					t.Fatalf("%v becomes %v, in tensor %v", s, got, want)
				}
			}
		}
	}
}
