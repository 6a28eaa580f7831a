package engine_test

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
)

// longestPause is the longest time that the world was stopped for the collector since an
// earlier reading, and the reading. The runtime counts in buckets: the upper end of the
// last that has grown.
func longestPause(before []uint64) (seconds float64, now []uint64) {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	h := s[0].Value.Float64Histogram()
	for i, n := range h.Counts {
		if before != nil && n > before[i] && !math.IsInf(h.Buckets[i+1], 1) {
			seconds = h.Buckets[i+1]
		}
	}
	return seconds, h.Counts
}

// BenchmarkCollectorPause collects garbage while kernels run on all processors, and
// prints the longest pause: machine code cannot be preempted, and the world waits for it.
// The goal is 3 ms.
func BenchmarkCollectorPause(b *testing.B) {
	for _, s := range speeds {
		for encoding, file := range s.files(b) {
			b.Run(s.name+"/"+encoding, func(b *testing.B) {
				p := load(b, file, h13(b))
				ctx, cancel := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				for range runtime.GOMAXPROCS(0) {
					wg.Go(func() {
						for c := p.NewContext(); p.RunAll(ctx, c) == nil; {
						}
					})
				}
				_, before := longestPause(nil)
				for b.Loop() {
					runtime.GC()
				}
				pause, _ := longestPause(before)
				cancel()
				wg.Wait()
				b.ReportMetric(pause*1e3, "longest-pause-ms")
			})
		}
	}
}
