package ops

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var attentionOps = []Def{{
	Name: "scaled_dot_product_attention",
	Doc:  "softmax(query·keyᵀ/√E + mask)·value",
	Versions: since(IOS18, In("query", Float).As("T"), In("key", Float).As("T"), In("value", Float).As("T"),
		Opt("attn_mask", B|Float, nil)),
	Infer: inferAttention,
	Eval:  evalAttention,
	Lower: lowerAttention,
}}

// inferAttention: query is [batch…, L, E], key [batch…, S, E], value [batch…, S, V], and the mask broadcasts to
// [batch…, L, S]. A batch axis of key and value may have length 1.
func inferAttention(c *Call) ([]mil.Type, error) {
	q, k, v := c.Shape("query"), c.Shape("key"), c.Shape("value")
	n := len(q)
	if n < 3 || len(k) != n || len(v) != n {
		return nil, fmt.Errorf("query %v, key %v and value %v: expected one rank, 3 or more", q, k, v)
	}
	if !equalOrUnknown(q[n-1], k[n-1]) {
		return nil, fmt.Errorf("query %v and key %v: their last axes have lengths %v and %v", q, k, q[n-1], k[n-1])
	}
	if !equalOrUnknown(k[n-2], v[n-2]) {
		return nil, fmt.Errorf("key %v and value %v: they have %v and %v positions", k, v, k[n-2], v[n-2])
	}
	for i, d := range q[:n-2] {
		if !broadcastsTo(k[i], d) || !broadcastsTo(v[i], d) {
			return nil, fmt.Errorf("query %v, key %v and value %v: axis %d has lengths %v, %v and %v", q, k, v, i, d, k[i], v[i])
		}
	}
	if c.Has("attn_mask") {
		if err := checkMask(c.Shape("attn_mask"), append(append(tensor.Shape{}, q[:n-1]...), k[n-2])); err != nil {
			return nil, err
		}
	}
	return one(c.DType("query"), append(append(tensor.Shape{}, q[:n-1]...), v[n-1]))
}

func equalOrUnknown(a, b tensor.Dim) bool { return !a.Known() || !b.Known() || a == b }

func broadcastsTo(d, to tensor.Dim) bool { return d == 1 || equalOrUnknown(d, to) }

// checkMask refuses a mask that does not broadcast to the scores. On its last axis it must not need to.
func checkMask(mask, scores tensor.Shape) error {
	skip := len(scores) - len(mask)
	if len(mask) == 0 || skip < 0 || !equalOrUnknown(mask[len(mask)-1], scores[len(scores)-1]) {
		return fmt.Errorf("attn_mask has shape %v, expected one that broadcasts to %v and ends in %v", mask, scores, scores[len(scores)-1])
	}
	for i, d := range mask {
		if !broadcastsTo(d, scores[i+skip]) {
			return fmt.Errorf("attn_mask has shape %v, expected one that broadcasts to %v", mask, scores)
		}
	}
	return nil
}

func evalAttention(c *Call) error {
	q, k, v := c.Tensor("query"), c.Tensor("key"), c.Tensor("value")
	n := q.Rank()
	batch := q.Shape()[:n-2]
	l, e := q.Shape()[n-2], q.Shape()[n-1]
	s, width := v.Shape()[n-2], v.Shape()[n-1]

	scores := append(append([]int{}, q.Shape()[:n-1]...), s)
	var mask *tensor.Tensor
	if c.Has("attn_mask") {
		var err error
		if mask, err = additiveMask(c.Tensor("attn_mask")).BroadcastTo(scores...); err != nil {
			return err
		}
	}
	kAt := newFactor(tensor.ShapeOf(k.Shape()...), tensor.ShapeOf(q.Shape()...), false)
	vAt := newFactor(tensor.ShapeOf(v.Shape()...), tensor.ShapeOf(q.Shape()...), false)
	qs, ks, vs := q.Float32s(), k.Float32s(), v.Float32s()
	out := make([]float32, c.OutLen(0))
	if len(out) == 0 {
		c.ReturnFloats(0, out) // lengths beside one of zero may be beyond all loops
		return nil
	}

	// Rows of scores are computed a block at a time, so that memory does not grow with the square of a sequence.
	rows := min(max(l, 1), 256, 1+(1<<18)/max(1, s))
	blocks := (l + rows - 1) / rows
	batches, _ := tensor.Count(batch)
	c.For(batches*blocks, 1, func(lo, hi int) {
		buf := make([]float32, rows*s)
		for x := lo; x < hi; x++ {
			b, first := x/blocks, x%blocks*rows
			m := min(rows, l-first)
			block := buf[:m*s]
			clear(block)
			gemm(c.halt, m, s, e, matrix{qs[(b*l+first)*e:], e, 1}, matrix{ks[kAt.at(b):], 1, e}, block)
			scale := float32(math.Sqrt(float64(e)))
			for i := range block {
				block[i] /= scale
			}
			if mask != nil {
				addMask(block, mask, b, first, m)
			}
			for i := range m {
				softmaxRow(block[i*s : (i+1)*s])
			}
			gemm(c.halt, m, width, s, matrix{block, s, 1}, matrix{vs[vAt.at(b):], width, 1}, out[(b*l+first)*width:])
		}
	})
	c.ReturnFloats(0, out)
	return nil
}

// additiveMask turns a boolean mask into what is added to the scores: nothing where it is true, −∞ elsewhere.
func additiveMask(mask *tensor.Tensor) *tensor.Tensor {
	if mask.DType() != tensor.Bool {
		return mask
	}
	out := make([]float32, mask.Len())
	for i, take := range mask.Int64s() {
		if take == 0 {
			out[i] = float32(math.Inf(-1))
		}
	}
	return tensor.Of(out, mask.Shape()...)
}

// addMask adds m rows of the mask, which has the shape of the scores, to a block of them.
func addMask(block []float32, mask *tensor.Tensor, batch, first, m int) {
	n := mask.Rank()
	rows := mask
	for axis := n - 3; axis >= 0; axis-- {
		d := mask.Shape()[axis]
		rows = mustView(rows.Slice(axis, batch%d, 1, 1))
		batch /= d
	}
	rows = mustView(rows.Slice(n-2, first, m, 1))
	for i, v := range rows.Float32s() {
		block[i] += v
	}
}

// mustView is for views whose bounds are known to be right.
func mustView(t *tensor.Tensor, err error) *tensor.Tensor {
	if err != nil {
		panic("bug: " + err.Error())
	}
	return t
}

// softmaxRow turns scores into weights whose sum is one. A row of −∞ alone, all masked, becomes NaN.
func softmaxRow(row []float32) {
	top := float32(math.Inf(-1))
	for _, v := range row {
		top = max(top, v)
	}
	var sum float32
	for i, v := range row {
		row[i] = float32(math.Exp(float64(v - top)))
		sum += row[i]
	}
	for i := range row {
		row[i] /= sum
	}
}
