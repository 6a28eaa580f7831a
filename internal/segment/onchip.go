package segment

import "github.com/espalier-ane/espalier/internal/anec"

// OnChip is what the compiler of a chip adds to a plan: which values stay on chip and how, the partitions of the task list,
// and what runs side by side. Tasks address main memory whatever it says: it is for emission and reports, which choose
// by it. The passes after memory fill it in from the top down.
type OnChip struct {
	Bytes  int64 // of on-chip memory
	Budget int64 // bytes that a partition may fill
	Tasks  []ChipTask
	Values []*ChipValue // what tasks make, and before it what they read from outside, by task

	Partitions []Partition
	Allocated  bool     // values have states
	Pairs      [][2]int // tasks that run side by side
	Joins      []WidthConcat
	Kernels    []KernelStream
}

// A ChipTask is what is known of a task, by the index of its layer in Plan.Layers.
type ChipTask struct {
	Unit      anec.Unit
	AtLoad    bool // it runs once, when the program is loaded: it is not in the schedule
	Partition int  // -1: none
	Pressure  int64
	Chained   int // the task whose result it takes as it comes; -1: none
	Partner   int // the task that runs beside it; -1: none

	Tiles      int64 // bytes of on-chip memory through which operands stream
	TileOffset int64
}

// A ChipValue is a root tensor: one that a task makes or that comes from outside. Views of it are not values here.
type ChipValue struct {
	Value   *anec.Value
	Maker   int   // task; -1: it comes from outside
	Readers []int // tasks that read its bytes, itself or through views and concatenations, ascending
	Leaves  bool  // by an output or a state
	Chain   ChainRule

	State  AllocationState
	Over   *ChipValue // whose bytes it takes over
	Layout RowLayout  // on chip
	Offset int64      // on chip; -1: it is not there
	Bytes  int64      // on chip: all of it, or of a chain the two tiles

	Streams bool // too large to stay whole
}

// Last is the last task that needs the value.
func (v *ChipValue) Last() int {
	if n := len(v.Readers); n > 0 {
		return max(v.Maker, v.Readers[n-1])
	}
	return v.Maker
}

// Root is the value whose bytes it has.
func (v *ChipValue) Root() *ChipValue {
	for v.Over != nil {
		v = v.Over
	}
	return v
}

// ClassOf is the class of a task's unit, that of the array where there is none.
func (oc *OnChip) ClassOf(task int) (class int) {
	if task >= 0 {
		class = int(oc.Tasks[task].Unit.Class())
	}
	return class
}

// Used is how much of on-chip memory a segment takes.
func (oc *OnChip) Used() (bytes int64) {
	for _, v := range oc.Values {
		if v.State.OnChip() {
			bytes = max(bytes, v.Offset+v.Bytes)
		}
	}
	for _, t := range oc.Tasks {
		bytes = max(bytes, t.TileOffset+t.Tiles)
	}
	return bytes
}

// Chains counts the values that supply the next task directly.
func (oc *OnChip) Chains() (n int) {
	for _, v := range oc.Values {
		if v.State == Chained {
			n++
		}
	}
	return n
}

// Operands are the root tensors that tasks read, by task.
func (oc *OnChip) Operands() [][]*ChipValue {
	list := make([][]*ChipValue, len(oc.Tasks))
	for _, v := range oc.Values {
		for _, i := range v.Readers {
			list[i] = append(list[i], v)
		}
	}
	return list
}

// Results are the root tensors that tasks make, by task.
func (oc *OnChip) Results() [][]*ChipValue {
	list := make([][]*ChipValue, len(oc.Tasks))
	for _, v := range oc.Values {
		if v.Maker >= 0 {
			list[v.Maker] = append(list[v.Maker], v)
		}
	}
	return list
}

// An AllocationState is how a root tensor is held: one of the nine that the compiler has, with its numbers (seed compiler,
// Table 22.2).
type AllocationState uint8

