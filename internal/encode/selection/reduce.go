package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Reductions. The planar engine reduces the plane of each channel, so the axes to reduce are brought into the plane: by
// reading the surface otherwise where that does, else by copies that exchange C and W.

// A folding is what a reduction makes of a plane: of each element, of all of them, and of the result.
type folding struct {
	units.Machine
	negate, square bool    // each element; -max(-x) is the minimum
	largest        bool    // the maximum, not the sum
	scale          float32 // of the result,
	epsilon        uint16  // to which this is added,
	final          uint32  // and of which this is the function
}

// Words of the planar engine.
const (
	planarSquare     = 4 // the operator: of source 1, or of the sum of both
	planarLargest    = 2 // the reduction
	planarReciprocal = 1 // the final functions
	planarRSqrt      = 2
)

// foldings are the reductions with certain words. That of squares is recorded in layer normalizations over channels
// (norm_layer_norm_ax1_1x64x8x8), as the task that makes the variance.
var foldings = map[td.ReductionKind]folding{
	td.ReduceSum:       {scale: 1},
	td.ReduceAvg:       {scale: 1},
	td.ReduceMax:       {scale: 1, largest: true},
	td.ReduceMin:       {scale: -1, largest: true, negate: true},
	td.ReduceSumSquare: {scale: 1, square: true},
	td.ReduceL2:        {scale: 1, square: true, final: planarRSqrt},
	td.ReduceL1:        {scale: 1},
	td.ReduceLogSum:    {scale: 1},
}

// rootFunctions are what is done with what a task has folded before it is what the kind says. Of squares it is the root of one over
// the sum that leaves the task: fp16 holds it where the sum itself would be infinite.
var rootFunctions = map[td.ReductionKind]td.Function{td.ReduceL2: td.FuncInverse, td.ReduceLogSum: td.FuncLog}

// task begins a task that folds planes.
func (f *folding) task(size units.Size) *units.Op {
	o := f.Planar(td.TypePlanarReduce, size)
	o.FinalScale, o.Epsilon, o.Final, o.Negate1 = f.scale, f.epsilon, f.final, f.negate
	if f.square {
		o.Operator = planarSquare
	}
	if f.largest {
		o.Reduction, o.Lowest = planarLargest, true
	}
	return o
}

// foldingOf reads a reduction and its epilogue. What the task that folds cannot do with the result is left.
func (b *builder) foldingOf(l *anec.Layer, p *anec.Reduction) (f folding, rest []stage, why *diag.Reason) {
	f, known := foldings[p.Type]
	f.Machine = b.Machine
	switch {
	case !known:
		return f, nil, diag.Decline(diag.NativeKind, "no tasks are known that reduce by %v", p.Type)
	case p.Square:
		return f, nil, diag.Decline(diag.NativeKind, "no tasks are known that reduce squares by %v", p.Type)
	}
	rest, why = stagesOf(l)
	if why := firstOf(why, withoutTranspose(l)); why != nil {
		return f, nil, why
	}
	if p.Type == td.ReduceAvg {
		n := 1
		for a, extent := range l.Bottoms[0].Type.Dims {
			if p.Axes.Has(td.Axis(a)) {
				n *= extent
			}
		}
		f.scale = 1 / float32(n)
	}
	if root, ok := rootFunctions[p.Type]; ok {
		return f, append([]stage{{act: &anec.Activation{Function: root}}}, rest...), nil
	}
	offset := float32(0)
	if len(rest) > 0 && rest[0].plain() {
		f.scale *= rest[0].scale
		offset = rest[0].offset
		rest = rest[1:]
	}
	f.epsilon = tensor.ToF16(offset)
	if len(rest) == 0 || rest[0].act == nil {
		return f, rest, nil
	}
	switch act := rest[0].act; {
	case act.Function == td.FuncRSqrt && (offset == 0 || act.A == 0):
		f.final, f.epsilon = planarRSqrt, tensor.ToF16(offset+act.A)
		rest = rest[1:]
	case act.Function == td.FuncInverse && act.A == 0:
		f.final = planarReciprocal
		rest = rest[1:]
	}
	return f, rest, nil
}

func (b *builder) reduction(l *anec.Layer, p *anec.Reduction) ([]*units.Op, *diag.Reason) {
	x := l.Bottoms[0]
	f, rest, why := b.foldingOf(l, p)
	if why != nil {
		return nil, why
	}
	if flat := b.flattened(l); flat != nil {
		mx, why1 := b.surface(x)
		my, why2 := b.surface(flat)
		if firstOf(why1, why2) == nil {
			return f.flat(x.Type.Dims, mx, my), nil
		}
	}
	return b.staged(l, p.Axes, rest, func(w *work) ([]*units.Op, *diag.Reason) {
		if p.Type != td.ReduceL1 {
			return f.over(w, w.to)
		}
		magnitudes, why := b.between(x.Type)
		if why != nil {
			return nil, about(x, why)
		}
		if w.columns != anec.W {
			return nil, otherColumns(w)
		}
		size, groups := sizeOf(x.Type.Dims)
		from, to := *w.from, *magnitudes
		if d := x.Type.Dims; d[anec.D] > 1 { // to each element, depth is another batch
			if d[anec.N] > 1 && from.Group != d[anec.D]*from.Depth {
				return nil, depthApart(x)
			}
			from.Group, to.Group = from.Depth, to.Depth
		}
		o := b.Between(b.Planar(td.TypePlanarUnary, size), &from, &to)
		o.Groups, o.Condition = groups, 1
		w.from = magnitudes
		sums, why := f.over(w, w.to)
		return append([]*units.Op{o}, sums...), why
	})
}

