package compiler

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/estimate"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

const (
	maxHalf = 65504 // the largest fp16 value

	// ordinaryMagnitude is what activations have without anything being wrong. Weights that make infinity of it are a
	// hazard though nothing is known of the operand.
	ordinaryMagnitude = 16

	// riskyMean is the mean of the terms from which on a sum of live ones is a hazard though nothing is known of them.
	riskyMean = 4

	// longSum is from how many elements of magnitude 1 on a sum loses units beside it (guide 3, cancellation sweep).
	longSum = 4096
)

// saturates holds sums of products to the output port. What counts is the largest sum of magnitudes that one result
// can take: partial sums overflow as the whole does, whatever comes after.
func (s *hazardSearch) saturates(l *anec.Layer) []diag.Finding {
	limit := float64(s.target.Numerics.SaturateAtPort)
	n, ok := estimate.Contraction(l)
	if limit == 0 || !ok || l.Kind() == anec.KindConv && n < 2 || !l.Bottoms[0].Type.DType.IsFloat() {
		return nil
	}
	f := diag.Finding{Limit: fmt.Sprintf("below %g", limit)}
	x := s.ranges.Of(l.Bottoms[0])
	sum, known := s.ranges.SumOf(l)
	if sum = estimate.Times(sum, s.scaleOfIntegers(l)); sum == estimate.Unbounded {
		known = false
	}
	switch {
	case known && x != estimate.Unbounded:
		if most := estimate.Times(sum, x); most >= limit {
			f.Text = fmt.Sprintf("a sum of %d products can reach %.4g: the magnitudes of the weights of one result add up to %.4g, and those of the operand are up to %.4g", n, most, sum, x)
			f.Found = fmt.Sprintf("up to %.4g", most)
			return []diag.Finding{f}
		}
	case known:
		if enough := limit / sum; enough <= ordinaryMagnitude {
			f.Text = fmt.Sprintf("a sum of %d products reaches %g with operands of magnitude %.3g: the magnitudes of the weights of one result add up to %.4g, and nothing is known of the operand", n, limit, enough, sum)
			f.Found = fmt.Sprintf("reached at %.3g", enough)
			return []diag.Finding{f}
		}
	case segment.WeightBottom(l) != nil: // weights that are not there or too many to look at
	case s.ranges.OfSum(l) != estimate.Unbounded:
		if most := s.ranges.OfSum(l); most >= limit {
			f.Text = fmt.Sprintf("a sum of %d products can reach %.4g, by what bounds both operands", n, most)
			f.Found = fmt.Sprintf("up to %.4g", most)
			return []diag.Finding{f}
		}
	case float64(n)*riskyMean >= limit && !estimate.IsDistribution(l):
		f.Text = fmt.Sprintf("a sum of %d products of two live operands reaches %g when their mean is %.3g; nothing is known of them", n, limit, limit/float64(n))
		f.Found = fmt.Sprintf("reached at a mean of %.3g", limit/float64(n))
		return []diag.Finding{f}
	}
	return nil
}

// scaleOfIntegers is the scale of integer weights that fusion moved behind the sums, the largest if each result has its own;
// 1 for other weights. A chip applies it where the weights enter the multipliers (guide 7, affine dequantization), so the
// sums that reach the port have it.
func (s *hazardSearch) scaleOfIntegers(l *anec.Layer) float64 {
	if w := segment.WeightBottom(l); w == nil || w.Const == nil || !w.Const.Plain() || !w.Const.DType.IsInteger() {
		return 1
	}
	e := &l.Epilogue
	switch {
	case e.GOC != nil && e.GOC.Gain != nil:
		return s.ranges.Of(e.GOC.Gain)
	case len(e.Steps) > 0 && e.Steps[0].EW == td.EWMult && e.Steps[0].Operand != nil && e.Steps[0].Operand.Const != nil:
		return s.ranges.Of(e.Steps[0].Operand)
	}
	return 1
}

