package espalier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
)

// CompileOptions say how a model is compiled.
type CompileOptions struct {
	// Target is the name of the engine; "" is that of the model's Config.
	Target string
	// Strict refuses a program with tasks that the chip itself could not run: those whose encoding is not known.
	Strict bool
	// OneContainer makes the segments of all functions procedures of one container in the bundle, instead of a container each.
	OneContainer bool
	// Function is the one to compile; "" is all of them.
	Function string
	// Shapes are those of inputs that may have several, by function and input: others than the default ones.
	Shapes map[string]map[string][]int
	// Pass is told of every pass as it ends; nil is not.
	Pass func(PassReport)
}

// ErrNoMIL is the error about the MIL text of a model that is a graph of native layers.
var ErrNoMIL = errors.New("a graph of native layers has no operations of MIL: its layers are its text")

// A Program is a model that is compiled.
type Program struct {
	life    *lifetime // of the model
	result  *compiler.Result
	version string // of MIL, in which the model is written; "" of a graph
}

// Compile compiles a model that was read from a program, or a pipeline of such: for the default shapes of its inputs, or those
// of the options. The program is valid as long as the model is open: writing it afterwards gives ErrClosed. The functions of that of a pipeline
// are its stages.
func (m *Model) Compile(ctx context.Context, o CompileOptions) (p *Program, err error) {
	place, err := m.life.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.functions[0].path, err)
	}
	defer m.life.leave(place, &err)
	defer osfile.Protect().Catch(&err)
	job, err := m.job(o)
	if err != nil {
		return nil, err
	}
	var result *compiler.Result
	err = m.functions[0].config.Limits.compile(ctx, func(ctx context.Context) (err error) {
		result, err = compiler.Compile(ctx, job)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.functions[0].path, err)
	}
	p = &Program{life: m.life, result: result}
	if from := job.Functions[0].Program; from != nil {
		p.version = from.Version
	}
	return p, nil
}

