package units

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// A Part is a part of an Op that an error may be about. Who has read the Op from
// words knows which field of a register the part came from.
type Part uint16

// The parts.
const (
	PartKind Part = iota
	PartInW
	PartInH
	PartInD
	PartInC
	PartOutW
	PartOutH
	PartOutD
	PartOutC
	PartGroups
	PartUnicast
	PartKernelW
	PartKernelH
	PartStrideX
	PartStrideY
	PartPadX
	PartPadY
	PartBroadcast2

	// Operands: what they count from, and where they lie, in memory or on chip.
	PartSource1Base
	PartSource1
	PartSource2Base
	PartSource2
	PartKept // where source 1 stays on chip
	PartResultBase
	PartResult

	// The kernel.
	PartKernel // that there is one
	PartKernelBase
	PartKernelFormat
	PartZeroSkip
	PartBias
	PartTable

	partStreams // by engine: where a stream lies, and how long it is
)

// PartStream is where the kernel stream of an engine lies.
func PartStream(engine int) Part { return partStreams + 2*Part(engine) }

// PartStreamSize is how long the kernel stream of an engine is.
func PartStreamSize(engine int) Part { return partStreams + 2*Part(engine) + 1 }

// Stream returns the engine whose kernel stream a part is of, and whether it is
// about its size.
func (p Part) Stream() (engine int, size, ok bool) {
	return int(p-partStreams) / 2, (p-partStreams)%2 == 1, p >= partStreams
}

// Check says what does not fit among the sizes, the window and the sources of a
// task, and which part is to blame. Where it has nothing to say, the task can be
// computed, if its operands and its kernel are where they should be.
func (o *Op) Check() (Part, error) {
	for _, n := range []struct {
		part  Part
		value int
	}{
		{PartInC, o.In.C}, {PartInD, o.In.D}, {PartInH, o.In.H}, {PartInW, o.In.W},
		{PartOutC, o.Out.C}, {PartOutD, o.Out.D}, {PartOutH, o.Out.H}, {PartOutW, o.Out.W}, {PartGroups, o.Groups},
	} {
		if n.value < 1 {
			return n.part, fmt.Errorf("want 1 or more")
		}
	}
	for _, s := range []struct {
		part    Part
		surface *Surface
	}{{PartSource1, o.Source1.Memory}, {PartSource2, o.source2()}, {PartResult, o.Result}} {
		if s.surface != nil && (s.surface.Interleave < 0 || s.surface.Interleave > 255) {
			return s.part, fmt.Errorf("%d channels side by side", s.surface.Interleave)
		}
	}
	if o.Planar {
		return o.checkPlanar()
	}
	return o.checkArray()
}

// source2 is source 2 in memory, nil if it is not there.
func (o *Op) source2() *Surface {
	if o.Source2 == nil {
		return nil
	}
	return o.Source2.Memory
}

func (o *Op) checkPlanar() (Part, error) {
	for _, pair := range []struct {
		part    Part
		in, out int
	}{
		{PartOutC, o.In.C, o.Out.C}, {PartOutD, o.In.D, o.Out.D}, {PartOutH, o.In.H, o.Out.H}, {PartOutW, o.In.W, o.Out.W},
	} {
		if pair.in != pair.out {
			return pair.part, fmt.Errorf("a planar task has an input and an output of one size, here %d", pair.in)
		}
	}
	two := false
	switch o.Kind {
	case td.TypePlanarUnary, td.TypePlanarReduce:
	case td.TypePlanarBinary, td.TypePlanarGain, td.TypePlanarReduce2:
		two = true
	default:
		return PartKind, fmt.Errorf("a planar task of this type is not known")
	}
	switch {
	case two != (o.Source2 != nil):
		return PartKind, fmt.Errorf("the task has a second source: %t", o.Source2 != nil)
	case o.Kind == td.TypePlanarGain && o.Broadcast2&BroadcastH != 0:
		return PartBroadcast2, fmt.Errorf("source 2 has two rows, offsets and gains")
	}
	return 0, nil
}

