package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// NMS is non-maximum suppression, by MIL's meaning: of boxes that overlap by
// more than IoU, the one with the best score stays, until MaxBoxes are found.
// boxes has a box in each row (H), four numbers along W; scores has a row for
// each box with a score for each class along W. C is the batch.
//
// Apple's unit has the four numbers along C (guide B), and two thresholds, a
// count and a type in its descriptor.
type NMS struct {
	IoU      float32 `anec:"iou"`
	Score    float32 // boxes with a lower score are left out
	MaxBoxes int
	PerClass bool // boxes of different classes do not suppress each other
}

var nmsInfo = KindInfo{
	Kind: KindNMS, Name: "NMS", Dialect: Dialect{Name: "nms"}, Standing: Descriptor, Desc: "NMS", Class: td.ClassNMS,
	Sources: "export desc B mil", Unsure: "which number is which; its keys; its tops",
	New: func() Params { return &NMS{} }, Contract: contract("boxes scores indices count", "boxes scores"),
	Example: Example{"MaxBoxes=5", "fp16[1,1,1,20,4] fp16[1,1,1,20,3]"},

	Pattern: Pattern{2, -1, "", onlyCount}, Check: matched(validateNMS), Codegen: nmsCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyData},
	Refused: "no engine takes it: Apple's compiler leaves it to a CPU or GPU (guide A and B), and here the host has the operation of a model",
	NoTask:  "no encoding has such a class: it runs on the host",
}

func (*NMS) Info() *KindInfo { return &nmsInfo }

func (p *NMS) infer(o *operands) ([]Type, error) {
	if p.MaxBoxes < 1 {
		return nil, fmt.Errorf("at most %d boxes", p.MaxBoxes)
	}
	b, s := o.typeOf(0), o.typeOf(1)
	if err := o.want(0, Dims{1, 1, b.Dims[C], b.Dims[H], 4}); err != nil {
		return nil, err
	}
	if err := o.want(1, Dims{1, 1, b.Dims[C], b.Dims[H], s.Dims[W]}); err != nil {
		return nil, err
	}
	b.Dims[H], s.Dims[H] = p.MaxBoxes, p.MaxBoxes
	return []Type{b, s,
		TypeOf(tensor.Int32, 1, 1, 1, b.Dims[C], p.MaxBoxes),
		TypeOf(tensor.Int32, 1, 1, 1, 1, b.Dims[C]),
	}, nil
}
