package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/transform"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A transformed convolution has a kernel of 3×3, stride 1, and constant weights,
// and is computed by package transform: in tiles of 2×2 or 4×4 places. A block is
// some rows of such tiles, of all input channels; a section some output channels.
//
//	x ── transform ── panels of B, for each of the elements of a tile ──┐
//	                                                                     ├─ products, some rows at a time
//	weights, transformed when they are packed: panels of A, a group each ┘         │
//	                                                                            back ── places ── sink
//
// Rows of tiles that meet an infinity or a NaN are computed as a plain
// convolution, and so is everything if the weights have some: a transform would
// spread them over the tile.
type transformed struct {
	*convolution // the plain one, which reads its weights where they lie
	form         *transform.Row
	by           *gemm.Row // multiplies what is transformed
	transforms   packed    // of the weights: element e is group e

	across, down          int // tiles of the result along W and H
	blockRows, blocks     int // rows of tiles in a block
	sectionRows, sections int // output channels in a section
	some                  int // output channels that are multiplied at a time

	// The panels of B: words from one to the next, from element to element, and
	// from one block of depth to the next. toPanels is where the tiles of a
	// channel go.
	lanes                    int // tiles of a block, in whole panels
	apart, element, deep     int
	toPanels                 []int
	plane                    int   // floats of a plane
	products                 int   // floats of the products of one element
	room                     int   // floats of the places of a channel, of a block
	toPlaces                 []int // where tiles begin in it
	biases, planes, sums, at int   // in the scratch: the bias, planes, products, places
	flags                    int   // of the integers of the scratch, the first that is ours
	need                     Need
}

// transformState is what a thread transforms.
type transformState struct {
	of    *transformed // whose panels are in the scratch; nil: nobody's
	block int

	across [4]transform.Across // rows 0, m, 2m, … of the block, rows 1, m+1, …
	first  [4]int              // which of them is the first inside of x
	down   transform.Down
	back   transform.Back
	plain  []int64 // by row of tiles in the block: not 0 if it must be computed the plain way
}

// Transforms pay where there are enough tiles for each of their weights, which are
// more bytes than those of the plain convolution, and enough channels for each of
// their tiles.
const (
	leastTiles      = 32
	leastChannels   = 16
	mostTransformed = 32 << 20 // bytes of the weights of a convolution
)

// transformOf chooses the transform for a convolution, nil if there is none.
func transformOf(op *Op) *transform.Row {
	y, x, w, p := &op.Operands[0], &op.Operands[1], &op.Operands[2], op.Params.(*td.Convolution)
	ones := [3]int{1, 1, 1}
	switch {
	case op.Rules != nil || op.Packs == nil || op.Packs.Small || !w.Constant || p.Transposed || p.Groups != 1,
		w.Origin != nil && newConvolution(op).coded != nil, // transformed, they would take many times as many bytes
		p.Kernel != [3]int{1, 3, 3} || p.Stride != ones || p.Dilation != ones,
		p.PadBefore[0] != 0 || p.PadBefore[1] < 0 || p.PadBefore[1] > 2 || p.PadBefore[2] < 0 || p.PadBefore[2] > 2,
		y.Dims[axisD] != 1 || x.Dims[axisD] != 1,
		w.Type != tensor.Float16 || w.pass != 0 || x.Type != tensor.Float16 || x.pass != 0,
		x.Interleave > 1 && x.Dims[axisC] > 1 || x.Dims[axisW] < 2 || x.Strides[axisW] != 2 || x.Strides[axisH] < 0,
		x.Dims[axisC] < leastChannels || y.Dims[axisC] < leastChannels:
		return nil
	}
	least := leastTiles
	for _, m := range [...]int{4, 2} {
		if tiles := tilesOf(y.Dims[axisH], m) * tilesOf(y.Dims[axisW], m); tiles < least {
			if op.gemmRow(y.Dims[axisC], anyLines, 9*x.Dims[axisC]).Else != nil {
				least = 2 * leastTiles // what multiplies fp16 numbers faster than floats
			}
			continue
		}
		form := transform.For(m)
		if form == nil || form.Side*form.Side*4*x.Dims[axisC]*y.Dims[axisC] > mostTransformed {
			return nil
		}
		return form
	}
	return nil
}

func isTransformed(op *Op) bool { return transformOf(op) != nil }

func bindTransformed(op *Op) (Kernel, error) { return bindTransform(op, transformOf(op)) }

