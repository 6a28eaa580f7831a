package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the planar engine: two tensors, a tensor and a number, a tensor and a number for each channel.

// planarOperators are the words of the operators; a subtraction adds the negated second source.
var planarOperators = map[td.EWKind]uint32{td.EWAdd: 0, td.EWSub: 0, td.EWMult: 1, td.EWMax: 2, td.EWMin: 3}

const signBit = 0x8000

// elementWise selects the tasks of an elementwise layer.
func (b *builder) elementWise(l *anec.Layer, p *anec.ElementWise) ([]*units.Op, bool) {
	if p.Type.Unary() {
		return b.elementWiseUnary(l, p.Type)
	}
	if len(l.Bottoms) != 2 || l.Bottoms[1] == nil {
		return nil, false
	}
	x, z := l.Bottoms[0], l.Bottoms[1]
	if l.Top().Type.DType == tensor.Bool {
		return b.comparison(l, p.Type, x, z)
	}
	if x.Type.DType != tensor.Float16 || z.Type.DType != tensor.Float16 || l.Top().Type.DType != tensor.Float16 {
		return nil, false
	}
	switch {
	case x.Const != nil && z.Const != nil:
		return nil, false // it is computed when the program is compiled
	case z.Const != nil:
		if ops, ok := b.attempt(func() ([]*units.Op, bool) { return b.withConstant(l, p.Type, x, z, false) }); ok {
			return ops, true
		}
	case x.Const != nil:
		if ops, ok := b.attempt(func() ([]*units.Op, bool) { return b.withConstant(l, p.Type, z, x, true) }); ok {
			return ops, true
		}
	case z.Def != nil && b.joined[z.Def]:
		return b.withJoined(l, p.Type, x, z)
	case p.Type == td.EWPower && x.Type.Dims == z.Type.Dims:
		if ops, ok := b.attempt(func() ([]*units.Op, bool) { return b.power(l, x, z) }); ok {
			return ops, true
		}
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) bool {
		tx, ok1 := b.tensorOf(x)
		tz, ok2 := b.tensorOf(z)
		return ok1 && ok2 && c.elementWise(p.Type, tx, tz, like, to, stages)
	})
}

// chained begins a layer's chain: its tasks make something like the top, before the layer's transpose, and do the stages
// of its epilogue with it, the last of them to the destination.
func (b *builder) chained(l *anec.Layer, tasks func(c *chain, like operand, to *units.Surface, stages []stage) bool) ([]*units.Op, bool) {
	stages, ok := stagesOf(l)
	if !ok {
		return nil, false
	}
	c := &chain{b: b}
	if l.Epilogue.Transpose == nil {
		to, ok := b.tensorOf(l.Top())
		if !ok {
			return nil, false
		}
		ok = tasks(c, to, to.memory, stages)
		return c.ops, ok
	}
	d, turned, ok := b.beforeTranspose(l)
	if !ok {
		return nil, false
	}
	like := operand{}
	like.size, like.groups = sizeOf(d)
	if to, ok := b.isSurface(turned, d); ok {
		ok = tasks(c, like, to, stages)
		return c.ops, ok
	}
	to := b.scratchSurface(like.size, like.groups)
	if !tasks(c, like, to, stages) {
		return nil, false
	}
	moves, ok := b.moves(b.moveOf(d, layout{origin{to.Base, to.Offset}, to.Strides()}, turned))
	return append(c.ops, moves...), ok
}

// beforeTranspose is the extents of a layer's top before its transpose, and where the elements lie after it.
func (b *builder) beforeTranspose(l *anec.Layer) (anec.Dims, layout, bool) {
	at, ok := b.layout(l.Top())
	inverse := l.Epilogue.Transpose.Inverse()
	d := inverse.Apply(l.Top().Type.Dims)
	return d, at.permuted(inverse), ok && d[anec.D] == 1
}

