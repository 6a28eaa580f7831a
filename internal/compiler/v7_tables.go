package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// Layers that are several tables, with what lies between them on chip.

// power is x^z = exp2(z*log2 x): z and log2 x lie on chip channel by channel side by side, and the array multiplies pairs.
func (b *v7build) power(l *anec.Layer, x, z *anec.Value) ([]*v7op, bool) {
	size, groups := v7sizeOf(x.Type.Dims)
	mx, ok1 := b.surface(x)
	mz, ok2 := b.surface(z)
	my, ok3 := b.surface(l.Top())
	if !ok1 || !ok2 || !ok3 || x.Type.Dims != z.Type.Dims || groups != 1 || !l.Epilogue.Empty() {
		return nil, false
	}
	first, second, pairs := pairChips(size)
	end := first.end(size.h)
	if end+first.row >= v7chipBytes {
		return nil, false
	}
	exponent := newBypass(size)
	exponent.source1 = v7source{memory: mz, chip: arrayChip(end, size)}
	exponent.chip = first
	logarithm := newBypass(size)
	logarithm.source1 = v7source{memory: mx, chip: arrayChip(end, size)}
	logarithm.chip = second
	b.apply(logarithm, v7function{nonLinear: v7Table, table: td.Log2Table(), post: v7One})

	product := newBypass(size)
	product.in.c, product.unicast, product.operation = 2*size.c, 2, v7Product
	product.source1 = v7source{chip: pairs}
	b.apply(product, v7function{nonLinear: v7Table, table: td.Exp2Table(), post: v7One})
	product.kernel = b.constants.table(td.Exp2Table(), min(product.engines, size.c))
	product.result = my
	product.chip = v7chip{base: end}
	return []*v7op{exponent, logarithm, product}, true
}

// floor is the integer part, less 1 where the fraction is negative. Each channel has one element; between the tasks they
// lie in a row.
func (b *v7build) floor(l *anec.Layer, x *anec.Value) ([]*v7op, bool) {
	size, groups := v7sizeOf(x.Type.Dims)
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(l.Top())
	if !ok1 || !ok2 || size.w != 1 || size.h != 1 || groups != 1 {
		return nil, false
	}
	table := func(o *v7op, t *td.Table) *v7op {
		b.apply(o, v7function{nonLinear: v7Table, table: t, post: v7One})
		return o
	}
	channel := v7align(2*size.c, 16)
	below := v7chip{channel: channel, row: channel, depth: channel}
	row := below
	row.base = below.end(1)
	full := arrayChip(row.end(1), size)

	fraction := newBypass(size).exchanged()
	fraction.source1 = v7source{memory: mx, keep: true, chip: full}
	fraction.chip = row
	table(fraction, td.FractionTable())
	negative := newBypass(v7size{w: size.c, h: 1, d: 1, c: 1})
	negative.source1 = v7source{chip: row}
	negative.chip = below
	table(negative, td.LessThanZeroTable())
	integer := newBypass(size).exchanged()
	integer.source1 = v7source{chip: full}
	integer.source1.chip.group = 0
	integer.chip = row
	table(integer, td.IntegerTable())
	less := newPlanar(td.TypePlanarBinary, size)
	less.source1, less.source2 = v7source{chip: row}, &v7source{chip: below}
	less.transpose1, less.transpose2, less.negate2 = true, true, true
	less.result = my
	less.chip = v7chip{base: row.end(1)}
	return []*v7op{fraction, negative, integer, less}, true
}

// withItself is x op f(x) of one element for each channel. x stays on chip; its function lies in a row between the tasks.
func (b *v7build) withItself(l *anec.Layer, kind td.EWKind, x *anec.Value, act *anec.Activation) ([]*v7op, bool) {
	f, ok := functionOf(act)
	mx, ok1 := b.surface(x)
	o, ok2 := b.planarLayer(l, td.TypePlanarBinary)
	if !ok || !ok1 || !ok2 {
		return nil, false
	}
	size := o.in
	channel := v7align(2*size.c, 16)
	row := v7chip{channel: channel, row: channel, depth: channel}
	full := arrayChip(row.end(1), size)
	function := newBypass(size).exchanged()
	function.source1 = v7source{memory: mx, keep: true, chip: full}
	function.chip = row
	b.apply(function, f)

	full.group = 0
	o.source1, o.source2 = v7source{chip: full}, &v7source{chip: row}
	o.transpose2 = true
	o.operator, o.negate2 = planarOperators[kind], kind == td.EWSub
	o.chip = v7chip{base: full.end(1)}
	return []*v7op{function, o}, true
}
