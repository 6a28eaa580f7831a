package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the planar engine: two tensors, a tensor and a number, a tensor and a number for each channel.

// planarOperators are the words of the operators; a subtraction adds the negated second source.
var planarOperators = map[td.EWKind]uint32{td.EWAdd: 0, td.EWSub: 0, td.EWMult: 1, td.EWMax: 2, td.EWMin: 3}

const signBit = 0x8000

// elementWise selects the tasks of an elementwise layer.
func (b *builder) elementWise(l *anec.Layer, p *anec.ElementWise) ([]*units.Op, *diag.Reason) {
	if p.Type.Unary() {
		return b.elementWiseUnary(l, p.Type)
	}
	if len(l.Bottoms) != 2 || l.Bottoms[1] == nil {
		return nil, diag.Decline(diag.NativeOperand, "%v has operands that no task has", p.Type).Measure(2, len(l.Bottoms))
	}
	x, z := l.Bottoms[0], l.Bottoms[1]
	if l.Top().Type.DType == tensor.Bool {
		return b.comparison(l, p.Type, x, z)
	}
	if why := halfOnly(x, z, l.Top()); why != nil {
		return nil, why
	}
	switch {
	case x.Const != nil && z.Const != nil:
		return nil, allConstant()
	case z.Const != nil:
		if ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.withConstant(l, p.Type, x, z, false) }); why == nil {
			return ops, nil
		}
	case x.Const != nil:
		if ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.withConstant(l, p.Type, z, x, true) }); why == nil {
			return ops, nil
		}
	case z.Def != nil && b.joined[z.Def]:
		return b.withJoined(l, p.Type, x, z)
	case p.Type == td.EWPower && x.Type.Dims == z.Type.Dims:
		if ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.power(l, x, z) }); why == nil {
			return ops, nil
		}
	}
	// The general way: it takes what those above take, in more tasks.
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) *diag.Reason {
		tx, why1 := b.tensorOf(x)
		tz, why2 := b.tensorOf(z)
		if why := firstOf(why1, why2); why != nil {
			return why
		}
		return c.elementWise(p.Type, tx, tz, like, to, stages)
	})
}

// scaledElementWise selects the tasks of scale*(x op z): the planar engine scales what its operator makes, as the first stage.
func (b *builder) scaledElementWise(l *anec.Layer, p *anec.ScaledElementWise) ([]*units.Op, *diag.Reason) {
	kind, ok := scaledKinds[p.Type]
	if !ok {
		return nil, diag.Decline(diag.NativeKind, "no tasks are known for %v", p.Type)
	}
	x, z := l.Bottoms[0], l.Bottoms[1]
	if why := halfOnly(x, z, l.Top()); why != nil {
		return nil, why
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) *diag.Reason {
		tx, why1 := b.tensorOf(x)
		tz, why2 := b.tensorOf(z)
		if why := firstOf(why1, why2); why != nil {
			return why
		}
		if p.Scale != 1 {
			stages = merged(append([]stage{{scale: p.Scale}}, stages...))
		}
		return c.elementWise(kind, tx, tz, like, to, stages)
	})
}

var scaledKinds = map[td.ScaledEWKind]td.EWKind{
	td.ScaledAdd: td.EWAdd, td.ScaledMult: td.EWMult, td.ScaledMax: td.EWMax, td.ScaledMin: td.EWMin,
}

// chained begins a layer's chain: its tasks make something like the top, before the layer's transpose, and do the stages
// of its epilogue with it, the last of them to the destination.
func (b *builder) chained(l *anec.Layer, tasks func(c *chain, like operand, to *units.Surface, stages []stage) *diag.Reason) ([]*units.Op, *diag.Reason) {
	stages, why := stagesOf(l)
	if why != nil {
		return nil, why
	}
	c := &chain{b: b}
	if l.Epilogue.Transpose == nil {
		to, why := b.tensorOf(l.Top())
		if why != nil {
			return nil, why
		}
		why = tasks(c, to, to.memory, stages)
		return c.ops, why
	}
	d, at, why := b.beforeTranspose(l)
	if why != nil {
		return nil, why
	}
	like := operand{}
	like.size, like.groups = sizeOf(d)
	if to := b.surfaceOf(at, d); to != nil {
		why = tasks(c, like, to, stages)
		return c.ops, why
	}
	to := b.scratchSurface(like.size, like.groups)
	if why := tasks(c, like, to, stages); why != nil {
		return nil, why
	}
	moves, why := b.moves(b.moveOf(d, layout{origin{to.Base, to.Offset}, to.Strides()}, at))
	return append(c.ops, moves...), why
}

