package e5rt

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// Set gives a state another value: the elements of a tensor of its shape, converted to its type. The buffer stays where
// it is. A state in use is left alone.
func (s *State) Set(name string, t *tensor.Tensor) error {
	held, err := s.Tensor(name)
	if err != nil {
		return err
	}
	if t, err = t.Convert(held.DType()); err != nil {
		return fmt.Errorf("state %q: %w", name, err)
	}
	if !s.busy.CompareAndSwap(false, true) {
		return fmt.Errorf("state %q: %w", name, ErrBusy)
	}
	defer s.busy.Store(false)
	if err := held.CopyFrom(t); err != nil {
		return fmt.Errorf("state %q: %w", name, err)
	}
	return nil
}
