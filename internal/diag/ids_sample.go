package diag

// Gathers, samplers, sorts, states, points and boxes.
var (
	GatherInterleave = gate("gather-interleave", "Indices are interleaved by what does not divide their channels",
		"The channels of the indices are a multiple of the interleave.",
		"store the indices without interleave")
	GatherEnvelope = gate("gather-envelope", "A gather that a chip without a texture engine does not take",
		"Chips before the M2 gather by software: from tensors of batch 1 and depth 1, and along one axis or along three.",
		"gather along one axis of a tensor with batch 1 and depth 1; for indices that are known, slices or a product with a one-hot matrix")

	AffineTexture = gate("affine-texture", "The chip has no affine transform",
		"The layer needs the texture engine, which chips before the M2 do not have.",
		"resize or crop where the transform is one; else leave it to the host")
	AffineMatrix = gate("affine-matrix", "The matrix of an affine transform is not fp16",
		"The matrix is fp16.",
		"cast to fp16 before")
	ResampleChannels = gate("resample-channels", "Coordinates have the wrong number of channels",
		"Coordinates are one for W, or one for W and one for H.",
		"give one coordinate for W, or one for W and one for H")
	ResampleDepth = gate("resample-depth", "Coordinates have a depth",
		"The depth of the coordinates must be 1.",
		"one layer for each depth")
	ResampleTexture = gate("resample-texture", "The chip does not resample",
		"The layer needs the texture engine, which chips before the M2 do not have.",
		"resize where the grid is regular; else leave it to the host")
	CropResizeIndex = gate("crop-resize-index", "The boxes of a crop-resize are not fp16",
		"Boxes are fp16.",
		"cast to fp16 before")
	CropResizeBatch = gate("crop-resize-batch", "The boxes of a crop-resize are for another batch",
		"Boxes of four numbers are for a batch of 1, or one for each element of the batch.",
		"name the batch element in each box")
	ResizeBoth = gate("resize-both", "A resize says its size and its ratio",
		"The layer has one or the other along an axis, or both that agree.",
		"give the ratio size/extent, or resample at given coordinates")
	ResizeNoRoute = gate("resize-no-route", "The chip does not resize",
		"Chips from the M2 on resize by the texture engine, the M1 by software. Older ones do neither.",
		"upsample by a transposed convolution")

	SortFormat = gate("sort-format", "A sort of what is neither fp16 nor uint16",
		"The engine sorts 16-bit values.",
		"cast to fp16 before")
	TopKFormat = gate("topk-format", "A top-k of what is neither fp16 nor uint16",
		"The engine sorts 16-bit values.",
		"cast to fp16 before")
	NMSBox = gate("nms-box", "A box has not four numbers",
		"A box has four numbers: its place and its size.",
		"give the four numbers of a box")
	NMSBatch = gate("nms-batch", "Boxes and scores are of different batches",
		"There is a score for each box.",
		"give scores for each batch element")
	NMSBoxes = gate("nms-boxes", "Too many boxes",
		"The segmenter sends no more than 2048 boxes to an engine.",
		"take the boxes with the best scores first")
	NMSFormat = gate("nms-format", "Boxes are neither fp16 nor uint16",
		"The layer computes with 16-bit values.",
		"cast to fp16 before")

	RingBufferLiveState = gate("ring-buffer-live-state", "A ring buffer that is no state",
		"A writer that wraps around writes into a state of the model.",
		"write into a state of the model")
	RingBufferCircular = gate("ring-buffer-circular", "The chip has no circular buffers",
		"Buffers that wrap around came with the M2.",
		"shift the window and write at its end; keep the cache in a buffer of the host's")

	CrossProductFormat = gate("cross-product-format", "A cross product of what is not fp16",
		"The operands are fp16.",
		"cast to fp16 before")
	CrossProductInterleave = gate("cross-product-interleave", "A cross product of interleaved vectors",
		"The operands have no interleave.",
		"store the operands without interleave")
	CrossProductExtents = gate("cross-product-extents", "A cross product of other vectors than three numbers along the channels",
		"Vectors lie along C and stand side by side along N.",
		"put the vectors along N; or multiply and subtract permuted channels")
	FPSMetric = gate("fps-metric", "Furthest-point sampling by another distance than L2",
		"The engine measures in L2.",
		"use L2")
	FPSCentroids = gate("fps-centroids", "Furthest-point sampling of too many centroids",
		"One layer samples up to 1024.",
		"sample in several layers")
	FPSPoints = gate("fps-points", "Furthest-point sampling among too many points",
		"One layer takes a cloud of up to 8192.",
		"split the cloud")
	RadiusSearchExtents = gate("radius-search-extents", "A radius search among points that lie otherwise",
		"Points lie along W and their coordinates along C.",
		"put the points along W, their coordinates along C")
	CostVolumeWidth = gate("cost-volume-width", "A cost volume whose reference is too narrow",
		"The reference is wider than the other picture by the range of disparities.",
		"pad the reference by the disparity range")
)
