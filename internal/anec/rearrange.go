package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// Factors are how many elements a block of space has.
type Factors struct {
	X int `net:"FactorX"` // along W
	Y int `net:"FactorY"` // along H
	Z int `net:"FactorZ"` // along D
}

// UnitFactors are those of a block of one element.
var UnitFactors = Factors{X: 1, Y: 1, Z: 1}

var blockAxes = [3]td.Axis{W, H, D}

func (f *Factors) each() [3]int { return [3]int{f.X, f.Y, f.Z} }

// gather moves blocks of space into an outer axis, which grows by their size.
func (f *Factors) gather(x Dims, outer td.Axis) (Dims, error) {
	for i, n := range f.each() {
		a := blockAxes[i]
		if n < 1 || n > max(x[a], 1) || x[a]%n != 0 {
			return x, fmt.Errorf("%d along %v does not divide into blocks of %d", x[a], a, n)
		}
		x[a] /= n
		x[outer] *= n
	}
	return x, nil
}

// scatter moves parts of an outer axis into blocks of space.
func (f *Factors) scatter(x Dims, outer td.Axis) (Dims, error) {
	for i, n := range f.each() {
		if n < 1 || n > max(x[outer], 1) || x[outer]%n != 0 {
			return x, fmt.Errorf("%d along %v does not divide by %d, the factor along %v", x[outer], outer, n, blockAxes[i])
		}
		x[outer] /= n
		x[blockAxes[i]] *= n
	}
	return x, nil
}

// PixelShuffle moves channels into blocks of space; the place in a block is the
// inner part of a channel's number, z before y before x.
type PixelShuffle struct{ Factors }

var pixelShuffleInfo = KindInfo{
	Kind: KindPixelShuffle, Name: "PixelShuffle", Dialect: Dialect{Name: "pixel_shuffle"}, Standing: Descriptor, Desc: "PixelShuffle",
	Class: td.ClassPixelShuffle, Sources: "export desc unit B",
	New: func() Params { return &PixelShuffle{UnitFactors} }, Contract: contract("y", "x"),
	Example: Example{"X=2 Y=2", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validatePixelShuffle),

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: Yes, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*PixelShuffle) Info() *KindInfo                     { return &pixelShuffleInfo }
func (p *PixelShuffle) infer(o *operands) ([]Type, error) { return rearranged(o, p.scatter, C) }

// PixelUnshuffle undoes a PixelShuffle.
type PixelUnshuffle struct{ Factors }

var pixelUnshuffleInfo = KindInfo{
	Kind: KindPixelUnshuffle, Name: "PixelUnshuffle", Dialect: Dialect{Name: "pixel_unshuffle"}, Standing: Descriptor, Desc: "PixelUnshuffle",
	Class: td.ClassPixelUnshuffle, Sources: "export desc unit B",
	New: func() Params { return &PixelUnshuffle{UnitFactors} }, Contract: contract("y", "x"),
	Example: Example{"X=2 Y=2", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validatePixelUnshuffle),

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: Yes, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*PixelUnshuffle) Info() *KindInfo                     { return &pixelUnshuffleInfo }
func (p *PixelUnshuffle) infer(o *operands) ([]Type, error) { return rearranged(o, p.gather, C) }

// ChannelToSpace moves channels into blocks of space; the place in a block is
// the outer part of a channel's number. MIL calls it depth_to_space.
type ChannelToSpace struct{ Factors }

var channelToSpaceInfo = KindInfo{
	Kind: KindChannelToSpace, Name: "ChannelToSpace", Dialect: Dialect{Name: "channel_to_space"}, Standing: Descriptor, Desc: "ChannelToSpace",
	Class: td.ClassChannelToSpace, Sources: "export desc unit B",
	New: func() Params { return &ChannelToSpace{UnitFactors} }, Contract: contract("y", "x"),
	Example: Example{"X=2 Y=2", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validateChannelToSpace),

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: Yes, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*ChannelToSpace) Info() *KindInfo                     { return &channelToSpaceInfo }
func (p *ChannelToSpace) infer(o *operands) ([]Type, error) { return rearranged(o, p.scatter, C) }

// SpaceToChannel undoes a ChannelToSpace. MIL calls it space_to_depth.
type SpaceToChannel struct{ Factors }

var spaceToChannelInfo = KindInfo{
	Kind: KindSpaceToChannel, Name: "SpaceToChannel", Dialect: Dialect{Name: "space_to_channel"}, Standing: Descriptor, Desc: "SpaceToChannel",
	Class: td.ClassSpaceToChannel, Sources: "export desc unit B",
	New: func() Params { return &SpaceToChannel{UnitFactors} }, Contract: contract("y", "x"),
	Example: Example{"X=2 Y=2", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "SpaceToChannel layer must have only one input", fromStrings},
	Check:   matched(validateSpaceToChannel),

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: Yes, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*SpaceToChannel) Info() *KindInfo                     { return &spaceToChannelInfo }
func (p *SpaceToChannel) infer(o *operands) ([]Type, error) { return rearranged(o, p.gather, C) }

// SpaceToBatch moves blocks of space into the batch; the place in a block, y
// before x, is the outer part of a batch element's number, as in MIL. On a chip
// that was seen for a batch of one alone, where there is no other part.
type SpaceToBatch struct{ Factors }

var spaceToBatchInfo = KindInfo{
	Kind: KindSpaceToBatch, Name: "SpaceToBatch", Dialect: Dialect{Name: "space_to_batch"}, Standing: Descriptor, Desc: "SpaceToBatch", Class: td.ClassSpaceToBatch,
	Sources: "export desc unit B", Unsure: "the order with a batch of more than one",
	New: func() Params { return &SpaceToBatch{UnitFactors} }, Contract: contract("y", "x"),
	Example: Example{"X=2 Y=2", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validateSpaceToBatch),

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: Yes, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*SpaceToBatch) Info() *KindInfo                     { return &spaceToBatchInfo }
func (p *SpaceToBatch) infer(o *operands) ([]Type, error) { return rearranged(o, p.gather, N) }

// BatchToSpace undoes a SpaceToBatch.
type BatchToSpace struct{ Factors }

var batchToSpaceInfo = KindInfo{
	Kind: KindBatchToSpace, Name: "BatchToSpace", Dialect: Dialect{Name: "batch_to_space"}, Standing: Descriptor, Desc: "BatchToSpace", Class: td.ClassBatchToSpace,
	Sources: "export desc unit B", Unsure: "the order with a batch of more than one",
	New: func() Params { return &BatchToSpace{UnitFactors} }, Contract: contract("y", "x"),
	Example: Example{"X=2 Y=2", "fp16[4,1,8,8,8]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validateBatchToSpace),

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: Yes, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*BatchToSpace) Info() *KindInfo                     { return &batchToSpaceInfo }
func (p *BatchToSpace) infer(o *operands) ([]Type, error) { return rearranged(o, p.scatter, N) }

func rearranged(o *operands, move func(Dims, td.Axis) (Dims, error), outer td.Axis) ([]Type, error) {
	y, err := move(o.dims(0), outer)
	if err != nil {
		return nil, err
	}
	return one(o.types[0].DType, y)
}
