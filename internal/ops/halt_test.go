package ops

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Once a halt is asked for, a loop does no more than what is under way.
func TestHaltEndsLoops(t *testing.T) {
	h := &halt{}
	var calls atomic.Int64
	h.For(1<<40, 1, func(lo, hi int) {
		if hi-lo != 1 {
			t.Errorf("%d items at once", hi-lo)
		}
		if calls.Add(1) == 100 {
			h.now.Store(true)
		}
	})
	if n := calls.Load(); n < 100 || n > 1000 {
		t.Errorf("the body was called %d times, and should have been some 100 times", n)
	}
	for range h.pieces(1 << 40) {
		t.Fatal("a piece after the halt")
	}
	var none *halt
	sum := 0
	for lo, hi := range none.pieces(3*piece + 1) {
		sum += hi - lo
	}
	if sum != 3*piece+1 {
		t.Errorf("the pieces have %d items", sum)
	}
}

// A copy in pieces is a copy: of views, with a conversion, and along any axis.
func TestCopyInPieces(t *testing.T) {
	x := seq(tensor.Int32, 3, 200, 331)
	view, err := x.Transpose(2, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := tensor.Scalar(int32(7)).BroadcastTo(2, 1, 90000)
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []*tensor.Tensor{x, view, wide} {
		for _, d := range []tensor.DType{tensor.Int32, tensor.Float32, tensor.Int64} {
			got, err := (*halt)(nil).convert(src, d)
			if err != nil {
				t.Fatal(err)
			}
			if got.DType() != d || !slices.Equal(got.Shape(), src.Shape()) || !slices.Equal(got.Int64s(), src.Int64s()) {
				t.Errorf("%v as %v is another array", src, d)
			}
		}
	}
}

// A deadline ends an operation in the middle: each of these would take far longer than the watchdog waits.
func TestDeadlineInsideOperation(t *testing.T) {
	plane, long := tensor.New(tensor.Float32, 1, 1, 2048, 2048), tensor.New(tensor.Float32, 1, 1, 1, 1<<20)
	for name, call := range map[string]struct {
		kind string
		args args
	}{
		"pooling":                {"avg_pool", args{"x": plane, "kernel_sizes": []int{2047, 2047}, "pad_type": "same"}},
		"convolution":            {"conv", args{"x": plane, "weight": tensor.New(tensor.Float32, 4, 1, 1023, 1023), "pad_type": "same"}},
		"depthwise convolution":  {"conv", args{"x": long, "weight": tensor.New(tensor.Float32, 1, 1, 1, 1<<20), "pad_type": "same"}},
		"transposed convolution": {"conv_transpose", args{"x": long, "weight": tensor.New(tensor.Float32, 1, 1, 1, 1<<20)}},
		"suppression": {"non_maximum_suppression", args{"boxes": tensor.New(tensor.Float32, 1, 1<<17, 4), "scores": tensor.New(tensor.Float32, 1, 1<<17, 1),
			"iou_threshold": 2.0, "score_threshold": -1.0, "max_boxes": 1 << 17, "per_class_suppression": false}},
	} {
		t.Run(name, func(t *testing.T) {
			watchdog := time.AfterFunc(30*time.Second, func() { panic(name + " does not end") })
			defer watchdog.Stop()
			p := buildOp(IOS15, call.kind, call.args, &evalConfig{}, asGiven)
			types, err := p.outputTypes(IOS15)
			if err != nil {
				t.Fatal(err)
			}
			p.declare(types)
			ev, err := NewEvaluator(p.f, FP32)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			if _, err = ev.Run(ctx, p.inputs); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// Steps are counted before they are done, over all operations of a run and all turns of a loop.
func TestSteps(t *testing.T) {
	b := mil.NewBuilder("main", "ios18")
	x := b.Input("x", mil.Tensor(tensor.Float32, 100, 100))
	y := b.Op("matmul", "y", x.Type, mil.Args{"x": x, "y": x}) // 100³ steps
	b.Return(b.Op("matmul", "z", x.Type, mil.Args{"x": y, "y": y}))
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	run := func(steps int64) error {
		ev, err := NewEvaluator(p.Functions[0], FP32)
		if err != nil {
			t.Fatal(err)
		}
		ev.SetLimits(limit.Limits{Steps: steps})
		_, err = ev.Run(context.Background(), map[string]Value{"x": tensor.New(tensor.Float32, 100, 100)})
		return err
	}
	if err := run(2_000_000); err != nil {
		t.Error(err)
	}
	var e *limit.Error
	if err := run(1_999_999); !errors.As(err, &e) || e.Resource != limit.Steps || e.Asked != 1_000_000 || e.InUse != 1_000_000 || e.Allowed != 1_999_999 {
		t.Errorf("the error is %v", err)
	}
}

// One row may be a whole array: reducing it ends with the halt, before an element is looked at, and in pieces it gives what
// it gives at once.
func TestReducedRowsAskTheirContext(t *testing.T) {
	ended := &halt{}
	ended.now.Store(true)
	poisoned := []float32{1, float32(math.NaN()), 2}
	for _, r := range reductions {
		if v := r.float(row[float32]{ended, poisoned}); v != v {
			t.Errorf("%s reads a row after the end", r.name)
		}
	}
	if at := placeOf(row[float32]{ended, poisoned}, func(a, b float64) bool { return a > b }); at != 0 {
		t.Errorf("a place is searched for after the end, up to %d", at)
	}
	long := make([]int64, 3*piece+1)
	for i := range long {
		long[i] = int64(i)
	}
	n := int64(len(long))
	all := row[int64]{nil, long}
	for name, got := range map[string][2]int64{
		"sum":      {intSum(all), n * (n - 1) / 2},
		"sum fp64": {int64(sumOf(all)), n * (n - 1) / 2},
		"greatest": {greatestOf[int64, int64](all), n - 1},
		"place":    {placeOf(all, func(a, b float64) bool { return a > b }), n - 1},
	} {
		if got[0] != got[1] {
			t.Errorf("the %s of %d elements is %d, want %d", name, n, got[0], got[1])
		}
	}
}
