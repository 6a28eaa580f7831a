package e5rt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

func portOf(t testing.TB, o *e5rt.Operation, name string) *e5rt.BoundPort {
	t.Helper()
	p, err := o.Port(name)
	check(t, err)
	return p
}

func newBuffer(t testing.TB, l e5rt.Layout) *e5rt.Buffer {
	t.Helper()
	b, err := e5rt.NewBuffer(l)
	check(t, err)
	return b
}

// fill gives a buffer values, and read returns them.
func fill(t testing.TB, b *e5rt.Buffer, values ...float32) {
	t.Helper()
	x, err := b.Tensor()
	check(t, err)
	check(t, x.CopyFrom(tensor.FromFloat32s(x.DType(), slices.Clone(values), x.Shape()...)))
}

func read(t testing.TB, b *e5rt.Buffer) []float32 {
	t.Helper()
	x, err := b.Tensor()
	check(t, err)
	return x.Float32s()
}

// Memory that lies as the engine wants it is used where it is; memory that lies as the port does is copied once; both
// give the same, and the operation counts the difference.
func TestPortModes(t *testing.T) {
	f := bracketed(t, tensor.Float32).open(nil)
	for _, mode := range []e5rt.Mode{e5rt.Copied, e5rt.Direct} {
		o := f.NewOperation()
		buffers := map[string]*e5rt.Buffer{}
		for _, name := range []string{"x", "y"} {
			p := portOf(t, o, name)
			l := p.Layout()
			if mode == e5rt.Direct {
				l = p.EngineLayout()
			}
			b := newBuffer(t, l)
			check(t, p.Bind(b))
			if got, err := p.Mode(); got != mode || err != nil || p.Name() != name || p.Input() != (name == "x") {
				t.Errorf("port %s: mode %v (%v), want %v", name, got, err, mode)
			}
			buffers[name] = b
		}
		fill(t, buffers["x"], someInput...)
		run := func() { check(t, o.Run(context.Background(), nil)) }
		run()
		if y := read(t, buffers["y"]); !slices.Equal(y, someOutput) {
			t.Errorf("%v: y is %v", mode, y)
		}
		if y := get(t, o, "y"); !slices.Equal(y.Float32s(), someOutput) || y.DType() != buffers["y"].Layout().Type {
			t.Errorf("%v: the value of y is %v", mode, y)
		}
		want := int64(0)
		if mode == e5rt.Copied {
			want = 6*4 + 6*2 // x is read as fp32, y as fp16
		}
		if s := o.Stats(); s.Copied != want || s.Runs != 1 || s.Dispatches != 1 || s.Tasks != 1 {
			t.Errorf("%v: %+v, want %d bytes copied", mode, s, want)
		}
		if n := testkit.Allocs(50, run); n != 0 {
			t.Errorf("%v: %v allocations", mode, n)
		}
	}
}

// Set converts to what is bound, and Unbind gives the port its own memory again.
func TestSetDirect(t *testing.T) {
	o := bracketed(t, tensor.Float32).open(nil).NewOperation()
	x, y := portOf(t, o, "x"), portOf(t, o, "y")
	b := newBuffer(t, x.EngineLayout())
	check(t, x.Bind(b))
	check(t, o.Set("x", tensor.FromFloat32s(tensor.Float32, slices.Clone(someInput), 2, 3)))
	if got := read(t, b); !slices.Equal(got, someInput) {
		t.Errorf("the buffer has %v", got)
	}
	check(t, x.Unbind())
	check(t, y.Unbind())
	check(t, o.Set("x", tensor.FromFloat32s(tensor.Float32, make([]float32, 6), 2, 3)))
	check(t, o.Run(context.Background(), nil))
	if got := get(t, o, "y"); !slices.Equal(got.Float32s(), []float32{1, 1, 1, 1, 1, 1}) || got.DType() != tensor.Float32 {
		t.Errorf("y is %v %v", got, got.Float32s())
	}
	if got := read(t, b); !slices.Equal(got, someInput) {
		t.Errorf("the buffer that is bound no more has %v", got)
	}
}

