package e5rt_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/gate"
	"github.com/espalier-ane/espalier/tensor"
)

// A slow function has a state and runs until it is told to leave, or its context ends.
type slow struct {
	bundle         *bundle.Bundle
	library        *e5rt.Library
	function       *e5rt.Function
	entered, leave chan bool
}

func newSlow(t *testing.T) *slow {
	s := &slow{entered: make(chan bool), leave: make(chan bool)}
	host := functions{"wait": {
		inputs:  []e5rt.HostType{known("x", tensor.Int32, 2), {Name: "s", State: true, Type: tensor.Int32, Ranked: true}},
		outputs: []e5rt.HostType{known("y", tensor.Int32, 2)},
		run: func(ctx context.Context, inputs, outputs []e5rt.Value) error {
			s.entered <- true
			select {
			case <-s.leave:
			case <-ctx.Done():
				return ctx.Err()
			}
			return outputs[0].(*tensor.Tensor).CopyFrom(inputs[0].(*tensor.Tensor))
		},
	}}
	m := newMaker(t)
	m.value("x", tensor.Int32, 2)
	m.value("y", tensor.Int32, 2)
	m.value("s", tensor.Int32)
	m.inputs("x")
	m.states("s")
	m.onHost("wait", []string{"x", "s"}, []string{"s", "y"})
	m.outputs("y")
	s.bundle = m.bundle()
	var err error
	s.library, err = e5rt.Open(s.bundle, e5rt.Options{Host: host})
	check(t, err)
	s.function, err = s.library.Function("main")
	check(t, err)
	return s
}

// run runs an operation on a state, and returns when it is under way.
func (s *slow) run(ctx context.Context, o *e5rt.Operation, state *e5rt.State) chan error {
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx, state) }()
	<-s.entered
	return done
}

// Runs that share an operation wait for each other, as long as their contexts do.
func TestRunsOfAnOperationWait(t *testing.T) {
	s := newSlow(t)
	o := s.function.NewOperation()
	first := s.run(t.Context(), o, s.function.NewState())
	ended, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := o.Run(ended, s.function.NewState()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a deadline: %v", err)
	}
	second := make(chan error)
	go func() { second <- o.Run(t.Context(), s.function.NewState()) }()
	s.leave <- true
	check(t, <-first)
	<-s.entered
	s.leave <- true
	check(t, <-second)
}

// A run has the buffers of its operation to itself.
func TestOperationIsBusyDuringARun(t *testing.T) {
	s := newSlow(t)
	o := s.function.NewOperation()
	x := tensor.Of([]int32{1, 2}, 2)
	check(t, o.Set("x", x))
	done := s.run(t.Context(), o, s.function.NewState())
	if err := o.Set("x", x); !errors.Is(err, e5rt.ErrBusy) {
		t.Errorf("Set: %v", err)
	}
	for _, port := range []string{"x", "y"} {
		if err := o.Bind(port, x); !errors.Is(err, e5rt.ErrBusy) {
			t.Errorf("Bind: %v", err)
		}
		if _, err := o.Value(port); !errors.Is(err, e5rt.ErrBusy) {
			t.Errorf("Value: %v", err)
		}
	}
	s.leave <- true
	check(t, <-done)
	check(t, o.Bind("x", x))
	check(t, o.Set("x", tensor.Of([]int32{3, 4}, 2)))
	if y := get(t, o, "y").Int64s(); !slices.Equal(y, []int64{1, 2}) {
		t.Errorf("y is %v", y)
	}
}

// A state that a run has is not waited for.
func TestStateIsBusyDuringARun(t *testing.T) {
	s := newSlow(t)
	state := s.function.NewState()
	done := s.run(t.Context(), s.function.NewOperation(), state)
	o := s.function.NewOperation()
	if err := o.Run(t.Context(), state); !errors.Is(err, e5rt.ErrBusy) {
		t.Errorf("the state: %v", err)
	}
	s.leave <- true
	check(t, <-done)
	done = s.run(t.Context(), o, state)
	s.leave <- true
	check(t, <-done)
}

// Close waits for what runs, whether the library is closed or its bundle; afterwards nothing does.
func TestClose(t *testing.T) {
	for _, name := range []string{"library", "bundle", "both"} {
		t.Run(name, func(t *testing.T) {
			s := newSlow(t)
			o := s.function.NewOperation()
			running := s.run(t.Context(), o, s.function.NewState())
			waiting := make(chan error, 1)
			closed := make(chan error, 3)
			if name != "bundle" {
				go func() { closed <- s.library.Close() }()
				go func() { closed <- s.library.Close() }()
			}
			if name != "library" {
				go func() { closed <- s.bundle.Close() }()
			}
			for { // until Close has come
				err := s.function.NewOperation().Run(ended(), s.function.NewState())
				if errors.Is(err, e5rt.ErrClosed) {
					break
				}
				time.Sleep(time.Millisecond)
			}
			go func() { waiting <- o.Run(t.Context(), s.function.NewState()) }()
			select {
			case err := <-closed:
				t.Fatalf("closed while it runs: %v", err)
			default:
			}
			s.leave <- true
			check(t, <-running)
			check(t, <-closed)
			if err := <-waiting; !errors.Is(err, e5rt.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

// A run that closes its own bundle keeps it until it is done.
func TestCloseFromWithinARun(t *testing.T) {
	before := gate.Patience
	gate.Patience = 20 * time.Millisecond
	defer func() { gate.Patience = before }()
	s := newSlow(t)
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan error, 1)
	o := s.function.NewOperation()
	go func() { running <- o.Run(stubborn{ctx}, s.function.NewState()) }()
	<-s.entered
	cancel()
	for range 2 { // as seen from the host function
		if err := s.bundle.Close(); !errors.Is(err, e5rt.ErrBusy) {
			t.Errorf("Close: %v", err)
		}
	}
	s.leave <- true
	<-running
	check(t, s.bundle.Close())
}

// stubborn is a context whose end the host function does not see.
type stubborn struct{ context.Context }

func (c stubborn) Done() <-chan struct{} { return nil }

// ended is a context that is over.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestOpenContextEnds(t *testing.T) {
	b := newSlow(t).bundle
	if _, err := e5rt.OpenContext(ended(), b, e5rt.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNilIsNoInput(t *testing.T) {
	s := newSlow(t)
	o := s.function.NewOperation()
	var none *tensor.Tensor
	for _, err := range []error{o.Set("x", nil), o.Set("x", none), o.Bind("x", nil), o.Bind("y", none)} {
		if err == nil {
			t.Error("nil is taken")
		}
	}
}
