package engine_test

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
)

// A control switches one rule off in a recorded program, by changing the
// register that asks for it.
type control struct {
	rule   string
	record string
	task   int
	field  *td.Field
	value  uint32
}

var controls = []control{
	{"transpose of the array's result", "chain_base_matmul_d256_s64", 1, td.V7TransposeArray, 0},
	{"transpose on reading source 2", "binary_add_c64_constant_blob", 1, td.V7Transpose2, 0},
	{"transpose on reading source 1", "floor_r_1x64x1x1", 3, td.V7Transpose1, 0},
	{"transpose of the planar result", "chain_base_layer_norm_d256_s64", 0, td.V7TransposePlanar, 0},
	{"broadcast along W", "chain_attn_s64_dh64", 4, td.V7Broadcast2W, 0},
	{"broadcast along H", "layer_norm_1x64x8x8", 1, td.V7Broadcast1H, 0},
	{"broadcast along D", "layer_norm_1x64x8x8", 1, td.V7Broadcast1D, 0},
	{"broadcast along C", "layer_norm_1x64x8x8", 2, td.V7Broadcast2C, 0},
	{"depth", "layer_norm_1x64x8x8", 0, td.V7Src1.Depth, 0},
	{"interleave of the result", "rrmm_r2rr_m64_k64_n64_tx0_ty0", 0, td.V7DstFormat.Interleave, 1},
	{"group stride on chip", "reduce_probe_sum_ax2_1x64x8x8", 1, td.V7L2Src1.Group, 0x20},
	{"group stride in memory", "env_bcast_add_8x64x8x8_runtime_8x64x8x8", 0, td.V7Src1.Group, 0},
	{"groups of a convolution", "conv_probe_k1_c128_n128_s16_st1_g4_bias0_same", 0, td.V7Groups, 1},
	{"ReLU on source 2", "env_chain_residual_relu_1x64x8x8", 0, td.V7Source2ReLU, 0},
	{"ReLU on the planar result", "chain_add_relu_c512", 0, td.V7PEReLU, 0},
	{"ReLU on the array's result", "chain_pair_mm_bias_relu_d256_s64", 1, td.V7NENonLinear, 0},
	{"keeping a source on chip", "chain_res_gelu_d256", 0, td.V7SourceConfig.Type, 2},
	{"unicast", "env_conv_k3_c64_n64_s16_st1_g64_bias0", 0, td.V7Unicast, 0},
	{"padding", "env_conv_k3_c64_n64_s16_st1_g1_bias1", 0, td.V7PadLeft, 0},
	{"bias", "env_conv_k3_c64_n64_s16_st1_g1_bias1", 0, td.V7NEBias, 0},
	{"stride", "env_conv_k3_c64_n64_s16_st2_g1_bias0", 0, td.V7StrideX, 1},
	{"kernel base", "rrmm_r2rr_m16_k64_n64_tx0_ty0", 0, td.V7KernelBase[0], 5},
	{"lanes", "conv_k1_c256_n512_s1_bias0", 0, td.V7LanesLog2, 4},
	{"engines", "conv_k1_c256_n512_s1_bias0", 0, td.V7EnginesLog2, 3},
	{"negation of source 1", "layer_norm_1x64x8x8", 1, td.V7PENegate1, 0},
	{"negation of source 2", "binary_sub_1x2048x1x1", 0, td.V7PESource2Sign, 2},
	{"operator", "binary_mul_1x64x8x8", 0, td.V7PEOperator, 0},
	{"magnitude", "unary_abs_c128", 0, td.V7PECondition, 0},
	{"bias of the planar engine", "env_bcast_add_1x64x8x8_scalar", 0, td.V7PEBias, 0},
	{"scale of the planar engine", "binary_mul_c64_constant_scalar", 0, td.V7PEScale, 0x3c00},
	{"final scale", "reduce_mean_axes_2_3", 0, td.V7PEFinalScale, 0x3f800000},
	{"reciprocal", "chain_attn_s64_dh64", 6, td.V7PEFinal, 0},
	{"reciprocal square root", "layer_norm_1x64x8x8", 1, td.V7PEFinal, 0},
	{"accumulator bias", "unary_rsqrt_c64", 0, td.V7NEAccumulatorBias, 0},
	{"post scale", "chain_pair_mm_mul_d256_s64", 1, td.V7NEPostScale, 0x3c00},
	{"post scale before a table", "unary_exp_c64", 0, td.V7NEPostScale, 0x3c00},
	{"maximum over channels", "reduce_max_axes_1", 0, td.V7NEOperation, 0},
	{"table", "unary_tanh_c64", 0, td.V7NENonLinear, 0},
}

// TestControls shows that the comparison of TestRecords would notice: with a
// rule switched off, a recorded program is refused or gives a wrong result.
func TestControls(t *testing.T) {
	byCase := make(map[string]*record)
	for _, r := range records(t) {
		byCase[r.Case] = r
	}
	var refused, wrong int
	for _, c := range controls {
		t.Run(c.rule, func(t *testing.T) {
			r := byCase[c.record]
			if r == nil {
				t.Fatalf("no record %s", c.record)
			}
			b := r.rebuild(t)
			b.change(t, c)
			p, err := engine.Load(b.file, plain)
			if err != nil {
				refused++
				t.Logf("refused: %v", err)
				return
			}
			tol := toleranceOf(r.Case)
			in := b.inputValues(newRand(0))
			got, want := execute(t, p, in)[b.output], b.evaluate(t, in)
			for i := range want {
				if !tol.allows(got[i], want[i]) {
					wrong++
					t.Logf("element %d is %v, want %v", i, got[i], want[i])
					return
				}
			}
			t.Errorf("%s: the result is right without the rule", c.record)
		})
	}
	t.Logf("of %d rules switched off, %d were refused and %d gave a wrong result", len(controls), refused, wrong)
}

// change sets a field of a task in the text of the container.
func (b *rebuilt) change(t testing.TB, c control) {
	t.Helper()
	program, err := b.file.Program()
	if err != nil {
		t.Fatal(err)
	}
	text := b.file.Text()
	tasks, err := td.DecodeStream(td.V7, text.Data, 0, program.FirstTaskWords)
	if err != nil {
		t.Fatal(err)
	}
	var list []*td.Task
	for i, task := range tasks {
		if i == c.task {
			if v, _ := task.Get(c.field); v == c.value {
				t.Fatalf("%s is %#x already", c.field, v)
			}
			if err := task.Set(c.field, c.value); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, task.Task)
	}
	if text.Data, err = td.EncodeStream(list); err != nil {
		t.Fatal(err)
	}
}
