package compiler

import (
	"math/bits"
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the array with weights.

// backed is scratch memory behind an on-chip tensor of so many channels in rows of the given bytes.
func (b *v7build) backed(row, channels int) *v7surface {
	total := row * channels
	at := b.takeScratch(total)
	return &v7surface{base: at.base, offset: at.offset, row: row, plane: row, depth: total, group: total, backing: true}
}

// weigh gives a task its kernel: packs the weights, a bias or a table with them, and says where the streams lie.
func (b *v7build) weigh(o *v7op, k td.Kernel, w td.Weights, after *v7after, bias []uint16) bool {
	o.unity, o.operation = false, v7MultiplyAdd
	o.lanesLog2, o.engines = bits.Len(uint(k.Lanes))-1, k.Engines
	if bias != nil && after.offset != 0 {
		return false
	}
	if after.offset != 0 {
		bias = slices.Repeat([]uint16{tensor.ToF16(after.offset)}, k.Groups*k.Outputs)
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
		o.kernel = &v7kernel{base: hwx.BaseConst, producer: -1}
		return true
	}
	streams, err := k.Pack(&w)
	if err != nil {
		return false
	}
	o.kernel = &v7kernel{base: hwx.BaseConst, zeroSkip: k.ZeroSkip, producer: -1}
	o.kernel.offsets = b.constants.streams(streams)
	for _, s := range streams {
		o.kernel.sizes = append(o.kernel.sizes, len(s))
	}
	return true
}

// v7lanes is how many outputs an engine computes side by side: a power of 2, at most the given one.
func v7lanes(outputs, most int) int {
	lanes := max(1, outputs/16)
	return min(most, 1<<(bits.Len(uint(lanes))-1))
}
