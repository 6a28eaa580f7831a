package diag

// The multiply array: convolution, matrix products, attention.
var (
	ConvKernel = gate("conv-kernel", "A convolution has no weights",
		"The layer reads a tensor and a kernel. One of them is missing.",
		"give the convolution its weights")
	KernelFP8 = gate("kernel-fp8", "The weights are in an 8-bit float that the chip lacks",
		"E4M3 weights came with the A19, and E5M2 weights are on no chip.",
		"store the weights as fp16, or as a palette of 4 bits, which streams")
	ConvGroups = gate("conv-groups", "Channels are not divisible by the groups",
		"A grouped convolution gives each group as many input and output channels.",
		"pad the channels with zeros to a multiple of the number of groups, or use another number of groups")
	ConvPaddingMode = gate("conv-padding-mode", "A convolution pads with mirrored elements",
		"Symmetric and reflective padding need the texture engine, which chips before the M2 do not have.",
		"pad with zeros, or join mirrored slices of the input before the convolution")
	ConvKernelRange = gate("conv-kernel-range", "The kernel of a convolution is too large",
		"The engine takes kernels up to a width, height and depth that differ between chips and element types. A stride above 2 is taken apart first, which makes the kernel smaller.",
		"split the kernel into smaller ones and add their results, or pad it with zeros to a multiple of 8 in width and height")
	ConvLargeKernel = gate("conv-large-kernel", "A large kernel cannot be made of small ones",
		"A kernel that the engine does not have is made of kernels of 8 by 8. That works for plain convolutions with zero padding and a stride of 1 or 2.",
		"split the kernel into smaller ones and add their results")
	ConvDilation = gate("conv-dilation", "The dilation of a convolution is not taken",
		"Factors of 2, 3, 4 and 8 are taken out of a dilation. What is left makes the kernel wider, and it must still fit; along the depth there is no dilation at all.",
		"use a dilation that is a product of 2, 3, 4 and 8")
	Deconv = gate("deconv", "A transposed convolution is not taken",
		"Transposed convolutions have no dilation, strides up to 4, and small kernels along strided axes. The finding says which is broken.",
		"use several transposed convolutions with strides of 2, or a resize and a convolution")
	CrossCorrelationGroups = gate("cross-correlation-groups", "A cross-correlation has no groups",
		"The number of groups is at least one.",
		"give 1")
	CrossCorrelationTemplate = gate("cross-correlation-template", "The template of a cross-correlation is too large",
		"The layer becomes a convolution with a live kernel, and has its limits.",
		"split the template along the axis and add the results")

	MatMulInputs = gate("matmul-inputs", "A matrix product has not two operands",
		"The layer multiplies two matrices and nothing else.",
		"multiply two matrices, and add a bias in a layer of its own")
	MatMulDepth = gate("matmul-depth", "A matrix product of rank 5",
		"Matrices lie in the plane, in batches along one axis. The depth must be 1.",
		"reshape to rank 4: fold the second axis into the first")
	MatMulRows = gate("matmul-rows", "A matrix product has another number of rows than its first operand",
		"The layer states its result, and the rows of it are those of the first matrix.",
		"give the result as many rows as the first matrix")
	MatMulKernelMemory = inferred("matmul-kernel-memory", "A row of the first matrix does not fit the kernel memory",
		"One operand of a product of live matrices goes where weights go. A row of it must fit there.",
		"split the inner axis into parts and add their products")
	LinearInputs = gate("linear-inputs", "A linear layer has more than one live input",
		"Weights and bias of a linear layer are constants of the program.",
		"make weights and bias constants, or write a matrix product")
	LinearRank = gate("linear-rank", "A linear layer of rank 5",
		"The layer takes tensors of up to four axes.",
		"reshape to rank 4 before, and back after")

	SDPAInputs = gate("sdpa-inputs", "Attention lacks operands, or has too many",
		"The layer reads query, key, value, a constant scale and, if any, a mask that is added.",
		"give query, key, value and a scale")
	SDPARank = gate("sdpa-rank", "Attention of rank 5",
		"The layer takes operands of up to four axes.",
		"fold batch and heads into one axis each")
	SDPAKeyValue = gate("sdpa-key-value", "Key and value have different shapes",
		"The layer takes keys and values of the same width.",
		"pad the features of the smaller one with zeros, or write matmul, softmax and matmul")
	SDPAMask = gate("sdpa-mask", "The mask of an attention is not taken",
		"A mask is added: it has the type of the query, a row for each position of the query or one for all, and a column for each position of the key.",
		"give a mask of 0 where attention goes and a large negative number elsewhere")
)
