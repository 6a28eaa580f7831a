package hal

import "fmt"

// A Capability is a byte of the table that Apple's compiler has of a target: it
// switches one operation or format. Its number is the byte's offset (guide 24).
type Capability uint16

// The capabilities that have a name.
const (
	CapCollective           Capability = 0x48b
	CapKernelStreaming      Capability = 0x48f
	CapResidentBuffer       Capability = 0x491
	CapSquareAfterReduction Capability = 0x494
	CapMClass               Capability = 0x4a4
	CapPlanarWorkUnitShape  Capability = 0x4a8
	CapDropoutRandom        Capability = 0x4a9
	CapSmallSourceCompress  Capability = 0x4ac
	CapOddWorkUnitWidth     Capability = 0x4b0
	CapGlobalArgMinMax      Capability = 0x4f2
	CapStreamA15First       Capability = 0x520
	CapStreamA15Second      Capability = 0x523
	CapStreamA14First       Capability = 0x528
	CapPaletteStream        Capability = 0x529
	CapFP32Transfer         Capability = 0x52c
	CapFP8Kernel            Capability = 0x52d
	CapE5M2Transfer         Capability = 0x52e
	CapStreamA14Second      Capability = 0x532
	CapStreamA15Third       Capability = 0x533
	CapStreamA14Third       Capability = 0x537
	CapStreamA15Fourth      Capability = 0x539
	CapCrossDieAddressing   Capability = 0x55c
	CapFIFOTransfers        Capability = 0x563
	CapCrossDieHazards      Capability = 0x564
	CapWinograd             Capability = 0x680
	CapTwoByteLiveTransfer  Capability = 0x685
	CapCrossDieDependency   Capability = 0x687
	CapDepthBroadcast       Capability = 0x812
	CapDynamicGOC           Capability = 0x814
	CapSoftmax              Capability = 0x815
	CapInstanceNorm         Capability = 0x816
	CapMinMaxNorm           Capability = 0x818
	CapLRN                  Capability = 0x81a
	CapTexture              Capability = 0x81d
	CapChaining             Capability = 0x8bc
	CapKernelCaching        Capability = 0x8e0
)

func (c Capability) String() string { return fmt.Sprintf("0x%x", uint16(c)) }

// Has reports whether the target has a capability. Our own engine has them all.
// A byte whose value no source has counts as clear.
func (t *Target) Has(c Capability) bool { return t.Family == Virtual || t.Capabilities[c] }

// A CapabilityInfo is the row of a capability.
type CapabilityInfo struct {
	Byte   Capability
	Name   string
	Gates  string
	Source string

	// What the byte is in each tier: before A13, A13, A14, A15, A16, A17, A18,
	// the small profile, the reference profiles. 1 and 0 are decoded, y and n
	// predicted from neighbouring tiers, ? is not known.
	tiers string
}

const (
	guide7  = "guide 7, feature bytes of streaming"
	guide24 = "guide 24, named capability bytes"
	named24 = "guide 24, names by reader function; no source has its value"
	guide36 = "guide 36, collective and cross-die bytes"
)

