package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

func TestLowerProducts(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		opset      Opset
		a          args
		want       string
	}{
		{"linear with bias", "linear", IOS15, args{"x": xs(2, 3, 4), "weight": ws(5, 4), "bias": []float64{1, 2, 3, 4, 5}}, "Linear"},
		{"matrices", "matmul", IOS15, args{"x": xs(2, 3, 4), "y": ws(2, 4, 5)}, "MatrixMultiplication"},
		{"vector on the right", "matmul", IOS15, args{"x": xs(3, 4), "y": ws(4)}, "Reshape MatrixMultiplication Reshape"},
		{"vector on the left", "matmul", IOS15, args{"x": xs(4), "y": ws(4, 3)}, "MatrixMultiplication"},
		{"batches of four and five axes", "matmul", IOS15, args{"x": xs(2, 1, 2, 3, 4), "y": ws(2, 2, 4, 5)}, "Reshape MatrixMultiplication"},
		{"the equation of Core ML", "einsum", IOS15, args{"values": []*tensor.Tensor{xs(2, 3, 4, 5), ws(2, 5, 4, 3)}, "equation": "nchw,nwhu->nchu"},
			"Transpose Transpose MatrixMultiplication Transpose Reshape"},
		{"elements times elements", "einsum", IOS15, args{"values": []*tensor.Tensor{xs(2, 3), ws(3, 2)}, "equation": "ij,ji->ij"}, "Transpose ElementWise"},
		{"a sum alone", "einsum", IOS15, args{"values": []*tensor.Tensor{xs(2, 3)}, "equation": "ij->i"}, "Reduction Transpose"},
		{"attention", "scaled_dot_product_attention", IOS18, args{"query": xs(1, 2, 3, 4), "key": xs(1, 2, 5, 4), "value": xs(1, 2, 5, 6)}, "SDPA"},
		{"attention, mask of fewer axes", "scaled_dot_product_attention", IOS18,
			args{"query": xs(1, 2, 2, 3, 4), "key": xs(1, 2, 2, 5, 4), "value": xs(1, 2, 2, 5, 6), "attn_mask": xs(2, 2, 3, 5)}, "Reshape SDPA"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantKinds(t, lowerOp(t, tt.opset, tt.kind, tt.a), tt.want) })
	}
}

func TestLowerProductsRefused(t *testing.T) {
	wantRefusal(t, IOS15, "matmul", args{"x": i32(dims(2, 2), 1), "y": i32(dims(2, 2), 1)}, "x is int32", "fp32")
	wantRefusal(t, IOS15, "einsum", args{"values": []*tensor.Tensor{xs(2, 2)}, "equation": "ii->i"}, "the axis 'i' twice", "diagonal")
	wantRefusal(t, IOS15, "einsum", args{"values": []*tensor.Tensor{xs(2, 2, 2), ws(3, 3, 3), ws(2, 3), ws(2, 3), ws(2, 3)}, "equation": "abc,def,ad,be,cf->a"}, "6 axes", "at most 5")
}

// The transposes are fields of the layer, not layers.
func TestLowerMatmulTransposed(t *testing.T) {
	g := lowerOp(t, IOS15, "matmul", args{"x": xs(4, 3), "y": ws(5, 4), "transpose_x": true, "transpose_y": true})
	wantKinds(t, g, "MatrixMultiplication")
	if p := paramsOf[*anec.MatMul](t, g); !p.TransposeX || !p.TransposeZ {
		t.Errorf("the layer is %+v, expected both transposed", *p)
	}
}
