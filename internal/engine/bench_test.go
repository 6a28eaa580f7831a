package engine_test

import (
	"context"
	"testing"

	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// dispatcher runs a program over and over with an input that changes, and checks
// every result.
type dispatcher struct {
	p    *engine.Program
	c    *engine.Context
	x, y []float32
}

func newDispatcher(t testing.TB) *dispatcher {
	p := load(t, own(t, "identity linear layer").file(t), plain)
	return &dispatcher{p: p, c: p.NewContext(), x: make([]float32, 64), y: make([]float32, 64)}
}

func (d *dispatcher) dispatch(t testing.TB, n int) {
	for i := range d.x {
		d.x[i] = float32((n+3*i)%512-256) / 8
	}
	if err := d.c.Set("x", d.x); err != nil {
		t.Fatal(err)
	}
	if err := d.p.RunAll(context.Background(), d.c); err != nil {
		t.Fatal(err)
	}
	if err := d.c.Get("y", d.y); err != nil {
		t.Fatal(err)
	}
	for i := range d.x {
		if d.y[i] != d.x[i] {
			t.Fatalf("dispatch %d: element %d is %v, want %v", n, i, d.y[i], d.x[i])
		}
	}
}

func BenchmarkDispatch(b *testing.B) {
	d := newDispatcher(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		d.dispatch(b, n)
		n++
	}
}

// TestDispatches runs a program 100,000 times.
func TestDispatches(t *testing.T) {
	d := newDispatcher(t)
	n := 0
	if allocs := testkit.Allocs(100_000, func() { d.dispatch(t, n); n++ }); allocs != 0 {
		t.Errorf("%v allocations per dispatch, want 0", allocs)
	}
}

// TestRunAllocatesNothing holds for every kind of task.
func TestRunAllocatesNothing(t *testing.T) {
	for _, o := range writtenPrograms {
		p := load(t, o.file(t), h13(t))
		c := p.NewContext()
		if allocs := testkit.Allocs(10, func() {
			if err := p.RunAll(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		}); allocs != 0 {
			t.Errorf("%s: %v allocations per run, want 0", o.name, allocs)
		}
	}
}
