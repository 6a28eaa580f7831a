package espalier_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier"
)

// A function is compiled by the first who calls it. Who gives up meanwhile takes nobody else along.
func TestWhoGivesUpGivesUpAlone(t *testing.T) {
	const name = "conv2d_basic"
	in := asInputs(readArrays(t, modelsDir, name, readMeta(t, name).Cases[0].Inputs))
	given, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		m := openModel(t, espalier.Config{}, name)
		var calls sync.WaitGroup
		for i := range 8 {
			calls.Go(func() {
				ctx, want := t.Context(), error(nil)
				if i%2 == 0 {
					ctx, want = given, context.Canceled
				}
				if _, err := m.Predict(ctx, in); !errors.Is(err, want) {
					t.Errorf("call %d: %v, want %v", i, err, want)
				}
			})
		}
		calls.Wait()
	}
}
