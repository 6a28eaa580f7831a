package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// stages is a normalization in the tasks that a chip makes of it:
//
//	mean    Σx · 1/n                          fp16
//	rstd    1/√(Σ(x-mean)² · 1/n + ε)         fp16
//	y       (x - mean) · rstd                 fp16, then gamma and beta, one after the other
//
// The sums are fp32. The epsilon is an fp16 number.
type stages struct {
	toZero  bool
	nan     bool // NaN is +inf to the last stage, and a large number to the sums
	epsilon float32
}

func newStages(op *Op) *stages {
	r := op.Rules
	if r == nil || !r.RoundStages {
		return nil
	}
	_, epsilon := normFields(op.Params)
	return &stages{toZero: r.IndeterminateToZero, nan: r.NaNToInf, epsilon: half.Round(epsilon)}
}

// or returns v, or 0 if it has no value though a and b do.
func (s *stages) or(v, a, b float32) float32 {
	if s.toZero {
		return orZero(v, a, b)
	}
	return v
}

// number is an element as the sums see it. The guide has it of the variance: "a
// large finite magnitude rather than literal infinity".
func (s *stages) number(x float32) float32 {
	if s.nan && x != x {
		return half.Max
	}
	return x
}

func (k *layerNorm) runStages(w *Scratch, at index, rows int) {
	s, axis := k.stages, k.inner.axis
	inverse := inverseOf(k.count)
	var sum float32
	for r := range rows {
		if w.stop() {
			break
		}
		for _, x := range k.load(w, at, r) {
			x = s.number(x)
			sum = s.or(sum+x, sum, x)
		}
	}
	mean := half.Round(sum * inverse)
	sum = 0
	for r := range rows {
		if w.stop() {
			break
		}
		for _, x := range k.load(w, at, r) {
			x = s.number(x)
			d := s.or(x-mean, x, mean)
			sum += float32(d * d)
		}
	}
	rstd := half.Round(float32(1 / math.Sqrt(float64(float32(sum*inverse)+s.epsilon))))
	for r := range rows {
		if w.stop() {
			break
		}
		v := k.load(w, at, r)
		i, _ := k.inner.tile(r)
		i = i.plus(at)
		gamma, beta := k.scales(w, i, len(v))
		for j, x := range v {
			if s.nan && x != x {
				x = infinity
			}
			d := s.or(x-mean, x, mean)
			y := s.or(d*rstd, d, rstd)
			if k.gamma != nil {
				y = half.Round(y)
				y = s.or(y*gamma[j], y, gamma[j])
			}
			if k.beta != nil {
				y = half.Round(y)
				y = s.or(y+beta[j], y, beta[j])
			}
			v[j] = y
		}
		k.sink.put(w, v, i, axis)
	}
}
