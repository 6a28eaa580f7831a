package e5rt_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// Operations are used again, unless somebody else might still have a hand on them.
func TestOperationPool(t *testing.T) {
	ctx := patience(t)
	b := bracketed(t, tensor.Float16).bundle()
	lib, err := e5rt.Open(b, e5rt.Options{Concurrency: 2})
	check(t, err)
	f := lib.Functions()[0]
	check(t, f.Load(ctx))
	first, second := f.TakeOut(), f.TakeOut()
	if third := f.TakeOut(); first == second || first == third || second == third {
		t.Error("an operation is taken out twice")
	}
	f.PutBack(first)
	if again := f.TakeOut(); again != first {
		t.Error("what was put back is not taken out")
	}
	if n := testkit.Allocs(100, func() { f.PutBack(first); first = f.TakeOut() }); n != 0 {
		t.Errorf("%v allocations", n)
	}

	s := e5rt.NewStream()
	check(t, s.Encode(first, nil))
	f.PutBack(first)
	check(t, second.Bind("x", tensor.New(tensor.Float16, 2, 3)))
	f.PutBack(second)
	for range 4 {
		if o := f.TakeOut(); o == first || o == second {
			t.Error("an operation that a stream or a caller has is taken out")
		}
	}
	check(t, b.Close())
	if err := f.Load(ctx); !errors.Is(err, e5rt.ErrClosed) {
		t.Errorf("Load of what is closed: %v", err)
	}
}

// An operation that is put back keeps nothing alive of who had it: not the memory of the state, not what a port was bound to, not
// a value of the host.
func TestPutBackLetsGo(t *testing.T) {
	ctx := context.Background()
	gone := func(what string, p weak.Pointer[byte]) {
		t.Helper()
		for range 3 {
			runtime.GC()
		}
		if p.Value() != nil {
			t.Errorf("%s is kept", what)
		}
	}
	pooled := func(m *maker, host e5rt.Host) *e5rt.Function {
		lib, err := e5rt.Open(m.bundle(), e5rt.Options{Concurrency: 1, Host: host})
		check(t, err)
		return lib.Functions()[0]
	}
	for name, f := range map[string]*e5rt.Function{"engine": pooled(cache(t), nil), "host": pooled(counter(t), counting)} {
		var state, input weak.Pointer[byte]
		var o *e5rt.Operation
		func() {
			o = f.TakeOut()
			s := f.NewState()
			held, err := s.Tensor(f.States()[0].Name)
			check(t, err)
			at, _ := held.Memory()
			state = weak.Make(at)
			in := f.Inputs()[0]
			x := tensor.New(in.Type, in.Shape...)
			at, _ = x.Memory()
			input = weak.Make(at)
			check(t, o.Bind(in.Name, x))
			check(t, o.Run(ctx, s))
			check(t, portOf(t, o, in.Name).Unbind())
			f.PutBack(o)
		}()
		gone("the state of the "+name, state)
		gone("the input of the "+name, input)
		if again := f.TakeOut(); again != o {
			t.Errorf("%s: it is not taken back", name)
		}
		check(t, o.Run(ctx, f.NewState()))
	}

	m := newMaker(t)
	m.types["text"] = e5.Opaque()
	m.value("y", tensor.Bool, 2)
	m.inputs("text")
	m.onHost("long", []string{"text"}, []string{"y"})
	m.outputs("y")
	f := pooled(m, texts)
	var text weak.Pointer[byte]
	func() {
		o := f.TakeOut()
		value := strings.Repeat("x", 200)
		text = weak.Make(unsafe.StringData(value))
		check(t, o.Set("text", value))
		check(t, o.Run(ctx, nil))
		f.PutBack(o)
	}()
	gone("the text", text)
	runtime.KeepAlive(f)
}

func TestPoolKeeps(t *testing.T) {
	made := 0
	p := e5rt.NewPool(3, func() (*int, error) { made++; return new(int), nil })
	check(t, p.Preload())
	check(t, p.Preload())
	if made != 3 || p.Made() != 3 {
		t.Errorf("%d are made, %d counted", made, p.Made())
	}
	boom := errors.New("boom")
	if _, err := e5rt.NewPool(0, func() (int, error) { return 0, boom }).TakeOut(); err != boom {
		t.Errorf("got %v", err)
	}
}

// A stream that comes back is ready; one that is under way does not come back.
func TestStreamPool(t *testing.T) {
	ctx := patience(t)
	p := e5rt.NewStreamPool(1)
	s, err := p.TakeOut()
	check(t, err)
	o := bracketed(t, tensor.Float16).open(nil).NewOperation()
	check(t, s.Encode(o, nil))
	check(t, s.Execute(ctx))
	p.PutBack(s)
	again, err := p.TakeOut()
	check(t, err)
	if again != s || len(s.Operations()) != 0 {
		t.Error("the stream is another one, or not reset")
	}
	check(t, o.Bind("x", tensor.New(tensor.Float16, 2, 3)))

	slow := newSlow(t)
	check(t, s.Encode(slow.function.NewOperation(), slow.function.NewState()))
	done := make(chan error, 1)
	check(t, s.Submit(ctx, func(err error) { done <- err }))
	<-slow.entered
	p.PutBack(s)
	if other, _ := p.TakeOut(); other == s {
		t.Error("a stream that is under way is taken out")
	}
	slow.leave <- true
	check(t, <-done)
}