// beforeTranspose is the extents of a layer's top before its transpose, and where the elements lie after it.
func (b *builder) beforeTranspose(l *anec.Layer) (anec.Dims, layout, *diag.Reason) {
	at, why := b.layout(l.Top())
	inverse := l.Epilogue.Transpose.Inverse()
	d := inverse.Apply(l.Top().Type.Dims)
	if why == nil && d[anec.D] != 1 {
		why = about(l.Top(), diag.Decline(diag.NativeDepth, "has depth before it is transposed").Measure(1, d[anec.D]))
	}
	return d, at.permuted(inverse), why
}

// elementWise is an operation of two operands that broadcast, and stages after it.
func (c *chain) elementWise(kind td.EWKind, x, z, like operand, to *units.Surface, stages []stage) *diag.Reason {
	after := stages[foldable(stages):]
	dest := to
	if len(after) > 0 {
		dest = nil
	}
	edit := func(o *units.Op) { fold(o, stages) }
	var y operand
	var why *diag.Reason
	switch kind {
	case td.EWAdd, td.EWSub, td.EWMult, td.EWMax, td.EWMin:
		y, why = c.two(kind, x, z, like, dest, edit)
	case td.EWDiv: // by the reciprocal (oracles, binary_real_div_1x64x8x8)
		inverse := c.byTable(z, td.ReciprocalTable(), nil)
		y, why = c.two(td.EWMult, x, inverse, like, dest, edit)
	case td.EWPower:
		if y, why = c.exponential(x, z, like); why == nil {
			return c.finish(y, append([]stage{{act: &anec.Activation{Function: td.FuncExp2}}}, stages...), to)
		}
	default:
		why = diag.Decline(diag.NativeKind, "no tasks are known for %v", kind)
	}
	if why != nil {
		return why
	}
	return c.finishRest(y, after, to)
}

// elementWiseUnary is an elementwise layer of one operand.
func (b *builder) elementWiseUnary(l *anec.Layer, kind td.EWKind) ([]*units.Op, *diag.Reason) {
	if f, ok := unaryFunctions[kind]; ok && l.Top().Type.DType == tensor.Float16 {
		return b.functionLayer(l, l.Bottoms[0], f)
	}
	if f, ok := signKinds[kind]; ok && l.Top().Type.DType == tensor.Bool {
		return b.signLayer(l, l.Bottoms[0], f)
	}
	return nil, diag.Decline(diag.NativeKind, "no tasks are known for %v that gives %v", kind, l.Top().Type.DType)
}

var unaryFunctions = map[td.EWKind]td.Function{td.EWAbs: td.FuncAbs, td.EWSquare: td.FuncSquare}

// functionLayer is a layer that is a function of one operand.
func (b *builder) functionLayer(l *anec.Layer, x *anec.Value, f td.Function) ([]*units.Op, *diag.Reason) {
	return b.stageLayer(l, x, stage{act: &anec.Activation{Function: f}})
}

// stageLayer is a layer that does stages with each element of x, and then those of its epilogue.
func (b *builder) stageLayer(l *anec.Layer, x *anec.Value, first ...stage) ([]*units.Op, *diag.Reason) {
	if why := halfOnly(x, l.Top()); why != nil {
		return nil, why
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) *diag.Reason {
		t, why := b.tensorOf(x)
		if why != nil {
			return why
		}
		if why := t.sameAs(like); why != nil {
			return about(x, why)
		}
		return c.finish(t, merged(append(first, stages...)), to)
	})
}

// sameAs declines an operand that would have to broadcast. The caller names it.
func (t operand) sameAs(like operand) *diag.Reason {
	switch {
	case t.size != like.size:
		return diag.Decline(diag.NativeOperand, "has other extents than the result, W, H, D and C").Measure(like.size, t.size)
	case t.groups != like.groups:
		return diag.Decline(diag.NativeOperand, "has another batch than the result").Measure(like.groups, t.groups)
	}
	return nil
}

// withJoined is x op z where z is a function of a value that the same tasks compute.
func (b *builder) withJoined(l *anec.Layer, kind td.EWKind, x, z *anec.Value) ([]*units.Op, *diag.Reason) {
	n, ok := z.Def.Params.(*anec.Neuron)
	if !ok {
		return b.withProduct(l, kind, x, z.Def)
	}
	if n.Type == td.FuncReLU {
		return b.pair(l, kind, x, z.Def.Bottoms[0], true, false)
	}
	return b.withItself(l, kind, x, &anec.Activation{Function: n.Type, A: n.A, B: n.B})
}