// sumOverflows holds reductions that add to the range of fp16.
func (s *hazardSearch) sumOverflows(l *anec.Layer) []diag.Finding {
	p, ok := l.Params.(*anec.Reduction)
	if !ok || !l.Bottoms[0].Type.DType.IsFloat() {
		return nil
	}
	term := s.ranges.Of(l.Bottoms[0])
	switch p.Type {
	case td.ReduceSum, td.ReduceL1:
	case td.ReduceSumSquare:
		term = estimate.Times(term, term)
	default:
		return nil
	}
	n := estimate.Reduced(p.Axes, l.Bottoms[0])
	f := diag.Finding{Limit: fmt.Sprintf("at most %d", maxHalf)}
	switch most := estimate.Times(term, float64(n)); {
	case term != estimate.Unbounded && most > maxHalf:
		f.Text = fmt.Sprintf("a sum of %d elements can reach %.4g: each is up to %.4g", n, most, term)
		f.Found = fmt.Sprintf("up to %.4g", most)
	case term == estimate.Unbounded && float64(n)*riskyMean > maxHalf:
		f.Text = fmt.Sprintf("a sum of %d elements leaves fp16 when their mean is %.3g; nothing is known of them", n, maxHalf/float64(n))
		f.Found = fmt.Sprintf("reached at a mean of %.3g", maxHalf/float64(n))
	default:
		return nil
	}
	return []diag.Finding{f}
}

func (s *hazardSearch) widthSlice(l *anec.Layer) []diag.Finding {
	limit := float64(s.target.WidthSlice)
	p, ok := l.Params.(*anec.InputView)
	if !ok || limit == 0 || p.Axis != anec.W || p.Size == 0 || !l.Bottoms[0].Type.DType.IsFloat() {
		return nil
	}
	begin := p.Offset
	if p.Step < 0 {
		begin += (p.Size - 1) * p.Step
	}
	most := s.ranges.Of(l.Bottoms[0])
	if begin == 0 || most <= limit {
		return nil
	}
	f := diag.Finding{Limit: fmt.Sprintf("at most %g", limit), Found: "no bound is known"}
	if most != estimate.Unbounded {
		f.Found = fmt.Sprintf("up to %.4g", most)
	}
	f.Text = fmt.Sprintf("a slice along W that begins at %d is copied with a gain of 16: magnitudes above %g become infinite", begin, limit)
	return []diag.Finding{f}
}

// longNorm finds normalizations over many elements.
func (s *hazardSearch) longNorm(l *anec.Layer) []diag.Finding {
	n := 0
	switch p := l.Params.(type) {
	case *anec.LayerNorm:
		n = estimate.Reduced(p.Axes, l.Bottoms[0]) / max(p.Groups, 1)
	case *anec.InstanceNorm:
		n = estimate.Reduced(p.Axes, l.Bottoms[0])
	}
	if n < longSum {
		return nil
	}
	return []diag.Finding{{
		Text:  fmt.Sprintf("mean and variance are of %d elements; sums of magnitude %d and more lose units", n, longSum),
		Limit: fmt.Sprintf("below %d elements", longSum), Found: fmt.Sprint(n),
	}}
}

func (s *hazardSearch) varianceCancels(l *anec.Layer) []diag.Finding {
	var found []diag.Finding
	for _, d := range s.ranges.Traits.Differences[l] {
		if d.Variance {
			found = append(found, diag.Finding{
				Text:  fmt.Sprintf("a mean of squares less the square of a mean, over %d elements: both are rounded to fp16 before the difference, which keeps no digit once the mean is %.0f times the deviation", d.N, math.Sqrt(2048)),
				Limit: "11 bits of fp16", Found: "a difference of two near values",
			})
		}
	}
	return found
}

func (s *hazardSearch) sumsCancel(l *anec.Layer) []diag.Finding {
	var found []diag.Finding
	for _, d := range s.ranges.Traits.Differences[l] {
		if !d.Variance && d.N >= longSum {
			found = append(found, diag.Finding{
				Text:  fmt.Sprintf("a difference of two sums over %d elements and more: each is rounded to fp16 before", d.N),
				Limit: fmt.Sprintf("below %d elements", longSum), Found: fmt.Sprint(d.N),
			})
		}
	}
	return found
}

// attentionOverflows is about attention that does not subtract the largest score.
func (s *hazardSearch) attentionOverflows(l *anec.Layer) []diag.Finding {
	if p, ok := l.Params.(*anec.SDPA); !ok || p.SubtractMax {
		return nil
	}
	return []diag.Finding{{
		Text:  "the softmax does not subtract the largest score, and overflows fp16 from a score of about 11 on",
		Limit: "SubtractMax true", Found: "false",
	}}
}
