package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/tensor"
)

// A Context is one dispatch in flight: the memory of the ports, on-chip memory
// and scratch, and the dense arrays of the task under way. Threads, and what each
// computes in, belong to the process (package pool). It serves one goroutine at a time.
type Context struct {
	program  *Program
	memories [][]byte // as in Program
	version  *Version // of the constants

	between []*between // by memory: of ports of which tasks see a copy
	copies  []*between // likewise; those that there were ever
	spoiled []bool     // by port: what rebind works on
	sharing bool       // some ports share memory
	copied  int64      // bytes of ports that each run copies

	dense strided.Buffers

	progress

	done    <-chan struct{} // of the run under way
	until   time.Duration   // since epoch: when runs end; 0: when they are done
	halted  atomic.Bool     // Stop was called
	stopped atomic.Bool     // somebody saw either, and left work undone
	ask     func() bool     // c.stop, made once
}

// NewContext makes a context with all ports zero. Memory of a port is made when
// it is first used, unless the caller has bound some.
func (p *Program) NewContext() *Context {
	c := p.emptyContext()
	c.dense = strided.Buffers{
		Source1: make([]float32, p.buffers.source1), Source2: make([]float32, p.buffers.source2),
		Result: make([]float32, p.buffers.result), Weights: make([]float32, p.buffers.weights),
	}
	for i := range p.memories {
		if m := &p.memories[i]; m.kind == onChip || m.kind == scratch {
			c.memories[i] = make([]byte, m.size)
		}
	}
	return c
}

// emptyContext makes a context that has no memory yet.
func (p *Program) emptyContext() *Context {
	n := len(p.memories)
	c := &Context{
		program: p, memories: make([][]byte, n), version: p.base,
		between: make([]*between, n), copies: make([]*between, n), spoiled: make([]bool, len(p.ports)),
	}
	c.ask = c.stop
	return c
}

// shareMemory gives the context what all contexts share.
func (c *Context) shareMemory() {
	for i := range c.program.memories {
		if m := &c.program.memories[i]; m.kind.shared() {
			c.memories[i] = m.data
		}
	}
	if c.version != nil {
		for i, data := range c.version.islands {
			c.memories[c.program.islands[i].memory] = data
		}
	}
}

// surface is the memory of a port, as the caller knows it, made when it is first asked for.
func (c *Context) surface(memory int) []byte {
	if c.memories[memory] == nil {
		c.memories[memory] = make([]byte, c.program.memories[memory].size)
	}
	return c.given(memory)
}

// port finds a port by its name. Where two have it, it is the one that is not of
// the direction given.
func (c *Context) port(name string, not Direction) (*Port, error) {
	var other *Port
	for i := range c.program.ports {
		if p := &c.program.ports[i]; p.Name == name {
			if p.Direction != not {
				return p, nil
			}
			other = p
		}
	}
	if other == nil {
		return nil, fmt.Errorf("engine: no port %q", name)
	}
	return other, nil
}

// portAt finds a port by its place in Program.Ports.
func (c *Context) portAt(i int) (*Port, error) {
	if i < 0 || i >= len(c.program.ports) {
		return nil, fmt.Errorf("engine: port %d of %d", i, len(c.program.ports))
	}
	return &c.program.ports[i], nil
}

// Surface is the memory of a port as tasks address it, with the strides of the
// port. Where an input and an output have the same name, it is the input's; see
// SurfaceAt.
func (c *Context) Surface(name string) ([]byte, error) {
	p, err := c.port(name, Output)
	if err != nil {
		return nil, err
	}
	return c.surface(p.memory), nil
}

// SurfaceAt is Surface by the port's place in Program.Ports.
func (c *Context) SurfaceAt(port int) ([]byte, error) {
	p, err := c.portAt(port)
	if err != nil {
		return nil, err
	}
	return c.surface(p.memory), nil
}

// Bind makes a port use memory of the caller, of Port.Bytes or more. Tasks read
// and write it directly. Where an input and an output have the same name, it is
// the input's; see BindAt.
//
// Ports may share memory, all of it or some: a run then reads inputs and states
// as they were when it began. An input that would not stay so for as long as it
// is needed is copied. Two ports that both are to have content there after a run
// are refused with an *OverlapError, and the port stays as it was.
func (c *Context) Bind(name string, surface []byte) error {
	p, err := c.port(name, Output)
	if err != nil {
		return err
	}
	return c.bind(p, surface)
}

