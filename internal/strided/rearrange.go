package strided

import "github.com/espalier-ane/espalier/td"

// Classes that move elements between space and an outer axis, in blocks.

// A blockMove is one of them.
type blockMove struct {
	outer   int  // the axis whose number has the place in a block
	scatter bool // from there into space; else back

	// inner: the place in a block is the inner part of a number along the outer
	// axis.
	inner bool
}

var blockMoves = map[td.Class]blockMove{
	td.ClassPixelShuffle:   {axisC, true, true},
	td.ClassPixelUnshuffle: {axisC, false, true},
	td.ClassChannelToSpace: {axisC, true, false},
	td.ClassSpaceToChannel: {axisC, false, false},
	td.ClassBatchToSpace:   {axisN, true, false},
	td.ClassSpaceToBatch:   {axisN, false, false},
}

// blockAxes are the axes of td.Factors: the first counts fastest in a place
// in a block.
var blockAxes = [3]int{axisW, axisH, axisD}

func bindBlockMove(op *Op) (*relocation, error) {
	k, m := newRelocation(op), blockMoves[op.class()]
	factors := op.Params.(interface{ Sizes() [3]int }).Sizes()
	size := factors[0] * factors[1] * factors[2]
	small := min(op.Operands[0].Dims[m.outer], op.Operands[1].Dims[m.outer]) // the outer axis where blocks are space
	// step is how far apart, along the outer axis, neighbours in a block are.
	step := small
	if m.inner {
		step = 1
	}
	if !m.scatter {
		k.from[m.outer] = func(_ *Scratch, i int) spot {
			rest, place := i/size, i%size
			if !m.inner {
				rest, place = i%small, i/small
			}
			s := k.along(m.outer, rest)
			for f, n := range factors {
				s = s.plus(k.along(blockAxes[f], place%n))
				place /= n
			}
			return s
		}
		for f, n := range factors {
			a := blockAxes[f]
			k.from[a] = func(_ *Scratch, i int) spot { return k.along(a, i*n) }
		}
		return k, nil
	}
	if m.inner {
		k.from[m.outer] = func(_ *Scratch, i int) spot { return k.along(m.outer, i*size) }
	}
	for f, n := range factors {
		a, apart := blockAxes[f], step
		k.from[a] = func(_ *Scratch, i int) spot { return k.along(a, i/n).plus(k.along(m.outer, i%n*apart)) }
		step *= n
	}
	return k, nil
}

func rearrangeRows() (rows []Row) {
	for _, c := range []struct {
		name  string
		class td.Class
	}{
		{"pixelshuffle", td.ClassPixelShuffle}, {"pixelunshuffle", td.ClassPixelUnshuffle},
		{"spacetobatch", td.ClassSpaceToBatch}, {"batchtospace", td.ClassBatchToSpace},
		{"spacetochannel", td.ClassSpaceToChannel}, {"channeltospace", td.ClassChannelToSpace},
	} {
		rows = append(rows, relocator(bindBlockMove).rows(c.name, c.class, nil)...)
	}
	return rows
}
