//go:build amd64

package vec

import "github.com/espalier-ane/espalier/internal/kernel/isa"

// wide: the machine code is that of AVX-512.
var wide bool

func init() { use(isa.Have()) }

// use chooses the machine code.
func use(have isa.Set) {
	fast, wide = have.Has(isa.AVX2), have.Has(isa.AVX512)
	switch {
	case wide:
		finishLeast, singlesStep = 0, 16
		add.fast, sub.fast, mul.fast, div.fast = addAVX512, subAVX512, mulAVX512, divAVX512
		greater.fast, lesser.fast = maxAVX512, minAVX512
		fastPlus, fastClamp, fastSquare = plusAVX512, clampAVX512, squareAVX512
	case fast:
		finishLeast, singlesStep = 8, 8
		add.fast, sub.fast, mul.fast, div.fast = addAVX2, subAVX2, mulAVX2, divAVX2
		greater.fast, lesser.fast = maxAVX2, minAVX2
		fastPlus, fastClamp, fastSquare = plusAVX2, clampAVX2, squareAVX2
	}
}

//go:noescape
func addAVX512(dst, a, b *float32, n int)

//go:noescape
func subAVX512(dst, a, b *float32, n int)

//go:noescape
func mulAVX512(dst, a, b *float32, n int)

//go:noescape
func divAVX512(dst, a, b *float32, n int)

//go:noescape
func maxAVX512(dst, a, b *float32, n int)

//go:noescape
func minAVX512(dst, a, b *float32, n int)

//go:noescape
func plusAVX512(v *float32, s float32, n int)

//go:noescape
func reluAVX512(v *float32, n int)

//go:noescape
func clampAVX512(v *float32, lo, hi, zero float32, n int)

//go:noescape
func limitAVX512(l *Limits, v *float32, n int)

//go:noescape
func curveLinesAVX512(c *Curve, v *float32, n int)

//go:noescape
func curvePowersAVX512(c *Curve, v *float32, n int)

//go:noescape
func hasNaNAVX512(v *float32, n int) bool

//go:noescape
func greatestAVX512(v *float32, n int) float32

//go:noescape
func finishAVX2(p *finishing)

//go:noescape
func finishAVX512(p *finishing)

// callReLU is no variable, which the compiler would take to keep v: callers have rows of
// one element on their stack.
//
//go:noinline
func callReLU(v *float32, n int) {
	if wide {
		reluAVX512(v, n)
	} else {
		reluAVX2(v, n)
	}
}

// callFunction is a call of its own so that the scheduler can stop a loop over
// rows: machine code it cannot.
//
//go:noinline
func callFunction(f Function, p *function) {
	if !wide {
		fourFunctions(f, p)
		return
	}
	switch f {
	case Exp:
		expAVX512(p)
	case Sigmoid:
		sigmoidAVX512(p)
	case Swish:
		swishAVX512(p)
	case Tanh:
		tanhAVX512(p)
	case GELU:
		geluAVX512(p)
	case GELUTanh:
		geluTanhAVX512(p)
	}
}

func fourFunctions(f Function, p *function) {
	switch f {
	case Exp:
		expAVX2(p)
	case Sigmoid:
		sigmoidAVX2(p)
	case Swish:
		swishAVX2(p)
	case Tanh:
		tanhAVX2(p)
	case GELU:
		geluAVX2(p)
	case GELUTanh:
		geluTanhAVX2(p)
	}
}

// The calls below are to rows what callFunction is to functions.

//go:noinline
func callLimit(l *Limits, v []float32) {
	if wide {
		limitAVX512(l, &v[0], len(v))
	} else {
		limitAVX2(l, &v[0], len(v))
	}
}

//go:noinline
func callCurve(c *Curve, v []float32) {
	switch {
	case wide && c.Powers:
		curvePowersAVX512(c, &v[0], len(v))
	case wide:
		curveLinesAVX512(c, &v[0], len(v))
	case c.Powers:
		curvePowersAVX2(c, &v[0], len(v))
	default:
		curveLinesAVX2(c, &v[0], len(v))
	}
}

//go:noinline
func callHasNaN(v []float32) bool {
	if wide {
		return hasNaNAVX512(&v[0], len(v))
	}
	return hasNaNAVX2(&v[0], len(v))
}

//go:noinline
func callGreatest(v []float32) float32 {
	if wide {
		return greatestAVX512(&v[0], len(v))
	}
	return greatestAVX2(&v[0], len(v))
}

//go:noinline
func callFinish(p *finishing) {
	if wide {
		finishAVX512(p)
	} else {
		finishAVX2(p)
	}
}

//go:noinline
func callPlanar(p *planarStep) { planarAVX512(p) }

//go:noescape
func planarAVX512(p *planarStep)

//go:noinline
func callLeave(p *leaving) { leaveAVX512(p) }

//go:noescape
func leaveAVX512(p *leaving)

// callReduction is to reductions what callFunction is to functions.
//
//go:noinline
func callReduction(k reductionKind, r *reduction) {
	if !wide {
		fourReductions(k, r)
		return
	}
	switch k {
	case sums:
		sumAVX512(r)
	case squares:
		squaresAVX512(r)
	case norms:
		normalizeAVX512(r)
	case powers:
		powersAVX512(r)
	case greatest:
		maxOfAVX512(r)
	case scales:
		scaleAVX512(r)
	}
}

func fourReductions(k reductionKind, r *reduction) {
	switch k {
	case sums:
		sumAVX2(r)
	case squares:
		squaresAVX2(r)
	case norms:
		normalizeAVX2(r)
	case powers:
		powersAVX2(r)
	case greatest:
		maxOfAVX2(r)
	case scales:
		scaleAVX2(r)
	}
}

//go:noescape
func expAVX512(p *function)

//go:noescape
func sigmoidAVX512(p *function)

//go:noescape
func swishAVX512(p *function)

//go:noescape
func tanhAVX512(p *function)

//go:noescape
func geluAVX512(p *function)

//go:noescape
func geluTanhAVX512(p *function)

//go:noescape
func sumAVX512(r *reduction)

//go:noescape
func squaresAVX512(r *reduction)

//go:noescape
func normalizeAVX512(r *reduction)

//go:noescape
func powersAVX512(r *reduction)

//go:noescape
func maxOfAVX512(r *reduction)

//go:noescape
func scaleAVX512(r *reduction)
