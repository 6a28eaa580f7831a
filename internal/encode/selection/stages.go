package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What a layer does with each element after its own work, as far as tasks can: a run of stages, of which one task often
// takes two.
//
//	v*scale + offset │ a number each                 a planar task
//	v*gain + bias    │ a number for each channel     a planar task of gains and offsets, (v + bias/gain)*gain
//	f(v)             │ a function                    a clamp or a table; a clamp rides in either of the two

// A stage is one of them.
type stage struct {
	act           *anec.Activation
	scale, offset float32   // without act
	gain, bias    []float32 // instead of scale and offset
}

func (s *stage) plain() bool { return s.act == nil && s.gain == nil }

// stagesOf reads a layer's epilogue but its transpose, if it is a run of stages.
func stagesOf(l *anec.Layer) ([]stage, *diag.Reason) {
	e := &l.Epilogue
	if why := numbersOnly(e); why != nil {
		return nil, why
	}
	if l.OutputType != tensor.Invalid && l.OutputType != l.Top().Type.DType {
		return nil, otherResult(l)
	}
	r := stageReader{channels: l.Top().Type.Dims[anec.C]}
	if e.Transpose != nil {
		r.channels = e.Transpose.Inverse().Apply(l.Top().Type.Dims)[anec.C]
	}
	r.function(e.Pre)
	if e.GOC != nil {
		r.multiply(e.GOC.Gain)
		r.add(e.GOC.Offset)
	}
	r.function(e.Post)
	for i := range e.Steps {
		r.step(&e.Steps[i])
	}
	return r.list, r.why
}

// A stageReader collects stages, and keeps the first reason why there are none.
type stageReader struct {
	list     []stage
	channels int
	why      *diag.Reason
}

func (r *stageReader) decline(why *diag.Reason) { r.why = firstOf(r.why, why) }

func (r *stageReader) function(a *anec.Activation) {
	if a != nil {
		r.list = append(r.list, stage{act: a})
	}
}

// open is a stage that numbers can go into: the last one, if it has no offset yet, or another.
func (r *stageReader) open() *stage {
	if n := len(r.list); n > 0 {
		if s := &r.list[n-1]; s.act == nil && s.offset == 0 && s.bias == nil {
			return s
		}
	}
	r.list = append(r.list, stage{scale: 1})
	return &r.list[len(r.list)-1]
}

func (r *stageReader) scaleBias(scale, offset float32) {
	if scale != 1 {
		s := r.open()
		if s.gain != nil {
			r.list = append(r.list, stage{scale: 1})
			s = &r.list[len(r.list)-1]
		}
		s.scale *= scale
	}
	if offset == 0 {
		return
	}
	if s := r.open(); s.gain != nil {
		s.bias = slices.Repeat([]float32{offset}, r.channels)
	} else {
		s.offset = offset
	}
}

func (r *stageReader) multiply(v *anec.Value) {
	if v == nil {
		return
	}
	if s, ok := loneNumber(v); ok {
		r.scaleBias(s, 0)
		return
	}
	gain, why := r.perChannel(v)
	if why != nil {
		r.decline(why)
		return
	}
	r.list = append(r.list, stage{gain: gain})
}

func (r *stageReader) add(v *anec.Value) {
	if v == nil {
		return
	}
	if s, ok := loneNumber(v); ok {
		r.scaleBias(1, s)
		return
	}
	bias, why := r.perChannel(v)
	if why != nil {
		r.decline(why)
		return
	}
	s := r.open()
	if s.gain == nil {
		s.gain = slices.Repeat([]float32{s.scale}, r.channels)
	}
	s.bias = bias
}

// perChannel is a constant with a number for each channel.
func (r *stageReader) perChannel(v *anec.Value) ([]float32, *diag.Reason) {
	if why := numbers(v); why != nil {
		return nil, why
	}
	if want := (anec.Dims{1, 1, r.channels, 1, 1}); v.Type.Dims != want {
		return nil, notPerChannel(v, want)
	}
	if v.Const.Mutable {
		return nil, mutableNumbers(v)
	}
	return v.Const.Stored.Float32s(), nil
}

func (r *stageReader) step(s *anec.Step) {
	number := s.Operand == nil && s.Earlier == 0
	switch {
	case s.Code == td.MicroActivation:
		r.function(&anec.Activation{Function: s.Function, A: s.A, B: s.B})
	case s.Code == td.MicroScaleBias:
		r.scaleBias(s.A, s.B)
	case s.Code != td.MicroEW:
		r.decline(otherStep(s))
	case s.Earlier != 0:
		r.decline(earlierStep(s))
	case s.EW == td.EWMult && number:
		r.scaleBias(s.A, 0)
	case s.EW == td.EWMult && s.Operand.Const != nil:
		r.multiply(s.Operand)
	case s.EW == td.EWAdd && number:
		r.scaleBias(1, s.A)
	case s.EW == td.EWAdd && s.Operand.Const != nil:
		r.add(s.Operand)
	case s.EW == td.EWSub && number && !s.Swap:
		r.scaleBias(1, -s.A)
	case s.EW == td.EWSub && number:
		r.scaleBias(-1, s.A)
	default:
		r.decline(otherStep(s))
	}
}

