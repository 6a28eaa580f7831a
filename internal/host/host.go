// Package host runs the host segments of a bundle: the operations that no engine
// runs, on the host evaluator. It is what package e5rt asks for through its
// interface Host.
//
//	h, err := host.New(program)             // from the compiler
//	h, program, err := host.FromBundle(b)   // host.mil, with the weights of the bundle
//	lib, err := e5rt.Open(b, e5rt.Options{Host: h})
//
// Values with a layout are in the buffers of the runtime, in their declared type.
// The evaluator holds floating-point numbers as fp32, and converts of a state what
// operations look at. A value without a layout
// stays what it is in the evaluator from one segment to the next.
package host

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// Host is the functions of a program on the host evaluator, with the numerics of
// the engine.
type Host struct {
	functions map[string]*function
	copied    atomic.Int64
}

// New makes the functions of a program ready.
func New(p *mil.Program) (*Host, error) {
	if err := mil.Verify(p); err != nil {
		return nil, err
	}
	if err := ops.Verify(p); err != nil {
		return nil, err
	}
	h := &Host{functions: map[string]*function{}}
	for _, f := range p.Functions {
		made, err := newFunction(f, &h.copied)
		if err != nil {
			return nil, err
		}
		h.functions[f.Name] = made
	}
	return h, nil
}

// FromBundle makes the functions of a bundle's host program ready, and returns the program too. Both are nil if the
// bundle has none. It must stay open as long as they are in use.
func FromBundle(b *bundle.Bundle) (*Host, *mil.Program, error) {
	text := b.Bytes(bundle.HostPath)
	if text == nil {
		return nil, nil, nil
	}
	p, err := mil.ParseText(bundle.HostPath, text, coreml.WeightsOf(func(path string) []byte {
		// The weight that the manifest has under the name, or else the file at the path.
		if data, ok := b.Weight(path); ok {
			return data
		}
		return b.Bytes(strings.TrimPrefix(path, "@model_path/"))
	}))
	if err != nil {
		return nil, nil, err
	}
	h, err := New(p)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", bundle.HostPath, err)
	}
	return h, p, nil
}

// SetLimits says how much a run of a function may need, before the first one.
func (h *Host) SetLimits(l limit.Limits) {
	for _, f := range h.functions {
		f.eval.SetLimits(l)
		f.limits = l
	}
}

// Copied is how many bytes of states all runs have copied: those that they gave another value as a whole. What is read of a state
// is read where it lies, and parts are written there.
func (h *Host) Copied() int64 { return h.copied.Load() }

// Function finds a function by its name.
func (h *Host) Function(name string) (e5rt.HostFunction, error) {
	if f := h.functions[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("the host program has no function %q: %w", name, e5rt.ErrNotFound)
}
