package compiler

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Constants: the section that holds them, and reading those of a graph.

// v7constants is the constant section.
type v7constants struct {
	units.Machine
	data    []byte
	kernels map[[32]byte][]int // offsets of the streams of kernels, by their hash; some may have been taken back
}

// add appends bytes, which are then to be found on a multiple of 64.
func (c *v7constants) add(b []byte) (offset int) {
	c.data = append(c.data, make([]byte, units.Align(len(c.data), c.RowAlign)-len(c.data))...)
	offset = len(c.data)
	c.data = append(c.data, b...)
	return offset
}

// table adds an activation table for so many engines. They all read the first copy; the section has room for one each.
func (c *v7constants) table(t *td.Table, engines int) *units.Kernel {
	stored := t.Encode()
	room := make([]byte, td.TableBytes*engines)
	copy(room, stored)
	offset := -1
	for at := 0; at+len(room) <= len(c.data); at += c.RowAlign { // equal constants are stored once
		if bytes.Equal(c.data[at:at+len(room)], room) {
			offset = at
			break
		}
	}
	if offset < 0 {
		offset = c.add(room)
	}
	k := &units.Kernel{Base: hwx.BaseConst, Producer: -1}
	for range engines {
		k.Offsets, k.Sizes = append(k.Offsets, offset), append(k.Sizes, td.TableBytes)
	}
	return k
}

// section is the section as the container has it: 0x4000 zero bytes where there is nothing.
func (c *v7constants) section() []byte {
	if len(c.data) == 0 {
		return make([]byte, 0x4000)
	}
	return c.data
}

// streams adds the streams of a kernel. Kernels that are equal as a whole, as those of the steps of a recurrent network are,
// are stored once (oracles 6).
func (c *v7constants) streams(streams [][]byte) []int {
	hash := sha256.New()
	for _, s := range streams {
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		hash.Write(s)
	}
	key := [32]byte(hash.Sum(nil))
	if offsets := c.kernels[key]; offsets != nil && c.holds(streams, offsets) {
		return offsets
	}
	offsets := make([]int, len(streams))
	for i, s := range streams {
		offsets[i] = c.add(s)
	}
	if c.kernels == nil {
		c.kernels = map[[32]byte][]int{}
	}
	c.kernels[key] = offsets
	return offsets
}

// holds reports whether streams lie where they are said to.
func (c *v7constants) holds(streams [][]byte, offsets []int) bool {
	for i, s := range streams {
		if offsets[i]+len(s) > len(c.data) || !bytes.Equal(c.data[offsets[i]:][:len(s)], s) {
			return false
		}
	}
	return true
}

// repeated adds a row of one number.
func (c *v7constants) repeated(number uint16, n int) (offset int) {
	row := make([]byte, 2*n)
	for i := range n {
		row[2*i], row[2*i+1] = byte(number), byte(number>>8)
	}
	return c.add(row)
}

// constantSurface puts a constant of fp16 numbers into the constant section, with batch and depth as the groups.
func (b *v7build) constantSurface(v *anec.Value) (*units.Surface, bool) {
	values, ok := halves(v)
	d := v.Type.Dims
	n := 1
	for _, extent := range d {
		n *= extent
	}
	if !ok || n == 0 || n != len(values) || v.Type.DType != tensor.Float16 || n/d[anec.W]*b.RowBytes(d[anec.W]) > v7maxExpand {
		return nil, false
	}
	return b.constantImage(values, d[anec.W], d[anec.H], d[anec.C]), true
}

// constantImage puts numbers into the constant section: groups of c planes of h rows of w.
func (b *v7build) constantImage(values []uint16, w, h, c int) *units.Surface {
	s := b.denseRows(units.Size{W: w, H: h, D: 1, C: c}, 2)
	image := make([]byte, len(values)/w*s.Row)
	for i, v := range values {
		binary.LittleEndian.PutUint16(image[i/w*s.Row+i%w*2:], v)
	}
	s.Base, s.Offset = hwx.BaseConst, b.constants.add(image)
	return s
}

// halves returns the fp16 elements of a constant, plain or decoded from others. They may be the memory of the weight file:
// nobody writes there.
func halves(v *anec.Value) ([]uint16, bool) {
	if v != nil && isDecoded(v) {
		return decodeHalves(v.Def)
	}
	if v == nil || v.Const == nil || !v.Const.Plain() {
		return nil, false
	}
	if stored := v.Const.Stored; stored.DType() == tensor.Float16 {
		if bits, err := stored.Alias(tensor.UInt16); err == nil {
			return tensor.Data[uint16](bits), true
		}
	}
	values := v.Const.Stored.Float32s()
	list := make([]uint16, len(values))
	for i, x := range values {
		if list[i] = tensor.ToF16(x); tensor.F16(list[i]) != x && x == x {
			return nil, false // it is wider than fp16
		}
	}
	return list, true
}

// scalarHalf is the one element of a constant as fp16.
func scalarHalf(v *anec.Value) (uint16, bool) {
	f, ok := loneNumber(v)
	return tensor.ToF16(f), ok
}

// roundedHalves is the elements of a plain constant in fp16, rounded where they are wider: the chip has gains and offsets
// in nothing else.
func roundedHalves(v *anec.Value) ([]uint16, bool) {
	if v.Const == nil || !v.Const.Plain() || !v.Type.DType.IsFloat() {
		return nil, false
	}
	values := v.Const.Stored.Float32s()
	list := make([]uint16, len(values))
	for i, x := range values {
		list[i] = tensor.ToF16(x)
	}
	return list, true
}

// loneNumber is the one element of a constant.
func loneNumber(v *anec.Value) (float32, bool) {
	if v == nil || v.Const == nil {
		return 0, false
	}
	f, ok := v.Const.Scalar()
	return float32(f), ok
}