// merged makes one stage of two that one can say.
func merged(stages []stage) []stage {
	var list []stage
	for _, s := range stages {
		if n := len(list); n > 0 && s.plain() && list[n-1].plain() && list[n-1].offset == 0 && (s.scale == 1 || list[n-1].scale == 1) {
			list[n-1].scale *= s.scale
			list[n-1].offset = s.offset
			continue
		}
		list = append(list, s)
	}
	return list
}

// fold lets a planar task do the first stages; it returns those that are left. The task has scale 1 and bias 0.
func fold(o *units.Op, stages []stage) []stage {
	if len(stages) > 0 && stages[0].plain() {
		o.Scale, o.Bias = tensor.ToF16(stages[0].scale), tensor.ToF16(stages[0].offset)
		o.Rounded = !isHalf(stages[0].scale) || !isHalf(stages[0].offset)
		stages = stages[1:]
	}
	if len(stages) > 0 && isReLU(stages[0].act) {
		o.ReLU = true
		stages = stages[1:]
	}
	return stages
}

// isHalf reports whether fp16 has a number.
func isHalf(v float32) bool { return tensor.RoundF16(v) == v }

func isReLU(a *anec.Activation) bool { return a != nil && a.Function == td.FuncReLU }

// foldable is how many of the first stages fold takes.
func foldable(stages []stage) int {
	return len(stages) - len(fold(&units.Op{}, stages))
}

// folds declines stages that fold does not take.
func folds(stages []stage) *diag.Reason {
	n := foldable(stages)
	if n == len(stages) {
		return nil
	}
	return diag.Decline(diag.NativeEpilogue, "the task takes a scale, an offset and a relu after it, and there are more steps").Measure(n, len(stages))
}

// finishRest does the stages that a task left, if it did: the destination has the result else.
func (c *chain) finishRest(t operand, stages []stage, to *units.Surface) *diag.Reason {
	if len(stages) == 0 {
		return nil
	}
	return c.finish(t, stages, to)
}

// finish does stages with t; the last task writes to the destination. Without stages it is a copy.
func (c *chain) finish(t operand, stages []stage, to *units.Surface) *diag.Reason {
	if len(stages) == 0 {
		c.pass(t, nil, to)
		return nil
	}
	for len(stages) > 0 {
		s, rest := stages[0], stages[1:]
		var f *function // of the next stage, if it rides along
		if s.act == nil && len(rest) > 0 && rest[0].act != nil {
			if g, why := functionOf(rest[0].act); why == nil && g.post == units.One && g.epsilon == 0 && (s.gain != nil || s.offset == 0 || g.nonLinear == units.ReLU) {
				f, rest = &g, rest[1:]
			}
		}
		dest := to
		if len(rest) > 0 {
			dest = nil
		}
		var why *diag.Reason
		switch {
		case s.act != nil:
			t, why = c.function(t, s.act, dest)
		case s.gain != nil:
			t, why = c.gains(t, s.gain, s.bias, f, dest)
		case f != nil && f.nonLinear != units.ReLU:
			f.post = tensor.ToF16(s.scale)
			t = c.pass(t, f, dest)
		default:
			t = c.one(t, dest, func(o *units.Op) { fold(o, stages[:1]); o.ReLU = f != nil })
		}
		if why != nil {
			return why
		}
		stages = rest
	}
	return nil
}

// gains is t*gain + bias with a number for each channel, and a function of it. The planar engine has (t + offset)*gain.
func (c *chain) gains(t operand, gain, bias []float32, f *function, to *units.Surface) (operand, *diag.Reason) {
	offsets, factors := make([]uint16, len(gain)), make([]uint16, len(gain))
	rounded := false
	for i, g := range gain {
		offset := float32(0)
		if bias != nil && bias[i] != 0 {
			offset = bias[i] / g
		}
		offsets[i], factors[i] = tensor.ToF16(offset), tensor.ToF16(g)
		if offsets[i]&0x7c00 == 0x7c00 { // no number, or none of fp16: g is as good as 0
			return c.affine(t, gain, bias, f, to)
		}
		rounded = rounded || !isHalf(offset) || !isHalf(g)
	}
	dest := to
	if f != nil && f.nonLinear != units.ReLU {
		dest = nil
	}
	y, why := c.gain(t, offsets, factors, dest, func(o *units.Op) { o.ReLU, o.Rounded = f != nil && f.nonLinear == units.ReLU, rounded })
	if why == nil && f != nil && f.nonLinear != units.ReLU {
		y = c.pass(y, f, to)
	}
	return y, why
}

