package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// stopPrograms take a while: a convolution of version 7, and matrix products
// of version 256 over a source that stands still.
var stopPrograms = map[string]func(t *testing.T) *hwx.File{
	"version 7": func(t *testing.T) *hwx.File {
		size := dims{64, 256, 256}
		b := newBuilder(t)
		b.port("x", hwx.In, 1, 64, 256, 256)
		b.port("y", hwx.Out, 1, 64, 256, 256)
		b.task(td.TypeArray, size, size, true).engines(4, 2).
			set(td.V7KernelWidth, 3).set(td.V7KernelHeight, 3).set(td.V7PadLeft, 1).set(td.V7PadTop, 1).
			from(portA, portSurface(size)).to(portB, portSurface(size)).
			weights(&td.Weights{Values: make([]uint16, 64*64*9)})
		return b.file()
	},
	"version 256": func(t *testing.T) *hwx.File {
		return virtualFile(t, "virtual", td.V256, slices.Repeat([]*td.Op{longProduct(1 << 14)}, 64)...)
	},
}

// longProduct has four tiles in scratch, of 32x64 sums of n products each.
func longProduct(n int) *td.Op {
	still := func(h, w int) td.Operand {
		return td.Operand{Base: baseX, Type: tensor.Float16, Interleave: 1, Dims: [td.NumAxes]int{1, 1, 1, h, w}}
	}
	y := td.Dense(hwx.BaseScratch, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 64, 128})
	y.Strides[td.AxisH] = 256
	return &td.Op{Params: &td.MatMul{}, Operands: []td.Operand{y, still(64, n), still(n, 128)}}
}

// TestStop ends runs that are under way: Run returns soon, with the error of its
// context, and the context of the engine may be used again.
func TestStop(t *testing.T) {
	for name, file := range stopPrograms {
		t.Run(name, func(t *testing.T) {
			p := load(t, file(t), plain)
			c := p.NewContext()
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond) // 5 GFLOP take longer anywhere
			defer cancel()
			begin := time.Now()
			if err := p.RunAll(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: got %v, want %v", time.Since(begin), err, context.DeadlineExceeded)
			}
			// A tile takes some 20 ms. The limit is for what hangs: machines may be slow and busy.
			if d := time.Since(begin); d > 30*time.Second {
				t.Errorf("took %v to stop", d)
			}
			if err := p.RunAll(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a context that has ended: %v", err)
			}
		})
	}
	p := load(t, own(t, "relu").file(t), plain)
	c := p.NewContext()
	ended, end := context.WithCancel(context.Background())
	end()
	x, y := grid(newRand(1), 105), make([]float32, 105)
	if err := p.RunAll(ended, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, err := range []error{c.Set("x", x), p.RunAll(context.Background(), c), c.Get("y", y)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "after a run that was stopped", y, relu([][]float32{x}, nil))
}

// TestStoppableAllocatesNothing holds for a context that can end, too.
func TestStoppableAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, file := range []*hwx.File{own(t, "convolution 3x3 with bias").file(t), virtualFile(t, "virtual", td.V256, gainThenShift()...)} {
		p := load(t, file, plain)
		c := p.NewContext()
		if n := testkit.Allocs(100, func() { p.RunAll(ctx, c) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestTooMuchWork refuses programs that would take days, or could not be
// stopped.
func TestTooMuchWork(t *testing.T) {
	for _, test := range []struct {
		what string
		ops  []*td.Op
		msg  string
	}{
		{"in one tile", []*td.Op{longProduct(1 << 30)}, "cannot be divided"},
		{"in all", slices.Repeat([]*td.Op{longProduct(1 << 20)}, 1<<11+1), "of the tasks before"},
	} {
		_, err := engine.Load(virtualFile(t, "virtual", td.V256, test.ops...), plain)
		if err == nil || !strings.Contains(err.Error(), test.msg) {
			t.Errorf("%s: got %v, want %q", test.what, err, test.msg)
		}
	}
}
