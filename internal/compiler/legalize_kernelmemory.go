package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/estimate"
	"github.com/espalier-ane/espalier/internal/segment"
)

// legalizeKernelMemory splits the outputs of a sum of products whose weights kernel memory does not hold (guide 24,
// ExceedKmemSizeLimit).
//
//	%y = anec.convolution(%x, %w) : fp16[1,1,512,16,16]              %w [512,1,2048,1,1], 2 MiB
//
//	%y_1 = anec.convolution(%x, %w_1) : fp16[1,1,256,16,16]
//	%y_2 = anec.convolution(%x, %w_2) : fp16[1,1,256,16,16]
//	%y = anec.concat(%y_1, %y_2) {axis = C}
//
// Two caps hold. No layer has more than the streamed one. And where each engine has a copy of its own, which it goes
// through again for every group of positions, its share must fit the dense cap. How the recorded programs are cut shows
// both: a matrix of K by N is K·N/2^19 products, 16 engines of 64 KiB each, if it has more than 128 rows to multiply; up to
// 128 rows it is one, for the weights go by once (oracles 6). The guide's chapter 24 has every dense weight above 64 KiB
// split, which the recorded programs are not: one of 2 MiB is a task. Weights that are stored compressed and stream count as
// they are stored, and are split in that form.
var legalizeKernelMemory = splitLayers(func(l *anec.Layer, s *segment.Segment) []span { return weightSpans(l, s.Target) })

// weightSpans are the runs of outputs that a layer is split into on a target; none if its weights fit.
func weightSpans(l *anec.Layer, t *hal.Target) []span {
	w := segment.WeightBottom(l)
	from, _, ok := outputAxes(l)
	if w == nil || !ok {
		return nil
	}
	outputs := w.Type.Dims[from]
	granule := t.Sizes.Engines
	if p, ok := l.Params.(*anec.Conv); ok && p.Groups > 1 {
		granule = outputs / p.Groups
	}
	if c := constantOf(w); c != nil {
		granule = leastCommon(granule, blockOf(c, from))
	}
	limit := weightCap(l, outputs, t)
	bytes := estimate.KernelBytes(l, t)
	if limit <= 0 || bytes <= float64(limit) { // of some profiles no source has it
		return nil
	}
	most := max(int(float64(limit)/bytes*float64(outputs))/granule*granule, granule)
	parts := (outputs + most - 1) / most
	even := (outputs + parts - 1) / parts // so that no part is much smaller than the others
	return spansOf(outputs, (even+granule-1)/granule*granule)
}

// onceThrough is the number of positions up to which weights go by once.
const onceThrough = 128

// weightCap is how many bytes of weights a layer of so many outputs may have.
func weightCap(l *anec.Layer, outputs int, t *hal.Target) int {
	limit := t.Limits.KernelMemoryStreamed
	if !t.Has(hal.CapKernelStreaming) && t.Limits.KernelMemoryDense != hal.NoLimit {
		limit = t.Limits.KernelMemoryDense
	}
	y := l.Top().Type.Dims
	n, _ := y.Count()
	positions := n / outputs / y[anec.N]
	if t.Ways.KernelPerEngine && t.Limits.KernelMemoryDense != hal.NoLimit && positions > onceThrough && !estimate.StreamsIn(l, t) {
		limit = min(limit, t.Sizes.Engines*t.Limits.KernelMemoryDense)
	}
	return limit
}
