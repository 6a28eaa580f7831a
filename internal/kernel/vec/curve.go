package vec

import "math"

// A Curve is a function that is lines between 33 knots, with limits beyond which
// it is constant, as chips have them. All of its numbers are finite, but for the
// limits, which may be infinite.
//
//	x ≤ Low     AtLow
//	x ≥ High    AtHigh
//	x is NaN    NaN
//	otherwise   the line between the two knots beside x, or beyond the knots a tail;
//	            as powers, that of the part of x behind the point, times 2^whole part
//
// Machine code knows the order of the fields.
type Curve struct {
	Knots, Rises         [32]float32 // the first of each two knots, and how much greater the second is
	Low, High            float32
	AtLow, AtHigh        float32
	PerUnit              float32 // knots
	LeftSlope, LeftAt0   float32
	RightSlope, RightAt0 float32
	Powers               bool // of two: knots are from one whole number to the next
}

// Set sets the knots.
func (c *Curve) Set(knots *[33]float32) {
	for i := range c.Knots {
		c.Knots[i], c.Rises[i] = knots[i], knots[i+1]-knots[i]
	}
}

// Apply replaces all elements by the function of them.
func (c *Curve) Apply(v []float32) {
	if !fast {
		c.plain(v)
		return
	}
	for at := 0; at < len(v); at += most {
		callCurve(c, v[at:min(at+most, len(v))])
	}
}

func (c *Curve) plain(v []float32) {
	for i, x := range v {
		switch {
		case x <= c.Low:
			v[i] = c.AtLow
		case x >= c.High:
			v[i] = c.AtHigh
		case x != x:
		case c.Powers:
			n := math.Floor(float64(x))
			const far = 1 << 20 // beyond all exponents, on both sides
			v[i] = float32(math.Ldexp(float64(c.at((x-float32(n))*c.PerUnit)), int(min(max(n, -far), far))))
		default:
			v[i] = c.line(x)
		}
	}
}

// line is the function between the limits. Products are converted before they are
// added to, so that no machine fuses the two.
func (c *Curve) line(x float32) float32 {
	p := float32(x*c.PerUnit) + 16
	switch {
	case p < 0:
		return float32(c.LeftSlope*x) + c.LeftAt0
	case p > 32:
		return float32(c.RightSlope*x) + c.RightAt0
	}
	return c.at(p)
}

// at is the line at a position between the knots.
func (c *Curve) at(p float32) float32 {
	i := min(int(p), len(c.Knots)-1)
	return c.Knots[i] + float32(c.Rises[i]*(p-float32(i)))
}
