package espalier_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// statefulForms are the functions that a model with states is, by who runs them.
func statefulForms(t *testing.T, name string) map[string]*espalier.Function {
	model := openModel(t, espalier.Config{}, name)
	forms := map[string]*espalier.Function{
		"model":     model.Functions()[0],
		"h13":       openModel(t, espalier.Config{Target: "h13"}, name).Functions()[0],
		"host":      openModel(t, espalier.Config{Units: espalier.CPUOnly}, name).Functions()[0],
		"host fp32": openModel(t, espalier.Config{Units: espalier.CPUOnly, Numerics: espalier.FP32}, name).Functions()[0],
		"bundle":    open(t, espalier.Config{}, compiled(t, model, "", "m.bundle")).Functions()[0],
		"container": open(t, espalier.Config{}, compiled(t, model, "", "m.hwx")).Functions()[0],
	}
	return forms
}

// step runs a function on inputs that differ from step to step, and returns all that it gives and keeps.
func step(t *testing.T, f *espalier.Function, s *espalier.State, number int) map[string][]float32 {
	t.Helper()
	in := map[string]any{}
	for _, d := range f.Inputs() {
		array := d.Type.(*coreml.ArrayType)
		n, _ := tensor.Count(array.Shape)
		x := make([]float32, n)
		for i := range x {
			x[i] = float32((number*5+i)%7) / 3 // fp16 rounds it
			if !array.DType.IsFloat() {
				x[i] = float32(number)
			}
		}
		in[d.Name] = x
	}
	out, err := f.PredictWithState(t.Context(), in, s)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]float32{}
	for name, v := range out {
		all[name] = v.Tensor.Float32s()
	}
	for _, d := range f.States() {
		held, err := s.Tensor(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		all["state "+d.Name] = held.Float32s()
	}
	return all
}

func sameValues(a, b map[string][]float32) bool {
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return len(a) == len(b)
}

// A state can be cloned, saved, loaded, reset and set, whoever runs the function, and goes on from there.
func TestStateValues(t *testing.T) {
	for _, name := range []string{"stateful_counter", "stateful_torch", "stateful_kv_cache"} {
		for form, f := range statefulForms(t, name) {
			t.Run(name+"/"+form, func(t *testing.T) {
				s := f.NewState()
				first := step(t, f, s, 0)
				step(t, f, s, 1)
				clone, err := s.Clone()
				if err != nil {
					t.Fatal(err)
				}
				var saved bytes.Buffer
				if err := s.Save(&saved); err != nil {
					t.Fatal(err)
				}
				loaded := f.NewState()
				step(t, f, loaded, 3) // which Load forgets
				if err := loaded.Load(bytes.NewReader(saved.Bytes())); err != nil {
					t.Fatal(err)
				}
				set := f.NewState()
				arrays, err := tensor.ReadNPZ(bytes.NewReader(saved.Bytes()), int64(saved.Len()))
				if err != nil || len(arrays) != len(f.States()) {
					t.Fatalf("%d arrays: %v", len(arrays), err)
				}
				for _, a := range arrays {
					if err := set.Set(a.Name, a.Tensor); err != nil {
						t.Fatal(err)
					}
				}
				want := step(t, f, s, 2)
				for how, state := range map[string]*espalier.State{"cloned": clone, "loaded": loaded, "set": set} {
					if got := step(t, f, state, 2); !sameValues(got, want) {
						t.Errorf("%s: got %v, want %v", how, got, want)
					}
				}
				step(t, f, clone, 1)
				if got, want := step(t, f, s, 3), step(t, f, loaded, 3); !sameValues(got, want) {
					t.Error("what happens to a clone happens to the state that it is of")
				}
				if err := s.Reset(); err != nil {
					t.Fatal(err)
				}
				if got := step(t, f, s, 0); !sameValues(got, first) {
					t.Errorf("reset: got %v, want %v", got, first)
				}
			})
		}
	}
}

// What one form of a model saved another loads.
func TestStateTravels(t *testing.T) {
	forms := statefulForms(t, "stateful_kv_cache")
	delete(forms, "container") // its states have four axes
	delete(forms, "host fp32") // which computes otherwise
	for from, f := range forms {
		s := f.NewState()
		step(t, f, s, 0)
		step(t, f, s, 1)
		var saved bytes.Buffer
		if err := s.Save(&saved); err != nil {
			t.Fatal(err)
		}
		for to, g := range forms {
			other := g.NewState()
			if err := other.Load(bytes.NewReader(saved.Bytes())); err != nil {
				t.Errorf("from %s to %s: %v", from, to, err)
				continue
			}
			for _, d := range g.States() {
				a, _ := s.Tensor(d.Name)
				b, _ := other.Tensor(d.Name)
				if !sameBits(a, b) {
					t.Errorf("from %s to %s: state %q differs", from, to, d.Name)
				}
			}
		}
	}
}

