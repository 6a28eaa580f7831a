package aneclient

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/driver"
)

// An IOSurface is memory that requests name: of the client that made it.
type IOSurface struct {
	surface *driver.Surface
	client  *Client
}

// NewIOSurface makes memory, all zero.
func (c *Client) NewIOSurface(bytes int) (*IOSurface, error) {
	s, err := c.driver.NewSurface(bytes)
	if err != nil {
		return nil, ErrBadArgument.because(err)
	}
	return &IOSurface{s, c}, nil
}

// WrapIOSurface makes a surface of memory that the caller has.
func (c *Client) WrapIOSurface(memory []byte) (*IOSurface, error) {
	s, err := c.driver.WrapSurface(memory)
	if err != nil {
		return nil, ErrBadArgument.because(err)
	}
	return &IOSurface{s, c}, nil
}

// Bytes is its memory.
func (s *IOSurface) Bytes() []byte { return s.surface.Bytes() }

// ID is the number by which calls of the kernel name it.
func (s *IOSurface) ID() uint32 { return s.surface.ID() }

// Release forgets the surface.
func (s *IOSurface) Release() { s.surface.Release() }

// An IOSurfaceObject is a surface from a byte on: _ANEIOSurfaceObject.
type IOSurfaceObject struct {
	Surface     *IOSurface
	StartOffset int
}

// Object is the surface as requests take it: +objectWithIOSurface:, with a start offset or without.
func (s *IOSurface) Object(startOffset ...int) *IOSurfaceObject {
	o := &IOSurfaceObject{Surface: s}
	if len(startOffset) > 0 {
		o.StartOffset = startOffset[0]
	}
	return o
}

func (o *IOSurfaceObject) String() string {
	return fmt.Sprintf("IOSurfaceObject: { ioSurface=%#x ; startOffset=%d }", o.Surface.ID(), o.StartOffset)
}

// NoSymbol is the index of a buffer that is for no symbol. A chaining request with one does not validate.
const NoSymbol = -1

// An Agent is who writes a buffer: ANEBufferProducerAgent. There are three.
type Agent int

// The agents.
const (
	AgentEngine Agent = iota // as the research has it: 0 is the engine
	AgentOutput              // 1 an output
	AgentOther               // 2 is not known there; here anybody else, as the host
)

const agents = 3

// A Buffer is a surface for an input or output of a procedure: _ANEBuffer.
type Buffer struct {
	Object      *IOSurfaceObject
	SymbolIndex int
	Source      Agent
}

// NewBuffer makes a buffer: +bufferWithIOSurfaceObject:symbolIndex:source:.
func NewBuffer(o *IOSurfaceObject, symbolIndex int, source Agent) (*Buffer, error) {
	switch {
	case o == nil || o.Surface == nil:
		return nil, ErrBadArgument.saying("a buffer without a surface")
	case source < 0 || source >= agents:
		return nil, ErrBadArgument.saying("the source of a buffer is %d: want 0, 1 or 2", source)
	case symbolIndex < NoSymbol:
		return nil, ErrBadArgument.saying("symbol index %d", symbolIndex)
	}
	return &Buffer{o, symbolIndex, source}, nil
}

func (b *Buffer) String() string {
	return fmt.Sprintf("Buffer: { ioSurface=%#x ; symbolIndex=%d ; ANEBufferProducerAgent=%d }", b.Object.Surface.ID(), b.SymbolIndex, b.Source)
}

// driverBuffer is what the driver takes of it.
func (o *IOSurfaceObject) driverBuffer(symbol int) driver.Buffer {
	return driver.Buffer{Surface: o.Surface.surface, Symbol: symbol, Offset: o.StartOffset}
}
