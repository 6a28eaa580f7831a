package hal

import (
	"fmt"
	"slices"
)

// A scalar is one limit: a row of the table, with its value in each tier.
type scalar struct {
	name   string
	offset string // of the field in the compiler's table, where known
	unit   string
	field  func(*Target) *int
	older  int // before A13
	a13    int
	a14    int
	a15    int
	a16    int // and later
	source string
	status Status // of the row; 0: Decoded
}

const (
	guideA     = "guide A, per-chip numeric limits"
	guide20    = "guide 20, geometry constants"
	property24 = "guide 24, HAL property table"

	unknown = -1 // no source has it
)

const kib, mib = 1 << 10, 1 << 20

// strideFactors is the same in all tiers.
var strideFactors = []int{2, 3, 4, 8}

const strideFactorsSource = guideA + "; HAL fields 0x730 to 0x750: guide 35"

var scalars = []scalar{
	// name                    offset                         unit      field                                                                           older    A13      A14      A15     A16+     source
	{"kernel_width_large_max", "0x30, 0x38, 0x48 or 0x50", "", func(t *Target) *int { return &t.Limits.KernelWidth[Large][DefaultFormat].Max }, 29, 29, 32, 32, 32, guideA, 0},
	{"kernel_width_large_max_fp16", "0x30, 0x38, 0x48 or 0x50", "", func(t *Target) *int { return &t.Limits.KernelWidth[Large][FP16Format].Max }, 13, 13, 16, 16, 16, guideA, 0},
	{"kernel_width_small_max", "0x30, 0x38, 0x48 or 0x50", "", func(t *Target) *int { return &t.Limits.KernelWidth[Small][DefaultFormat].Max }, 15, 15, 16, 16, 16, guideA, 0},
	{"kernel_width_small_max_fp16", "0x30, 0x38, 0x48 or 0x50", "", func(t *Target) *int { return &t.Limits.KernelWidth[Small][FP16Format].Max }, 7, 7, 8, 8, 8, guideA, 0},
	{"kernel_width_large_min", "", "", func(t *Target) *int { return &t.Limits.KernelWidth[Large][DefaultFormat].Min }, 16, 16, 1, 1, 1, guideA, 0},
	{"kernel_width_large_min_fp16", "", "", func(t *Target) *int { return &t.Limits.KernelWidth[Large][FP16Format].Min }, 8, 8, 1, 1, 1, guideA, 0},
	{"kernel_width_small_min", "", "", func(t *Target) *int { return &t.Limits.KernelWidth[Small][DefaultFormat].Min }, 1, 1, 1, 1, 1, "no source has a lower bound: the least kernel", Predicted},
	{"kernel_width_small_min_fp16", "", "", func(t *Target) *int { return &t.Limits.KernelWidth[Small][FP16Format].Min }, 1, 1, 1, 1, 1, "no source has a lower bound: the least kernel", Predicted},
	{"kernel_height_large_max", "", "", func(t *Target) *int { return &t.Limits.KernelHeight[Large] }, 29, 29, 32, 32, 32, guideA, 0},
	{"kernel_height_small_max", "", "", func(t *Target) *int { return &t.Limits.KernelHeight[Small] }, 15, 15, 16, 16, 16, guideA, 0},
	{"kernel_depth_large_max", "0x70", "", func(t *Target) *int { return &t.Limits.KernelDepth[Large] }, 1, 16, 16, 16, 16, guideA + "; " + property24, 0},
	{"kernel_depth_small_max", "", "", func(t *Target) *int { return &t.Limits.KernelDepth[Small] }, 1, 8, 8, 8, 8, guideA, 0},

	{"patch_width_border_max", "", "", func(t *Target) *int { return &t.Limits.Patch[2] }, 15, 28, 31, 31, 31, guideA, 0},
	{"patch_height_border_max", "", "", func(t *Target) *int { return &t.Limits.Patch[1] }, 15, 28, 31, 31, 31, guideA, 0},
	{"patch_depth_border_max", "", "", func(t *Target) *int { return &t.Limits.Patch[0] }, 0, 15, 15, 15, 15, guideA, 0},

	{"tensor_batch_max", "", "", func(t *Target) *int { return &t.Limits.Tensor[0] }, 4096, 65536, 65536, 65536, 65536, guideA, 0},
	{"tensor_depth_max", "0x158", "", func(t *Target) *int { return &t.Limits.Tensor[1] }, 1, 16384, 16384, 16384, 65536, guideA + "; " + property24, 0},
	{"tensor_channels_max", "", "", func(t *Target) *int { return &t.Limits.Tensor[2] }, 65536, 65536, 65536, 65536, 65536, guideA, 0},
	{"tensor_height_max", "", "", func(t *Target) *int { return &t.Limits.Tensor[3] }, 16384, 16384, 16384, 16384, 65536, guideA, 0},
	{"tensor_width_max", "0x138", "", func(t *Target) *int { return &t.Limits.Tensor[4] }, 16384, 16384, 16384, 16384, 65536, guideA + "; " + property24, 0},
	{"transpose_extent_max", "0x468 H, 0x470 W", "", func(t *Target) *int { return &t.Limits.Transpose }, 0, 16384, 16384, 16384, 65536, guideA + "; guide 35, parameter field map", 0},
	{"reduction_via_transpose", "0x3f0", "", func(t *Target) *int { return &t.Limits.ReductionViaTranspose }, NoLimit, 192, 192, 384, 384, guideA + "; " + property24, 0},
	{"group_conv_decompose", "", "", func(t *Target) *int { return &t.Limits.GroupConv }, 64, 2048, 2048, 2048, 2048, guideA, 0},

	{"working_set", "0x1b8", "bytes", func(t *Target) *int { return &t.Limits.WorkingSet }, 2 * mib, 2 * mib, 2 * mib, 2 * mib, 2 * mib, guideA + "; " + property24, 0},
	{"dma_granule", "0x1c0", "bytes", func(t *Target) *int { return &t.Limits.DMAGranule }, 16, 16, 16, 16, 16, guideA + "; " + property24, 0},
	{"bank_align", "0x1c8", "", func(t *Target) *int { return &t.Limits.BankAlign }, 64, 64, 64, 64, 64, property24, 0},
	{"resident_buffer", "0x1f0", "bytes", func(t *Target) *int { return &t.Limits.ResidentBuffer }, 0, 0, 0, 32 * kib, 256 * kib, property24 + "; guide 21, residency threshold", 0},
	{"row_stride_max", "0x1f8", "bytes", func(t *Target) *int { return &t.Limits.MaxRowStride }, unknown, 2 * mib, unknown, unknown, unknown, "guide 21, memory levels", 0},
	{"kernel_memory_dense", "0x200", "bytes", func(t *Target) *int { return &t.Limits.KernelMemoryDense }, 64 * kib, 64 * kib, 64 * kib, 64 * kib, 64 * kib, guideA + "; " + property24, 0},
	{"kernel_memory_streamed", "0x210", "bytes", func(t *Target) *int { return &t.Limits.KernelMemoryStreamed }, 16 * mib, 16 * mib, 16 * mib, 16 * mib, 16 * mib, property24 + "; byte 0x48f selects it", 0},
	{"kernel_memory_extended", "0x288", "", func(t *Target) *int { return &t.Limits.ExtendedKernelMemory }, 0, 0, 0, 0, 0, property24 + ": 0 on all 28", 0},
	{"instruction_align", "0x218", "bytes", func(t *Target) *int { return &t.Limits.InstructionAlign }, 256, 256, 16, 16, 16, guideA + "; " + property24, 0},
	{"patch_width_floor", "0x400, log2", "pixels", func(t *Target) *int { return &t.Limits.PatchWidthFloor }, 0, 16, 16, 16, 16, guideA + "; " + property24, 0},
	{"patch_width_max", "0x410, log2", "pixels", func(t *Target) *int { return &t.Limits.PatchWidthMax }, 0, 512, 512, 512, 512, guideA + "; " + guide20, 0},
	{"activation_table", "", "bytes", func(t *Target) *int { return &t.Limits.TableBytes }, 150, 86, 86, 86, 86, guideA, 0},
	{"live_tensors", "", "", func(t *Target) *int { return &t.Limits.LiveTensors }, 2, 2, NoLimit, NoLimit, NoLimit, guideA, 0},

	{"cycle_divisor", "0x228", "", func(t *Target) *int { return &t.CycleDivisor }, 64, 64, 64, 64, 64, property24 + "; guide 20: 64 from A12 on", 0},
	{"accumulators", "0xc", "", func(t *Target) *int { return &t.Limits.Accumulators }, 8, 8, 8, 8, 8, guide20 + ": all chips", 0},
	{"accumulator_split", "0x230", "", func(t *Target) *int { return &t.Limits.AccumulatorSplit }, 64, 64, 64, 64, 64, guide20 + ": all chips", 0},
	{"accumulator_channels_tiny", "0x3a8", "", func(t *Target) *int { return &t.Limits.AccumulatorChannels[0] }, 8, 8, 8, 8, 8, "guide 20, output channels per accumulator: all chips", 0},
	{"accumulator_channels_small", "0x3b0", "", func(t *Target) *int { return &t.Limits.AccumulatorChannels[1] }, 4, 4, 4, 4, 4, "guide 20, output channels per accumulator: all chips", 0},
	{"accumulator_channels_packed", "0x3b8", "", func(t *Target) *int { return &t.Limits.AccumulatorChannels[2] }, 2, 2, 2, 2, 2, "guide 20, output channels per accumulator: all chips", 0},
	{"accumulator_channels_other", "0x3c0", "", func(t *Target) *int { return &t.Limits.AccumulatorChannels[3] }, 1, 1, 1, 1, 1, "guide 20, output channels per accumulator: all chips", 0},
	{"tiny_source", "0x338", "", func(t *Target) *int { return &t.Limits.TinySource }, unknown, 4, unknown, unknown, unknown, "guide 20, small-source mode", 0},
	{"kernel_element_cap_0", "0x388", "bytes", func(t *Target) *int { return &t.Limits.KernelElementCap[0] }, unknown, 32, unknown, unknown, unknown, "guide 20, output-channel groups", 0},
	{"kernel_element_cap_1", "0x390", "bytes", func(t *Target) *int { return &t.Limits.KernelElementCap[1] }, unknown, 16, unknown, unknown, unknown, "guide 20, output-channel groups", 0},
	{"kernel_element_cap_2", "0x398", "bytes", func(t *Target) *int { return &t.Limits.KernelElementCap[2] }, unknown, 8, unknown, unknown, unknown, "guide 20, output-channel groups", 0},
}

