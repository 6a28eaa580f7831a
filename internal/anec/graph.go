package anec

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// A Graph is a network of native layers: one segment of a model. It is in single
// assignment: a value has one definition and is never written again; a state is
// two values, before and after.
//
// Layers and values stand in slices in no particular order: no pass may lean on
// it, and Shuffle changes it. What must be the same from run to run goes by
// Order or by ID.
type Graph struct {
	Name    string
	Inputs  []*Value // in the order of the ports
	Outputs []*Value // in the order of the ports; any value may be one, also twice
	States  []*State

	// Ports has what is asked of the memory of inputs and outputs, by their names. It is not changed.
	Ports map[string]PortStrides

	// Form2020 asks for tasks and a container as Apple's compiler of 2020 wrote them, v4.2.1, which read network descriptions of
	// schema 1.0.9; else they are as those of 2026, for schema 1.0.10. What is computed is the same.
	Form2020 bool

	Values []*Value // all of them: inputs, states, constants, tops
	Layers []*Layer

	nextID   int
	names    map[string]*Value
	numbered map[string]int // how far FreshName has counted for a hint
}

// A State is a tensor that outlives an evaluation. Before is its content when
// one begins, After what it leaves: Before itself if nothing writes it. Both
// have one buffer.
type State struct {
	Name          string
	Before, After *Value
}

// Written reports whether the graph leaves something else in the state than was there.
func (s *State) Written() bool { return s.After != s.Before }

// A Value is a tensor. It has one of these origins: an input or a state of the
// graph (then Def and Const are nil), a constant, or the top of a layer.
type Value struct {
	ID    int    // unique in the graph; rises with creation
	Name  string // unique in the graph
	Type  Type
	Const *Constant
	Def   *Layer

	// Uses are the layers that read the value, each once, by rising ID. Outputs
	// and states are not among them.
	Uses []*Layer
}

// A Layer is one application of a kind.
type Layer struct {
	ID      int // unique in the graph; rises with creation
	Name    string
	Params  Params   // the fields; their type is the kind
	Bottoms []*Value // by the kind's contract; nil is an optional one that is not there
	Tops    []*Value

	// OutputType is the element type in which the first top is stored (netplist:
	// OutputType); Invalid leaves the one that the kind makes of its bottoms.
	OutputType tensor.DType

	Epilogue Epilogue

	// Origin names the operations of the model that the layer stands for, for
	// diagnostics. Fusion appends.
	Origin []string
}

// Kind returns the kind of the layer.
func (l *Layer) Kind() Kind { return l.Params.Info().Kind }

// Info returns the row of the layer's kind.
func (l *Layer) Info() *KindInfo { return l.Params.Info() }

// Top returns the first top, which most kinds have alone.
func (l *Layer) Top() *Value { return l.Tops[0] }

// slots are the places in the layer that hold what it reads: bottoms, then what
// the epilogue reads.
func (l *Layer) slots() []**Value {
	slots := make([]**Value, 0, len(l.Bottoms)+2)
	for i := range l.Bottoms {
		slots = append(slots, &l.Bottoms[i])
	}
	return append(slots, l.Epilogue.slots()...)
}

// Reads returns every value that the layer reads, epilogue and all, in order and
// with repetitions.
func (l *Layer) Reads() []*Value {
	reads := make([]*Value, 0, len(l.Bottoms)+2)
	for _, v := range l.Bottoms {
		if v != nil {
			reads = append(reads, v)
		}
	}
	for _, slot := range l.Epilogue.slots() {
		if *slot != nil {
			reads = append(reads, *slot)
		}
	}
	return reads
}

// New returns an empty graph.
func New(name string) *Graph {
	return &Graph{Name: name, names: map[string]*Value{}, numbered: map[string]int{}}
}

// Value returns the value with a name, or nil.
func (g *Graph) Value(name string) *Value { return g.names[name] }

// IsOutput reports whether the value leaves the graph: as an output, or as what
// is left in a state.
func (g *Graph) IsOutput(v *Value) bool {
	return slices.Contains(g.Outputs, v) || slices.ContainsFunc(g.States, func(s *State) bool { return s.After == v })
}

// byID compares for sorting.
func byID(a, b *Layer) int { return cmp.Compare(a.ID, b.ID) }

func (v *Value) addUse(l *Layer) {
	if i, found := slices.BinarySearchFunc(v.Uses, l, byID); !found {
		v.Uses = slices.Insert(v.Uses, i, l)
	}
}

func (v *Value) dropUse(l *Layer) {
	if i, found := slices.BinarySearchFunc(v.Uses, l, byID); found {
		v.Uses = slices.Delete(v.Uses, i, i+1)
	}
}
