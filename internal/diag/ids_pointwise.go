package diag

// Element by element: functions, two operands, gain and offset, formats, random
// numbers.
var (
	TensorExtent = gate("tensor-extent", "A tensor is too long along an axis",
		"Surfaces have a longest extent along each axis, which differs between chips. Constants that are part of the program do not count.",
		"split the tensor along the axis, or move the extent to another axis with a reshape")
	TensorFormat = gate("tensor-format", "An operand is in a format that the engine does not compute in",
		"The engines compute in fp16, and read 8-bit integers and bools. 32-bit integers are none of these.",
		"let the operand be fp16 from the start, in which integers up to 2048 are exact")
	LayerBottoms = gate("layer-bottoms", "A layer has the wrong number of operands",
		"Before a validator reads a field it counts the tensors of the layer. Constants that are part of the layer do not count.",
		"wire the operands of the kind")

	NeuronInputs = gate("neuron-inputs", "An activation has more than one live input",
		"The layer reads one tensor; a slope is a constant.",
		"make the slope a constant")
	NeuronReLUN = inferred("neuron-relun", "A bounded rectifier without a positive bound",
		"The bound of the function must be above 0.",
		"negate the input and the result, or use clip")
	NeuronMode = gate("neuron-mode", "A function that the chip does not have",
		"The engine computes functions by tables, of which each generation has a list. Sine and cosine, for one, came with the M3.",
		"write it with functions that the chip has; the finding says which")
	ElementWiseInputs = gate("elementwise-inputs", "An elementwise layer has the wrong number of operands",
		"The layer reads two tensors, or one for the functions of one.",
		"chain layers of two operands")
	ElementWiseType = gate("elementwise-type", "An elementwise function that no engine has",
		"Arithmetic, extremes and comparisons are there; remainders and the logic of bools are not.",
		"write it with others: products and extremes of 0 and 1, or a division and a floor")
	ElementWiseZero = gate("elementwise-zero", "A division by a constant zero",
		"The compiler refuses it.",
		"divide by something else, or add an epsilon")
	ElementWiseOldBroadcast = gate("elementwise-old-broadcast", "A broadcast of other numbers than fp16 on an old chip",
		"The two generations before the M1 broadcast fp16 alone.",
		"cast both operands to fp16, or give them the same extents")
	ScaledElementWiseInputs = gate("scaledelementwise-inputs", "A scaled elementwise layer has the wrong number of operands",
		"The layer reads one tensor or two.",
		"chain layers of two operands")
	ScaledElementWiseType = gate("scaledelementwise-type", "A scaled elementwise function that is not there",
		"The functions are sum, product, sum of squares, maximum and minimum.",
		"use one of these")
	GOCInputs = gate("goc-inputs", "Gain and offset are live",
		"The layer reads one tensor; its gain and offset are constants.",
		"make gain and offset constants, or use the layer for live ones")
	GOCExtent = gate("goc-extent", "Gain or offset vary along other axes than the channels",
		"They have one element, or one for each channel.",
		"multiply and add element by element, which takes operands of any extents")
	DynamicGOCCapability = gate("dynamicgoc-capability", "The chip has no live gain and offset",
		"The smallest of the old chips lacks the layer.",
		"multiply and add element by element")
	DynamicGOCInputs = gate("dynamicgoc-inputs", "Live gain and offset are not both there",
		"The layer reads x, gain and offset, or x and offset if it says that there is no gain.",
		"give the gain too, or say that there is none")
	DynamicGOCFormat = gate("dynamicgoc-format", "Live gain and offset are not fp16",
		"The layer computes in fp16.",
		"cast the operands to fp16")
	DynamicGOCExtent = gate("dynamicgoc-extent", "Live gain or offset vary along other axes than the channels",
		"They have one element, or one for each channel.",
		"multiply and add element by element, which takes operands of any extents")

	QuantInput = gate("quant-input", "A quantization of what is no float",
		"The layer reads fp16 or fp32.",
		"cast to fp16 before")
	QuantOutput = gate("quant-output", "A quantization to a type that the engine does not store",
		"The layer makes 8-bit integers and 8-bit floats.",
		"quantize to int8 or uint8")
	QuantScale = gate("quant-scale", "A scale in blocks",
		"Scale and zero point of a live tensor are one number, or one for each channel.",
		"transpose the scaled axis to the channels, or use one scale for all")
	DeQuantInput = gate("dequant-input", "A dequantization of a type that the engine does not read",
		"The layer reads 8-bit integers, int4 and E4M3.",
		"keep the tensor in int8 or uint8")
	DeQuantOutput = gate("dequant-output", "A dequantization to another type than fp16",
		"The layer makes fp16.",
		"leave the result in fp16")
	DeQuantCompressed = gate("dequant-compressed", "A table or a mask for a live tensor",
		"Palettes and sparse forms are for constants.",
		"gather from the table, or multiply with the mask")
	DeQuantInt4 = gate("dequant-int4", "An int4 tensor with a scale for each channel",
		"A live int4 tensor has one scale.",
		"use one scale for all channels, or int8")

	DropoutInputs = gate("dropout-inputs", "A dropout has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	DropoutRate = gate("dropout-rate", "A dropout rate that is none",
		"The rate is at least 0 and below 1.",
		"use a rate below 1")
	DropoutCapability = gate("dropout-capability", "The chip has no dropout",
		"Random numbers came with the M3. A rate of 0, as in inference, is a copy and runs everywhere.",
		"set the rate to 0 for inference, or multiply with a mask that is an input")
	RandomCapability = gate("random-capability", "The chip makes no random numbers",
		"Random numbers came with the M3.",
		"give the random numbers as an input")
	RandomRange = gate("random-range", "Random numbers between bounds in the wrong order",
		"The lower bound is below the upper one.",
		"exchange them")
	RandomFormat = gate("random-format", "Random numbers of a type that the engine does not make",
		"The types are int8, uint8 and fp16.",
		"make them in fp16 and cast")
)
