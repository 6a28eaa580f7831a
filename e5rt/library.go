package e5rt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/driver"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/gate"
	"github.com/espalier-ane/espalier/internal/kernel/isa"
	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// Options are what Open may need beside the bundle.
type Options struct {
	// Host runs host segments. A bundle without any needs none.
	Host Host
	// Threads bounds the goroutines that a run computes on; 0 is GOMAXPROCS. A host
	// finds it in its context (internal/pool). Results do not depend on it.
	Threads int
	// Concurrency is how many runs of a function there will be at once, about: Function.Load makes so many operations, and
	// TakeOut and PutBack keep them. Others stay until the collector comes.
	Concurrency int
	// LowMemory holds constant operands in about as many bytes as they are stored in.
	LowMemory bool

	// Limits are how much a call may need, bytes and steps: a *limit.Error says
	// that a function needs more. Host segments have their own.
	Limits limit.Limits
}

// A Library is a bundle made ready to run. It is safe for concurrent use.
type Library struct {
	bundle    *bundle.Bundle
	functions []*Function
	programs  []*engine.Program
	client    *driver.Client // of the target's engine
	gate      gate.Gate      // of the runs

	// Of a library that a compiler made; nil of others.
	special *specializer
	owner   *specializer // of one that it made
	changed func() error // a file that the bundle stands on was written to
	under   func() error // closes what it stands on
	closed  atomic.Bool
}

// Open makes a bundle ready to run: it loads the containers, and finds the
// buffers of every operation. What cannot be run is refused here. Closing the
// bundle closes the library. What a bundle in memory was made of must stay open as
// long as the library is.
func Open(b *bundle.Bundle, o Options) (*Library, error) {
	return OpenContext(context.Background(), b, o)
}

// OpenContext is Open that ends with the context: large weights take their time.
func OpenContext(ctx context.Context, b *bundle.Bundle, o Options) (lib *Library, err error) {
	defer osfile.Protect().Catch(&err)
	if err := isa.Err(); err != nil {
		return nil, err
	}
	numerics, err := hal.ParseNumerics(b.Manifest.Numerics)
	if err != nil {
		return nil, err
	}
	target, err := hal.Lookup(b.Manifest.Target)
	if err != nil {
		return nil, err
	}
	lib = &Library{bundle: b, client: driver.Open(target).NewClient(0)}
	l := &loader{
		ctx: ctx, library: lib, bundle: b, host: o.Host, threads: o.Threads, lowMemory: o.LowMemory, limits: o.Limits, numerics: numerics,
		programs: map[programKey]*engine.Program{},
	}
	for i, described := range b.Program.Functions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := l.function(described, &b.Manifest.Functions[i])
		if err != nil {
			return nil, err
		}
		f.firstWeights()
		f.operations = newOperations(f, o.Concurrency)
		lib.functions = append(lib.functions, f)
	}
	for _, p := range lib.programs {
		if p.IsMutable() { // the functions have it now
			p.Base().Release()
		}
	}
	b.BeforeClose(lib.Close)
	return lib, nil
}

// Close waits for the runs under way, which end by their contexts, gives back the
// memory of weights and leaves the rest to the collector; the bundle stays open, unless Compile made it. Later runs give ErrClosed. Where a
// run that was told to end does not, as one whose host function calls Close, it
// returns an error that wraps ErrBusy after a while. Further calls wait likewise.
func (l *Library) Close() error {
	if err := l.gate.Close(l.release); err != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	if l.special == nil && l.under == nil || !l.closed.CompareAndSwap(false, true) {
		return nil
	}
	var err error
	if l.special != nil {
		err = l.special.close()
	}
	if l.under != nil {
		err = errors.Join(err, l.under()) // which closes the bundle, and so calls us again
	}
	return err
}

// release gives back what the programs hold, once nobody runs any.
func (l *Library) release() error {
	for _, f := range l.functions {
		f.mutable.current.Release()
		f.mutable.current = nil
	}
	for _, p := range l.programs {
		p.Close()
	}
	return l.client.Close()
}

// manifest is what the manifest says of a function.
func (l *Library) manifest(f *Function) *bundle.Function {
	return &l.bundle.Manifest.Functions[slices.Index(l.functions, f)]
}

