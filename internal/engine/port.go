package engine

import (
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/tensor"
)

// A Port is a tensor that the caller provides or gets.
type Port struct {
	Name      string // an input and an output may have the same
	Direction Direction
	Shape     [4]int // N, C, H, W
	Strides   [4]int // bytes
	Type      tensor.DType

	memory int
	bytes  int
}

// Direction says who fills a port.
type Direction uint8

// The directions.
const (
	Input  Direction = iota // the caller fills it before a run
	Output                  // a run fills it
	State                   // a run reads it, and changes it in place
)

var directionNames = [...]string{"input", "output", "state"}

func (d Direction) String() string { return directionNames[d] }

var directions = map[hwx.Direction]Direction{hwx.In: Input, hwx.Out: Output, hwx.InOut: State}

// Len is the number of elements.
func (p *Port) Len() int { return p.Shape[0] * p.Shape[1] * p.Shape[2] * p.Shape[3] }

// Bytes is how much memory Bind needs: up to the last element, or to the last
// byte that a task touches if that is more.
func (p *Port) Bytes() int { return p.bytes }

// Ports lists the ports in the order of the container.
func (p *Program) Ports() []Port { return slices.Clone(p.ports) }

func (p *Program) addPort(port *hwx.Port) error {
	index, offset, ok := p.find(port.Addr)
	if !ok || offset != 0 {
		return programError("port %q: no memory begins at %#x", port.Name, port.Addr)
	}
	q := Port{
		Name: port.Name, Direction: directions[port.Direction], Shape: port.Shape,
		Type: port.Element.DType(), memory: index,
	}
	for i, s := range port.Strides {
		q.Strides[i] = int(s)
	}
	if _, ok := tensor.Count(q.Shape[:]); !ok || q.Type.Size() == 0 {
		return programError("port %q: shape %d of %v", port.Name, q.Shape, q.Type)
	}
	if q.Len() > 0 { // the section may count one batch element (oracles 4), or any number
		q.bytes = q.Type.Size()
		for a, n := range q.Shape {
			q.bytes += (n - 1) * q.Strides[a]
		}
	}
	p.ports = append(p.ports, q)
	return nil
}
