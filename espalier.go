// Package espalier opens Core ML models and programs of the Neural Engine, and runs them, on any machine.
//
//	m, err := espalier.Open("model.mlpackage")
//	…
//	out, err := m.Predict(ctx, map[string]any{"x": pixels})   // a []float32 or a *tensor.Tensor
//	y := out["y"].Tensor.Float32s()
//
// A model has functions, most have one. A function takes features by name, arrays (slices, *tensor.Tensor) and
// pictures (image.Image), and gives features by name. A function with states keeps them in a State that the
// caller makes and passes to each prediction.
//
// OpenFS and OpenBytes read a model that is embedded in the program, or comes over the network. Bind and PredictInto
// predict into memory of the caller, without allocating.
//
// The program of a hardware container (.hwx) runs on the virtual engine. Its features are the ports: arrays
// N, C, H, W in the element type of the port. A port that the program reads and writes is a state.
package espalier

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/build"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/internal/kernel/isa"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// Config says how models are opened. The zero Config is the one that Open uses.
type Config struct {
	// Target is the name of the engine that models are compiled for and run on: "h13g", or the name of a chip,
	// a device or a model as "m1", "iPhone 16 Pro" or "iPhone17,1"; hal.Resolve tells where sources disagree on one. "" is
	// virtual, and of a bundle the one that it was compiled for.
	Target string
	// Numerics are how that engine computes. "" is as the target does, and of a bundle as it was compiled; of a
	// container without Target it is Virtual.
	Numerics Numerics
	// Units are what may run the model.
	Units Units
	// Resize is what happens to a picture of a size that the model does not take.
	Resize Resize
	// Weights say how the files of the model are held while it is open.
	//
	// Files that are mapped must not be written to. To deploy a new file, write it under another name and rename it to the
	// old one: who has the old file open keeps it. Writing into a file that is open, as cp, scp and rsync --inplace do, is
	// seen by the predictions after it, and by the one under way: they give ErrFileChanged, even if the file became shorter
	// and a page of it is gone. The process goes on, and other models do.
	Weights Weights
	// Mutable names the constants of models, as their programs do, that SetWeights may give other elements; AllWeights is all of
	// them. What is compiled has them as they are, neither folded nor fused into others. Of a bundle and a container it does
	// not matter.
	Mutable []string
	// Threads bounds the goroutines that a prediction is computed on, the caller's among them. 0 is GOMAXPROCS. The
	// results are the same for any number.
	Threads int
	// Concurrency is how many predictions there will be at once, about. Buffers for so many are made as soon as a function is
	// compiled or opened, and kept; others come and go with the predictions.
	Concurrency int
	// LowMemory holds weights in as little memory as they are fast in, rather than as they are fastest: about as many
	// bytes as their file. Results are those of other machines, to the last bits.
	LowMemory bool
	// Limits are how much a model may ask for.
	Limits Limits
	// RandomWeights is the seed of made-up weights, for a model whose weight files are absent or Git LFS pointers: to run it and
	// to measure how long that takes, though not for what it says. nil leaves such a model an error.
	RandomWeights *uint64
	// Cache is where functions are kept once they are compiled, and taken from the next time, by this process or another: a
	// folder, or NoCache. "" is what the environment variable ESPALIER_CACHE says, and else the folder that the system has for
	// caches. It may be removed at any time, and has at most as many bytes as ESPALIER_CACHE_SIZE says, 4 GiB by default.
	// Whether something is from there shows in nothing but the time that it takes, and in Pass.
	Cache string
	// Note is told of what is no error, and yet somebody may want to know: that the cache cannot be used. nil is not.
	// Predictions may call it at the same time.
	Note func(error)
	// Pass is told of every pass of the compiler as it ends, when a function is compiled because shapes of its inputs come for
	// the first time; nil is not. Predictions may call it at the same time.
	Pass func(PassReport)

	path string    // of the model that is opened
	life *lifetime // of it; nil if it is all in memory
}

// NoCache is the Cache of who wants none.
const NoCache = build.Off

// Weights are how the files of a model are held while it is open. The zero value is MappedWeights.
type Weights string

const (
	MappedWeights Weights = "mapped" // as pages of the files, loaded when they are used and shared between processes
	CopiedWeights Weights = "copied" // in memory: the files may change after Open, which takes as long as reading them
)

// Units are what may run a model. The zero value is AllUnits.
type Units string

// The units, by the names that the command line has.
const (
	AllUnits   Units = "all" // the engine, and the host for what the engine does not take
	EngineOnly Units = "ane" // the engine alone: a model that needs the host is refused
	CPUOnly    Units = "cpu" // the host alone
)

