package e5rt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/edit"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// Weights are a version of the constants of a function, which other versions do not change. A run has one from its beginning to its
// end, be it that the function has several segments: those of the function as it begins, or those that its operation was given.
//
//	SetWeights(w1) ──────────────── SetWeights(w2) ──────────
//	     run ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒                       w1
//	                                       run ▒▒▒▒▒▒▒▒▒▒▒▒▒      w2
//
// The memory of a version is given back as soon as neither a run, nor an operation, nor its function has it.
type Weights struct {
	function *Function
	versions map[*engine.Program]*engine.Version
	hosts    map[*hostStep]HostFunction // instead of those of the steps
	given    map[string]*tensor.Tensor  // of the weights that hosts read: their last elements
	packed   int64
	users    atomic.Int32
}

// A Weight is a constant of a function that may be given other elements.
type Weight struct {
	Name  string // of the constant in the model
	Type  tensor.DType
	Shape []int
}

// A WeightsError is about elements for weights that a function does not have, or has in another form. The findings are those of
// the check of a mutable procedure.
type WeightsError struct {
	Function string
	Findings []*diag.Finding
}

func (e *WeightsError) Error() string {
	texts := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		texts[i] = f.Text
	}
	return fmt.Sprintf("function %s: %s", e.Function, strings.Join(texts, "; "))
}

// mutable is what a function knows of its weights.
type mutable struct {
	weights  []bundle.MutableWeight
	segments []any // the steps of the segments: *engineStep or *hostStep

	turn    sync.Mutex // of who makes the next version
	mu      sync.Mutex
	current *Weights
}

// Weights are the constants that may be given other elements: those that it was compiled with as mutable.
func (f *Function) Weights() []Weight {
	list := make([]Weight, len(f.mutable.weights))
	for i, w := range f.mutable.weights {
		d, _ := tensor.ParseDType(w.Type) // the manifest was checked
		list[i] = Weight{Name: w.Name, Type: d, Shape: slices.Clone(w.Shape)}
	}
	return list
}

// stretches are the constants of a segment that may change.
func stretches(m *bundle.Function, segment int) (list []engine.Stretch) {
	for i := range m.Mutable {
		w := &m.Mutable[i]
		for j := range w.Parts {
			if p := &w.Parts[j]; p.Segment == segment {
				d, _ := p.DType(w)
				lo, hi := p.Extent(d.Size())
				list = append(list, engine.Stretch{Section: p.Section, Lo: lo, Hi: hi})
			}
		}
	}
	return list
}

// firstWeights makes the version that the function is compiled with.
func (f *Function) firstWeights() {
	if len(f.mutable.weights) == 0 {
		return
	}
	w := &Weights{function: f, versions: map[*engine.Program]*engine.Version{}}
	for _, s := range f.mutable.segments {
		if s, ok := s.(*engineStep); ok && w.versions[s.program] == nil {
			w.versions[s.program] = s.program.Base()
			s.program.Base().Retain()
		}
	}
	w.users.Store(1)
	f.mutable.current = w
}

// SetWeights gives weights other elements, for all runs that begin after it has returned: arrays of their shapes, converted to their
// types. Runs under way keep those that they have. Only what depends on these weights is packed anew.
func (f *Function) SetWeights(ctx context.Context, elements map[string]*tensor.Tensor) error {
	f.mutable.turn.Lock() // one after the other: each is made of the one before
	defer f.mutable.turn.Unlock()
	w, err := f.NewWeights(ctx, elements)
	if err != nil {
		return err
	}
	f.mutable.mu.Lock()
	before := f.mutable.current
	f.mutable.current = w
	f.mutable.mu.Unlock()
	before.Release()
	return nil
}

// NewWeights makes a version of the current one in which weights have other elements, for Operation.UseWeights. The caller
// releases it.
func (f *Function) NewWeights(ctx context.Context, elements map[string]*tensor.Tensor) (w *Weights, err error) {
	lib := f.library
	place, open := lib.gate.Enter(ctx)
	if !open {
		return nil, &Error{Function: f.name, Err: ErrClosed}
	}
	defer lib.gate.Leave(place)
	defer osfile.Protect().Catch(&err)
	if err := CheckWeights(f.name, f.Weights(), elements); err != nil {
		return nil, err
	}
	of := f.takeWeights()
	if of == nil {
		return &Weights{function: f}, nil // of a function that has none
	}
	defer of.Release()
	return of.with(ctx, elements)
}

