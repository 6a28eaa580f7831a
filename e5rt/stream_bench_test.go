package e5rt_test

import (
	"context"
	"slices"
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
// of calls back to back; "overhead" is what is left when that of the kernels is taken away, and "wake" what it is if the worker
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
	var spent time.Duration // of kernels, in the last call
	kernels := func() {
		var times trace.Times
		check(b, o.Run(trace.With(ctx, &times), nil))
		spent = 0
		for _, t := range f.Profile(&times)[0].Tasks {
			spent += t.Total
		}
	}
	ways := []struct {
		name   string
		run    func()
		before time.Duration // it sleeps for so long
		took   []float64
	}{{"inline", inline, 0, nil}, {"cycle", cycle, 0, nil}, {"stream", submit, 0, nil}, {"wake", submit, 2 * time.Millisecond, nil}}
	var alone []float64
	for b.Loop() {
		for range 64 { // a turn of each, so that caches are warm
			kernels()
			alone = append(alone, float64(spent))
		}
		for i := range ways {
			w := &ways[i]
			for range 64 {
				time.Sleep(w.before)
				began := time.Now()
				w.run()
				w.took = append(w.took, float64(time.Since(began)))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(alone)/1e3, "kernels-µs")
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