// What lies in no way that the port takes is refused, with both ways.
func TestBindRefuses(t *testing.T) {
	f := bracketed(t, tensor.Float32).open(nil)
	o := f.NewOperation()
	x := portOf(t, o, "x")
	want := `port "x" of function main: found %s, want fp32[2, 3], or as the engine has it, fp16[2, 3]`
	for found, l := range map[string]e5rt.Layout{
		"bf16[2, 3]": e5rt.DenseLayout(tensor.BFloat16, 2, 3),
		"fp32[3, 2]": e5rt.DenseLayout(tensor.Float32, 3, 2),
		"fp16[2, 3] with strides [64 2] in 128 bytes": {Type: tensor.Float16, Shape: []int{2, 3}, Strides: []int{64, 2}, Bytes: 128},
	} {
		if err := x.Bind(newBuffer(t, l)); err == nil || err.Error() != fmt.Sprintf(want, found) {
			t.Errorf("got %v, want %s", err, fmt.Sprintf(want, found))
		}
	}
	odd, err := e5rt.WrapBuffer(e5rt.DenseLayout(tensor.Float16, 2, 3), make([]byte, 16)[1:])
	check(t, err)
	if err := x.Bind(odd); err == nil {
		t.Error("fp16 at an odd address is let pass")
	}
	for name, l := range map[string]e5rt.Layout{
		"type":    {},
		"bytes":   {Type: tensor.Float16, Shape: []int{2, 3}, Strides: []int{6, 2}, Bytes: 11},
		"huge":    {Type: tensor.Float16, Shape: []int{2, 3}, Strides: []int{6, 2}, Bytes: 1 << 50},
		"strides": {Type: tensor.Float16, Shape: []int{2, 3}, Strides: []int{1 << 60, 2}, Bytes: 64},
		"axes":    {Type: tensor.Float16, Shape: []int{2, 3}, Strides: []int{2}, Bytes: 64},
	} {
		if b, err := e5rt.NewBuffer(l); err == nil {
			t.Errorf("%s: a buffer %v", name, b.Layout())
		}
	}
	if _, err := e5rt.WrapBuffer(e5rt.DenseLayout(tensor.Float16, 2, 3), make([]byte, 10)); err == nil {
		t.Error("12 bytes in 10")
	}
}

// A buffer that is closed is an error for who uses it, not a fault.
func TestBufferClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	check(t, os.WriteFile(path, make([]byte, 12), 0o666))
	f := bracketed(t, tensor.Float32).open(nil)
	o := f.NewOperation()
	x := portOf(t, o, "x")
	b, err := e5rt.MapBuffer(x.EngineLayout(), path, false)
	check(t, err)
	check(t, x.Bind(b))
	check(t, o.Run(context.Background(), nil))
	check(t, b.Close())
	_, bytesErr := b.Bytes()
	_, tensorErr := b.Tensor()
	_, valueErr := o.Value("x")
	for name, err := range map[string]error{
		"run": o.Run(context.Background(), nil), "bytes": bytesErr, "tensor": tensorErr, "value": valueErr, "bind": x.Bind(b),
		"set": o.Set("x", tensor.New(tensor.Float32, 2, 3)),
	} {
		if !errors.Is(err, e5rt.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, x.Unbind())
	check(t, o.Set("x", tensor.New(tensor.Float32, 2, 3)))
	check(t, o.Run(context.Background(), nil))
}

