package compiler

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the planar engine: two tensors, a tensor and a number, a tensor and a number for each channel.

// planarOperators are the words of the operators; a subtraction adds the negated second source.
var planarOperators = map[td.EWKind]uint32{td.EWAdd: 0, td.EWSub: 0, td.EWMult: 1, td.EWMax: 2, td.EWMin: 3}

// elementWise selects the tasks of an elementwise layer.
func (b *v7build) elementWise(l *anec.Layer, p *anec.ElementWise) ([]*v7op, bool) {
	if p.Type == td.EWAbs {
		return b.absolute(l)
	}
	if len(l.Bottoms) != 2 || l.Bottoms[1] == nil {
		return nil, false
	}
	x, z := l.Bottoms[0], l.Bottoms[1]
	switch {
	case z.Const != nil:
		return b.withConstant(l, p.Type, x, z, false)
	case x.Const != nil:
		return b.withConstant(l, p.Type, z, x, true)
	case p.Type == td.EWDiv:
		return b.quotient(l, x, z)
	case p.Type == td.EWPower:
		return b.power(l, x, z)
	case p.Type == td.EWLessThan:
		return nil, false
	}
	if _, ok := planarOperators[p.Type]; !ok {
		return nil, false
	}
	if x.Type.Dims != z.Type.Dims {
		return b.broadcast(l, p.Type, x, z)
	}
	return b.binary(l, p.Type, x, z)
}

// binary is a task of two tensors of one shape.
//
//	x ─┐
//	   ├─ op ─ y
//	z ─┘
func (b *v7build) binary(l *anec.Layer, kind td.EWKind, x, z *anec.Value) ([]*v7op, bool) {
	if z.Def != nil && b.joined[z.Def] { // a function of a source, which join found
		n, ok := z.Def.Params.(*anec.Neuron)
		if !ok {
			return b.withProduct(l, kind, x, z.Def)
		}
		if n.Type == td.FuncReLU {
			return b.pair(l, kind, x, z.Def.Bottoms[0], true, false)
		}
		return b.withItself(l, kind, x, &anec.Activation{Function: n.Type, A: n.A, B: n.B})
	}
	return b.pair(l, kind, x, z, false, false)
}

// pair is x op z, of which z may be read through relu; swapped: z op x.
func (b *v7build) pair(l *anec.Layer, kind td.EWKind, x, z *anec.Value, relu2, swapped bool) ([]*v7op, bool) {
	size, groups := v7sizeOf(l.Top())
	o := newPlanar(td.TypePlanarBinary, size)
	if o.groups = groups; !relu2 || l.Kind() == anec.KindElementWise {
		var ok bool
		if o, ok = b.planarLayer(l, td.TypePlanarBinary); !ok {
			return nil, false
		}
	}
	my, ok0 := b.surface(l.Top())
	mx, ok1 := b.surface(x)
	mz, ok2 := b.surface(z)
	if !ok0 || !ok1 || !ok2 || x.Type.Dims != z.Type.Dims || x.Type.Dims != l.Top().Type.Dims {
		return nil, false
	}
	o.result = my
	cx := planarChip(0, o.in)
	cz := planarChip(0, o.in)
	h := o.in.h
	for v7apart(v7align(cx.end(h), 0x40))+cz.end(h) >= v7chipBytes && h > 1 {
		h = (h + 1) / 2 // a tile of the rows
	}
	cz.base = v7apart(v7align(cx.end(h), 0x40))
	o.source1 = v7source{memory: mx, chip: cx}
	o.source2 = &v7source{memory: mz, chip: cz}
	o.relu2 = relu2
	o.chip = passing(cz, h)
	o.operator = planarOperators[kind]
	if kind == td.EWSub {
		o.negate1, o.negate2 = swapped, !swapped
	}
	return []*v7op{o}, true
}

// planarLayer begins the task of a layer on the planar engine: sizes, result, and its epilogue.
func (b *v7build) planarLayer(l *anec.Layer, kind int) (*v7op, bool) {
	size, groups := v7sizeOf(l.Top())
	o := newPlanar(kind, size)
	o.groups = groups
	after, ok := b.after(l)
	if !ok || after.bias != nil || (after.act != nil && after.act.Function != td.FuncReLU) {
		return nil, false
	}
	o.scale, o.bias, o.relu = tensor.ToF16(after.scale), tensor.ToF16(after.offset), after.act != nil
	m, ok := b.surface(l.Top())
	o.result = m
	return o, ok
}

// unary is a task of one tensor: (x*scale + bias).
func (b *v7build) unary(l *anec.Layer, x *anec.Value) (*v7op, bool) {
	o, ok := b.planarLayer(l, td.TypePlanarUnary)
	if !ok || x.Type.Dims != l.Top().Type.Dims {
		return nil, false
	}
	m, ok := b.surface(x)
	if !ok {
		return nil, false
	}
	o.source1 = v7source{memory: m, chip: planarChip(0, o.in)}
	o.chip = passing(o.source1.chip, o.in.h)
	return o, true
}

// absolute is |x|.
func (b *v7build) absolute(l *anec.Layer) ([]*v7op, bool) {
	if !l.Epilogue.Empty() {
		return nil, false
	}
	o, ok := b.unary(l, l.Bottoms[0])
	if !ok {
		return nil, false
	}
	o.condition = 1
	return []*v7op{o}, true
}

