package e5rt_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/trace"
)

// What a dispatch of the tiny graph costs beside its kernels.
//
//	go test ./e5rt -run - -bench Overhead
//
// Each way to run it is measured in turn with the kernels alone, so that all have the same machine. The figures are medians
// of calls back to back; "at most" is what a call takes beside its own kernels, with the cost of measuring them; "overhead" is what is left when that of the kernels is taken away, and "wake" what it is if the worker
// of the stream has parked, which depends on the system.
func BenchmarkOverhead(b *testing.B) {
	f := openText(b, tiny())
	ctx := context.Background()
	o := f.NewOperation()
	check(b, o.Set("x", someHalves(1, 1, 8, 16, 16)))
	inline := func() { check(b, o.Run(ctx, nil)) }

	s := e5rt.NewStream()
	encodedOperation := f.NewOperation()
	check(b, s.Encode(encodedOperation, nil))
	cycle := func() {
		check(b, s.Execute(ctx))
		check(b, s.Reset())
		check(b, s.Encode(encodedOperation, nil))
	}
	e, n := e5rt.NewEvent(), uint64(0)
	completion := func(err error) {
		check(b, err)
		e.Signal(n)
	}
	submit := func() {
		n++
		check(b, s.Submit(ctx, completion))
		check(b, e.Wait(ctx, n))
		check(b, s.Reset())
		check(b, s.Encode(encodedOperation, nil))
	}
	var times trace.Times
	watched := trace.With(ctx, &times)
	inKernels := func() (spent time.Duration) {
		for _, t := range f.Profile(&times)[0].Tasks {
			spent += t.Total
		}
		return spent
	}
	ways := []struct {
		name   string
		run    func()
		before time.Duration // it sleeps for so long
		took   []float64
	}{{"inline", inline, 0, nil}, {"cycle", cycle, 0, nil}, {"stream", submit, 0, nil}, {"wake", submit, 2 * time.Millisecond, nil}}
	warm := func(run func()) {
		for range 8 {
			run()
		}
	}
	var alone, beside []float64
	for b.Loop() {
		const turn = 32 // of each
		warm(inline)
		before, began := inKernels(), time.Now()
		for range turn {
			check(b, o.Run(watched, nil))
		}
		took, kernels := time.Since(began), inKernels()-before
		alone, beside = append(alone, float64(kernels/turn)), append(beside, float64((took-kernels)/turn))
		for i := range ways {
			w := &ways[i]
			warm(w.run)
			for k := range turn {
				if w.before > 0 && k >= 4 {
					break
				}
				time.Sleep(w.before)
				began := time.Now()
				w.run()
				w.took = append(w.took, float64(time.Since(began)))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(alone)/1e3, "kernels-µs")
	b.ReportMetric(median(beside)/1e3, "inline-at-most-µs")
	for i := range ways {
		b.ReportMetric((median(ways[i].took)-median(alone))/1e3, ways[i].name+"-overhead-µs")
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkCycle is encode, execute, reset with nothing to compute but one element, and what each way allocates.
func BenchmarkCycle(b *testing.B) {
	ctx := context.Background()
	o := openText(b, newGraph(1, 1, 1, 1).relu().text(1, 1, 1, 1)).NewOperation()
	s := e5rt.NewStream()
	e, n := e5rt.NewEvent(), uint64(0)
	completion := func(error) { e.Signal(n) }
	b.Run("inline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check(b, o.Run(ctx, nil))
		}
	})
	b.Run("execute", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check(b, s.Encode(o, nil))
			check(b, s.Execute(ctx))
			check(b, s.Reset())
		}
	})
	b.Run("submit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n++
			check(b, s.Encode(o, nil))
			check(b, s.Submit(ctx, completion))
			check(b, e.Wait(ctx, n))
			check(b, s.Reset())
		}
	})
}

// BenchmarkTwoStreams has each of two streams run a graph again and again on one thread, and says how much more there is done
// than by one: in the median, and by the fastest times of both, which others who use the machine spoil less.
func BenchmarkTwoStreams(b *testing.B) {
	f := openText(b, newGraph(1, 32, 32, 32).conv(32, 3).relu().conv(32, 3).relu().mean().text(1, 32, 32, 32)) // some 160 µs
	ctx := context.Background()
	const submissions = 20
	var all [2][]float64
	for b.Loop() {
		for n := 1; n <= 2; n++ {
			began := time.Now()
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					s, o := e5rt.NewStream(), f.NewOperation()
					e := e5rt.NewEvent()
					for i := range uint64(submissions) {
						check(b, s.Encode(o, nil, e5rt.Signals(e, i+1)))
						check(b, s.Submit(ctx, nil))
						check(b, e.Wait(ctx, i+1))
						check(b, s.Reset())
					}
				})
			}
			wg.Wait()
			all[n-1] = append(all[n-1], float64(time.Since(began)))
		}
	}
	b.ReportMetric(2*median(all[0])/median(all[1]), "x-of-one")
	b.ReportMetric(2*all[0][0]/all[1][0], "x-by-the-fastest") // median has sorted them
}

// BenchmarkPools is what W1 measured as 8 µs for a stream, and less than 1 µs for an operation.
func BenchmarkPools(b *testing.B) {
	f := openText(b, tiny())
	b.Run("streams", func(b *testing.B) {
		p := e5rt.NewStreamPool(1)
		for b.Loop() {
			s, err := p.TakeOut()
			check(b, err)
			p.PutBack(s)
		}
	})
	b.Run("operations", func(b *testing.B) {
		for b.Loop() {
			f.PutBack(f.TakeOut())
		}
	})
}

// BenchmarkExperimentU runs the kernels of the research, convolutions 1×1 of 256 to 2048 channels, one after the other and as
// one stream.
func BenchmarkExperimentU(b *testing.B) {
	ctx := context.Background()
	var operations []*e5rt.Operation
	for _, channels := range []int{256, 512, 1024, 2048} {
		g := newGraph(1, channels, 1, 16)
		g.constant("shape", "tensor<int32, [4]>", fmt.Sprintf("[%d, %d, 1, 1]", channels, channels))
		g.constant("value", "fp16", "0.03125")
		g.add("w", []int{channels, channels, 1, 1}, "fill(shape = shape, value = value)")
		g.last = "x"
		operations = append(operations, openText(b, g.convOf("w", channels, 1).text(1, channels, 1, 16)).NewOperation())
	}
	for n := 1; n <= len(operations); n++ {
		b.Run(fmt.Sprintf("apart/%d", n), func(b *testing.B) {
			for b.Loop() {
				for _, o := range operations[:n] {
					check(b, o.Run(ctx, nil))
				}
			}
		})
		b.Run(fmt.Sprintf("stream/%d", n), func(b *testing.B) {
			s := e5rt.NewStream()
			for b.Loop() {
				for _, o := range operations[:n] {
					check(b, s.Encode(o, nil))
				}
				check(b, s.Execute(ctx))
				check(b, s.Reset())
			}
		})
	}
}