// pair is x op z of one shape, of which z may be read through relu; swapped: z op x.
//
//	x ─┐
//	   ├─ op ─ y
//	z ─┘
func (b *builder) pair(l *anec.Layer, kind td.EWKind, x, z *anec.Value, relu2, swapped bool) ([]*units.Op, *diag.Reason) {
	stages, _ := stagesOf(l)
	if relu2 && l.Kind() != anec.KindElementWise {
		stages = nil // they are what is done here
	}
	to, why0 := b.tensorOf(l.Top())
	tx, why1 := b.tensorOf(x)
	tz, why2 := b.tensorOf(z)
	if why := firstOf(why0, why1, why2, sameExtents(z, x), sameExtents(x, l.Top()), withoutTranspose(l)); why != nil {
		return nil, why
	}
	c := &chain{b: b}
	_, why := c.two(kind, tx, tz, to, to.memory, func(o *units.Op) {
		o.ReLU2 = relu2
		if kind == td.EWSub {
			o.Negate1, o.Negate2 = swapped, !swapped
		}
		fold(o, stages)
	})
	return c.ops, firstOf(why, folds(stages))
}

// planarLayer begins the task of a layer on the planar engine: sizes, result, and its epilogue.
func (b *builder) planarLayer(l *anec.Layer, kind int) (*units.Op, *diag.Reason) {
	size, groups := sizeOf(l.Top().Type.Dims)
	o := b.Planar(kind, size)
	o.Groups = groups
	after, why := afterButTranspose(l)
	if why := firstOf(why, withoutTranspose(l)); why != nil {
		return nil, why
	}
	switch {
	case after.bias != nil:
		return nil, diag.Decline(diag.NativeEpilogue, "the result has a number added for each channel; the planar engine adds one").In("Bias")
	case after.act != nil && after.act.Function != td.FuncReLU:
		return nil, notReLU(after.act)
	}
	o.Scale, o.Bias, o.ReLU = tensor.ToF16(after.scale), tensor.ToF16(after.offset), after.act != nil
	m, why := b.surface(l.Top())
	o.Result = m
	return o, why
}

// notReLU declines a function behind a task of the planar engine.
func notReLU(a *anec.Activation) *diag.Reason {
	return diag.Decline(diag.NativeEpilogue, "the planar engine ends with no other function").In("ReLU").Measure(td.FuncReLU, a.Function)
}

// withConstant is an elementwise layer with a constant: a number, or one for each channel. swapped: the constant is the
// first operand.
func (b *builder) withConstant(l *anec.Layer, kind td.EWKind, x, constant *anec.Value, swapped bool) ([]*units.Op, *diag.Reason) {
	if why := sameExtents(x, l.Top()); why != nil {
		return nil, why
	}
	v, scalar := scalarHalf(constant)
	if !scalar {
		return b.withChannels(l, kind, x, constant, swapped)
	}
	number := tensor.F16(v)
	switch kind {
	case td.EWAdd:
		return b.stageLayer(l, x, stage{scale: 1, offset: number})
	case td.EWMult:
		return b.stageLayer(l, x, stage{scale: number})
	case td.EWSub:
		if swapped {
			return b.stageLayer(l, x, stage{scale: -1, offset: number})
		}
		return b.stageLayer(l, x, stage{scale: 1, offset: -number})
	case td.EWMax:
		return b.tableLayer(l, x, td.MaxTable(v), units.One)
	case td.EWMin:
		return b.tableLayer(l, x, td.MinTable(v), units.One)
	case td.EWDiv:
		if swapped { // a multiple of the reciprocal
			return b.stageLayer(l, x, stage{act: &anec.Activation{Function: td.FuncInverse}}, stage{scale: number})
		}
		// By a gain of each channel, as recorded (oracles, binary_real_div_c64_constant_scalar).
		return b.gainLayer(l, x, make([]uint16, x.Type.Dims[anec.C]), slices.Repeat([]uint16{reciprocalHalf(v)}, x.Type.Dims[anec.C]))
	case td.EWPower:
		return b.powerOfNumber(l, x, number, swapped)
	}
	return nil, diag.Decline(diag.NativeKind, "no tasks are known for %v with a number", kind)
}