// capabilities is the table, by offset. M11 has the flags of A16 (guide 34).
var capabilities = []CapabilityInfo{
	//                                                                                                            older A13 A14 A15 A16 A17 A18 small ref
	{CapCollective, "collective", "collectives over several dies", guide36 + ": clear on all 28", "000000000"},
	{CapKernelStreaming, "kernel-streaming", "weights may stream: selects the streamed cap of kernel memory", guide24 + "; guide 4 before A13", "0111111y?"},
	{CapResidentBuffer, "resident-buffer", "a convolution's result may get a buffer of its own on chip", "guide 21: the M1 takes the branch that it guards", "?1???????"},
	{CapSquareAfterReduction, "square-after-reduction", "a square fuses into the reduction before it", guide24 + "; guide 4 before A13", "0011111y?"},
	{CapMClass, "m-class", "secondary capability of the M class", guide36, "?000n001y"},
	{CapPlanarWorkUnitShape, "planar-work-unit-shape", "the planar engine computes the shape of its work units", named24 + ": PERasterization::ComputeWUShape", "?????????"},
	{CapDropoutRandom, "dropout-random", "dropout and random numbers", guide24 + "; guide 4 before A13; guide 34 for the small and reference profiles", "000111110"},
	{CapSmallSourceCompress, "small-source-compression", "compression in small-source mode", named24 + ": AllowCompressionBasedOnSmallSourceMode", "?????????"},
	{CapOddWorkUnitWidth, "odd-work-unit-width", "work units whose width is no power of 2", named24 + ": NERasterization::CanUseNonPowerOf2WUs", "?????????"},
	{CapGlobalArgMinMax, "global-arg-min-max", "argmin and argmax over a whole tensor, by direct authoring", guide24 + "; guide 4 before A13", "0111111y?"},
	{CapStreamA15First, "stream-a15-1", "a form of compressed weights streams; guide 24 names the byte secure-mode cache hint", guide7, "?00111yy?"},
	{CapStreamA15Second, "stream-a15-2", "a form of compressed weights streams", guide7, "?00111yy?"},
	{CapStreamA14First, "stream-a14-1", "a form of compressed weights streams", guide7, "?01111yy?"},
	{CapPaletteStream, "palette-stream", "palettes stream: kernel stride by format", guide24 + "; " + guide7, "?111111y?"},
	{CapFP32Transfer, "fp32-transfer", "DMA of fp32", "guide 36, CheckValidDMAFormat; guide 24; no source has its value", "?????????"},
	{CapFP8Kernel, "fp8-kernel", "weights and activations in E4M3", guide24 + "; guide 36: H18 alone of all 28", "000000100"},
	{CapE5M2Transfer, "e5m2-transfer", "DMA of E5M2", "guide 36, CheckValidDMAFormat; no source has its value", "?????????"},
	{CapStreamA14Second, "stream-a14-2", "a form of compressed weights streams", guide7, "?01111yy?"},
	{CapStreamA15Third, "stream-a15-3", "a form of compressed weights streams", guide7, "?00111yy?"},
	{CapStreamA14Third, "stream-a14-3", "a form of compressed weights streams", guide7, "?01111yy?"},
	{CapStreamA15Fourth, "stream-a15-4", "a form of compressed weights streams", guide7, "?00111yy?"},
	{CapCrossDieAddressing, "cross-die-addressing", "extended addresses over several dies", guide36, "n011y1111"},
	{CapFIFOTransfers, "fifo-transfers", "DMA in FIFO mode", guide24, "n0000n1nn"},
	{CapCrossDieHazards, "cross-die-hazards", "hazards are tracked over several dies", guide36, "n011y1000"},
	{CapWinograd, "winograd", "Winograd convolution", "guide 20, Winograd selection gate: set on the M1", "?1???????"},
	{CapTwoByteLiveTransfer, "two-byte-live-transfer", "DMA of the two-byte live formats", "guide 36, CheckValidDMAFormat; no source has its value", "?????????"},
	{CapCrossDieDependency, "cross-die-dependency", "dependencies over several dies", guide36, "n001y1000"},
	{CapDepthBroadcast, "depth-broadcast", "broadcast along depth (guide B); fast path for upsampling 1x1 input (guide 35)", "guide B, validator gates; guide 35, field map; no source has its value", "?????????"},
	{CapDynamicGOC, "dynamic-goc", "gain and offset from tensors", "guide 22, feature-gated validators: absent on the smallest legacy parts only", "1111111y?"},
	{CapSoftmax, "softmax", "softmax", guide24 + "; guide 4 before A13", "0111111y?"},
	{CapInstanceNorm, "instance-norm", "instance normalization", guide24 + "; guide 4 before A13", "0111111y?"},
	{CapMinMaxNorm, "min-max-norm", "range normalization", "guide B: the M1 runs it along width and height; guide 26 says that the M1 rejects it", "?yyyyyyy?"},
	{CapLRN, "local-response-norm", "local response normalization", guide24, "?111111y?"},
	{CapTexture, "texture-engine", "resize, crop-resize, resample, affine transform, gather in hardware, symmetric and reflective padding", guide24 + "; guide 34, capability tiers", "001111110"},
	{CapChaining, "chaining", "a result stays on chip for the next layer", guide24 + ": ZinIrRegAllocUtil::IsChainable reads it; set on H13, whose recorded programs chain (h13 4.5)", "?1yyyyyy?"},
	{CapKernelCaching, "kernel-caching", "weights are cached", named24 + ": ValidateKernelCaching", "?????????"},
}

