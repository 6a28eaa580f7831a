package compiler

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the array with weights.

// backed is scratch memory behind an on-chip tensor of so many channels in rows of the given bytes.
func (b *v7build) backed(row, channels int) *v7surface {
	total := row * channels
	s := &v7surface{base: hwx.BaseScratch, offset: b.scratch, row: row, plane: row, depth: total, group: total, backing: true}
	b.scratch += v7align(total, 0x4000)
	return s
}

// weigh gives a task its kernel: packs the weights, a bias or a table with them, and says where the streams lie.
func (b *v7build) weigh(o *v7op, k td.Kernel, w td.Weights, after *v7after, bias []uint16) bool {
	o.unity, o.operation = false, v7MultiplyAdd
	o.lanesLog2, o.engines = bits.Len(uint(k.Lanes))-1, k.Engines
	if bias != nil && after.offset != 0 {
		return false
	}
	if after.offset != 0 {
		bias = make([]uint16, k.Groups*k.Outputs)
		for i := range bias {
			bias[i] = tensor.ToF16(after.offset)
		}
	}
	o.post = tensor.ToF16(after.scale)
	if bias != nil && o.post != v7One {
		return false // which comes first is not known
	}
	if after.act != nil {
		f, ok := functionOf(after.act)
		if !ok || f.epsilon != 0 || f.post != v7One && (o.post != v7One || bias != nil) {
			return false
		}
		if f.post != v7One {
			o.post = f.post
		}
		o.nonLinear = f.nonLinear
		if f.table != nil {
			w.Table, k.Table = f.table.Encode(), true
		}
	}
	w.Bias, k.Bias, o.biased = bias, bias != nil, bias != nil
	if b.dry {
		o.kernel = &v7kernel{base: v7const, producer: -1}
		return true
	}
	streams, err := k.Pack(&w)
	if err != nil {
		return false
	}
	o.kernel = &v7kernel{base: v7const, zeroSkip: k.ZeroSkip, producer: -1}
	o.kernel.offsets = b.constants.streams(streams)
	for _, s := range streams {
		o.kernel.sizes = append(o.kernel.sizes, len(s))
	}
	return true
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

// v7lanes is how many outputs an engine computes side by side: a power of 2, at most the given one.
func v7lanes(outputs, most int) int {
	lanes := max(1, outputs/16)
	return min(most, 1<<(bits.Len(uint(lanes))-1))
}
