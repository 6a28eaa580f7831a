package espalier_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/internal/pool"
)

// A prediction has no help if it may not, and computes the same bits with any number of threads.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const name, times = "tiny_unet", 20
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
		for _, threads := range []int{0, 1, 2, 3} {
			m := form.open(espalier.Config{Threads: threads})
			if _, err := m.Predict(t.Context(), in); err != nil { // compiles it
				t.Fatal(err)
			}
			_, before := pool.Counts()
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
			helped := func() bool {
				_, joined := pool.Counts()
				return joined > before
			}
			if threads == 1 && helped() {
				t.Errorf("%s: others helped with predictions on one thread", form.name)
			}
			for end := time.Now().Add(30 * time.Second); threads == 0 && !helped(); { // a busy machine may take its time
				if _, err := m.Predict(t.Context(), in); err != nil || time.Now().After(end) {
					t.Fatalf("%s: nobody helps: the model is too small to tell (%v)", form.name, err)
				}
			}
		}
	}
}
