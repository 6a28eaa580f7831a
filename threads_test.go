package espalier_test

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/espalier-ane/espalier"
)

// goroutinesCreated counts the goroutines that the process has begun.
func goroutinesCreated() uint64 {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// A prediction uses no more goroutines than it may, and computes the same bits with any number of them.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const name, times = "tiny_resnet", 20
	in := asInputs(readArrays(t, modelsDir, name, "inputs.npz"))
	bundled := compiled(t, openModel(t, espalier.Config{}, name), "", "m.bundle")
	for _, form := range []struct {
		name string
		open func(espalier.Config) *espalier.Model
	}{
		{"engine", func(c espalier.Config) *espalier.Model { return openModel(t, c, name) }},
		{"bundle", func(c espalier.Config) *espalier.Model { return open(t, c, bundled) }},
		{"host", func(c espalier.Config) *espalier.Model {
			c.Units = espalier.CPUOnly
			return openModel(t, c, name)
		}},
	} {
		var first map[string]*espalier.Value
		var most uint64
		for _, threads := range []int{0, 1, 2, 3} {
			m := form.open(espalier.Config{Threads: threads})
			if _, err := m.Predict(t.Context(), in); err != nil { // compiles it
				t.Fatal(err)
			}
			before := goroutinesCreated()
			for range times {
				out, err := m.Predict(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = out
				}
				for name, v := range out {
					if !sameBits(v.Tensor, first[name].Tensor) {
						t.Fatalf("%s: output %q differs with %d threads", form.name, name, threads)
					}
				}
			}
			created := goroutinesCreated() - before
			switch {
			case threads == 0:
				most = created
			case threads == 1 && created >= times: // the caller's own alone; a few may be the runtime's
				t.Errorf("%s: %d predictions on one thread began %d goroutines, on all threads %d", form.name, times, created, most)
			}
		}
		if most < times {
			t.Errorf("%s: %d predictions began %d goroutines: the model is too small to tell", form.name, times, most)
		}
	}
}
