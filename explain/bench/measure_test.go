package bench

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/internal/testkit"
)

func testModel(t *testing.T) string {
	return filepath.Join(testkit.Root(t), "testdata", "models", "conv2d_basic", "model.mlpackage")
}

func convolutions(t *testing.T) (*espalier.Function, map[string]any) {
	t.Helper()
	m, err := espalier.Open(testModel(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m.Functions()[0], map[string]any{"x": make([]float32, 3*17*15)}
}

func TestMeasure(t *testing.T) {
	f, inputs := convolutions(t)
	r, err := Measure(t.Context(), f, inputs, Options{Model: "m", Repeat: 2, Duration: 1, Streams: []int{1, 3}, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case r.First == nil || r.First.CompileMS <= 0 || r.First.LoadMS <= 0 || r.First.RunMS <= 0:
		t.Errorf("the first result: %+v", r.First)
	case r.Latency == nil || r.Latency.Runs != 2 || r.Latency.MinMS <= 0:
		t.Errorf("latency: %+v", r.Latency)
	case len(r.Streams) != 2 || r.Streams[1].Runs != 3*2 || r.Streams[1].PerSecond <= 0:
		t.Errorf("streams: %+v", r.Streams)
	case len(r.Batches) != 1 || r.BatchNote == "":
		t.Errorf("batches: %+v, %q", r.Batches, r.BatchNote)
	case r.Memory.Weights <= 0 || r.Memory.Scratch <= 0:
		t.Errorf("memory: %+v", r.Memory)
	case r.Roofline == nil || r.Roofline.GFLOPS <= 0 || r.Roofline.MemoryGBPS <= 0 || r.Roofline.L2GBPS <= 0 || r.Roofline.Threads != 1:
		t.Errorf("roofline: %+v", r.Roofline)
	case r.Profile == nil || len(r.Profile.Tasks) != 3 || r.Profile.Tasks[0].Bound == "" || r.Profile.CompileMS != 0:
		t.Errorf("profile: %+v", r.Profile)
	}
}

// What was measured until an interrupt is in the report.
func TestInterruptedMeasure(t *testing.T) {
	f, inputs := convolutions(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Measure(ctx, f, inputs, Options{Repeat: 2, Progress: func(_, _ int, what string) {
		if what == "streams" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || !r.Interrupted {
		t.Fatalf("error %v, interrupted %v", err, r.Interrupted)
	}
	if r.First == nil || r.Latency == nil || r.Profile == nil || r.Streams != nil || r.Roofline != nil {
		t.Errorf("got %+v", r)
	}
}
