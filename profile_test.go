package espalier_test

import (
	"context"
	"testing"

	"github.com/espalier-ane/espalier"
)

// The work of a model is the same on both encodings: its convolutions have the multiply-adds that their shapes say, and a profile
// has every run of every task with the operations that it computes.
func TestProfileCountsTheWork(t *testing.T) {
	const runs = 3
	for _, target := range []string{"virtual", "h13"} {
		f := openModel(t, espalier.Config{Target: target}, "conv2d_basic").Functions()[0]
		var p espalier.Profile
		in := map[string]any{"x": make([]float32, 3*17*15)}
		for range runs {
			if _, err := f.Predict(p.Watch(context.Background()), in); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.Predict(context.Background(), in); err != nil { // nobody watches
			t.Fatal(err)
		}
		flops := map[string]float64{}
		for _, s := range f.Profile(&p) {
			if s.Runs != runs {
				t.Errorf("%s: %s has %d runs", target, s.Name, s.Runs)
			}
			for _, task := range s.Tasks {
				if task.Runs != runs || task.Best <= 0 || task.Total < task.Best || task.Bytes <= 0 || task.Result == "" {
					t.Errorf("%s: %+v", target, task)
				}
				for _, op := range task.Operations {
					flops[op] += task.FLOPs
				}
			}
		}
		for op, want := range map[string]float64{
			"input_3_cast_fp16": 2 * 8 * 17 * 15 * (3 * 3 * 3),
			"input_7_cast_fp16": 2 * 12 * 8 * 7 * (8 * 3 * 3),
			"var_40_cast_fp16":  2 * 4 * 8 * 7 * 12,
		} {
			const epilogue = 1.1 // bias and relu are steps of some encodings
			if got := flops[op]; got < want || got > want*epilogue {
				t.Errorf("%s: %s has %v operations, want %v", target, op, got, want)
			}
		}
	}
}
