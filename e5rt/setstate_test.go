package e5rt_test

import (
	"errors"
	"testing"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

// Set changes what a state holds, where it is; what does not fit changes nothing.
func TestSetState(t *testing.T) {
	s := e5rt.NewState(e5rt.Port{Name: "a", Type: tensor.Float16, Shape: []int{2}})
	held, err := s.Tensor("a")
	check(t, err)
	check(t, s.Set("a", tensor.Of([]float32{1.5, -2}, 2)))
	if got := held.Float32s(); got[0] != 1.5 || got[1] != -2 {
		t.Errorf("it holds %v", got)
	}
	if err := s.Set("b", held); !errors.Is(err, e5rt.ErrNotFound) {
		t.Errorf("a state that is not there: %v", err)
	}
	for _, wrong := range []*tensor.Tensor{tensor.New(tensor.Float16, 1, 2), tensor.New(tensor.Float16, 3), tensor.New(tensor.String, 2)} {
		if err := s.Set("a", wrong); err == nil {
			t.Errorf("%v was taken", wrong)
		}
	}
	if got := held.Float32s(); got[0] != 1.5 || got[1] != -2 {
		t.Errorf("it holds %v", got)
	}
}
