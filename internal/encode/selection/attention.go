package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// attention is a scaled dot-product attention, as the layers that it stands for:
//
//	q ─┐
//	k ─┴─ product, scaled ─ + mask ─ softmax ─┐
//	v ────────────────────────────────────────┴─ product ─ y
//
// A mask of bools has no certain tasks.
func (b *builder) attention(l *anec.Layer, p *anec.SDPA) ([]*units.Op, *diag.Reason) {
	q, k, v, scale := l.Bottoms[0], l.Bottoms[1], l.Bottoms[2], l.Bottoms[3]
	mask := segment.Bottom(l, 4)
	if !p.SubtractMax {
		return nil, diag.Decline(diag.NativeNumerics, "the softmax is not to subtract the largest score, and its tasks do")
	}
	if mask != nil {
		if why := halfOnly(mask); why != nil {
			return nil, why
		}
	}
	d := q.Type.Dims
	for a := range anec.H {
		d[a] = max(d[a], k.Type.Dims[a], v.Type.Dims[a])
	}
	d[anec.W] = k.Type.Dims[anec.H]
	s := sublayers{builder: b, tasks: b.tasks}
	if ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.heads(l, d, mask) }); why == nil {
		return ops, nil
	}
	scores := s.layer(d, &anec.MatMul{TransposeZ: true}, anec.Epilogue{GOC: &anec.GainOffset{Gain: scale}}, q, k)
	if mask != nil {
		scores = s.layer(d, &anec.ElementWise{Type: td.EWAdd}, anec.Epilogue{}, scores, mask)
	}
	weights := s.layer(d, &anec.Softmax{Axes: td.AxesOf(anec.W)}, anec.Epilogue{}, scores)
	last := *l
	last.Params, last.Bottoms = &anec.MatMul{}, []*anec.Value{weights, v}
	s.take(&last)
	b.tasks = s.tasks
	return s.ops, s.why
}

// heads is an attention all of which stays on chip.
func (b *builder) heads(l *anec.Layer, d anec.Dims, mask *anec.Value) ([]*units.Op, *diag.Reason) {
	switch {
	case d[anec.N]*d[anec.D] != 1:
		return nil, diag.Decline(diag.NativeSize, "an attention that stays on chip has no batch").Measure(1, d[anec.N]*d[anec.D])
	case d[anec.W] == 1:
		return nil, diag.Decline(diag.NativeRecord, "an attention over one key stays on chip in no recorded program")
	case mask != nil && (mask.Type.Dims[anec.H] != d[anec.H] || mask.Type.Dims[anec.W] != d[anec.W]):
		return nil, diag.Decline(diag.NativeOperand, "the mask %q is not of the extents of the scores", mask.Name).Measure(d, mask.Type.Dims)
	}
	scores := anec.Layer{Params: &anec.MatMul{TransposeZ: true}, Bottoms: l.Bottoms[:2], Epilogue: anec.Epilogue{GOC: &anec.GainOffset{Gain: l.Bottoms[3]}}}
	last := *l
	last.Params, last.Bottoms = &anec.MatMul{}, []*anec.Value{nil, l.Bottoms[2]}
	return b.headsTasks(&last, &scores, mask)
}

// A heads is an attention that stays on chip from the first product to the last (record chain_attn_s64_dh64): the softmax leaves its
// result as the kernel of the second product. Heads are products of their own, with one softmax for all: 9 tasks, and 3 more
// for each head after the first (records chain_attn_s128_dh64_h4, _h8, _h12). A mask is added between.
//
//	q ─ kernel ─┐
//	k ─ image ──┴─ product ─ softmax ─ kernel ─┐
//	v ─ image ─────────────────────────────────┴─ product ─ y
type heads struct {
	q, k, v, y             matrices
	mask                   *matrices // nil: none
	transposeK, transposeV bool
	scale                  uint16 // of the first product
	after                  after
}

