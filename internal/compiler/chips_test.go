package compiler

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// chipModels are enough to see every kind of segment: one alone, several with the host between them, states, compressed
// weights.
var chipModels = []string{"conv2d_basic", "transformer_block", "stateful_kv_cache", "b_control_flow", "comp_pal4", "arg_reductions"}

// Every target compiles, twice the same bytes, whatever the order of what has none; its containers say what their tasks
// are, and the engine takes them.
func TestEveryTargetCompiles(t *testing.T) {
	modelCases(t, func(t *testing.T, c modelCase) {
		if !slices.Contains(chipModels, c.model) {
			return
		}
		for _, target := range hal.Targets() {
			if target.Like() != nil && c.model != chipModels[0] {
				continue // what it is predicted from is compiled in full
			}
			var first []byte
			for _, seed := range []uint64{0, 3} {
				r, err := Compile(t.Context(), &Job{
					Target: target, Program: c.program, Seed: seed, Functions: []Entry{{Function: c.function, Shapes: c.shapes}},
				})
				if err != nil {
					t.Fatalf("%s: %v", target.Name, err)
				}
				if got := bytesOf(t, r.Bundle); seed == 0 {
					first = got
				} else if !bytes.Equal(got, first) {
					t.Errorf("%s: seed %d gives other bytes", target.Name, seed)
				}
				for _, s := range r.Functions[0].Segments {
					if s != nil && seed == 0 {
						checkChipContainer(t, s)
					}
				}
			}
		}
	})
}

func checkChipContainer(t *testing.T, s *segment.Segment) {
	t.Helper()
	own := td.Version(s.Target.Container().TaskVersion)
	version, err := s.File.TaskVersion()
	switch said := strings.Contains(s.File.Banner(), "espalier: tasks of version 256\n"); {
	case err != nil:
		t.Errorf("%s: %v", s.Target.Name, err)
	case own == td.V7 && version != td.V7, own != td.V7 && version != td.V256:
		t.Errorf("%s: tasks of %v", s.Target.Name, version)
	case said != (version != own):
		t.Errorf("%s: tasks of %v under the banner %q", s.Target.Name, version, s.File.Banner())
	}
	ports, err := s.File.Ports()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ports {
		if row := p.Strides[2]; int(row)%s.Target.Sizes.RowAlign != 0 {
			t.Errorf("%s: port %s has rows of %d bytes", s.Target.Name, p.Name, row)
		}
	}
	var weights []byte
	if s.File.External() != nil {
		weights = s.Weights
	}
	if _, err := engine.LoadWith(s.File, engine.Options{Numerics: s.Target.Numerics, Weights: weights}); err != nil {
		t.Errorf("%s: %v", s.Target.Name, err)
	}
}

// What the chip itself could not run is refused by the names of its layers, and is no reason to go to the host.
func TestStrict(t *testing.T) {
	found := false
	modelCases(t, func(t *testing.T, c modelCase) {
		if c.model != "conv2d_basic" {
			return
		}
		found = true
		job := &Job{Target: lookup(t, "h14"), Program: c.program, Strict: true, Functions: []Entry{{Function: c.function}}}
		_, err := Compile(t.Context(), job)
		var strict *StrictError
		if !errors.As(err, &strict) || strict.Target != "h14" || strict.Known || len(strict.Layers) != 3 {
			t.Fatalf("got %v, want three layers refused", err)
		}
		if want := "the registers of h14 are not known, and they would be tasks of ours: "; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "(Conv)") {
			t.Errorf("got %v, want %q and the layers", err, want)
		}
		job.Target = virtual(t)
		if _, err := Compile(t.Context(), job); err != nil {
			t.Errorf("virtual has no other tasks than its own: %v", err)
		}
	})
	if !found {
		t.Error("the model is not there")
	}
}

// A model of which every task is native compiles strictly, to the same bytes, so it computes the same, and to words of
// which every bit has a name. Another is refused, by all the layers that have extension records, each with its reason.
func TestStrictModelsAreTheSame(t *testing.T) {
	strictly, refused := 0, 0
	modelCases(t, func(t *testing.T, c modelCase) {
		job := &Job{Target: lookup(t, "h13"), Program: c.program, Functions: []Entry{{Function: c.function, Shapes: c.shapes}}}
		r, err := Compile(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		checkDescriptor(t, r)
		extensions := 0
		for _, s := range r.Functions[0].Segments {
			if s == nil {
				continue
			}
			tasks, err := s.File.Tasks()
			if err != nil {
				t.Fatal(err)
			}
			last := (*anec.Layer)(nil)
			for i, task := range tasks {
				if l := s.Tasks[i].Layer; task.Extension() && l != last {
					extensions++
					last = l
				}
				if !task.Extension() {
					checkNamed(t, task.Task)
				}
			}
		}
		job.Strict = true
		strict, err := Compile(t.Context(), job)
		if extensions == 0 {
			if strictly++; err != nil {
				t.Errorf("no task is an extension, and yet: %v", err)
			} else if !bytes.Equal(bytesOf(t, r.Bundle), bytesOf(t, strict.Bundle)) {
				t.Error("it has other bytes")
			}
			return
		}
		refused++
		layers := 0
		for _, e := range strictErrors(err) {
			layers += len(e.Layers)
			for i, why := range e.Why {
				if reason, ok := errors.AsType[*diag.Reason](why); !ok || reason.ID.Row().Group != diag.Encoding {
					t.Errorf("%s is refused without a reason of the encoding: %v", e.Layers[i].Name, why)
				}
			}
		}
		if layers != extensions {
			t.Errorf("%d layers are refused, %d have extension records: %v", layers, extensions, err)
		}
	})
	if strictly < refused {
		t.Errorf("%d compile strictly, %d do not", strictly, refused)
	}
}

// checkNamed holds a task of the chip's own to the layout: a field names every bit of it.
func checkNamed(t *testing.T, task *td.Task) {
	t.Helper()
	layout := td.LayoutOf(td.V7)
	for _, r := range task.Records {
		for i, w := range r.Words {
			addr := r.Addr + 4*uint32(i)
			if b := layout.Block(addr); b == nil || b.Unnamed(addr, w) != 0 {
				t.Errorf("register %#x = %#x: no field names all of it", addr, w)
			}
		}
	}
	for i, w := range task.Header {
		if u := layout.Blocks[0].Unnamed(4*uint32(i), w); u != 0 {
			t.Errorf("header word %d = %#x: no field names bits %#x", i, w, u)
		}
	}
}

// strictErrors are those of all segments.
func strictErrors(err error) (list []*StrictError) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			list = append(list, strictErrors(e)...)
		}
		return list
	}
	var e *StrictError
	if errors.As(err, &e) {
		list = append(list, e)
	}
	return list
}
