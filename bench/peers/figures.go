package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// A Figure is something else that was measured, beside what is demanded of it.
type Figure struct {
	Name   string  `json:"name"`
	ISA    string  `json:"isa"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Least  float64 `json:"least,omitempty"` // 0: nothing is demanded
	Most   float64 `json:"most,omitempty"`  // likewise
	Detail string  `json:"detail"`
	Error  string  `json:"error,omitempty"`
}

// met reports whether the figure is what is demanded.
func (f *Figure) met() bool {
	return f.Error == "" && f.Value >= f.Least && (f.Most == 0 || f.Value <= f.Most)
}

// A part is a group of figures.
type part struct {
	name    string
	every   bool // for every instruction set, not only the first
	measure func(b *bench, ctx context.Context) []Figure
}

var parts = []part{
	{"variants", false, (*bench).variants},
	{"targets", false, (*bench).targets},
	{"memory", false, (*bench).memory},
	{"first", false, (*bench).first},
	{"matmul", true, (*bench).matmul},
}

// fill measures a figure.
func (b *bench) fill(f Figure, measure func(f *Figure) error) Figure {
	f.ISA = b.isa
	if err := measure(&f); err != nil {
		f.Error = err.Error()
	}
	return f
}

// variants compares compressed networks with fp16: time, and resident weights.
func (b *bench) variants(ctx context.Context) []Figure {
	var figures []Figure
	for _, v := range []struct{ compressed, plain string }{
		{"mobilenet_v2_int8", "mobilenet_v2"}, {"resnet50_pal6", "resnet50"},
	} {
		for _, threads := range b.threads {
			f := Figure{Name: fmt.Sprintf("%s, time of fp16's, %d threads", v.compressed, threads), Unit: "×", Most: 1}
			figures = append(figures, b.fill(f, func(f *Figure) error {
				return b.oursByOurs(ctx, f, threads, v.compressed, "virtual", v.plain, "virtual")
			}))
		}
		f := Figure{Name: v.compressed + ", resident weights of stored ones", Unit: "×", Most: 1.2}
		figures = append(figures, b.fill(f, func(f *Figure) error { return b.residentWeights(ctx, f, v.compressed) }))
	}
	return figures
}

// targets compares the encoding of a chip with our own.
func (b *bench) targets(ctx context.Context) []Figure {
	var figures []Figure
	for _, t := range []struct {
		name string
		most float64
	}{{"resnet50", 1.6}, {"minilm_l6", 1.6}, {"mobilenet_v2", 2.5}} {
		for _, threads := range b.threads {
			f := Figure{Name: fmt.Sprintf("%s, time on h13 of virtual's, %d threads", t.name, threads), Unit: "×", Most: t.most}
			figures = append(figures, b.fill(f, func(f *Figure) error {
				return b.oursByOurs(ctx, f, threads, t.name, "h13", t.name, "virtual")
			}))
		}
	}
	return figures
}

// oursByOurs measures two models of ours in turn: how long the first takes in times
// of the second.
func (b *bench) oursByOurs(ctx context.Context, f *Figure, threads int, name, target, name2, target2 string) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	first, err := b.openNamed(ctx, name, target, threads)
	if err != nil {
		return err
	}
	defer first.close()
	second, err := b.openNamed(ctx, name2, target2, threads)
	if err != nil {
		return err
	}
	defer second.close()
	one, two := &side{run: first.run}, &side{run: second.run}
	if err := interleave(b.rounds, one, two); err != nil {
		return err
	}
	t, u := timesOf(one.runs), timesOf(two.runs)
	f.Value = t.Median / u.Median
	f.Detail = fmt.Sprintf("%.2f and %.2f ms, at least %.2f and %.2f", t.Median, u.Median, t.Min, u.Min)
	return nil
}

func (b *bench) openNamed(ctx context.Context, name, target string, threads int) (*oursSession, error) {
	dir, err := b.complete(name)
	if err != nil {
		return nil, err
	}
	return openOurs(ctx, filepath.Join(dir, packageName), target, threads)
}

// weightFile is where the weights of a package lie.
func weightFile(dir string) string {
	return filepath.Join(dir, packageName, "Data", "com.apple.CoreML", "weights", "weight.bin")
}

// residentWeights measures what of a compressed network's weights is in memory after
// some runs: the pages of the file, and what was made of it. What the process has grown
// by beside it is scratch, and code.
func (b *bench) residentWeights(ctx context.Context, f *Figure, name string) error {
	dir, err := b.complete(name)
	if err != nil {
		return err
	}
	stored, err := os.Stat(weightFile(dir))
	if err != nil {
		return err
	}
	s, err := b.openNamed(ctx, name, "virtual", 1)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := child(childTask{Path: filepath.Join(s.folder, "bundle"), Runtime: true, Threads: 1})
	if err != nil {
		return err
	}
	f.Value = float64(r.Mapped+r.Packed) / float64(stored.Size())
	f.Detail = fmt.Sprintf("%s of pages of the file and %s made of it, %s stored; the process has grown by %s",
		megabytes(r.Mapped), megabytes(r.Packed), megabytes(stored.Size()), megabytes(r.Ran.All-r.Start.All))
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// memory measures the process that runs ResNet-50.
func (b *bench) memory(context.Context) []Figure {
	var figures []Figure
	for _, m := range []struct {
		name string
		low  bool
		most float64
	}{{"resnet50, resident memory of its weight file", false, 3}, {"resnet50 with LowMemory, likewise", true, 1.5}} {
		figures = append(figures, b.fill(Figure{Name: m.name, Unit: "×", Most: m.most}, func(f *Figure) error {
			dir, err := b.complete("resnet50")
			if err != nil {
				return err
			}
			stored, err := os.Stat(weightFile(dir))
			if err != nil {
				return err
			}
			t := childTask{Path: filepath.Join(dir, packageName), LowMemory: m.low, Threads: 1}
			if _, err := t.config(); err != nil {
				return err
			}
			r, err := child(t)
			if err != nil {
				return err
			}
			f.Value = float64(r.Ran.All) / float64(stored.Size())
			f.Detail = fmt.Sprintf("%s, of which %s pages of files; %s stored", megabytes(r.Ran.All), megabytes(r.Ran.File), megabytes(stored.Size()))
			return nil
		}))
	}
	return figures
}

// first measures how long a new process takes from the file to the first result.
func (b *bench) first(context.Context) []Figure {
	return []Figure{b.fill(Figure{Name: "mobilenet_v2, file to first result", Unit: "ms", Most: 150}, func(f *Figure) error {
		dir, err := b.complete("mobilenet_v2")
		if err != nil {
			return err
		}
		var took []float64
		for range b.rounds {
			r, err := child(childTask{Path: filepath.Join(dir, packageName)})
			if err != nil {
				return err
			}
			took = append(took, r.First)
		}
		slices.Sort(took)
		f.Value = took[len(took)/2]
		f.Detail = fmt.Sprintf("median of %d processes, least %.0f", len(took), took[0])
		return nil
	})}
}

const (
	matmulSize    = 1024
	matmulProgram = `program(1.0)
{
    func main<ios16>(tensor<fp16, [1024, 1024]> x, tensor<fp16, [1024, 1024]> y) {
            tensor<bool, []> no = const()[name = tensor<string, []>("no"), val = tensor<bool, []>(false)];
            tensor<fp16, [1024, 1024]> z = matmul(x = x, y = y, transpose_x = no, transpose_y = no)[name = tensor<string, []>("z")];
        } -> (z);
}
`
)

// matmul measures a product of matrices beside the peak of the processor: both in
// turn, on one thread.
func (b *bench) matmul(ctx context.Context) []Figure {
	f := Figure{Name: "product of 1024 × 1024 matrices, of the fp32 peak, 1 thread", Unit: "%", Least: 80}
	if b.isa == "avx2" {
		f.Least = 65
	}
	return []Figure{b.fill(f, func(f *Figure) error {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		dir, err := os.MkdirTemp("", "peers-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "model.mil")
		if err := os.WriteFile(path, []byte(matmulProgram), 0o644); err != nil {
			return err
		}
		s, err := openOurs(ctx, path, "virtual", 1)
		if err != nil {
			return err
		}
		defer s.close()
		kernel := peakKernel()
		if kernel == nil {
			return fmt.Errorf("the peak of this processor is not measured")
		}
		product, peak := &side{run: s.run}, &side{run: func() error { kernel.run(); return nil }}
		if err := interleave(b.rounds, product, peak); err != nil {
			return err
		}
		ours := rate(2*matmulSize*matmulSize*matmulSize, median(product.runs))
		most := rate(kernel.flops, median(peak.runs))
		f.Value = 100 * ours / most
		f.Detail = fmt.Sprintf("%.1f of %.1f GFLOP/s (best %.1f of %.1f)", ours, most,
			rate(2*matmulSize*matmulSize*matmulSize, slices.Min(product.runs)), rate(kernel.flops, slices.Min(peak.runs)))
		return nil
	})}
}

// rate is in GFLOP/s.
func rate(flops float64, d time.Duration) float64 { return flops / float64(d.Nanoseconds()) }
