package e5

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// OpKind is what an operation does, and who does it: listing 23.1. That these
// twelve are all is known, their numbers are inferred.
type OpKind int32

// The kinds of operation.
const (
	Cast              OpKind = iota // between the layouts of host and engine
	AneInference                    // a procedure of a hardware container
	EirInference                    //
	CpuInference                    // a function on the host
	BnnsCpuInference                // the same, by a library of Apple's
	MlcCpuInference                 // another one
	MpsGraphInference               // on the GPU
	E5MinimalCpu                    //
	Quant                           //
	Dequant                         //
	Barrier                         //
	JitCall                         //
	NumOpKinds        = iota
)

var opKinds = [NumOpKinds]string{
	"Cast", "AneInference", "EirInference", "CpuInference", "BnnsCpuInference", "MlcCpuInference",
	"MpsGraphInference", "E5MinimalCpu", "Quant", "Dequant", "Barrier", "JitCall",
}

func (k OpKind) valid() bool { return k >= 0 && k < NumOpKinds }

func (k OpKind) String() string {
	if !k.valid() {
		return fmt.Sprintf("operation kind %d", int32(k))
	}
	return opKinds[k]
}

// ElementType is the element type of an operand: the eleven codes of table
// 23.12, a closed set. The engine's own types (8-bit floats, palettes) are in the
// hardware container.
type ElementType int32

// The element types.
const (
	Int4 ElementType = iota
	UInt8
	Int8
	Float16
	Float32
	Int16
	UInt16
	Int32
	UInt32
	Int64
	UInt64
	NumElementTypes = iota
)

var elementTypes = [NumElementTypes]struct {
	name  string
	dtype tensor.DType
}{
	Int4:    {"int4", tensor.Int4},
	UInt8:   {"uint8", tensor.UInt8},
	Int8:    {"int8", tensor.Int8},
	Float16: {"float16", tensor.Float16},
	Float32: {"float32", tensor.Float32},
	Int16:   {"int16", tensor.Int16},
	UInt16:  {"uint16", tensor.UInt16},
	Int32:   {"int32", tensor.Int32},
	UInt32:  {"uint32", tensor.UInt32},
	Int64:   {"int64", tensor.Int64},
	UInt64:  {"uint64", tensor.UInt64},
}

func (e ElementType) valid() bool { return e >= 0 && e < NumElementTypes }

func (e ElementType) String() string {
	if !e.valid() {
		return fmt.Sprintf("element type %d", int32(e))
	}
	return elementTypes[e].name
}

// DType returns the element type as package tensor has it, Invalid for a code
// that is none.
func (e ElementType) DType() tensor.DType {
	if !e.valid() {
		return tensor.Invalid
	}
	return elementTypes[e].dtype
}

// ElementTypeOf returns the code of an element type; false if it has none, as
// bool and the 8-bit floats.
func ElementTypeOf(d tensor.DType) (ElementType, bool) {
	for code, row := range elementTypes {
		if row.dtype == d {
			return ElementType(code), true
		}
	}
	return 0, false
}

// SectionKind is what a section holds. The guide has the field and none of its
// values: these are ours.
type SectionKind int32

// The kinds of section.
const (
	Text      SectionKind = 1 + iota // the functions
	ExternIn                         // the input ports of a function
	ExternOut                        // its output ports
	ArgFrame                         // the operands of an operation
	OpAttrs                          // the attributes of an operation
	Aliases                          // further names of symbols
)

var sectionKinds = [...]string{"", "text", "inputs", "outputs", "argument frame", "attributes", "aliases"}

func (k SectionKind) String() string {
	if k < Text || k > Aliases {
		return fmt.Sprintf("section kind %d", int32(k))
	}
	return sectionKinds[k]
}
