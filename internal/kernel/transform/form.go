package transform

// A Form is F(Tile×Tile, 3×3).
type Form struct {
	Tile int // places along an axis
	Side int // Tile+2, elements of x along an axis

	// Weights has, for each value along an axis, what it has of each weight.
	Weights [][3]float64

	// Amplify bounds the error. Every rounding of a sum or product that is made
	// for a place is off by at most 2^-24·Amplify of Σ max|x|·Σ|w|: for each
	// channel the largest |x| of the tile, and the sum of its nine |w|.
	Amplify float64
}

// Roundings is how many of them lie one after the other, without the sum over the
// channels.
const Roundings = 11

// Transform computes value e of some kernels, of nine weights each: i along H and j
// along W, e = j*Side+i. It adds up in fp64 and rounds once.
func (f *Form) Transform(dst, kernels []float32, e int) {
	var c [9]float64
	for k := range c {
		c[k] = f.Weights[e%f.Side][k/3] * f.Weights[e/f.Side][k%3]
	}
	for i := range dst {
		w := (*[9]float32)(kernels[9*i:])
		dst[i] = float32(c[0]*float64(w[0]) + c[1]*float64(w[1]) + c[2]*float64(w[2]) +
			(c[3]*float64(w[3]) + c[4]*float64(w[4]) + c[5]*float64(w[5])) +
			(c[6]*float64(w[6]) + c[7]*float64(w[7]) + c[8]*float64(w[8])))
	}
}

// form2 has the points 0, 1 and -1.
var form2 = Form{
	Tile: 2, Side: 4, Weights: [][3]float64{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
	Amplify: 16,
}

// The points of form4 are 0, ±p and ±q. With them an error is a third of that with
// 1 and 2, and all that follows of them is exact in fp32.
const (
	p = 5. / 8
	q = 3. / 2
)

var form4 = Form{
	Tile: 4, Side: 6, Weights: [][3]float64{
		{1 / (p * p * q * q), 0, 0},
		{1 / toP, p / toP, p * p / toP},
		{1 / toP, -p / toP, p * p / toP},
		{1 / toQ, q / toQ, q * q / toQ},
		{1 / toQ, -q / toQ, q * q / toQ},
		{0, 0, 1},
	},
	Amplify: 204,
}

// The products of the distances from a point to the others.
const (
	toP = 2 * p * p * (p*p - q*q)
	toQ = 2 * q * q * (q*q - p*p)
)

// factors4 are the numbers that form4 multiplies with.
var factors4 = [...]float32{
	fP: p, fQ: q, fPP: p * p, fQQ: q * q, fSum: p*p + q*q, fProduct: p * p * q * q, fPPP: p * p * p, fQQQ: q * q * q,
}

// Places in factors4, which the machine code knows too.
const (
	fP = iota
	fQ
	fPP
	fQQ
	fSum
	fProduct
	fPPP
	fQQQ
)
