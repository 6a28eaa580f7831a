package pool

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type bodyFunc func(w *Worker, lo, hi int)

func (f bodyFunc) Work(w *Worker, lo, hi int) { f(w, lo, hi) }

// A worker runs one range at a time, whoever has it: its scratch is its own.
func TestWorkerFor(t *testing.T) {
	type scratch struct{ busy bool }
	withThreads(t, func(t *testing.T) {
		for _, threads := range []int{0, 1, 3, 8} {
			w := Enter(threads)
			var visits []int32
			body := bodyFunc(func(w *Worker, lo, hi int) {
				s, ok := w.Scratch.(*scratch)
				if !ok {
					s = new(scratch)
					w.Scratch = s
				}
				if s.busy { // unsynchronised: the race detector checks that scratch is private
					t.Error("two at once have one scratch")
				}
				s.busy = true
				for i := lo; i < hi; i++ {
					visits[i]++
				}
				s.busy = false
			})
			for _, n := range []int{-1, 0, 1, 2, 100, 10_000} {
				for _, grain := range []int{0, 1, 3, 100, 20_000} {
					visits = make([]int32, max(n, 0))
					w.For(n, grain, true, body)
					for i, v := range visits {
						if v != 1 {
							t.Fatalf("threads=%d n=%d grain=%d: item %d was visited %d times", threads, n, grain, i, v)
						}
					}
				}
			}
			w.Leave()
		}
	})
}

func TestWorkerAllocatesNothing(t *testing.T) {
	sum := make([]float32, 1<<16)
	body := bodyFunc(func(_ *Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			sum[i]++
		}
	})
	w := Enter(0)
	defer w.Leave()
	if n := testing.AllocsPerRun(200, func() { w.For(len(sum), 256, true, body) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWorkerPanics(t *testing.T) {
	boom := errors.New("boom")
	withThreads(t, func(t *testing.T) {
		fail := true
		body := bodyFunc(func(_ *Worker, lo, hi int) {
			if fail && lo >= 30 {
				panic(boom)
			}
		})
		w := Enter(0)
		defer w.Leave()
		for range 50 {
			p, ok := caught(func() { w.For(100, 1, true, body) }).(*Panic)
			if !ok || p.Value != boom {
				t.Fatalf("recovered %v, want a *Panic of %v", p, boom)
			}
		}
		fail = false
		w.For(100, 1, true, body) // still in order
	})
}

// together runs a loop whose ranges wait until so many of them run at once, and
// reports whether they did. The limit of time only ends what hangs.
func together(w *Worker, n, want int) bool {
	var here atomic.Int64
	var late atomic.Bool
	end := time.Now().Add(30 * time.Second)
	w.For(n, 1, true, bodyFunc(func(*Worker, int, int) {
		here.Add(1)
		for here.Load() < int64(want) && !late.Load() {
			if runtime.Gosched(); time.Now().After(end) {
				late.Store(true)
			}
		}
	}))
	return !late.Load()
}

// All processors come to help, also those that are there since a moment ago, and no
// more than there are.
func TestWorkersFollowGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{2, 5, 3, 1, 8, 2} {
		runtime.GOMAXPROCS(procs)
		w := Enter(0)
		if !together(w, 256, procs) {
			t.Errorf("with %d processors, not all came", procs)
		}
		var now, most atomic.Int64
		for range 20 {
			w.For(100, 1, true, bodyFunc(func(*Worker, int, int) {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				runtime.Gosched()
				now.Add(-1)
			}))
		}
		if most.Load() > int64(procs) {
			t.Errorf("with %d processors, %d worked at a time", procs, most.Load())
		}
		w.Leave()
	}
}

// Two loops at once share the processors: none of them gets more than its share while
// the other is there, and both get help.
func TestWorkersAreShared(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	var wg sync.WaitGroup
	a, b := Enter(0), Enter(0)
	for _, w := range []*Worker{a, b} {
		wg.Go(func() {
			for range 20 {
				if !together(w, 64, 3) {
					t.Error("three were to be at work on each")
					return
				}
			}
		})
	}
	wg.Wait()
	if n := a.seats(); n > 2 {
		t.Errorf("a loop has %d seats for others", n)
	}
	a.Leave()
	b.Leave()
}

// Where there are as many callers as processors, nobody helps, and nobody is woken.
func TestWorkersLeaveProcessorsAlone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	a, b := Enter(0), Enter(0)
	defer b.Leave()
	defer a.Leave()
	before := set.woken.Load()
	for range 10 {
		a.For(100, 1, true, bodyFunc(func(w *Worker, _, _ int) {
			if w != a {
				t.Error("somebody helped")
			}
		}))
	}
	if set.woken.Load() != before {
		t.Error("somebody was woken")
	}
}

// A loop that is not worth it wakes nobody.
func TestWorkersSleep(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	w := Enter(0)
	defer w.Leave()
	rest(t)
	before := set.woken.Load()
	for range 10 {
		w.For(100, 1, false, bodyFunc(func(at *Worker, _, _ int) {
			if at != w {
				t.Error("somebody helped")
			}
		}))
	}
	if set.woken.Load() != before {
		t.Error("somebody was woken")
	}
}

// rest waits until all helpers have parked.
func rest(t testing.TB) {
	for end := time.Now().Add(30 * time.Second); set.awake.Load() > 0; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("helpers do not park")
		}
	}
}

// BenchmarkRoundTrip is a loop of two ranges, of which a helper runs one: what it costs
// to have it do nothing, while it spins and after it has parked. On a machine that has
// other work, the least and the median say more than the mean.
func BenchmarkRoundTrip(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var here atomic.Int64
	both := bodyFunc(func(*Worker, int, int) {
		for here.Add(1); here.Load() < 2; {
			pause()
		}
	})
	for name, before := range map[string]func(testing.TB){"hot": func(testing.TB) {}, "parked": rest} {
		b.Run(name, func(b *testing.B) {
			w := Enter(0)
			defer w.Leave()
			var times []time.Duration
			for b.Loop() {
				before(b)
				here.Store(0)
				begin := time.Now()
				w.For(2, 1, true, both)
				times = append(times, time.Since(begin))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[0]), "least-ns")
			b.ReportMetric(float64(times[len(times)/2]), "median-ns")
		})
	}
	b.Run("alone", func(b *testing.B) {
		w := Enter(1)
		defer w.Leave()
		body := bodyFunc(func(*Worker, int, int) {})
		for b.Loop() {
			w.For(2, 1, true, body)
		}
	})
}
