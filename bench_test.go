package espalier_test

import (
	"context"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// BenchmarkCompile compiles real networks for the engine, without loading the program.
func BenchmarkCompile(b *testing.B) {
	for _, name := range []string{"resnet50", "mobilenet_v2", "minilm_l6"} {
		b.Run(name, func(b *testing.B) {
			m, err := espalier.Open(testkit.BenchModel(b, name))
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			for b.Loop() {
				if _, err := m.Compile(context.Background(), espalier.CompileOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPredict runs real networks over compiler and engine: for our own engine, and for H13, native-encoded.
func BenchmarkPredict(b *testing.B) {
	for _, name := range []string{"resnet50", "mobilenet_v2", "minilm_l6"} {
		for _, target := range []string{"virtual", "h13"} {
			b.Run(name+"/"+target, func(b *testing.B) { predict(b, name, target) })
		}
	}
}

func predict(b *testing.B, name, target string) {
	m, err := espalier.Config{Target: target}.Open(testkit.BenchModel(b, name))
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	in := map[string]any{}
	for _, d := range m.Functions()[0].Inputs() {
		in[d.Name] = zeroInput(d)
	}
	for b.Loop() {
		if _, err := m.Predict(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}
