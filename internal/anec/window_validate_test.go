package anec

import (
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// convOf is a convolution of 16 to 16 channels of 64 by 64 with a kernel of H, W.
func convOf(h, w int, change ...func(*Conv)) *Layer {
	p := NewParams(KindConv).(*Conv)
	p.Kernel[1], p.Kernel[2] = h, w
	for _, f := range change {
		f(p)
	}
	return layerOf(p, halfs(1, max(p.Kernel[0], 1), 16, 64, 64), weights(16, p.Kernel[0], 16/p.Groups, h, w))
}

func depth(n int) func(*Conv)    { return func(p *Conv) { p.Kernel[0] = n } }
func stride(n int) func(*Conv)   { return func(p *Conv) { p.Stride = [3]int{1, n, n} } }
func dilation(n int) func(*Conv) { return func(p *Conv) { p.Dilation = [3]int{1, n, n} } }
func groups(n int) func(*Conv)   { return func(p *Conv) { p.Groups = n } }
func transposed(p *Conv)         { p.Transposed = true }
func mirrored(p *Conv)           { p.PadBefore[2], p.PadAfter[2], p.PaddingMode = 1, 1, td.PadReflective }
func depthDilation(p *Conv)      { p.Dilation[0] = 2 }
func depthStride(p *Conv)        { p.Stride[0] = 2 }
func poolOf(p Pooling) *Layer    { return layerOf(&p, halfs(1, 1, 8, 64, 64)) }
func window(k, pad, step int) Window { // the same along H and W
	w := UnitWindow
	for i := 1; i < 3; i++ {
		w.Kernel[i], w.Stride[i], w.PadBefore[i], w.PadAfter[i] = k, step, pad, pad
	}
	return w
}

var _ = addCases(
	validatorCase{"3x3", convOf(3, 3), "h11 h12 m9 h13 h14 h15 h16 h17s h18 m11", ""},
	validatorCase{"fp16, 13 wide", convOf(3, 13), "h13 h13g t1 h14", ""},
	validatorCase{"fp16, 14 wide", convOf(3, 14), "h13 h13g t1", "Invalid conv kernel width = 14, It should be in [1,13]"},
	validatorCase{"fp16, 15 wide", convOf(3, 15), "h13 h12", "Invalid conv kernel width = 15, It should be in [1,13]"},
	validatorCase{"fp16, 15 wide on later families", convOf(3, 15), "h14 h15 h16 h17s m11", ""},
	validatorCase{"fp16, 17 wide", convOf(3, 17), "h14 h17s h18", "Invalid conv kernel width = 17, It should be in [1,16]"},
	validatorCase{"29 high", convOf(29, 3), "h13 h14", ""},
	validatorCase{"30 high", convOf(30, 3), "h13", "Invalid conv kernel height = 30, It should be in [1,29]"},
	validatorCase{"30 high on later families", convOf(30, 3), "h14 h16", ""},
	validatorCase{"8 bits, 29 wide", layerOf(&Conv{Window: window(29, 0, 1), Groups: 1, PaddingMode: td.PadZero}, surface(tensor.Int8, 1, 1, 4, 64, 64), weights(4, 1, 4, 29, 29)), "h13", ""},

	// Kernels that the engine does not have are made of 8 by 8.
	validatorCase{"16x16 is made of 8x8", convOf(16, 16), "h13", ""},
	validatorCase{"16 wide and 3 high", convOf(3, 16), "h13", "Error: kernel width and height should be multiple of 8 for large kernel but are 16 and 3"},
	validatorCase{"large in groups", convOf(32, 32, groups(2)), "h13", "Error: grouped conv with large kernel size is not supported"},
	validatorCase{"large and dilated", convOf(24, 24, dilation(2)), "h13", "Error: dilated conv with large kernel size is not supported"},
	validatorCase{"large with replicated padding", convOf(32, 32, func(p *Conv) { p.PadBefore[1], p.PaddingMode = 1, td.PadReplication }), "h13", "Error: only support zero padding for conv with large kernel"},
	validatorCase{"large and deep", convOf(32, 32, depth(2)), "h13", "Error: kernel with depth = 2 > 1 is not supported for large kernel"},
	validatorCase{"large with stride 5", convOf(32, 32, stride(5)), "h13", "Error: x strides should be 1 or 2 for conv with large kernel but is 5"},
	validatorCase{"patches of 16", convOf(16, 16, stride(16)), "h12 h13 h17s", ""},
	validatorCase{"patches of 14", convOf(14, 14, stride(14)), "h13", "Invalid conv kernel width = 14, It should be in [1,13]"},
	validatorCase{"patches of 14 on later families", convOf(14, 14, stride(14)), "h14 h16", ""},

	validatorCase{"deep", convOf(3, 3, depth(16)), "h13 h16", ""},
	validatorCase{"too deep", convOf(3, 3, depth(17)), "h13 h16", "Invalid conv kernel depth = 17, It should be in [1,16]"},
	validatorCase{"dilated by 8", convOf(3, 3, dilation(8)), "h13", ""},
	validatorCase{"dilated by 7", convOf(3, 3, dilation(7)), "h13", "InvalidDilationFactor"},
	validatorCase{"dilated by 7 on later families", convOf(3, 3, dilation(7)), "h14", ""},
	validatorCase{"dilated along depth", convOf(3, 3, depth(2), depthDilation), "h13 h18", "InvalidDilationFactor"},
	validatorCase{"4 groups", convOf(3, 3, groups(4)), "h13", ""},
	validatorCase{"3 groups of 16 channels", layerOf(&Conv{Window: window(3, 1, 1), Groups: 3}, halfs(1, 1, 16, 8, 8), weights(16, 1, 5, 3, 3)).as(TypeOf(tensor.Float16, 1, 1, 16, 8, 8)), "h13",
		"input/output channels should be divisible by num group"},
	validatorCase{"mirrored padding", convOf(3, 3, mirrored), "h13 t1 h12", "Architecture does not support padding mode."},
	validatorCase{"mirrored padding with a texture engine", convOf(3, 3, mirrored), "h14 h15 m11", ""},
	validatorCase{"live weights", layerOf(NewParams(KindConv), halfs(1, 1, 1, 8, 8), halfs(1, 1, 1, 1, 1)), "h13", ""},
	validatorCase{"no weights", layerOf(NewParams(KindConv), halfs(1, 1, 1, 8, 8)), "h13", "Conv must have Kernel"},
	validatorCase{"integers of 32 bits", layerOf(NewParams(KindConv), surface(tensor.Int32, 1, 1, 1, 8, 8), weights(1, 1, 1, 1, 1)), "h13 h18",
		"OpLayer input format not acceptable (UINT8/SINT8/FP16)"},
	validatorCase{"fp8 weights", fp8Conv(tensor.Float8E4M3FN), "h13 h17s", "E4M3 is not supported on this architecture"},
	validatorCase{"fp8 weights on A18", fp8Conv(tensor.Float8E4M3FN), "h18", ""},
	validatorCase{"fp8 weights of the other form", fp8Conv(tensor.Float8E5M2), "h13 h18", "E4M3 or E5M2 format not supported"},

	validatorCase{"transposed, stride 2", convOf(4, 4, transposed, stride(2)), "h13 h14", ""},
	validatorCase{"transposed, a strided axis takes small kernels", convOf(8, 8, transposed, stride(2)), "h13", "Invalid conv kernel width = 8, It should be in [1,7]"},
	validatorCase{"transposed, small is larger later", convOf(8, 8, transposed, stride(2)), "h14 h16", ""},
	validatorCase{"transposed and large", convOf(3, 16, transposed), "h13", "Error: deconv with large kernel size is not supported"},
	validatorCase{"transposed and dilated", convOf(3, 3, transposed, dilation(2)), "h13 h18", "Error: dilated deconvolution is not supported!"},
	validatorCase{"transposed, stride 5", convOf(5, 5, transposed, stride(5)), "h13", "Criterias for large kernel strides are not met"},
	validatorCase{"transposed, stride along depth", convOf(3, 3, transposed, depth(2), depthStride), "h13", "Error: deconv with stride > 1 is not supported along depth axis"},
	validatorCase{"transposed, deep with stride 4", convOf(4, 4, transposed, depth(2), stride(4)), "h13", "Error: deconv with stride > 2 does not support kernel depth > 1"},
)

func fp8Conv(d tensor.DType) *Layer {
	w := weights(1, 1, 1, 1, 1)
	w.Type.DType, w.Const.DType = d, d
	return layerOf(NewParams(KindConv), halfs(1, 1, 1, 8, 8), w)
}

var _ = addCases(
	validatorCase{"2x2", poolOf(Pooling{Window: window(2, 0, 2), Type: td.PoolMax, PaddingMode: td.PadNegative}), "h11 h13 h14 h18", ""},
	validatorCase{"average of 29", poolOf(Pooling{Window: window(29, 0, 1), Type: td.PoolAvg, PaddingMode: td.PadZero}), "h13", ""},
	validatorCase{"average of 30", poolOf(Pooling{Window: window(30, 0, 1), Type: td.PoolAvg, PaddingMode: td.PadZero}), "h13", "Invalid Pool kernel height (30), must be [1-29] or 64"},
	validatorCase{"average of 30 on later families", poolOf(Pooling{Window: window(30, 0, 1), Type: td.PoolAvg, PaddingMode: td.PadZero}), "h14", ""},
	validatorCase{"average of 32", poolOf(Pooling{Window: window(32, 0, 1), Type: td.PoolAvg, PaddingMode: td.PadZero}), "h14", "Invalid Pool kernel height (32), must be [1-31] or 64"},
	validatorCase{"average of all", poolOf(Pooling{Window: window(64, 0, 1), Type: td.PoolAvg, PaddingMode: td.PadZero}), "h13 h14", ""},
	validatorCase{"maximum of 48", poolOf(Pooling{Window: window(48, 0, 1), Type: td.PoolMax, PaddingMode: td.PadNegative}), "h13", ""},
	validatorCase{"over channels", poolOf(Pooling{Window: UnitWindow, Type: td.PoolChannelMax, PaddingMode: td.PadNegative}), "h11 h12 m9 t0", `Pooling mode "ChannelMax" is not available on this ANE architecture.`},
	validatorCase{"over channels from A13 on", poolOf(Pooling{Window: UnitWindow, Type: td.PoolChannelMax, PaddingMode: td.PadNegative}), "h13 h17s", ""},
	validatorCase{"window past the input", poolOf(Pooling{Window: window(65, 0, 1), Type: td.PoolMax, PaddingMode: td.PadNegative}), "h13",
		"pool kernel height = 65, it should be in [1, 64], the input with its padding"},
	validatorCase{"padding as wide as the window", poolOf(Pooling{Window: window(2, 2, 1), Type: td.PoolMax, PaddingMode: td.PadNegative}), "h13", "pool padding along height = 2, it should be in [0, 1]"},
	validatorCase{"padding that does not count", poolOf(Pooling{Window: window(2, 2, 1), Type: td.PoolAvg, PaddingMode: td.PadZero, ExcludePad: true}), "h13 h18",
		"Cannot support avg pool with exclude padding size equal to or larger than kernel size"},
	validatorCase{"maximum with zeros", poolOf(Pooling{Window: window(3, 1, 1), Type: td.PoolMax, PaddingMode: td.PadZero}), "h13", "MaxPool padding mode must be Negative"},
	validatorCase{"minimum with padding", poolOf(Pooling{Window: window(3, 1, 1), Type: td.PoolMin, PaddingMode: td.PadNegative}), "h13", "MinPool padding mode must be Positive"},
	validatorCase{"L2 with mirrored padding", poolOf(Pooling{Window: window(3, 1, 1), Type: td.PoolL2, PaddingMode: td.PadReflective}), "h13", "L2Pool padding mode must be Replication or Zero"},
	validatorCase{"dilated", poolOf(Pooling{Window: Window{Kernel: [3]int{1, 2, 2}, Stride: ones, Dilation: [3]int{1, 2, 2}}, Type: td.PoolMax, PaddingMode: td.PadNegative}), "h13", "Dilated Pooling not supported on ANE"},
	validatorCase{"no input", layerOf(&Pooling{Window: UnitWindow, Type: td.PoolMax}), "h13", "Pool layer must have only one single input."},
)

func argOf(mode td.ArgMode, x *Value, w Window) *Layer {
	return layerOf(&ArgMinMax{Window: w, Mode: mode}, x)
}

var _ = addCases(
	validatorCase{"2048 channels", argOf(td.ChannelArgMax, halfs(1, 1, 2048, 8, 8), UnitWindow), "h13 h18", ""},
	validatorCase{"2049 channels", argOf(td.ChannelArgMax, halfs(1, 1, 2049, 8, 8), UnitWindow), "h13 h18", "arg-min and arg-max over channel = 2049, it should be in [1, 2048]"},
	validatorCase{"2049 wide", argOf(td.SpatialArgMin, halfs(1, 1, 1, 8, 2049), window(2, 0, 2)), "h13", "arg-min and arg-max over width = 2049, it should be in [1, 2048]"},
	validatorCase{"padding on one side", argOf(td.SpatialArgMin, halfs(1, 1, 1, 8, 8), Window{Kernel: [3]int{1, 2, 2}, Stride: ones, Dilation: ones, PadBefore: [3]int{0, 0, 1}}), "h13",
		"ArgMinMax must have equal left and right padding, but left:1 and right:0 are given"},
	validatorCase{"padding on the top", argOf(td.SpatialArgMin, halfs(1, 1, 1, 8, 8), Window{Kernel: [3]int{1, 2, 2}, Stride: ones, Dilation: ones, PadBefore: [3]int{0, 1, 0}}), "h13",
		"ArgMinMax must have equal top and bottom padding, but top:1 and bot:0 are given"},
	validatorCase{"padding along depth", argOf(td.SpatialArgMin, halfs(1, 1, 1, 8, 8), Window{Kernel: ones, Stride: ones, Dilation: ones, PadBefore: [3]int{1, 0, 0}}), "h13",
		"ArgMinMax must have zero front and back padding, but front:1 and back:0 are given"},
	validatorCase{"padding as wide as the window", argOf(td.SpatialArgMin, halfs(1, 1, 1, 8, 8), window(2, 2, 1)), "h13",
		"ArgMinMax left padding value should be smaller than kernel width 2, but 2 is given"},
	validatorCase{"stride 3", argOf(td.SpatialArgMin, halfs(1, 1, 1, 8, 8), window(2, 0, 3)), "h13", "Invalid ArgMinMax pool stride x:3, must be within [1, 2, 4]"},
	validatorCase{"no input", argOf(td.SpatialArgMin, nil, UnitWindow), "h13", "ArgMinMax layer must have one input"},

	validatorCase{"an axis", layerOf(&GlobalArgMinMax{Type: td.Max, Axis: W}, halfs(1, 1, 3, 8, 8)), "h13 h14 h18", ""},
	validatorCase{"an axis before A13", layerOf(&GlobalArgMinMax{Type: td.Max, Axis: W}, halfs(1, 1, 3, 8, 8)), "h11 h12", "GlobalArgMinMax is not supported on this architecture"},
	validatorCase{"neither Min nor Max", layerOf(&GlobalArgMinMax{Type: 3, Axis: W}, halfs(1, 1, 3, 8, 8)), "h13", "GlobalArgMinMax mode 3, it should be 1 or 2"},
	validatorCase{"dimension 5", layerOf(&GlobalArgMinMax{Type: td.Max, Axis: 5}, halfs(1, 1, 3, 8, 8)), "h13", "GlobalArgMinMax dimension 5 is invalid"},
	validatorCase{"no input", layerOf(&GlobalArgMinMax{Type: td.Max, Axis: W}), "h13", "GlobalArgMinMax layer must have one input"},
)