// BindAt is Bind by the port's place in Program.Ports.
func (c *Context) BindAt(port int, surface []byte) error {
	p, err := c.portAt(port)
	if err != nil {
		return err
	}
	return c.bind(p, surface)
}

// Set fills a port with the elements of an array N,C,H,W without padding,
// converted to the type of the port.
func (c *Context) Set(name string, values []float32) error {
	p, err := c.portOf(name, len(values), Output)
	if err != nil {
		return err
	}
	surface := c.surface(p.memory)
	p.eachRow(func(at, i int) {
		for _, v := range values[i:][:p.Shape[3]] {
			putElement(surface[at:], p.Type, v)
			at += p.Strides[3]
		}
	})
	return nil
}

// Get reads the elements of a port into an array N,C,H,W without padding.
func (c *Context) Get(name string, values []float32) error {
	p, err := c.portOf(name, len(values), Input)
	if err != nil {
		return err
	}
	surface := c.surface(p.memory)
	p.eachRow(func(at, i int) {
		row := values[i:][:p.Shape[3]]
		for w := range row {
			row[w] = getElement(surface[at:], p.Type)
			at += p.Strides[3]
		}
	})
	return nil
}

// SetTensor fills a port with an array of its shape and type.
func (c *Context) SetTensor(name string, t *tensor.Tensor) error {
	p, err := c.port(name, Output)
	if err != nil {
		return err
	}
	if t.DType() != p.Type || t.Rank() != len(p.Shape) || [4]int(t.Shape()) != p.Shape {
		return fmt.Errorf("engine: port %q: want %v of shape %d, got %v", name, p.Type, p.Shape, t)
	}
	surface, elements := c.surface(p.memory), t.Bytes()
	size := p.Type.Size()
	p.eachRow(func(at, i int) {
		for w := range p.Shape[3] {
			copy(surface[at:at+size], elements[(i+w)*size:])
			at += p.Strides[3]
		}
	})
	return nil
}

// Tensor returns the elements of a port as an array of its shape and type.
func (c *Context) Tensor(name string) (*tensor.Tensor, error) {
	p, err := c.port(name, Input)
	if err != nil {
		return nil, err
	}
	t := tensor.New(p.Type, p.Shape[:]...)
	surface, elements := c.surface(p.memory), t.Bytes()
	size := p.Type.Size()
	p.eachRow(func(at, i int) {
		for w := range p.Shape[3] {
			copy(elements[(i+w)*size:][:size], surface[at:])
			at += p.Strides[3]
		}
	})
	return t, nil
}

// eachRow calls f for each row of elements: with the byte where it begins in
// the surface, and the element that it begins with in an array without padding.
func (p *Port) eachRow(f func(at, i int)) {
	i := 0
	for n := range p.Shape[0] {
		for ch := range p.Shape[1] {
			for h := range p.Shape[2] {
				f(n*p.Strides[0]+ch*p.Strides[1]+h*p.Strides[2], i)
				i += p.Shape[3]
			}
		}
	}
}

// portOf finds a port for an array of n elements.
func (c *Context) portOf(name string, n int, not Direction) (*Port, error) {
	p, err := c.port(name, not)
	if err != nil {
		return nil, err
	}
	if want := p.Len(); n != want {
		return nil, fmt.Errorf("engine: port %q: want %d elements of shape %d, got %d", name, want, p.Shape, n)
	}
	switch p.Type {
	case tensor.Float16, tensor.Float32, tensor.UInt8, tensor.Bool:
		return p, nil
	}
	return nil, fmt.Errorf("engine: port %q: elements of type %v are not converted to numbers; use SetTensor and Tensor", name, p.Type)
}

func putElement(b []byte, d tensor.DType, v float32) {
	switch d {
	case tensor.Float16:
		binary.LittleEndian.PutUint16(b, tensor.ToF16(v))
	case tensor.Float32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(v))
	default:
		if v != v {
			v = 0
		}
		b[0] = uint8(min(max(v, 0), 255))
	}
}

func getElement(b []byte, d tensor.DType) float32 {
	switch d {
	case tensor.Float16:
		return tensor.F16(binary.LittleEndian.Uint16(b))
	case tensor.Float32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	default:
		return float32(b[0])
	}
}
