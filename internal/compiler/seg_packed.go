package compiler

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// packedConstants are constants as the chip's own tasks read them: kernel streams, tables, images. Tasks name them by how far they
// lie from the first.
type packedConstants struct {
	align   int // what each begins on
	data    []byte
	kernels map[[32]byte][]int // offsets of the streams of kernels, by their hash; some may have been taken back
}

// add appends bytes.
func (c *packedConstants) add(b []byte) (offset int) {
	c.data = append(c.data, make([]byte, units.Align(len(c.data), max(c.align, 1))-len(c.data))...)
	offset = len(c.data)
	c.data = append(c.data, b...)
	return offset
}

// mark is how many bytes there are; reset takes back what came after a mark.
func (c *packedConstants) mark() int      { return len(c.data) }
func (c *packedConstants) reset(mark int) { c.data = c.data[:mark] }

// table adds an activation table for so many engines. They all read the first copy; the section has room for one each.
func (c *packedConstants) table(t *td.Table, engines int) *units.Kernel {
	stored := t.Encode()
	room := make([]byte, td.TableBytes*engines)
	copy(room, stored)
	offset := -1
	for at := 0; at+len(room) <= len(c.data); at += c.align { // equal constants are stored once
		if bytes.Equal(c.data[at:at+len(room)], room) {
			offset = at
			break
		}
	}
	if offset < 0 {
		offset = c.add(room)
	}
	k := &units.Kernel{Base: packed, Producer: -1}
	for range engines {
		k.Offsets, k.Sizes = append(k.Offsets, offset), append(k.Sizes, td.TableBytes)
	}
	return k
}

// streams adds the streams of a kernel. Kernels that are equal as a whole, as those of the steps of a recurrent network are,
// are stored once (oracles 6).
func (c *packedConstants) streams(streams [][]byte) []int {
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
func (c *packedConstants) holds(streams [][]byte, offsets []int) bool {
	for i, s := range streams {
		if offsets[i]+len(s) > len(c.data) || !bytes.Equal(c.data[offsets[i]:][:len(s)], s) {
			return false
		}
	}
	return true
}

// repeated adds a row of one number.
func (c *packedConstants) repeated(number uint16, n int) (offset int) {
	row := make([]byte, 2*n)
	for i := range n {
		row[2*i], row[2*i+1] = byte(number), byte(number>>8)
	}
	return c.add(row)
}
