package v7

import (
	"math"
	"slices"

	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// What is known of the forms of a task. A value that is not in these tables has
// no known meaning, or none that a recorded program shows to be right: it stops
// the load. Fields that only schedule (hints, tile sizes, priorities, event
// masks) are in no table, for they change no number.

// known holds a field to the values whose meaning is known.
type known struct {
	field  *td.Field
	values []uint32
	why    string
	when   func(d *Decoder) bool // nil: always
}

var (
	zero = []uint32{0}
	one  = []uint32{1}
)

func isPlanar(d *Decoder) bool { return !d.isArray() }

// isReduction reports the planar types 5 and 6.
func isReduction(d *Decoder) bool {
	t := d.value(td.V7TaskType)
	return t == td.TypePlanarReduce || t == td.TypePlanarReduce2
}

func isPlanarMap(d *Decoder) bool { return isPlanar(d) && !isReduction(d) }

// hasSource2 reports the planar types 3, 4 and 6.
func hasSource2(d *Decoder) bool {
	t := d.value(td.V7TaskType)
	return t == td.TypePlanarBinary || t == td.TypePlanarGain || t == td.TypePlanarReduce2
}

func hasNoSource2(d *Decoder) bool { return !hasSource2(d) }

// knownForms is what holds for every task.
var knownForms = slices.Concat([]known{
	{td.V7TaskType, []uint32{td.TypeArray, td.TypePlanarUnary, td.TypePlanarBinary, td.TypePlanarGain, td.TypePlanarReduce, td.TypePlanarReduce2},
		"no known program has a task of this type; 1 and 8 pool windows, by analogy with later chips", nil},
	{td.V7Skip, zero, "what a skipped task does is not known", nil},
	{td.V7Config0, one, "always 1 in known programs", nil},
	{td.V7ContextIn, zero, "context switches are not known", nil},
	{td.V7ContextOut, zero, "context switches are not known", nil},

	{td.V7Ox, one, "always 1 in known programs", nil},
	{td.V7Oy, one, "always 1 in known programs", nil},
	{td.V7Kernel3D, []uint32{0x2041}, "kernels and strides in depth are not known", nil},
	{td.V7ElementMultiply, zero, "element multiply mode is known in products of the array only", func(d *Decoder) bool { return !isProduct(d) }},
	{td.V7ElementMultiply, one, "a product of the array has element multiply mode", isProduct},
	{td.V7KernelWidth, one, "a planar task has no window", isPlanar},
	{td.V7KernelHeight, one, "a planar task has no window", isPlanar},
	{td.V7StrideX, one, "a planar task has no stride", isPlanar},
	{td.V7StrideY, one, "a planar task has no stride", isPlanar},
	{td.V7PadLeft, zero, "a planar task has no padding", isPlanar},
	{td.V7PadTop, zero, "a planar task has no padding", isPlanar},
	{td.V7Unicast, zero, "a planar task has no unicast", isPlanar},
	{td.V7TransposeArray, zero, "a planar task has a transpose of its own", isPlanar},
	{td.V7PadMode, []uint32{0, 1}, "0 pads with zero, 1 with minus infinity; others are not known", nil},

	// Depth is known from a layer normalization that folds three axes (oracles,
	// layer_norm_1x64x8x8): only a reduction has it.
	{td.V7Din, one, "depth is known in reductions only", func(d *Decoder) bool { return !isReduction(d) }},
	{td.V7Dout, one, "depth is known in reductions only", func(d *Decoder) bool { return !isReduction(d) }},

	// Bytes are known as the source of a planar copy, and of a bypass (oracles,
	// cast_b_to_f16_1x1x64x1, logical_not_1x1x64x64), and as the result of a
	// table (less_bool_rr_1x64x1x1).
	{td.V7Fmt1, []uint32{formatFP16}, "the source is fp16, but in a bypass and in a planar task of type 2",
		func(d *Decoder) bool { return d.value(td.V7TaskType) != td.TypePlanarUnary && !isBypass(d) }},
	{td.V7Fmt1, []uint32{formatFP16, formatByte}, "the source is fp16 or unsigned bytes", nil},
	{td.V7Fmt2, []uint32{formatFP16}, "source 2 is fp16", hasSource2},
	{td.V7FmtO, []uint32{formatFP16}, "the result is fp16, but of a table that leaves", func(d *Decoder) bool {
		return !d.isArray() || d.value(td.V7NENonLinear) != units.Table || d.value(td.V7ResultConfig.Type) != throughDMA
	}},
	{td.V7FmtO, []uint32{formatFP16, formatByte}, "the result is fp16 or unsigned bytes", nil},

	{td.V7SourceConfig.Type, []uint32{residentOnChip, throughAndKept, throughDMA}, "0 is on chip, 1 by DMA and kept, 2 by DMA", nil},
	{td.V7SourceConfig.CmpVec, zero, "compressed vectors are not known", nil},
	{td.V7SourceConfig.OffsetChannel, zero, "channel offsets are not known", nil},
	// 1 is likely a result that leaves and stays on chip too: two recorded reductions have it, whose result no task reads
	// there (reduce_mean_axes_1, reduce_probe_mean_ax2_3_1x64x8x8_flat). What stays is not kept here.
	{td.V7ResultConfig.Type, []uint32{residentOnChip, throughAndKept, throughDMA}, "0 stays on chip, 2 leaves by DMA, 1 likely does both", nil},
	{td.V7ResultConfig.CmpVec, zero, "compressed vectors are not known", nil},
	{td.V7ResultConfig.OffsetChannel, zero, "channel offsets are not known", nil},

	{td.V7Read1Enable, zero, "the task has no second source", hasNoSource2},
	{td.V7Source2DMA, zero, "the task has no second source", hasNoSource2},
	{td.V7Source2Streamed, zero, "the task has no second source", hasNoSource2},

	{td.V7KernelReuse, zero, "kernel reuse between groups is not known", nil},
	{td.V7KernelWord4, zero, "0 in known programs", nil},
	{td.V7NEGroupReuse, zero, "kernel reuse between groups is not known", nil},
	{td.V7NEPalette, zero, "palettised weights are not known", nil},
}, fieldsAre(zero, "0 in known programs", td.V7PixelOffset[:]...),
	fieldsAre(zero, "kernel streams from a second base are not known", td.V7KernelBaseEnable[1:]...),
	fieldsAre(zero, "a fifth kind of kernel stream is not known",
		td.V7KernelExtra[0].Config.Enable, td.V7KernelExtra[1].Config.Enable,
		td.V7KernelExtra[2].Config.Enable, td.V7KernelExtra[3].Config.Enable))

func fieldsAre(values []uint32, why string, fields ...*td.Field) []known {
	var list []known
	for _, f := range fields {
		list = append(list, known{f, values, why, nil})
	}
	return list
}

// arrayForms is what holds for tasks of the multiply array.
var arrayForms = slices.Concat([]known{
	{td.V7NEOperation, []uint32{units.MultiplyAdd, units.Product, units.Maximum, units.Bypass}, "0 multiplies and adds, 2 is the product, 3 the maximum, 4 passes on; others are not known", nil},
	{td.V7NEKernelFormat, []uint32{1, 2}, "1 is signed bytes, 2 fp16; other kernels are not known", func(d *Decoder) bool { return !d.flag(td.V7NEUnityKernel) }},
	{td.V7NEKernelFormat, []uint32{0, 1, 2}, "1 is signed bytes, 2 fp16; other kernels are not known", nil},
	{td.V7NEBinaryPoint, zero, "weights of bytes are known without fraction only", func(d *Decoder) bool { return d.value(td.V7NEKernelFormat) == 1 }},
	{td.V7NENonLinear, []uint32{0, 1, 2}, "0 is none, 1 ReLU, 2 a table", nil},
},
	fieldsAre(zero, "0 in known programs", td.V7NEMatrixBias, td.V7NEPostScaleMode, td.V7NEVectorBias,
		td.V7NEAccumulatorShift, td.V7NERightShift, td.V7NEBit14),
	fieldsAre(zero, "broadcast and transpose on the way in belong to planar tasks",
		td.V7Broadcast1W, td.V7Broadcast1H, td.V7Broadcast1D, td.V7Broadcast1C, td.V7Transpose1,
		td.V7Broadcast2W, td.V7Broadcast2H, td.V7Broadcast2D, td.V7Broadcast2C, td.V7Transpose2, td.V7TransposePlanar))

// planarForms is what holds for planar tasks. Where several fields differ from
// identity, their order is known only as far as h13 4.4 goes.
var planarForms = slices.Concat([]known{
	{td.V7PEOperator, []uint32{0, 1, 2, 3, 4}, "the operators are 0 to 4", nil},
	{td.V7PEOperator, zero, "the task has no operator", func(d *Decoder) bool {
		t := d.value(td.V7TaskType)
		return t != td.TypePlanarBinary && t != td.TypePlanarReduce2 && t != td.TypePlanarReduce
	}},
	{td.V7PEOperator, []uint32{0, 4}, "of one source there is the square only (oracles, norm_layer_norm_ax1_1x64x8x8)", func(d *Decoder) bool {
		return d.value(td.V7TaskType) == td.TypePlanarReduce
	}},
	{td.V7PEReduction, []uint32{0, 2}, "0 is the sum, 2 the maximum; others are not known", isReduction},
	{td.V7PEReduction, zero, "the task reduces nothing", isPlanarMap},
	{td.V7PECondition, []uint32{0, 1}, "1 is the magnitude (oracles, unary_abs_c128); others are not known", nil},
	{td.V7PECondition, zero, "conditions are known in planar tasks of type 2 only", func(d *Decoder) bool { return d.value(td.V7TaskType) != td.TypePlanarUnary }},
	{td.V7PEFinal, []uint32{0, 1, 2}, "1 is the reciprocal (oracles, softmax), 2 the reciprocal square root", isReduction},
	{td.V7PEFinal, zero, "final functions are known in reductions only", isPlanarMap},
	{td.V7PEReLU, zero, "where ReLU would stand in a reduction is not known", isReduction},
	{td.V7PESource2Sign, []uint32{td.Source2Plain, td.Source2Negated}, "2 is plain, 3 negated", hasSource2},
	{td.V7PESource2Sign, []uint32{0, td.Source2Plain}, "the task has no second source", hasNoSource2},
	{td.V7PEFinalScale, []uint32{math.Float32bits(1), 0}, "a final scale is known in reductions only", isPlanarMap},
	{td.V7PEEpsilon, zero, "epsilon is known in reductions only", isPlanarMap},
	{td.V7PEScale, []uint32{units.One}, "the order of scale and gain is not known", isGain},
	{td.V7PEBias, zero, "the order of bias and gain is not known", isGain},
	{td.V7PEScale, []uint32{units.One}, "the order of scale and magnitude is not known", func(d *Decoder) bool { return d.flag(td.V7PECondition) }},
	{td.V7PEBias, zero, "the order of bias and magnitude is not known", func(d *Decoder) bool { return d.flag(td.V7PECondition) }},
	{td.V7PEPreScale, []uint32{units.One}, "the order of pre-scale and scale is not known", func(d *Decoder) bool {
		return d.value(td.V7PEScale) != units.One || d.flag(td.V7PEBias)
	}},
	{td.V7KernelEnable, zero, "a planar task loads no kernel", nil},
}, fieldsAre(zero, "the multiply array does nothing in a planar task",
	td.V7NEOperation, td.V7NEUnityKernel, td.V7NEBias, td.V7NENonLinear))

func isGain(d *Decoder) bool { return d.value(td.V7TaskType) == td.TypePlanarGain }

var onChipSource = []known{
	{td.V7SourceConfig.Interleave, []uint32{0, 1}, "interleave on chip is not known", nil},
	{td.V7Fmt1, []uint32{formatFP16}, "on-chip memory holds fp16", nil},
}

var onChipSource2 = []known{
	{td.V7Source2DMA, zero, "the header has no base for source 2", nil},
	{td.V7Source2Streamed, zero, "the header has no base for source 2", nil},
}

// fp16Image is how fp16 numbers in memory are announced. FormatMode is 0 for a
// second source, 1 otherwise.
func fp16Image(memory, truncate, shift, offsetChannel, cmpVec *td.Field) []known {
	return append([]known{
		{memory, []uint32{2}, "2 is fp16", nil},
		{truncate, []uint32{3}, "3 is fp16", nil},
	}, fieldsAre(zero, "0 in known programs", shift, offsetChannel, cmpVec)...)
}

var streamedSource = append([]known{
	{td.V7Src1Config.Enable, one, "the source comes by DMA", nil},
	{td.V7SourceConfig.Format, one, "1 is fp16", nil},
}, fp16Image(td.V7Src1Format.Memory, td.V7Src1Format.Truncate, td.V7Src1Format.Shift, td.V7Src1Format.OffsetChannel, td.V7Src1Format.CmpVec)...)

var streamedBytes = append([]known{
	{td.V7Src1Config.Enable, one, "the source comes by DMA", nil},
	{td.V7SourceConfig.Type, []uint32{throughDMA}, "bytes are not kept on chip", nil},
	{td.V7Src1Format.Interleave, []uint32{0, 1}, "interleaved bytes are not known", nil},
}, fieldsAre(zero, "0 for bytes", td.V7SourceConfig.Format, td.V7Src1Format.Memory, td.V7Src1Format.Truncate,
	td.V7Src1Format.Shift, td.V7Src1Format.OffsetChannel, td.V7Src1Format.CmpVec)...)

var streamedSource2 = append([]known{
	{td.V7Source2DMA, one, "the header has a base for source 2", nil},
	{td.V7Source2Streamed, one, "the header has a base for source 2", nil},
}, fp16Image(td.V7Src2Format.Memory, td.V7Src2Format.Truncate, td.V7Src2Format.Shift, td.V7Src2Format.OffsetChannel, td.V7Src2Format.CmpVec)...)

// A source that is repeated is kept once (oracles, layout/tile_r_1x8x1x375_reps_113751).
var keptSource = fieldsAre(zero, "how a source is kept on chip is known only if it is read as it lies", td.V7Transpose1)

// streamedBytesResult is how a result of bytes is announced.
var streamedBytesResult = append([]known{
	{td.V7DstConfig.Enable, one, "the result leaves by DMA", nil},
	{td.V7DstFormat.Interleave, []uint32{0, 1}, "interleaved bytes are not known", nil},
}, fieldsAre(zero, "0 for bytes", td.V7ResultConfig.Format, td.V7DstCmpVecFill, td.V7DstFormat.Memory, td.V7DstFormat.Truncate,
	td.V7DstFormat.Shift, td.V7DstFormat.OffsetChannel, td.V7DstFormat.CmpVec)...)

var streamedResult = append([]known{
	{td.V7DstConfig.Enable, one, "the result leaves by DMA", nil},
	{td.V7ResultConfig.Format, one, "1 is fp16", nil},
	{td.V7DstCmpVecFill, zero, "compressed vectors are not known", nil},
}, fp16Image(td.V7DstFormat.Memory, td.V7DstFormat.Truncate, td.V7DstFormat.Shift, td.V7DstFormat.OffsetChannel, td.V7DstFormat.CmpVec)...)

// isBypass reports whether the task passes its source on.
func isBypass(d *Decoder) bool { return d.isArray() && d.value(td.V7NEOperation) == units.Bypass }

// isProduct reports whether the task is a product of channels in the array.
func isProduct(d *Decoder) bool { return d.isArray() && d.value(td.V7NEOperation) == units.Product }
