package e5rt_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/e5rt"
)

func TestEvent(t *testing.T) {
	ctx := patience(t)
	e := e5rt.NewEvent()
	check(t, e.Wait(ctx, 0))
	short, cancel := context.WithTimeout(ctx, 2*time.Millisecond)
	defer cancel()
	if err := e.Wait(short, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody signals: %v", err)
	}
	e.Signal(5)
	e.Signal(3) // it only rises
	if e.Value() != 5 {
		t.Errorf("value %d", e.Value())
	}
	check(t, e.Wait(ctx, 5))

	var told []uint64
	for _, value := range []uint64{9, 4, 7, 8} {
		e.Listen(value, func(err error) {
			check(t, err)
			told = append(told, value)
		})
	}
	e.Signal(7)
	e.Signal(7)
	if !slices.Equal(told, []uint64{4, 7}) {
		t.Errorf("at 7: %v", told)
	}
	e.Signal(9)
	if slices.Sort(told); !slices.Equal(told, []uint64{4, 7, 8, 9}) {
		t.Errorf("at 9: %v", told)
	}
}

// A listener may use the event.
func TestListenerSignals(t *testing.T) {
	e := e5rt.NewEvent()
	for v := range uint64(10) {
		e.Listen(v+1, func(error) { e.Signal(v + 2) })
	}
	e.Signal(1)
	if e.Value() != 11 {
		t.Errorf("value %d", e.Value())
	}
}

func TestEventFails(t *testing.T) {
	ctx := patience(t)
	boom := errors.New("boom")
	e := e5rt.NewEvent()
	e.Signal(1)
	waited := make(chan error)
	go func() { waited <- e.Wait(ctx, 3) }()
	go func() { waited <- e.Wait(ctx, 4) }()
	e.Fail(3, boom)
	if err := <-waited; !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	check(t, e.Wait(ctx, 1))
	e.Signal(4)
	check(t, <-waited)
	check(t, e.Wait(ctx, 3))
	e.Fail(2, boom) // too late
	check(t, e.Wait(ctx, 2))
}

// Many wait for many values: each is woken, by its value or by its context, and none twice.
func TestEventWakesAll(t *testing.T) {
	ctx := patience(t)
	e := e5rt.NewEvent()
	var wg sync.WaitGroup
	for k := range 16 {
		wg.Go(func() {
			for v := uint64(1); v <= 500; v++ {
				if k%4 == 0 && v%50 == 0 {
					short, cancel := context.WithTimeout(ctx, time.Microsecond)
					if err := e.Wait(short, v); err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					cancel()
				}
				if err := e.Wait(ctx, v); err != nil || e.Value() < v {
					t.Errorf("waiting for %d: %v, at %d", v, err, e.Value())
					return
				}
			}
		})
	}
	for v := uint64(1); v <= 500; v++ {
		e.Signal(v)
	}
	wg.Wait()
}
