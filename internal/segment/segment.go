package segment

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A Segment is a run of operations on the engine on its way to a container. Passes fill it in from the top
// down.
type Segment struct {
	Name   string // of the procedure
	Target *hal.Target
	Graph  *anec.Graph

	Outputs []string // names of the output ports

	// Weights is the memory of the model's weight file, which constants may lie in. Tasks read them there: it
	// becomes the container's kernel section, and is never copied.
	Weights []byte

	Order  []*anec.Layer          // by the schedule: those that become tasks, and views
	Picked map[*anec.Layer]string // the rule by which each went before the others

	// By the memory phase: the tasks that each layer becomes, the plan that says where everything lies, and what the tasks
	// of a layer keep between them, in bytes. Tasks name memories by their numbers until emission.
	Layout      *Layout
	Selected    map[*anec.Layer][]Task
	StandsFor   map[*anec.Layer]*anec.Layer   // the layer under which the tasks of another stand, which computes it along
	Touched     map[*anec.Layer][]*anec.Value // what its tasks read and write in memory
	Declined    map[*anec.Layer]error         // why the native encoder did not take a layer
	Plan        *Plan
	Temporaries int64
	Packed      PackedConstants
	Memories    []*Buffer

	Tasks []Task // by emission, with addresses
	File  *hwx.File

	Strict bool // refuse tasks that the chip itself could not run

	ExactFunctions bool // no function may be a table of knots
	OtherCrops     bool // slices along W have another gain than the target's
	AbsentWeights  bool // zeros stand for the elements of weights: what is said of the segment is about its layers alone
	Alone          bool // it is one native-encoded layer, laid out as Apple's compiler does it
}

// OutputName is the name of an output port.
func (s *Segment) OutputName(i int) string {
	if i < len(s.Outputs) {
		return s.Outputs[i]
	}
	return s.Graph.Outputs[i].Name
}

// MachineOf is the array and the planar engine of the target.
func MachineOf(s *Segment) units.Machine { return units.Machine{Sizes: s.Target.Sizes} }

// A Task is one of the task list before it has words: an operation of the array or planar engine, or one on strided
// operands.
type Task struct {
	Layer *anec.Layer // that it was made of
	Unit  *units.Op   // or
	Op    *td.Op
}

// A Layout says how everything lies: in which buffer, how far from its start, with which strides. Buffers have no addresses yet.
type Layout struct {
	Spots     map[*anec.Value]Spot
	Ports     []Port
	Layers    []*anec.Layer // that become tasks, in order
	Buffers   []*Buffer     // in the order in which they get addresses
	Constants []Piece       // that are not in the weight file
}

// A Plan says where everything lies.
type Plan struct {
	Places map[*anec.Value]Place
	Ports  []Port

	// Layers are those that become tasks, in order; the others of the schedule are views.
	Layers []*anec.Layer

	Scratch    int64  // bytes between tasks
	ScratchSum int64  // what they would be if no two buffers shared any, for reports
	Derived    int64  // bytes that tasks make of constants, once, when the program is loaded
	Constants  []byte // constants that are not in the weight file

	OnChip *OnChip // of targets that keep values on chip
}

// A Region is a memory that tasks address.
type Region uint8

// The regions.
const (
	InScratch   Region = iota // between the tasks of a dispatch
	InDerived                 // made of constants when the program is loaded
	InConstants               // Plan.Constants
	InWeights                 // Segment.Weights
	InPort                    // the memory that the caller binds
	InTemporary               // scratch that the tasks of one layer alone use
	InPacked                  // Segment.Packed
)

// A Place is where a value lies: Offset is in bytes from the region's start, and so are strides, along N, D, C, H, W.
type Place struct {
	Region  Region
	Port    int // of InPort: index into Plan.Ports
	Offset  int64
	Strides [anec.NumAxes]int64
}

// A Port is a value that the caller provides, gets, or both: a state.
type Port struct {
	Name  string
	Value *anec.Value // of a state: Before
	In    bool
	Out   bool
}
