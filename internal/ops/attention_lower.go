package ops

import (
	"math"

	"github.com/espalier-ane/espalier/internal/anec"
)

// lowerAttention: positions lie along H and features along W by themselves. The scale is the one that the operation
// has built in.
func lowerAttention(l *Lowering) error {
	features := int(l.Shape("query")[l.Rank("query")-1])
	scale := l.Scalar(l.Name()+"_scale", float32(1/math.Sqrt(float64(features))))
	bottoms := []*anec.Value{l.In("query"), l.In("key"), l.In("value"), scale}
	if l.Has("attn_mask") {
		bottoms = append(bottoms, l.InAligned("attn_mask"))
	}
	l.Give(0, l.Layer(l.Name(), &anec.SDPA{SubtractMax: true}, bottoms...))
	return nil
}