func (o *Op) checkArray() (Part, error) {
	w := &o.Window
	switch {
	case o.In.D != 1:
		return PartInD, fmt.Errorf("the array has no depth")
	case o.Out.D != 1:
		return PartOutD, fmt.Errorf("the array has no depth")
	case w.PX < 0:
		return PartPadX, fmt.Errorf("want 0 or more")
	case w.PY < 0:
		return PartPadY, fmt.Errorf("want 0 or more")
	case o.Unicast < 0:
		return PartUnicast, fmt.Errorf("want 0 or more")
	case o.LanesLog2 < 0 || o.LanesLog2 > 7:
		return PartKernel, fmt.Errorf("2^%d outputs side by side", o.LanesLog2)
	}
	for _, n := range []struct {
		part  Part
		value int
	}{{PartKernelW, w.KW}, {PartKernelH, w.KH}, {PartStrideX, w.SX}, {PartStrideY, w.SY}} {
		if n.value < 1 {
			return n.part, fmt.Errorf("want 1 or more")
		}
	}
	if o.Unicast > 0 && o.Out.C*o.Unicast > o.In.C {
		return PartUnicast, fmt.Errorf("%d outputs of so many channels, the source has %d", o.Out.C, o.In.C)
	}
	if o.Unity {
		// Windows of sums and maxima would be pooling, which no program shows.
		for _, k := range []struct {
			part      Part
			got, want int
		}{
			{PartKernelW, w.KW, 1}, {PartKernelH, w.KH, 1}, {PartStrideX, w.SX, 1}, {PartStrideY, w.SY, 1},
			{PartPadX, w.PX, 0}, {PartPadY, w.PY, 0}, {PartOutW, o.Out.W, o.In.W}, {PartOutH, o.Out.H, o.In.H},
		} {
			if k.got != k.want {
				return k.part, fmt.Errorf("windows without weights are not known; want %d", k.want)
			}
		}
	}
	if o.Operation == Bypass && (o.Unicast != 1 || o.Out.C != o.In.C) {
		return PartUnicast, fmt.Errorf("a bypass passes on %d channels one by one, here are %d outputs", o.In.C, o.Out.C)
	}
	// Padding after the image follows from the output size. A window that is
	// wholly outside the image is a mistake.
	if start := (o.Out.W-1)*w.SX - w.PX; start >= o.In.W || w.KW <= w.PX {
		return PartOutW, fmt.Errorf("windows of %d with padding %d lie outside an image of width %d", w.KW, w.PX, o.In.W)
	}
	if start := (o.Out.H-1)*w.SY - w.PY; start >= o.In.H || w.KH <= w.PY {
		return PartOutH, fmt.Errorf("windows of %d with padding %d lie outside an image of height %d", w.KH, w.PY, o.In.H)
	}
	return 0, nil
}

// Inputs is how many channels one output of the array reads.
func (o *Op) Inputs() int {
	if o.Unicast > 0 {
		return o.Unicast
	}
	return o.In.C
}

// NeedsKernel reports whether a task of the array loads kernel streams: weights,
// or a table.
func (o *Op) NeedsKernel() bool { return !o.Planar && (!o.Unity || o.NonLinear == Table) }

// KernelShape is the shape of the kernel that a task of the array loads.
func (o *Op) KernelShape() td.Kernel {
	k := td.Kernel{
		Groups: o.Groups, Outputs: o.Out.C, Inputs: o.Inputs(), Height: o.Window.KH, Width: o.Window.KW,
		StrideY: o.Window.SY, StrideX: o.Window.SX, Small: o.Small, Lanes: 1 << o.LanesLog2, Engines: o.Engines,
		Format: td.KernelFP16, Table: o.NonLinear == Table, Bias: o.Biased, ZeroSkip: o.Kernel != nil && o.Kernel.ZeroSkip,
	}
	switch {
	case o.Unity: // weights of 1 are not stored: the streams are the table alone
		k.Inputs = 0
	case o.Format != 0:
		k.Format = o.Format
	}
	return k
}
