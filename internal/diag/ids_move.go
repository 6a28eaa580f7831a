package diag

// What moves elements and computes nothing: views, shapes, blocks, padding.
var (
	ConcatLayout = gate("concat-layout", "Tensors of different layouts are joined",
		"All operands have the same interleave.",
		"give all inputs one interleave")
	ConcatInterleave = inferred("concat-interleave", "Tensors are interleaved along another axis than the channels",
		"The engine interleaves along C.",
		"transpose so that the axis is C")
	TileFactor = gate("tile-factor", "A tensor is repeated by a factor that is not taken",
		"Repetitions are made of the factors 2, 3, 4 and 8.",
		"concatenate copies, or tile by a larger factor and take a part")
	BroadcastDepth = gate("broadcast-depth", "A broadcast along the depth",
		"One of the target's capability bytes switches it, and it is clear or not known.",
		"reshape so that the axis is another than D, or concatenate copies")
	BroadcastLegacyType = gate("broadcast-legacy-type", "A broadcast of other numbers than fp16 on an old chip",
		"The two generations before the M1 broadcast fp16 alone.",
		"cast to fp16 before")

	TransposePermutation = gate("transpose-permutation", "A transpose names an axis twice",
		"A permutation has each axis once.",
		"name each axis once")
	TransposeBatch = gate("transpose-batch", "A transpose moves the batch",
		"The engine transposes D, C, H and W. Axes of extent 1 do not count: nothing moves.",
		"reshape so that the batch is part of another axis")
	TransposeExtent = gate("transpose-extent", "A transpose of too long an axis",
		"What is transposed has a longest extent, which differs between chips.",
		"split the tensor, transpose the parts and concatenate")
	TransposeChannelFactors = gate("transpose-channel-factors", "A transpose of channels on an old chip",
		"Without a third dimension a transpose of channels is made of block moves. These take a height of 1 and channels that factor into 2, 3, 4 and 8.",
		"reshape to height 1 and pad the channels")
	ReshapeElements = gate("reshape-elements", "A reshape to another number of elements",
		"A reshape keeps the number of elements.",
		"keep the number of elements")
	ReshapeLegacy = gate("reshape-legacy", "A reshape that is no flatten on an old chip",
		"The two generations before the M1 make every reshape a flatten.",
		"reshape to one axis only, or choose a later target")
	FlattenInputs = inferred("flatten-inputs", "A flatten has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	FlattenDepth = inferred("flatten-depth", "A flatten of a tensor with depth",
		"The depth must be 1.",
		"write a reshape")
	FlattenOrder = gate("flatten-order", "A flatten in an order that is none",
		"The orders are NCHW and NHWC.",
		"use NCHW")
	UnflattenInputs = gate("unflatten-inputs", "An unflatten has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	UnflattenExtent = gate("unflatten-extent", "An unflatten of what is not flat",
		"All elements lie along the channels.",
		"write a reshape")
	UnflattenCount = gate("unflatten-count", "An unflatten to another number of elements",
		"The extents multiply to the number of channels.",
		"give extents whose product is the number of channels")
	UnflattenOrder = gate("unflatten-order", "An unflatten in an order that is none",
		"The orders are NCHW and NHWC.",
		"use NCHW")
	ShapeAxes = gate("shape-axes", "A shape of more axes than there are",
		"The layer gives extents along the axes of a tensor, each once.",
		"ask for each axis once")

	InputViewSize = gate("input-view-size", "A view of nothing",
		"A tensor of the engine has at least one element.",
		"leave the empty tensor out")
	InputViewStep = gate("input-view-step", "A view without a step",
		"The step is the distance of the elements, and not 0.",
		"give the distance of the elements")
	InputViewPartialReverse = gate("input-view-partial-reverse", "A part of a tensor is taken in reverse",
		"A view with a negative step takes the whole axis.",
		"reverse the whole axis and take the part of it")
	InputViewInterleave = gate("input-view-interleave", "A view begins within interleaved channels",
		"The first channel is a multiple of the interleave.",
		"begin at a multiple, or store the tensor without interleave")
	DynamicSliceSize = gate("dynamic-slice-size", "A slice of nothing",
		"A tensor of the engine has at least one element.",
		"leave the empty slice out")

	PadChannel = gate("pad-channel", "Padding along the channels",
		"The engine pads along H and W.",
		"concatenate a constant along C")
	PadDepth = gate("pad-depth", "Padding along the depth",
		"The engine pads along H and W.",
		"concatenate a constant along D")
	PadBatch = gate("pad-batch", "Padding along the batch",
		"The engine pads along H and W.",
		"concatenate a constant along N")
	PadMode = gate("pad-mode", "Padding with mirrored elements",
		"Symmetric and reflective padding need the texture engine, which chips before the M2 do not have. A converted operation has a stand-in on the M1.",
		"pad with a constant, or concatenate reversed parts")
	PadValue = gate("pad-value", "Padding with a number that fp16 does not hold",
		"The number must be within ±65504.",
		"pad with a value that fp16 holds")

	PixelShuffleFactor = gate("pixel-shuffle-factor", "A pixel shuffle by a factor that is not taken",
		"The factors are 1, 2, 3, 4 and 8.",
		"do it in two steps of smaller factors")
	PixelShuffleDepth = gate("pixel-shuffle-depth", "A pixel shuffle along the depth",
		"Blocks lie in the plane.",
		"reshape so that the blocks lie along H and W")
	PixelShuffleChannels = gate("pixel-shuffle-channels", "A pixel shuffle of channels that the factors do not divide",
		"The channels are a multiple of the product of the factors.",
		"pad the channels before")
	PixelUnshuffleFactor = gate("pixel-unshuffle-factor", "A pixel unshuffle by a factor that is not taken",
		"The factors are 1, 2, 3, 4 and 8.",
		"do it in two steps of smaller factors")
	PixelUnshuffleDepth = gate("pixel-unshuffle-depth", "A pixel unshuffle along the depth",
		"Blocks lie in the plane.",
		"reshape so that the blocks lie along H and W")
	PixelUnshuffleExtent = gate("pixel-unshuffle-extent", "A pixel unshuffle of a plane that the factors do not divide",
		"Height and width are multiples of their factors.",
		"pad H and W before")
	ChannelToSpaceFactor = gate("channel-to-space-factor", "Channels are moved to space by a factor that is not taken",
		"Factors are products of 2, 3, 4 and 8.",
		"reshape and transpose instead")
	ChannelToSpaceDepth = gate("channel-to-space-depth", "Channels are moved to the depth",
		"Blocks lie in the plane.",
		"reshape so that the blocks lie along H and W")
	SpaceToChannelFactor = gate("space-to-channel-factor", "Space is moved to channels by a factor that is not taken",
		"Factors are products of 2, 3, 4 and 8.",
		"reshape and transpose instead")
	SpaceToChannelDepth = gate("space-to-channel-depth", "The depth is moved to channels",
		"Blocks lie in the plane.",
		"reshape so that the blocks lie along H and W")
	SpaceToBatchFactor = gate("space-to-batch-factor", "Space is moved to the batch by a factor that is not taken",
		"Factors are products of 2, 3, 4 and 8.",
		"reshape and transpose instead")
	SpaceToBatchDepth = gate("space-to-batch-depth", "The depth is moved to the batch",
		"Blocks lie in the plane.",
		"reshape so that the blocks lie along H and W")
	SpaceToBatchExtent = gate("space-to-batch-extent", "Space is moved to the batch from a plane that the factors do not divide",
		"Height and width are multiples of their factors.",
		"pad H and W before")
	BatchToSpaceFactor = gate("batch-to-space-factor", "The batch is moved to space by a factor that is not taken",
		"Factors are products of 2, 3, 4 and 8.",
		"reshape and transpose instead")
	BatchToSpaceDepth = gate("batch-to-space-depth", "The batch is moved to the depth",
		"Blocks lie in the plane.",
		"reshape so that the blocks lie along H and W")
	BatchToSpaceBatch = gate("batch-to-space-batch", "The batch is not a multiple of the blocks that it becomes",
		"The batch is a multiple of the product of the factors.",
		"pad the batch before")
)
