package compiler

import (
	"crypto/sha256"
	"fmt"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// constants are those that the tasks read. What lies in the weight file is read there:
//
//	weight file  [ … %w … %b … ]      %w, %b    weights + where they are
//	                                  %scale    constants + 0
//	                                  %one      constants + 64
//	                                  %scale_1  constants + 0       the same bytes: stored once
type constants struct {
	weights *segment.Buffer
	copied  *segment.Buffer

	stored map[[sha256.Size]byte]int64
	pieces []segment.Piece
	size   int64
}

// place finds the spot of a constant.
func (c *constants) place(v *anec.Value, weights []byte) (segment.Spot, error) {
	if c.stored == nil {
		c.stored = map[[sha256.Size]byte]int64{}
	}
	if !v.Const.Plain() {
		return segment.Spot{}, fmt.Errorf("constant %q is compressed; no task reads it as it is", v.Name)
	}
	t := v.Const.Stored
	if v.Type.DType.SubByte() {
		data := t.Bytes() // packed in order; its own memory if it lies so
		if at, ok := offsetIn(weights, data); ok {
			return segment.Spot{Buffer: c.weights, Offset: at}, nil
		}
		return segment.Spot{Buffer: c.copied, Offset: c.store(data)}, nil
	}
	size := int64(v.Type.DType.Size())
	s := segment.Spot{Buffer: c.weights}
	first := t
	for a, n := range t.Shape() {
		s.Strides[a] = int64(t.Strides()[a]) * size
		if n > 1 {
			first, _ = first.Slice(a, 0, 1, 1)
		}
	}
	if inside(weights, t) {
		if at, ok := offsetIn(weights, first.Bytes()); ok && at%size == 0 {
			s.Offset = at
			return s, nil
		}
	}
	distinct := t // what strides of 0 repeat is stored once
	for a, n := range t.Shape() {
		if n > 1 && s.Strides[a] == 0 {
			distinct, _ = distinct.Slice(a, 0, 1, 1)
		}
	}
	dense := segment.DenseSpot(c.copied, anec.Type{DType: v.Type.DType, Dims: anec.Dims(distinct.Shape())})
	for a, n := range t.Shape() {
		if n > 1 && s.Strides[a] == 0 {
			dense.Strides[a] = 0
		}
	}
	if v.Const.Mutable { // what is equal now need not stay so
		dense.Offset = c.append(distinct.Bytes())
	} else {
		dense.Offset = c.store(distinct.Bytes())
	}
	return dense, nil
}

// store keeps bytes, once.
func (c *constants) store(data []byte) int64 {
	digest := sha256.Sum256(data)
	at, ok := c.stored[digest]
	if !ok {
		at = c.append(data)
		c.stored[digest] = at
	}
	return at
}

// append keeps bytes behind the others.
func (c *constants) append(data []byte) int64 {
	at := c.size
	c.pieces = append(c.pieces, segment.Piece{Offset: at, Bytes: data})
	c.size = segment.Aligned(at + int64(len(data)))
	return at
}

// joined copies pieces into one.
func joined(pieces []segment.Piece) []byte {
	if len(pieces) == 0 {
		return nil
	}
	last := pieces[len(pieces)-1]
	bytes := make([]byte, segment.Aligned(last.Offset+int64(len(last.Bytes))))
	for _, p := range pieces {
		copy(bytes[p.Offset:], p.Bytes)
	}
	return bytes
}

// inside reports whether all memory of a tensor lies in the weights.
func inside(weights []byte, t *tensor.Tensor) bool {
	start, size := t.Memory()
	if size == 0 {
		return false
	}
	_, ok := offsetIn(weights, unsafe.Slice(start, size))
	return ok
}

// offsetIn returns where bytes begin in memory that they are a part of.
func offsetIn(memory, part []byte) (int64, bool) {
	if len(part) == 0 || len(memory) == 0 {
		return 0, false
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	if at < from || at-from > uintptr(len(memory)) || uintptr(len(part)) > uintptr(len(memory))-(at-from) {
		return 0, false
	}
	return int64(at - from), true
}