// staged selects the tasks of a layer with one source. If there are stages of its epilogue left, its result lies in scratch
// memory first.
func (b *builder) staged(l *anec.Layer, axes td.Axes, stages []stage, selection func(w *work) ([]*units.Op, *diag.Reason)) ([]*units.Op, *diag.Reason) {
	w, why := b.workOf(l, axes)
	switch {
	case why != nil:
		return nil, why
	case len(stages) == 0:
		return selection(&w)
	}
	d := l.Top().Type.Dims
	between, why := b.between(l.Top().Type)
	switch {
	case why != nil:
		return nil, about(l.Top(), why)
	case w.columns != anec.W || w.apart != 0:
		return nil, otherColumns(&w)
	case d[anec.D] > 1 && d[anec.N] > 1 && w.to.Group != d[anec.D]*w.to.Depth:
		return nil, depthApart(l.Top())
	}
	// To what follows, depth is another batch.
	t, to := operand{memory: between.Moved(0)}, w.to.Moved(0)
	t.size, t.groups = sizeOf(d)
	if d[anec.D] > 1 {
		t.memory.Group, to.Group = between.Depth, w.to.Depth
	}
	w.to = between
	ops, why := selection(&w)
	if why != nil {
		return nil, why
	}
	c := &chain{b: b}
	why = c.finish(t, merged(stages), to)
	return append(ops, c.ops...), why
}

// between is memory for a value between two tasks of a layer. The reason is about the value, which its caller names.
func (b *builder) between(t anec.Type) (*units.Surface, *diag.Reason) {
	d := t.Dims
	if t.DType != tensor.Float16 {
		return nil, diag.Decline(diag.NativeType, "is of another type than the task has").Measure(tensor.Float16, t.DType)
	}
	s := b.scratchSurface(units.Size{W: d[anec.W], H: d[anec.H], D: d[anec.D], C: d[anec.C]}, d[anec.N])
	if b.scratch >= maxSurface {
		return s, diag.Decline(diag.NativeSize, "takes more memory between tasks than there is, in bytes").Measure(maxSurface, b.scratch)
	}
	return s, nil
}

// flat is a reduction of planes that is only laid in a row then: the task lays it there.
func (f *folding) flat(d anec.Dims, from, to *units.Surface) []*units.Op {
	size := units.Size{W: d[anec.W], H: d[anec.H], D: 1, C: d[anec.C]}
	o := f.Between(f.task(size), from, to)
	intoRow(f.Machine, o)
	return []*units.Op{o}
}

// intoRow lays the numbers of channels in a row.
func intoRow(m units.Machine, o *units.Op) {
	m.Exchanged(o)
	o.Chip.Channel = m.ChannelBytes(o.In.C)
	o.Chip.Row, o.Chip.Depth, o.Chip.Group = o.Chip.Channel, o.Chip.Channel, o.Chip.Channel
	o.Resides = true
}

// flattened is the output that a reduction is only flattened into, if it is: one number for each channel, in a row.
func (b *builder) flattened(l *anec.Layer) *anec.Value {
	top := l.Top()
	if len(top.Uses) != 1 || !b.joined[top.Uses[0]] {
		return nil
	}
	return top.Uses[0].Top()
}

// joinFlat finds a reshape that lays the one number of each channel in a row.
func (b *builder) joinFlat(l *anec.Layer) {
	p, ok := l.Params.(*anec.Reduction)
	top := l.Top()
	if !ok || !b.readOnce(top) {
		return
	}
	if _, rest, why := b.foldingOf(l, p); why != nil || len(rest) > 0 {
		return
	}
	c := top.Type.Dims[anec.C]
	d := l.Bottoms[0].Type.Dims
	use := top.Uses[0]
	_, reshape := use.Params.(*anec.Reshape)
	if reshape && c > 1 && top.Type.Dims == (anec.Dims{1, 1, c, 1, 1}) && use.Top().Type.Dims == (anec.Dims{1, 1, 1, 1, c}) &&
		!p.Axes.Has(anec.C) && d == (anec.Dims{1, 1, c, d[anec.H], d[anec.W]}) && use.Epilogue.Empty() {
		b.joined[use] = true
	}
}
