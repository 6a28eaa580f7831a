package diag

// Pooling, reductions and what searches for an extreme.
var (
	PoolInputs = gate("pool-inputs", "A pooling has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	PoolMode = inferred("pool-mode", "A pooling that old chips do not have",
		"Chips before the M1 have averages, extremes and two norms over a window in the plane.",
		"use an average or a maximum, and a transpose before it for what goes over the channels")
	PoolDilation = gate("pool-dilation", "A dilated pooling",
		"The engine pools windows without gaps.",
		"take strided slices and pool each of them")
	PoolWindow = gate("pool-window", "A pooling window is larger than the input",
		"The window must lie within the input and its padding.",
		"make the window as large as the input")
	PoolPadding = gate("pool-padding", "A pooling pads by a whole window",
		"Padding is less than the window, so that no window is made of padding alone.",
		"write the padding as a layer of its own before the pooling")
	PoolKernelRange = gate("pool-kernel-range", "The window of an average is too large",
		"An average takes windows up to a limit of the chip, or the whole input.",
		"pool twice with windows whose product is this one, or with the whole input")
	PoolPaddingMode = gate("pool-padding-mode", "A pooling pads with the wrong number",
		"What is padded must not change the result: a maximum pads with the least number, a norm with zeros or the edge.",
		"pad a maximum with negative infinity and a norm with zeros; negate around a minimum")

	ReductionInputs = gate("reduction-inputs", "A reduction has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	ReductionSquare = gate("reduction-square", "A square after a reduction",
		"Chips from the M2 on square the result of a reduction in the same layer.",
		"square the result in a layer of its own")
	ReductionAxis = gate("reduction-axis", "A reduction over an axis that is none",
		"The axes are N, D, C, H and W.",
		"name axes among N, D, C, H, W")
	ReductionType = gate("reduction-type", "A reduction that no engine has",
		"Sums, means, extremes and norms are there, products are not.",
		"write exp of the sum of log, for what is positive")
	ReductionMinFormat = gate("reduction-min-format", "A minimum of integers on an old chip",
		"Up to the M1 a minimum is of floats.",
		"cast to fp16 before, or negate and take the maximum")

	ArgExtent = gate("arg-extent", "An argmin or argmax over too many elements",
		"The index comes back as an fp16, which counts to 2048 without gaps.",
		"split the axis into parts, take the argument in each and then among their extremes")
	ArgMinMaxInputs = gate("argminmax-inputs", "An argmin or argmax has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	ArgMinMaxPadding = gate("argminmax-padding", "An argmin or argmax pads unevenly",
		"Padding is the same on both sides, less than the window, and none along the depth.",
		"pad the input evenly with a layer of its own and search without padding")
	ArgMinMaxStride = gate("argminmax-stride", "An argmin or argmax with a stride that is not taken",
		"The strides are 1, 2 and 4.",
		"search with stride 1 and slice the result with this step")
	GlobalArgMinMaxCapability = gate("globalargminmax-capability", "An argmin or argmax over a whole axis, which the chip lacks",
		"One of the target's capability bytes switches the layer, and it is clear.",
		"write it over the channels, after a transpose that brings the axis there")
	GlobalArgMinMaxInputs = gate("globalargminmax-inputs", "An argmin or argmax over a whole axis has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	GlobalArgMinMaxMode = gate("globalargminmax-mode", "An argmin or argmax that is neither",
		"The mode is minimum or maximum.",
		"use minimum or maximum")
	GlobalArgMinMaxAxis = gate("globalargminmax-axis", "An argmin or argmax over an axis that is none",
		"The axes are N, D, C, H and W.",
		"use one of N, D, C, H, W")
)
