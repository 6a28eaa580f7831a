package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/engine"
)

// A time that has come ends a run, which can go on without it.
func TestStopAt(t *testing.T) {
	p := load(t, stopPrograms["version 256"](t), plain)
	c := p.NewContext()
	c.StopAt(time.Now().Add(time.Millisecond)) // 17 GFLOP take longer anywhere
	at, err := p.Run(context.Background(), c, 0, len(p.Tasks()))
	if !errors.Is(err, engine.ErrStopped) || at == len(p.Tasks()) {
		t.Fatalf("at task %d: %v, want %v", at, err, engine.ErrStopped)
	}
	if again, err := p.Run(context.Background(), c, at, len(p.Tasks())); !errors.Is(err, engine.ErrStopped) || again != at {
		t.Errorf("past the time: task %d after %d, %v", again, at, err)
	}
	c.StopAt(time.Time{})
	if next, err := p.Run(context.Background(), c, at, at+1); err != nil || next != at+1 {
		t.Errorf("without a time: task %d, %v", next, err)
	}
}
