package diag

// Softmax and the normalizations.
var (
	SoftmaxCapability = gate("softmax-capability", "The chip has no softmax",
		"Softmax came with the M1.",
		"write exp, a sum as a convolution of ones, and a division")
	SoftmaxInputs = gate("softmax-inputs", "A softmax has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	SoftmaxAxes = gate("softmax-axes", "A softmax over no axis",
		"The layer names the axes over which numbers add up to one.",
		"name the axis")
	SoftmaxFloat = gate("softmax-float", "A softmax makes no floats",
		"The result is between 0 and 1 and must be of a float type.",
		"leave the result in fp16 and convert it in a layer of its own")

	LayerNormInputs = gate("layernorm-inputs", "A layer normalization has more than one live input",
		"Gamma and beta of the layer are constants of the program.",
		"make gamma and beta constants, or multiply and add after the layer")
	LayerNormGroups = gate("layernorm-groups", "The groups of a normalization do not divide the channels",
		"Each group has as many channels.",
		"use a number of groups that divides the channels")
	LayerNormDepth = gate("layernorm-depth", "A normalization in groups of a tensor with depth",
		"With groups the depth must be 1.",
		"fold the depth into the height with a reshape")
	LayerNormFloat = gate("layernorm-float", "A layer normalization makes no floats",
		"The result must be of a float type.",
		"leave the result in fp16 and convert it in a layer of its own")
	InstanceNormCapability = gate("instancenorm-capability", "The chip has no instance normalization",
		"Instance normalization came with the M1.",
		"write mean and variance as global average pools, and subtract and multiply with them")
	InstanceNormAxes = gate("instancenorm-axes", "An instance normalization over other axes than the spatial ones",
		"The layer normalizes over D, H and W.",
		"normalize over spatial axes, or write a layer normalization")
	InstanceNormInputs = gate("instancenorm-inputs", "An instance normalization has more than one live input",
		"Gamma and beta of the layer are constants of the program.",
		"make gamma and beta constants, or multiply and add after the layer")
	InstanceNormFloat = gate("instancenorm-float", "An instance normalization makes no floats",
		"The result must be of a float type.",
		"leave the result in fp16 and convert it in a layer of its own")
	L2NormInputs = gate("l2norm-inputs", "An L2 normalization has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	L2NormAxes = gate("l2norm-axes", "An L2 normalization over the batch",
		"The layer normalizes over any axis but the batch.",
		"transpose the batch to another axis")
	L2NormFormat = gate("l2norm-format", "An L2 normalization makes no fp16",
		"The result is fp16.",
		"leave the result in fp16 and convert it in a layer of its own")
	MinMaxNormCapability = gate("minmaxnorm-capability", "The chip has no range normalization",
		"One of the target's capability bytes switches the layer, and it is clear.",
		"write the minimum and the maximum as reductions, and subtract and divide with them")
	MinMaxNormInputs = gate("minmaxnorm-inputs", "A range normalization has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	MinMaxNormAxes = inferred("minmaxnorm-axes", "A range normalization over the batch or the channels",
		"Width, height and depth are taken everywhere, channels by later chips, the batch nowhere.",
		"transpose the axis to width or height")
	LRNCapability = gate("lrn-capability", "The chip has no local response normalization",
		"One of the target's capability bytes switches the layer, and it is clear.",
		"write the sum of squares as a convolution over the channels, then a power and a product")
	LRNInputs = gate("lrn-inputs", "A local response normalization has not one operand",
		"The layer reads one tensor.",
		"give the layer its one tensor")
	LRNChannels = gate("lrn-channels", "A local response normalization over more channels than there are",
		"The window lies within the channels.",
		"make the window no larger than the channels")
	LRNDepth = gate("lrn-depth", "A local response normalization of a tensor with depth",
		"The depth must be 1.",
		"fold the depth into the height with a reshape")
	BatchNormKernel = gate("batchnorm-kernel", "A batch normalization has no constant mean and variance",
		"The layer is folded into gain and offset, for which its numbers must be known.",
		"make them constants, or write the difference, the reciprocal root and the product")
	BatchNormInputs = gate("batchnorm-inputs", "A batch normalization has not one operand",
		"The layer reads one tensor; what else it uses is constant.",
		"give the layer its one tensor, and what else it reads as constants")
	BatchNormFloat = gate("batchnorm-float", "A batch normalization makes no floats",
		"The result must be of a float type.",
		"leave the result in fp16 and convert it in a layer of its own")
)
