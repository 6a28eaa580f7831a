package anec

import (
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

var (
	overW     = td.AxesOf(W)
	overC     = td.AxesOf(C)
	eightBits = TypeOf(tensor.Int8, 1, 1, 32, 8, 8)
)

var _ = addCases(
	validatorCase{"softmax", layerOf(&Softmax{Axes: overW}, halfs(1, 1, 32, 8, 8)), "h13 h14 h17s m11", ""},
	validatorCase{"softmax before A13", layerOf(&Softmax{Axes: overW}, halfs(1, 1, 32, 8, 8)), "h11 h12 m9 t0", "Softmax is not supported by this ANE architecture"},
	validatorCase{"softmax over nothing", layerOf(&Softmax{}, halfs(1, 1, 32, 8, 8)), "h13", "Softmax with empty axes specified is invalid"},
	validatorCase{"softmax of nothing", layerOf(&Softmax{Axes: overW}), "h13", "Softmax layer must have only one single input."},
	validatorCase{"softmax in 8 bits", layerOf(&Softmax{Axes: overW}, halfs(1, 1, 32, 8, 8)).as(eightBits), "h13 h18", "Softmax output tensor must be in Float format"},

	validatorCase{"layer norm", layerOf(&LayerNorm{Axes: overW, Groups: 1}, halfs(1, 1, 32, 8, 8), weights(1, 1, 1, 1, 8)), "h13", ""},
	validatorCase{"in groups", layerOf(&LayerNorm{Axes: overC, Groups: 4}, halfs(1, 1, 32, 8, 8)), "h13", ""},
	validatorCase{"in 5 groups", layerOf(&LayerNorm{Axes: overC, Groups: 5}, halfs(1, 1, 32, 8, 8)), "h13", "LayerNorm input channels 32 must be divisible by num_groups (Specified: 5)"},
	validatorCase{"in groups, with depth", layerOf(&LayerNorm{Axes: overC, Groups: 4}, halfs(1, 2, 32, 8, 8)), "h13 h18", "... does not yet support depth > 1"},
	validatorCase{"layer norm in 8 bits", layerOf(&LayerNorm{Axes: overW, Groups: 1}, halfs(1, 1, 32, 8, 8)).as(eightBits), "h13", "LayerNorm output tensor format must be Float (Specified int8)"},
	validatorCase{"live gamma", layerOf(&LayerNorm{Axes: overW, Groups: 1}, halfs(1, 1, 32, 8, 8), halfs(1, 1, 1, 1, 8)), "h13", "LayerNorm layer must have only one single input."},

	validatorCase{"instance norm", layerOf(&InstanceNorm{Axes: td.AxesOf(H, W)}, halfs(1, 1, 32, 8, 8)), "h13 h14", ""},
	validatorCase{"instance norm before A13", layerOf(&InstanceNorm{Axes: td.AxesOf(H, W)}, halfs(1, 1, 32, 8, 8)), "h11 h12", "InstanceNorm layer not supported for this ANE architecture"},
	validatorCase{"over channels", layerOf(&InstanceNorm{Axes: overC}, halfs(1, 1, 32, 8, 8)), "h13", "InvalidUnitInstanceNormDimension"},
	validatorCase{"instance norm in 8 bits", layerOf(&InstanceNorm{Axes: overW}, halfs(1, 1, 32, 8, 8)).as(eightBits), "h13", "InstanceNorm output tensor must be in Float format"},
	validatorCase{"live gamma", layerOf(&InstanceNorm{Axes: overW}, halfs(1, 1, 32, 8, 8), halfs(1, 1, 32, 1, 1)), "h13", "InstanceNorm layer must have only one single input."},

	validatorCase{"L2", layerOf(&L2Norm{Axes: overC}, halfs(1, 1, 32, 8, 8)), "h13", ""},
	validatorCase{"L2 over the batch", layerOf(&L2Norm{Axes: td.AxesOf(N)}, halfs(1, 1, 32, 8, 8)), "h13 h18", "L2 norm does not support batch axis"},
	validatorCase{"L2 in 8 bits", layerOf(&L2Norm{Axes: overC}, halfs(1, 1, 32, 8, 8)).as(eightBits), "h13", "Error: L2 norm output tensor format must be Float16"},
	validatorCase{"L2 of nothing", layerOf(&L2Norm{Axes: overC}), "h13", "L2 norm layer must have only one single input."},

	validatorCase{"range over the width", layerOf(&MinMaxNorm{Axes: overW}, halfs(1, 1, 32, 8, 8)), "h13 h14", ""},
	validatorCase{"range over channels", layerOf(&MinMaxNorm{Axes: overC}, halfs(1, 1, 32, 8, 8)), "h13", "Min/max norm layer does not support batch/channel axis"},
	validatorCase{"range over channels from A14 on", layerOf(&MinMaxNorm{Axes: overC}, halfs(1, 1, 32, 8, 8)), "h14 h16", ""},
	validatorCase{"range over the batch", layerOf(&MinMaxNorm{Axes: td.AxesOf(N)}, halfs(1, 1, 32, 8, 8)), "h16", "Min/max norm layer does not support batch/channel axis"},
	validatorCase{"range before A13", layerOf(&MinMaxNorm{Axes: overW}, halfs(1, 1, 32, 8, 8)), "h11", "MinMaxNorm is not supported on this architecture"},
	validatorCase{"range of nothing", layerOf(&MinMaxNorm{Axes: overW}), "h13", "Min/max norm layer must have only one single input."},

	validatorCase{"local response", layerOf(&LRN{Size: 5, K: 1}, halfs(1, 1, 8, 8, 8)), "h13 h18", ""},
	validatorCase{"local response before A13", layerOf(&LRN{Size: 5, K: 1}, halfs(1, 1, 8, 8, 8)), "h11", "LRN is not supported on this architecture."},
	validatorCase{"a window wider than the channels", layerOf(&LRN{Size: 9, K: 1}, halfs(1, 1, 8, 8, 8)), "h13", "LRN Channel count must be greater than kernel channel. Channel: 8, Kernel Depth: 9"},
	validatorCase{"local response with depth", layerOf(&LRN{Size: 5, K: 1}, halfs(1, 2, 8, 8, 8)), "h13", "Tensor depth must be 1 for a channelwise LRN. Depth: 2"},
	validatorCase{"local response of nothing", layerOf(&LRN{Size: 5, K: 1}), "h13", "LRN layer must have only one single input."},
)

var _ = addCases(
	validatorCase{"sum", layerOf(&Reduction{Type: td.ReduceSum, Axes: overW}, halfs(1, 1, 32, 8, 8)), "h13 h18", ""},
	validatorCase{"square after it", layerOf(&Reduction{Type: td.ReduceSum, Axes: overW, Square: true}, halfs(1, 1, 32, 8, 8)), "h12 h13", "square operation after reduction is not supported"},
	validatorCase{"square after it from A14 on", layerOf(&Reduction{Type: td.ReduceSum, Axes: overW, Square: true}, halfs(1, 1, 32, 8, 8)), "h14 h15 h18", ""},
	validatorCase{"product", layerOf(&Reduction{Type: td.ReduceProduct, Axes: overW}, halfs(1, 1, 32, 8, 8)), "h13 h18", "Reduction type Product is not supported"},
	validatorCase{"minimum of integers", layerOf(&Reduction{Type: td.ReduceMin, Axes: overW}, surface(tensor.Int8, 1, 1, 32, 8, 8)), "h12 h13", "ReduceMin for non fp type is not supported for A13 and below"},
	validatorCase{"minimum of integers from A14 on", layerOf(&Reduction{Type: td.ReduceMin, Axes: overW}, surface(tensor.Int8, 1, 1, 32, 8, 8)), "h14", ""},
	validatorCase{"argument of 2049", layerOf(&Reduction{Type: td.ReduceArgMax, Axes: overC}, halfs(1, 1, 2049, 8, 8)), "h13", "arg-min and arg-max over channel = 2049, it should be in [1, 2048]"},
	validatorCase{"an axis past the last", layerOf(&Reduction{Type: td.ReduceSum, Axes: 1 << 5}, halfs(1, 1, 32, 8, 8)), "h13", "reduction axes 0b100000: each axis is at most 4"},
	validatorCase{"two inputs", layerOf(&Reduction{Type: td.ReduceSum, Axes: overW}, halfs(1, 1, 32, 8, 8), halfs(1, 1, 32, 8, 8)), "h13", "Reduction layer can only have one bottom"},

	validatorCase{"flat", layerOf(&Flatten{Order: FlattenNCHW}, halfs(1, 1, 32, 8, 8)), "h11 h13", ""},
	validatorCase{"flat with depth", layerOf(&Flatten{Order: FlattenNCHW}, halfs(1, 2, 32, 8, 8)), "h13", "Error: invalid input depth = 2 for flatten layer. It should be 1"},
	validatorCase{"in no order", layerOf(&Flatten{}, halfs(1, 1, 32, 8, 8)), "h13", "Error: unknown flatten mode. It should be NCHW or NHWC"},
	validatorCase{"flat of nothing", layerOf(&Flatten{Order: FlattenNCHW}), "h13", "Flatten layer can only have one bottom"},

	validatorCase{"unflattened", layerOf(&Unflatten{Order: FlattenNHWC, Dims: [3]int{2, 4, 4}}, halfs(1, 1, 32, 1, 1)), "h13", ""}, // code is not generated: see Codegen
	validatorCase{"unflattened from rows", layerOf(&Unflatten{Order: FlattenNHWC, Dims: [3]int{2, 4, 4}}, halfs(1, 1, 32, 2, 1)), "h13", "Error: invalid input height = 2 for unflatten layer. It should be 1"},
	validatorCase{"unflattened into more", layerOf(&Unflatten{Order: FlattenNHWC, Dims: [3]int{3, 4, 4}}, halfs(1, 1, 32, 1, 1)), "h13", "Error: input elements count (32) must equal output with shape C3H4W4 (48)"},
	validatorCase{"unflattened in no order", layerOf(&Unflatten{Dims: [3]int{2, 4, 4}}, halfs(1, 1, 32, 1, 1)), "h13", "Error: unknown unflatten mode. It should be NCHW or NHWC"},
	validatorCase{"unflattened from nothing", layerOf(&Unflatten{Order: FlattenNHWC}), "h13", "Unflatten layer can only have one bottom"},
)

var _ = addCases(
	validatorCase{"dropout at rate 0", layerOf(&Dropout{}, halfs(1, 1, 32, 8, 8)), "h13 h14 h15", ""},
	validatorCase{"dropout", layerOf(&Dropout{Rate: 0.5}, halfs(1, 1, 32, 8, 8)), "h13 h14 h14c", "Dropout layer is not supported on this architecture."},
	validatorCase{"dropout from A15 on", layerOf(&Dropout{Rate: 0.5}, halfs(1, 1, 32, 8, 8)), "h15 h16 h18 m11", ""},
	validatorCase{"dropout of all", layerOf(&Dropout{Rate: 1}, halfs(1, 1, 32, 8, 8)), "h15", "dropout rate 1, it should be in [0, 1)"},
	validatorCase{"dropout of nothing", layerOf(&Dropout{}), "h15", "Dropout layer must have only one single input."},

	validatorCase{"random", layerOf(&Random{Dims: Dims{1, 1, 1, 8, 8}, High: 1}), "h15 h18", ""},
	validatorCase{"random before A15", layerOf(&Random{Dims: Dims{1, 1, 1, 8, 8}, High: 1}), "h13 h14", "Random layer is not supported on this architecture."},
	validatorCase{"random the wrong way", layerOf(&Random{Dims: Dims{1, 1, 1, 8, 8}, Low: 2, High: 1}), "h15", "random numbers from 2 to 1: low should be below high"},
	validatorCase{"random in 32 bits", layerOf(&Random{Dims: Dims{1, 1, 1, 8, 8}, High: 1}).as(TypeOf(tensor.Int32, 1, 1, 1, 8, 8)), "h15", "random numbers of int32: should be Int8, UInt8 or Float16"},

	validatorCase{"to int8", layerOf(&Quant{To: tensor.Int8}, halfs(1, 1, 32, 8, 8), weights(1, 1, 32, 1, 1)), "h13", ""},
	validatorCase{"to int16", layerOf(&Quant{To: tensor.Int16}, halfs(1, 1, 32, 8, 8), weights(1, 1, 32, 1, 1)), "h13", "Quant layer must have int8, uint8, e4m3 or e5m2 output format."},
	validatorCase{"of integers", layerOf(&Quant{To: tensor.Int8}, surface(tensor.Int32, 1, 1, 32, 8, 8), weights(1, 1, 1, 1, 1)), "h13", "Quant layer must have fp16 or fp32 input format."},
	validatorCase{"a scale of each column", layerOf(&Quant{To: tensor.Int8}, halfs(1, 1, 32, 8, 8), weights(1, 1, 1, 1, 8)), "h13", "ANE doesn't support blockwise scale"},

	validatorCase{"from int8", layerOf(&DeQuant{}, surface(tensor.Int8, 1, 1, 32, 8, 8), weights(1, 1, 32, 1, 1)), "h13", ""},
	validatorCase{"weights of any form", layerOf(&DeQuant{}, weights(1, 1, 32, 8, 8), weights(1, 1, 4, 1, 1)), "h13", ""},
	validatorCase{"from int32", layerOf(&DeQuant{}, surface(tensor.Int32, 1, 1, 32, 8, 8), weights(1, 1, 32, 1, 1)), "h13", "Dequant layer must have int8, uint8, int4 or e4m3 input format."},
	validatorCase{"int4 with a scale of each channel", layerOf(&DeQuant{}, surface(tensor.Int4, 1, 1, 32, 8, 8), weights(1, 1, 32, 1, 1)), "h13", "Int4 Per-Cout Dequant is not supported"},
	validatorCase{"in blocks", layerOf(&DeQuant{}, surface(tensor.Int8, 1, 1, 32, 8, 8), weights(1, 1, 4, 1, 1)), "h13", "ANE doesn't support blockwise scale"},
	validatorCase{"into integers", layerOf(&DeQuant{}, surface(tensor.Int8, 1, 1, 32, 8, 8), weights(1, 1, 32, 1, 1)).as(eightBits), "h13", "Dequant layer must have fp16 output format."},
	validatorCase{"with a table", layerOf(&DeQuant{Blocks: Dims{1, 1, 1, 1, 1}}, surface(tensor.UInt8, 1, 1, 32, 8, 8), nil, nil, weights(1, 1, 1, 16, 1)), "h13",
		"Dequant layer takes scale and zero point only: tables and masks are for constants"},
)
