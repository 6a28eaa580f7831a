package engine

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/strided"
)

// A Program is a procedure of a container made ready to run. Running does not
// change it, so it may serve any number of contexts at the same time.
type Program struct {
	ports    []Port
	memories []memory // on-chip memory first
	bases    *[hwx.BaseCount]uint64
	numerics hal.Numerics
	rules    *strided.Rules // that they make; nil: plain arithmetic
	gemm     *gemm.Row      // of products; nil: one that suits them
	threads  int            // of a dispatch; 0: GOMAXPROCS

	steps   []step
	tasks   []Task            // of steps: what each is
	tiny    bool              // one thread runs it alone
	long    bool              // others are woken for any task
	once    []derivation      // make the derived memory
	origins map[originKey]int // which of once has made what begins there
	scratch strided.Need      // of each thread
	packs   strided.Packs     // constants that kernels have packed
	room    *osfile.Pages     // of all packs
	packed  strided.Packed    // and what is in them
	islands []island          // constants that may change
	base    *Version          // with the constants of the container
	buffers bufferSizes

	weights     map[weightKey]*strided.Weights // shared by tasks that load the same streams
	tables      map[weightKey]*strided.Activation
	bound       []boundWeights // of weights, by their numbers
	weightBytes int64

	stickOut []Stretch // while loading: operands that are partly in an island

	own   []touch     // while loading: what steps do to memory that is the program's own
	units []boundUnit // likewise: tasks of the units

	limits   limit.Limits
	runs     int64   // while loading: how many countRuns has seen
	work     float64 // while loading: the steps of the tasks so far
	onceWork float64 // of those, the steps of once
}

// Options say how a container is loaded.
type Options struct {
	Numerics hal.Numerics

	// Weights are the bytes of the container's external section: the weight file
	// of its bundle. They are not copied, and must not change as long as the
	// program is in use. A container that has no such section needs none.
	Weights []byte

	// Gemm is the name of the micro-kernel that multiplies matrices, one of
	// gemm.Usable. Without it, one is chosen that suits each product. Results may
	// differ as the rows say.
	Gemm string

	// Threads bounds the goroutines that a dispatch, and loading, compute on; 0 is
	// GOMAXPROCS. Results do not depend on it.
	Threads int
	// LowMemory packs constant operands in about as many bytes as they are stored in.
	LowMemory bool

	// Mutable are the constants that Program.Patch may give other values.
	Mutable []Stretch

	// Limits are how much the program may need; those of the engine itself hold
	// as well.
	Limits limit.Limits
}

// Load makes a container ready to run with the given numerics. The container
// must stay open and unchanged as long as the program is in use.
//
// An error that a program is to blame for is an *Error, or the format error of
// package hwx or td.
func Load(file *hwx.File, n hal.Numerics) (*Program, error) {
	return LoadWith(file, Options{Numerics: n})
}

// LoadWith is Load of a container that may have its weights elsewhere.
func LoadWith(file *hwx.File, o Options) (*Program, error) {
	return LoadContext(context.Background(), file, o)
}

// LoadContext is LoadWith that ends with the context.
func LoadContext(ctx context.Context, file *hwx.File, o Options) (*Program, error) {
	if _, err := hal.BySubtype(file.Header.CPUSubtype); err != nil {
		return nil, err
	}
	only, err := file.Procedure("")
	if err != nil {
		return nil, err
	}
	return LoadProcedure(ctx, only, o)
}

// LoadAll loads every procedure of a container, in their order. Constants that
// they share are in memory once, as they are stored; what kernels have packed, each
// has for itself.
func LoadAll(ctx context.Context, file *hwx.File, o Options) ([]*Program, error) {
	procedures, err := file.Procedures()
	if err != nil {
		return nil, err
	}
	programs := make([]*Program, len(procedures))
	for i, procedure := range procedures {
		if programs[i], err = LoadProcedure(ctx, procedure, o); err != nil {
			for _, p := range programs[:i] {
				p.Close()
			}
			return nil, fmt.Errorf("procedure %q: %w", procedure.Name, err)
		}
	}
	return programs, nil
}

// LoadProcedure loads one procedure of a container, which may have several. The
// weights are those of the procedure's external section.
func LoadProcedure(ctx context.Context, of *hwx.Procedure, o Options) (*Program, error) {
	for {
		p, err := loadProcedure(ctx, of, o)
		if err != nil || len(p.stickOut) == 0 {
			return p, err
		}
		o.Mutable = append(slices.Clip(o.Mutable), p.stickOut...) // which makes fewer islands, or larger ones
	}
}

