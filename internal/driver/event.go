package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/espalier-ane/espalier/internal/pool"
)

// An Event is a number that only rises, from 0, and that anyone may wait for: a shared event. Requests wait for and signal
// events, and so do callers. It is safe for concurrent use; waiting and signalling allocate nothing.
//
//	request a   ── conv ── signals 1 ──────────────
//	                          └────────┐
//	request b   ── waits for 1 · · · · · · ── relu ─
type Event struct {
	value   atomic.Uint64
	givenUp atomic.Uint64 // values up to this one that value has not reached will not be: see Fail

	mu        sync.Mutex
	err       error // why
	listeners []listener
}

// A listener waits for a value.
type listener struct {
	value uint64
	wake  chan struct{} // of a goroutine that waits, or
	call  func(error)
	of    any // whose call it is, for forget
}

// NewEvent makes an event with the value 0.
func NewEvent() *Event { return new(Event) }

// Value is the value now.
func (e *Event) Value() uint64 { return e.value.Load() }

// Signal raises the value, and wakes those who wait for it or for less. It does nothing if the value is there already.
func (e *Event) Signal(value uint64) {
	e.mu.Lock()
	if value > e.value.Load() {
		e.value.Store(value)
	}
	e.tell()
}

// Fail says that the values up to this one will not be signalled, as far as they have not been: who waits for them gets the
// error. So it is said of what a request was to signal that has failed. Signal may still raise the value.
func (e *Event) Fail(value uint64, err error) {
	if err == nil {
		err = errGivenUp
	}
	e.mu.Lock()
	if value > e.givenUp.Load() && value > e.value.Load() {
		e.err = err
		e.givenUp.Store(value)
	}
	e.tell()
}

// errGivenUp is why a value will not be reached, if nobody says it better.
var errGivenUp = errors.New("it was given up")

// tell wakes and calls those whose value is there, one by one. It is called with the lock held, and gives it up.
func (e *Event) tell() {
	for {
		at := slices.IndexFunc(e.listeners, func(l listener) bool { return e.settled(l.value) })
		if at < 0 {
			e.mu.Unlock()
			return
		}
		l, err := e.listeners[at], e.outcome(e.listeners[at].value)
		e.listeners = slices.Delete(e.listeners, at, at+1)
		if l.wake != nil {
			l.wake <- struct{}{}
			continue
		}
		e.mu.Unlock()
		l.call(err)
		e.mu.Lock()
	}
}

// settled reports whether a value is there, or will not be.
func (e *Event) settled(value uint64) bool {
	return e.value.Load() >= value || e.givenUp.Load() >= value
}

// outcome is what Wait returns for a value that is settled. It is called with the lock held.
func (e *Event) outcome(value uint64) error {
	if e.value.Load() >= value {
		return nil
	}
	return fmt.Errorf("the event will not reach %d: %w", value, e.err)
}

// wakes are channels for goroutines that wait.
var wakes = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// Wait waits until the value is so high, or the context ends: for a short time without giving up the processor.
func (e *Event) Wait(ctx context.Context, value uint64) error {
	if pool.Await(func() bool { return e.settled(value) }) && e.value.Load() >= value {
		return nil
	}
	e.mu.Lock()
	if e.settled(value) {
		defer e.mu.Unlock()
		return e.outcome(value)
	}
	wake := wakes.Get().(chan struct{})
	e.listeners = append(e.listeners, listener{value: value, wake: wake})
	e.mu.Unlock()
	ended := false
	select {
	case <-wake:
	case <-ctx.Done():
		ended = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if ended {
		at := slices.IndexFunc(e.listeners, func(l listener) bool { return l.wake == wake })
		if at >= 0 {
			e.listeners = slices.Delete(e.listeners, at, at+1)
		} else {
			<-wake // it came at the same time
			ended = false
		}
	}
	wakes.Put(wake)
	if ended {
		return ctx.Err()
	}
	return e.outcome(value)
}

// Listen has f called once, when the value is so high: at once if it is. The error is not nil if it will not be, as Wait
// has it. It is called by who signals, and should return soon.
func (e *Event) Listen(value uint64, f func(error)) {
	e.mu.Lock()
	e.listeners = append(e.listeners, listener{value: value, call: f})
	e.tell()
}

// An EventType is what a signal is of: there are three, of which the sources know the numbers, and that all of them are
// taken, and not what tells them apart. Nothing here depends on it.
type EventType int

// EventTypes is how many there are.
const EventTypes = 3

// listen is Listen of somebody who may forget it.
func (e *Event) listen(value uint64, of any, f func(error)) {
	e.mu.Lock()
	e.listeners = append(e.listeners, listener{value: value, call: f, of: of})
	e.tell()
}

// forget ends what somebody has listened to.
func (e *Event) forget(of any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listeners = slices.DeleteFunc(e.listeners, func(l listener) bool { return l.of == of })
}
