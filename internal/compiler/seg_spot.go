package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A spot is where a value lies in a buffer, which may not have its own place yet. Offset and strides are in bytes.
type spot struct {
	buffer  *buffer
	offset  int64
	strides [anec.NumAxes]int64
}

// denseSpot is that of a value whose elements fill a buffer from its start.
func denseSpot(b *buffer, t anec.Type) spot {
	return spot{buffer: b, strides: td.Dense(0, 0, t.DType, t.Dims).Strides}
}

// same reports whether two spots of a value with these extents are one: strides along which there is but one
// element do not count.
func (s spot) same(o spot, dims anec.Dims) bool {
	if s.buffer != o.buffer || s.offset != o.offset {
		return false
	}
	for a, n := range dims {
		if n > 1 && s.strides[a] != o.strides[a] {
			return false
		}
	}
	return true
}

// fills reports whether a value takes up its buffer, be it with room between rows.
func (s spot) fills(t anec.Type) bool {
	return s.offset == 0 && s.buffer.size == s.strides[anec.N]*int64(t.Dims[anec.N])
}

// end is the byte after the last of a value that lies there.
func (s spot) end(t anec.Type) int64 {
	last := s.offset + int64(max(t.DType.Size(), 1))
	for a, n := range t.Dims {
		last += int64(max(n-1, 0)) * s.strides[a]
	}
	return last
}

// A buffer is a run of bytes in a region: a memory that tasks name by its number until it has an address.
type buffer struct {
	id     int
	region Region
	port   int
	state  *anec.State // whose memory it is
	size   int64
	offset int64

	first, last int     // tasks that touch it; -1: none
	into        *buffer // it is this one, written over
}

// newBuffer gives a memory its number.
func (s *Segment) newBuffer(r Region) *buffer {
	b := &buffer{id: len(s.buffers), region: r, first: -1}
	s.buffers = append(s.buffers, b)
	return b
}

// The memories that every segment has, by their numbers.
const (
	temporaries = iota // what the tasks of a layer keep between them
	packed             // constants as the chip's own tasks read them
)

// root returns the buffer that this one has become.
func (b *buffer) root() *buffer {
	for b.into != nil {
		b = b.into
	}
	return b
}

func (b *buffer) touch(task int) {
	if b.first < 0 {
		b.first = task
	}
	b.last = max(b.last, task)
}

// portLayout is how a value lies in a port. Rows begin on multiples of what the target asks for, and lie one behind the
// other:
//
//	[3,5] fp16    virtual   strides 10 2      a chip   strides 64 2
func portLayout(t anec.Type, target *hal.Target) (strides [anec.NumAxes]int64, size int64) {
	bytes, _ := t.Bytes()
	strides, size = td.Dense(0, 0, t.DType, t.Dims).Strides, int64(bytes)
	row, align := int64(max(t.Dims[anec.W], 1))*strides[anec.W], int64(max(target.Sizes.RowAlign, 1))
	if t.DType.SubByte() || row%align == 0 {
		return strides, size
	}
	size = row + align - row%align
	for a := int(anec.W) - 1; a >= 0; a-- {
		strides[a] = size
		size *= int64(max(t.Dims[a], 1))
	}
	return strides, size
}

// alignment is that of buffers: a line of the cache, and what the widest kernels like.
const alignment = 64

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }
