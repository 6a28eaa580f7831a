package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/attention"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// attentionShape is what an attention with plain arithmetic works on, and how it is
// cut into tiles and blocks.
type attentionShape struct {
	sink      *sink
	q, k, v   array
	mask      array
	hasMask   bool
	boolMask  bool
	eachMask  bool // positions have masks of their own
	batch     grid
	positions int
	keys      int
	features  int     // of q and k
	width     int     // of v and the result
	scale     float32 // of scores, for powers of 2
	direct    bool    // results are stored as they lie

	perTile  int // positions
	perHead  int // tiles
	perBlock int // keys
}

// Positions of a tile, keys and floats of a block of keys, floats of the results of
// a tile, and tiles that are enough to share among threads.
const (
	tilePositions = 512
	blockKeys     = 256
	blockFloats   = 1 << 15
	tileFloats    = 1 << 16
	enoughTiles   = 2
)

func newAttentionShape(op *Op) attentionShape {
	y, q, k, v := &op.Operands[0], &op.Operands[1], &op.Operands[2], &op.Operands[3]
	a := attentionShape{
		sink: newSink(op), q: q.array(), k: k.array(), v: v.array(),
		batch:     newGrid(y.Dims, 1<<axisN|1<<axisD|1<<axisC),
		positions: y.Dims[axisH], width: y.Dims[axisW], keys: k.Dims[axisH], features: q.Dims[axisW],
		scale: float32(float64(op.Params.(*td.Attention).Scale) * math.Log2E),
	}
	if len(op.Operands) > 4 && op.Operands[4].Present() {
		a.mask, a.hasMask = op.Operands[4].array(), true
		a.boolMask, a.eachMask = op.Operands[4].Type == tensor.Bool, a.mask.strides[axisH] != 0
	}
	a.direct = len(a.sink.steps) == 0 && a.sink.arrival == nil && isHalfRows(&a.sink.out)
	return a
}

// isHalfRows reports whether rows along W are fp16 numbers side by side.
func isHalfRows(a *array) bool {
	return a.typ == tensor.Float16 && a.pass == 0 && a.strides[axisW] == 2 && a.strides[axisH] >= 0 && (a.interleave == 1 || a.lane != axisW)
}

// cut says how many keys, in some multiple, a block has, and how many positions a
// tile, of which keys and results take so many floats.
func (a *attentionShape) cut(floatsKey, floatsResult, multiple int) {
	most := min(max(blockFloats/max(floatsKey, floatsResult, 1), 16), blockKeys)
	blocks := max(tilesOf(a.keys, most), 1)
	a.perBlock = tilesOf((a.keys+blocks-1)/blocks, multiple) * multiple

	a.perTile = min(tilePositions, (a.positions+attention.Lanes-1)/attention.Lanes*attention.Lanes)
	for a.perTile > attention.Lanes && (a.perTile*floatsResult > tileFloats || a.batch.count()*tilesOf(a.positions, a.perTile) < enoughTiles) {
		a.perTile = (a.perTile/2 + attention.Lanes - 1) / attention.Lanes * attention.Lanes
	}
	a.perHead = tilesOf(a.positions, max(a.perTile, 1))
}

func (a *attentionShape) Tiles() (n, grain int) {
	if a.width == 0 || a.positions == 0 {
		return 0, 1
	}
	return a.batch.count() * a.perHead, 1
}

// masks reads what is added to the scores of a position.
func (a *attentionShape) masks(w *Scratch, dst []float32, i index, position, key int) {
	i[axisH], i[axisW] = position, key
	a.mask.load(w, dst, i, axisW)
	if !a.boolMask {
		return
	}
	for j, m := range dst {
		if dst[j] = 0; m == 0 { // of a NaN or +inf that makes a NaN
			dst[j] = -infinity
		}
	}
}

// factors are what the results of positions are multiplied with: 1 over their totals.
func (a *attentionShape) factors(state *attention.State) *[attention.Lanes]float32 {
	factors := &state.Down
	for r := range factors {
		factors[r] = 1 / state.Total[r]
		if a.keys == 0 {
			factors[r] = 1 // of the sum of no values
		}
	}
	return factors
}
