package gate

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Nobody is inside when what was kept is released, and nobody comes in later.
func TestNobodyInsideAfterClose(t *testing.T) {
	for range 50 {
		var g Gate
		var kept atomic.Bool
		kept.Store(true)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				for {
					place, ok := g.Enter(ctx)
					if !ok {
						return
					}
					if rand.IntN(10) == 0 {
						cancel()
					}
					if !kept.Load() {
						t.Error("somebody is inside, and it is released")
					}
					g.Leave(place)
				}
			})
		}
		for range 3 {
			wg.Go(func() {
				if err := g.Close(func() error { kept.Store(false); return nil }); err != nil {
					t.Error(err)
				}
				if kept.Load() {
					t.Error("Close has returned, and it is not released")
				}
			})
		}
		wg.Wait()
	}
}

func TestCloseReturnsTheErrorOfRelease(t *testing.T) {
	var g Gate
	boom := errors.New("boom")
	calls := 0
	release := func() error { calls++; return boom }
	if err := g.Close(release); err != boom {
		t.Errorf("got %v", err)
	}
	if err := g.Close(release); err != nil || calls != 1 {
		t.Errorf("the second: %v, %d calls", err, calls)
	}
}

// Who closes from inside waits until its own context ends; what was kept is released when it leaves.
func TestCloseFromInside(t *testing.T) {
	defer func(d time.Duration) { Patience = d }(Patience)
	Patience = time.Millisecond
	var g Gate
	ctx, cancel := context.WithCancel(context.Background())
	place, _ := g.Enter(ctx)
	time.AfterFunc(10*time.Millisecond, cancel)
	released := false
	if err := g.Close(func() error { released = true; return nil }); err != ErrInside || ctx.Err() == nil || released {
		t.Errorf("got %v, ended %v, released %v", err, ctx.Err(), released)
	}
	if err := g.Close(nil); err != ErrInside {
		t.Errorf("again: %v", err)
	}
	g.Leave(place)
	if !released {
		t.Error("it is not released")
	}
	if err := g.Close(nil); err != nil {
		t.Errorf("in the end: %v", err)
	}
}

// A user without end is waited for, though others were told to end.
func TestCloseWaitsForWhoIsNotToldToEnd(t *testing.T) {
	defer func(d time.Duration) { Patience = d }(Patience)
	Patience = time.Millisecond
	var g Gate
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	a, _ := g.Enter(ended)
	b, _ := g.Enter(context.Background())
	var released atomic.Bool
	done := make(chan error)
	go func() { done <- g.Close(func() error { released.Store(true); return nil }) }()
	time.Sleep(20 * time.Millisecond)
	if released.Load() || !g.Closed() {
		t.Error("it is released, or open")
	}
	g.Leave(b)
	g.Leave(a)
	if err := <-done; err != nil && err != ErrInside || !released.Load() {
		t.Errorf("got %v, released %v", err, released.Load())
	}
}

func TestEnterAllocatesNothing(t *testing.T) {
	var g Gate
	if n := testing.AllocsPerRun(100, func() {
		place, _ := g.Enter(context.Background())
		g.Leave(place)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