// The states. "Dependent" is a value whose maker takes an operand from a chain; the seed says "L2-dependent", and this is
// our reading of it.
const (
	Resident          AllocationState = 0 // on chip, whole
	Streamed          AllocationState = 1 // in main memory
	Chained           AllocationState = 2 // supplies the next task directly: two tiles on chip
	Dependent         AllocationState = 3 // on chip, whole; its maker takes an operand from a chain
	InPlace           AllocationState = 4 // on chip, written over an operand
	InPlaceDependent  AllocationState = 5
	RingBuffer        AllocationState = 6 // on chip, written by a ring buffer's writer
	RingDependent     AllocationState = 7
	InPlaceMainMemory AllocationState = 8 // in main memory, written over an operand
)

var AllocationStateNames = [...]string{
	"resident", "streamed", "chained", "dependent", "in place", "in place, dependent", "ring buffer", "ring buffer, dependent", "in place in main memory",
}

func (a AllocationState) String() string { return AllocationStateNames[a] }

// OnChip reports whether the state is one of on-chip memory.
func (a AllocationState) OnChip() bool { return a != Streamed && a != InPlaceMainMemory }

// A ChainRule is why a value does not go from the task that makes it right into the one that reads it: the first clause of
// the conjunction that does not hold. Sizes are no clause (seed compiler).
type ChainRule uint8

// The clauses, in the order of the seed. Chained is when all hold.
const (
	Chainable     ChainRule = iota
	NotMade                 // it comes from outside, or is made when the program is loaded
	ChainingOff             // the chip has no chaining
	SeveralReads            // its maker has another outgoing layer, or none: it is read by several, or leaves
	OtherClass              // maker and reader are of different engine classes
	OtherEngine             // they are on different engines
	OtherGeometry           // it is read with other extents than it is made with
	Gap                     // another task stands between
	RowsMissing             // the rows of the first tile do not cover what the reader's first tile needs
)

var ChainRuleNames = [...]string{
	"chainable", "not made by a task", "chaining is off", "not exactly one outgoing layer", "another engine class", "another engine",
	"another tile geometry", "a task in the gap", "rows of the first tile are missing",
}

func (r ChainRule) String() string { return ChainRuleNames[r] }

// A RowLayout is how a value lies on chip: the rows of all channels side by side, then the next row (h13 2.5).
//
//	row 0   channel 0  channel 1  …  pad
//	row 1   channel 0  channel 1  …  pad
type RowLayout struct {
	Channel int64 // bytes from channel to channel: a row, on whole granules
	Packed  int64 // from row to row, if nothing were between them
	Row     int64 // from row to row
	Rows    int64 // H
	Planes  int64 // N·D
}

func (l RowLayout) Bytes() int64 { return l.Row * l.Rows * l.Planes }

// Tile is the size of so many rows.
func (l RowLayout) Tile(rows int) int64 { return l.Row * min(int64(rows), l.Rows) }

// A Partition is a run of tasks that the engine gets as one request: what stays on chip does so inside of it.
type Partition struct {
	First, Last int
	Pressure    int64 // the most that its values were found to hold
	Refused     int64 // what they would with the next task; 0 at the end of the program
}

// A WidthConcat is a concatenation along W. Its parts are written side by side in each row. On chip a write begins on a
// granule: parts that do can be written where they belong; a part that does not has to be shifted into place, which
// costs a copy by the array. (The seed has the name of the pass, phase 4; that the granule decides follows from guide
// 21.)
type WidthConcat struct {
	Value   *anec.Value
	Starts  []int64 // bytes into the row at which the parts begin
	InPlace bool    // all on a granule
}

// A KernelStream is how the weights of a task are dealt to the engines: one stream each (h13 3.3).
type KernelStream struct {
	Task    int
	Engines int
	Lanes   int   // output channels that an engine has side by side
	Bytes   int64 // of all streams, with what pads them
	Dense   int64 // of the weights themselves
}
