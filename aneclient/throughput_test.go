package aneclient_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier/aneclient"
)

// A throughput is experiment I: 12 kernels, each on its own surfaces.
type throughput struct {
	models  []*aneclient.Model
	kernels []*kernel
	chain   *pipeline
	linked  []*aneclient.Request // the output surface of one is the input of the next
	queue   chan func()
	onceQ   sync.Once
}

func newThroughput(t testing.TB, c *aneclient.Client, size [2]int) *throughput {
	t.Helper()
	w := &throughput{models: twelve(t, c, size), queue: make(chan func())}
	for i, m := range w.models {
		k := bench(t, c, m, 0)
		w.kernels = append(w.kernels, k)
		in := k.x
		if i > 0 {
			in = w.kernels[i-1].y
		}
		w.linked = append(w.linked, aneclient.NewRequest(in, []int{0}, k.y, []int{0}, nil, nil, 0))
		check(t, m.Mapper().Map(k.request, true))
		check(t, m.Mapper().Map(w.linked[i], true))
	}
	w.chain = chainRequest(t, c, 1, w.models...)
	w.chain.request.Inputs[0].Object = w.kernels[0].x[0]
	w.chain.prepare(t)
	check(t, w.chain.EnqueueSets(aneclient.OutputSetEnqueue{OpenLoop: true}))
	t.Cleanup(func() { close(w.queue) })
	return w
}

// reset sets the first input, and clears the results.
func (w *throughput) reset(t testing.TB, x []float32) {
	t.Helper()
	for _, k := range w.kernels {
		clear(k.y[0].Surface.Bytes())
	}
	w.kernels[0].put(t, 0, x)
}

// result is that of the last kernel.
func (w *throughput) result(t testing.TB, way string) []float32 {
	t.Helper()
	if way == "chain" {
		y, err := w.chain.last.Outputs[0].Load(w.chain.sets[0])
		check(t, err)
		return y
	}
	return w.kernels[11].get(t, 0)
}

// all are the ways to run the 12 kernels.
func (w *throughput) all() map[string]func() error {
	evaluate := func() error {
		for i, m := range w.models {
			if err := m.Evaluate(ctx, qos, w.linked[i]); err != nil {
				return err
			}
		}
		return nil
	}
	copyAt := func(i int) {
		if i > 0 {
			copy(w.kernels[i].x[0].Surface.Bytes(), w.kernels[i-1].y[0].Surface.Bytes())
		}
	}
	return map[string]func() error{
		"sequential": func() error { // run and copy
			for i, k := range w.kernels {
				copyAt(i)
				if err := k.Evaluate(ctx, qos, k.request); err != nil {
					return err
				}
			}
			return nil
		},
		"run-only": func() error {
			for _, k := range w.kernels {
				if err := k.Evaluate(ctx, qos, k.request); err != nil {
					return err
				}
			}
			return nil
		},
		"copy-only": func() error {
			for i := range w.kernels {
				copyAt(i)
			}
			return nil
		},
		"shared surfaces": evaluate, // what one writes, the next reads
		"serial queue": func() error { // as a serial dispatch queue: another goroutine runs each, and is waited for
			w.onceQ.Do(func() {
				go func() {
					for f := range w.queue {
						f()
					}
				}()
			})
			var failed error
			done := make(chan struct{})
			for i, m := range w.models {
				w.queue <- func() {
					if err := m.Evaluate(ctx, qos, w.linked[i]); err != nil {
						failed = err
					}
					done <- struct{}{}
				}
				<-done
			}
			return failed
		},
		"chain": func() error { return w.chain.ExecuteChain(ctx, aneclient.InputBuffersReady{}) },
	}
}

var throughputWays = []string{"sequential", "run-only", "copy-only", "shared surfaces", "serial queue", "chain"}

// BenchmarkExperimentI is the research's table of 12 kernels: ns/kernel, of a copy in copy-only.
func BenchmarkExperimentI(b *testing.B) {
	for _, size := range sizes {
		c := connect(b, "virtual")
		ways := newThroughput(b, c, size)
		for _, name := range throughputWays {
			run := ways.all()[name]
			b.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], name), func(b *testing.B) {
				ways.reset(b, random(3, size[0]*size[1]))
				for b.Loop() {
					check(b, run())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/12, "ns/kernel")
			})
		}
	}
}

// BenchmarkPaths is the research's table of four paths at five sizes.
func BenchmarkPaths(b *testing.B) {
	for _, size := range [][2]int{{64, 32}, {128, 64}, {256, 64}, {512, 64}, {768, 256}} {
		c := connect(b, "virtual")
		k := bench(b, c, load(b, c, half(b, size[0], size[1])), 0)
		check(b, k.Mapper().Map(k.request, true))
		program := k.Program()
		for _, path := range []struct {
			name string
			run  func() error
		}{
			{"standard", func() error { return k.Evaluate(ctx, qos, k.request) }},
			{"real-time", func() error { return k.EvaluateRealTime(ctx, k.request) }},
			{"processRequest", func() error { _, err := program.ProcessRequest(ctx, k.request, qos, 0, ""); return err }},
			{"direct", func() error { return k.EvaluateDirect(qos, k.request) }},
		} {
			b.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], path.name), func(b *testing.B) {
				for b.Loop() {
					check(b, path.run())
				}
			})
		}
	}
}

// BenchmarkTwoModels is the loop-back chain of two models, and the same one by one: ns/kernel.
func BenchmarkTwoModels(b *testing.B) {
	for _, size := range sizes {
		c := connect(b, "virtual")
		first, second := load(b, c, half(b, size[0], size[1])), load(b, c, conv(b, size[0], size[1], diagonal(size[0], 2)))
		p := chainRequest(b, c, 1, first, second).loop().prepare(b)
		p.put(b, 0, filled(size[0]*size[1], 1))
		check(b, p.EnqueueSets(aneclient.OutputSetEnqueue{OpenLoop: true}))
		one, two := bench(b, c, first, 0), bench(b, c, second, 0)
		there := aneclient.NewRequest(two.y, []int{0}, one.y, []int{0}, nil, nil, 0)
		back := aneclient.NewRequest(one.y, []int{0}, two.y, []int{0}, nil, nil, 0)
		check(b, first.Mapper().Map(there, true))
		check(b, second.Mapper().Map(back, true))
		check(b, one.info.Inputs[0].Store(two.y[0], filled(size[0]*size[1], 1)))
		for _, way := range []struct {
			name string
			run  func() error
		}{
			{"chain", func() error { return p.ExecuteChain(ctx, aneclient.InputBuffersReady{}) }},
			{"one by one", func() error { return errors.Join(first.Evaluate(ctx, qos, there), second.Evaluate(ctx, qos, back)) }},
		} {
			b.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], way.name), func(b *testing.B) {
				for b.Loop() {
					check(b, way.run())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/kernel")
			})
		}
	}
}
