package hal

import "fmt"

// A Capability is a byte of the table that Apple's compiler has of a target: it switches one operation or
// format. Its number is the byte's offset (guide 24).
type Capability uint16

// The capabilities that validators ask for.
const (
	CapKernelStreaming      Capability = 0x48f
	CapSquareAfterReduction Capability = 0x494
	CapDropoutRandom        Capability = 0x4a9
	CapGlobalArgMinMax      Capability = 0x4f2
	CapPaletteStream        Capability = 0x529
	CapFP8Kernel            Capability = 0x52d
	CapFIFOTransfers        Capability = 0x563
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
func (t *Target) Has(c Capability) bool { return t.Family == Virtual || t.Capabilities[c] }
