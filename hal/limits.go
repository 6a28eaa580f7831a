package hal

// Limits are the sizes that a target's compiler holds layers to. Extents are along N, D, C, H, W, as in package td.
// NoLimit stands where there is none.
type Limits struct {
	// A convolution's kernel is small or large, each with its own bounds; along W they depend on the format of the
	// weights too.
	KernelWidth  [2][2]Range // by SizeClass, then KernelFormat
	KernelHeight [2]int      // by SizeClass
	KernelDepth  [2]int

	Patch  [3]int // of a tile's border: D, H, W
	Tensor [5]int

	Transpose             int   // extent that is transposed in one go; 0: every transpose is split
	ReductionViaTranspose int   // reduced extent from which on a reduction goes through a transpose; NoLimit: never
	GroupConv             int   // input channels times kernel area from which on a grouped convolution is decomposed
	StrideFactors         []int // what strides and block factors are made of

	WorkingSet       int // bytes on chip that a layer's operands may take
	DMAGranule       int // bytes
	BankAlign        int // bytes
	PatchWidthFloor  int // pixels
	PatchWidthMax    int
	InstructionAlign int // bytes

	KernelMemoryDense    int // bytes of weights that are not streamed
	KernelMemoryStreamed int
	TableBytes           int // of an activation's table
	ResidentBuffer       int // bytes from which on a buffer gets its own place on chip
	LiveTensors          int // across a context switch

	MaxRowStride         int    // bytes: the longest stride that the search for one without bank conflicts tries
	ExtendedKernelMemory int    // mode that makes the streamed cap the dense one; 0: off
	Accumulators         int    // per core, in work units
	AccumulatorSplit     int    // granule in which output channels are split over accumulators
	AccumulatorChannels  [4]int // output channels that share an accumulator, by source: tiny, small, packed fp16, other
	TinySource           int    // largest source that counts as tiny
	KernelElementCap     [3]int // bytes over kernel elements that a group of output channels may take, by weight format
}

// NoLimit is a limit that nothing exceeds.
const NoLimit = int(^uint(0) >> 1)

// A Range holds both ends.
type Range struct{ Min, Max int }

// Contains reports whether n is in the range.
func (r Range) Contains(n int) bool { return r.Min <= n && n <= r.Max }

// SizeClass is that of a convolution's kernel.
type SizeClass uint8

// The size classes.
const (
	Small SizeClass = iota
	Large
)

// KernelFormat is the format of a convolution's weights, as far as the limits know it.
type KernelFormat uint8

// The formats.
const (
	DefaultFormat KernelFormat = iota // 8 bits and fewer
	FP16Format
)