// bindTransform binds a convolution by a transform. If its weights cannot be
// packed, it is a plain one.
func bindTransform(op *Op, form *transform.Row) (Kernel, error) {
	plain := *op
	plain.Packs = nil
	bound, err := bindConv(&plain)
	if err != nil {
		return nil, err
	}
	k := &transformed{convolution: bound.(*convolution), form: form}
	k.by = op.gemmRow(k.outputs, anyLines, k.inputs).ForFloats()
	b := &k.by.B
	if !b.Floats || b.Lines%form.Lanes != 0 {
		return bindConv(op)
	}
	side := newSide(&k.by.A, (*transformedWeights)(k), stageFloats(k.by))
	side.finite = true
	k.transforms = op.Packs.add(&op.Operands[2], packTransformed+packKind(form.Tile), &side, k.by.Depth, form.Side*form.Side, k.outputs, k.inputs)
	if !k.transforms.there {
		return bindConv(op)
	}
	if k.hasBias {
		k.packedBias = op.Packs.addVector(&op.Operands[3])
	}
	k.cut()
	k.layOut()
	return k, nil
}

// cut chooses blocks and sections. The panels of a block should stay in the cache,
// but a block must have enough tiles for the weights, which are read for each. For
// the threads there are at least four parts; sections are not so small that it
// takes long to transform a block for each thread.
func (k *transformed) cut() {
	const cache, enough, products = 640 << 10, 64, 400 << 10 // bytes, tiles, bytes
	m, elements := k.form.Tile, k.form.Side*k.form.Side
	k.across, k.down = tilesOf(k.out[axisW], m), tilesOf(k.out[axisH], m)
	tiles := max(enough, cache/(4*elements*k.inputs))
	k.blocks = tilesOf(k.down, max(1, tiles/k.across))
	if k.blocks > 1 {
		k.blocks += k.blocks % 2
	}
	k.blockRows = tilesOf(k.down, k.blocks) // as even as can be
	k.blocks = tilesOf(k.down, k.blockRows)
	k.sections = tilesOf(min(4, max(1, k.outputs/24)), k.blocks)
	k.sectionRows = k.by.A.RoundUp(tilesOf(k.outputs, k.sections))
	k.sections = tilesOf(k.outputs, k.sectionRows)
	k.lanes = k.by.B.RoundUp(k.blockRows * k.across)
	k.some = min(k.sectionRows, k.by.A.RoundUp(products/(4*elements*k.lanes)+1))
}

// layOut finds room for all that a block takes.
func (k *transformed) layOut() {
	elements, lanes := k.form.Side*k.form.Side, k.form.Lanes
	b := &k.by.B
	depth := min(k.inputs, k.by.Depth)
	k.apart = b.Words(depth) + 16
	k.element = k.lanes/b.Lines*k.apart + 16
	k.deep = elements * k.element
	for t := 0; t < k.lanes; t += lanes {
		k.toPanels = append(k.toPanels, t/b.Lines*k.apart+t%b.Lines)
	}
	m, pitch := k.form.Tile, k.across*k.form.Tile
	for t := range k.blockRows * k.across {
		k.toPlaces = append(k.toPlaces, t/k.across*m*pitch+t%k.across*m)
	}
	k.room = k.blockRows * m * pitch
	k.plane = roundUp16(max((k.blockRows+1)*k.across, k.lanes+k.across)) + 16
	room, _ := k.by.Room(k.some, k.lanes)
	k.products = roundUp16(room) + 16

	k.need = k.convolution.Need()
	k.biases = roundUp16(k.need.Float)
	k.planes = k.biases + roundUp16(k.some)
	k.sums = k.planes + m*k.form.Side*k.plane
	k.at = k.sums + elements*k.products
	k.need.Float = k.at + k.some*k.room
	k.flags = k.need.Int
	k.need.Int += k.blockRows
	k.need.Panels = max(k.need.Panels, tilesOf(k.inputs, k.by.Depth)*k.deep)
}

func roundUp16(n int) int { return (n + 15) &^ 15 }

func (k *transformed) Tiles() (n, grain int) { return k.out[axisN] * k.blocks * k.sections, 1 }

func (k *transformed) Need() Need { return k.need }

// transformedWeights are the left factors: a line is the element of its group, of
// the kernels of an output channel.
type transformedWeights transformed

func (k *transformedWeights) byLine() bool { return true }

func (k *transformedWeights) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	var kernels [64 * 9]float32
	for j := range l.count {
		for c := 0; c < d; c += 64 {
			n := min(64, d-c)
			k.channel(w, kernels[:9*n], l.first+j, 9*(from+c))
			k.form.Transform(dst[j*pitch+c:][:n], kernels[:9*n], l.group)
		}
	}
}