// reciprocalHalf is 1/v in fp16.
func reciprocalHalf(v uint16) uint16 { return tensor.ToF16(1 / tensor.F16(v)) }

// withChannels is an operation with a constant that has a number for each channel.
func (b *builder) withChannels(l *anec.Layer, kind td.EWKind, x, constant *anec.Value, swapped bool) ([]*units.Op, *diag.Reason) {
	channels := l.Top().Type.Dims[anec.C]
	values, why := halves(constant)
	if why != nil {
		return nil, why
	}
	if want := (anec.Dims{1, 1, channels, 1, 1}); constant.Type.Dims != want {
		return nil, notPerChannel(constant, want)
	}
	if c := constant.Const; c != nil && c.Mutable && (kind == td.EWSub || kind == td.EWDiv) {
		return nil, mutableNumbers(constant)
	}
	offset, gain := make([]uint16, channels), slices.Repeat([]uint16{units.One}, channels)
	switch {
	case kind == td.EWAdd:
		offset = values
	case kind == td.EWMult:
		gain = values
	case kind == td.EWSub && !swapped:
		for i, v := range values {
			offset[i] = v ^ signBit
		}
	case kind == td.EWDiv && !swapped:
		for i, v := range values {
			gain[i] = reciprocalHalf(v)
		}
	case kind == td.EWMax || kind == td.EWMin:
		return b.withRow(l, kind, x, values)
	default:
		return nil, diag.Decline(diag.NativeKind, "no tasks are known for %v with a number for each channel, as the operands stand", kind)
	}
	return b.gainLayer(l, x, offset, gain)
}

// gainLayer is (x + offset)*gain with a number of each for each channel.
func (b *builder) gainLayer(l *anec.Layer, x *anec.Value, offset, gain []uint16) ([]*units.Op, *diag.Reason) {
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) *diag.Reason {
		t, why := b.tensorOf(x)
		if why != nil {
			return why
		}
		if why := t.sameAs(like); why != nil {
			return about(x, why)
		}
		relu := len(stages) > 0 && isReLU(stages[0].act)
		if relu {
			stages = stages[1:]
		}
		dest := to
		if len(stages) > 0 {
			dest = nil
		}
		y, why := c.gain(t, offset, gain, dest, func(o *units.Op) { o.ReLU = relu })
		if why != nil {
			return why
		}
		return c.finishRest(y, stages, to)
	})
}

// withRow is the greater or lesser of x and a number for each channel, for which the constants come on chip as a row and
// are read as channels (oracles, binary_maximum_c64_constant_blob). What a broadcast does to such a row is not known.
func (b *builder) withRow(l *anec.Layer, kind td.EWKind, x *anec.Value, values []uint16) ([]*units.Op, *diag.Reason) {
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) *diag.Reason {
		t, why := b.tensorOf(x)
		if why != nil {
			return why
		}
		if like.size.W != 1 || like.size.H != 1 {
			return diag.Decline(diag.NativeRecord, "%v takes a number for each channel, as recorded programs do for one element of each", kind).In("Transpose2").Measure(1, like.size.W*like.size.H)
		}
		if why := folds(stages); why != nil {
			return why
		}
		m := b.constantImage(values, len(values), 1, 1)
		row := c.pass(operand{size: units.Size{W: len(values), H: 1, D: 1, C: 1}, groups: 1, memory: m}, nil, nil)
		o := b.Planar(td.TypePlanarBinary, like.size)
		o.Groups, o.Operator, o.Transpose2, o.Result = like.groups, planarOperators[kind], true, to
		fold(o, stages)
		c.connect(o, t, row)
		c.add(o)
		if row.memory != nil {
			return noRoom("a row of numbers for the channels", c.room(), b.ChannelBytes(len(values)))
		}
		return nil
	})
}

// powerOfNumber is x to a constant power; swapped: a constant to the power of x, which is exp2(x*log2 v).
func (b *builder) powerOfNumber(l *anec.Layer, x *anec.Value, v float32, swapped bool) ([]*units.Op, *diag.Reason) {
	if swapped {
		return b.stageLayer(l, x, stage{scale: log2Half(v)}, stage{act: &anec.Activation{Function: td.FuncExp2}})
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) *diag.Reason {
		t, why := b.tensorOf(x)
		if why != nil {
			return why
		}
		dest := to
		if len(stages) > 0 {
			dest = nil
		}
		y, why := c.powerOf(t, v, dest)
		if why != nil {
			return why
		}
		return c.finishRest(y, stages, to)
	})
}
