package e5rt_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// patience ends a test that would hang.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// What a stream allows in which state, and what it says otherwise.
func TestStreamStates(t *testing.T) {
	ctx := patience(t)
	o := bracketed(t, tensor.Float16).open(nil).NewOperation()
	x := tensor.FromFloat32s(tensor.Float16, slices.Clone(someInput), 2, 3)
	check(t, o.Bind("x", x))
	s := e5rt.NewStream()
	submitted := make(chan error, 1)
	submit := func() error { return s.Submit(ctx, func(err error) { submitted <- err }) }
	is := func(what string, got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	is("execute nothing", s.Execute(ctx), e5rt.ErrNothingEncoded)
	is("submit nothing", submit(), e5rt.ErrNothingEncoded)
	for round := range 3 {
		check(t, s.Encode(o, nil))
		check(t, s.Encode(o, nil))
		is("bind", o.Bind("x", x), e5rt.ErrInUse)
		p, err := o.Port("x")
		check(t, err)
		b, err := e5rt.NewBuffer(p.Layout())
		check(t, err)
		is("bind a buffer", p.Bind(b), e5rt.ErrInUse)
		is("unbind", p.Unbind(), e5rt.ErrInUse)
		check(t, o.Set("x", tensor.FromFloat32s(tensor.Float16, slices.Clone(someInput), 2, 3)))
		if round == 1 {
			check(t, submit())
			check(t, <-submitted)
		} else {
			check(t, s.Execute(ctx))
		}
		if got := get(t, o, "y").Float32s(); !slices.Equal(got, someOutput) {
			t.Errorf("round %d: %v", round, got)
		}
		is("encode", s.Encode(o, nil), e5rt.ErrNotReset)
		is("execute", s.Execute(ctx), e5rt.ErrNotReset)
		is("submit", submit(), e5rt.ErrNotReset)
		is("bind", o.Bind("x", x), e5rt.ErrInUse)
		check(t, s.Reset())
		check(t, o.Bind("x", x))
	}
	if got := s.Stats(); got.Runs != 3 || got.Operations != 6 || got.Dispatch.Dispatches != 6 || got.Failed != 0 || got.Copied != 0 {
		t.Errorf("stats %+v", got)
	}
	if got := o.Stats(); got.Runs != 6 || got.Dispatches != 6 || got.Tasks != 6 {
		t.Errorf("stats of the operation: %+v", got)
	}
	if e5rt.ErrInUse.Error() != "Port bindings cannot be changed while operation is in use in an execution stream" ||
		e5rt.ErrNotReset.Error() != "Reset stream to add more operations to stream. (2)" {
		t.Error("the messages are not the originals'")
	}
}

// A stream that is under way is left alone, and its context ends what runs.
func TestStreamUnderWay(t *testing.T) {
	ctx := patience(t)
	slow := newSlow(t)
	o, state := slow.function.NewOperation(), slow.function.NewState()
	s := e5rt.NewStream()
	if err := s.Encode(o, nil); !errors.Is(err, e5rt.ErrState) {
		t.Errorf("without its state: %v", err)
	}
	check(t, s.Encode(o, state))
	done := make(chan error, 1)
	check(t, s.Submit(ctx, func(err error) { done <- err }))
	<-slow.entered
	for what, err := range map[string]error{
		"Reset": s.Reset(), "Execute": s.Execute(ctx), "Submit": s.Submit(ctx, nil), "Prepare": o.Prepare(state),
	} {
		if !errors.Is(err, e5rt.ErrBusy) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Encode(o, state); !errors.Is(err, e5rt.ErrNotReset) {
		t.Errorf("Encode: %v", err)
	}
	slow.leave <- true
	check(t, <-done)

	check(t, s.Reset())
	check(t, s.Encode(o, state))
	check(t, s.SubmitTimeout(ctx, 5*time.Millisecond, func(err error) { done <- err }))
	<-slow.entered // and is not told to leave
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the timeout: %v", err)
	}
	if got := s.Stats(); got.Runs != 2 || got.Failed != 1 || got.Operations != 1 {
		t.Errorf("stats %+v", got)
	}
	check(t, s.Reset())
	check(t, slow.bundle.Close())
	check(t, s.Encode(o, state))
	if err := s.Execute(ctx); !errors.Is(err, e5rt.ErrClosed) {
		t.Errorf("of a bundle that is closed: %v", err)
	}
}

// Operations of one stream run in order; those after one that fails do not run, and what they were to signal fails.
func TestStreamOrderAndFailure(t *testing.T) {
	ctx := patience(t)
	boom := errors.New("boom")
	var ran []string
	make1 := func(name string, err error) *e5rt.Operation {
		host := functions{"f": {run: func(context.Context, []e5rt.Value, []e5rt.Value) error {
			ran = append(ran, name)
			return err
		}}}
		m := newMaker(t)
		m.onHost("f", nil, nil)
		return m.open(host).NewOperation()
	}
	e, s := e5rt.NewEvent(), e5rt.NewStream()
	check(t, s.Encode(make1("a", nil), nil, e5rt.Signals(e, 1)))
	check(t, s.Encode(make1("b", boom), nil, e5rt.Signals(e, 2)))
	check(t, s.Encode(make1("c", nil), nil, e5rt.Signals(e, 3)))
	if err := s.Execute(ctx); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(ran, []string{"a", "b"}) || e.Value() != 1 {
		t.Errorf("ran %v, event at %d", ran, e.Value())
	}
	for value, want := range map[uint64]error{1: nil, 2: boom, 3: boom} {
		if err := e.Wait(ctx, value); !errors.Is(err, want) {
			t.Errorf("waiting for %d: %v", value, err)
		}
	}
	if got := s.Last(); got.Operations != 1 || got.Queued != 0 || got.Ran <= 0 {
		t.Errorf("the dispatch: %+v", got)
	}
	for _, d := range []e5rt.Dependency{{}, {Event: e, Signal: true, Type: 3}, {Event: e, Type: 1}} {
		if err := e5rt.NewStream().Encode(make1("d", nil), nil, d); err == nil {
			t.Errorf("%+v is taken", d)
		}
	}
}

// A panic is the caller's who recovers it; the stream is done, and can be used again.
func TestStreamPanics(t *testing.T) {
	ctx := patience(t)
	angry := true
	m := newMaker(t)
	m.onHost("f", nil, nil)
	o := m.open(functions{"f": {run: func(context.Context, []e5rt.Value, []e5rt.Value) error {
		if angry {
			panic("so")
		}
		return nil
	}}}).NewOperation()
	s, e := e5rt.NewStream(), e5rt.NewEvent()
	check(t, s.Encode(o, nil, e5rt.Signals(e, 1)))
	func() {
		defer func() {
			if v := recover(); v != "so" {
				t.Errorf("recovered %v", v)
			}
		}()
		s.Execute(ctx)
	}()
	if err := e.Wait(ctx, 1); err == nil {
		t.Error("what the operation was to signal is signalled")
	}
	check(t, s.Reset())
	angry = false
	check(t, s.Encode(o, nil, e5rt.Signals(e, 2)))
	check(t, s.Execute(ctx))
	check(t, e.Wait(ctx, 2))
	if got := s.Stats(); got.Runs != 2 || got.Failed != 1 || got.Operations != 1 {
		t.Errorf("stats %+v", got)
	}
}

// Two streams hand values to each other by events, wherever they run.
func TestStreamsInStep(t *testing.T) {
	ctx := patience(t)
	const steps = 200
	// what one writes the other reads
	one, other := tensor.New(tensor.Float16, 2, 3), tensor.New(tensor.Float16, 2, 3)
	bind := func(a, b float32, x, y *tensor.Tensor) *e5rt.Operation {
		m := newMaker(t)
		m.value("x", tensor.Float16, 2, 3)
		m.value("y", tensor.Float16, 2, 3)
		m.inputs("x")
		m.onEngine(linear(t, "x", "y", 6, a, b), []string{"x"}, []string{"y"})
		m.outputs("y")
		o := m.open(nil).NewOperation()
		check(t, o.Bind("x", x))
		check(t, o.Bind("y", y))
		return o
	}
	up, down := bind(1, 3, one, other), bind(1, -2, other, one) // together: + 1
	ping, pong := e5rt.NewEvent(), e5rt.NewEvent()
	streams := []*e5rt.Stream{e5rt.NewStream(), e5rt.NewStream()}
	done := make(chan error, 2)
	for i := range uint64(steps) {
		check(t, streams[0].Encode(up, nil, e5rt.After(pong, i), e5rt.Signals(ping, i+1)))
		check(t, streams[1].Encode(down, nil, e5rt.After(ping, i+1), e5rt.Signals(pong, i+1)))
	}
	if streams[0].Encode(up, nil, e5rt.After(pong, steps), e5rt.Signals(ping, steps+1)) != nil {
		t.Error("there is room for more")
	}
	for _, s := range streams {
		check(t, s.Submit(ctx, func(err error) { done <- err }))
	}
	check(t, ping.Wait(ctx, steps+1))
	check(t, streams[0].Reset()) // who waits for the last signal finds the stream done
	check(t, <-done)
	check(t, <-done)
	if got, last := one.Float32s(), other.Float32s(); got[5] != steps || last[5] != steps+3 {
		t.Errorf("got %v, %v", got, last)
	}
}

// Every completion of many submissions fires once, with results that are exact.
func TestManySubmissions(t *testing.T) {
	ctx := patience(t)
	streams, submissions := 8, 10_000
	if testing.Short() {
		submissions = 200
	}
	f := bracketed(t, tensor.Float16).open(nil)
	var wg sync.WaitGroup
	var completed atomic.Int64
	for k := range streams {
		wg.Go(func() {
			o, s, e := f.NewOperation(), e5rt.NewStream(), e5rt.NewEvent()
			x, y := tensor.New(tensor.Float16, 2, 3), tensor.New(tensor.Float16, 2, 3)
			check(t, o.Bind("x", x))
			check(t, o.Bind("y", y))
			want := tensor.New(tensor.Float16, 2, 3)
			for i := range submissions {
				v := float32((i*7 + k) % 1000)
				x.Bytes()[2*(i%6)], x.Bytes()[2*(i%6)+1] = byte(tensor.ToF16(v)), byte(tensor.ToF16(v)>>8)
				r := tensor.ToF16(2*v + 1)
				want.Bytes()[2*(i%6)], want.Bytes()[2*(i%6)+1] = byte(r), byte(r>>8)
				if err := s.Encode(o, nil); err != nil {
					t.Error(err)
					return
				}
				value := uint64(i + 1)
				if err := s.Submit(ctx, func(err error) {
					if err != nil {
						t.Error(err)
					}
					completed.Add(1)
					e.Signal(value)
				}); err != nil {
					t.Error(err)
					return
				}
				if err := e.Wait(ctx, value); err != nil {
					t.Error(err)
					return
				}
				if at := 2 * (i % 6); !bytes.Equal(y.Bytes()[at:at+2], want.Bytes()[at:at+2]) {
					t.Errorf("stream %d, submission %d: a wrong result", k, i)
					return
				}
				if err := s.Reset(); err != nil {
					t.Error(err)
					return
				}
			}
			if got := s.Stats(); got.Runs != int64(submissions) || got.Dispatch.Dispatches != int64(submissions) || got.Failed != 0 {
				t.Errorf("stream %d: %+v", k, got)
			}
		})
	}
	wg.Wait()
	if got := completed.Load(); got != int64(streams*submissions) {
		t.Errorf("%d completions of %d", got, streams*submissions)
	}
}

// A completion may submit the next one itself.
func TestCompletionSubmits(t *testing.T) {
	ctx := patience(t)
	o := bracketed(t, tensor.Float16).open(nil).NewOperation()
	s := e5rt.NewStream()
	done := make(chan error)
	left := 1000
	var completion func(error)
	completion = func(err error) {
		if left--; left == 0 || err != nil {
			done <- err
			return
		}
		if err = errors.Join(s.Reset(), s.Encode(o, nil)); err == nil {
			err = s.Submit(ctx, completion)
		}
		if err != nil {
			done <- err
		}
	}
	check(t, s.Encode(o, nil))
	check(t, s.Submit(ctx, completion))
	check(t, <-done)
	if left != 0 {
		t.Errorf("%d are left", left)
	}
}

// A cycle allocates nothing, through the worker neither.
func TestStreamsAllocateNothing(t *testing.T) {
	ctx := patience(t)
	o := bracketed(t, tensor.Float32).open(nil).NewOperation()
	s, e, n := e5rt.NewStream(), e5rt.NewEvent(), uint64(0)
	completion := func(error) { e.Signal(n) }
	if n := testkit.Allocs(100, func() {
		check(t, s.Encode(o, nil, e5rt.After(e, 0)))
		check(t, s.Execute(ctx))
		check(t, s.Reset())
	}); n != 0 {
		t.Errorf("Execute: %v allocations", n)
	}
	if n := testkit.Allocs(100, func() {
		n++
		check(t, s.Encode(o, nil))
		check(t, s.Submit(ctx, completion))
		check(t, e.Wait(ctx, n))
		check(t, s.Reset())
	}); n != 0 {
		t.Errorf("Submit: %v allocations", n)
	}
}

// A completion that ends its goroutine, as t.Fatal does, leaves a stream that goes on, also if it has submitted again.
func TestStreamGoexit(t *testing.T) {
	o := bracketed(t, tensor.Float16).open(nil).NewOperation()
	s, done := e5rt.NewStream(), make(chan bool, 1)
	again := func(completion func(error)) {
		check(t, s.Reset())
		check(t, s.Encode(o, nil))
		check(t, s.Submit(context.Background(), completion))
	}
	last := func(error) { done <- true }
	for _, first := range []func(error){
		func(error) { again(last); runtime.Goexit() },
		func(error) { defer func() { done <- true }(); runtime.Goexit() },
		last,
	} {
		again(first)
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("the stream does nothing")
		}
	}
}

