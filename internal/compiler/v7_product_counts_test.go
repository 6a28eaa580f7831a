package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/mil"
)

// How many tasks Apple's compiler made of products, by the names of its records. They are compiled here, not run.
//
// Of chain_resffn_d256_s64 it made 5. Here it is 4: beside another layer, two products are not joined, because the first of
// them has what it reads copied.
var v7ProductCounts = []struct {
	record string
	v7Case
}{
	{"rrmm_r2rb_m32_k256_n256_tx0_ty1", v7Case{inputs: "x [32, 256]", body: byConstant("[32, 256]", "[256, 256]", true), tasks: 2}},
	{"matmul_m1_k256_n512_ty1", v7Case{inputs: "x [1, 256]", body: byConstant("[1, 512]", "[512, 256]", true), tasks: 2}},
	{"matmul_m8_k512_n256_ty1", v7Case{inputs: "x [8, 512]", body: byConstant("[8, 256]", "[256, 512]", true), tasks: 2}},
	{"matmul_m64_k512_n1024_ty1", v7Case{inputs: "x [64, 512]", body: byConstant("[64, 1024]", "[1024, 512]", true), tasks: 2}},
	{"env_mm_r2rb_m32_k2048_n2048_tx0_ty1", v7Case{inputs: "x [32, 2048]", body: byConstant("[32, 2048]", "[2048, 2048]", true), tasks: 3}},
	{"env_mm_r2rb_m256_k2048_n2048_tx0_ty1", v7Case{inputs: "x [256, 2048]", body: byConstant("[256, 2048]", "[2048, 2048]", true), tasks: 9}},
	{"env_mm_r2rb_m256_k2048_n2048_tx1_ty1", v7Case{inputs: "x [2048, 256]", body: byConstant("[256, 2048]", "[2048, 2048]", true, "transpose_x"), tasks: 8}},

	{"env_mm_r2rr_m16_k2048_n2048_tx0_ty0", v7Case{inputs: "x [16, 2048]; z [2048, 2048]", body: matMulOf("16, 2048", false, false), tasks: 1}},
	{"env_mm_r2rr_m16_k2048_n2048_tx0_ty1", v7Case{inputs: "x [16, 2048]; z [2048, 2048]", body: matMulOf("16, 2048", false, true), tasks: 2}},
	{"env_mm_r2rr_m128_k2048_n2048_tx0_ty0", v7Case{inputs: "x [128, 2048]; z [2048, 2048]", body: matMulOf("128, 2048", false, false), tasks: 2}},
	{"env_mm_r2rr_m128_k2048_n2048_tx0_ty1", v7Case{inputs: "x [128, 2048]; z [2048, 2048]", body: matMulOf("128, 2048", false, true), tasks: 3}},
	{"env_mm_r2rr_m128_k2048_n2048_tx1_ty0", v7Case{inputs: "x [2048, 128]; z [2048, 2048]", body: matMulOf("128, 2048", true, false), tasks: 2}},
	{"env_mm_r2rr_m128_k2048_n2048_tx1_ty1", v7Case{inputs: "x [2048, 128]; z [2048, 2048]", body: matMulOf("128, 2048", true, true), tasks: 3}},
	{"env_mm_r3rr_m256_k64_n256_tx0_ty1_b1", v7Case{inputs: "x [1, 256, 64]; z [1, 256, 64]", body: matMulOf("1, 256, 256", false, true), tasks: 4}},
	{"env_mm_r3rr_m512_k64_n512_tx0_ty1_b1", v7Case{inputs: "x [1, 512, 64]; z [1, 512, 64]", body: matMulOf("1, 512, 512", false, true), tasks: 6}},
	{"env_mm_r3rr_m256_k256_n64_tx0_ty0_b1", v7Case{inputs: "x [1, 256, 256]; z [1, 256, 64]", body: matMulOf("1, 256, 64", false, false), tasks: 3}},
	{"env_mm_r3rr_m512_k512_n64_tx0_ty0_b1", v7Case{inputs: "x [1, 512, 512]; z [1, 512, 64]", body: matMulOf("1, 512, 64", false, false), tasks: 5}},

	{"bmm_r3rr_m375_k128_n749_tx0_ty0_b2", v7Case{inputs: "x [2, 375, 128]; z [2, 128, 749]", body: matMulOf("2, 375, 749", false, false), tasks: 52}},
	{"bmm_r3rr_m375_k375_n128_tx0_ty0_b2", v7Case{inputs: "x [2, 375, 375]; z [2, 375, 128]", body: matMulOf("2, 375, 128", false, false), tasks: 52}},
	{"bmm_r3rr_m375_k128_n375_tx0_ty1_b8", v7Case{inputs: "x [8, 375, 128]; z [8, 375, 128]", body: matMulOf("8, 375, 375", false, true), tasks: 209}},
	{"bmm_r3rr_m375_k128_n749_tx1_ty0_b8", v7Case{inputs: "x [8, 128, 375]; z [8, 128, 749]", body: matMulOf("8, 375, 749", true, false), tasks: 209}},
	{"bmm_r3rb_m375_k128_n749_tx0_ty0_b2", v7Case{inputs: "x [2, 375, 128]", body: byConstant("[2, 375, 749]", "[2, 128, 749]", false), tasks: 52}},

	{"chain_attn_s128_dh64", v7Case{inputs: "q [1, 128, 64]; k [1, 128, 64]; v [1, 128, 64]", body: attentionOf("[1, 128, 128]", "[1, 128, 64]"), tasks: 9}},
	{"chain_attn_s256_dh64", v7Case{inputs: "q [1, 256, 64]; k [1, 256, 64]; v [1, 256, 64]", body: attentionOf("[1, 256, 256]", "[1, 256, 64]"), tasks: 11}},
	{"chain_attn_s512_dh64", v7Case{inputs: "q [1, 512, 64]; k [1, 512, 64]; v [1, 512, 64]", body: attentionOf("[1, 512, 512]", "[1, 512, 64]"), tasks: 15}},
	{"chain_attn_s128_dh64_h4", v7Case{inputs: "q [4, 128, 64]; k [4, 128, 64]; v [4, 128, 64]", body: attentionOf("[4, 128, 128]", "[4, 128, 64]"), tasks: 18}},
	{"chain_attn_s128_dh64_h12", v7Case{inputs: "q [12, 128, 64]; k [12, 128, 64]; v [12, 128, 64]", body: attentionOf("[12, 128, 128]", "[12, 128, 64]"), tasks: 42}},

	{"chain_pair_mm_mm_d256_s64", v7Case{inputs: "x [1, 64, 256]", body: "a [1, 64, 256] = " + byRowsOf("x", "[256, 256]") + "; y [1, 64, 256] = " + byRowsOf("a", "[256, 256]"), tasks: 3}},
	{"chain_ffn_d256_s128", v7Case{inputs: "x [1, 128, 256]", body: "a [1, 128, 1024] = " + byRowsOf("x", "[1024, 256]") + `; g [1, 128, 1024] = gelu(x = a, mode = string("EXACT")); y [1, 128, 256] = ` + byRowsOf("g", "[256, 1024]"), tasks: 3}},
	{"chain_resffn_d256_s64", v7Case{inputs: "x [1, 64, 256]", body: "a [1, 64, 1024] = " + byRowsOf("x", "[1024, 256]") + `; g [1, 64, 1024] = gelu(x = a, mode = string("EXACT")); b [1, 64, 256] = ` + byRowsOf("g", "[256, 1024]") + "; y [1, 64, 256] = add(x = x, y = b)", tasks: 4}},
	{"chain_lnproj_d256_s64", v7Case{inputs: "x [1, 64, 256]", body: "a [1, 64, 256] = layer_norm(x = x, axes = tensor<int32, [1]>([-1]), epsilon = fp32(0.0001)); y [1, 64, 256] = " + byRowsOf("a", "[256, 256]"), tasks: 5}},
}

func TestV7ProductsHaveApplesTasks(t *testing.T) {
	for _, c := range v7ProductCounts {
		program, err := mil.ParseText(c.record, []byte(c.text()), randomWeights{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := ownSegment(t, program.Functions[0], lookup(t, "h13"))
		if err != nil {
			t.Errorf("%s: %v", c.record, err)
			continue
		}
		if len(s.Tasks) != c.tasks {
			t.Errorf("%s: %d tasks, want %d", c.record, len(s.Tasks), c.tasks)
		}
	}
}
