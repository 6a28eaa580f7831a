package compiler

import (
	"math/bits"

	"github.com/espalier-ane/espalier/td"
)

// The tasks of version 7, H13's own. A v7op is one of them before it has words:
//
//	source 1 ─┐                                        ┌─ on-chip memory
//	          ├─ array or planar engine ─ f ─ exchange ─┤
//	source 2 ─┘                                        └─ memory
//
// Sizes and places are as the registers have them (h13 2): a surface in memory has strides for rows, planes and groups;
// a tensor on chip lies row by row, in a row channel by channel.

// A v7size is what a task works on: one group.
type v7size struct{ w, h, d, c int }

// A v7surface is a tensor in memory. Strides are in bytes, multiples of 64.
type v7surface struct {
	base                     int // entry of the base-address table
	offset                   int
	row, plane, depth, group int
	interleave               int // channels side by side; 0 stands for 1
	element                  v7element
	backing                  bool // it is only where an on-chip tensor would go if it had to leave
}

// A v7element is the type of elements in memory, in the words of a format register.
type v7element uint8

const (
	v7fp16 v7element = iota
	v7byte           // bool: a byte each
)

// A v7chip is a tensor in on-chip memory: base and strides in bytes, multiples of 16.
type v7chip struct{ base, channel, row, depth, group int }

// A v7source is a source of a task: from memory, from memory and kept on chip, or on chip already.
type v7source struct {
	memory *v7surface // nil: on chip
	keep   bool
	chip   v7chip // where its rows pass, or lie
}

// streams reports whether the source comes by DMA.
func (s *v7source) streams() bool { return s.memory != nil && !s.memory.backing }

// A v7op is a task.
type v7op struct {
	planar   bool
	kind     int // task type of the planar engine
	in, out  v7size
	groups   int
	unicast  int  // inputs of one output; 0: all
	exchange bool // C and W of the result change places

	source1 v7source
	source2 *v7source
	relu1   bool // of source 1, as it is read
	relu2   bool
	lowest  bool // padding is minus infinity

	broadcast1, broadcast2 uint32 // bits W, H, D, C
	transpose1, transpose2 bool   // planar: C and W of the source change places

	result  *v7surface // nil: it stays on chip
	chip    v7chip     // where it lies, or passes if strides are not 0
	resides bool       // it passes a buffer with strides of its own before it leaves

	kernelStore bool // it is a kernel that is made on chip

	// Of the planar engine.
	operator, reduction, condition, final uint32
	relu, negate1, negate2                bool
	rounded                               bool // it has constants that are wider than fp16 in the model
	scale, bias, epsilon                  uint16
	finalScale                            float32
	wideResult, wideSource                bool // more than fp16 on chip, as normalizations have it

	// Of the array.
	operation  uint32
	unity      bool // weights of 1
	biased     bool
	nonLinear  uint32
	post       uint16
	cropped    bool   // post is that of a slice along W
	accumulate uint16 // added to the sum
	window     v7window
	lanesLog2  int
	engines    int
	format     td.KernelFormat // of the weights; 0 stands for fp16
	kernel     *v7kernel
	small      bool // its images are: streams that leave out zeros depend on it
}

// A v7kernel is where the streams of a task lie.
type v7kernel struct {
	base     int
	offsets  []int
	sizes    []int
	zeroSkip bool
	runtime  bool
	producer int // of a run-time kernel: the task that makes it; -1: none, it is a port
}

// Numbers of the array and of the planar engine.
const (
	v7MultiplyAdd = 0
	v7Product     = 2
	v7Maximum     = 3
	v7Bypass      = 4

	v7ReLU  = 1
	v7Table = 2

	v7One = 0x3c00 // fp16

	v7BroadcastW = 1
	v7BroadcastH = 2
	v7BroadcastD = 4
	v7BroadcastC = 8
)

// newPlanar begins a task of the planar engine that leaves what it reads as it is.
func newPlanar(kind int, size v7size) *v7op {
	return &v7op{planar: true, kind: kind, in: size, out: size, groups: 1, scale: v7One, finalScale: 1, window: onePoint}
}

// newBypass begins a task of the array that passes on each channel.
func newBypass(size v7size) *v7op {
	return &v7op{in: size, out: size, groups: 1, unicast: 1, operation: v7Bypass, unity: true, post: v7One, window: onePoint, engines: v7engines(size.c)}
}

// fromTo lets a task read one surface and write another. What it reads passes on chip, and the result behind it.
func (o *v7op) fromTo(from, to *v7surface) *v7op {
	chip := arrayChip(0, o.in)
	if o.planar {
		chip = planarChip(0, o.in)
	}
	o.source1, o.result, o.chip = v7source{memory: from, chip: chip}, to, passing(chip, o.in.h)
	return o
}

// v7engines is how many engines work on so many outputs.
func v7engines(outputs int) int { return 1 << min(4, bits.Len(uint(outputs-1))) }

// exchanged makes the result leave with C and W exchanged. The engines are then 8 or 16, by the width.
func (o *v7op) exchanged() *v7op {
	o.exchange = true
	if !o.planar {
		o.engines = min(max(v7engines(o.in.w), 8), 16)
	}
	return o
}
