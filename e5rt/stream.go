package e5rt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/trace"
)

// A Stream runs operations one after the other: encode them, execute or submit, reset, and again.
//
//	          Encode            Execute, Submit              the last is done
//	ready ───────────► encoding ───────────────► under way ───────────────────► done
//	  ▲                   │                                                       │
//	  └────── Reset ──────┴──────────────────────── Reset ────────────────────────┘
//
// What is not allowed in a state gives an error and changes nothing. From Encode to Reset, the operation is in use: its ports
// keep the memory that they are bound to, and Bind gives ErrInUse. What that memory holds may be changed while the stream
// is not under way, by Set or directly.
//
// Execute runs on the goroutine of the caller. Submit returns at once: a goroutine of the stream runs the operations, one that
// waits for more without giving up its processor for a short time, then parks, and ends if nothing comes for long. Operations of
// several streams run at the same time unless events (After, Signals) say otherwise. Those that share a State need events: the one
// that comes while another has it fails with ErrBusy. A cycle allocates nothing from the second on. A Stream is safe for concurrent use.
type Stream struct {
	mu      sync.Mutex
	phase   phase
	encoded []encoded
	needs   []Dependency // of all operations, in their order
	left    []Dependency // memory for what is signalled when the stream is done
	last    Dispatch
	total   StreamStats

	submission
	pending atomic.Bool // a submission waits for the worker
	worker  bool        // there is one
	parked  bool        // and it sleeps
	wake    chan struct{}
	idle    *time.Timer
}

// A phase is the state of a stream.
type phase int

const (
	ready phase = iota
	encoding
	underway
	done
)

// encoded is an operation of a stream.
type encoded struct {
	operation *Operation
	state     *State
	needs     int // how many of the stream's dependencies are its own
}

// A submission is what the worker is to do.
type submission struct {
	ctx        context.Context
	cancel     context.CancelFunc // of a timeout; nil if there is none
	completion func(error)
	since      time.Time // of Submit; zero of Execute
}

// NewStream makes a stream.
func NewStream() *Stream { return &Stream{wake: make(chan struct{}, 1)} }

// Encode appends an operation to what the stream will run, on a state, nil if its function has none. It binds what is not
// bound yet, as Prepare does.
func (s *Stream) Encode(o *Operation, state *State, needs ...Dependency) error {
	if o == nil {
		return errors.New("found nil, want an operation")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase > encoding {
		return fmt.Errorf("function %s: %w", o.function.name, ErrNotReset)
	}
	for i := range needs {
		if err := needs[i].check(); err != nil {
			return &Error{Function: o.function.name, Err: err}
		}
	}
	if err := o.encode(state); err != nil {
		return err
	}
	s.phase = encoding
	s.encoded = append(s.encoded, encoded{o, state, len(needs)})
	s.needs = append(s.needs, needs...)
	return nil
}

// Execute runs what is encoded, in order, and returns when it is done or an operation has failed: those after it are not run.
// If ctx ends, what outputs and states hold is not defined, as with Operation.Run.
func (s *Stream) Execute(ctx context.Context) error {
	s.mu.Lock()
	err := s.begin(submission{ctx: ctx})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.run()
}

// Submit has the stream run what is encoded, as Execute does, and returns at once. The completion is called once with
// the error, when the stream is done, on the stream's goroutine: it may Reset, Encode and Submit again. It may be nil. An error
// of Submit itself is about the state of the stream; then there is no completion.
func (s *Stream) Submit(ctx context.Context, completion func(error)) error {
	return s.submit(submission{ctx: ctx, completion: completion})
}

// SubmitTimeout is Submit that ends what runs after some time: the completion gets context.DeadlineExceeded. It comes when the
// engine has let go of the buffers, and a host function that does not look at its context is waited for.
func (s *Stream) SubmitTimeout(ctx context.Context, timeout time.Duration, completion func(error)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	err := s.submit(submission{ctx: ctx, cancel: cancel, completion: completion})
	if err != nil {
		cancel()
	}
	return err
}

// Reset makes a stream ready for other operations, and lets go of those that it has. One that is under way is left alone.
func (s *Stream) Reset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == underway {
		return fmt.Errorf("the stream: %w", ErrBusy)
	}
	for i := range s.encoded {
		s.encoded[i].operation.streams.Add(-1)
	}
	clear(s.encoded)
	clear(s.needs)
	s.encoded, s.needs, s.phase = s.encoded[:0], s.needs[:0], ready
	return nil
}

// Operations are those that are encoded, in order.
func (s *Stream) Operations() []*Operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Operation, len(s.encoded))
	for i := range s.encoded {
		list[i] = s.encoded[i].operation
	}
	return list
}

// begin sees that there is something to run, and that nobody else runs it. It is called with the lock held.
func (s *Stream) begin(what submission) error {
	switch s.phase {
	case ready:
		return ErrNothingEncoded
	case underway:
		return fmt.Errorf("the stream: %w", ErrBusy)
	case done:
		return ErrNotReset
	}
	s.phase, s.submission = underway, what
	return nil
}

