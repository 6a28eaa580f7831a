package ops

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// Expected values: coremltools' value inference; the broadcast batch: numpy.
func TestAttention(t *testing.T) {
	const tol = 2e-6
	q, k, v := scaled(xs(1, 2, 4), 4), scaled(ws(1, 3, 4), 4), patterned(3, 5, 1, 3, 2)
	got := evalOp(t, IOS18, "scaled_dot_product_attention", args{"query": q, "key": k, "value": v})
	wantShape(t, got[0], 1, 2, 2)
	wantFloats(t, got[0], tol, -1, -0.141366, -0.96992, 0.349411)

	got = evalOp(t, IOS18, "scaled_dot_product_attention", args{"query": q, "key": k, "value": v,
		"attn_mask": bools(dims(2, 3), true, false, true, true, true, false)})
	wantFloats(t, got[0], tol*2, -1, -0.5, -1.46102, 1.53898)

	got = evalOp(t, IOS18, "scaled_dot_product_attention", args{"query": q, "key": k, "value": v,
		"attn_mask": bools(dims(2, 3), true, false, true, false, false, false)})
	wantFloats(t, got[0], tol, -1, -0.5, math.NaN(), math.NaN())

	got = evalOp(t, IOS18, "scaled_dot_product_attention", args{"query": scaled(xs(2, 2, 2, 4), 4), "key": scaled(ws(2, 2, 3, 4), 4),
		"value": patterned(3, 5, 2, 2, 3, 1), "attn_mask": patterned(3, 5, 2, 1, 1, 3)})
	wantShape(t, got[0], 2, 2, 2, 1)
	wantFloats(t, got[0], tol, 0.192371, 0.673403, -0.194778, -0.162643, 0.753631, 0.7947, -0.209034, -0.212578)

	got = evalOp(t, IOS18, "scaled_dot_product_attention", args{"query": scaled(xs(2, 1, 2), 4), "key": scaled(ws(1, 2, 2), 4), "value": patterned(3, 5, 1, 2, 1)})
	wantFloats(t, got[0], 5e-6, -1.20285, -1.27801)
}

// TestAttentionBlocks compares a sequence of several blocks with the definition in float64.
func TestAttentionBlocks(t *testing.T) {
	const l, s, e, width = 300, 1200, 5, 3
	r := rand.New(rand.NewPCG(3, 4))
	q, k, v, mask := randomFloats(r, 2*l*e), randomFloats(r, 2*s*e), randomFloats(r, 2*s*width), randomFloats(r, l*s)
	got := evalOp(t, IOS18, "scaled_dot_product_attention", args{"query": tensor.Of(q, 2, l, e), "key": tensor.Of(k, 2, s, e),
		"value": tensor.Of(v, 2, s, width), "attn_mask": tensor.Of(mask, l, s)})
	want := make([]float64, 2*l*width)
	for row := range 2 * l {
		b := row / l
		var sum float64
		for j := range s {
			var dot float64
			for x := range e {
				dot += float64(q[row*e+x]) * float64(k[(b*s+j)*e+x])
			}
			weight := math.Exp(dot/math.Sqrt(e) + float64(mask[row%l*s+j]))
			sum += weight
			for x := range width {
				want[row*width+x] += weight * float64(v[(b*s+j)*width+x])
			}
		}
		for x := range width {
			want[row*width+x] /= sum
		}
	}
	wantFloats(t, got[0], 1e-5, want...)
}

func TestAttentionErrors(t *testing.T) {
	q, k, v := xs(1, 2, 4), ws(1, 3, 4), ws(1, 3, 2)
	wantErr(t, IOS18, "scaled_dot_product_attention", args{"query": xs(2, 4), "key": ws(3, 4), "value": ws(3, 2)}, "expected one rank, 3 or more")
	wantErr(t, IOS18, "scaled_dot_product_attention", args{"query": xs(1, 2, 5), "key": k, "value": v}, "last axes have lengths 5 and 4")
	wantErr(t, IOS18, "scaled_dot_product_attention", args{"query": q, "key": k, "value": ws(1, 4, 2)}, "3 and 4 positions")
	wantErr(t, IOS18, "scaled_dot_product_attention", args{"query": q, "key": ws(2, 3, 4), "value": v}, "axis 0 has lengths 1, 2 and 1")
	wantErr(t, IOS18, "scaled_dot_product_attention", args{"query": q, "key": k, "value": v, "attn_mask": xs(2, 4)}, "attn_mask has shape [2, 4]", "ends in 3")
	wantErr(t, IOS18, "scaled_dot_product_attention", args{"query": q, "key": k, "value": v, "attn_mask": xs(3, 3)}, "broadcasts to [1, 2, 3]")
	wantErr(t, IOS18, "scaled_dot_product_attention", args{"query": q, "key": k, "value": v, "attn_mask": scalarF32(0)}, "attn_mask has shape []")
	wantErr(t, IOS17, "scaled_dot_product_attention", args{"query": q, "key": k, "value": v}, "comes with iOS18")
}
