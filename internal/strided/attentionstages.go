package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/tensor"
)

// maxStagedKeys is how many keys an attention by stages may have: all scores of a
// position are at hand.
const maxStagedKeys = 1 << 14

// stagedTile is tile by the layers that a chip makes of an attention: a product,
// perhaps a sum with the mask, a softmax by tables, and a product, with fp16 numbers
// between them.
func (a *ruledAttention) stagedTile(w *Scratch, positions lines) {
	g := &w.gemm
	g.left = positions
	rows := positions.count
	all := w.float[a.sumsAt:][:rows*a.keys]
	for key := 0; key < a.keys; key += attnKeys {
		if w.stop() {
			break
		}
		g.right = lines{at: positions.at, first: key, count: min(attnKeys, a.keys-key)}
		a.score(w)
		for r := range rows {
			copy(all[r*a.keys+key:], g.scores[r*attnKeys:][:g.right.count])
		}
	}
	for r := range rows {
		a.normalize(all[r*a.keys:][:a.keys])
	}
	row := w.float[a.rowAt:][:chunk]
	for c := 0; c < a.width; c += attnCols {
		g.left, g.scores, g.scoresApart = positions, all, a.keys
		g.left.first = 0 // the lines of the scores
		g.right = lines{at: positions.at, first: c, count: min(attnCols, a.width-c)}
		tile, stride := a.sv.multiply(w, a.keys, nil)
		for r := range rows {
			i := positions.at
			i[axisH], i[axisW] = positions.first+r, c
			out := row[:g.right.count]
			copy(out, tile[r*stride:])
			a.sink.put(w, out, i, axisW)
		}
	}
}

// normalize makes of scores the weights of a softmax along W.
func (a *ruledAttention) normalize(scores []float32) {
	castFloats(tensor.Float16, scores) // a mask was added in another task
	top := float32(math.Inf(-1))
	for _, s := range scores {
		top = max(top, s)
	}
	var sum float32
	for j, s := range scores {
		d := s - top
		if a.toZero {
			d = orZero(d, s, top)
		}
		scores[j] = half.Round(a.tables.exp2(half.Round(d * log2e)))
		sum += scores[j]
	}
	inverse := half.Round(1 / sum)
	for j, e := range scores {
		p := half.Round(e * inverse)
		if a.flush && p < half.LeastNormal {
			p = 0
		}
		scores[j] = p
	}
}
