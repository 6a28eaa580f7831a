package espalier_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/tensor"
)

// A dispatch of a model has the same bits as a whole, task by task, and stopped at any
// moment and resumed, with any number of threads: of networks of each family, with states
// and without, for the virtual target and for a chip.
func TestModelsInPieces(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	ran := 0
	for _, name := range []string{"tiny_resnet", "tiny_mobilenet", "tiny_unet", "tiny_gpt_decode", "stateful_kv_cache", "tiny_llama_block", "norms2d"} {
		for _, target := range []string{"virtual", "h13"} {
			tgt, err := hal.Lookup(target)
			if err != nil {
				t.Fatal(err)
			}
			b, err := bundle.Open(compiled(t, openModel(t, espalier.Config{}, name), target, "m.bundle"))
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for _, f := range b.Manifest.Functions {
				for _, s := range f.Segments {
					if s.Container == "" {
						continue
					}
					p, err := engine.LoadWith(b.Container(s.Container), engine.Options{Numerics: tgt.Numerics, Weights: b.Bytes(s.Weights)})
					if err != nil {
						t.Fatal(err)
					}
					inPieces(t, name+" for "+target, p)
					ran++
				}
			}
		}
	}
	if ran < 14 {
		t.Errorf("%d containers", ran)
	}
}

func inPieces(t *testing.T, name string, p *engine.Program) {
	c, ctx, n := p.NewContext(), t.Context(), len(p.Tasks())
	surface := func(i int) []byte {
		s, err := c.SurfaceAt(i)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var want [][]byte
	check := func(how string, run func() error) {
		t.Helper()
		r := rand.New(rand.NewPCG(3, 4))
		for i, port := range p.Ports() {
			s := surface(i)
			clear(s)
			if port.Direction != engine.Output && port.Type == tensor.Float16 {
				values := make([]float32, len(s)/2)
				for k := range values {
					values[k] = r.Float32() - 0.5
				}
				copy(s, tensor.FromFloat32s(tensor.Float16, values, len(values)).Bytes())
			}
		}
		if err := run(); err != nil {
			t.Fatalf("%s: %s: %v", name, how, err)
		}
		for i, port := range p.Ports() {
			if port.Direction == engine.Input {
				continue
			}
			if len(want) <= i {
				want = append(want, make([][]byte, i+1-len(want))...)
			}
			if want[i] == nil {
				want[i] = bytes.Clone(surface(i))
			} else if !bytes.Equal(surface(i), want[i]) {
				t.Errorf("%s: %s: %v %q has other bits", name, how, port.Direction, port.Name)
			}
		}
	}
	runtime.GOMAXPROCS(1)
	check("whole", func() error { return p.RunAll(ctx, c) })
	check("task by task", func() error {
		for i := range n {
			runtime.GOMAXPROCS(1 + i%4)
			if next, err := p.Run(ctx, c, i, i+1); next != i+1 || err != nil {
				return err
			}
		}
		return nil
	})
	for range 3 {
		check("stopped", func() error {
			done := make(chan struct{})
			defer func() { <-done }()
			ended := make(chan struct{})
			defer close(ended)
			go func() { // at moments that nobody chose
				defer close(done)
				for range 20 {
					select {
					case <-ended:
						return
					default:
						runtime.Gosched()
						c.Stop()
					}
				}
			}()
			for at := 0; at < n; {
				next, err := p.Run(ctx, c, at, n)
				if err != nil && !errors.Is(err, engine.ErrStopped) {
					return err
				}
				at = next
			}
			return nil
		})
		for { // a stop that came too late ends the next run
			if _, err := p.Run(ctx, c, 0, 0); err == nil {
				break
			}
		}
		c.Reset()
	}
}
