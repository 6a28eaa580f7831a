package e5rt

import "github.com/espalier-ane/espalier/internal/engine"

// A surface is the layout of a port whose rows do not lie side by side, or that has
// more bytes than its elements: chips want rows on multiples of 64 bytes. An operation has memory for it, and copies rows
// between that and the buffer of the slot, which is dense:
//
//	slot      a b c d e f                 [2,3]
//	surface   a b c . . . . .
//	          d e f . . . . .
type surface struct {
	direction engine.Direction
	shape     [3]int // outer axes: N, C, H
	strides   [3]int // of the surface, in bytes
	row       int    // bytes
	bytes     int    // of the surface
}

// newSurface describes the layout of a port; nil if the elements of a row do not
// lie side by side, or rows overlap.
func newSurface(p *engine.Port) *surface {
	s := &surface{direction: p.Direction, row: p.Shape[3] * p.Type.Size(), bytes: p.Bytes()}
	if p.Shape[3] > 1 && p.Strides[3] != p.Type.Size() {
		return nil
	}
	copy(s.shape[:], p.Shape[:])
	copy(s.strides[:], p.Strides[:])
	end := s.row
	for i := len(s.shape) - 1; i >= 0; i-- {
		if s.shape[i] > 1 && s.strides[i] < end {
			return nil
		}
		end += (s.shape[i] - 1) * s.strides[i]
	}
	if p.Len() == 0 || end > s.bytes {
		return nil
	}
	return s
}

// fill copies the rows of a dense buffer to a surface.
func (s *surface) fill(memory, dense []byte) {
	for n := range s.shape[0] {
		for c := range s.shape[1] {
			at := n*s.strides[0] + c*s.strides[1]
			for range s.shape[2] {
				copy(memory[at:at+s.row], dense)
				dense, at = dense[s.row:], at+s.strides[2]
			}
		}
	}
}

// drain copies the rows of a surface to a dense buffer.
func (s *surface) drain(dense, memory []byte) {
	for n := range s.shape[0] {
		for c := range s.shape[1] {
			at := n*s.strides[0] + c*s.strides[1]
			for range s.shape[2] {
				copy(dense[:s.row], memory[at:])
				dense, at = dense[s.row:], at+s.strides[2]
			}
		}
	}
}
