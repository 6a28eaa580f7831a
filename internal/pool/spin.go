package pool

import (
	"runtime"
	"time"
)

// How long a goroutine waits without giving up its processor: longer than most tasks
// that one thread runs alone, and not so long that it would show. A helper that waited
// in vain waits for half as long the next time, for others may need the processor.
const (
	spinFor  = 50 * time.Microsecond
	spinLess = 6 * time.Microsecond
)

// A spinTime is the time for which somebody spins.
type spinTime struct {
	limit time.Duration
	n     int
	until time.Time
}

// left pauses for some 50 ns and reports whether there is time left. From time to time
// it lets others run who wait for the processor.
//
//go:noinline
func (t *spinTime) left() bool {
	pause()
	t.n++
	switch {
	case t.n == 1:
		t.until = time.Now().Add(t.limit)
	case t.n%128 == 0:
		runtime.Gosched()
		return time.Now().Before(t.until)
	case t.n%16 == 0:
		return time.Now().Before(t.until)
	}
	return true
}

// Await spins until ready says so, and reports whether it did. It gives up after a short time, and at once where those
// who compute and those who wait so are more than there are processors: then they are needed for something better, and
// the caller parks. First of all it lets those run who wait for the processor, for one of them may be the one to be
// waited for.
func Await(ready func() bool) bool {
	if ready() {
		return true
	}
	set.waiters.Add(1)
	defer set.waiters.Add(-1)
	runtime.Gosched()
	t := spinTime{limit: spinFor}
	for set.callers.Load()+set.awake.Load()+set.waiters.Load() <= set.procs.Load() && t.left() {
		if ready() {
			return true
		}
	}
	return ready()
}
