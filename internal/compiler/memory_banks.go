package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// layoutOf lays a value out. On-chip memory has banks that take turns by the granule; rows whose distance is a large power
// of two fall into few of them. So they are set apart a little (seed compiler, phase 4):
//
//	64 channels of 8 elements: rows are 1024 bytes apart: all begin in bank 0
//	1072 bytes, with 0x30 between: the rows of a tile begin in banks 0, 3, 6, …
func layoutOf(t anec.Type, target *hal.Target, class int) segment.RowLayout {
	granule := int64(max(target.Sizes.OnChipAlign, 1))
	bits := int64(t.Dims[anec.W]) * int64(t.DType.Bits())
	channel := ((bits+7)/8 + granule - 1) / granule * granule
	l := segment.RowLayout{
		Channel: channel,
		Packed:  channel * int64(t.Dims[anec.C]),
		Rows:    int64(t.Dims[anec.H]),
		Planes:  int64(t.Dims[anec.N] * t.Dims[anec.D]),
	}
	l.Row = l.Packed
	if c := target.Residency.Conflict[class]; c.Every > 0 && l.Rows > 1 && l.Row%int64(c.Every) == 0 {
		if padded := l.Row + int64(c.Pad); padded <= int64(maxRowStride(target)) {
			l.Row = padded
		}
	}
	return l
}

// maxRowStride is the longest stride that is tried; where no source has it, all of on-chip memory.
func maxRowStride(t *hal.Target) int {
	if n := t.Limits.MaxRowStride; n > 0 && n != hal.NoLimit {
		return n
	}
	return t.Sizes.OnChip
}

// bankRequests is how often the busiest bank is asked when as many rows are read side by side, by the compiler's own model
// (guide 21): the rows fall into banks/g of the banks, where g is the greatest common divisor of the stride in granules
// and the banks.
func bankRequests(stride, rows int64, t *hal.Target) int64 {
	banks, granule := int64(max(t.Limits.BankAlign, 1)), int64(max(t.Sizes.OnChipAlign, 1))
	g, rest := banks, stride/granule%banks
	for rest != 0 {
		g, rest = rest, g%rest
	}
	return (rows + banks/g - 1) / (banks / g)
}
