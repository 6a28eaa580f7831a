package td

import "fmt"

// MicroCode is the opcode of a micro-operation, by Apple's numbers
// (ZinIrOpLayerOpCodeType; guide C.1).
type MicroCode uint8

// The micro-operations that an epilogue may have.
const (
	MicroScaleBias  MicroCode = 0x02 // v*A + B
	MicroActivation MicroCode = 0x04 // a Function of v, with parameters A and B
	MicroEW         MicroCode = 0x05 // an EWKind of v and a second value
	MicroTypeCast   MicroCode = 0x48 // v rounded to an element type
)

// NumMicroCodes is the number of micro-operations, which count from 0. The last
// is INVALID.
const NumMicroCodes = 126

// The spelling is the vendor's, AFFINE_TRANFORM too.
var microNames = [NumMicroCodes]string{
	0x00: "CONV",
	0x01: "POOL",
	0x02: "SCALE_BIAS",
	0x03: "TERNARY_DYNAMIC_GOC",
	0x04: "ACTIVATION",
	0x05: "EW",
	0x06: "SCALED_EW",
	0x07: "CONCAT",
	0x08: "SPLIT",
	0x09: "COPY",
	0x0a: "FLATTEN",
	0x0b: "UNFLATTEN",
	0x0c: "CROSS_CORRELATION",
	0x0d: "CROSS_PRODUCT",
	0x0e: "KERNEL_RASTERIZER",
	0x0f: "ARG_MIN_MAX",
	0x10: "GLOBAL_ARG_MIN_MAX",
	0x11: "MATRIX_MULT",
	0x12: "BROADCAST",
	0x13: "FLATTEN_COMPOSITE",
	0x14: "UNFLATTEN_COMPOSITE",
	0x15: "FPS_WITH_RADIUS_COMPOSITE",
	0x16: "PIXEL_SHUFFLE_COMPOSITE",
	0x17: "PIXEL_UNSHUFFLE_COMPOSITE",
	0x18: "CONV_COMPOSITE",
	0x19: "MATDECOMP_MATMULT_COMPOSITE",
	0x1a: "CHANNEL_TO_SPACE_LARGE_FACTOR_COMPOSITE",
	0x1b: "LIVE_IN",
	0x1c: "LIVEIN_PARAM",
	0x1d: "CONST_IN",
	0x1e: "LIVE_STATE",
	0x1f: "LIVE_OUT",
	0x20: "REDUCTION",
	0x21: "ALIAS",
	0x22: "REINTERPRET_INNERMOST_DIMENSION",
	0x23: "REINTERPRET_CAST",
	0x24: "RESHAPE",
	0x25: "VIEW",
	0x26: "TRANSPOSE",
	0x27: "SPACE_TO_BATCH",
	0x28: "BATCH_TO_SPACE",
	0x29: "SPACE_TO_CHANNEL",
	0x2a: "CHANNEL_TO_SPACE",
	0x2b: "SOFTMAX",
	0x2c: "INSTANCE_NORM",
	0x2d: "L2_NORM",
	0x2e: "MINMAX_NORM",
	0x2f: "LAYER_NORM",
	0x30: "LRN",
	0x31: "COST_VOLUME",
	0x32: "PIXEL_SHUFFLE",
	0x33: "PIXEL_UNSHUFFLE",
	0x34: "MATRIX_DECOMPOSITION",
	0x35: "FPS",
	0x36: "RS",
	0x37: "RESAMPLE",
	0x38: "GATHER",
	0x39: "TILE",
	0x3a: "SLICE",
	0x3b: "PAD",
	0x3c: "RESIZE",
	0x3d: "RESIZEAS",
	0x3e: "CROP_RESIZE",
	0x3f: "AFFINE_TRANFORM",
	0x40: "PLANE_READER",
	0x41: "PLANE_WRITER",
	0x42: "SORT",
	0x43: "TOP_K",
	0x44: "RCAS",
	0x45: "INDEX",
	0x46: "NMS",
	0x47: "DROPOUT",
	0x48: "TYPE_CAST",
	0x49: "STOCHASTIC_ROUND",
	0x4a: "RANDOM_GENERATOR",
	0x4b: "LINEAR",
	0x4c: "RINGBUFFER_WRITER",
	0x4d: "RINGBUFFER_READER",
	0x4e: "CONDITION",
	0x4f: "PHI",
	0x50: "BASICBLOCK_IN",
	0x51: "BASICBLOCK_OUT",
	0x52: "BATCHNORM",
	0x53: "WAIT_FOR_EVENT",
	0x54: "SIGNAL_EVENT",
	0x55: "ALL_SLICE",
	0x56: "ALL_GATHER",
	0x57: "SCALED_DOT_PRODUCT_ATTENTION",
	0x58: "ALL_REDUCE",
	0x59: "PEFUSED_ELEMENTWISE",
	0x5a: "PEFUSED_SECUREFLUSH",
	0x5b: "PEFUSED_POOL",
	0x5c: "PEFUSED_GOC",
	0x5d: "NEFUSED_CONV",
	0x5e: "NEFUSED_KERNEL_RASTERIZER",
	0x5f: "NEFUSED_CROSS_CORRELATION",
	0x60: "NEFUSED_MATMUL",
	0x61: "NEFUSED_POOL",
	0x62: "NEFUSED_EW",
	0x63: "NEFUSED_DUAL_SOURCE_EW",
	0x64: "NEFUSED_BYPASS",
	0x65: "NEFUSED_RCAS",
	0x66: "TRANSPOSE_ENGINE_OP",
	0x67: "TE_RESAMPLE",
	0x68: "TE_AFFINE_TRANSFORM",
	0x69: "TE_PAD",
	0x6a: "TE_CROP_RESIZE",
	0x6b: "TE_SLICE",
	0x6c: "TE_GATHER",
	0x6d: "TE_RESIZE",
	0x6e: "TM_WAIT_FOR_EVENT",
	0x6f: "TM_SIGNAL_EVENT",
	0x70: "TM_BRANCH",
	0x71: "TM_FETCH",
	0x72: "TM_STORE",
	0x73: "TM_OPERATE",
	0x74: "TM_USER_SLOT_LOAD",
	0x75: "DMA_CONVERT",
	0x76: "QUANT",
	0x77: "DEQUANT",
	0x78: "SNE_COND",
	0x79: "SNE_GOC",
	0x7a: "CCDMA_CONST",
	0x7b: "CCDMA_MEMORY",
	0x7c: "SPILL_FILL_DUMMY",
	0x7d: "INVALID",
}

// Valid reports whether c is one of the 126.
func (c MicroCode) Valid() bool { return c < NumMicroCodes }

func (c MicroCode) String() string {
	if !c.Valid() {
		return fmt.Sprintf("micro-operation %#02x", uint8(c))
	}
	return microNames[c]
}
