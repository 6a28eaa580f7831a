package td

import "fmt"

var (
	factorFields = []string{"FactorX", "FactorY", "FactorZ"}

	pixelShuffleRow   = newClassRow(ClassPixelShuffle, func() Params { return new(PixelShuffle) }, "y", "x", 1, factorFields...)
	pixelUnshuffleRow = newClassRow(ClassPixelUnshuffle, func() Params { return new(PixelUnshuffle) }, "y", "x", 1, factorFields...)
	spaceToBatchRow   = newClassRow(ClassSpaceToBatch, func() Params { return new(SpaceToBatch) }, "y", "x", 1, factorFields...)
	batchToSpaceRow   = newClassRow(ClassBatchToSpace, func() Params { return new(BatchToSpace) }, "y", "x", 1, factorFields...)
	spaceToChannelRow = newClassRow(ClassSpaceToChannel, func() Params { return new(SpaceToChannel) }, "y", "x", 1, factorFields...)
	channelToSpaceRow = newClassRow(ClassChannelToSpace, func() Params { return new(ChannelToSpace) }, "y", "x", 1, factorFields...)

	rearrangeRows = []*classRow{pixelShuffleRow, pixelUnshuffleRow, spaceToBatchRow, batchToSpaceRow, spaceToChannelRow, channelToSpaceRow}
)

// Factors are how many elements a block of space has: along W, H and D.
type Factors struct {
	X, Y, Z int
}

// Sizes returns them in this order.
func (f *Factors) Sizes() [3]int { return [3]int{f.X, f.Y, f.Z} }

func (f *Factors) values() []any { return []any{&f.X, &f.Y, &f.Z} }

// check holds small, where a block is one element and outer has room for its
// places, to large, where it is space.
func (f *Factors) check(small, large *Operand, outer Axis) error {
	want := large.Dims
	count := int64(want[outer])
	for i, n := range f.Sizes() {
		a := [3]Axis{AxisW, AxisH, AxisD}[i]
		if n < 1 {
			return fmt.Errorf("a block of %d along %v", n, a)
		}
		if want[a]%n != 0 {
			return fmt.Errorf("%d along %v does not divide into blocks of %d", want[a], a, n)
		}
		want[a] /= n
		if count *= int64(n); count > maxDim {
			return fmt.Errorf("blocks of %dx%dx%d make too much of %d along %v", f.Z, f.Y, f.X, large.Dims[outer], outer)
		}
	}
	want[outer] = int(count)
	if small.Dims != want {
		return fmt.Errorf("extents %v and %v: blocks of %dx%dx%d of the latter make %v", small.Dims, large.Dims, f.Z, f.Y, f.X, want)
	}
	return nil
}

// PixelShuffle moves channels into blocks of space; the place in a block is the
// inner part of a channel's number, z before y before x.
type PixelShuffle struct{ Factors }

func (p *PixelShuffle) row() *classRow { return pixelShuffleRow }
func (p *PixelShuffle) check(o *Op) error {
	return p.Factors.check(&o.Operands[1], &o.Operands[0], AxisC)
}

// PixelUnshuffle undoes a PixelShuffle.
type PixelUnshuffle struct{ Factors }

func (p *PixelUnshuffle) row() *classRow { return pixelUnshuffleRow }
func (p *PixelUnshuffle) check(o *Op) error {
	return p.Factors.check(&o.Operands[0], &o.Operands[1], AxisC)
}

// ChannelToSpace moves channels into blocks of space; the place in a block is
// the outer part of a channel's number. MIL calls it depth_to_space.
type ChannelToSpace struct{ Factors }

func (p *ChannelToSpace) row() *classRow { return channelToSpaceRow }
func (p *ChannelToSpace) check(o *Op) error {
	return p.Factors.check(&o.Operands[1], &o.Operands[0], AxisC)
}

// SpaceToChannel undoes a ChannelToSpace. MIL calls it space_to_depth.
type SpaceToChannel struct{ Factors }

func (p *SpaceToChannel) row() *classRow { return spaceToChannelRow }
func (p *SpaceToChannel) check(o *Op) error {
	return p.Factors.check(&o.Operands[0], &o.Operands[1], AxisC)
}

// SpaceToBatch moves blocks of space into the batch; the place in a block is the
// outer part of a batch element's number, as in MIL.
type SpaceToBatch struct{ Factors }

func (p *SpaceToBatch) row() *classRow { return spaceToBatchRow }
func (p *SpaceToBatch) check(o *Op) error {
	return p.Factors.check(&o.Operands[0], &o.Operands[1], AxisN)
}

// BatchToSpace undoes a SpaceToBatch.
type BatchToSpace struct{ Factors }

func (p *BatchToSpace) row() *classRow { return batchToSpaceRow }
func (p *BatchToSpace) check(o *Op) error {
	return p.Factors.check(&o.Operands[1], &o.Operands[0], AxisN)
}