// elementWise is an operation of two operands that broadcast, and stages after it.
func (c *chain) elementWise(kind td.EWKind, x, z, like operand, to *units.Surface, stages []stage) bool {
	after := stages[foldable(stages):]
	dest := to
	if len(after) > 0 {
		dest = nil
	}
	edit := func(o *units.Op) { fold(o, stages) }
	var y operand
	ok := true
	switch kind {
	case td.EWAdd, td.EWSub, td.EWMult, td.EWMax, td.EWMin:
		y, ok = c.two(kind, x, z, like, dest, edit)
	case td.EWDiv: // by the reciprocal (oracles, binary_real_div_1x64x8x8)
		inverse := c.byTable(z, td.ReciprocalTable(), nil)
		y, ok = c.two(td.EWMult, x, inverse, like, dest, edit)
	case td.EWPower:
		if y, ok = c.exponential(x, z, like); ok {
			return c.finish(y, append([]stage{{act: &anec.Activation{Function: td.FuncExp2}}}, stages...), to)
		}
	default:
		return false
	}
	return ok && (len(after) == 0 || c.finish(y, after, to))
}

// elementWiseUnary is an elementwise layer of one operand.
func (b *builder) elementWiseUnary(l *anec.Layer, kind td.EWKind) ([]*units.Op, bool) {
	if f, ok := unaryFunctions[kind]; ok && l.Top().Type.DType == tensor.Float16 {
		return b.functionLayer(l, l.Bottoms[0], f)
	}
	if f, ok := signKinds[kind]; ok && l.Top().Type.DType == tensor.Bool {
		return b.signLayer(l, l.Bottoms[0], f)
	}
	return nil, false
}

var unaryFunctions = map[td.EWKind]td.Function{td.EWAbs: td.FuncAbs, td.EWSquare: td.FuncSquare}

// functionLayer is a layer that is a function of one operand.
func (b *builder) functionLayer(l *anec.Layer, x *anec.Value, f td.Function) ([]*units.Op, bool) {
	return b.stageLayer(l, x, stage{act: &anec.Activation{Function: f}})
}

// stageLayer is a layer that does stages with each element of x, and then those of its epilogue.
func (b *builder) stageLayer(l *anec.Layer, x *anec.Value, first ...stage) ([]*units.Op, bool) {
	if x.Type.DType != tensor.Float16 || l.Top().Type.DType != tensor.Float16 {
		return nil, false
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) bool {
		t, ok := b.tensorOf(x)
		return ok && t.size == like.size && t.groups == like.groups && c.finish(t, merged(append(first, stages...)), to)
	})
}

