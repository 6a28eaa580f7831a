package aneclient

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/tensor"
)

// A Port is an input or output of a procedure: what its surface must hold. Where the model casts an input or a result, the port
// has what is on the engine's side of the cast, and its name.
type Port struct {
	Name    string
	Symbol  int // index: of inputs and outputs each from 0
	Type    tensor.DType
	Shape   [4]int // N, C, H, W
	Strides [4]int // bytes
	Bytes   int    // from the start offset on

	// State is set of one that a run reads and changes in place: it is among inputs and outputs, and one surface is both.
	State bool
}

// engineSuffix is what the compiler adds to a name for the engine's side of a value.
const engineSuffix = "__engine"

func portsOf(list []engine.Port) (made []Port) {
	for i := range list {
		p := &list[i]
		made = append(made, Port{strings.TrimSuffix(p.Name, engineSuffix), i, p.Type, p.Shape, p.Strides, p.Bytes(), p.Direction == engine.State})
	}
	return made
}

// Len is the number of elements.
func (p *Port) Len() int { return p.Shape[0] * p.Shape[1] * p.Shape[2] * p.Shape[3] }

// each calls f with the bytes of each element, in their order.
func (p *Port) each(memory []byte, f func(i int, element []byte)) {
	size, i := p.Type.Size(), 0
	for n := range p.Shape[0] {
		for c := range p.Shape[1] {
			for h := range p.Shape[2] {
				at := n*p.Strides[0] + c*p.Strides[1] + h*p.Strides[2]
				for range p.Shape[3] {
					f(i, memory[at:at+size])
					at += p.Strides[3]
					i++
				}
			}
		}
	}
}

// check refuses memory that is too small, and types that are no floating-point numbers.
func (p *Port) check(o *IOSurfaceObject, n int) ([]byte, error) {
	switch memory := o.Surface.Bytes(); {
	case p.Type != tensor.Float16 && p.Type != tensor.Float32:
		return nil, ErrBadArgument.saying("port %q is of %v: its surface is to be filled by hand", p.Name, p.Type)
	case n != p.Len():
		return nil, ErrBadArgument.saying("%d values for port %q, which has %d", n, p.Name, p.Len())
	case o.StartOffset < 0 || o.StartOffset > len(memory) || len(memory)-o.StartOffset < p.Bytes:
		return nil, ErrBadArgument.saying("port %q needs %d bytes from %d on, and the surface has %d", p.Name, p.Bytes, o.StartOffset, len(memory))
	default:
		return memory[o.StartOffset:], nil
	}
}

// Store writes values into a surface as the port has them: in its type, with its strides.
func (p *Port) Store(o *IOSurfaceObject, values []float32) error {
	memory, err := p.check(o, len(values))
	if err != nil {
		return err
	}
	p.each(memory, func(i int, e []byte) {
		if p.Type == tensor.Float16 {
			binary.LittleEndian.PutUint16(e, tensor.ToF16(values[i]))
		} else {
			binary.LittleEndian.PutUint32(e, math.Float32bits(values[i]))
		}
	})
	return nil
}

// Load reads the values of a surface.
func (p *Port) Load(o *IOSurfaceObject) ([]float32, error) {
	values := make([]float32, p.Len())
	memory, err := p.check(o, len(values))
	if err != nil {
		return nil, err
	}
	p.each(memory, func(i int, e []byte) {
		if p.Type == tensor.Float16 {
			values[i] = tensor.F16(binary.LittleEndian.Uint16(e))
		} else {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(e))
		}
	})
	return values, nil
}

func (p *Port) String() string { return fmt.Sprintf("%s: %v %v", p.Name, p.Type, p.Shape) }
