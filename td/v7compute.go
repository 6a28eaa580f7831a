package td

// On-chip memory and the two units that compute. What the numbers of a field stand for, its ValueName says.

// OnChipFields is how a tensor in on-chip memory is addressed: base and strides in
// bytes.
type OnChipFields struct {
	Base, Channel, Row, Depth, Group *Field
}

func v7L2Strides(prefix string, addr uint32) OnChipFields {
	row := func(name string, i uint32, c Confidence, doc string) *Field {
		return v7L2.row(prefix+name, addr+4*i, 20, 4, Bytes, c, doc)
	}
	return OnChipFields{
		Base:    row("Base", 0, Certain, ""),
		Channel: row("Channel", 1, Certain, "channel stride"),
		Row:     row("Row", 2, Certain, "row stride"),
		Depth:   row("Depth", 3, Likely, "depth stride"),
		Group:   row("Group", 4, Certain, "group stride"),
	}
}

// OnChipConfigFields is the configuration word of a source or result.
type OnChipConfigFields struct {
	Type, Format, Interleave, CmpVec, OffsetChannel *Field
}

func v7L2Config(prefix string, addr uint32, typeDoc string) OnChipConfigFields {
	v7L2.flag(prefix+"AliasConvSource", addr, 4, Named, "pipeline hint")
	v7L2.flag(prefix+"AliasConvResult", addr, 5, Named, "pipeline hint")
	v7L2.flag(prefix+"AliasPlanarSource", addr, 20, Named, "pipeline hint")
	v7L2.flag(prefix+"AliasPlanarResult", addr, 22, Named, "pipeline hint")
	return OnChipConfigFields{
		Type:          v7L2.row(prefix+"Type", addr, 1, 0, Uint, Certain, typeDoc),
		Format:        v7L2.row(prefix+"DMAFormat", addr, 7, 6, Uint, Named, "1 for fp16"),
		Interleave:    v7L2.row(prefix+"Interleave", addr, 11, 8, Uint, Certain, "of the image in memory"),
		CmpVec:        v7L2.row(prefix+"CmpVec", addr, 15, 12, Uint, Unknown, "0"),
		OffsetChannel: v7L2.row(prefix+"OffsetChannel", addr, 18, 16, Uint, Unknown, "0"),
	}
}

// On-chip memory.
var (
	V7Source1ReLU = v7L2.flag("Source1ReLU", 0x4800, 0, Named, "negative values of source 1 become 0")
	V7PadMode     = v7L2.row("PadMode", 0x4800, 3, 2, Uint, Likely, "what lies around the image")
	V7Source2ReLU = v7L2.flag("Source2ReLU", 0x4800, 4, Certain, "negative values of source 2 become 0")

	V7SourceConfig    = v7L2Config("Source", 0x4804, "where source 1 comes from")
	V7SourceDependent = v7L2.row("SourceDependent", 0x4804, 3, 2, Uint, Named, "scheduling")
	V7Source2Streamed = v7L2.flag("Source2Streamed", 0x4804, 24, Certain, "source 2 comes by DMA too")
	V7L2Src1          = v7L2Strides("Source1", 0x4808)
	V7L2Src2          = v7L2Strides("Source2", 0x481c)

	V7ResultConfig     = v7L2Config("Result", 0x4830, "where the result goes; 1 is likely both")
	V7ResultBufferMode = v7L2.flag("ResultBufferMode", 0x4830, 3, Named, "L2BfrMode")
	V7L2Result         = v7L2Strides("Result", 0x4834)
)

