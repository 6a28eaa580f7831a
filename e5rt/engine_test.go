package e5rt_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// bracketed is y = 2x+1 on the engine in halves, between ports of a type.
func bracketed(t testing.TB, d tensor.DType) *maker {
	m := newMaker(t)
	m.value("x", d, 2, 3)
	m.value("y", d, 2, 3)
	m.value("x__engine", tensor.Float16, 2, 3)
	m.value("y__engine", tensor.Float16, 6)
	m.inputs("x")
	m.cast("x", "x__engine")
	m.onEngine(linear(t, "x__engine", "y__engine", 6, 2, 1), []string{"x__engine"}, []string{"y__engine"})
	m.cast("y__engine", "y")
	m.outputs("y")
	return m
}

var (
	someInput  = []float32{0, 1, -2, 3.5, 100, -0.25}
	someOutput = []float32{1, 3, -3, 8, 201, 0.5}
)

func TestEngine(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float16, tensor.Float32} {
		t.Run(d.String(), func(t *testing.T) {
			m := bracketed(t, d)
			b := m.bundle()
			dir := filepath.Join(t.TempDir(), "net.bundle")
			if _, err := bundle.Write(dir, b.Content()); err != nil {
				t.Fatal(err)
			}
			fromDisk, err := bundle.Open(dir)
			check(t, err)
			defer fromDisk.Close()
			for _, b := range []*bundle.Bundle{b, fromDisk} {
				f := open(t, b, nil)
				want := e5rt.Port{Name: "x", Type: d, Shape: []int{2, 3}, Bytes: 6 * d.Size()}
				if in := f.Inputs(); len(in) != 1 || fmt.Sprint(in[0]) != fmt.Sprint(want) {
					t.Errorf("inputs %+v", in)
				}
				o := f.NewOperation()
				check(t, o.Set("x", tensor.FromFloat32s(d, slices.Clone(someInput), 2, 3)))
				check(t, o.Run(context.Background(), nil))
				y := get(t, o, "y")
				if y.DType() != d || !slices.Equal(y.Shape(), []int{2, 3}) || !slices.Equal(y.Float32s(), someOutput) {
					t.Errorf("y is %v: %v", y, y.Float32s())
				}
			}
		})
	}
}

// The runtime allocates nothing from the second run on, converts or not.
func TestNoAllocations(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float16, tensor.Float32, tensor.Int32} {
		o := bracketed(t, d).open(nil).NewOperation()
		x := tensor.FromFloat32s(d, slices.Clone(someInput), 2, 3)
		ctx := context.Background()
		run := func() {
			check(t, o.Set("x", x))
			check(t, o.Run(ctx, nil))
		}
		if n := testkit.Allocs(100, run); n != 0 {
			t.Errorf("%v: %v allocations", d, n)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	o := bracketed(b, tensor.Float32).open(nil).NewOperation()
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		check(b, o.Run(ctx, nil))
	}
}