// withConstant is an elementwise layer with a constant: a number, or one for each channel. swapped: the constant is the
// first operand.
func (b *v7build) withConstant(l *anec.Layer, kind td.EWKind, x, constant *anec.Value, swapped bool) ([]*v7op, bool) {
	if x.Type.Dims != l.Top().Type.Dims {
		return nil, false
	}
	v, scalar := scalarHalf(constant)
	switch {
	case scalar && (kind == td.EWMax || kind == td.EWMin):
		table := td.MaxTable(v)
		if kind == td.EWMin {
			table = td.MinTable(v)
		}
		return b.tableLayer(l, x, table, v7One)
	case scalar:
		return b.withNumber(l, kind, x, v, swapped)
	case swapped && kind == td.EWSub:
		return nil, false
	}
	return b.withChannels(l, kind, x, constant)
}

const v7sign = 0x8000

func (b *v7build) withNumber(l *anec.Layer, kind td.EWKind, x *anec.Value, v uint16, swapped bool) ([]*v7op, bool) {
	after, ok := b.after(l)
	if !ok || after.scale != 1 || after.offset != 0 {
		return nil, false // the words have one scale and one bias
	}
	o, ok := b.unary(l, x)
	if !ok {
		return nil, false
	}
	switch kind {
	case td.EWAdd:
		o.bias = v
	case td.EWMult:
		o.scale = v
	case td.EWSub:
		if o.bias = v ^ v7sign; swapped {
			o.scale, o.bias = v7One^v7sign, v
		}
	default:
		return nil, false
	}
	return []*v7op{o}, true
}

// withChannels is x + v or x*v with a number for each channel. The constant becomes two rows, offsets above gains, which
// a first task brings on chip:
//
//	constants ─ copy ─ [offset; gain]─┐
//	                             x ─ (x + offset)*gain ─ y
func (b *v7build) withChannels(l *anec.Layer, kind td.EWKind, x, constant *anec.Value) ([]*v7op, bool) {
	channels := l.Top().Type.Dims[anec.C]
	want := anec.Dims{1, 1, channels, 1, 1}
	values, ok := halves(constant)
	if !ok || constant.Type.Dims != want {
		return nil, false
	}
	offset, gain := make([]uint16, channels), make([]uint16, channels)
	for i, v := range values {
		offset[i], gain[i] = 0, v7One
		switch kind {
		case td.EWAdd:
			offset[i] = v
		case td.EWSub:
			offset[i] = v ^ v7sign
		case td.EWMult:
			gain[i] = v
		default:
			return nil, false
		}
	}
	o, ok := b.planarLayer(l, td.TypePlanarGain)
	if !ok || o.groups != 1 {
		return nil, false
	}
	mx, ok := b.surface(x)
	if !ok {
		return nil, false
	}
	row := v7align(2*channels, 64)
	rows := make([]byte, 2*row)
	for i := range channels {
		binary.LittleEndian.PutUint16(rows[2*i:], offset[i])
		binary.LittleEndian.PutUint16(rows[row+2*i:], gain[i])
	}
	m := &v7surface{base: v7const, offset: b.constants.add(rows), row: row, plane: 2 * row, depth: 2 * row, group: 2 * row}
	pair := v7size{w: channels, h: 2, d: 1, c: 1}
	load := newBypass(pair)
	load.chip = residentChip(0, pair)
	load.source1 = v7source{memory: m, chip: arrayChip(load.chip.end(2), pair)}

	second := load.chip
	o.source1 = v7source{memory: mx, chip: planarChip(load.chip.end(2), o.in)}
	o.source2 = &v7source{chip: second}
	o.transpose2 = true
	o.chip = passing(o.source1.chip, o.in.h)
	return []*v7op{load, o}, true
}

// broadcast is a task of two tensors of which the second is smaller: a first task brings it on chip.
func (b *v7build) broadcast(l *anec.Layer, kind td.EWKind, x, z *anec.Value) ([]*v7op, bool) {
	swapped := false
	if z.Type.Dims == l.Top().Type.Dims {
		x, z, swapped = z, x, true
	}
	if x.Type.Dims != l.Top().Type.Dims || z.Type.Dims[anec.N] != 1 {
		return nil, false
	}
	o, ok := b.planarLayer(l, td.TypePlanarBinary)
	if !ok {
		return nil, false
	}
	mx, ok1 := b.surface(x)
	mz, ok2 := b.surface(z)
	if !ok1 || !ok2 || o.groups != 1 {
		return nil, false
	}
	small, _ := v7sizeOf(z)
	load := newBypass(small)
	load.chip = residentChip(0, small)
	load.source1 = v7source{memory: mz, chip: arrayChip(load.chip.end(small.h), small)}
	if load.chip.end(small.h) > v7chipBytes/2 {
		return nil, false
	}
	o.source1 = v7source{memory: mx, chip: planarChip(load.chip.end(small.h), o.in)}
	o.source2 = &v7source{chip: load.chip}
	o.broadcast2 = broadcastBits(o.in, small)
	o.chip = passing(o.source1.chip, o.in.h)
	o.operator = planarOperators[kind]
	if kind == td.EWSub {
		o.negate1, o.negate2 = swapped, !swapped
	}
	return []*v7op{load, o}, true
}

// broadcastBits are the axes along which a source has one element and the task more.
func broadcastBits(task, source v7size) (bits uint32) {
	if source.w < task.w {
		bits |= v7BroadcastW
	}
	if source.h < task.h {
		bits |= v7BroadcastH
	}
	if source.c < task.c {
		bits |= v7BroadcastC
	}
	return bits
}
