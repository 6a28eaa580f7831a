package ops

import (
	"context"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Arrays that would fit one by one are refused where they do not fit together. The tests' limit is 256 MiB.
func TestMemoryIsCountedTogether(t *testing.T) {
	const n = 6_000_000 // 24 MB; 48 while it is computed
	run := func(count int) error {
		b := mil.NewBuilder("main", "ios18")
		x := b.Input("x", mil.Tensor(tensor.Float32, n))
		var outs []*mil.Value
		for range count {
			outs = append(outs, b.Op("relu", "y", x.Type, mil.Args{"x": x}))
		}
		b.Return(outs...)
		p, err := b.Program()
		if err != nil {
			t.Fatal(err)
		}
		ev, err := NewEvaluator(p.Functions[0], FP32)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ev.Run(context.Background(), map[string]Value{"x": tensor.New(tensor.Float32, n)})
		return err
	}
	if err := run(4); err != nil {
		t.Error(err)
	}
	if err := run(16); err == nil || !strings.Contains(err.Error(), "does not fit in memory") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("the error is %v", err)
	}
}