// Files: an input is read where it is mapped, outputs and states are written to theirs, and what cannot be is refused.
func TestMappedFiles(t *testing.T) {
	dir := t.TempDir()
	f := padded(t, rowGaps).open(nil)
	o, s := f.NewOperation(), f.NewState()
	x, y := portOf(t, o, "x"), portOf(t, o, "y")
	values := []float32{1, 2, 3, 4, 5, 6, -7, 8, 9, 10, 11, 12}

	made, err := e5rt.MapBuffer(x.EngineLayout(), filepath.Join(dir, "x"), true)
	check(t, err)
	fill(t, made, values...)
	check(t, made.Close())

	in, err := e5rt.MapBuffer(x.EngineLayout(), filepath.Join(dir, "x"), false)
	check(t, err)
	defer in.Close()
	check(t, x.Bind(in))
	out, err := e5rt.MapBuffer(y.EngineLayout(), filepath.Join(dir, "y"), true)
	check(t, err)
	check(t, y.Bind(out))
	sum, err := e5rt.MapBuffer(f.States()[0].Layout(), filepath.Join(dir, "sum"), true)
	check(t, err)
	check(t, s.Bind("sum", sum))
	for range 3 {
		check(t, o.Run(context.Background(), s))
	}
	if n := o.Stats().Copied; n != 0 {
		t.Errorf("%d bytes were copied", n)
	}
	check(t, out.Close())
	check(t, sum.Close())
	if err := o.Run(context.Background(), s); !errors.Is(err, e5rt.ErrClosed) {
		t.Errorf("a run on a state that is closed: %v", err)
	}
	want := make([]float32, len(values))
	for i, v := range values {
		want[i] = 3 * v
	}
	for _, name := range []string{"y", "sum"} {
		b, err := e5rt.MapBuffer(y.EngineLayout(), filepath.Join(dir, name), false)
		check(t, err)
		if got := read(t, b); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
		if err := y.Bind(b); err == nil {
			t.Error("a file that is mapped to be read is taken for an output")
		}
		if err := s.Bind("sum", b); err == nil {
			t.Error("a file that is mapped to be read is taken for a state")
		}
		check(t, b.Close())
	}
	if _, err := e5rt.MapBuffer(e5rt.DenseLayout(tensor.Float16, 1000), filepath.Join(dir, "x"), false); err == nil {
		t.Error("2000 bytes in 256")
	}
}

// One buffer as output of one operation and input of the next: nothing is copied in between.
func TestConnectedPorts(t *testing.T) {
	f := bracketed(t, tensor.Float16).open(nil)
	first, second := f.NewOperation(), f.NewOperation()
	between := newBuffer(t, portOf(t, first, "y").EngineLayout())
	check(t, portOf(t, first, "y").Bind(between))
	check(t, portOf(t, second, "x").Bind(between))
	check(t, first.Set("x", tensor.FromFloat32s(tensor.Float16, slices.Clone(someInput), 2, 3)))
	check(t, first.Run(context.Background(), nil))
	check(t, second.Run(context.Background(), nil))
	for i, v := range get(t, second, "y").Float32s() {
		if v != 2*someOutput[i]+1 {
			t.Errorf("element %d is %v, want %v", i, v, 2*someOutput[i]+1)
		}
	}
	if a, b := first.Stats().Copied, second.Stats().Copied; a != 0 || b != 0 {
		t.Errorf("%d and %d bytes were copied", a, b)
	}
}

// Set does not write into a file that was mapped to be read.
func TestSetReadOnly(t *testing.T) {
	for _, layoutOf := range []func(*e5rt.BoundPort) e5rt.Layout{(*e5rt.BoundPort).Layout, (*e5rt.BoundPort).EngineLayout} {
		o := bracketed(t, tensor.Float32).open(nil).NewOperation()
		p := portOf(t, o, "x")
		path := filepath.Join(t.TempDir(), "x")
		check(t, os.WriteFile(path, make([]byte, layoutOf(p).Bytes), 0o666))
		b, err := e5rt.MapBuffer(layoutOf(p), path, false)
		check(t, err)
		check(t, p.Bind(b))
		if err := o.Set("x", tensor.FromFloat32s(tensor.Float32, slices.Clone(someInput), 2, 3)); err == nil {
			t.Error("a file that is mapped to be read was written to")
		}
		check(t, o.Run(context.Background(), nil))
		check(t, b.Close())
	}
}

// Elements of less than a byte may lie anywhere.
func TestBindLessThanAByte(t *testing.T) {
	m := newMaker(t)
	m.value("x", tensor.Int4, 4)
	m.inputs("x")
	m.onHost("f", []string{"x"}, nil)
	host := functions{"f": {inputs: []e5rt.HostType{known("x", tensor.Int4, 4)}, run: func(context.Context, []e5rt.Value, []e5rt.Value) error { return nil }}}
	o := m.open(host).NewOperation()
	b, err := e5rt.WrapBuffer(e5rt.DenseLayout(tensor.Int4, 4), make([]byte, 3)[1:])
	check(t, err)
	check(t, portOf(t, o, "x").Bind(b))
	check(t, o.Run(context.Background(), nil))
}

