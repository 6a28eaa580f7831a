package pool

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// withThreads runs f as a subtest for several numbers of threads. None of them
// may run in parallel: the number belongs to the process.
func withThreads(t *testing.T, f func(t *testing.T)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, threads := range []int{1, 2, 3, 16} {
		runtime.GOMAXPROCS(threads)
		t.Run(fmt.Sprintf("threads=%d", threads), f)
	}
	left(t)
}

// left checks that all who entered have left, and their jobs with them.
func left(t *testing.T) {
	t.Helper()
	if got := set.callers.Load(); got != 0 {
		t.Errorf("%d have not left", got)
	}
	for i := range set.jobs {
		if set.jobs[i].Load() != nil {
			t.Errorf("a job is left at place %d", i)
		}
	}
}

func TestRanges(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 255, 256, 257, 1000, 1 << 20, math.MaxInt - 1, math.MaxInt} {
		for _, grain := range []int{math.MinInt, -1, 0, 1, 2, 3, 64, 999, 1000, 1001, math.MaxInt} {
			count := ranges(n, grain)
			if count < 1 || count > maxRanges {
				t.Fatalf("n=%d grain=%d: %d ranges", n, grain, count)
			}
			end, shortest, longest := 0, math.MaxInt, 0
			for i := range count {
				lo, hi := bounds(n, count, i)
				if lo != end || hi <= lo {
					t.Fatalf("n=%d grain=%d: range %d is [%d, %d), after %d", n, grain, i, lo, hi, end)
				}
				end = hi
				shortest, longest = min(shortest, hi-lo), max(longest, hi-lo)
			}
			if end != n {
				t.Errorf("n=%d grain=%d: the ranges end at %d", n, grain, end)
			}
			if shortest < min(n, grain) {
				t.Errorf("n=%d grain=%d: a range has %d items", n, grain, shortest)
			}
			if longest-shortest > 1 {
				t.Errorf("n=%d grain=%d: ranges have %d to %d items", n, grain, shortest, longest)
			}
		}
	}
}

func TestForVisitsEachOnce(t *testing.T) {
	withThreads(t, func(t *testing.T) {
		for _, n := range []int{-1, 0, 1, 2, 100, 10_000} {
			for _, grain := range []int{0, 1, 3, 100, 20_000} {
				visits := make([]int32, max(n, 0))
				For(n, grain, func(lo, hi int) {
					for i := lo; i < hi; i++ {
						visits[i]++ // unsynchronised: the race detector checks that ranges are disjoint
					}
				})
				if i := slices.IndexFunc(visits, func(v int32) bool { return v != 1 }); i >= 0 {
					t.Errorf("n=%d grain=%d: item %d was visited %d times", n, grain, i, visits[i])
				}
			}
		}
	})
}

// A sum of floats by partial sums has the same bits for any number of threads.
func TestForIsDeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]float32, 100_003)
	for i := range data {
		data[i] = float32(rng.NormFloat64() * math.Exp2(float64(rng.IntN(40))))
	}
	sum := func() (total float32, cuts []int) {
		var mu sync.Mutex
		partial := map[int]float32{}
		For(len(data), 700, func(lo, hi int) {
			var s float32
			for _, v := range data[lo:hi] {
				s += v
			}
			mu.Lock()
			defer mu.Unlock()
			partial[lo] = s
			cuts = append(cuts, lo)
		})
		slices.Sort(cuts)
		for _, lo := range cuts {
			total += partial[lo]
		}
		return total, cuts
	}

	wantSum, wantCuts := sum()
	withThreads(t, func(t *testing.T) {
		for range 10 {
			gotSum, gotCuts := sum()
			if math.Float32bits(gotSum) != math.Float32bits(wantSum) {
				t.Errorf("sum is %v, want %v", gotSum, wantSum)
			}
			if !slices.Equal(gotCuts, wantCuts) {
				t.Errorf("ranges begin at %v, want %v", gotCuts, wantCuts)
			}
		}
	})
}

