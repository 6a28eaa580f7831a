package e5rt

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/internal/engine"
)

// A surface is the layout of a port whose elements do not lie side by side, or that has
// more bytes than its elements: chips want rows on multiples of 64 bytes. An operation has memory for it, and copies
// between that and the buffer of the slot, which is dense:
//
//	slot      a b c d e f                 [2,3]
//	surface   a b c . . . . .
//	          d e f . . . . .
type surface struct {
	direction engine.Direction
	shape     [4]int // N, C, H, W
	strides   [4]int // of the surface, in bytes
	element   int    // bytes
	bytes     int    // of the surface
}

// newSurface describes the layout of a port; nil if elements overlap.
func newSurface(p *engine.Port) *surface {
	s := &surface{direction: p.Direction, shape: p.Shape, strides: p.Strides, element: p.Type.Size(), bytes: p.Bytes()}
	if p.Len() == 0 {
		return s
	}
	axes := []int{0, 1, 2, 3}
	slices.SortFunc(axes, func(a, b int) int { return cmp.Compare(s.strides[a], s.strides[b]) })
	end := s.element
	for _, i := range axes {
		if s.shape[i] > 1 && s.strides[i] < end {
			return nil
		}
		end += (s.shape[i] - 1) * s.strides[i]
	}
	if end > s.bytes {
		return nil
	}
	if s.shape[3] == 1 || s.strides[3] == s.element { // a row is copied as one element
		s.element *= s.shape[3]
		s.shape[3] = 1
	}
	return s
}

// fill copies the elements of a dense buffer to a surface.
func (s *surface) fill(memory, dense []byte) {
	for n := range s.shape[0] {
		for c := range s.shape[1] {
			for h := range s.shape[2] {
				at := n*s.strides[0] + c*s.strides[1] + h*s.strides[2]
				for range s.shape[3] {
					copy(memory[at:at+s.element], dense)
					dense, at = dense[s.element:], at+s.strides[3]
				}
			}
		}
	}
}

// drain copies the elements of a surface to a dense buffer.
func (s *surface) drain(dense, memory []byte) {
	for n := range s.shape[0] {
		for c := range s.shape[1] {
			for h := range s.shape[2] {
				at := n*s.strides[0] + c*s.strides[1] + h*s.strides[2]
				for range s.shape[3] {
					copy(dense[:s.element], memory[at:])
					dense, at = dense[s.element:], at+s.strides[3]
				}
			}
		}
	}
}