// run runs what is encoded, and notes what it took. Nobody changes the lists meanwhile.
func (s *Stream) run() (err error) {
	ctx, began := s.ctx, time.Now()
	var d Dispatch
	times := trace.Of(ctx)
	if !s.since.IsZero() {
		d.Queued = began.Sub(s.since)
		times.Add(queued, s.since, began)
	}
	needs := s.needs
	err = errPanicked // until it returns
	defer func() {
		if s.cancel != nil {
			s.cancel()
		}
		d.Ran = time.Since(began) - d.Waited
		s.finish(&d, needs, err)
	}()
	for i := range s.encoded {
		e := &s.encoded[i]
		own := needs[:e.needs]
		failed := waitFor(ctx, own, &d, times)
		if failed == nil {
			failed = e.operation.run(ctx, e.state, &d.Work)
		}
		if failed != nil {
			return failed
		}
		if d.Operations++; d.Operations < len(s.encoded) {
			signal(own, nil)
			needs = needs[e.needs:]
		}
	}
	return nil
}

// errPanicked is what the others hear of a run that does not return: a host function may panic, which goes on, or end its
// goroutine (runtime.Goexit).
var errPanicked = errors.New("an operation of the stream has panicked, or ended its goroutine")

// finish says that the stream is done, and only then signals what is left, so that who waits for that can reset it. After
// an error, that is also what the operations that have not run were to signal.
func (s *Stream) finish(d *Dispatch, left []Dependency, err error) {
	s.mu.Lock()
	own := append(s.left[:0], left...) // somebody may clear the list as soon as the stream is done
	s.left = nil
	s.phase, s.submission, s.last = done, submission{}, *d
	s.total.add(d, err)
	s.mu.Unlock()
	if len(left) == 0 {
		return
	}
	signal(own, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(own)
	s.left = own
}

// signal signals the events among dependencies, or says that they will not be.
func signal(list []Dependency, err error) {
	for _, n := range list {
		switch {
		case !n.Signal:
		case err != nil:
			n.Event.Fail(n.Value, err)
		default:
			n.Event.Signal(n.Value)
		}
	}
}

// waitFor waits for the events that an operation needs.
func waitFor(ctx context.Context, needs []Dependency, d *Dispatch, times *trace.Times) error {
	var began time.Time
	for _, n := range needs {
		if n.Signal || n.Event.Value() >= n.Value {
			continue
		}
		if began.IsZero() {
			began = time.Now()
		}
		if err := n.Event.Wait(ctx, n.Value); err != nil {
			return err
		}
	}
	if !began.IsZero() {
		ended := time.Now()
		d.Waited += ended.Sub(began)
		times.Add(waited, began, ended)
	}
	return nil
}

// What a timeline shows of a stream, beside its operations.
var (
	queued = trace.Label{Category: "queue", Name: "submitted"}
	waited = trace.Label{Category: "queue", Name: "waiting for events"}
)

func (s *Stream) submit(what submission) error {
	if what.completion == nil {
		what.completion = func(error) {}
	}
	what.since = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(what); err != nil {
		return err
	}
	s.pending.Store(true)
	switch {
	case !s.worker:
		s.worker = true
		go s.work()
	case s.parked:
		s.parked = false
		s.wake <- struct{}{}
	}
	return nil
}

// work serves submissions until none has come for long.
//
//	               ┌─────── a submission ────────┐
//	started ── under way ── spinning ── 50 µs ── parked ── 10 s ── gone
func (s *Stream) work() {
	gone := false
	defer func() {
		if !gone {
			s.replace()
		}
	}()
	for s.next() {
		s.pending.Store(false)
		s.serve()
	}
	gone = true
}

// serve does what was submitted, and calls the completion, once: also if an operation ends the goroutine.
func (s *Stream) serve() {
	completion, called := s.completion, false // by the time it is called, somebody may have begun with other operations
	defer func() {
		if !called {
			completion(errPanicked)
		}
	}()
	err := s.run()
	called = true
	completion(err)
}

// replace is for a worker that somebody's code has ended, by runtime.Goexit: the next submission needs another.
func (s *Stream) replace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker = s.pending.Load(); s.worker {
		go s.work()
	}
}

// keepWorker is how long a worker that sleeps is kept.
const keepWorker = 10 * time.Second

// next waits for a submission, and reports whether there is one: otherwise the worker is to end.
func (s *Stream) next() bool {
	if pool.Await(s.pending.Load) {
		return true
	}
	s.mu.Lock()
	if s.pending.Load() {
		s.mu.Unlock()
		return true
	}
	s.parked = true
	if s.idle == nil {
		s.idle = time.NewTimer(keepWorker)
	} else {
		s.idle.Reset(keepWorker)
	}
	s.mu.Unlock()
	select {
	case <-s.wake:
		s.idle.Stop()
		return true
	case <-s.idle.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.parked { // it came at the same time
		<-s.wake
		return true
	}
	s.parked, s.worker = false, false
	return false
}