// The completion is called, and events are given up, if a host function ends the goroutine. The stream goes on.
func TestHostGoexit(t *testing.T) {
	ctx := patience(t)
	left := 1
	m := newMaker(t)
	m.value("x", tensor.Int32, 2)
	m.value("y", tensor.Int32, 2)
	m.inputs("x")
	m.onHost("leave", []string{"x"}, []string{"y"})
	m.outputs("y")
	o := m.open(functions{"leave": {
		inputs: []e5rt.HostType{known("x", tensor.Int32, 2)}, outputs: []e5rt.HostType{known("y", tensor.Int32, 2)},
		run: func(_ context.Context, inputs, outputs []e5rt.Value) error {
			if left--; left == 0 {
				runtime.Goexit()
			}
			return nil
		},
	}}).NewOperation()
	s, e, done := e5rt.NewStream(), e5rt.NewEvent(), make(chan error, 3)
	for round := range 2 {
		check(t, s.Encode(o, nil, e5rt.Signals(e, uint64(round+1))))
		check(t, s.Submit(ctx, func(err error) { done <- err }))
		select {
		case err := <-done:
			if (err != nil) != (round == 0) {
				t.Errorf("round %d: the completion gets %v", round, err)
			}
		case <-ctx.Done():
			t.Fatalf("round %d: there is no completion", round)
		}
		if err := e.Wait(ctx, uint64(round+1)); (err != nil) != (round == 0) {
			t.Errorf("round %d: the event: %v", round, err)
		}
		check(t, s.Reset())
	}
	if s.Stats().Failed != 1 || len(done) != 0 {
		t.Errorf("%+v, and %d completions more", s.Stats(), len(done))
	}
}
