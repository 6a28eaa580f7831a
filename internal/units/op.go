package units

import "github.com/espalier-ane/espalier/td"

// A Size is what a task works on: one group.
type Size struct{ W, H, D, C int }

// An Op is a task of the array or of the planar engine.
type Op struct {
	Planar   bool
	Kind     int // task type of the planar engine
	In, Out  Size
	Groups   int
	Unicast  int  // inputs of one output; 0: all
	Exchange bool // C and W of the result change places

	Source1 Source
	Source2 *Source
	ReLU1   bool // of source 1, as it is read
	ReLU2   bool
	Lowest  bool // padding is minus infinity

	Broadcast1, Broadcast2 uint32 // bits W, H, D, C
	Transpose1, Transpose2 bool   // planar: C and W of the source change places

	Result  *Surface // nil: it stays on chip
	Chip    Chip     // where it lies, or passes if strides are not 0
	Resides bool     // it passes a buffer with strides of its own before it leaves

	KernelStore bool // it is a kernel that is made on chip

	// Of the planar engine. Numbers are fp16 but for the last.
	Operator, Reduction, Condition, Final uint32
	ReLU, Negate1, Negate2                bool
	PreScale, Scale, Bias, Epsilon        uint16
	FinalScale                            float32
	WideResult, WideSource                bool // more than fp16 on chip, as normalizations have it

	// Of the array. Numbers are fp16.
	Operation  uint32
	Unity      bool // weights of 1
	Biased     bool
	NonLinear  uint32
	Post       uint16
	Accumulate uint16 // added to the sum
	Window     Window
	LanesLog2  int
	Engines    int
	Format     td.KernelFormat // of the weights; 0 stands for fp16
	Kernel     *Kernel
	Small      bool // its images are: streams that leave out zeros depend on it

	// What a profile of numerics may not have. No word says so.
	Rounded bool // it has constants that are wider than fp16 in the model
	Cropped bool // Post is that of a slice along W
}

// Sources are the sources that the task has.
func (o *Op) Sources() []*Source {
	if o.Source2 == nil {
		return []*Source{&o.Source1}
	}
	return []*Source{&o.Source1, o.Source2}
}

// A Kernel is where the streams of a task lie.
type Kernel struct {
	Base     int // as of a Surface
	Offsets  []int
	Sizes    []int
	ZeroSkip bool
	Runtime  bool
	Producer int // of a run-time kernel: the task that makes it; -1: none, it is a port
}

// A Window is the window of a convolution.
type Window struct{ KW, KH, SX, SY, PX, PY int }

// OnePoint is the window of one element.
var OnePoint = Window{KW: 1, KH: 1, SX: 1, SY: 1}

// Meets reports whether every window has an element of the image.
func (w *Window) Meets(in, out Size) bool {
	return w.PX < w.KW && w.PY < w.KH && (out.W-1)*w.SX-w.PX < in.W && (out.H-1)*w.SY-w.PY < in.H
}

// Numbers of the array and of the planar engine.
const (
	MultiplyAdd = 0
	Product     = 2
	Maximum     = 3
	Bypass      = 4

	ReLU  = 1
	Table = 2

	One = 0x3c00 // fp16

	BroadcastW = 1
	BroadcastH = 2
	BroadcastD = 4
	BroadcastC = 8

	// Operators of the planar engine.
	PlanarAdd      = 0
	PlanarMultiply = 1
	PlanarMaximum  = 2
	PlanarMinimum  = 3
	PlanarSquare   = 4 // of the sum, or of the one source

	// Its reductions, over the plane of each channel.
	ReduceSum     = 0
	ReduceMaximum = 2

	// What it does at last to what is reduced.
	FinalReciprocal = 1
	FinalRSqrt      = 2

	ConditionAbs = 1 // the magnitude of the result
)

// CombinesPlanar reports whether the planar engine combines two sources so in one task, by an operator or a sign (h13 2.6).
func CombinesPlanar(k td.EWKind) bool {
	switch k {
	case td.EWAdd, td.EWSub, td.EWMult, td.EWMax, td.EWMin:
		return true
	}
	return false
}

// Reduces reports whether a task of the planar engine reduces planes.
func (o *Op) Reduces() bool {
	return o.Planar && (o.Kind == td.TypePlanarReduce || o.Kind == td.TypePlanarReduce2)
}

// ResultSize is the extent of what a task leaves: of a plane that it reduces, one
// element.
func (o *Op) ResultSize() Size {
	if o.Reduces() {
		return Size{W: 1, H: 1, D: 1, C: o.Out.C}
	}
	return o.Out
}