func TestForNested(t *testing.T) {
	withThreads(t, func(t *testing.T) {
		var visits atomic.Int64
		For(20, 1, func(lo, hi int) {
			for range hi - lo {
				For(20, 1, func(lo, hi int) {
					for range hi - lo {
						For(20, 1, func(lo, hi int) { visits.Add(int64(hi - lo)) })
					}
				})
			}
		})
		if got := visits.Load(); got != 8000 {
			t.Errorf("%d visits, want 8000", got)
		}
	})
}

// Many loops at once share the helpers and all finish.
func TestForConcurrent(t *testing.T) {
	withThreads(t, func(t *testing.T) {
		var visits atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				For(1000, 1, func(lo, hi int) { visits.Add(int64(hi - lo)) })
			})
		}
		wg.Wait()
		if got := visits.Load(); got != 50_000 {
			t.Errorf("%d visits, want 50000", got)
		}
	})
}

// caught returns what f panics with.
func caught(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// The panic of the lowest range arrives, whoever ran it and whenever it came.
func TestForPanics(t *testing.T) {
	boom := errors.New("boom")
	withThreads(t, func(t *testing.T) {
		for range 100 {
			v := caught(func() {
				For(100, 1, func(lo, hi int) {
					switch {
					case lo == 30:
						runtime.Gosched() // let a higher range be first
						panic(boom)
					case lo > 30:
						panic(lo)
					}
				})
			})
			p, ok := v.(*Panic)
			if !ok {
				t.Fatalf("recovered %v, want a *Panic", v)
			}
			if p.Value != boom || !errors.Is(p, boom) {
				t.Fatalf("the value is %v, want %v", p.Value, boom)
			}
			if !strings.Contains(p.Error(), "boom") || !strings.Contains(p.Error(), "TestForPanics") {
				t.Fatalf("%q does not say what panicked and where", p.Error())
			}
		}
		For(100, 1, func(lo, hi int) {}) // still in order
	})
}

// A panic crosses nested loops with the value and the stack of its origin.
func TestForPanicsNested(t *testing.T) {
	withThreads(t, func(t *testing.T) {
		v := caught(func() {
			For(4, 1, func(int, int) {
				For(4, 1, func(int, int) { panic("boom") })
			})
		})
		if p, ok := v.(*Panic); !ok || p.Value != "boom" {
			t.Errorf("recovered %v, want a *Panic of boom", v)
		}
	})
}

// A body that ends its goroutine neither hangs the loop nor counts as done.
func TestForGoexit(t *testing.T) {
	withThreads(t, func(t *testing.T) {
		returned := make(chan bool)
		go func() {
			ok := false
			defer func() {
				recover()
				returned <- ok
			}()
			For(100, 1, func(lo, hi int) {
				if lo == 50 {
					runtime.Goexit()
				}
			})
			ok = true
		}()
		if <-returned {
			t.Error("For returned")
		}
	})
}

func BenchmarkFor(b *testing.B) {
	b.Run("empty", func(b *testing.B) {
		for b.Loop() {
			For(1, 1, func(lo, hi int) {})
		}
	})
	data := make([]float32, 1<<20)
	scale := func(lo, hi int) {
		for i := range data[lo:hi] {
			data[lo+i] = data[lo+i]*0.5 + 1
		}
	}
	b.Run("1Mi/plain", func(b *testing.B) {
		b.SetBytes(int64(len(data) * 4))
		for b.Loop() {
			scale(0, len(data))
		}
	})
	for _, grain := range []int{1 << 10, 1 << 14, 1 << 18, 1 << 20} {
		b.Run(fmt.Sprintf("1Mi/grain=%d", grain), func(b *testing.B) {
			b.SetBytes(int64(len(data) * 4))
			for b.Loop() {
				For(len(data), grain, scale)
			}
		})
	}
}