// headsOf is the layers before the last of an attention: a product, a mask added or not, and a softmax; nil if there is none.
func (b *builder) headsOf(l *anec.Layer) []*anec.Layer {
	last, ok := l.Params.(*anec.MatMul)
	if !ok || last.TransposeX || isWeights(l.Bottoms[1]) {
		return nil
	}
	softmax := b.onlyFor(l.Bottoms[0])
	if softmax == nil || !softmax.Epilogue.Empty() || softmax.OutputType != tensor.Invalid || softmax.Top().Type.Dims[anec.W] == 1 {
		return nil
	}
	if p, ok := softmax.Params.(*anec.Softmax); !ok || p.Axes != td.AxesOf(anec.W) {
		return nil
	}
	layers := []*anec.Layer{softmax}
	scores := b.onlyFor(softmax.Bottoms[0])
	if scores != nil && scores.Kind() == anec.KindElementWise {
		if attentionMask(scores) == nil {
			return nil
		}
		layers = append(layers, scores)
		scores = b.onlyFor(scores.Bottoms[0])
	}
	if scores == nil {
		return nil
	}
	first, ok := scores.Params.(*anec.MatMul)
	if !ok || first.TransposeX || isWeights(scores.Bottoms[0]) || isWeights(scores.Bottoms[1]) {
		return nil
	}
	layers = append(layers, scores)
	slices.Reverse(layers)
	return layers
}

// onlyFor is the layer that makes a value, if it does so for one other alone.
func (b *builder) onlyFor(v *anec.Value) *anec.Layer {
	if v.Def == nil || !b.readOnce(v) || v.Type.Dims[anec.N]*v.Type.Dims[anec.D] != 1 {
		return nil
	}
	return v.Def
}

// attentionMask is what a layer adds to scores, if that is all it does: a number for each row and column. Else it is nil.
func attentionMask(l *anec.Layer) *anec.Value {
	p, ok := l.Params.(*anec.ElementWise)
	if !ok || p.Type != td.EWAdd || len(l.Bottoms) != 2 || !l.Epilogue.Empty() || l.OutputType != tensor.Invalid && l.OutputType != tensor.Float16 {
		return nil
	}
	x, z := l.Bottoms[0].Type, l.Bottoms[1].Type
	same := x.Dims[anec.H] == z.Dims[anec.H] && x.Dims[anec.W] == z.Dims[anec.W] && x.Dims == l.Top().Type.Dims
	if !same || z.DType != tensor.Float16 {
		return nil
	}
	return l.Bottoms[1]
}

// joinAttention finds an attention.
func (b *builder) joinAttention(l *anec.Layer) {
	for _, inner := range b.headsOf(l) {
		b.joined[inner] = true
	}
}

// attentionLayer is the last layer of an attention that joinAttention found. What does not fit on chip goes layer by layer.
func (b *builder) attentionLayer(l *anec.Layer, layers []*anec.Layer) ([]*units.Op, *diag.Reason) {
	var mask *anec.Value
	if len(layers) > 2 {
		mask = attentionMask(layers[1])
	}
	ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.headsTasks(l, layers[0], mask) })
	if why == nil {
		return ops, nil
	}
	return b.layerByLayer(why, append(layers, l)...)
}

// headsTasks reads where the operands of an attention lie, and makes its tasks.
func (b *builder) headsTasks(l, scores *anec.Layer, mask *anec.Value) ([]*units.Op, *diag.Reason) {
	var h heads
	if mask != nil {
		m, transposed, why := b.operand(mask, false)
		if why != nil {
			return nil, why
		}
		if transposed {
			return nil, columnsApart(mask)
		}
		h.mask = &m
	}
	first, perm1, why1 := afterProduct(scores)
	after, perm, why2 := afterProduct(l)
	q, transposeQ, why3 := b.operand(scores.Bottoms[0], false)
	k, transposeK, why4 := b.operand(scores.Bottoms[1], scores.Params.(*anec.MatMul).TransposeZ)
	v, transposeV, why5 := b.operand(l.Bottoms[1], l.Params.(*anec.MatMul).TransposeZ)
	y, why6 := b.matricesAt(l.Top(), perm)
	if why := firstOf(why1, why2, why3, why4, why5, why6); why != nil {
		return nil, why
	}
	switch {
	case transposeQ:
		return nil, columnsApart(scores.Bottoms[0])
	case perm1 != anec.Identity:
		return nil, diag.Decline(diag.NativeEpilogue, "the scores of an attention are transposed (%v)", perm1)
	case first.bias != nil || first.act != nil || first.offset != 0:
		return nil, diag.Decline(diag.NativeEpilogue, "the scores of an attention are scaled on chip, and no more")
	}
	if why := runtimeOnly(&after); why != nil {
		return nil, why
	}
	h.q, h.k, h.v, h.y, h.transposeK, h.transposeV = q, k, v, y, transposeK, transposeV
	h.scale, h.after = tensor.ToF16(first.scale), after
	return b.attend(&h)
}

