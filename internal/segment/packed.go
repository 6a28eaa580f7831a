package segment

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// PackedConstants are constants as native tasks read them: kernel streams, tables, images. Tasks name them by how far they
// lie from the first.
type PackedConstants struct {
	Align   int // what each begins on
	Data    []byte
	kernels map[[32]byte][]int // offsets of the streams of kernels, by their hash; some may have been taken back
}

// Add appends bytes.
func (c *PackedConstants) Add(b []byte) (offset int) {
	c.Data = append(c.Data, make([]byte, units.Align(len(c.Data), max(c.Align, 1))-len(c.Data))...)
	offset = len(c.Data)
	c.Data = append(c.Data, b...)
	return offset
}

// Mark is how many bytes there are; reset takes back what came after a mark.
func (c *PackedConstants) Mark() int      { return len(c.Data) }
func (c *PackedConstants) Reset(mark int) { c.Data = c.Data[:mark] }

// Table adds an activation table for so many engines. They all read the first copy; the section has room for one each.
func (c *PackedConstants) Table(t *td.Table, engines int) *units.Kernel {
	stored := t.Encode()
	room := make([]byte, td.TableBytes*engines)
	copy(room, stored)
	offset := -1
	for at := 0; at+len(room) <= len(c.Data); at += c.Align { // equal constants are stored once
		if bytes.Equal(c.Data[at:at+len(room)], room) {
			offset = at
			break
		}
	}
	if offset < 0 {
		offset = c.Add(room)
	}
	k := &units.Kernel{Base: Packed, Producer: -1}
	for range engines {
		k.Offsets, k.Sizes = append(k.Offsets, offset), append(k.Sizes, td.TableBytes)
	}
	return k
}

// Streams adds the streams of a kernel. Kernels that are equal as a whole, as those of the steps of a recurrent network are,
// are stored once (oracles 6).
func (c *PackedConstants) Streams(streams [][]byte) []int {
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
		offsets[i] = c.Add(s)
	}
	if c.kernels == nil {
		c.kernels = map[[32]byte][]int{}
	}
	c.kernels[key] = offsets
	return offsets
}

// holds reports whether streams lie where they are said to.
func (c *PackedConstants) holds(streams [][]byte, offsets []int) bool {
	for i, s := range streams {
		if offsets[i]+len(s) > len(c.Data) || !bytes.Equal(c.Data[offsets[i]:][:len(s)], s) {
			return false
		}
	}
	return true
}

// Repeated adds a row of one number.
func (c *PackedConstants) Repeated(number uint16, n int) (offset int) {
	row := make([]byte, 2*n)
	for i := range n {
		row[2*i], row[2*i+1] = byte(number), byte(number>>8)
	}
	return c.Add(row)
}
