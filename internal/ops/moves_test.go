package ops

import (
	"fmt"
	"testing"
)

// moveCase is a call and what it gives, of an operation that moves, selects or makes elements. Expected values are those of
// coremltools' value inference, or of NumPy where it has none or is known to be wrong: interleaved concat,
// one_hot, reshape_like, reverse_sequence, sliding_windows, empty slices, the order of equal elements, topk
// of unsigned elements.
type moveCase struct {
	opset   Opset
	op      string
	args    args
	results results
}

type results []expected

// expected is a result: its shape, and its elements as numbers.
type expected struct {
	shape []int
	vals  []float64
}

func result(shape []int, vals ...float64) expected { return expected{shape, vals} }

func runMoves(t *testing.T, cases []moveCase, opts ...evalOption) {
	t.Helper()
	for i, tt := range cases {
		t.Run(fmt.Sprintf("%d_%s", i, tt.op), func(t *testing.T) {
			got := evalOp(t, tt.opset, tt.op, tt.args, opts...)
			if len(got) != len(tt.results) {
				t.Fatalf("%d results, expected %d", len(got), len(tt.results))
			}
			for i, want := range tt.results {
				wantShape(t, got[i], want.shape...)
				wantFloats(t, got[i], 0, want.vals...)
			}
		})
	}
}
