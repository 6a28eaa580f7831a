package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Layers that are several tables, with what lies between them on chip.

// power is x^z = exp2(z*log2 x): z and log2 x lie on chip channel by channel side by side, and the array multiplies pairs.
func (b *builder) power(l *anec.Layer, x, z *anec.Value) ([]*units.Op, *diag.Reason) {
	size, groups := sizeOf(x.Type.Dims)
	mx, why1 := b.surface(x)
	mz, why2 := b.surface(z)
	my, why3 := b.surface(l.Top())
	if why := firstOf(why1, why2, why3, sameExtents(z, x), bareOnly(l)); why != nil {
		return nil, why
	}
	if groups != 1 {
		return nil, diag.Decline(diag.NativeSize, "the recorded power has no batch").In("Groups").Measure(1, groups)
	}
	first, second, pairs := b.PairChips(size)
	end := first.End(size.H)
	if end+first.Row >= b.OnChip {
		return nil, noRoom("base and exponent, channel by channel side by side,", b.OnChip, end+first.Row)
	}
	exponent := b.Bypass(size)
	exponent.Source1 = units.Source{Memory: mz, Chip: b.ArrayChip(end, size)}
	exponent.Chip = first
	logarithm := b.Bypass(size)
	logarithm.Source1 = units.Source{Memory: mx, Chip: b.ArrayChip(end, size)}
	logarithm.Chip = second
	b.apply(logarithm, function{nonLinear: units.Table, table: td.Log2Table(), post: units.One})

	product := b.Bypass(size)
	product.In.C, product.Unicast, product.Operation = 2*size.C, 2, units.Product
	product.Source1 = units.Source{Chip: pairs}
	b.apply(product, function{nonLinear: units.Table, table: td.Exp2Table(), post: units.One})
	product.Kernel = b.constants.Table(td.Exp2Table(), min(product.Engines, size.C))
	product.Result = my
	product.Chip = units.Chip{Base: end}
	return []*units.Op{exponent, logarithm, product}, nil
}

// floor is the integer part, less 1 where the fraction is negative. Each channel has one element; between the tasks they
// lie in a row.
func (b *builder) floor(l *anec.Layer, x *anec.Value) ([]*units.Op, *diag.Reason) {
	size, groups := sizeOf(x.Type.Dims)
	mx, why1 := b.surface(x)
	my, why2 := b.surface(l.Top())
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	if size.W != 1 || size.H != 1 || groups != 1 {
		return nil, diag.Decline(diag.NativeSize, "the recorded floor has one element for each channel").Measure(1, size.W*size.H*groups)
	}
	table := func(o *units.Op, t *td.Table) *units.Op {
		b.apply(o, function{nonLinear: units.Table, table: t, post: units.One})
		return o
	}
	channel := b.ChannelBytes(size.C)
	below := units.Chip{Channel: channel, Row: channel, Depth: channel}
	row := below
	row.Base = below.End(1)
	full := b.ArrayChip(row.End(1), size)

	fraction := b.Exchanged(b.Bypass(size))
	fraction.Source1 = units.Source{Memory: mx, Keep: true, Chip: full}
	fraction.Chip = row
	table(fraction, td.FractionTable())
	negative := b.Bypass(units.Size{W: size.C, H: 1, D: 1, C: 1})
	negative.Source1 = units.Source{Chip: row}
	negative.Chip = below
	table(negative, td.LessThanZeroTable())
	integer := b.Exchanged(b.Bypass(size))
	integer.Source1 = units.Source{Chip: full}
	integer.Source1.Chip.Group = 0
	integer.Chip = row
	table(integer, td.IntegerTable())
	less := b.Planar(td.TypePlanarBinary, size)
	less.Source1, less.Source2 = units.Source{Chip: row}, &units.Source{Chip: below}
	less.Transpose1, less.Transpose2, less.Negate2 = true, true, true
	less.Result = my
	less.Chip = units.Chip{Base: row.End(1)}
	return []*units.Op{fraction, negative, integer, less}, nil
}

// withItself is x op f(x) of one element for each channel. x stays on chip; its function lies in a row between the tasks.
func (b *builder) withItself(l *anec.Layer, kind td.EWKind, x *anec.Value, act *anec.Activation) ([]*units.Op, *diag.Reason) {
	f, why0 := functionOf(act)
	mx, why1 := b.surface(x)
	o, why2 := b.planarLayer(l, td.TypePlanarBinary)
	if why := firstOf(why0, why1, why2); why != nil {
		return nil, why
	}
	size := o.In
	channel := b.ChannelBytes(size.C)
	row := units.Chip{Channel: channel, Row: channel, Depth: channel}
	full := b.ArrayChip(row.End(1), size)
	function := b.Exchanged(b.Bypass(size))
	function.Source1 = units.Source{Memory: mx, Keep: true, Chip: full}
	function.Chip = row
	b.apply(function, f)

	full.Group = 0
	o.Source1, o.Source2 = units.Source{Chip: full}, &units.Source{Chip: row}
	o.Transpose2 = true
	o.Operator, o.Negate2 = planarOperators[kind], kind == td.EWSub
	o.Chip = units.Chip{Base: full.End(1)}
	return []*units.Op{function, o}, nil
}