// maskScores adds the mask to scores on chip: to all heads if each has its own, else to one after the other.
func (b *builder) maskScores(h *heads, full units.Chip, heads, rows int) (ops []*units.Op) {
	count := heads
	if heads == 1 || h.mask.c == heads && h.mask.perC == rows*h.mask.Row {
		count, rows = 1, heads*rows
	}
	for c := range count {
		size := units.Size{W: h.mask.columns, H: 1, D: 1, C: rows}
		o := b.Planar(td.TypePlanarBinary, size)
		at := units.Chip{Base: full.Base + c*rows*full.Channel, Channel: full.Channel, Row: rows * full.Channel, Depth: rows * full.Channel}
		o.Source1, o.Chip = units.Source{Chip: at}, at
		o.Source2 = &units.Source{Memory: h.mask.part(0, c, 0), Chip: b.PlanarChip(full.End(1), size)}
		ops = append(ops, o)
	}
	return ops
}

// attend makes the tasks of an attention that stays on chip.
func (b *builder) attend(h *heads) ([]*units.Op, *diag.Reason) {
	scores := liveProduct{builder: b, x: h.q, z: h.k, transposeZ: h.transposeK, m: h.q.rows, k: h.q.columns, post: h.scale}
	if scores.n = h.k.columns; h.transposeK {
		scores.n = h.k.rows
	}
	heads := h.y.c
	scores.y = matrices{n: 1, c: heads}
	size := units.Size{W: scores.n, H: 1, D: 1, C: heads * scores.m}
	_, full := b.softmaxOfRowPlaces(size)
	scores.onChip, scores.room = &full, full.End(1)
	start := b.scratch
	if _, why := scores.run(); why != nil {
		return nil, why
	}
	if full.End(3) >= b.OnChip {
		return nil, noRoom("the scores of an attention", b.OnChip, full.End(3))
	}
	if h.mask != nil {
		scores.ops = append(scores.ops, b.maskScores(h, full, heads, scores.m)...)
	}
	// The first kernel is no longer needed when the second is stored.
	end := b.scratch
	b.scratch = start
	last := liveProduct{builder: b, z: h.v, y: h.y, transposeZ: h.transposeV, m: scores.m, k: scores.n, n: h.y.columns, post: tensor.ToF16(h.after.scale), relu: h.after.act != nil}
	lanes := b.kernelLanes(last.m)
	kernel := b.scratchMatrices(1, heads, last.m/lanes, last.k*lanes)
	b.scratch = max(b.scratch, end)
	last.x = matrices{rows: last.m, columns: last.k, n: 1, c: heads}
	last.stored = storedKernel{valid: true, all: true, base: kernel, producer: b.tasks + len(scores.ops) + 4}
	to := kernel.part(0, 0, 0)
	to.Row, to.Interleave = to.Plane, lanes
	ops := append(scores.ops, b.softmaxOfEachChannel(nil, to, size)...)
	peak, store := ops[len(scores.ops)], ops[len(ops)-1]
	peak.Source1 = units.Source{Chip: full}
	store.KernelStore = true
	if _, why := last.run(); why != nil {
		return nil, why
	}
	return append(ops, last.ops...), nil
}
