package units

import (
	"math/bits"

	"github.com/espalier-ane/espalier/hal"
)

// A Machine is the array and the planar engine of a chip: how many engines there are, and how memory is cut, in main memory
// and on chip.
type Machine struct{ hal.Sizes }

// EnginesFor is how many engines of the array work on so many outputs: a power of 2.
func (m Machine) EnginesFor(outputs int) int {
	return min(m.Engines, 1<<bits.Len(uint(outputs-1)))
}

// Planar begins a task of the planar engine that leaves what it reads as it is.
func (m Machine) Planar(kind int, size Size) *Op {
	return &Op{Planar: true, Kind: kind, In: size, Out: size, Groups: 1, PreScale: One, Scale: One, FinalScale: 1, Window: OnePoint}
}

// Bypass begins a task of the array that passes on each channel.
func (m Machine) Bypass(size Size) *Op {
	return &Op{
		In: size, Out: size, Groups: 1, Unicast: 1, Operation: Bypass, Unity: true, Post: One, Window: OnePoint, Engines: m.EnginesFor(size.C),
	}
}

// Between lets a task read one surface and write another. What it reads passes on chip, and the result behind it.
func (m Machine) Between(o *Op, from, to *Surface) *Op {
	chip := m.ArrayChip(0, o.In)
	if o.Planar {
		chip = m.PlanarChip(0, o.In)
	}
	o.Source1, o.Result, o.Chip = Source{Memory: from, Chip: chip}, to, m.Passing(chip, o.In.H)
	return o
}

// Exchanged makes the result of a task leave with C and W exchanged. At least half of the engines work then, by the width.
func (m Machine) Exchanged(o *Op) *Op {
	o.Exchange = true
	if !o.Planar {
		o.Engines = max(m.EnginesFor(o.In.W), m.Engines/2)
	}
	return o
}

// RowBytes is how many bytes so many fp16 numbers take as a row of memory.
func (m Machine) RowBytes(n int) int { return Align(2*n, m.RowAlign) }

// ChannelBytes is how many bytes so many fp16 numbers take side by side on chip.
func (m Machine) ChannelBytes(n int) int { return Align(2*n, m.OnChipAlign) }

// Align rounds up to a multiple.
func Align(n, to int) int { return (n + to - 1) / to * to }