// loadProcedure is LoadProcedure with islands that may be too small: then it ends before anything is made of the constants.
func loadProcedure(ctx context.Context, of *hwx.Procedure, o Options) (*Program, error) {
	target, err := hal.BySubtype(of.File().Header.CPUSubtype)
	if err != nil {
		return nil, err
	}
	ports, err := of.Ports()
	if err != nil {
		return nil, err
	}
	row := gemm.Named(o.Gemm)
	if o.Gemm != "" && row == nil {
		return nil, programError("there is no micro-kernel %q for this processor", o.Gemm)
	}
	p := &Program{gemm: row, threads: o.Threads, bases: of.Program.Bases, numerics: o.Numerics, rules: strided.RulesOf(o.Numerics), limits: o.Limits,
		weights: make(map[weightKey]*strided.Weights), tables: make(map[weightKey]*strided.Activation),
	}
	p.packs.Small = o.LowMemory
	if p.memories, err = mapMemory(of, ports, target.Sizes.OnChip, o.Weights); err != nil {
		return nil, err
	}
	if err := p.addIslands(o.Mutable); err != nil {
		return nil, err
	}
	for _, port := range ports {
		if err := p.addPort(&port); err != nil {
			return nil, err
		}
	}
	tasks, err := of.Tasks()
	if err != nil {
		return nil, err
	}
	if err := p.bind(ctx, tasks); err != nil {
		return nil, err
	}
	if len(p.stickOut) > 0 {
		return p, nil
	}
	p.compact()
	for i := range p.ports { // now that it is known what tasks touch
		q := &p.ports[i]
		q.bytes = max(q.bytes, p.memories[q.memory].reach)
		p.memories[q.memory].size = q.bytes
	}
	// What no task writes, none reads: a context need not have all that the chip
	// has, nor all that the container asks for.
	for i := range p.memories {
		if m := &p.memories[i]; m.kind == onChip || m.kind == scratch || m.kind == derived {
			m.size = m.reach
		}
	}
	if n := p.dispatchBytes(); n > maxDispatchBytes {
		return nil, programError("a dispatch needs %#x bytes; want %#x or less", n, int64(maxDispatchBytes))
	}
	if n, allowed := p.OwnBytes(), p.limits.MaxMemory(osfile.MemoryLimit); n > allowed {
		return nil, &limit.Error{Resource: limit.Memory, What: "a dispatch", Asked: n, Allowed: allowed}
	}
	for i := range p.memories {
		p.memories[i].written = coverage{}
	}
	total := 0.0
	for i := range p.steps {
		total += p.steps[i].nanoseconds
	}
	p.tiny, p.long = total <= tinyProgram, total > longProgram
	p.derive(ctx)
	p.pack(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// bufferSizes are the sizes of the dense buffers that kernels work in, in
// elements.
type bufferSizes struct {
	source1, source2, result, weights int64
}

// grow makes the buffers large enough for another step.
func (b *bufferSizes) grow(o bufferSizes) {
	b.source1 = max(b.source1, o.source1)
	b.source2 = max(b.source2, o.source2)
	b.result = max(b.result, o.result)
	b.weights = max(b.weights, o.weights)
}

// total is the number of all elements.
func (b bufferSizes) total() int64 { return b.source1 + b.source2 + b.result + b.weights }

// OwnBytes is the memory of a context without the ports, which a caller may bind
// to memory of its own, together with what all contexts share.
func (p *Program) OwnBytes() int64 {
	n := p.dispatchBytes()
	for i := range p.memories {
		if m := &p.memories[i]; m.kind.port() {
			n -= int64(m.size)
		}
	}
	return n
}

// dispatchBytes is the memory of a context.
func (p *Program) dispatchBytes() int64 {
	n := 4 * p.buffers.total()
	n += p.scratch.Bytes()*int64(runtime.GOMAXPROCS(0)) + p.packs.Bytes()
	for i := range p.memories {
		switch m := &p.memories[i]; m.kind {
		case constant, text:
		default: // derived memory, like what is packed, is there once, which is no reason to allow more
			n += int64(m.size)
		}
	}
	return n
}