// The strides of all axes together stay in the buffer.
func TestBufferStrides(t *testing.T) {
	for _, strides := range [][]int{{16, 4}, {12, 8}, {8, 16}} {
		if _, err := e5rt.NewBuffer(e5rt.Layout{Type: tensor.Float32, Shape: []int{2, 2}, Strides: strides, Bytes: 16}); err == nil {
			t.Errorf("strides %v in 16 bytes are let pass", strides)
		}
	}
}

// A state in use may just be moved: nobody looks at how it lies.
func TestStateBusyFirst(t *testing.T) {
	s := e5rt.NewState(e5rt.Port{Name: "s", Type: tensor.Float32, Shape: []int{2}})
	e5rt.WhileBusy(s, func() {
		if err := s.Bind("s", newBuffer(t, e5rt.DenseLayout(tensor.Float32, 3))); !errors.Is(err, e5rt.ErrBusy) {
			t.Errorf("Bind: %v", err)
		}
		if err := s.Set("none", tensor.New(tensor.Float32, 2)); !errors.Is(err, e5rt.ErrBusy) {
			t.Errorf("Set: %v", err)
		}
	})
}

// A function does not take the operation of another.
func TestPutBackOfAnother(t *testing.T) {
	f, g := bracketed(t, tensor.Float32).open(nil), bracketed(t, tensor.Float16).open(nil)
	f.PutBack(g.NewOperation())
	if f.TakeOut().Function() != f {
		t.Error("it gives out an operation of another function")
	}
}

// A file that is cut short while it is mapped is an error of whoever uses it, Set too, and not the end of the process.
func TestCutFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is mapped cannot be made shorter there")
	}
	ctx, dir := context.Background(), t.TempDir()
	f := cache(t).open(nil)
	o, s := f.NewOperation(), f.NewState()
	mapped := func(name string, l e5rt.Layout) *e5rt.Buffer {
		b, err := e5rt.MapBuffer(l, filepath.Join(dir, name), true)
		check(t, err)
		t.Cleanup(func() { b.Close() })
		return b
	}
	row := portOf(t, o, "row")
	check(t, row.Bind(mapped("row", row.Layout())))
	check(t, s.Bind("cache", mapped("cache", f.States()[0].Layout())))
	check(t, o.Run(ctx, s))
	for _, name := range []string{"row", "cache"} {
		check(t, os.Truncate(filepath.Join(dir, name), 0))
	}
	for what, err := range map[string]error{
		"a run":              o.Run(ctx, s),
		"Set of an input":    o.Set("row", tensor.New(tensor.Float16, 1, cacheWidth)),
		"Set of the state":   s.Set("cache", tensor.New(tensor.Float16, 1, cacheRows, cacheWidth)),
		"a run, once again":  o.Run(ctx, s),
		"Set, once again":    o.Set("row", tensor.New(tensor.Float16, 1, cacheWidth)),
		"Set of it, as well": s.Set("cache", tensor.New(tensor.Float16, 1, cacheRows, cacheWidth)),
	} {
		if !errors.Is(err, e5rt.ErrFileChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	other := f.NewState()
	check(t, row.Unbind())
	check(t, o.Run(ctx, other))
}

// Nothing is neither a buffer, nor a value, nor an operation.
func TestNilIsRefused(t *testing.T) {
	f := cache(t).open(nil)
	o, s := f.NewOperation(), f.NewState()
	for what, err := range map[string]error{
		"Bind of a port":  portOf(t, o, "row").Bind(nil),
		"Bind of a state": s.Bind("cache", nil),
		"Set of a state":  s.Set("cache", nil),
		"Encode":          e5rt.NewStream().Encode(nil, nil),
	} {
		if err == nil {
			t.Errorf("%s takes nil", what)
		}
	}
	check(t, o.Run(context.Background(), s))
}
