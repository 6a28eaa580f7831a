package e5rt

import (
	"context"

	"github.com/espalier-ane/espalier/tensor"
)

// A Host runs the functions of a bundle's host program. The runtime knows nothing
// else of that program. It must be safe for concurrent use.
type Host interface {
	// Function finds a function by its name.
	Function(name string) (HostFunction, error)
}

// A HostFunction is a function of a host program, safe for concurrent use.
type HostFunction interface {
	// Inputs and Outputs are what the operands of the descriptor are held to. A
	// state is an input.
	Inputs() []HostType
	Outputs() []HostType

	// Run computes the outputs. A value with a layout is a *tensor.Tensor over its
	// buffer: the host reads the inputs there, fills the outputs, and updates
	// states in place. Of the other outputs it sets the elements of the list.
	Run(ctx context.Context, inputs, outputs []Value) error
}

// A Value is what a port or an operand of the host holds: a *tensor.Tensor, or
// something that only the host knows.
type Value any

// A HostType is the type of an input or output.
type HostType struct {
	Name  string
	State bool
	Type  tensor.DType // Invalid if it is no tensor
	Shape tensor.Shape // if Ranked
	// Ranked says that the number of axes is known.
	Ranked bool
}
