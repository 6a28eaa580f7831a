package segment

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A Spot is where a value lies in a buffer, which may not have its own place yet. Offset and strides are in bytes.
type Spot struct {
	Buffer  *Buffer
	Offset  int64
	Strides [anec.NumAxes]int64
}

// DenseSpot is that of a value whose elements fill a buffer from its start.
func DenseSpot(b *Buffer, t anec.Type) Spot {
	return Spot{Buffer: b, Strides: td.Dense(0, 0, t.DType, t.Dims).Strides}
}

// Same reports whether two spots of a value with these extents are one: strides along which there is but one
// element do not count.
func (s Spot) Same(o Spot, dims anec.Dims) bool {
	if s.Buffer != o.Buffer || s.Offset != o.Offset {
		return false
	}
	for a, n := range dims {
		if n > 1 && s.Strides[a] != o.Strides[a] {
			return false
		}
	}
	return true
}

// Fills reports whether a value takes up its buffer, be it with room between rows.
func (s Spot) Fills(t anec.Type) bool {
	return s.Offset == 0 && s.Buffer.Size == s.Strides[anec.N]*int64(t.Dims[anec.N])
}

// End is the byte after the last of a value that lies there.
func (s Spot) End(t anec.Type) int64 {
	last := s.Offset + int64(max(t.DType.Size(), 1))
	for a, n := range t.Dims {
		last += int64(max(n-1, 0)) * s.Strides[a]
	}
	return last
}

// A Buffer is a run of bytes in a region: a memory that tasks name by its number until it has an address.
type Buffer struct {
	ID     int
	Region Region
	Port   int
	State  *anec.State // whose memory it is
	Size   int64
	Offset int64

	First, Last int     // tasks that touch it; -1: none
	Into        *Buffer // it is this one, written over
}

// NewBuffer gives a memory its number.
func (s *Segment) NewBuffer(r Region) *Buffer {
	b := &Buffer{ID: len(s.Memories), Region: r, First: -1}
	s.Memories = append(s.Memories, b)
	return b
}

// The memories that every segment has, by their numbers.
const (
	Temporaries = iota // what the tasks of a layer keep between them
	Packed             // constants as native tasks read them
)

// Root returns the buffer that this one has become.
func (b *Buffer) Root() *Buffer {
	for b.Into != nil {
		b = b.Into
	}
	return b
}

func (b *Buffer) Touch(task int) {
	if b.First < 0 {
		b.First = task
	}
	b.Last = max(b.Last, task)
}

// PortLayout is how a value lies in a port. Rows begin on multiples of what the target asks for, and lie one behind the
// other:
//
//	[3,5] fp16    virtual   strides 10 2      a chip   strides 64 2
func PortLayout(t anec.Type, target *hal.Target) (strides [anec.NumAxes]int64, size int64) {
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

func Aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// BeginMemory begins the memory phase.
func (s *Segment) BeginMemory() {
	s.Selected, s.StandsFor, s.Touched = map[*anec.Layer][]Task{}, map[*anec.Layer]*anec.Layer{}, map[*anec.Layer][]*anec.Value{}
	s.Declined = map[*anec.Layer]error{}
	s.Memories = nil
	s.NewBuffer(InTemporary)
	s.NewBuffer(InPacked)
}
