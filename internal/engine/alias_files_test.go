package engine_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// Native tasks, of Apple's files and of ours: an input and an output in one
// memory, from one byte on and 64 bytes apart.
func TestAliasNative(t *testing.T) {
	files := map[string]*hwx.File{}
	for _, o := range writtenPrograms {
		files[o.name] = o.file(t)
	}
	t.Run("ours", func(t *testing.T) { shareMemory(t, files) })
	t.Run("Apple's", func(t *testing.T) {
		testkit.Shared(t, "hwx")
		files := map[string]*hwx.File{}
		for _, f := range realFiles {
			files[f.name], _ = f.prepare(t)
		}
		shareMemory(t, files)
	})
}

func shareMemory(t *testing.T, files map[string]*hwx.File) {
	for name, file := range files {
		p := load(t, file, h13(t))
		ports := p.Ports()
		run := func(c *engine.Context, at [][]byte) (outputs [][]byte) {
			t.Helper()
			if err := c.BindAll(at); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			r := newRand(8)
			for _, port := range ports {
				if port.Direction == engine.Input {
					if err := c.Set(port.Name, grid(r, port.Len())); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := p.RunAll(context.Background(), c); err != nil {
				t.Fatal(err)
			}
			for _, port := range ports {
				if port.Direction == engine.Output {
					y, err := c.Tensor(port.Name)
					if err != nil {
						t.Fatal(err)
					}
					outputs = append(outputs, y.Bytes())
				}
			}
			return outputs
		}
		own := make([][]byte, len(ports))
		for i := range ports {
			own[i] = make([]byte, ports[i].Bytes())
		}
		c := p.NewContext()
		want := run(c, own)
		for i := range ports {
			for j := range ports {
				if ports[i].Direction != engine.Input || ports[j].Direction != engine.Output {
					continue
				}
				for _, shift := range []int{0, 64} {
					at := append([][]byte(nil), own...)
					all := make([]byte, shift+ports[i].Bytes()+ports[j].Bytes())
					at[i], at[j] = all, all[shift:]
					for k, got := range run(c, at) {
						if !bytes.Equal(got, want[k]) {
							t.Errorf("%s: %s %d bytes after %s: output %d has other bits", name, ports[j].Name, shift, ports[i].Name, k)
						}
					}
				}
			}
		}
	}
}
