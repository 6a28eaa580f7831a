package compiler

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/estimate"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// workingSet holds what a layer reads and makes, weights apart, to the memory on chip.
func (s *hazardSearch) workingSet(l *anec.Layer) []diag.Finding {
	limit := s.target.Limits.WorkingSet
	if limit <= 0 || limit == hal.NoLimit || l.Info().Cost.Free {
		return nil
	}
	sum := 0.0
	reads := l.Reads()
	for i, v := range reads {
		if v.Const == nil && !segment.IsDecoded(v) && !slices.Contains(reads[:i], v) {
			sum += estimate.ValueBytes(v)
		}
	}
	for _, v := range l.Tops {
		sum += estimate.ValueBytes(v)
	}
	if sum <= float64(limit) {
		return nil
	}
	return []diag.Finding{{
		Text:  "what the layer reads and writes does not fit on chip: it streams from and to memory",
		Limit: sizeText(float64(limit)), Found: sizeText(sum),
	}}
}

// weightsFold finds weights that are compressed for nothing but the size of the file.
func (s *hazardSearch) weightsFold(l *anec.Layer) []diag.Finding {
	v := segment.WeightBottom(l)
	if v == nil {
		return nil
	}
	w := estimate.WeightOf(v)
	streams, status := w.Streams(s.target)
	if !w.Compressed || streams && estimate.KeepsFromStreaming(l) == "" {
		return nil
	}
	why, remedy := "the target does not take this form as it is", ""
	if streams {
		what := estimate.KeepsFromStreaming(l)
		why = "a convolution with " + what + " does not stream"
		remedy = "write the convolution without " + what + ", or keep its weights in fp16"
	}
	return []diag.Finding{{
		Text: fmt.Sprintf("weights in the form %v fold to fp16: %s", w, why), Remedy: remedy,
		Found: fmt.Sprintf("%s read for %s stored", sizeText(w.Dense), sizeText(w.Stored)), Confidence: status.Confidence(),
	}}
}

// kernelMemory finds weights that the layer is split for, by the rule that splits it.
func (s *hazardSearch) kernelMemory(l *anec.Layer) []diag.Finding {
	spans := weightSpans(l, s.target)
	if len(spans) < 2 {
		return nil
	}
	from, _, _ := outputAxes(l)
	limit, what := weightCap(l, segment.WeightBottom(l).Type.Dims[from], s.target), "dense"
	if estimate.StreamsIn(l, s.target) {
		what = "streamed"
	}
	return []diag.Finding{{
		Text:  "the compiler splits the layer, which takes more tasks and time to compile",
		Limit: fmt.Sprintf("%s of %s weights", sizeText(float64(limit)), what),
		Found: fmt.Sprintf("%s, in %d parts", sizeText(estimate.KernelBytes(l, s.target)), len(spans)),
	}}
}

// reductionRoute finds reductions over an axis that is as long as the threshold.
func (s *hazardSearch) reductionRoute(l *anec.Layer) []diag.Finding {
	p, ok := l.Params.(*anec.Reduction)
	limit := s.target.Limits.ReductionViaTranspose
	if !ok || limit <= 0 || limit == hal.NoLimit {
		return nil
	}
	for a := range td.Axis(anec.NumAxes) {
		if n := l.Bottoms[0].Type.Dims[a]; p.Axes.Has(a) && n >= limit {
			return []diag.Finding{{
				Text:  fmt.Sprintf("a reduction over %d along %v goes through a transpose", n, a),
				Limit: fmt.Sprintf("below %d", limit), Found: fmt.Sprint(n),
			}}
		}
	}
	return nil
}

// transposePasses finds transposes, layers or slots of an epilogue, of H or W beyond what is done in one go.
func (s *hazardSearch) transposePasses(l *anec.Layer) []diag.Finding {
	limit := s.target.Limits.Transpose
	var perm *anec.Perm
	to := l.Top().Type.Dims
	if p, ok := l.Params.(*anec.Transpose); ok {
		perm = &p.Perm
		to = p.Perm.Apply(l.Bottoms[0].Type.Dims)
	} else if perm = l.Epilogue.Transpose; perm == nil {
		return nil
	}
	from := perm.Inverse().Apply(to)
	longest := max(from[anec.H], from[anec.W], to[anec.H], to[anec.W])
	if limit == hal.NoLimit || longest <= limit || !movesElements(*perm, from) {
		return nil
	}
	f := diag.Finding{Text: "the transpose takes several passes", Limit: fmt.Sprintf("at most %d along H and W", limit), Found: fmt.Sprint(longest)}
	if limit == 0 {
		f.Limit = "none in one go"
	}
	return []diag.Finding{f}
}

// movesElements reports whether a transpose changes the order of axes that have more than one element.
func movesElements(p anec.Perm, from anec.Dims) bool {
	last := -1
	for _, a := range p {
		if from[a] != 1 {
			if int(a) < last {
				return true
			}
			last = int(a)
		}
	}
	return false
}

func (s *hazardSearch) strideFactored(l *anec.Layer) []diag.Finding {
	p, ok := l.Params.(*anec.Conv)
	factors := s.target.Limits.StrideFactors
	if !ok || len(factors) == 0 {
		return nil
	}
	for i, stride := range p.Stride {
		if stride > 1 && !slices.Contains(factors, stride) {
			return []diag.Finding{{
				Text:  fmt.Sprintf("a stride of %d along %v becomes a sequence of convolutions", stride, [...]td.Axis{anec.D, anec.H, anec.W}[i]),
				Limit: fmt.Sprintf("one of %v", factors), Found: fmt.Sprint(stride),
			}}
		}
	}
	return nil
}

// sizeText formats a number of bytes.
func sizeText(n float64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.4g MB", n/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.4g KB", n/(1<<10))
	}
	return fmt.Sprintf("%.0f B", n)
}
