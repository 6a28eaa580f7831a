package selection

import (
	"math/bits"
	"slices"

	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the array with weights.

// backed is scratch memory behind an on-chip tensor of so many channels in rows of the given bytes.
func (b *builder) backed(row, channels int) *units.Surface {
	total := row * channels
	at := b.takeScratch(total)
	return &units.Surface{Base: at.base, Offset: at.offset, Row: row, Plane: row, Depth: total, Group: total, Backing: true}
}

// weigh gives a task its kernel: packs the weights, a bias or a table with them, and says where the streams lie.
func (b *builder) weigh(o *units.Op, k td.Kernel, w td.Weights, after *after, bias []uint16) *diag.Reason {
	o.Unity, o.Operation = false, units.MultiplyAdd
	o.LanesLog2, o.Engines = bits.Len(uint(k.Lanes))-1, k.Engines
	if bias != nil && after.offset != 0 {
		return twoBiases()
	}
	if after.offset != 0 {
		bias = slices.Repeat([]uint16{tensor.ToF16(after.offset)}, k.Groups*k.Outputs)
	}
	o.Post = tensor.ToF16(after.scale)
	if bias != nil && o.Post != units.One {
		return scaledBias()
	}
	if after.act != nil {
		f, why := functionOf(after.act)
		switch {
		case why != nil:
			return why
		case f.epsilon != 0:
			return diag.Decline(diag.NativeEpilogue, "%v adds a number to its argument, which only a task without weights does", after.act.Function).In("AccumulatorBias")
		case f.post != units.One && (o.Post != units.One || bias != nil):
			return diag.Decline(diag.NativeEpilogue, "%v scales its argument, and the result has a scale or a bias already", after.act.Function).In("PostScale")
		}
		if f.post != units.One {
			o.Post = f.post
		}
		o.NonLinear = f.nonLinear
		if f.table != nil {
			w.Table, k.Table = f.table.Encode(), true
		}
	}
	w.Bias, k.Bias, o.Biased = bias, bias != nil, bias != nil
	streams, err := k.Pack(&w)
	if err != nil {
		return diag.Decline(diag.NativeConstant, "the weights are in no form that streams have: %v", err)
	}
	o.Kernel = &units.Kernel{Base: segment.Packed, ZeroSkip: k.ZeroSkip, Producer: -1}
	o.Kernel.Offsets = b.constants.Streams(streams)
	for _, s := range streams {
		o.Kernel.Sizes = append(o.Kernel.Sizes, len(s))
	}
	return nil
}

// lanesFor is how many outputs an engine computes side by side: a power of 2, at most the given one.
func (b *builder) lanesFor(outputs, most int) int {
	lanes := max(1, outputs/b.Engines)
	return min(most, 1<<(bits.Len(uint(lanes))-1))
}
