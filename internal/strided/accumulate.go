package strided

import "math"

// accumulation is how an array adds up products where that is not plain: with
// rules that look at each product.
type accumulation struct {
	toZero bool    // 0·inf and inf-inf are +0; what is NaN because an operand is stays NaN
	limit  float32 // magnitude from which on a partial sum is infinity; 0: none
	lanes  int     // products that are added up with few bits, before the others see them; 0: none
}

// A partial is a sum on its way: what the groups of lanes that are complete have
// come to, and the one that is not.
type partial struct{ sum, group float32 }

// add adds product number i of a sum to what there is: to before, of which the
// partial is not a part, and to the partial.
func (a *accumulation) add(s *partial, before float32, i int, x, y float32) {
	p := orZeroIf(a.toZero, x*y, x, y)
	if a.lanes > 0 {
		if i%a.lanes == 0 {
			a.close(s)
		}
		s.group = orZeroIf(a.toZero, alignedSum(s.group, p), s.group, p)
	} else {
		s.sum = a.plus(s.sum, p)
	}
	if a.limit == 0 {
		return
	}
	switch now := before + s.sum + s.group; {
	case now >= a.limit:
		s.sum, s.group = infinity, 0
	case now <= -a.limit:
		s.sum, s.group = -infinity, 0
	}
}

func (a *accumulation) close(s *partial) {
	s.sum = a.plus(s.sum, s.group)
	s.group = 0
}

func (a *accumulation) plus(x, y float32) float32 {
	return orZeroIf(a.toZero, x+y, x, y)
}

func orZeroIf(toZero bool, v, a, b float32) float32 {
	if toZero {
		return orZero(v, a, b)
	}
	return v
}

// total ends a sum.
func (a *accumulation) total(s *partial, before float32) float32 {
	a.close(s)
	return a.plus(before, s.sum)
}

// alignedSum adds as an adder does that has 12 bits: the bits of the smaller
// number that lie below the last one of the greater are cut off. 12 bits are one
// more than an fp16 number has.
//
//	4096    1 0000 0000 000|
//	   1                   |1    is lost
//
// It is the least that fits what was published of the first stage of an array: a
// one beside 4096 is lost, beside 4090 it is not.
func alignedSum(a, b float32) float32 {
	if math.Abs(float64(a)) < math.Abs(float64(b)) {
		a, b = b, a
	}
	if a == 0 || a-a != 0 {
		return a + b
	}
	_, e := math.Frexp(float64(a))
	last := math.Ldexp(1, e-12)
	return a + float32(math.Trunc(float64(b)/last)*last)
}