// job is what the compiler takes of the model.
func (m *Model) job(o CompileOptions) (*compiler.Job, error) {
	config := m.functions[0].config
	config.Target = cmp.Or(o.Target, config.Target)
	target, err := config.target()
	if err != nil {
		return nil, err
	}
	numerics, err := config.engineProfile()
	if err != nil {
		return nil, err
	}
	job := &compiler.Job{Target: target, Numerics: string(numerics), Strict: o.Strict, OneContainer: o.OneContainer, Mutable: config.Mutable}
	for _, f := range m.functions {
		if o.Function != "" && f.Name() != o.Function {
			continue
		}
		entries, pipeline, err := f.entries()
		if err == nil && o.Shapes[f.Name()] != nil {
			err = f.chooseShapes(entries, o.Shapes[f.Name()])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		job.Pipeline, job.EngineOnly = pipeline, f.config.Units == EngineOnly
		job.Functions = append(job.Functions, entries...)
	}
	if len(job.Functions) == 0 {
		_, err := m.Function(o.Function)
		return nil, err
	}
	job.Trace = tracer(o.Pass)
	return job, nil
}

// entries are what the compiler takes of the function: of a pipeline, which is then the second result, its stages.
func (f *Function) entries() ([]compiler.Entry, *bundle.Pipeline, error) {
	if p, ok := f.runner.(*pipeline); ok {
		return p.entries()
	}
	e, err := f.entry()
	return []compiler.Entry{e}, nil, err
}

// entry is what the compiler takes of the function, for the default shapes of its inputs.
func (f *Function) entry() (compiler.Entry, error) {
	from, err := f.runner.source()
	if err != nil {
		return compiler.Entry{}, err
	}
	var shapes map[string][]int
	if from.function != nil {
		shapes = f.features.DefaultShapes(from.function)
	}
	for _, v := range from.openInputs() {
		if _, ok := shapes[v.Name]; !ok {
			return compiler.Entry{}, fmt.Errorf("input %q is a %v: the description has no default shape", v.Name, v.Type)
		}
	}
	features := manifestFunction(&f.features.FunctionDescription)
	return from.entry(shapes, features), nil
}

// chooseShapes makes the one entry of a function one for shapes of its inputs that are not the default ones.
func (f *Function) chooseShapes(entries []compiler.Entry, shapes map[string][]int) error {
	entry := &entries[0]
	for name, shape := range shapes {
		i := slices.IndexFunc(f.Inputs(), func(d coreml.Feature) bool { return d.Name == name })
		if i < 0 || len(entries) > 1 {
			return &InputError{Name: name, Err: fmt.Errorf("there is no such input to choose the shape of: expected %s", featureNames(f.Inputs()))}
		}
		array, ok := f.Inputs()[i].Type.(*coreml.ArrayType)
		if !ok || !array.Admits(shape) {
			return &InputError{Name: name, Err: fmt.Errorf("it cannot have the shape %v: it is %v", shape, f.Inputs()[i].Type)}
		}
		if entry.Function != nil && slices.ContainsFunc(entry.Function.OpenInputs(), func(v *mil.Value) bool { return v.Name == name }) {
			entry.Shapes = maps.Clone(entry.Shapes)
			entry.Shapes[name] = shape
		}
	}
	return nil
}

// PassInfo is a row of the compiler's table of passes.
type PassInfo struct {
	Name, Phase, Doc string
	After            []string // passes that must have run before
	Why              string   // why they must
}

// Passes lists the passes of the compiler in their order.
func Passes() []PassInfo {
	var list []PassInfo
	for _, p := range compiler.Passes() {
		list = append(list, PassInfo{p.Name, p.Phase.String(), p.Doc, p.After, p.Why})
	}
	return list
}

// Placement is where an operation of a program runs.
type Placement struct {
	Function  string
	Operation string // its name
	Kind      string // "conv"
	Backend   string // "engine", "host" or "boundary", a cast between features and engine
	Reason    string // of the host: why the engine does not take it
}

// Placements lists the operations of a program with the backends that run them, or the layers of a graph. Constants and what
// follows from them are not among them.
func (p *Program) Placements() []Placement {
	var list []Placement
	for _, f := range p.result.Functions {
		for _, l := range slices.Concat(f.Layers()...) {
			list = append(list, Placement{f.Name, l.Name, l.Kind.String(), compiler.OnEngine.String(), ""})
		}
		if f.Placement == nil {
			continue
		}
		for _, o := range f.Placement.Ops {
			list = append(list, Placement{f.Name, o.Op.Name(), o.Op.Kind, o.Backend.String(), o.Reason()})
		}
	}
	return list
}

// Segments counts the segments of a program.
func (p *Program) Segments() (n int) {
	for _, f := range p.result.Functions {
		n += len(f.Segments)
	}
	return n
}

// Tasks counts the tasks of all segments on the engine.
func (p *Program) Tasks() (n int) {
	for _, f := range p.result.Functions {
		n += f.Tasks()
	}
	return n
}

// A CompiledFunction is a function of a program.
type CompiledFunction struct {
	Name     string
	Segments []CompiledSegment // in the order in which they run
}

// A CompiledSegment is a run of operations on one backend.
type CompiledSegment struct {
	Name       string
	Backend    string    // "engine" or "host"
	Operations int       // of the model, or layers of a graph
	Tasks      int       // of the engine
	Container  *hwx.File // likewise, without the weights that are in a file of their own; nil on the host
	OnChip     *OnChip   // likewise; nil if no task uses memory on chip
}

// OnChip is how the tasks of a segment use the memory on chip that they share.
type OnChip struct {
	Bytes, Used int64
	Kept        int           // results that stay there for another task
	Picture     func() string // of it and of main memory over the tasks, as SVG
}

// Functions are the functions of a program, the default one first.
func (p *Program) Functions() []CompiledFunction {
	var list []CompiledFunction
	for _, f := range p.result.Functions {
		function := CompiledFunction{Name: f.Name}
		for i, s := range f.Segments {
			compiled := CompiledSegment{Backend: compiler.OnEngine.String()}
			if f.Placement != nil {
				part := f.Placement.Parts[i]
				compiled.Backend, compiled.Operations = part.Backend.String(), len(part.Ops)
			} else {
				compiled.Operations = len(f.Layers()[i])
			}
			if s == nil {
				compiled.Name = f.Hosts[i].Name
			} else {
				compiled.Name, compiled.Tasks, compiled.Container = s.Name, len(s.Tasks), s.File
				if used, kept := segment.OnChipUse(s); used > 0 {
					compiled.OnChip = &OnChip{int64(s.Target.Sizes.OnChip), used, kept, func() string { return segment.Picture(s) }}
				}
			}
			function.Segments = append(function.Segments, compiled)
		}
		list = append(list, function)
	}
	return list
}

// WriteMIL writes the functions of a program as MIL text, as they were placed: loops of a known length unrolled, and
// before each operation a comment that says where it runs and, of the host, why. A graph of native layers has no such text:
// ErrNoMIL.
func (p *Program) WriteMIL(w io.Writer) (err error) {
	place, err := p.life.enter(context.Background())
	if err != nil {
		return err
	}
	defer p.life.leave(place, &err)
	defer osfile.Protect().Catch(&err)
	if slices.ContainsFunc(p.result.Functions, func(f *compiler.Function) bool { return f.Placement == nil }) {
		return ErrNoMIL
	}
	text := &mil.Program{Version: p.version}
	places := map[*mil.Operation]*compiler.Placed{}
	top := map[*mil.Operation]bool{}
	for _, f := range p.result.Functions {
		text.Functions = append(text.Functions, f.Placement.Function)
		for _, o := range f.Placement.Ops {
			places[o.Op] = o
		}
		for _, op := range f.Placement.Function.Body.Operations {
			top[op] = true
		}
	}
	return mil.WriteAnnotated(w, text, func(op *mil.Operation) string {
		switch o := places[op]; {
		case o != nil && o.Reason() != "":
			return fmt.Sprintf("%v: %s", o.Backend, o.Reason())
		case o != nil:
			return o.Backend.String()
		case op.Kind == "const" || !top[op]: // one in a block runs where the block does
			return ""
		}
		return "nowhere: it follows from constants, or nothing needs it"
	})
}

// WriteBundle writes a folder with everything that running the program takes, and returns its ID. It replaces a bundle,
// and refuses anything else that is there. When the context ends before it is done, nothing is left behind.
func (p *Program) WriteBundle(ctx context.Context, dir string) (id string, err error) {
	place, err := p.life.enter(ctx)
	if err != nil {
		return "", err
	}
	defer p.life.leave(place, &err)
	defer osfile.Protect().Catch(&err)
	content := p.result.Bundle.Content()
	for _, blobs := range [][]bundle.Blob{content.Containers, content.Weights} {
		for i, b := range blobs {
			blobs[i].Write = func(w io.Writer) error { return b.Write(stoppable{ctx, w}) }
		}
	}
	return bundle.Write(dir, content)
}

// stoppable is a writer that refuses to go on when the context has ended.
type stoppable struct {
	ctx context.Context
	w   io.Writer
}

func (s stoppable) Write(data []byte) (n int, err error) {
	const piece = 1 << 20 // weights come in one call
	for {
		if err := s.ctx.Err(); err != nil {
			return n, err
		}
		wrote, err := s.w.Write(data[:min(len(data), piece)])
		n, data = n+wrote, data[wrote:]
		if err != nil || len(data) == 0 {
			return n, err
		}
	}
}

// WriteContainer writes one hardware container of a program of which each function is a single segment on the engine: each is a
// procedure of it, and what they share of weights is there once. It replaces a container, and refuses anything else that is there. When the context ends before it is done, nothing is left behind.
func (p *Program) WriteContainer(ctx context.Context, path string) (err error) {
	if old, err := os.Lstat(path); err == nil && (!old.Mode().IsRegular() || !hwx.IsContainerFile(path)) {
		return fmt.Errorf("%s is there already and is no hardware container: it is left as it is", path)
	}
	return osfile.WriteAtomic(path, func(w io.Writer) error { return p.WriteContainerTo(ctx, w) })
}

// WriteContainerTo is WriteContainer to a writer.
func (p *Program) WriteContainerTo(ctx context.Context, w io.Writer) (err error) {
	place, err := p.life.enter(ctx)
	if err != nil {
		return err
	}
	defer p.life.leave(place, &err)
	defer osfile.Protect().Catch(&err)
	functions, err := p.oneSegmentEach()
	if err != nil {
		return err
	}
	file, err := compiler.LinkContainer(functions)
	if err != nil {
		return err
	}
	_, err = file.WriteTo(stoppable{ctx, w})
	return err
}