// Functions returns the functions in the order of the bundle.
func (l *Library) Functions() []*Function { return slices.Clone(l.functions) }

// Function finds a function by its name.
func (l *Library) Function(name string) (*Function, error) {
	for _, f := range l.functions {
		if f.name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("function %q: %w", name, ErrNotFound)
}

// A Function is what can be called. It is safe for concurrent use: each call has
// its own Operation.
type Function struct {
	library                 *Library
	name                    string
	inputs, outputs, states []int // slots
	slots                   []slot
	symbols                 map[string]int
	steps                   []step
	direct                  map[int]direct // by slot, of ports: what the engine takes in their stead
	threads                 int            // of a run; 0: GOMAXPROCS
	operations              *Pool[*Operation]
	mutable                 mutable
}

// Name returns the name of the function.
func (f *Function) Name() string { return f.name }

// A Port is where a caller binds or finds a buffer.
type Port struct {
	Name    string
	Type    tensor.DType // Invalid: the port holds a value of the host, without a layout
	Shape   []int
	Bytes   int
	Strides []int // in bytes; nil if elements lie side by side
}

// Layout is how the value lies in the memory of the port.
func (p *Port) Layout() Layout {
	if p.Strides == nil {
		return DenseLayout(p.Type, p.Shape...)
	}
	return Layout{Type: p.Type, Shape: p.Shape, Strides: p.Strides, Bytes: p.Bytes}
}

// Inputs returns the ports that a caller fills, without states.
func (f *Function) Inputs() []Port { return f.ports(f.inputs) }

// Outputs returns the ports that hold the results.
func (f *Function) Outputs() []Port { return f.ports(f.outputs) }

// States returns the ports that a State binds.
func (f *Function) States() []Port { return f.ports(f.states) }

func (f *Function) ports(slots []int) []Port {
	ports := make([]Port, len(slots))
	for i, s := range slots {
		v := &f.slots[s]
		ports[i] = Port{Name: v.symbol, Type: f.typeOf(s), Shape: slices.Clone(v.shape), Bytes: v.size}
		if l := f.layoutOf(s); l.Type != tensor.Invalid && !l.Dense() {
			ports[i].Strides = slices.Clone(v.strides)
		}
	}
	return ports
}

// typeOf is the element type of a slot, Invalid if it has no layout.
func (f *Function) typeOf(i int) tensor.DType { return f.slots[f.slots[i].root].typ }

// programKey names a loaded program: containers and their procedures are shared
// between the functions of a bundle.
type programKey struct{ container, procedure, weights string }

// A loader makes the functions of a bundle ready.
type loader struct {
	ctx       context.Context
	library   *Library
	bundle    *bundle.Bundle
	host      Host
	threads   int
	lowMemory bool
	limits    limit.Limits
	numerics  hal.Numerics
	programs  map[programKey]*engine.Program
}

// program loads the procedure of an engine segment.
func (l *loader) program(a e5.AneInferenceAttrs, weights string, mutable []engine.Stretch) (*engine.Program, error) {
	file := l.bundle.Container(a.ProgramSymbol)
	if file == nil {
		return nil, fmt.Errorf("the bundle has no container %q", a.ProgramSymbol)
	}
	fail := func(err error) (*engine.Program, error) { return nil, &Error{Container: a.ProgramSymbol, Err: err} }
	procedure, err := file.Procedure(a.ProcedureName)
	if err != nil {
		return fail(err)
	}
	if procedure.Name != a.ProcedureName { // "" finds the only one
		return fail(fmt.Errorf("its procedure is %q, and %q is asked for", procedure.Name, a.ProcedureName))
	}
	key := programKey{a.ProgramSymbol, a.ProcedureName, weights}
	if p := l.programs[key]; p != nil {
		return p, nil
	}
	options := engine.Options{Numerics: l.numerics, Weights: l.bundle.Bytes(weights), Threads: l.threads, LowMemory: l.lowMemory, Limits: l.limits, Mutable: mutable}
	p, err := engine.LoadProcedure(l.ctx, procedure, options)
	if err != nil {
		return fail(err)
	}
	l.programs[key] = p
	l.library.programs = append(l.library.programs, p)
	return p, nil
}