// withJoined is x op z where z is a function of a value that the same tasks compute.
func (b *builder) withJoined(l *anec.Layer, kind td.EWKind, x, z *anec.Value) ([]*units.Op, bool) {
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
func (b *builder) pair(l *anec.Layer, kind td.EWKind, x, z *anec.Value, relu2, swapped bool) ([]*units.Op, bool) {
	stages, _ := stagesOf(l)
	if relu2 && l.Kind() != anec.KindElementWise {
		stages = nil // they are what is done here
	}
	to, ok0 := b.tensorOf(l.Top())
	tx, ok1 := b.tensorOf(x)
	tz, ok2 := b.tensorOf(z)
	if !ok0 || !ok1 || !ok2 || x.Type.Dims != z.Type.Dims || x.Type.Dims != l.Top().Type.Dims || l.Epilogue.Transpose != nil {
		return nil, false
	}
	c := &chain{b: b}
	_, ok := c.two(kind, tx, tz, to, to.memory, func(o *units.Op) {
		o.ReLU2 = relu2
		if kind == td.EWSub {
			o.Negate1, o.Negate2 = swapped, !swapped
		}
		fold(o, stages)
	})
	return c.ops, ok && foldable(stages) == len(stages)
}

// planarLayer begins the task of a layer on the planar engine: sizes, result, and its epilogue.
func (b *builder) planarLayer(l *anec.Layer, kind int) (*units.Op, bool) {
	size, groups := sizeOf(l.Top().Type.Dims)
	o := b.Planar(kind, size)
	o.Groups = groups
	after, ok := afterButTranspose(l)
	if !ok || l.Epilogue.Transpose != nil || after.bias != nil || (after.act != nil && after.act.Function != td.FuncReLU) {
		return nil, false
	}
	o.Scale, o.Bias, o.ReLU = tensor.ToF16(after.scale), tensor.ToF16(after.offset), after.act != nil
	m, ok := b.surface(l.Top())
	o.Result = m
	return o, ok
}

// withConstant is an elementwise layer with a constant: a number, or one for each channel. swapped: the constant is the
// first operand.
func (b *builder) withConstant(l *anec.Layer, kind td.EWKind, x, constant *anec.Value, swapped bool) ([]*units.Op, bool) {
	if x.Type.Dims != l.Top().Type.Dims {
		return nil, false
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
	return nil, false
}

// reciprocalHalf is 1/v in fp16.
func reciprocalHalf(v uint16) uint16 { return tensor.ToF16(1 / tensor.F16(v)) }

// withChannels is an operation with a constant that has a number for each channel.
func (b *builder) withChannels(l *anec.Layer, kind td.EWKind, x, constant *anec.Value, swapped bool) ([]*units.Op, bool) {
	channels := l.Top().Type.Dims[anec.C]
	values, ok := halves(constant)
	if !ok || constant.Type.Dims != (anec.Dims{1, 1, channels, 1, 1}) {
		return nil, false
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
		return nil, false
	}
	return b.gainLayer(l, x, offset, gain)
}

// gainLayer is (x + offset)*gain with a number of each for each channel.
func (b *builder) gainLayer(l *anec.Layer, x *anec.Value, offset, gain []uint16) ([]*units.Op, bool) {
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) bool {
		t, ok := b.tensorOf(x)
		if !ok || t.size != like.size || t.groups != like.groups {
			return false
		}
		relu := len(stages) > 0 && isReLU(stages[0].act)
		if relu {
			stages = stages[1:]
		}
		dest := to
		if len(stages) > 0 {
			dest = nil
		}
		y, ok := c.gain(t, offset, gain, dest, func(o *units.Op) { o.ReLU = relu })
		return ok && (len(stages) == 0 || c.finish(y, stages, to))
	})
}

// withRow is the greater or lesser of x and a number for each channel, for which the constants come on chip as a row and
// are read as channels (oracles, binary_maximum_c64_constant_blob). What a broadcast does to such a row is not known.
func (b *builder) withRow(l *anec.Layer, kind td.EWKind, x *anec.Value, values []uint16) ([]*units.Op, bool) {
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) bool {
		t, ok := b.tensorOf(x)
		if !ok || like.size.W != 1 || like.size.H != 1 || foldable(stages) < len(stages) {
			return false
		}
		m := b.constantImage(values, len(values), 1, 1)
		row := c.pass(operand{size: units.Size{W: len(values), H: 1, D: 1, C: 1}, groups: 1, memory: m}, nil, nil)
		o := b.Planar(td.TypePlanarBinary, like.size)
		o.Groups, o.Operator, o.Transpose2, o.Result = like.groups, planarOperators[kind], true, to
		fold(o, stages)
		c.connect(o, t, row)
		c.add(o)
		return row.memory == nil
	})
}

// powerOfNumber is x to a constant power; swapped: a constant to the power of x, which is exp2(x*log2 v).
func (b *builder) powerOfNumber(l *anec.Layer, x *anec.Value, v float32, swapped bool) ([]*units.Op, bool) {
	if swapped {
		return b.stageLayer(l, x, stage{scale: log2Half(v)}, stage{act: &anec.Activation{Function: td.FuncExp2}})
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) bool {
		t, ok := b.tensorOf(x)
		if !ok {
			return false
		}
		dest := to
		if len(stages) > 0 {
			dest = nil
		}
		y, ok := c.powerOf(t, v, dest)
		return ok && (len(stages) == 0 || c.finish(y, stages, to))
	})
}
