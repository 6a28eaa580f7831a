package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// SDPA is attention: softmax(q·kᵀ·scale + mask)·v. Positions lie along H and
// features along W; N, D and C are batch axes, along which k, v and mask
// broadcast. scale is one number. The mask is added, or drops what is false if
// it is of bool.
//
// Apple's unit has the sequence along C (guide B), wants k and v of one shape,
// and all operands of one type.
type SDPA struct {
	SubtractMax bool `net:"SubtractMax"` // subtract the largest before exp; the softmax is wrong without
}

var sdpaInfo = KindInfo{
	Kind: KindSDPA, Name: "SDPA", Dialect: Dialect{Name: "sdpa"}, Standing: Descriptor, Desc: "SDPA", Class: td.ClassSDPA, Sources: "desc 22 26 B",
	New: func() Params { return &SDPA{} }, Contract: contract("y", "q k v scale! mask?"),
	Example: Example{"SubtractMax=true", "fp16[1,1,4,16,32] fp16[1,1,4,16,32] fp16[1,1,4,16,32] !fp16[1,1,1,1,1]"},

	Pattern: Pattern{4, 5, "SDPA layer must have only 4 or 5(optional mask) inputs", fromGates + "; guide 22 and 26 have another string: 4 or 5 bottoms must be present for SDPA"},
	Check:   validateSDPA,

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always,
	Cost: Cost{None: "it compiles to a segmented plan and must be timed on a device"},
}

func (*SDPA) Info() *KindInfo { return &sdpaInfo }

func (p *SDPA) infer(o *operands) ([]Type, error) {
	q, k, v := o.dims(0), o.dims(1), o.dims(2)
	y, err := o.meet(batchAxes, 0, 1, 2)
	if err != nil {
		return nil, err
	}
	switch {
	case q[W] != k[W]:
		return nil, fmt.Errorf("q has %d features, k has %d", q[W], k[W])
	case k[H] != v[H]:
		return nil, fmt.Errorf("k has %d positions, v has %d", k[H], v[H])
	}
	if err := o.want(3, Dims{1, 1, 1, 1, 1}); err != nil {
		return nil, err
	}
	y[H], y[W] = q[H], k[H]
	if err := o.fits(y, allAxes, 4); err != nil {
		return nil, err
	}
	if err := o.floats(0, 1, 2, 3); err != nil {
		return nil, err
	}
	y[W] = v[W]
	return one(o.types[0].DType, y)
}
