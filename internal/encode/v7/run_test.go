package v7_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Every family of tasks at shapes that no record has, against the operations themselves.
func TestTasksCompute(t *testing.T) {
	eachCase(t, append(families, "pooling"), func(t *testing.T, c *testCase) { c.runNative(t) })
}

// Windows by their taps, as they are where the chip's memory has no room for the tensor.
func TestWindowsByTaps(t *testing.T) {
	small := *h13(t)
	small.Sizes.OnChip = 1 << 11
	eachCase(t, []string{"taps"}, func(t *testing.T, c *testCase) {
		program := c.program(t)
		c.compare(t, program.Functions[0], compile(t, &compiler.Job{Target: &small, Program: program, Strict: true}))
	})
}

// Products have as many tasks as Apple's compiler made of them.
func TestProductsHaveApplesTasks(t *testing.T) {
	eachCase(t, []string{"counts"}, func(t *testing.T, c *testCase) {
		s, err := nativeSegment(t, c.program(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Tasks) != c.tasks {
			t.Errorf("%d tasks, want %d", len(s.Tasks), c.tasks)
		}
	})
}

// A program whose encoding is certain compiles strictly to the same bytes whatever the order of what has none, and every bit
// of every task is known.
func TestProgramsAreStrict(t *testing.T) {
	eachCase(t, append(families, "pooling"), func(t *testing.T, c *testCase) {
		var first []byte
		for _, seed := range []uint64{0, 3} {
			s := compile(t, &compiler.Job{Target: h13(t), Program: c.program(t), Strict: true, Seed: seed})
			data, err := s.File.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = data
			} else if !bytes.Equal(data, first) {
				t.Error("stored in another order, it becomes other bytes")
			}
		}
	})
}

// compare runs a segment and compares with the operations themselves.
func (c *testCase) compare(t *testing.T, fn *mil.Function, s *segment.Segment) {
	t.Helper()
	if c.tasks != 0 && len(s.Tasks) != c.tasks {
		t.Errorf("%d tasks, want %d", len(s.Tasks), c.tasks)
	}
	inputs := c.values(fn)
	got := runContainer(t, s.File, s.Target.Numerics, inputs)
	args := map[string]ops.Value{}
	for _, in := range fn.Inputs {
		typ := in.Type.(*mil.TensorType)
		shape, _ := typ.Shape.Ints()
		d := tensor.Float32
		if typ.DType == tensor.Bool {
			d = tensor.Bool
		}
		args[in.Name] = tensor.FromFloat32s(d, inputs[in.Name], shape...)
	}
	ev, err := ops.NewEvaluator(fn, ops.FP32)
	if err != nil {
		t.Fatal(err)
	}
	results, err := ev.Run(context.Background(), args)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range results[0].(*tensor.Tensor).Float32s() {
		if got[i] != want && !c.near(got[i], want) {
			t.Fatalf("element %d is %v, want %v", i, got[i], want)
		}
	}
}

// near reports whether a result is as near to another as the case asks for.
func (c *testCase) near(got, want float32) bool {
	d := math.Abs(float64(got) - float64(want))
	return d <= c.abs+max(c.rel, fp16Unit)*math.Abs(float64(want))+0x1p-24
}

// runContainer runs the container of a model and returns its one output.
func runContainer(t testing.TB, file *hwx.File, n hal.Numerics, inputs map[string][]float32) []float32 {
	t.Helper()
	ports := map[string][]float32{}
	for name, v := range inputs {
		ports[name+"__engine"] = v
	}
	return runPorts(t, file, n, ports)
}

// runPorts runs a container, whose inputs are by the names of ports, and returns its one output.
func runPorts(t testing.TB, file *hwx.File, n hal.Numerics, inputs map[string][]float32) []float32 {
	t.Helper()
	p, err := engine.Load(file, n)
	if err != nil {
		t.Fatal(err)
	}
	c := p.NewContext()
	for name, v := range inputs {
		if err := c.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.RunAll(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	for _, q := range p.Ports() {
		if q.Direction == engine.Output {
			y := make([]float32, q.Len())
			if err := c.Get(q.Name, y); err != nil {
				t.Fatal(err)
			}
			return y
		}
	}
	t.Fatal("the program has no output")
	return nil
}
