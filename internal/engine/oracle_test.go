package engine_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/tensor"
)

// A tolerance bounds the difference to the operation itself: absolute, and in
// parts of the value.
type tolerance struct{ abs, rel float64 }

func (tol tolerance) allows(got, want float32) bool {
	d := math.Abs(float64(got) - float64(want))
	return d <= tol.abs+tol.rel*math.Abs(float64(want)) || got == want
}

// ulp is a unit in the last place of fp16, in parts of the value.
const ulp = 0x1p-10

// tolerances says how far a record may be from the operation, by the beginning
// of its name; the longest one holds. Where nothing stands, one rounding to fp16
// is all: half a unit.
var tolerances = map[string]tolerance{
	"":                      {0x1p-25, ulp / 2},
	"conv_":                 {0x1p-15, ulp}, // sums in another order
	"env_conv_":             {0x1p-15, ulp},
	"matmul_":               {0x1p-15, ulp},
	"rrmm_r2rr_":            {0x1p-15, ulp},
	"chain_base_matmul":     {0x1p-15, ulp},
	"chain_pair_mm_":        {0x1p-15, ulp},
	"chain_pair_mm_add":     {0x1p-10, ulp}, // the product is stored in between
	"reduce_":               {0x1p-15, ulp},
	"layer_norm_":           {0x1p-10, 2 * ulp},
	"chain_base_layer_norm": {0x1p-10, 2 * ulp},
	"unary_sigmoid":         {0.0035, 0},
	"unary_tanh":            {0.0018, 0},
	"unary_exp":             {0, 1.5 * ulp},
	"unary_rsqrt":           {0, 2.5 * ulp},
	"binary_real_div":       {0, 2 * ulp},
	"binary_pow":            {0, 12 * ulp}, // an error of the logarithm counts as often as the exponent says
	"chain_base_gelu":       {0.0062, ulp},
	"chain_res_gelu":        {0.0062, ulp},
	"env_act_gelu":          {0.0062, ulp},
	"chain_pair_mm_gelu":    {0.0062, ulp},
	"chain_ffn":             {0.02, 4 * ulp}, // 1024 values of the gelu table, weighted
	"softmax_":              {0x1p-11, 2 * ulp},
	"chain_attn":            {0x1p-9, 4 * ulp},
}

func toleranceOf(name string) tolerance {
	best := ""
	for prefix := range tolerances {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	return tolerances[best]
}

// refusals are the records that cannot be executed, and the register that says
// why. Everything else must execute, so every program of the fact sheet's
// section 6.2 that is among the records does.
var refusals = map[string]string{}

// TestRecords executes what Apple's compiler emitted for small programs, on
// random data, and compares with the operation that their MIL describes.
func TestRecords(t *testing.T) {
	var executed, refused, wrong int
	for _, r := range records(t) {
		t.Run(r.Case, func(t *testing.T) {
			b := r.rebuild(t)
			_, err := engine.Load(b.file, plain)
			var e *engine.Error
			switch field, expected := refusals[r.Case]; {
			case err == nil && expected:
				t.Fatalf("loads, but %s should stop it", field)
			case err != nil && expected && errors.As(err, &e) && e.Field != nil && e.Field.Name == field:
				refused++
				t.Logf("refused: %v", err)
				return
			case err != nil:
				refused++
				t.Fatalf("refused: %v", err)
			}
			tol := toleranceOf(r.Case)
			var worst float64
			exact, total := 0, 0
			seeds := uint64(3)
			if b.isLarge() {
				seeds = 1
			}
			rows := gemm.Usable()
			for seed := range seeds {
				row := rows[seed%uint64(len(rows))]
				p, err := engine.LoadWith(b.file, engine.Options{Numerics: plain, Gemm: row.Name})
				if err != nil {
					t.Fatal(err)
				}
				in := b.inputValues(newRand(seed))
				got, want := execute(t, p, in)[b.output], b.evaluate(t, in)
				if len(got) != len(want) {
					t.Fatalf("got %d values, want %d", len(got), len(want))
				}
				for i := range want {
					total++
					rounded := tensor.RoundF16(want[i])
					if got[i] == rounded {
						exact++
					}
					worst = max(worst, math.Abs(float64(got[i])-float64(rounded)))
					if !tol.allows(got[i], want[i]) {
						wrong++
						t.Fatalf("element %d is %v, want %v", i, got[i], want[i])
					}
				}
			}
			executed++
			t.Logf("%d tasks, %d of %d values to the last bit, worst error %.2g", len(r.Tasks), exact, total, worst)
		})
	}
	t.Logf("of %d recorded programs, executed %d, refused %d, wrong %d", executed+refused+wrong, executed, refused, wrong)
	if executed < 65 || wrong != 0 {
		t.Errorf("executed %d, wrong %d; want 65 or more, and 0", executed, wrong)
	}
}
