//go:build amd64

package vec

import "github.com/espalier-ane/espalier/internal/kernel/isa"

func init() {
	if isa.Have().Has(isa.AVX2) {
		finishStep = 8
	}
	if !isa.Have().Has(isa.AVX512) {
		return
	}
	fast, finishStep = true, 1
	add.fast, sub.fast, mul.fast, div.fast = addAVX512, subAVX512, mulAVX512, divAVX512
	greater.fast, lesser.fast = maxAVX512, minAVX512
	fastPlus, fastClamp = plusAVX512, clampAVX512
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
func callReLU(v *float32, n int) { reluAVX512(v, n) }

// callFunction is a call of its own so that the scheduler can stop a loop over
// rows: machine code it cannot.
//
//go:noinline
func callFunction(f Function, p *function) {
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

// The calls below are to rows what callFunction is to functions.

//go:noinline
func callLimit(l *Limits, v []float32) { limitAVX512(l, &v[0], len(v)) }

//go:noinline
func callCurve(c *Curve, v []float32) {
	if c.Powers {
		curvePowersAVX512(c, &v[0], len(v))
	} else {
		curveLinesAVX512(c, &v[0], len(v))
	}
}

//go:noinline
func callHasNaN(v []float32) bool { return hasNaNAVX512(&v[0], len(v)) }

//go:noinline
func callGreatest(v []float32) float32 { return greatestAVX512(&v[0], len(v)) }

//go:noinline
func callFinish(p *finishing) {
	if finishStep == 1 {
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
