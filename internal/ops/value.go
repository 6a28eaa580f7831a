package ops

import (
	"sync"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Value is what a mil.Value holds while a function runs: *tensor.Tensor, *List, *Dict or *State.
type Value any

// List is a list of tensors. Like tensors, lists do not change: list_write makes another one.
type List struct {
	Items []*tensor.Tensor // nil is an element of unknown shape that nothing was written to
	Fixed bool             // list_write must not make it longer
}

// Dict is a dictionary from labels to numbers, as classify makes it.
type Dict struct {
	Keys   *tensor.Tensor // String or Int64, rank 1
	Values []float64
}

// State is a buffer that outlives a prediction. It is safe for concurrent use; predictions that share one
// must still be run in order to make sense.
type State struct {
	mu   sync.Mutex
	typ  *mil.TensorType
	val  *tensor.Tensor
	over *tensor.Tensor // of StateOver
}

// NewState makes a state of zeros for a concrete type.
func NewState(t *mil.TensorType) *State {
	dims, ok := t.Shape.Ints()
	if !ok {
		panic("bug: state of unknown shape " + t.String())
	}
	return &State{typ: t, val: tensor.New(held(t.DType), dims...)}
}

// StateOver makes a state whose value is memory of the caller, which may lie anyhow. Nothing is copied: a read is a view of it. An
// update of a part is written there if it can be (findInPlace), and then Read still gives the memory. Any other write gives the
// state another value and leaves the memory as it is.
func StateOver(t *mil.TensorType, memory *tensor.Tensor) *State {
	return &State{typ: t, val: memory, over: memory}
}

// Read returns the value of the state: of floating-point types held as float32, or as StateOver was given it.
func (s *State) Read() *tensor.Tensor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.val
}

// Write replaces the value of the state.
func (s *State) Write(t *tensor.Tensor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.val = t
}

// Type is the type of the state's value.
func (s *State) Type() *mil.TensorType { return s.typ }

// held is the element type in which the evaluator keeps values of a declared type.
func held(d tensor.DType) tensor.DType {
	if d.IsFloat() && d != tensor.Float64 {
		return tensor.Float32
	}
	return d
}
