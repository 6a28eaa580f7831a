package diag

// Layers that pass their validator and of which no code comes. Which do not is
// known by trying.
var (
	CodegenTopK = codegen("codegen-topk", "No code is generated for top-k",
		"The layer passes its validator on chips up to the M1 and is rejected at code generation. Later chips have it.",
		"sort on the host, or take the maximum k times")
	CodegenTopKBand = codegen("codegen-topk-band", "No code is generated for top-k with k 3 or 4",
		"As a unit of a network description the layer fails with these two numbers. A converted operation does not.",
		"ask for 5 and take the first of them")
	CodegenSort = codegen("codegen-sort", "No code is generated for sort",
		"The layer passes its validator on chips up to the M1 and is rejected at code generation. Later chips have it.",
		"sort on the host")
	CodegenDynamicSlice = codegen("codegen-dynamic-slice", "No code is generated for a slice that begins where a tensor says",
		"The layer passes its validator on chips up to the M1 and is rejected at code generation. Later chips have it.",
		"slice at a constant, or multiply with a one-hot matrix")
	CodegenConv3D = codegen("codegen-conv3d", "No code is generated for three-dimensional convolution",
		"The compiler attests the layer and finds no backend for it. That was tried on the M1.",
		"one two-dimensional convolution for each depth of the kernel, and add the results")
	CodegenLiveKernel = codegen("codegen-live-kernel", "No code is generated for a convolution with a live kernel and a batch above 1",
		"The compiler's service dies over it. A constant kernel, or a batch of 1, is well.",
		"a constant kernel, or one convolution for each batch element")
	CodegenUnflatten = codegen("codegen-unflatten", "No code is generated for unflatten",
		"The unit passes validation and fails lowering for every variant.",
		"reshape")
	CodegenLRN = codegen("codegen-lrn", "No code is generated for local response normalization of 16 channels or more",
		"As a unit of a network description the layer fails from 16 channels on. A converted operation does not.",
		"normalize by squares, a pooling over channels and a power")
	CodegenCropResize = codegen("codegen-crop-resize", "No code is generated for crop-resize without a texture engine",
		"The layer passes its validator on the M1, which has no texture engine, and fails lowering.",
		"crop and resize in two layers where the boxes are known; else leave it to the host")
	CodegenCropResizeAuthored = codegen("codegen-crop-resize-authored", "No code is generated for crop-resize as a unit",
		"As a unit of a network description the layer fails on the M5, by a constraint on its plane equations. A converted operation does not.",
		"take the conversion route")
	CodegenResampleAuthored = codegen("codegen-resample-authored", "No code is generated for resampling between elements as a unit",
		"As a unit of a network description the layer takes the nearest elements alone on the M5. A converted operation takes more.",
		"resample at the nearest elements, or take the conversion route")
	CodegenSineAuthored = codegen("codegen-sine-authored", "No network description has sine and cosine",
		"A model's operation becomes native from the M3 on. As units of a network description the two functions have no form on any chip.",
		"take the conversion route, or write a polynomial of x, reduced to a period")
	CodegenBeforeM1 = codegen("codegen-before-m1", "Nothing is known of the unit before the M1",
		"Of chips before the M1 the sources have convolution, products, pooling, elementwise work, activations and moves. Of other units of a network description they tell from the M1 on.",
		"choose the M1 or later")
	CodegenGatherND = codegen("codegen-gather-nd", "No code is generated for a gather along several axes, one longer than 2048",
		"The converter makes one index of several axes, and takes extents up to 2048.",
		"reshape so that the axes are shorter, or gather along one axis")
	CodegenNMS = codegen("codegen-nms", "No code is generated for non-maximum suppression",
		"A CPU or GPU takes the operation, and no engine was seen to.",
		"leave it to the host")
	CodegenMinMaxChannel = codegen("codegen-minmax-channel", "No code is generated for range normalization over channels",
		"As a unit of a network description the layer takes width and height alone.",
		"transpose the channels to width")
	CodegenRingBuffer = codegen("codegen-ring-buffer", "No code is generated for a ring buffer in a network of one procedure",
		"A ring buffer is written by one procedure and read by another. A network description of one procedure fails.",
		"keep the cache in a buffer that the host binds, and write windows of fixed places")
	CodegenRasterizer = codegen("codegen-rasterizer", "No code is generated for unfolded windows of more than one element",
		"The kernel rasterizer compiles as the identity alone.",
		"a convolution with a kernel of ones and zeros")
	CodegenCustomTable = codegen("codegen-custom-table", "No code is generated for an activation by a table of its own",
		"The parser of the unit wants two sets of keys and then rejects both together.",
		"the same curve as linear, relu, linear: espalier fit finds it")
	CodegenDecomposition = codegen("codegen-decomposition", "No code is generated for matrix decomposition",
		"The unit is known by name and was never seen to compile.",
		"leave it to the host")
	CodegenPlaneReader = codegen("codegen-plane-reader", "No code is generated for image input by four-character code",
		"The unit is behind an entitlement and faults at lowering without it.",
		"take the image as uint8 and convert in the graph")
	CodegenPlaneWriter = codegen("codegen-plane-writer", "No code is generated for image output by planes",
		"The unit is internal to the compiler.",
		"give the tensor and convert outside")
	CodegenInt32 = codegen("codegen-int32", "No code is generated for casts to or from 32-bit integers",
		"The datapath has no such numbers. Indices are uint16 on the chip and int32 in the model alone.",
		"stay in fp16, which is exact up to 2048, or cast on the host")
)