// An exception is a limit of one target that is not its tier's, or that is
// better known than its tier's.
type exception struct {
	targets []string
	scalars []string
	value   int
	status  Status
	source  string
}

// tierValue stands for the value of the tier.
const tierValue = -2

var exceptions = []exception{
	{[]string{"m9"}, []string{"working_set"}, 1 * mib, Decoded, guideA + "; " + property24},
	{[]string{"h11"}, []string{"cycle_divisor"}, 32, Decoded, property24},
	{[]string{"m9"}, []string{"cycle_divisor"}, 16, Decoded, property24},

	{[]string{"m11"}, []string{"tensor_width_max", "tensor_height_max", "tensor_depth_max", "transpose_extent_max"}, 16384, Decoded, "guide 34: the extents of A13"},
	{[]string{"m11"}, []string{"kernel_width_large_max_fp16"}, 15, Decoded, "guide 34: between 13 of A13 and 16 of A14"},
	{[]string{"m11"}, []string{"dma_granule"}, 1, Decoded, property24 + ": 1 on the small profiles only"},

	{[]string{"u1", "u2", "u3"}, []string{"tensor_width_max", "tensor_height_max"}, 65535, Decoded, "guide 34, capability tiers: a placeholder"},
	{[]string{"u1", "u2", "u3"}, []string{"tensor_depth_max", "kernel_depth_large_max", "kernel_depth_small_max"}, 1, Decoded, "guide 34: a placeholder; no 3D convolution"},
	{[]string{"u1", "u2", "u3"}, []string{"kernel_width_large_max", "kernel_width_large_max_fp16"}, 1023, Decoded, "guide 34: a placeholder"},

	{[]string{"h13g"}, []string{"tensor_width_max", "tensor_height_max"}, tierValue, Measured, "guide 4, compile-legal envelope: 16384 accepted, 16385 rejected"},
	{[]string{"h13g"}, []string{"kernel_width_large_max_fp16"}, tierValue, Measured, "guide 4: 14 and 15 reject at lowering; guide F, chapter 17"},
	{[]string{"h13g"}, []string{"working_set"}, tierValue, Measured, "guide 21: throughput falls at 2.28 to 2.34 MB"},
	{[]string{"h14s"}, []string{"tensor_width_max", "tensor_height_max", "tensor_channels_max"}, tierValue, Measured, "guide 12, on an M2 Pro"},
}

