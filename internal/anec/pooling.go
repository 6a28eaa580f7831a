package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Pooling makes one value of each window. The kinds that name the channel make
// one of all channels at a position (ChannelMax, ChannelMin, ChannelArg…) or of
// all channels of a window (SpatialAndChannel…), so that y has one channel; that
// they take all channels is inferred. An Arg kind gives the index of the extreme
// element: within the window row by row, or of the channel.
type Pooling struct {
	Window
	Type        td.PoolKind    `net:"Type"`
	PaddingMode td.PaddingMode `net:"PaddingMode"`
	ExcludePad  bool           `net:"AverageCountExcludePadding"` // an average divides by the elements of x in the window
}

var poolingInfo = KindInfo{
	Kind: KindPooling, Name: "Pooling", Dialect: Dialect{"pooling", "Type", map[string]string{"Avg": "average_pool", "Max": "max_pool", "L2": "l2_pool"}}, Standing: Descriptor, Desc: "Pool", Class: td.ClassPooling,
	Sources: "export desc unit C", Unsure: "that the channel kinds take all channels",
	New: func() Params { return &Pooling{Window: UnitWindow, PaddingMode: td.PadZero} }, Contract: contract("y", "x"),
	Example: Example{"Type=Max Kernel=[1,2,2] Stride=[1,2,2]", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "Pool layer must have only one single input.", fromEnvelopes}, Check: validatePool,

	Unit: OnPlanar, Epilogue: EpilogueArray, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: poolingRows, AtLoad: always, Cost: Cost{FLOPs: poolingFLOPs},
}

func (*Pooling) Info() *KindInfo { return &poolingInfo }

func (p *Pooling) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type, p.PaddingMode); err != nil {
		return nil, err
	}
	y, err := p.over(o.dims(0))
	if err != nil {
		return nil, err
	}
	d := o.types[0].DType
	switch p.Type {
	case td.PoolSpatialArgMax, td.PoolSpatialArgMin:
		d = tensor.Int32
	case td.PoolChannelArgMax, td.PoolChannelArgMin:
		d, y[C] = tensor.Int32, 1
	case td.PoolChannelMax, td.PoolChannelMin:
		y[C] = 1
	case td.PoolSpatialAndChannelAvg, td.PoolSpatialAndChannelMax, td.PoolSpatialAndChannelMin:
		y[C] = 1
	}
	if y[C] == 1 && o.dims(0)[C] == 0 {
		return nil, fmt.Errorf("x has no channels")
	}
	return one(d, y)
}

func poolingRows(l *Layer, v *Value, tile int) int { return l.Params.(*Pooling).Window.rows(v, tile) }

// poolingFLOPs: one for each element under the window, all channels for the kinds that pool them.
func poolingFLOPs(l *Layer) float64 {
	n := l.Top().Type.Dims.Elements() * l.Params.(*Pooling).Volume()
	if x, y := l.Bottoms[0].Type.Dims[C], l.Top().Type.Dims[C]; x > y && y > 0 {
		n *= float64(x) / float64(y)
	}
	return n
}