// Where nothing is converted, the engine works in the memory of the caller.
func TestBind(t *testing.T) {
	o := bracketed(t, tensor.Float16).open(nil).NewOperation()
	x, y := tensor.New(tensor.Float16, 2, 3), tensor.New(tensor.Float16, 2, 3)
	check(t, o.Bind("x", x))
	check(t, o.Bind("y", y))
	for k := range 3 {
		values := make([]float32, 6)
		for i := range values {
			values[i] = float32(10*k + i)
		}
		check(t, x.CopyFrom(tensor.FromFloat32s(tensor.Float16, values, 2, 3)))
		check(t, o.Run(context.Background(), nil))
		for i, v := range y.Float32s() {
			if v != 2*values[i]+1 {
				t.Errorf("run %d: element %d is %v", k, i, v)
			}
		}
	}
	start, _ := y.Memory()
	if got, _ := get(t, o, "y").Memory(); got != start {
		t.Error("the port is not bound to the memory")
	}

	turned, err := tensor.New(tensor.Float16, 3, 2).Transpose(1, 0)
	check(t, err)
	odd, err := tensor.FromBytes(tensor.Float16, []int{2, 3}, make([]byte, 64)[1:])
	check(t, err)
	for name, err := range map[string]error{
		"port":    o.Bind("z", x),
		"symbol":  o.Bind("x__engine", x),
		"type":    o.Bind("x", tensor.New(tensor.Float32, 2, 3)),
		"shape":   o.Bind("x", tensor.New(tensor.Float16, 6)),
		"layout":  o.Bind("x", turned),
		"address": o.Bind("x", odd),
		"output":  o.Set("y", y),
		"value":   o.Set("x", "text"),
		"copied":  o.Set("x", tensor.New(tensor.Float32, 2, 3)),
	} {
		if err == nil {
			t.Errorf("%s: not refused", name)
		}
		if notFound := errors.Is(err, e5rt.ErrNotFound); notFound != (name == "port" || name == "symbol" || name == "output") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A function that gives what it takes copies it: both ports are the caller's.
func TestIdentity(t *testing.T) {
	m := newMaker(t)
	m.value("x", tensor.Float16, 4)
	m.value("y", tensor.Float16, 2, 2)
	m.inputs("x")
	m.cast("x", "y")
	m.outputs("x", "y")
	o := m.open(nil).NewOperation()
	y := tensor.New(tensor.Float16, 2, 2)
	check(t, o.Bind("y", y))
	check(t, o.Set("x", tensor.FromFloat32s(tensor.Float16, []float32{1, 2, 3, 4}, 4)))
	check(t, o.Run(context.Background(), nil))
	if got := y.Float32s(); !slices.Equal(got, []float32{1, 2, 3, 4}) {
		t.Errorf("y is %v", got)
	}
	if got := get(t, o, "x").Float32s(); !slices.Equal(got, []float32{1, 2, 3, 4}) {
		t.Errorf("x is %v", got)
	}
}

// A segment's value goes on to the next one without a copy.
func TestTwoSegments(t *testing.T) {
	m := newMaker(t)
	for _, s := range []string{"x", "between", "y"} {
		m.value(s, tensor.Float16, 6)
	}
	m.inputs("x")
	m.onEngine(linear(t, "x", "between", 6, 2, 0), []string{"x"}, []string{"between"})
	m.onEngine(linear(t, "between", "y", 6, 1, 1), []string{"between"}, []string{"y"})
	m.outputs("y")
	o := m.open(nil).NewOperation()
	check(t, o.Set("x", tensor.FromFloat32s(tensor.Float16, slices.Clone(someInput), 6)))
	check(t, o.Run(context.Background(), nil))
	if got := get(t, o, "y").Float32s(); !slices.Equal(got, someOutput) {
		t.Errorf("y is %v", got)
	}
}

// The kernel section of a container is the file of weights that its segment
// names.
func TestWeights(t *testing.T) {
	f16, dims := tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 6}
	m := newMaker(t)
	m.value("x", f16, 6)
	m.value("y", f16, 6)
	m.inputs("x")
	file := container(t, 12, []hwx.PortSpec{port("x", hwx.In, f16, 1, 1, 1, 6), port("y", hwx.Out, f16, 1, 1, 1, 6)},
		&td.Op{Params: &td.ElementWise{Kind: td.EWMult}, Operands: []td.Operand{
			td.Dense(base(1), 0, f16, dims), td.Dense(base(0), 0, f16, dims), td.Dense(hwx.BaseConst, 0, f16, dims),
		}})
	m.onEngine(file, []string{"x"}, []string{"y"})
	m.outputs("y")
	w := tensor.FromFloat32s(f16, []float32{1, 2, 3, 4, 5, 6}, 6)
	m.weights = map[string][]byte{"weights/w.bin": w.Bytes()}
	m.manifest.Functions[0].Segments[0].Weights = "weights/w.bin"

	// Without weights, or with too few, the container is refused.
	segment := &m.manifest.Functions[0].Segments[0]
	for _, weights := range []map[string][]byte{nil, {segment.Weights: w.Bytes()[:10]}} {
		short := *m
		short.manifest.Functions = slices.Clone(m.manifest.Functions)
		short.manifest.Functions[0].Segments = []bundle.Segment{*segment}
		if short.weights = weights; weights == nil {
			short.manifest.Functions[0].Segments[0].Weights = ""
		}
		_, err := e5rt.Open(short.bundle(), e5rt.Options{})
		if at, ok := errors.AsType[*e5rt.Error](err); !ok || at.Operation != "Op0_AneInference" {
			t.Errorf("%d files of weights: %v", len(weights), err)
		}
	}

	b := m.bundle()
	dir := filepath.Join(t.TempDir(), "net.bundle")
	_, err := bundle.Write(dir, b.Content())
	check(t, err)
	fromDisk, err := bundle.Open(dir)
	check(t, err)
	defer fromDisk.Close()
	for _, b := range []*bundle.Bundle{b, fromDisk} {
		o := open(t, b, nil).NewOperation()
		check(t, o.Set("x", tensor.FromFloat32s(f16, []float32{1, 1, 1, 2, 2, 2}, 6)))
		check(t, o.Run(context.Background(), nil))
		if got := get(t, o, "y").Float32s(); !slices.Equal(got, []float32{1, 2, 3, 8, 10, 12}) {
			t.Errorf("y is %v", got)
		}
	}
}

func TestConcurrent(t *testing.T) {
	f := bracketed(t, tensor.Float32).open(nil)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			o := f.NewOperation()
			x := make([]float32, 6)
			for k := range 50 {
				for i := range x {
					x[i] = float32(g*100 + k + i)
				}
				err := errors.Join(o.Set("x", tensor.Of(x, 2, 3)), o.Run(context.Background(), nil))
				v, _ := o.Value("y")
				for i, y := range v.(*tensor.Tensor).Float32s() {
					if err != nil || y != 2*x[i]+1 {
						t.Errorf("goroutine %d, run %d: element %d is %v, %v", g, k, i, y, err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

func TestCancel(t *testing.T) {
	o := bracketed(t, tensor.Float16).open(nil).NewOperation()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := o.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	check(t, o.Run(context.Background(), nil)) // it may be used again
}

// Functions of a bundle share a container.
func TestSharedContainer(t *testing.T) {
	m := newMaker(t)
	for _, s := range []string{"x", "y"} {
		m.value(s, tensor.Float16, 6)
	}
	m.inputs("x")
	m.onEngine(linear(t, "x", "y", 6, 2, 0), []string{"x"}, []string{"y"})
	m.outputs("y")
	first, second := m.manifest.Functions[0], m.manifest.Functions[0]
	second.Name = "again"
	m.manifest.Functions = []bundle.Function{first, second}
	again := *m.function
	again.Name = "again"
	b, err := bundle.New(m.manifest, &e5.Program{Functions: []*e5.Function{m.function, &again}}, m.containers, "", nil)
	check(t, err)
	lib, err := e5rt.Open(b, e5rt.Options{})
	check(t, err)
	for k, f := range lib.Functions() {
		o := f.NewOperation()
		check(t, o.Set("x", tensor.FromFloat32s(tensor.Float16, []float32{0, 1, 2, 3, 4, float32(k)}, 6)))
		check(t, o.Run(context.Background(), nil))
		if got := get(t, o, "y").Float32s(); !slices.Equal(got, []float32{0, 2, 4, 6, 8, float32(2 * k)}) {
			t.Errorf("function %s: y is %v", f.Name(), got)
		}
	}
	if _, err := lib.Function("none"); !errors.Is(err, e5rt.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