// of is the value of a limit for a target, how it is known and from where.
func (s *scalar) of(t *Target) (int, Status, string) {
	v, status, source := s.inTier(t.tier)
	status, source = t.known(status, source)
	for _, e := range exceptions {
		own := slices.ContainsFunc(e.targets, t.on)
		if !own && !slices.Contains(e.targets, t.row.like) || !slices.Contains(e.scalars, s.name) {
			continue
		}
		if e.value != tierValue {
			v = e.value
		}
		if status, source = e.status, e.source; !own {
			status, source = t.known(status, source)
		}
	}
	if v == unknown {
		return NoLimit, Unknown, source + ", for H13 alone"
	}
	return v, status, source
}

func (s *scalar) inTier(t tier) (int, Status, string) {
	status := s.status
	if status == 0 {
		status = Decoded
	}
	switch t {
	case ownTier:
		switch s.name {
		case "kernel_memory_extended", "patch_width_floor":
			return 0, Decoded, "ours"
		case "kernel_width_large_min", "kernel_width_large_min_fp16", "kernel_width_small_min", "kernel_width_small_min_fp16", "dma_granule", "bank_align", "instruction_align", "cycle_divisor":
			return 1, Decoded, "ours"
		}
		return NoLimit, Decoded, "ours: nothing is bound"
	case olderTier:
		return s.older, status, s.source
	case a13Tier:
		return s.a13, status, s.source
	case a14Tier:
		return s.a14, status, s.source
	case a15Tier:
		return s.a15, status, s.source
	case a16Tier, a17Tier, a18Tier:
		return s.a16, status, s.source
	case smallTier:
		return s.a16, Predicted, "as A16, whose flags it has: guide 34"
	case referenceTier:
		switch s.name {
		case "kernel_width_large_min", "kernel_width_large_min_fp16", "kernel_width_small_min", "kernel_width_small_min_fp16":
			return 1, Predicted, "guide 34: an unconstrained profile"
		case "kernel_memory_extended", "accumulators", "accumulator_split", "accumulator_channels_tiny", "accumulator_channels_small", "accumulator_channels_packed", "accumulator_channels_other":
			return s.a13, status, s.source // of all chips
		case "dma_granule", "bank_align", "instruction_align", "patch_width_floor", "cycle_divisor":
			return s.a13, Predicted, "as A13; no source has it"
		}
		return NoLimit, Predicted, "guide 34: an unconstrained profile"
	}
	panic(fmt.Sprintf("bug: tier %d has no limits", t))
}
