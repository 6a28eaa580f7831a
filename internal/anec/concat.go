package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// Concat puts tensors side by side along an axis. Interleave: their elements by
// turns (x0's first, x1's first, …), which wants equal extents.
type Concat struct {
	Axis       td.Axis `net:"Dimension"`
	Interleave bool    // the anec dialect has it
}

var concatInfo = KindInfo{
	Kind: KindConcat, Name: "Concat", Dialect: Dialect{Name: "concat"}, Standing: Descriptor, Desc: "Concat", Class: td.ClassConcat, Sources: "export plist unit B",
	New: func() Params { return &Concat{} }, Contract: contract("y", "x*"),
	Example: Example{"Axis=C", "fp16[1,1,8,16,16] fp16[1,1,8,16,16]"},

	Pattern: Pattern{2, -1, "Concat layer must have at least 2 inputs", fromGates}, Check: matched(validateConcat),

	Unit: OnArray, Epilogue: EpilogueNone, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
	NoTask: "one copy for each part that is not written in place",
}

func (*Concat) Info() *KindInfo { return &concatInfo }

func (p *Concat) infer(o *operands) ([]Type, error) {
	if err := checkAxis(p.Axis); err != nil {
		return nil, err
	}
	y := o.typeOf(0)
	for i := 1; i < o.len(); i++ {
		x := o.typeOf(i)
		if x.DType != y.DType {
			return nil, fmt.Errorf("%s is of %v, x 0 of %v", o.name(i), x.DType, y.DType)
		}
		extent := x.Dims[p.Axis]
		if p.Interleave && extent != o.dims(0)[p.Axis] {
			return nil, fmt.Errorf("%s has %d along %v, x 0 has %d: they cannot take turns", o.name(i), extent, p.Axis, o.dims(0)[p.Axis])
		}
		if x.Dims.With(p.Axis, 0) != y.Dims.With(p.Axis, 0) {
			return nil, fmt.Errorf("%s has extents %v, x 0 has %v: only those along %v may differ", o.name(i), x.Dims, o.dims(0), p.Axis)
		}
		y.Dims[p.Axis] += extent
	}
	return one(y.DType, y.Dims)
}

// Tile repeats x so many times along each axis.
type Tile struct {
	Reps Dims `net:"{Batch,Depth,Channel,Height,Width}"`
}

var tileInfo = KindInfo{
	Kind: KindTile, Name: "Tile", Dialect: Dialect{Name: "tile"}, Standing: Descriptor, Desc: "Tile", Class: td.ClassTile,
	Sources: "export desc unit", Unsure: "the keys for batch and depth",
	New: func() Params { return &Tile{Reps: Dims{1, 1, 1, 1, 1}} }, Contract: contract("y", "x"),
	Example: Example{"Reps=[1,1,2,1,1]", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", "the contract of the kind" + textOurs}, Check: matched(validateTile),

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*Tile) Info() *KindInfo { return &tileInfo }

func (p *Tile) infer(o *operands) ([]Type, error) {
	y := o.dims(0)
	for a, n := range p.Reps {
		if n < 1 || n > maxField || y[a] > maxField {
			return nil, fmt.Errorf("%d repetitions of %d along %v", n, y[a], td.Axis(a))
		}
		y[a] *= n
	}
	return one(o.types[0].DType, y)
}

// Broadcast repeats axes of extent 1.
type Broadcast struct {
	Dims Dims `net:"BroadcastInfo"` // a list of Dimension and Size
}

var broadcastInfo = KindInfo{
	Kind: KindBroadcast, Name: "Broadcast", Dialect: Dialect{Name: "broadcast"}, Standing: Computed, Desc: "Broadcast", Class: td.ClassBroadcast, Sources: "22 desc plist B",
	New: func() Params { return &Broadcast{} }, Contract: contract("y", "x"),
	Example: Example{"Dims=[1,1,8,16,16]", "fp16[1,1,8,1,1]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validateBroadcast),

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: aView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
	NoTask: "a view",
}

func (*Broadcast) Info() *KindInfo { return &broadcastInfo }

func (p *Broadcast) infer(o *operands) ([]Type, error) {
	if err := o.fits(p.Dims, allAxes, 0); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, p.Dims)
}
