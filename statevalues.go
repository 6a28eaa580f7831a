package espalier

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// Tensor returns a copy of what a state holds, in its declared element type.
func (s *State) Tensor(name string) (*tensor.Tensor, error) {
	array, err := s.array(name)
	if err != nil {
		return nil, err
	}
	var t *tensor.Tensor
	err = s.whileHeld(func() (err error) {
		t, err = s.copyOf(name, array.DType)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Set gives a state another value: an array, as Predict takes one for an input. It is converted to the declared element
// type if every value survives.
func (s *State) Set(name string, value any) error {
	array, err := s.array(name)
	if err != nil {
		return err
	}
	t, err := s.valueFor(array, value)
	if err != nil {
		return fmt.Errorf("state %q: %w", name, err)
	}
	return s.whileHeld(func() error { return s.held.Set(name, t) })
}

// Reset makes all states zero, as NewState does.
func (s *State) Reset() error {
	return s.whileHeld(func() error {
		for _, d := range s.of.States() {
			t, err := s.held.Tensor(d.Name)
			if err == nil {
				err = s.held.Set(d.Name, tensor.New(t.DType(), t.Shape()...))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Clone makes a state of its own that holds the same: two predictions can go on from one point.
func (s *State) Clone() (*State, error) {
	c := s.of.NewState()
	err := s.whileHeld(func() error {
		for _, d := range s.of.States() {
			t, err := s.held.Tensor(d.Name)
			if err == nil {
				err = c.held.Set(d.Name, t)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Save writes the states as an npz archive, which NumPy reads: an array for each, by name.
func (s *State) Save(w io.Writer) error {
	if err := s.take(); err != nil {
		return err
	}
	defer s.release()
	var all []tensor.Named
	err := s.of.whileOpen(context.Background(), func() error {
		for _, d := range s.of.States() {
			t, err := s.copyOf(d.Name, s.kept(arrayOf(d)))
			if err != nil {
				return err
			}
			all = append(all, tensor.Named{Name: d.Name, Tensor: t})
		}
		return nil
	})
	if err != nil {
		return s.of.about(err)
	}
	return tensor.WriteNPZ(w, all) // copies: the writer may take its time, and close the model
}

// Load gives all states the values that Save wrote, of this function or of another that has the same states, be it
// compiled for another target. When something is wrong with them, all stay as they were.
func (s *State) Load(r io.Reader) error {
	limit := int64(1 << 20) // for headers
	for _, d := range s.of.States() {
		n, _ := tensor.Count(arrayOf(d).Shape)
		limit += 16 * int64(n) // the widest element, twice
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > limit {
		return fmt.Errorf("the archive has more than %d bytes: it holds something else than the states of function %q (%s)",
			limit, s.of.Name(), featureNames(s.of.States()))
	}
	arrays, err := tensor.ReadNPZ(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	values := map[string]*tensor.Tensor{}
	for _, a := range arrays {
		array, err := s.array(a.Name)
		if err != nil {
			return err
		}
		if values[a.Name], err = s.valueFor(array, a.Tensor); err != nil {
			return fmt.Errorf("state %q: %w", a.Name, err)
		}
	}
	var missing []coreml.Feature
	for _, d := range s.of.States() {
		if values[d.Name] == nil {
			missing = append(missing, d)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the archive does not have the state %s", featureNames(missing))
	}
	return s.whileHeld(func() error {
		for name, t := range values {
			if err := s.held.Set(name, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// array finds the array that a state is described as.
func (s *State) array(name string) (*coreml.ArrayType, error) {
	i := slices.IndexFunc(s.of.States(), func(d coreml.Feature) bool { return d.Name == name })
	if i < 0 {
		if len(s.of.States()) == 0 {
			return nil, fmt.Errorf("there is no state %q: function %q has none", name, s.of.Name())
		}
		return nil, fmt.Errorf("there is no state %q: expected %s", name, featureNames(s.of.States()))
	}
	return arrayOf(s.of.States()[i]), nil
}

// arrayOf is the array of a feature that is a state.
func arrayOf(d coreml.Feature) *coreml.ArrayType {
	switch t := d.Type.(type) {
	case *coreml.StateType:
		return t.Array
	case *coreml.ArrayType:
		return t
	}
	return &coreml.ArrayType{}
}

// kept is the element type in which a state is kept: the declared one, but for the profile that computes all in fp32.
func (s *State) kept(array *coreml.ArrayType) tensor.DType {
	if s.of.numerics == FP32 && array.DType.IsFloat() {
		return tensor.Float32
	}
	return array.DType
}

// valueFor makes an array for a state of what the caller gave.
func (s *State) valueFor(array *coreml.ArrayType, value any) (*tensor.Tensor, error) {
	value, err := plain(array, value)
	if err != nil {
		return nil, err
	}
	t, ok := value.(*tensor.Tensor)
	if !ok {
		return nil, fmt.Errorf("expected %v, found %s", array, describeGiven(value))
	}
	if t, err = admitted(array, t); err != nil {
		return nil, err
	}
	d := s.kept(array)
	if d == tensor.Invalid {
		return t, nil
	}
	return convertLossless(t, d)
}

// copyOf is what a state holds, in an element type.
func (s *State) copyOf(name string, d tensor.DType) (*tensor.Tensor, error) {
	t, err := s.held.Tensor(name)
	if err != nil {
		return nil, err
	}
	if d == tensor.Invalid || d == t.DType() {
		return t.Clone(), nil
	}
	return t.Convert(d)
}