// The planar engine. All four words are 0 in a task of the array.
var (
	V7PEReduction   = v7PE.row("Reduction", 0x8800, 1, 0, Uint, Certain, "of task types 5 and 6; 1 average, 3 minimum are not certain")
	V7PEOperator    = v7PE.row("Operator", 0x8800, 4, 2, Uint, Certain, "of the sources")
	V7PEReLU        = v7PE.flag("ReLU", 0x8800, 5, Certain, "on the result")
	V7PECondition   = v7PE.row("Condition", 0x8800, 9, 6, Uint, Unknown, "1 gives the absolute value in the one recorded program that sets it")
	V7PEFinal       = v7PE.row("Final", 0x8800, 13, 12, Uint, Certain, "of a reduction's result; 1 is likely: recorded softmaxes have it on their sum and no table for it")
	V7PENegate1     = v7PE.flag("Negate1", 0x8800, 16, Certain, "source 1 is negated")
	V7PESource2Sign = v7PE.row("Source2Sign", 0x8800, 19, 18, Uint, Certain, "0 without source 2")
	V7PEBias        = v7PE.row("Bias", 0x8804, 15, 0, FP16, Certain, "result*Scale + Bias")
	V7PEScale       = v7PE.row("Scale", 0x8804, 31, 16, FP16, Certain, "")
	V7PEEpsilon     = v7PE.row("Epsilon", 0x8808, 15, 0, FP16, Certain, "added after the final scale")
	V7PEPreScale    = v7PE.row("PreScale", 0x8808, 31, 16, FP16, Likely, "always 1")
	V7PEFinalScale  = v7PE.row("FinalScale", 0x880c, 31, 0, FP32, Certain, "of a reduction's result, 1/n for a mean")
)

// The multiply array.
var (
	V7NEKernelFormat  = v7NE.row("KernelFormat", 0xc800, 1, 0, Uint, Certain, "0 without kernel")
	V7NEPalette       = v7NE.flag("Palette", 0xc800, 2, Named, "palettised, never set")
	V7NEPaletteBits   = v7NE.row("PaletteBits", 0xc800, 7, 4, Uint, Named, "8 when off")
	V7NEZeroSkip      = v7NE.flag("ZeroSkip", 0xc800, 8, Certain, "zero-skipping weight streams")
	V7NEGroupReuse    = v7NE.flag("GroupReuse", 0xc800, 10, Unknown, "group kernel reuse")
	V7NEBit12         = v7NE.flag("Bit12", 0xc800, 12, Unknown, "set in planar tasks of layer normalization")
	V7NEBit14         = v7NE.flag("Bit14", 0xc800, 14, Unknown, "set in planar tasks of layer normalization")
	V7NERuntimeKernel = v7NE.flag("RuntimeKernel", 0xc800, 16, Certain, "the kernel is a tensor made at run time")

	V7NEOperation     = v7NE.row("Operation", 0xc804, 2, 0, Uint, Certain, "of the inputs and weights; 2 is likely the product of the UnicastInputs, as the recorded power has it")
	V7NEUnityKernel   = v7NE.flag("UnityKernel", 0xc804, 3, Certain, "no weight stream, all weights 1")
	V7NEBias          = v7NE.flag("Bias", 0xc804, 4, Certain, "a bias row in the stream")
	V7NEMatrixBias    = v7NE.flag("MatrixBias", 0xc804, 6, Unknown, "")
	V7NEBinaryPoint   = v7NE.row("BinaryPoint", 0xc804, 12, 8, Uint, Named, "28 or 0, no function for fp16")
	V7NEPostScaleMode = v7NE.flag("PostScaleMode", 0xc804, 14, Unknown, "per channel?")
	V7NENonLinear     = v7NE.row("NonLinear", 0xc804, 17, 16, Uint, Certain, "of the sum")
	V7NEBit20         = v7NE.flag("Bit20", 0xc804, 20, Unknown, "1 in every task of the array")

	V7NEVectorBias       = v7NE.row("VectorBias", 0xc808, 15, 0, FP16, Unknown, "matrix-vector bias, 0")
	V7NEAccumulatorBias  = v7NE.row("AccumulatorBias", 0xc80c, 15, 0, FP16, Likely, "0; the epsilon, 1e-6, of the recorded rsqrt, so likely added to the sum").from("h13 2.7, oracles")
	V7NEAccumulatorShift = v7NE.row("AccumulatorShift", 0xc80c, 20, 16, Uint, Unknown, "0")
	V7NEPostScale        = v7NE.row("PostScale", 0xc810, 15, 0, FP16, Likely, "multiplies the accumulated result")
	V7NERightShift       = v7NE.row("RightShift", 0xc810, 20, 16, Uint, Likely, "0")
)

// The numbers of V7TaskType (h13 4.1).
const (
	TypeArray         = 0 // convolution, sum, maximum or bypass: V7NEOperation
	TypePlanarUnary   = 2 // one source
	TypePlanarBinary  = 3 // two sources, V7PEOperator
	TypePlanarGain    = 4 // per channel (x + offset) * gain
	TypePlanarReduce  = 5 // one source, then reduced over each plane
	TypePlanarReduce2 = 6 // two sources, then reduced
)
