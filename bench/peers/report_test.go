package main

import (
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestDemanded(t *testing.T) {
	for _, test := range []struct {
		model, isa string
		threads    int
		tiles      bool
		want       bounds
	}{
		{"resnet50", auto, 1, false, bounds{1.0, 1.2}},
		{"resnet50", "avx512", 2, false, bounds{0.9, 1.1}},
		{"resnet50", "avx512", 1, true, bounds{0.95, 1.2}},
		{"resnet50", auto, 2, true, bounds{1.3, 1.7}},
		{"resnet50", "amx", 1, true, bounds{1.3, 1.7}},
		{"vit_s16", "avx2", 2, true, bounds{0.6, 0}},
		{"micro_linear", "avx2", 1, true, bounds{}},
		{"resnet50", "go", 1, true, bounds{}},
	} {
		if got := demanded(&Result{Model: test.model, ISA: test.isa, Threads: test.threads}, test.tiles); got != test.want {
			t.Errorf("%s, %s, %d threads, tiles %v: %v, expected %v", test.model, test.isa, test.threads, test.tiles, got, test.want)
		}
	}
	for _, d := range demands {
		for _, m := range d.models {
			if !measured(m) {
				t.Errorf("%s is not measured", m)
			}
		}
	}
}

func measured(name string) bool {
	for _, m := range twins {
		if m.name == name {
			return true
		}
	}
	return false
}

func TestMarkdown(t *testing.T) {
	r := &Report{
		Results: []Result{
			{Model: "resnet50", ISA: auto, Threads: 1, Ours: Times{50, 40, 9}, Peer: Times{60, 50, 9}, Ratio: 1.2},
			{Model: "resnet50", ISA: auto, Threads: 2, Ours: Times{50, 40, 9}, Peer: Times{25, 20, 9}, Ratio: 0.5},
			{Model: "vit_s16", ISA: auto, Threads: 1, Ours: Times{50, 40, 9}, Error: "wrong"},
		},
		Figures: []Figure{{Name: "speed", Value: 81, Unit: "%", Least: 80}, {Name: "size", Value: 4, Unit: "×", Most: 3}},
	}
	var b strings.Builder
	if err := r.markdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| resnet50 | auto | 1 | 1.20 | 1.00 | 1.20 | met | 1.25 | 50.0 (40.0) | 60.0 (50.0) |",
		"| resnet50 | auto | 2 | 0.50 | 0.90 | 1.10 | **missed** |",
		"| vit_s16 | auto | 1 | – | 1.30 | 1.60 |  | – | 50.0 (40.0) | – |",
		"| speed |  | 81.0 % | ≥ 80 % | met |",
		"| size |  | 4.000 × | ≤ 3 × | **missed** |",
		"- vit_s16, auto, 1 threads: wrong\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestDifference(t *testing.T) {
	nan := float32(math.NaN())
	for _, test := range []struct {
		got, want []float32
		d         float64
	}{
		{[]float32{1, 1}, []float32{1, 1}, 0},
		{[]float32{2, 2.5}, []float32{2, 2}, 0.25},
		{[]float32{0, 3}, []float32{0, 0}, 3},
		{[]float32{0, nan}, []float32{0, 0}, math.NaN()},
		{[]float32{0, 1}, []float32{0, nan}, math.NaN()},
	} {
		d, err := difference(tensor.Of(test.got, 2), tensor.Of(test.want, 1, 2))
		if err != nil || d != test.d && !(math.IsNaN(d) && math.IsNaN(test.d)) {
			t.Errorf("%v and %v: %v, %v, expected %v", test.got, test.want, d, err, test.d)
		}
	}
	if _, err := difference(tensor.New(tensor.Float32, 3), tensor.New(tensor.Float32, 2)); err == nil {
		t.Error("no error about sizes")
	}
}
