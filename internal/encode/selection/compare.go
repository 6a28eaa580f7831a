package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Comparisons and selection. A bool is a byte in memory, and a number, 0 or 1, between tasks.

// A comparison is what the sign of x - z decides; swapped: of z - x.
type comparison struct {
	of      signFunction
	swapped bool
}

var comparisons = map[td.EWKind]comparison{
	td.EWLessThan:         {whereBelow, false},
	td.EWGreaterThan:      {whereBelow, true},
	td.EWGreaterThanEqual: {whereAboveOrAt, false},
	td.EWLessThanEqual:    {whereAboveOrAt, true},
	td.EWEqual:            {whereZero, false},
	td.EWNotEqual:         {whereNotZero, false},
}

// signKinds are comparisons of one operand with 0.
var signKinds = map[td.EWKind]signFunction{
	td.EWEqualZero:            whereZero,
	td.EWNotEqualZero:         whereNotZero,
	td.EWLessThanZero:         whereBelow,
	td.EWLessThanEqualZero:    whereBelowOrAt,
	td.EWGreaterThanEqualZero: whereAboveOrAt,
	td.EWGreaterThanZero:      whereAbove,
}

// comparison selects the tasks of an elementwise layer that gives bools.
func (b *builder) comparison(l *anec.Layer, kind td.EWKind, x, z *anec.Value) ([]*units.Op, *diag.Reason) {
	if why := bareOnly(l); why != nil {
		return nil, why
	}
	if l.OutputType != tensor.Invalid && l.OutputType != tensor.Bool {
		return nil, otherResult(l)
	}
	cmp, ok := comparisons[kind]
	if !ok {
		return nil, diag.Decline(diag.NativeKind, "no tasks are known for %v of bools", kind)
	}
	if why := halfOnly(x, z); why != nil {
		return nil, why
	}
	if x.Const != nil && z.Const != nil {
		return nil, allConstant()
	}
	if v, ok := scalarHalf(z); ok && x.Type.Dims == l.Top().Type.Dims {
		return b.thresholdLayer(l, x, v, cmp, false)
	}
	if v, ok := scalarHalf(x); ok && z.Type.Dims == l.Top().Type.Dims {
		return b.thresholdLayer(l, z, v, cmp, true)
	}
	if cmp.swapped {
		x, z = z, x
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, _ []stage) *diag.Reason {
		tx, why1 := b.tensorOf(x)
		tz, why2 := b.tensorOf(z)
		if why := firstOf(why1, why2); why != nil {
			return why
		}
		recorded := kind == td.EWLessThan || kind == td.EWGreaterThan
		if recorded && tx.size == like.size && tz.size == like.size && like.groups == 1 && c.difference(tx, tz, cmp.of.table(), to) == nil {
			return nil
		}
		// The array would take a difference below the normal numbers for none.
		d, why := c.two(td.EWSub, tx, tz, like, nil, func(o *units.Op) { o.Scale = tensor.ToF16(1024) })
		if why != nil {
			return why
		}
		return c.toBytes(d, cmp.of.table(), to)
	})
}

// allConstant declines a layer of constants: it is computed when the program is compiled.
func allConstant() *diag.Reason {
	return diag.Decline(diag.NativeOperand, "all operands are constants, and tasks read at least one that is live")
}

