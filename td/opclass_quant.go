package td

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// Classes that scale: to and from quantized integers, and after an elementwise
// operation.
var (
	quantRow   = newClassRow(ClassQuant, func() Params { return new(Quant) }, "y", "x scale zero", 2).inPlace("x scale zero")
	deQuantRow = newClassRow(ClassDeQuant, func() Params { return new(DeQuant) }, "y", "x scale zero table mask", 1, "BlocksN", "BlocksD", "BlocksC", "BlocksH", "BlocksW", "VectorAxis").
			inPlace("x scale zero", "table", "mask")
	scaledElementWiseRow = newClassRow(ClassScaledElementWise, func() Params { return new(ScaledElementWise) }, "y", "x z", 2, "Kind", "Scale~").inPlace("x z")

	quantRows = []*classRow{quantRow, deQuantRow, scaledElementWiseRow}
)

// Quant is round(x/scale) + zero, saturated to the type of y, which is an
// integer. The quotient is an fp32 number; a tie goes to the even integer, NaN to
// 0. scale and zero broadcast: one number, or one for each element of an axis.
// The integers are the result: no epilogue follows.
type Quant struct{}

func (p *Quant) row() *classRow { return quantRow }
func (p *Quant) values() []any  { return nil }

func (p *Quant) check(o *Op) error {
	if y := o.Operands[0].Type; !y.IsInteger() {
		return fmt.Errorf("y is of %v, want integers", y)
	}
	for _, i := range [...]int{1, 2} {
		if d := o.Operands[i].Type; !d.IsFloat() {
			return fmt.Errorf("%s is of %v, want floats", o.name(i), d)
		}
	}
	if err := o.noEpilogue(); err != nil {
		return err
	}
	if err := o.sameDims(1); err != nil {
		return err
	}
	return o.broadcast(2, 3)
}

// DeQuant decodes: a quantized tensor, or a constant in any form in which weights
// are compressed. Each step but the last may be missing:
//
//	mask    x has one axis, W: the elements that mask selects, in the order N, D, C, H, W
//	table   the element is an index into a table
//	scale   (v - zero) * scale
//	        what mask does not select is 0
//
// scale and zero are in blocks: along each axis their extent divides that of y, so
// that 1 broadcasts. Where mask selects more elements than x has, the others are
// 0.
//
// table has extents 1, 1, tables, entries, vector: one table for each block of y,
// of which there are Blocks along each axis, the last fastest. An entry is for
// vector elements of y that lie side by side along VectorAxis, where x has so many
// times fewer. An index that a table does not have is the nearest that it has.
// Without a table, the fields are 0.
//
// A table that is itself quantized takes two tasks: one that decodes the table,
// with the extents of an operand, and one that reads what it has written.
type DeQuant struct {
	Blocks     [NumAxes]int
	VectorAxis Axis
}

// The operands of DeQuant after y.
const (
	deQuantX = 1 + iota
	deQuantScale
	deQuantZero
	deQuantTable
	deQuantMask
)

func (p *DeQuant) row() *classRow { return deQuantRow }

func (p *DeQuant) values() (values []any) {
	for a := range p.Blocks {
		values = append(values, &p.Blocks[a])
	}
	return append(values, &p.VectorAxis)
}

func (p *DeQuant) check(o *Op) error {
	scale, zero := o.operand(deQuantScale), o.operand(deQuantZero)
	if scale.Present() && !scale.Type.IsFloat() {
		return fmt.Errorf("scale is of %v, want floats", scale.Type)
	}
	if zero.Present() && !scale.Present() {
		return fmt.Errorf("zero is there and scale is not")
	}
	y := &o.Operands[0]
	for _, i := range [...]int{deQuantScale, deQuantZero} {
		if b := o.operand(i); b.Present() {
			if err := y.checkBlocks(o.name(i), b.Dims); err != nil {
				return err
			}
		}
	}
	want, err := p.checkTable(o)
	if err != nil {
		return err
	}
	return p.checkStored(o, want)
}

// operand returns operand i, the zero one if there are fewer.
func (o *Op) operand(i int) *Operand {
	if i < len(o.Operands) {
		return &o.Operands[i]
	}
	return new(Operand)
}

// checkBlocks holds the extents of something that has one element for a block of
// the operand's to those of the operand.
func (o *Operand) checkBlocks(name string, blocks [NumAxes]int) error {
	for a, n := range blocks {
		if n < 1 && o.Dims[a] > 0 || n > 0 && o.Dims[a]%n != 0 {
			return fmt.Errorf("%s has %d along %v, want what divides %d", name, n, Axis(a), o.Dims[a])
		}
	}
	return nil
}

