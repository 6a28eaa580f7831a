package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// Expected values: coremltools' value inference for the equations it allows, numpy.einsum for the others.
func TestEinsum(t *testing.T) {
	type values = []*tensor.Tensor
	tests := []struct {
		name, equation string
		values         values
		shape          []int
		want           []float64
	}{
		{"rank 4", "nchw,nwhu->nchu", values{xs(2, 2, 2, 3), ws(2, 3, 2, 2)}, dims(2, 2, 2, 2),
			[]float64{17, -8, 5, -22, -20, 8, 11, -18, -3, -13, -4, -1, -3, -1, -8, -7}},
		{"broadcast", "nchw,nwhu->nchu", values{xs(1, 2, 2, 3), ws(2, 3, 1, 2)}, dims(2, 2, 2, 2),
			[]float64{9, -16, -24, 5, -24, 4, -24, 3, 13, 9, 3, -24, 4, -24, 5, -24}},
		{"rank 3", "chw,whr->chr", values{xs(2, 2, 3), ws(3, 2, 2)}, dims(2, 2, 2), []float64{17, -8, 5, -22, -20, 8, 11, -18}},
		{"transposed result", "ij, jk -> ki", values{xs(2, 3), ws(3, 2)}, dims(2, 2), []float64{9, -24, -16, 5}},
		{"nothing in common", "ij,kl->", values{xs(2, 3), ws(3, 2)}, nil, []float64{-2}},
		{"diagonal", "ii,i->i", values{xs(3, 3), ws(3)}, dims(3), []float64{15, 2, 0}},
		{"one operand", "iij->j", values{xs(2, 2, 3)}, dims(3), []float64{-2, 1, -7}},
		{"transposition", "ijk->kji", values{xs(2, 2, 3)}, dims(3, 2, 2), []float64{-5, 4, 5, 3, 2, 0, 1, -1, -2, -4, -3, -5}},
		{"three operands", "bij,bj,k->bik", values{xs(2, 2, 3), ws(2, 3), patterned(3, 5, 2)}, dims(2, 2, 2), []float64{-38, 19, 26, -13, 24, -12, 28, -14}},
		{"three vectors", "i,i,i->", values{xs(4), ws(4), patterned(3, 5, 4)}, nil, []float64{-46}},
		{"attention scores", "bhid,bhjd->bhij", values{xs(1, 2, 2, 3), ws(1, 2, 2, 3)}, dims(1, 2, 2, 2), []float64{19, 14, -13, -10, -12, -12, -10, -13}},
		{"empty sum", "ij,jk->ik", values{xs(2, 0), ws(0, 2)}, dims(2, 2), make([]float64, 4)},
		{"length 1 in the sum", "ij,jk->ik", values{f32(dims(1, 1), 2), f32(dims(3, 1), 1, 2, 4)}, dims(1, 1), []float64{14}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := evalOp(t, IOS15, "einsum", args{"values": tt.values, "equation": tt.equation})
			wantShape(t, got[0], tt.shape...)
			wantFloats(t, got[0], 0, tt.want...)
		})
	}
}

func TestEinsumErrors(t *testing.T) {
	two := []*tensor.Tensor{xs(2, 3), ws(3, 2)}
	for _, tt := range []struct{ equation, want string }{
		{"ij,jk", "has no ->"},
		{"ij,jk->il", `an axis 'l' that no operand has`},
		{"ij,jk->ii", `has the axis 'i' twice`},
		{"...j,jk->k", `expected a letter for each axis, found '.'`},
		{"ij,jk,k->i", "is for 3 operands, found 2"},
		{"ijk,jk->i", `operand 0 has shape [2, 3], but the equation calls its axes "ijk"`},
		{"ij,kj->ik", `axis 'j' has length 2 in operand 1 and 3 before it`},
		{"ii,jk->i", `the lengths 2 and 3 of axis 'i' differ`},
	} {
		wantErr(t, IOS15, "einsum", args{"values": two, "equation": tt.equation}, tt.want)
	}
	wantErr(t, IOS15, "einsum", args{"values": []*tensor.Tensor{xs(2), f16(dims(2))}, "equation": "i,i->i"}, "element type")
	list := &List{Items: []*tensor.Tensor{xs(2)}}
	wantErr(t, IOS15, "einsum", args{"values": list, "equation": "i->i"}, "parameter values is list", "expected a tensor")
}
