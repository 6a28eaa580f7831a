package units

import "github.com/espalier-ane/espalier/td"

// A Surface is a tensor in memory. Strides are in bytes, multiples of what rows begin on.
type Surface struct {
	// Base is what Offset counts from: in a task with words an entry of the base-address table. Before addresses are
	// bound it is the number of a memory of the segment, which has no entry yet.
	Base                     int
	Offset                   int
	Row, Plane, Depth, Group int
	Interleave               int // channels side by side; 0 stands for 1
	Element                  Element
	Backing                  bool // it is only where an on-chip tensor would go if it had to leave
}

// An Element is the type of elements in memory.
type Element uint8

// The element types.
const (
	FP16 Element = iota
	Byte         // bool: a byte each
)

// A Source is a source of a task: from memory, from memory and kept on chip, or on chip already.
type Source struct {
	Memory *Surface // nil: on chip
	Keep   bool
	Chip   Chip // where its rows pass, or lie
}

// Streams reports whether the source comes by DMA.
func (s *Source) Streams() bool { return s.Memory != nil && !s.Memory.Backing }

// Strides are those along the axes of a value of fp16.
func (s *Surface) Strides() [td.NumAxes]int {
	return [td.NumAxes]int{s.Group, s.Depth, s.Plane, s.Row, 2}
}

// Moved is the surface from so many bytes on.
func (s *Surface) Moved(bytes int) *Surface {
	m := *s
	m.Offset += bytes
	return &m
}

// Hull is the first byte of a tensor that lies on a surface, and the first behind it.
func (s *Surface) Hull(size Size, groups int) (lo, hi int) {
	last := (size.C-1)*s.Plane + (size.H-1)*s.Row + (size.D-1)*s.Depth + (groups-1)*s.Group
	return s.Offset, s.Offset + last + 2*size.W*max(s.Interleave, 1)
}

// Reads reports whether a task may read one of the bytes from lo to hi behind a base. Of a kernel that is made at run time,
// only where it begins is known here.
func (o *Op) Reads(base, lo, hi int) bool {
	if o.Kernel != nil && o.Kernel.Runtime {
		return true
	}
	for _, s := range o.Sources() {
		if s.Memory == nil || s.Memory.Base != base {
			continue
		}
		size := o.In
		if s == &o.Source1 && o.Transpose1 || s == o.Source2 && o.Transpose2 {
			size.C, size.W = size.W, size.C
		}
		if from, to := s.Memory.Hull(size, o.Groups); from < hi && lo < to {
			return true
		}
	}
	return false
}

// Leaves reports whether a task stores one whole tensor there, as it computes it.
func (o *Op) Leaves(at *Surface) bool {
	return o.Result != nil && *o.Result == *at && o.Groups == 1 && !o.Exchange && !o.Resides && !o.WideResult && o.Chip.Row == 0
}

// Takes reports whether a task reads one whole tensor from there, as its first source and no more than once.
func (o *Op) Takes(at *Surface) bool {
	s := &o.Source1
	if s.Memory == nil || *s.Memory != *at || s.Keep || o.Groups != 1 || o.Broadcast1 != 0 || o.Transpose1 || o.WideSource {
		return false
	}
	return (o.Source2 == nil || o.Source2.Memory == nil || *o.Source2.Memory != *at) && (o.Kernel == nil || !o.Kernel.Runtime)
}
