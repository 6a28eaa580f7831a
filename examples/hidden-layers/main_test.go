package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	_ "github.com/espalier-ane/espalier/internal/testkit" // no cache
	"github.com/espalier-ane/espalier/netplist"
)

// predict writes the list, reads it again, compiles it and runs it.
func predict(t *testing.T, g *netplist.Builder, target string, inputs map[string]any) map[string]*espalier.Value {
	t.Helper()
	dir := t.TempDir()
	path, err := write(g, dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := netplist.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	procedures, findings, err := f.Procedures(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
	if err != nil || len(findings) > 0 {
		t.Fatal(findings, err)
	}
	on, err := hal.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := compiler.Compile(t.Context(), &compiler.Job{Target: on, Functions: []compiler.Entry{{Graph: procedures[0].Graph}}})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.bundle")
	if _, err := bundle.Write(out, r.Bundle.Content()); err != nil {
		t.Fatal(err)
	}
	m, err := espalier.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	results, err := m.Predict(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// Attention is what its definition says, on our engine and on the M1's.
func TestAttention(t *testing.T) {
	const heads, n, d = 8, 197, 64
	q, k, v := wave(heads*n*d), wave(heads*n*d), wave(heads*n*d)
	for i := range k {
		k[i], v[i] = k[i]/2, -v[i]
	}
	for _, target := range []string{"virtual", "h13"} {
		got := predict(t, attention(), target, map[string]any{"q": q, "k": k, "v": v})["attn"].Tensor.Float32s()
		for _, h := range []int{0, 5} {
			for _, i := range []int{0, 100, 196} {
				at := func(x []float32, row, c int) float64 { return float64(x[(h*n+row)*d+c]) }
				scores, sum := make([]float64, n), 0.0
				for j := range scores {
					for c := range d {
						scores[j] += at(q, i, c) * at(k, j, c) / 8
					}
					scores[j] = math.Exp(scores[j])
					sum += scores[j]
				}
				for c := range d {
					want := 0.0
					for j := range scores {
						want += scores[j] / sum * at(v, j, c)
					}
					if math.Abs(float64(got[(h*n+i)*d+c])-want) > 0.01 {
						t.Fatalf("%s, head %d, position %d, feature %d: %v, want %v", target, h, i, c, got[(h*n+i)*d+c], want)
					}
				}
			}
		}
	}
}

func TestStereo(t *testing.T) {
	aux, ref := wave(4*12), wave(4*16)
	got := predict(t, stereo(), "virtual", map[string]any{"aux": aux, "ref": ref})["cost"].Tensor.Float32s()
	for d := range 5 {
		for y := range 4 {
			for x := range 12 {
				want := math.Abs(float64(aux[y*12+x] - ref[y*16+x+d]))
				if math.Abs(float64(got[(d*4+y)*12+x])-want) > 2e-3 {
					t.Fatalf("disparity %d at %d, %d: %v, want %v", d, y, x, got[(d*4+y)*12+x], want)
				}
			}
		}
	}
}

func TestBump(t *testing.T) {
	g, err := bump()
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{-4, -2, -1, -0.5, 0, 0.5, 1, 2, 4}
	got := predict(t, g, "virtual", map[string]any{"x": x})["y"].Tensor.Float32s()
	for i, v := range x {
		if want := math.Exp(-float64(v) * float64(v)); math.Abs(float64(got[i])-want) > 0.02 {
			t.Errorf("bump(%v) = %v, want %v", v, got[i], want)
		}
	}
}
