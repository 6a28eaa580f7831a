package anec

import (
	"fmt"
	"math/bits"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Reduction makes one value of all values along the axes, where y has extent 1.
// ArgMin and ArgMax take one axis and give the index of the first of equals.
// Square: the result is squared (the descriptor's post-operation).
type Reduction struct {
	Type   td.ReductionKind `net:"Type"`
	Axes   td.Axes          `net:"Dimension"`
	Square bool
}

var reductionInfo = KindInfo{
	Kind: KindReduction, Name: "Reduction", Dialect: Dialect{"reduction", "Type", map[string]string{"Sum": "reduce_sum", "Avg": "reduce_mean", "Max": "reduce_max", "Min": "reduce_min"}}, Standing: Descriptor, Desc: "Reduction", Class: td.ClassReduction,
	Sources: "export desc unit B C", Unsure: "the key of the post-operation",
	New: func() Params { return &Reduction{} }, Contract: contract("y", "x"),
	Example: Example{"Type=Sum Axes=HW", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "Reduction layer can only have one bottom", fromEnvelopes}, Check: validateReduction,

	Unit: OnPlanar, Epilogue: EpiloguePlanar, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: reductionRows, AtLoad: always, Cost: perOperand(1),
}

func (*Reduction) Info() *KindInfo { return &reductionInfo }

func (p *Reduction) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type); err != nil {
		return nil, err
	}
	if err := checkAxes(p.Axes); err != nil {
		return nil, err
	}
	d, y := o.types[0].DType, o.dims(0)
	if p.Type == td.ReduceArgMin || p.Type == td.ReduceArgMax {
		if n := bits.OnesCount8(uint8(p.Axes)); n != 1 {
			return nil, fmt.Errorf("%v takes one axis, not %s", p.Type, axesString(p.Axes))
		}
		d = tensor.Int32
	}
	for a := range td.Axis(NumAxes) {
		if p.Axes.Has(a) {
			y[a] = 1
		}
	}
	return one(d, y)
}

// axesString names a set of axes, as in text.
func axesString(axes td.Axes) string {
	s := ""
	for a := range td.Axis(NumAxes) {
		if axes.Has(a) {
			s += a.String()
		}
	}
	return s
}

func reductionRows(l *Layer, v *Value, tile int) int {
	return rowsOver(l.Params.(*Reduction).Axes, v, tile)
}