// byteExceptions are the bytes of targets that differ from their tier.
var byteExceptions = []struct {
	target string
	byte   Capability
	set    bool
}{
	{"m9", CapDynamicGOC, false},         // guide 22: the smallest legacy part
	{"u1", CapCrossDieAddressing, false}, // guide 36
}

// of is the value of a byte for a target, and how it is known.
func (c *CapabilityInfo) of(t *Target) (bool, Status) {
	if t.tier == ownTier {
		return true, Decoded
	}
	for _, e := range byteExceptions {
		if e.target == t.Name && e.byte == c.Byte {
			return e.set, Decoded
		}
	}
	switch v := c.tiers[t.tier-olderTier]; v {
	case '1', '0':
		status, _ := t.known(Decoded, "")
		return v == '1', status
	case 'y', 'n':
		return v == 'y', Predicted
	}
	return false, Unknown
}

// Capability is the value of a byte, and how it is known. Unknown is what it is
// of a byte that stands in no table, too.
func (t *Target) Capability(b Capability) (set bool, s Status) {
	for i := range capabilities {
		if capabilities[i].Byte == b {
			return capabilities[i].of(t)
		}
	}
	return false, Unknown
}

// Capabilities returns the table of the capability bytes, by offset. The
// compiler has about 165; these are the ones that the sources tell of.
func Capabilities() []CapabilityInfo { return capabilities }

// A NamedField is a part of the compiler's table that is no switch: a number, a
// pointer or a block.
type NamedField struct {
	Offset string
	Name   string
	Source string
}

// NamedFields are the fields of the compiler's table that have a name and no
// known values, by offset.
func NamedFields() []NamedField { return namedFields }

const (
	reader24 = "guide 24, names by reader function"
	dead24   = "guide 24, dead fields: written, never read through the table"
)

var namedFields = []NamedField{
	{"0x18", "cap on elements; dead", dead24},
	{"0x80", "kernel depth; dead", dead24},
	{"0x260", "legacy tiling granule; dead", dead24},
	{"0x29c", "die class; dead", dead24},
	{"0x320", "not named; dead", dead24},
	{"0x328", "stride and unicast input channels of a convolution", "guide 35, parameter field map"},
	{"0x3f8", "patch width clamp of maximum pooling", "guide 35, parameter field map"},
	{"0x4f0", "preferred layout of kernels", reader24 + ": GetPreferredKernelLayoutFormat"},
	{"0x500", "transpose and multicast configuration", reader24 + ": FindValidMirInfoForTransposeCore"},
	{"0x54c", "limit of the prefetch interval of kernel tasks", reader24 + ": ValidateCachePrefetchKernelTaskInterval"},
	{"0x580", "policy of the cost model: Simple, or None before A13 and on the small profile", "guide 24, HAL property table"},
	{"0x580 to 0x7f0", "coefficients of the cost model", "guide 24"},
	{"0x5a8", "cache hint", reader24 + ": GetDSIDFromPriorityHalAndSecureMode"},
	{"0x658", "map of the interchange formats; 0x668 counts them", "guide 34, interchange formats"},
	{"0x708", "largest extent of reflective padding", reader24 + ": ValidateReflectivePaddingMode"},
	{"0x748", "descriptor of gather and texture engine", reader24 + ": ZinGatherLayer::CreateTELayer"},
	{"0x7a8", "efficiency by frequency", "guide 24"},
	{"0x820 to 0x8f8", "plane equations of the texture engine", "guide 24, class-named: gated by 0x81d"},
	{"0x8b4", "threshold of the tile-height erratum", reader24 + ": ZinTileHeightErrata::Workaround"},
}