// ParseUnits finds units by name.
func ParseUnits(name string) (Units, error) {
	switch u := Units(name); u {
	case AllUnits, EngineOnly, CPUOnly:
		return u, nil
	}
	return "", fmt.Errorf("unknown units %q: expected %s, %s or %s", name, AllUnits, EngineOnly, CPUOnly)
}

// ErrUnits is wrapped by the error about a compiled model that needs units which it may not have.
var ErrUnits = errors.New("the model needs other units")

// ErrTarget is wrapped by the error about a compiled model that is for another target than the one asked for.
var ErrTarget = errors.New("the model is compiled for another target")

// ErrWeights is wrapped by the error about a container whose weights are in another file. A model whose weight file is
// missing has the error *coreml.MissingWeightsError.
var ErrWeights = errors.New("the container has no weights of its own")

// ErrUnsupported is wrapped by errors about models that can be read but not run.
var ErrUnsupported = errors.New("not supported yet")

// Model is an open model. It is safe for concurrent use.
type Model struct {
	life      *lifetime
	functions []*Function // the default one first
}

// Open reads a model: a package, a model file, a compiled model, MIL text, a graph of native layers, a bundle or a hardware
// container. A folder
// among them may be a zip archive of it. Its files must not be written to as long as it is open: see Config.Weights. A weight
// file that is missing is a *coreml.MissingWeightsError; see Config.RandomWeights.
func Open(path string) (*Model, error) { return Config{}.Open(path) }

// OpenContext is Open that ends with the context: large weights take their time.
func OpenContext(ctx context.Context, path string) (*Model, error) {
	return Config{}.OpenContext(ctx, path)
}

// Open reads a model.
func (c Config) Open(path string) (*Model, error) { return c.OpenContext(context.Background(), path) }

// OpenContext reads a model, unless the context ends before.
func (c Config) OpenContext(ctx context.Context, path string) (*Model, error) {
	copied := c.Weights == CopiedWeights
	if !copied && c.Weights != "" && c.Weights != MappedWeights {
		return nil, fmt.Errorf("unknown weights %q: expected %s or %s", c.Weights, MappedWeights, CopiedWeights)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := &Model{life: &lifetime{}}
	c.path, c.life = path, m.life
	if full, err := filepath.Abs(path); err == nil {
		c.path = full
	}
	var err error
	switch {
	case hwx.IsContainerFile(path):
		open := hwx.Open
		if copied {
			open = hwx.OpenCopy
		}
		err = openWith(ctx, m, path, open, c.containerFunctions)
	case bundle.IsBundle(path):
		open := bundle.OpenContext
		if copied {
			open = bundle.OpenCopy
		}
		err = openWith(ctx, m, path, func(path string) (*bundle.Bundle, error) { return open(ctx, path) }, c.bundleFunctions)
	case graphfile.IsFile(path):
		open := graphfile.Open
		if copied {
			open = graphfile.OpenCopy
		}
		err = openWith(ctx, m, path, open, c.graphFunctions)
	case isArchivedBundle(path):
		err = openWith(ctx, m, path, openArchivedBundle, c.bundleFunctions)
	default:
		open := coreml.Open
		if copied {
			open = coreml.OpenCopy
		}
		err = openWith(ctx, m, path, open, c.modelFunctions)
	}
	if err != nil {
		return nil, err
	}
	for _, f := range m.functions {
		f.path, f.life = path, m.life
	}
	return m, nil
}

// openWith opens a file of one of the forms that a model has, and makes its functions.
func openWith[F interface {
	Close() error
	Changed() error
}](ctx context.Context, m *Model, path string, open func(string) (F, error), functions func(context.Context, F) ([]*Function, error)) (err error) {
	if err := isa.Err(); err != nil {
		return err
	}
	file, err := open(path)
	if err != nil {
		return err
	}
	m.life.files = file
	defer func() {
		if err != nil {
			file.Close()
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	defer osfile.Protect().Catch(&err)
	m.functions, err = functions(ctx, file)
	return err
}

// Close releases the model's files. It waits for the predictions under way, which end by their contexts; from then on, all that
// is asked of the model, its functions, states and programs gives ErrClosed. What predictions returned stays valid, and further
// calls do nothing.
//
// Close called from within a prediction, as by a picture that is an input, waits for that prediction too. When the contexts of
// all that it waits for have ended, and they go on all the same, it returns an error that wraps ErrBusy after a second, and the
// last of them releases the files.
func (m *Model) Close() error { return m.life.close() }

// Functions are the model's functions, the default one first.
func (m *Model) Functions() []*Function { return m.functions }

// Function finds a function by name; the empty name is the default one's.
func (m *Model) Function(name string) (*Function, error) {
	names := make([]string, len(m.functions))
	for i, f := range m.functions {
		if name == "" || f.Name() == name {
			return f, nil
		}
		names[i] = f.Name()
	}
	return nil, fmt.Errorf("there is no function %q: the model has %q", name, names)
}