// A value that does not fit changes nothing, and the error says what would.
func TestStateErrors(t *testing.T) {
	archive := func(arrays ...tensor.Named) io.Reader {
		var b bytes.Buffer
		if err := tensor.WriteNPZ(&b, arrays); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	for form, f := range statefulForms(t, "stateful_kv_cache") {
		s := f.NewState()
		before := step(t, f, s, 0)
		array := f.States()[0].Type.(*coreml.StateType).Array
		n, _ := tensor.Count(array.Shape)
		right := tensor.Named{Name: "k_cache", Tensor: tensor.New(array.DType, array.Shape...)}
		large := make([]float64, n)
		large[1] = 1e300
		for _, c := range []struct {
			name string
			do   func() error
			want string
		}{
			{"no such state", func() error { return s.Set("q_cache", large) }, `there is no state "q_cache": expected k_cache, v_cache`},
			{"short", func() error { return s.Set("k_cache", large[:5]) }, `state "k_cache": expected fp16 array `},
			{"another shape", func() error { return s.Set("k_cache", tensor.New(array.DType, 3, 5)) }, `found fp16[3, 5]`},
			{"another type", func() error { return s.Set("k_cache", make([]string, n)) }, `state "k_cache": it holds string`},
			{"too large", func() error { return s.Set("k_cache", large) }, `is 1e+300, which fp`},
			{"nothing", func() error { return s.Set("k_cache", nil) }, `state "k_cache": expected fp16 array`},
			{"one is missing", func() error { return s.Load(archive(right)) }, `the archive does not have the state v_cache`},
			{"one too many", func() error { return s.Load(archive(right, tensor.Named{Name: "x", Tensor: right.Tensor})) }, `there is no state "x": expected k_cache, v_cache`},
			{"wrong shape", func() error {
				return s.Load(archive(right, tensor.Named{Name: "v_cache", Tensor: tensor.New(tensor.Float16, 2)}))
			}, `state "v_cache": expected fp16 array`},
			{"no archive", func() error { return s.Load(strings.NewReader("nothing")) }, `npz`},
			{"too long", func() error { return s.Load(io.LimitReader(zeros{}, 1<<30)) }, `it holds something else than the states of function`},
			{"no such state to read", func() error { _, err := s.Tensor("q_cache"); return err }, `there is no state "q_cache": expected k_cache, v_cache`},
		} {
			if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: got %v, want %s", form, c.name, err, c.want)
			}
		}
		for _, d := range f.States() {
			held, err := s.Tensor(d.Name)
			if err != nil || !slices.Equal(held.Float32s(), before["state "+d.Name]) {
				t.Errorf("%s: state %q has changed: %v", form, d.Name, err)
			}
		}
	}
	none := openModel(t, espalier.Config{}, "linear_mlp").NewState()
	if _, err := none.Tensor("x"); err == nil || !strings.Contains(err.Error(), `no state "x": function "main" has none`) {
		t.Errorf("got %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// whileSaved is a writer that does something in the middle of Save.
type whileSaved func()

func (f whileSaved) Write(p []byte) (int, error) { f(); return len(p), nil }

// A state in use is refused to everybody else, on every unit.
func TestStateInUse(t *testing.T) {
	for form, f := range statefulForms(t, "stateful_counter") {
		s := f.NewState()
		input := f.Inputs()[0].Name
		array := f.Inputs()[0].Type.(*coreml.ArrayType)
		n, _ := tensor.Count(array.Shape)
		in := map[string]any{input: make([]float32, n)}
		call, err := f.Bind(t.Context(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		state := f.States()[0].Name
		tried := false
		err = s.Save(whileSaved(func() {
			if tried {
				return
			}
			tried = true
			for name, do := range map[string]func() error{
				"Predict":     func() error { _, err := f.PredictWithState(t.Context(), in, s); return err },
				"PredictInto": func() error { return f.PredictIntoWithState(t.Context(), in, nil, s) },
				"Run":         func() error { return call.RunWithState(t.Context(), s) },
				"Tensor":      func() error { _, err := s.Tensor(state); return err },
				"Set":         func() error { v := 1.0; return s.Set(state, v) },
				"Clone":       func() error { _, err := s.Clone(); return err },
				"Reset":       s.Reset,
				"Save":        func() error { return s.Save(io.Discard) },
			} {
				if name == "Set" && arrayLen(f.States()[0]) != 1 {
					continue
				}
				if err := do(); !errors.Is(err, espalier.ErrBusy) {
					t.Errorf("%s: %s of a state in use: %v", form, name, err)
				}
			}
		}))
		if err != nil || !tried {
			t.Errorf("%s: %v", form, err)
		}
		if err := call.RunWithState(t.Context(), s); err != nil { // it is free again
			t.Errorf("%s: %v", form, err)
		}
		if err := call.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "has states") {
			t.Errorf("%s: a run without states: %v", form, err)
		}
	}
}

func arrayLen(d coreml.Feature) int {
	n, _ := tensor.Count(d.Type.(*coreml.StateType).Array.Shape)
	return n
}
