package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Quant is round(x/scale) + zero, saturated to the type To. scale and zero
// broadcast to x: one number, or one for each element of an axis.
type Quant struct {
	To tensor.DType `net:"OutputType"`
}

var quantInfo = KindInfo{
	Kind: KindQuant, Name: "Quant", Dialect: Dialect{Name: "quantize"}, Standing: UnitOnly, Class: td.ClassQuant,
	Sources: "C 22 mil", Unsure: "its keys; scale and zero as operands",
	New: func() Params { return &Quant{} }, Contract: contract("y", "x scale~ zero?~"),
	Example: Example{"To=int8", "fp16[1,1,8,16,16] !fp16[1,1,1,1,1]"},

	NoValidator: "a unit; formats are held where it is lowered", Check: validateQuant,

	Unit: OnArray, Epilogue: EpilogueNone, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(2),
}

func (*Quant) Info() *KindInfo { return &quantInfo }

func (p *Quant) infer(o *operands) ([]Type, error) {
	if !p.To.IsInteger() {
		return nil, fmt.Errorf("quantized to %v, want an integer type", p.To)
	}
	if err := o.floats(0, 1); err != nil {
		return nil, err
	}
	if err := o.fits(o.dims(0), allAxes, 1, 2); err != nil {
		return nil, err
	}
	return one(p.To, o.dims(0))
}

// DeQuant decodes what is quantized, or compressed in any form that a Constant
// has. Each step may be missing, but not all:
//
//	mask    x has one axis, W: the elements that mask selects, in the order N, D, C, H, W;
//	        the others are 0 at the end
//	table   x has indices into tables
//	scale   (x - zero)*scale
//
// y has the extents of mask, else those of x, times the elements of an entry along
// VectorAxis. scale and zero have one number for each block of y: along each axis
// their extent divides that of y. table has a table for each block of y along C,
// the last axis of Blocks fastest, its entries along H and the elements of an
// entry along W; y has Blocks[a] blocks along axis a.
//
// The result has the type of scale, or of table, or of x.
type DeQuant struct {
	Blocks     Dims
	VectorAxis td.Axis
}

var deQuantInfo = KindInfo{
	Kind: KindDeQuant, Name: "DeQuant", Dialect: Dialect{Name: "dequantize"}, Standing: UnitOnly, Class: td.ClassDeQuant,
	Sources: "C 22 mil", Unsure: "its keys; its operands but x",
	New: func() Params { return &DeQuant{} }, Contract: contract("y", "x scale?~ zero?~ table?~ mask?~"),
	Example: Example{"", "int8[1,1,8,16,16] !fp16[1,1,1,1,1]"},

	NoValidator: "a unit; formats are held where it is lowered", Check: validateDeQuant,

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(2),
}

func (*DeQuant) Info() *KindInfo { return &deQuantInfo }

func (p *DeQuant) infer(o *operands) ([]Type, error) {
	const x, scale, zero, table, mask = 0, 1, 2, 3, 4
	if o.has(zero) && !o.has(scale) {
		return nil, fmt.Errorf("zero without scale")
	}
	if !o.has(scale) && !o.has(table) && !o.has(mask) {
		return nil, fmt.Errorf("neither scale nor table nor mask")
	}
	if err := o.floats(scale); err != nil {
		return nil, err
	}
	y := o.typeOf(x)
	if o.has(table) {
		y.DType = o.types[table].DType
	}
	if o.has(scale) {
		y.DType = o.types[scale].DType
	}
	if o.has(mask) {
		if d := o.types[mask].DType; d != tensor.Bool && d != tensor.UInt1 {
			return nil, fmt.Errorf("mask is of %v, want bool or uint1", d)
		}
		if err := o.want(x, Dims{1, 1, 1, 1, o.dims(x)[W]}); err != nil {
			return nil, err
		}
		y.Dims = o.dims(mask)
	}
	if err := p.inferTable(o, table, &y.Dims, o.has(mask)); err != nil {
		return nil, err
	}
	for _, i := range []int{scale, zero} {
		if o.has(i) {
			d := o.dims(i)
			if err := blocks(o.name(i), d[:], y.Dims[:]); err != nil {
				return nil, err
			}
		}
	}
	return one(y.DType, y.Dims)
}

// inferTable holds the tables to the extents of the result, which entries of
// several elements make larger.
func (p *DeQuant) inferTable(o *operands, table int, y *Dims, masked bool) error {
	if !o.has(table) {
		if *p != (DeQuant{}) {
			return fmt.Errorf("blocks %v and vectors along %v of no table", p.Blocks, p.VectorAxis)
		}
		return nil
	}
	if err := checkAxis(p.VectorAxis); err != nil {
		return err
	}
	if d := o.types[0].DType; !d.IsInteger() && d != tensor.Bool {
		return fmt.Errorf("indices into a table are %v, want integers", d)
	}
	tables, ok := p.Blocks.Count()
	if !ok {
		return fmt.Errorf("blocks %v", p.Blocks)
	}
	entries, vector := o.dims(table)[H], o.dims(table)[W]
	if entries < 1 || vector < 1 || vector > maxField || y[p.VectorAxis] > maxField || masked && vector > 1 {
		return fmt.Errorf("tables of %d entries of %d elements", entries, vector)
	}
	y[p.VectorAxis] *= vector
	if err := blocks("the grid of tables", p.Blocks[:], y[:]); err != nil {
		return err
	}
	return o.want(table, Dims{1, 1, tables, entries, vector})
}
