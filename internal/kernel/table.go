package kernel

import "github.com/espalier-ane/espalier/internal/kernel/half"

// What happens to a result of the multiply array on its way out: output port, post
// scale, ReLU, activation table.

var tableRows = []Row{
	{"array-output", true, "accumulator bias, the chip's output port, and post scale"},
	{"relu", true, "negative values become 0"},
	{"table", true, "a function of each element"},
}

// ArrayOutput is the way from the accumulator to the activation.
type ArrayOutput struct {
	Bias  float32 // added to every accumulator
	Scale float32 // post scale

	// SaturateAt is the magnitude from which on the port gives infinity, 0 for
	// none.
	SaturateAt float32
	// FlushSubnormals makes what would be an fp16 subnormal +0.
	FlushSubnormals bool
}

// Apply changes the elements of the tile.
func (a *ArrayOutput) Apply(dst []float32, lo, hi int) {
	tile := dst[lo:hi]
	if a.Bias != 0 {
		for i := range tile {
			tile[i] += a.Bias
		}
	}
	if a.SaturateAt != 0 || a.FlushSubnormals {
		a.pass(tile)
	}
	if a.Scale != 1 {
		for i := range tile {
			tile[i] *= a.Scale
		}
	}
}

// pass takes elements through the port, which looks at the number that would be
// stored if nothing came after it.
func (a *ArrayOutput) pass(tile []float32) {
	for i, v := range tile {
		h := half.Bits(v)
		switch {
		case a.FlushSubnormals && isSubnormal(h):
			tile[i] = 0
		case a.SaturateAt != 0 && half.Float(h) >= a.SaturateAt:
			tile[i] = inf
		case a.SaturateAt != 0 && half.Float(h) <= -a.SaturateAt:
			tile[i] = -inf
		}
	}
}

// ReLU makes the negative elements of the tile 0.
func ReLU(dst []float32, lo, hi int) { relu(dst[lo:hi]) }

// Table applies a function, such as one that is given by knots, to the elements
// of the tile.
func Table(dst []float32, f func(float32) float32, lo, hi int) {
	for i := lo; i < hi; i++ {
		dst[i] = f(dst[i])
	}
}