// difference is a table of x - z, in bytes (oracles, less_bool_rr_1x64x1x1, less_bool_cast_1x375): the two lie on chip
// channel by channel side by side, and the array weighs each pair with 1 and -1.
//
//	z ─ copy ─┐
//	          ├─ x·1 - z·1 ─ table ─ bytes
//	x ─ copy ─┘
func (c *chain) difference(x, z operand, table *td.Table, to *units.Surface) *diag.Reason {
	size := x.size
	first, second, pairs := c.b.PairChips(size)
	end := first.End(size.H)
	if c.free != 0 || end > c.room() {
		return noRoom("two operands of a comparison, channel by channel side by side,", c.room(), c.free+end)
	}
	for _, t := range []struct {
		from operand
		at   units.Chip
	}{{z, second}, {x, first}} {
		o := c.b.Bypass(size)
		o.Source1 = units.Source{Memory: t.from.memory, Chip: c.b.ArrayChip(end, size)}
		o.Chip = t.at
		c.add(o)
	}
	o := c.b.Bypass(size)
	o.In.C, o.Unicast = 2*size.C, 2
	o.Source1 = units.Source{Chip: pairs}
	o.Result, o.Chip = to, units.Chip{Base: end}
	if why := c.weighBytes(o, 2, slices.Repeat([]uint16{1, 0xff}, size.C), table); why != nil { // 1 and -1
		return why
	}
	c.add(o)
	return nil
}

// toBytes is a table of t that leaves as bytes: the array weighs each channel with 1, as it weighs two in a comparison.
func (c *chain) toBytes(t operand, table *td.Table, to *units.Surface) *diag.Reason {
	first := c.b.Bypass(t.size)
	if why := c.weighBytes(first, 1, slices.Repeat([]uint16{1}, t.size.C), table); why != nil {
		return why
	}
	y := operand{size: t.size, groups: t.groups, memory: to}
	for g := range t.groups {
		o := *first
		o.Source1 = c.streamed(t.part(g), false)
		o.Result = y.part(g).memory
		c.add(&o)
	}
	return nil
}

// weighBytes gives a task weights of one byte and a table.
func (c *chain) weighBytes(o *units.Op, inputs int, weights []uint16, table *td.Table) *diag.Reason {
	k := td.Kernel{
		Groups: 1, Outputs: o.Out.C, Inputs: inputs, Height: 1, Width: 1, StrideY: 1, StrideX: 1,
		Lanes: 1, Engines: c.b.EnginesFor(o.Out.C), Format: td.KernelInt8, Table: true,
	}
	o.Format = td.KernelInt8
	o.NonLinear = units.Table
	return c.b.weigh(o, k, td.Weights{Values: weights, Table: table.Encode()}, &after{scale: 1}, nil)
}

// thresholdLayer compares x with a number; first: the number is the first operand. One table does.
func (b *builder) thresholdLayer(l *anec.Layer, x *anec.Value, v uint16, cmp comparison, first bool) ([]*units.Op, *diag.Reason) {
	number := tensor.F16(v)
	if !(number > -32768 && number < 32768) { // the array holds numbers at its port below that
		return nil, diag.Decline(diag.NativeNumerics, "it compares with a number that the array does not hold").Measure("-32768 to 32768, without these", number)
	}
	of := cmp.of // of x - v
	if cmp.swapped != first {
		of.below, of.above = of.above, of.below
	}
	return b.chained(l, func(c *chain, _ operand, to *units.Surface, _ []stage) *diag.Reason {
		t, why := b.tensorOf(x)
		if why != nil {
			return why
		}
		return c.toBytes(t, thresholdTable(v, of), to)
	})
}

// thresholdTable is a table that gives three numbers, below v, at v and above.
func thresholdTable(v uint16, of signFunction) *td.Table {
	if v&^signBit == 0 {
		return of.table()
	}
	t := of.table()
	t.XLow, t.XHigh = neighbour(v, -1), neighbour(v, 1)
	t.Left.Intercept, t.Right.Intercept = of.at, of.at // nothing but v lies between the limits
	return t
}

// neighbour is the next fp16 number above or below one that is not 0.
func neighbour(v uint16, direction int) uint16 {
	if v&signBit != 0 {
		direction = -direction
	}
	return uint16(int(v) + direction)
}

