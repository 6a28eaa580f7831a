package anec

import (
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// number is a constant of one element.
func number(f float32) *Value {
	c := ConstantOf(tensor.Of([]float32{f}, 1, 1, 1, 1, 1))
	return &Value{Name: "z", Type: Type{DType: c.DType, Dims: c.Dims, Interleave: 1}, Const: c}
}

func sineAfter(l *Layer) *Layer {
	l.Epilogue.Post = &Activation{Function: td.FuncSin}
	return l
}

func sdpaOf(q, k, v, mask *Value) *Layer {
	bottoms := []*Value{q, k, v, number(1)}
	if mask != nil {
		bottoms = append(bottoms, mask)
	}
	return layerOf(&SDPA{SubtractMax: true}, bottoms...)
}

var _ = addCases(
	validatorCase{"matrices", layerOf(&MatMul{}, halfs(1, 1, 8, 64, 32), halfs(1, 1, 8, 32, 64)), "h11 h13 h18", ""},
	validatorCase{"rank 5", layerOf(&MatMul{}, halfs(1, 2, 8, 64, 32), halfs(1, 2, 8, 32, 64)), "h13 h18", "depth > 1 is not supported for MatMult"},
	validatorCase{"one matrix", layerOf(&MatMul{}, halfs(1, 1, 8, 64, 32)), "h13", "Matrix mult. layer can only have two bottoms"},
	validatorCase{"a long row", layerOf(&MatMul{TransposeZ: true}, halfs(1, 1, 1, 4, 32769), halfs(1, 1, 1, 4, 32769)), "h16 h18", "can not fit the Kmem"},
	validatorCase{"a row that fits", layerOf(&MatMul{TransposeZ: true}, halfs(1, 1, 1, 4, 32768), halfs(1, 1, 1, 4, 32768)), "h16 h18", ""},
	validatorCase{"rows that are not x's", layerOf(&MatMul{}, halfs(1, 1, 1, 4, 8), halfs(1, 1, 1, 8, 4)).as(TypeOf(tensor.Float16, 1, 1, 1, 5, 4)), "h13",
		"Error: invalid output channel = 5. Expecting it to be input A's channel dimension = 4 for MatMult"},

	validatorCase{"constant weights", layerOf(&Linear{Axis: W}, halfs(1, 1, 4, 8, 16), weights(1, 1, 1, 32, 16)), "h13", ""},
	validatorCase{"live weights", layerOf(&Linear{Axis: W}, halfs(1, 1, 4, 8, 16), halfs(1, 1, 1, 32, 16)), "h13", "Linear layer must have only one single input."},
	validatorCase{"rank 5", layerOf(&Linear{Axis: W}, halfs(1, 2, 4, 8, 16), weights(1, 1, 1, 32, 16)), "h13 h18", "ANE cannot support Linear with input rank >= 5"},

	validatorCase{"four operands", sdpaOf(halfs(1, 1, 8, 197, 64), halfs(1, 1, 8, 197, 64), halfs(1, 1, 8, 197, 64), nil), "h13 h14 h18", ""},
	validatorCase{"with a mask", sdpaOf(halfs(1, 1, 8, 10, 64), halfs(1, 1, 8, 20, 64), halfs(1, 1, 8, 20, 64), halfs(1, 1, 1, 10, 20)), "h13", ""},
	validatorCase{"three operands", layerOf(&SDPA{}, halfs(1, 1, 8, 4, 4), halfs(1, 1, 8, 4, 4), halfs(1, 1, 8, 4, 4)), "h13", "SDPA layer must have only 4 or 5(optional mask) inputs"},
	validatorCase{"no value", layerOf(&SDPA{}, halfs(1, 1, 8, 4, 4), halfs(1, 1, 8, 4, 4), nil, number(1), halfs(1, 1, 1, 4, 4)), "h13", "4 or 5 bottoms must be present for SDPA"},
	validatorCase{"key and value differ", sdpaOf(halfs(1, 1, 8, 4, 64), halfs(1, 1, 8, 4, 64), halfs(1, 1, 8, 4, 32), nil), "h13", "Key and value must be the same shape"},
	validatorCase{"a mask of bool", sdpaOf(halfs(1, 1, 8, 4, 64), halfs(1, 1, 8, 4, 64), halfs(1, 1, 8, 4, 64), surface(tensor.Bool, 1, 1, 1, 4, 4)), "h13", "Mask format must be same as Q, K and V"},
	validatorCase{"a mask with one column", sdpaOf(halfs(1, 1, 8, 4, 64), halfs(1, 1, 8, 4, 64), halfs(1, 1, 8, 4, 64), halfs(1, 1, 1, 4, 1)), "h13", "Mask Width axis must match K and V Channel axis"},
	validatorCase{"a mask with other rows", sdpaOf(halfs(1, 1, 8, 4, 64), halfs(1, 1, 8, 4, 64), halfs(1, 1, 8, 4, 64), halfs(1, 1, 1, 3, 4)), "h13", "Mask Channel axis must match Q Channel axis or broadcastable"},
	validatorCase{"rank 5", sdpaOf(halfs(1, 2, 8, 4, 64), halfs(1, 2, 8, 4, 64), halfs(1, 2, 8, 4, 64), nil), "h13", "SDPA does not currently support rank 5 operands"},
)

var _ = addCases(
	validatorCase{"two operands", layerOf(&ElementWise{Type: td.EWAdd}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 8, 8)), "h11 h13 h18", ""},
	validatorCase{"broadcast of fp16", layerOf(&ElementWise{Type: td.EWAdd}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 1, 1)), "h11 h13", ""},
	validatorCase{"broadcast of fp32", layerOf(&ElementWise{Type: td.EWAdd}, surface(tensor.Float32, 1, 1, 3, 8, 8), halfs(1, 1, 3, 1, 1)), "h11 h12", "Only fp16 is supported for A11/A12 Broadcasts."},
	validatorCase{"broadcast of fp32 from A13 on", layerOf(&ElementWise{Type: td.EWAdd}, surface(tensor.Float32, 1, 1, 3, 8, 8), halfs(1, 1, 3, 1, 1)), "h13", ""},
	validatorCase{"one operand", layerOf(&ElementWise{Type: td.EWAdd}, halfs(1, 1, 3, 8, 8)), "h13", "NEElementWise must have only 2 bottoms"},
	validatorCase{"two operands of a function of one", layerOf(&ElementWise{Type: td.EWAbs}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 8, 8)), "h13", "ElementWise Abs must have 1 input(s)"},
	validatorCase{"a remainder", layerOf(&ElementWise{Type: td.EWMod}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 8, 8)), "h13 h18", "ElementWise Mod is not supported"},
	validatorCase{"integers of 32 bits", layerOf(&ElementWise{Type: td.EWAdd}, surface(tensor.Int32, 1, 1, 3, 8, 8), halfs(1, 1, 3, 8, 8)), "h13", "OpLayer input format not acceptable (UINT8/SINT8/FP16)"},
	validatorCase{"over zero", layerOf(&ElementWise{Type: td.EWDiv}, halfs(1, 1, 3, 8, 8), number(0)), "h13", "Cannot divided by zero"},
	validatorCase{"over two", layerOf(&ElementWise{Type: td.EWDiv}, halfs(1, 1, 3, 8, 8), number(2)), "h13", ""},

	validatorCase{"scaled", layerOf(&ScaledElementWise{Type: td.ScaledMult, Scale: 2}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 8, 8)), "h13", ""},
	validatorCase{"scaled, of nothing", layerOf(&ScaledElementWise{Type: td.ScaledMult}), "h13", "Scaled Elementwise must have 1 or 2 input"},
	validatorCase{"scaled, of type 6", layerOf(&ScaledElementWise{Type: 6}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 8, 8)), "h13", "Scaled Elementwise type 6, it should be in [1, 5]"},

	validatorCase{"relu", layerOf(&Neuron{Type: td.FuncReLU}, halfs(1, 1, 3, 8, 8)), "h11 h12 m9 h13 h18 m11", ""},
	validatorCase{"sine", layerOf(&Neuron{Type: td.FuncSin}, halfs(1, 1, 3, 8, 8)), "h13 h14 h14g", "This platform doesn't support Neuron sin"},
	validatorCase{"sine from A15 on", layerOf(&Neuron{Type: td.FuncSin}, halfs(1, 1, 3, 8, 8)), "h15 h16 h18 m11", ""},
	validatorCase{"sine in an epilogue", sineAfter(convOf(3, 3)), "h14", "This platform doesn't support Neuron sin"},
	validatorCase{"sine in an epilogue from A15 on", sineAfter(convOf(3, 3)), "h15", ""},
	validatorCase{"error function", layerOf(&Neuron{Type: td.FuncErf}, halfs(1, 1, 3, 8, 8)), "h11 h12", "This platform doesn't support Neuron erf"},
	validatorCase{"error function from A13 on", layerOf(&Neuron{Type: td.FuncErf}, halfs(1, 1, 3, 8, 8)), "h13", ""},
	validatorCase{"gamma, the last mode", layerOf(&Neuron{Type: td.FuncGamma}, halfs(1, 1, 3, 8, 8)), "h13", ""},
	validatorCase{"a function made of others", layerOf(&Neuron{Type: td.FuncSoftplus, A: 1, B: 1}, halfs(1, 1, 3, 8, 8)), "h13", ""},
	validatorCase{"a function that no chip has", layerOf(&Neuron{Type: td.FuncAsin}, halfs(1, 1, 3, 8, 8)), "h13 h18", "This platform doesn't support Neuron asin"},
	validatorCase{"relu up to 6", layerOf(&Neuron{Type: td.FuncReLUN, A: 6}, halfs(1, 1, 3, 8, 8)), "h13", ""},
	validatorCase{"relu up to -1", layerOf(&Neuron{Type: td.FuncReLUN, A: -1}, halfs(1, 1, 3, 8, 8)), "h13", "Neuron relun: parameter -1 must be positive."},
	validatorCase{"a live slope", layerOf(&Neuron{Type: td.FuncPReLU}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 1, 1)), "h13", "Neuron layer must have only one single input."},

	validatorCase{"gain of each channel", layerOf(&GOC{}, halfs(1, 1, 3, 8, 8), weights(1, 1, 3, 1, 1)), "h13", ""},
	validatorCase{"gain of each column", layerOf(&GOC{}, halfs(1, 1, 3, 8, 8), weights(1, 1, 1, 1, 8)), "h13", "gain and offset have one element or one for each channel, height one; w has [1,1,1,1,8]"},
	validatorCase{"no input", layerOf(&GOC{}), "h13", "GOC layer must have only one single input."},

	validatorCase{"live gain", layerOf(&DynamicGOC{}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 1, 1)), "h11 h12 h13 h18", ""},
	validatorCase{"live gain on the smallest part", layerOf(&DynamicGOC{}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 1, 1)), "m9", "DynamicGOC is not supported"},
	validatorCase{"gain missing", layerOf(&DynamicGOC{}, halfs(1, 1, 3, 8, 8)), "h13", "DynamicGOC must have x, gain and offset, or x and offset with BiasOnly"},
	validatorCase{"8 bits", layerOf(&DynamicGOC{}, surface(tensor.Int8, 1, 1, 3, 8, 8), halfs(1, 1, 3, 1, 1)), "h13", "DynamicGOC only supports FP16, x is int8"},
	validatorCase{"gain of each column", layerOf(&DynamicGOC{}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 1, 1, 8)), "h13", "gain and offset have one element or one for each channel, height one; x has [1,1,1,1,8]"},

	validatorCase{"constant statistics", layerOf(&BatchNorm{}, halfs(1, 1, 3, 8, 8), weights(1, 1, 3, 1, 1), weights(1, 1, 3, 1, 1)), "h13", ""},
	validatorCase{"live statistics", layerOf(&BatchNorm{}, halfs(1, 1, 3, 8, 8), halfs(1, 1, 3, 1, 1), halfs(1, 1, 3, 1, 1)), "h13", "BatchNorm must have kernel"},
	validatorCase{"live gamma", layerOf(&BatchNorm{}, halfs(1, 1, 3, 8, 8), weights(1, 1, 3, 1, 1), weights(1, 1, 3, 1, 1), halfs(1, 1, 3, 1, 1)), "h13", "BatchNorm layer must have only one single input."},
	validatorCase{"stored as integers", layerOf(&BatchNorm{}, halfs(1, 1, 3, 8, 8), weights(1, 1, 3, 1, 1), weights(1, 1, 3, 1, 1)).as(TypeOf(tensor.Int8, 1, 1, 3, 8, 8)), "h13", "BatchNorm output tensor must be in Float format"},
)