// CheckWeights is the check of a mutable procedure: whether a function with such weights can be given the elements. An error is a
// *WeightsError, or about an array of another shape.
func CheckWeights(function string, weights []Weight, elements map[string]*tensor.Tensor) error {
	known := map[string]edit.Weight{}
	types := map[string]tensor.DType{}
	var edits []edit.Edit
	for _, w := range weights {
		size, _ := w.Type.ByteLen(count(w.Shape))
		known[w.Name], types[w.Name] = edit.Weight{Bytes: size, AnyForm: true}, w.Type
		if t := elements[w.Name]; t != nil && !slices.Equal(t.Shape(), w.Shape) && t.Len() == count(w.Shape) {
			return &Error{Function: function, Err: fmt.Errorf("weight %q: found %v, want %v%v", w.Name, t, w.Type, tensor.ShapeOf(w.Shape...))}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		t := elements[name]
		if t == nil {
			return &Error{Function: function, Err: fmt.Errorf("weight %q: found nil", name)}
		}
		change := edit.Edit{Weight: name}
		if d, ok := types[name]; ok {
			change.Bytes, _ = d.ByteLen(t.Len())
		}
		edits = append(edits, change)
	}
	if found := edit.Check(known, edits); len(found) > 0 {
		return &WeightsError{function, found}
	}
	return nil
}

// takeWeights is the version that runs begin with, which the caller releases; nil if no weight is mutable.
func (f *Function) takeWeights() *Weights {
	if len(f.mutable.weights) == 0 {
		return nil
	}
	f.mutable.mu.Lock()
	defer f.mutable.mu.Unlock()
	f.mutable.current.users.Add(1)
	return f.mutable.current
}

// Release says that the caller does not use the version any more.
func (w *Weights) Release() {
	if w == nil || w.users.Add(-1) != 0 {
		return
	}
	for _, v := range w.versions {
		v.Release()
	}
}

// Packed is how many bytes were packed to make the version.
func (w *Weights) Packed() int64 { return w.packed }

// with is a version in which weights have other elements.
func (w *Weights) with(ctx context.Context, elements map[string]*tensor.Tensor) (*Weights, error) {
	f := w.function
	made := &Weights{function: f, versions: maps.Clone(w.versions), hosts: maps.Clone(w.hosts), given: maps.Clone(w.given)}
	edits, hosts, err := f.edits(elements)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Weights, error) {
		for program := range edits {
			if v := made.versions[program]; v != w.versions[program] {
				v.Release()
			}
		}
		return nil, &Error{Function: f.name, Err: err}
	}
	for program, list := range edits {
		v, err := program.Patch(ctx, w.versions[program], list)
		if err != nil {
			return fail(err)
		}
		made.versions[program] = v
		made.packed += v.Packed()
	}
	if len(hosts) > 0 {
		if err := made.patchHosts(hosts, elements); err != nil {
			return fail(err)
		}
	}
	for program, v := range made.versions {
		if edits[program] == nil {
			v.Retain()
		}
	}
	made.users.Store(1)
	return made, nil
}

// edits are what the programs have to change, and the host steps that read other elements.
func (f *Function) edits(elements map[string]*tensor.Tensor) (edits map[*engine.Program][]engine.Edit, hosts map[*hostStep]bool, err error) {
	edits, hosts = map[*engine.Program][]engine.Edit{}, map[*hostStep]bool{}
	for i := range f.mutable.weights {
		w := &f.mutable.weights[i]
		t := elements[w.Name]
		if t == nil {
			continue
		}
		stored := map[tensor.DType][]byte{}
		for j := range w.Parts {
			p := &w.Parts[j]
			d, err := p.DType(w)
			if err != nil {
				return nil, nil, err
			}
			if stored[d] == nil {
				as, err := t.Convert(d)
				if err != nil {
					return nil, nil, &Error{Function: f.name, Err: fmt.Errorf("weight %q: %w", w.Name, err)}
				}
				stored[d] = as.Bytes()
			}
			e := engine.Edit{Section: p.Section, At: p.At, From: p.First, Width: d.Size(), Elements: stored[d], Loops: make([]engine.Loop, len(p.Loops))}
			for k, l := range p.Loops {
				e.Loops[k] = engine.Loop{Count: int(l.Count()), Bytes: l.Bytes(), Elements: l.Elements()}
			}
			program := f.mutable.segments[p.Segment].(*engineStep).program
			edits[program] = append(edits[program], e)
		}
		for _, s := range w.Hosts {
			hosts[f.mutable.segments[s].(*hostStep)] = true
		}
	}
	return edits, hosts, nil
}

// A MutableHost is a HostFunction whose constants may be given other elements.
type MutableHost interface {
	HostFunction
	// WithConstants is the function with arrays instead of its constants, by their names; those that it does not have do not
	// matter.
	WithConstants(map[string]*tensor.Tensor) (HostFunction, error)
}

var errFixedHost = errors.New("the host that runs the function cannot give its constants other elements")

// patchHosts makes functions of the host with other constants.
func (w *Weights) patchHosts(hosts map[*hostStep]bool, elements map[string]*tensor.Tensor) error {
	if w.given == nil {
		w.given, w.hosts = map[string]*tensor.Tensor{}, map[*hostStep]HostFunction{}
	}
	for i := range w.function.mutable.weights {
		m := &w.function.mutable.weights[i]
		if t := elements[m.Name]; t != nil && len(m.Hosts) > 0 {
			d, _ := tensor.ParseDType(m.Type)
			as, err := t.Convert(d)
			if err != nil {
				return fmt.Errorf("weight %q: %w", m.Name, err)
			}
			w.given[m.Name] = as.Clone() // the caller may write into his
		}
	}
	for s := range hosts {
		f, ok := s.function.(MutableHost)
		if !ok {
			return errFixedHost
		}
		made, err := f.WithConstants(w.given)
		if err != nil {
			return err
		}
		w.hosts[s] = made
	}
	return nil
}

// UseWeights has the operation run with a version of its function's weights, whatever the function's are by then; nil: with those
// of the function again. A run under way is waited for.
func (o *Operation) UseWeights(ctx context.Context, w *Weights) error {
	if w != nil && w.function != o.function {
		return &Error{Function: o.function.name, Err: fmt.Errorf("the weights are those of function %s: %w", w.function.name, ErrNotFound)}
	}
	if err := o.await(ctx); err != nil {
		return err
	}
	defer o.release()
	if w != nil {
		w.users.Add(1)
	}
	o.fixed.Release()
	o.fixed = w
	return nil
}

// takeWeights gives the run under way its version.
func (o *Operation) takeWeights() {
	if o.weights = o.fixed; o.weights != nil {
		o.weights.users.Add(1)
	} else {
		o.weights = o.function.takeWeights()
	}
}

func (o *Operation) dropWeights() {
	o.weights.Release()
	o.weights = nil
}