// checkTable holds the table to y, and returns the extents that x has.
func (p *DeQuant) checkTable(o *Op) (x [NumAxes]int, err error) {
	y, table := &o.Operands[0], o.operand(deQuantTable)
	x = y.Dims
	if !table.Present() {
		if *p != (DeQuant{}) {
			return x, fmt.Errorf("blocks %v and vectors along %v of no table", p.Blocks, p.VectorAxis)
		}
		return x, nil
	}
	if d := o.Operands[deQuantX].Type; !d.IsInteger() && d != tensor.Bool {
		return x, fmt.Errorf("x is of %v, want integers, which a table has an entry for", d)
	}
	if err := y.checkBlocks("the tables' grid", p.Blocks); err != nil {
		return x, err
	}
	tables := int64(1)
	for _, n := range p.Blocks {
		tables = min(tables*int64(n), maxDim+1)
	}
	entries, vector := table.Dims[AxisH], table.Dims[AxisW]
	if table.Dims[AxisN] != 1 || table.Dims[AxisD] != 1 || int64(table.Dims[AxisC]) != tables || entries < 1 || vector < 1 {
		return x, fmt.Errorf("table has extents %v, want 1, 1, %d, and entries with elements", table.Dims, tables)
	}
	if block := y.Dims[p.VectorAxis] / max(p.Blocks[p.VectorAxis], 1); block%vector != 0 {
		return x, fmt.Errorf("entries of %d elements do not fit blocks of %d along %v", vector, block, p.VectorAxis)
	}
	x[p.VectorAxis] /= vector
	if vector > 1 && o.operand(deQuantMask).Present() {
		return x, fmt.Errorf("entries of %d elements, want 1 where there is a mask", vector)
	}
	return x, nil
}

// checkStored holds x to the extents that it has without a mask, or to the mask.
func (p *DeQuant) checkStored(o *Op, want [NumAxes]int) error {
	x, mask := &o.Operands[deQuantX], o.operand(deQuantMask)
	if !mask.Present() {
		if x.Dims != want {
			return fmt.Errorf("x has extents %v, want %v", x.Dims, want)
		}
		return nil
	}
	if mask.Type != tensor.Bool && mask.Type != tensor.UInt1 {
		return fmt.Errorf("mask is of %v, want bool or uint1", mask.Type)
	}
	if err := o.sameDims(deQuantMask); err != nil {
		return err
	}
	if line := [NumAxes]int{1, 1, 1, 1, x.Dims[AxisW]}; x.Dims != line {
		return fmt.Errorf("x has extents %v, want %v: one axis, for there is a mask", x.Dims, line)
	}
	return nil
}

// ScaledEWKind is what a scaled elementwise operation does (ZinIrScaledEWType).
type ScaledEWKind uint8

// The kinds.
const (
	ScaledAdd       ScaledEWKind = 1
	ScaledMult      ScaledEWKind = 2
	ScaledSumSquare ScaledEWKind = 3 // the sum of the squares, which its name says; no source defines it
	ScaledMax       ScaledEWKind = 4
	ScaledMin       ScaledEWKind = 5
)

var scaledEWKindNames = map[ScaledEWKind]string{
	ScaledAdd: "Add", ScaledMult: "Mult", ScaledSumSquare: "SumSquare", ScaledMax: "Max", ScaledMin: "Min",
}

func (k ScaledEWKind) String() string { return nameOf(scaledEWKindNames, k, "scaled elementwise kind") }

// Valid reports whether k has a name.
func (k ScaledEWKind) Valid() bool { return scaledEWKindNames[k] != "" }

// ScaledElementWise is Scale times what the kind makes of x and z.
type ScaledElementWise struct {
	Kind  ScaledEWKind
	Scale float32
}

func (p *ScaledElementWise) row() *classRow { return scaledElementWiseRow }
func (p *ScaledElementWise) values() []any  { return []any{&p.Kind, &p.Scale} }

func (p *ScaledElementWise) check(o *Op) error {
	if !p.Kind.Valid() {
		return fmt.Errorf("%v is not known", p.Kind)
	}
	return o.broadcast(1, 2)
}

// noEpilogue refuses steps after a class whose values are stored as they are.
func (o *Op) noEpilogue() error {
	if n := len(o.Epilogue); n > 0 {
		return fmt.Errorf("an epilogue of %d steps: its results are stored as they are", n)
	}
	return nil
}
