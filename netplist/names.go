package netplist

import (
	"strings"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The element types (guide C: ANECIRDataType).
var typeNames = map[tensor.DType]string{
	tensor.Int4: "Int4", tensor.UInt8: "UInt8", tensor.Int8: "Int8", tensor.Float16: "Float16", tensor.Float32: "Float32",
	tensor.Int16: "Int16", tensor.UInt16: "UInt16", tensor.Int32: "Int32", tensor.UInt32: "UInt32", tensor.Int64: "Int64", tensor.UInt64: "UInt64",
}

// typeName is the word of an element type, ours for one that lists do not have.
func typeName(d tensor.DType) string {
	if name, ok := typeNames[d]; ok {
		return name
	}
	return ours + d.String()
}

func asType(v any) (tensor.DType, *Error) {
	name, err := asString(v)
	if err != nil {
		return 0, err
	}
	for d, n := range typeNames {
		if n == name {
			return d, nil
		}
	}
	if word, ok := strings.CutPrefix(name, ours); ok {
		if d, failed := tensor.ParseDType(word); failed == nil {
			return d, nil
		}
	}
	return 0, wrong(v, "an element type, such as Float16 or UInt8")
}

// The axes (guide C: ZinIrDimension; the words are those of the lists).
var axisNames = [...]string{td.AxisN: "Batch", td.AxisD: "Depth", td.AxisC: "Channel", td.AxisH: "Height", td.AxisW: "Width"}

func asAxis(v any) (td.Axis, *Error) {
	for a, name := range axisNames {
		if v == name {
			return td.Axis(a), nil
		}
	}
	return 0, wrong(v, "one of "+strings.Join(axisNames[:], ", "))
}

// A neuronRow is a function with its Type in a list and the keys of its constants, each the bits of an fp16.
type neuronRow struct {
	function td.Function
	name     string
	a, b     string
}

// neurons are the functions that lists are known to name: those of the writer inside MPSGraph, and SigmoidHighPrecision's kin of
// the guide's names (C.1). ClampedReLU, which clamps between two numbers, and ReLUN, which may have a slope below 0, are not what
// package td calls so: see neuronOf.
var neurons = []neuronRow{
	{td.FuncReLU, "ReLU", "", ""},
	{td.FuncClip, "ClampedReLU", "ReluMin", "ReluMax"},
	{td.FuncReLUN, "ReLUN", "ReluMax", ""},
	{td.FuncPReLU, "LeakyReLU", "ReluSlope", ""},
	{td.FuncELU, "ELU", "EluAlpha", ""},
	{td.FuncSigmoid, "Sigmoid", "", ""},
	{td.FuncSigmoidHighPrecision, "SigmoidHighPrecision", "", ""},
	{td.FuncTanh, "Tanh", "", ""},
	{td.FuncSwish, "Swish", "", ""},
	{td.FuncGELU, "GELU", "", ""},
	{td.FuncErf, "Erf", "", ""},
	{td.FuncDirac, "Dirac", "", ""},
	{td.FuncDegamma, "Degamma", "", ""},
	{td.FuncSqrt, "Sqrt", "", ""},
	{td.FuncRSqrt, "Rsqrt", "Epsilon", ""},
	{td.FuncInverse, "Inv", "Epsilon", ""},
	{td.FuncSquare, "Sqr", "", ""},
	{td.FuncLog2, "Log2", "Epsilon", ""},
	{td.FuncExp2, "Exp2", "", ""},
	{td.FuncSign, "Sign", "", ""},
	{td.FuncSin, "Sin", "", ""},
	{td.FuncCos, "Cos", "", ""},
	{td.FuncRoundNearest, "RoundNearest", "", ""},
	{td.FuncTrunc, "Trunc", "", ""},
	{td.FuncFloor, "Floor", "", ""},
	{td.FuncCeil, "Ceil", "", ""},
}

// functionWord is the Type of a function that no row has: its name as package td has it, with our prefix.
func functionWord(f td.Function) string { return ours + f.String() }
