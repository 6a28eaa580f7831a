package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// inPlace is a program whose tasks write over what they read: a state. Of the softmax,
// a tile is a line so long that it would ask whether to stop.
//
//	s ← s·x    s ← softmax s    y ← s·s + 1    s ← s·y
func inPlace(t *testing.T, target string, version td.Version) *hwx.File {
	const c, w = 3, 20000
	tgt, err := hal.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	port := func(name string, d hwx.Direction) hwx.PortSpec {
		return hwx.PortSpec{Name: name, Direction: d, Element: hwx.ElementFloat16, Shape: [4]uint32{1, c, 1, w}}
	}
	spec := hwx.Spec{
		Form: hwx.Form2026, Subtype: tgt.CPUSubtype,
		Ports: []hwx.PortSpec{port("x", hwx.In), port("s", hwx.InOut), port("y", hwx.Out)},
	}
	at := func(i int) td.Operand {
		return td.Dense(hwx.BasePorts+i, 0, tensor.Float16, [td.NumAxes]int{1, 1, c, 1, w})
	}
	x, s, y := at(0), at(1), at(2)
	return readBack(t, spec, tasksOf(t, version,
		&td.Op{Params: &td.ElementWise{Kind: td.EWMult}, Operands: []td.Operand{s, s, x}},
		&td.Op{Params: &td.Softmax{Axis: td.AxisW}, Operands: []td.Operand{s, s},
			Epilogue: []td.MicroOp{{Code: td.MicroScaleBias, A: 1000, B: 0}}},
		&td.Op{Params: &td.ElementWise{Kind: td.EWMult}, Operands: []td.Operand{y, s, s},
			Epilogue: []td.MicroOp{{Code: td.MicroScaleBias, A: 1, B: 1}}},
		&td.Op{Params: &td.ElementWise{Kind: td.EWMult}, Operands: []td.Operand{s, s, y}},
	))
}

// dispatches are programs of both encodings.
func dispatches(t *testing.T) map[string]*hwx.File {
	files := map[string]*hwx.File{
		"in place":               inPlace(t, "virtual", td.V256),
		"in place, as extension": inPlace(t, "h13", td.V7),
		"products":               virtualFile(t, "virtual", td.V256, longProduct(1<<16), longProduct(1<<10)),
	}
	for _, o := range writtenPrograms {
		files[o.name] = o.file(t)
	}
	size := dims{24, 20, 20}
	for name, b := range map[string]both{"3x3": convolutionOf(size, size, 3, 2), "sum": sumOf(size), "plane sums": planeSumsOf(size)} {
		for encoding, file := range b.files(t) {
			files[name+" by "+encoding] = file
		}
	}
	return files
}

// begin fills the ports of a context with numbers.
func begin(t *testing.T, p *engine.Program, c *engine.Context) {
	t.Helper()
	for i, port := range p.Ports() {
		surface, err := c.SurfaceAt(i)
		if err != nil {
			t.Fatal(err)
		}
		clear(surface)
		if port.Direction != engine.Output {
			x := make([]float32, port.Len())
			for k := range x {
				x[k] = float32((k+i)%7)/4 - 0.5
			}
			if err := c.Set(port.Name, x); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// results are the bytes of outputs and states.
func results(t *testing.T, p *engine.Program, c *engine.Context) (all [][]byte) {
	t.Helper()
	for i, port := range p.Ports() {
		if port.Direction != engine.Input {
			surface, err := c.SurfaceAt(i)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, bytes.Clone(surface))
		}
	}
	return all
}

// A dispatch in pieces, and one that is stopped at every tile of every task, has the bits
// of one that runs through, however many threads there are.
func TestPieces(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	ctx := context.Background()
	for name, file := range dispatches(t) {
		p := load(t, file, plain)
		c := p.NewContext()
		begin(t, p, c)
		if err := p.RunAll(ctx, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := fmt.Sprintf("%x", results(t, p, c))
		check := func(how string) {
			t.Helper()
			if got := fmt.Sprintf("%x", results(t, p, c)); got != want {
				t.Errorf("%s: %s gives other bits", name, how)
			}
		}
		n := len(p.Tasks())
		for i := range n + 1 {
			runtime.GOMAXPROCS(1 + i%3)
			begin(t, p, c)
			if next, err := p.Run(ctx, c, 0, i); next != i || err != nil {
				t.Fatalf("%s: tasks 0 to %d: %d, %v", name, i, next, err)
			}
			if next, err := p.Run(ctx, c, i, n); next != n || err != nil {
				t.Fatalf("%s: tasks %d to %d: %d, %v", name, i, n, next, err)
			}
			check(fmt.Sprint("cut before task ", i))
		}
		p.StopEverywhere(c)
		begin(t, p, c)
		stops := 0
		for at := 0; at < n; stops++ {
			runtime.GOMAXPROCS(1 + stops%3)
			next, err := p.Run(ctx, c, at, n)
			if next < at || next < n && !errors.Is(err, engine.ErrStopped) {
				t.Fatalf("%s: from task %d: %d, %v", name, at, next, err)
			}
			at = next
		}
		if stops < n {
			t.Errorf("%s: %d stops in %d tasks", name, stops, n)
		}
		check(fmt.Sprintf("%d stops", stops))
	}
}

// What a caller can do wrong with tasks, and what becomes of a dispatch that is given up.
func TestPiecesMistakes(t *testing.T) {
	ctx := context.Background()
	p := load(t, inPlace(t, "virtual", td.V256), plain)
	c := p.NewContext()
	for _, test := range []struct {
		i, j int
		msg  string
	}{
		{-1, 2, "tasks -1 to 2 of 4"},
		{0, 5, "tasks 0 to 5 of 4"},
		{3, 2, "tasks 3 to 2 of 4"},
		{2, 3, "go on with task 0, or begin"},
	} {
		if next, err := p.Run(ctx, c, test.i, test.j); err == nil || !strings.Contains(err.Error(), test.msg) || next != test.i {
			t.Errorf("%d to %d: got %d and %v, want an error with %q", test.i, test.j, next, err, test.msg)
		}
	}
	begin(t, p, c)
	if err := p.RunAll(ctx, c); err != nil {
		t.Fatal(err)
	}
	want := results(t, p, c)
	// Stop before a run ends it at once; the next one begins again, whole.
	c.Stop()
	if next, err := p.Run(ctx, c, 0, 4); next != 0 || !errors.Is(err, engine.ErrStopped) {
		t.Errorf("got %d and %v", next, err)
	}
	if next, err := p.Run(ctx, c, 0, 2); next != 2 || err != nil {
		t.Errorf("got %d and %v", next, err)
	}
	begin(t, p, c)
	if err := p.RunAll(ctx, c); err != nil {
		t.Fatal(err)
	}
	if got := results(t, p, c); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("after a dispatch that was given up, results are others")
	}
}
