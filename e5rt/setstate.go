package e5rt

import (
	"context"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// Set gives a state another value: the elements of a tensor of its shape, converted to its type. The buffer stays where
// it is. A state in use is left alone.
func (s *State) Set(name string, t *tensor.Tensor) (err error) {
	if !s.busy.CompareAndSwap(false, true) { // first: a run may move the state
		return fmt.Errorf("state %q: %w", name, ErrBusy)
	}
	defer s.busy.Store(false)
	held, err := s.Tensor(name)
	if err != nil {
		return err
	}
	if t == nil {
		return fmt.Errorf("state %q: found nil, want %v", name, held)
	}
	if t, err = t.Convert(held.DType()); err != nil {
		return fmt.Errorf("state %q: %w", name, err)
	}
	if b := s.buffers[slices.Index(s.names, name)]; b != nil {
		place, open := b.gate.Enter(context.Background())
		if !open {
			return fmt.Errorf("state %q: %w", name, errBufferClosed)
		}
		defer b.gate.Leave(place)
	}
	defer osfile.Protect().Catch(&err)
	if err := held.CopyFrom(t); err != nil {
		return fmt.Errorf("state %q: %w", name, err)
	}
	return nil
}
