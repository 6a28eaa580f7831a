package diag

// What no gate stops: the engine takes the layer, and numbers or time may suffer.
var (
	SaturatesAtPort = hazard("saturates-at-port", Hazard, WrongNumbers, Measured,
		"Sums of products can reach the magnitude from which on the array's output port gives infinity",
		"The port of the multiply array gives infinity from 32768 on, half of what fp16 holds. Partial sums count as the whole does, whatever comes after.",
		"scale the weights or the operand down, so that every sum stays below the limit, and scale the result back after the layer")
	SumOverflows = hazard("sum-overflows", Hazard, WrongNumbers, Measured,
		"Sums of so many elements that they can leave fp16",
		"A reduction holds the range of fp16, up to 65504. Beyond it the result is infinite.",
		"take the mean and scale it, or sum in two steps with a scale between them")
	WidthSliceGain = hazard("width-slice-gain", Hazard, WrongNumbers, Measured,
		"Slices along the last axis that do not begin at 0, which some targets copy with a gain of 16",
		"M1 and M2 multiply such a slice by 16 and divide after. Magnitudes above 4094 become infinite on the way.",
		"let the slice begin at 0, slice along another axis (transpose before), or keep the values within the limit")
	VarianceCancels = hazard("variance-cancels", Hazard, WrongNumbers, Measured,
		"A variance written as the mean of squares less the square of the mean",
		"Both are rounded to fp16 before the difference. Where the mean is large beside the deviation no digit is left.",
		"subtract the mean first and square the difference, or use layer_norm or instance_norm")
	SumsCancel = hazard("sums-cancel", Hazard, WrongNumbers, Measured,
		"A difference of two sums over many elements",
		"From 4096 on, units beside a large partial sum are lost. The difference keeps the errors of both sums.",
		"subtract element by element and sum the differences, or compute this step on the host")
	NormLongAxis = hazard("norm-long-axis", Hazard, WrongNumbers, Measured,
		"Normalizations over so many elements that the sums behind them lose units",
		"Mean and variance are sums over the axes. From 4096 elements on they lose units, by how much differs between chips.",
		"verify the result on the chip; normalize over fewer elements, or scale the operand down")

	WorkingSet = hazard("working-set", Hazard, LostTime, Decoded,
		"Layers whose tensors do not fit on chip together",
		"What a layer reads and writes fits on chip, or streams from and to memory. Then memory is what it waits for.",
		"make the batch or the picture smaller, or split the layer, so that what it reads and writes fits on chip")
	WeightsFold = hazard("weights-fold", Hazard, LostTime, Decoded,
		"Compressed weights that the target makes dense before it reads them",
		"A form of compression streams on a chip, and fewer bytes move, or it folds. Then it saves room in the file and no time.",
		"compress in a form that the target streams, of which every chip from the M1 on has palettes of 4 bits; or keep fp16")
	KernelMemorySplit = hazard("kernel-memory-split", Note, LostTime, Decoded,
		"Weights beyond the kernel memory, for which the compiler splits the layer",
		"It is how the compiler goes about the layer, and no reason to change the model. More tasks take more time to compile.",
		"compress the weights in a form that the target streams, for which the limit is larger")
	ReductionViaTranspose = hazard("reduction-via-transpose", Hazard, LostTime, Decoded,
		"Reductions over an extent from which on the target transposes first",
		"The transpose is a pass over the tensor before the reduction. Sums are taken in another order, which the wide accumulator absorbs.",
		"reduce in two steps of smaller extents; the numbers do not change")
	TransposePasses = hazard("transpose-passes", Hazard, LostTime, Decoded,
		"Transposes of extents that the target does not do in one go",
		"A chip transposes up to an extent in one pass. Beyond it the compiler makes several.",
		"split the tensor along the axis that is too long, or keep the layout")
	StrideFactored = hazard("stride-factored", Hazard, LostTime, Decoded,
		"Convolutions with a stride that the target makes of several",
		"The engine has strides of a short list. Others become a sequence of convolutions whose strides multiply to it.",
		"use a stride of the list, or a pooling after a smaller stride")
)
