package vec

import "math"

// What sums and norms of rows are made of. Sums are taken in fp64; their order
// depends on the length and on the instruction set alone.

// A reductionKind is one of the machine code.
type reductionKind uint8

const (
	sums reductionKind = iota
	squares
	norms
	powers
	greatest
	scales
)

// A reduction is what the machine code is told, and what it answers.
type reduction struct {
	v           *float32
	n           int
	mean, scale float64
	gamma, beta *float32
	odd         int
	result      float64
}

// mostReduced is how many elements go into one call.
const mostReduced = 1 << 12

// reduce calls machine code for a row, and adds up what it answers.
func reduce(k reductionKind, r reduction, v []float32) (sum float64) {
	for at := 0; at < len(v); at += mostReduced {
		r.v, r.n = &v[at], min(mostReduced, len(v)-at)
		callReduction(k, &r)
		sum += r.result
	}
	return sum
}

// Sum is the sum of a row.
func Sum(v []float32) (sum float64) {
	if fast {
		return reduce(sums, reduction{}, v)
	}
	for _, x := range v {
		sum += float64(x)
	}
	return sum
}

// SumSquares is the sum of the squares of the distances to a number.
func SumSquares(v []float32, mean float64) (sum float64) {
	if fast {
		return reduce(squares, reduction{mean: mean}, v)
	}
	for _, x := range v {
		d := float64(x) - mean
		sum += float64(d * d)
	}
	return sum
}

// Normalize sets each element to (x-mean)·scale·gamma + beta, rounded to fp32, or
// to odd.
func Normalize(v, gamma, beta []float32, mean, scale float64, odd bool) {
	gamma, beta = gamma[:len(v)], beta[:len(v)]
	if !fast {
		for j, x := range v {
			y := (float64(x) - mean) * scale
			v[j] = round(float64(y*float64(gamma[j]))+float64(beta[j]), odd)
		}
		return
	}
	r := reduction{mean: mean, scale: scale}
	if odd {
		r.odd = 1
	}
	for at := 0; at < len(v); at += mostReduced {
		r.gamma, r.beta = &gamma[at], &beta[at]
		reduce(norms, r, v[at:min(at+mostReduced, len(v))])
	}
}

// Powers sets each element to exp(x-top), and returns their sum.
func Powers(v []float32, top float64) (sum float64) {
	if fast {
		return reduce(powers, reduction{mean: top}, v)
	}
	for j, x := range v {
		v[j] = float32(math.Exp(float64(x) - top))
		sum += float64(v[j])
	}
	return sum
}

// MaxOf is the greatest element, -inf of none, NaN if one is.
func MaxOf(v []float32) float32 {
	top := float32(math.Inf(-1))
	if fast {
		for at := 0; at < len(v); at += mostReduced {
			r := reduction{v: &v[at], n: min(mostReduced, len(v)-at)}
			callReduction(greatest, &r)
			top = max(top, float32(r.result))
		}
		return top
	}
	for _, x := range v {
		top = max(top, x)
	}
	return top
}

// Scale multiplies each element with a number, and rounds to fp32, or to odd.
func Scale(v []float32, s float64, odd bool) {
	if !fast {
		for j, x := range v {
			v[j] = round(float64(x)*s, odd)
		}
		return
	}
	r := reduction{scale: s}
	if odd {
		r.odd = 1
	}
	reduce(scales, r, v)
}

// round rounds to fp32; odd: towards 0, with the last bit set if that was not
// exact.
func round(v float64, odd bool) float32 {
	f := float32(v)
	if !odd || float64(f) == v || v != v {
		return f
	}
	if math.Abs(float64(f)) > math.Abs(v) {
		f = math.Nextafter32(f, 0)
	}
	return math.Float32frombits(math.Float32bits(f) | 1)
}