// gain is (t + offset)*gain. The constants become two rows, offsets above gains, which a first task brings on chip:
//
//	constants ─ copy ─ [offset; gain]─┐
//	                             t ─ (t + offset)*gain
func (c *chain) gain(t operand, offset, gain []uint16, to *units.Surface, edit func(*units.Op)) (operand, *diag.Reason) {
	channels := t.size.C
	if len(gain) != channels || len(offset) != channels {
		return t, otherChannels(channels, len(gain))
	}
	m := c.b.constantImage(slices.Concat(offset, gain), channels, 2, 1)
	constants := c.pass(operand{size: units.Size{W: channels, H: 2, D: 1, C: 1}, groups: 1, memory: m}, nil, nil)
	o := c.b.Planar(td.TypePlanarGain, t.size)
	o.Groups, o.Transpose2 = t.groups, true
	edit(o)
	y := c.place(o, to)
	c.connect(o, t, constants)
	c.add(o)
	if constants.memory != nil {
		return y, noRoom("a gain and an offset for each channel", c.room(), 2*c.b.ChannelBytes(channels))
	}
	return y, nil
}

// otherChannels declines gains that are not one for each channel as the task has them.
func otherChannels(want, found int) *diag.Reason {
	return diag.Decline(diag.NativeConstant, "there is not one gain for each channel of the task").Measure(want, found)
}

// affine is t*gain + bias with a number for each channel, and a function of it, where a gain may be 0: a convolution of one
// point in which each channel has its own weight.
func (c *chain) affine(t operand, gain, bias []float32, f *function, to *units.Surface) (operand, *diag.Reason) {
	if len(gain) != t.size.C {
		return t, otherChannels(t.size.C, len(gain))
	}
	if f != nil && (f.post != units.One || f.epsilon != 0) {
		return t, diag.Decline(diag.NativeEpilogue, "gains, of which one is 0, are followed by a function that scales its argument or adds to it")
	}
	shape := c.b.Bypass(t.size)
	shape.Groups = t.groups
	y := c.place(shape, to)
	first := c.b.Bypass(t.size)
	k := td.Kernel{
		Groups: 1, Outputs: t.size.C, Inputs: 1, Height: 1, Width: 1, StrideY: 1, StrideX: 1,
		Lanes: 1, Engines: c.b.EnginesFor(t.size.C), Format: td.KernelFP16,
	}
	halves := func(list []float32) (rounded []uint16) {
		for _, v := range list {
			rounded = append(rounded, tensor.ToF16(v))
			first.Rounded = first.Rounded || !isHalf(v)
		}
		return rounded
	}
	w := td.Weights{Values: halves(gain)}
	if f != nil && f.table != nil {
		w.Table, k.Table = f.table.Encode(), true
	}
	if why := c.b.weigh(first, k, w, &after{scale: 1}, halves(bias)); why != nil {
		return t, why
	}
	if f != nil {
		first.NonLinear = f.nonLinear
	}
	for g := range t.groups { // which weights a second group would have is known of convolutions with groups only
		o := *first
		from, into := t.part(g), y.part(g)
		o.Source1 = units.Source{Chip: from.chip}
		if from.memory != nil {
			o.Source1 = units.Source{Memory: from.memory, Chip: c.b.weightedChip(c.free, t.size)}
		}
		o.Result, o.Chip = into.memory, into.chip
		c.add(&o)
	}
	return y, nil
}

// part is one group of an operand.
func (t operand) part(g int) operand {
	if t.memory != nil {
		m := *t.memory
		m.Offset += g * m.Group
		t.memory = &m
	} else {
		t.chip.Base += g * t.chip.Group
		t.chip.Group = 0
	}
	t.groups = 1
	return t
}

// weightedChip is the layout of what the array streams in for a convolution of stride 1.
func (b *builder) weightedChip(base int, s units.Size) units.Chip {
	c := units.Chip{Base: base, Channel: max(b.OnChipAlign, b.ChannelBytes(s.W))}
	c.Depth = s.C * c.Channel
	c.Row, c.Group = c.Depth, c.Depth
	if c.Depth%0x100 == 0 {
		c.Row += 0x30
		if c.Depth == 0x200 {
			c.Row = c.Depth + 0x20
		}
	}
	return c
}