// signLayer compares one operand with 0.
func (b *builder) signLayer(l *anec.Layer, x *anec.Value, of signFunction) ([]*units.Op, *diag.Reason) {
	if why := bareOnly(l); why != nil {
		return nil, why
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, _ []stage) *diag.Reason {
		t, why := b.tensorOf(x)
		switch {
		case why != nil:
			return why
		case x.Type.DType == tensor.Bool:
			c.byTable(t, of.table(), to) // bytes, as logical_not reads and writes them (oracles, logical_not_1x1x64x64)
			return nil
		}
		return c.toBytes(t, of.table(), to)
	})
}

// selection is a where the condition holds, else b (oracles, select_rrb_1x64x1x1):
//
//	condition ─ is it ─────┐
//	                    a ─ × ─┐
//	                           + ─ y
//	                    b ─ × ─┘
//	condition ─ is it not ─┘
//
// On this chip 0 times infinity is 0. Where a is infinite, adding it to b does.
func (b *builder) selection(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	condition, x, z := l.Bottoms[0], l.Bottoms[1], l.Bottoms[2]
	if why := halfOnly(l.Top(), x, z); why != nil {
		return nil, why
	}
	if t := condition.Type.DType; t != tensor.Bool {
		return nil, about(condition, diag.Decline(diag.NativeType, "is a condition of another type than tables read").Measure(tensor.Bool, t))
	}
	return b.chained(l, func(c *chain, like operand, to *units.Surface, stages []stage) *diag.Reason {
		after := stages[foldable(stages):]
		dest := to
		if len(after) > 0 {
			dest = nil
		}
		edit := func(o *units.Op) { fold(o, stages) }
		if number, ok := scalarHalf(x); ok && number&^signBit == infinity {
			mask, why1 := b.maskOf(c, condition, signFunction{number, 0, number})
			t, why2 := b.tensorOf(z)
			y, why3 := c.two(td.EWAdd, t, mask, like, dest, edit)
			if why := firstOf(why1, why2, why3); why != nil {
				return why
			}
			return c.finishRest(y, after, to)
		}
		one, why1 := b.masked(c, condition, x, whereNotZero)
		other, why2 := b.masked(c, condition, z, whereZero)
		if why := firstOf(why1, why2); why != nil {
			return why
		}
		y, why := c.two(td.EWAdd, one, other, like, dest, edit)
		if why != nil {
			return why
		}
		return c.finishRest(y, after, to)
	})
}

// infinity is the bits of it.
const infinity = 0x7c00

// masked is v where a table of the condition is 1, else 0.
func (b *builder) masked(c *chain, condition, v *anec.Value, of signFunction) (operand, *diag.Reason) {
	mask, why := b.maskOf(c, condition, of)
	if why != nil {
		return mask, why
	}
	if number, ok := scalarHalf(v); ok {
		if mask.memory != nil {
			mask = c.pass(mask, nil, nil)
		}
		return c.one(mask, nil, func(o *units.Op) { o.Scale = number }), nil
	}
	t, why := b.tensorOf(v)
	if why != nil {
		return t, why
	}
	both := operand{size: units.Size{W: max(mask.size.W, t.size.W), H: max(mask.size.H, t.size.H), D: 1, C: max(mask.size.C, t.size.C)}}
	both.groups = max(mask.groups, t.groups)
	return c.two(td.EWMult, mask, t, both, nil, nil)
}

// maskOf is a table of a condition: on chip, or a constant.
func (b *builder) maskOf(c *chain, condition *anec.Value, of signFunction) (operand, *diag.Reason) {
	if condition.Const == nil {
		t, why := b.tensorOf(condition)
		if why != nil {
			return t, why
		}
		return c.byTable(t, of.table(), nil), nil
	}
	d := condition.Type.Dims
	t := operand{}
	t.size, t.groups = sizeOf(d)
	if !condition.Const.Plain() {
		return t, compressed(condition)
	}
	values := condition.Const.Stored.Float32s()
	mask := make([]uint16, len(values))
	for i, v := range values {
		if mask[i] = of.at; v != 0 {
			mask[i] = of.above
		}
	}
	t.memory = b.constantImage(mask, d[anec.W], d[anec.H], d[anec.C])
	return t, nil
}
