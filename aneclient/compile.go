package aneclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
)

// An object is a compiled model: what is given to the driver.
type object struct {
	bundle     *bundle.Bundle
	containers []objectContainer
	procedures []objectProcedure
	numerics   *hal.Numerics
	graphs     []*anec.Graph // before any pass; nil if it was compiled before
	log        []string
	close      func() error // of what it was compiled from
}

// An objectContainer is a container of the bundle: one, unless others than this package have made it.
type objectContainer struct {
	path       string
	data       []byte
	weights    []byte // of its external section
	procedures []*hwx.Procedure
}

// An objectProcedure is a function of a model: one segment on the engine.
type objectProcedure struct {
	name      string
	container int // where it is
	index     int // there
	info      *hwx.ProcedureInfo
}

// errHost refuses a model that is more than programs of the engine.
var errHost = errors.New("a request is one program on the engine; the packages espalier and e5rt run the others")

// compileProgram compiles the functions of a program.
func compileProgram(ctx context.Context, t *hal.Target, p *mil.Program, shapes func(*mil.Function) map[string][]int, o Options) (*object, error) {
	job := &compiler.Job{Target: t, Program: p}
	for _, f := range p.Functions {
		described, err := describe(f)
		if err != nil {
			return nil, ErrCompile.because(err)
		}
		e := compiler.Entry{Function: f, Features: described}
		if shapes != nil {
			e.Shapes = shapes(f)
		}
		job.Functions = append(job.Functions, e)
	}
	return compileJob(ctx, job, o)
}

// compileGraphs compiles a network description or another file of graphs.
func compileGraphs(ctx context.Context, t *hal.Target, path string, o Options) (*object, error) {
	file, err := graphfile.OpenCopy(path)
	if err != nil {
		return nil, ErrEspresso.because(err)
	}
	job := &compiler.Job{Target: t}
	var weights []compiler.WeightFile
	for _, name := range file.Names() {
		data, err := file.Bytes(name)
		if err != nil {
			return nil, ErrEspresso.because(errors.Join(err, file.Close()))
		}
		weights = append(weights, compiler.WeightFile{Path: name, Data: data})
	}
	for _, p := range file.Procedures {
		job.Functions = append(job.Functions, compiler.Entry{Graph: p.Graph, Weights: weights})
	}
	made, err := compileJob(ctx, job, o)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	made.close = file.Close
	return made, nil
}

// compileModel compiles a model file that package coreml reads.
func compileModel(ctx context.Context, t *hal.Target, path string, o Options) (*object, error) {
	m, err := coreml.OpenCopy(path)
	if err != nil {
		return nil, ErrInvalidModel.because(err)
	}
	p, err := m.Program()
	if err == nil {
		err = m.LoadWeights(ctx)
	}
	if err != nil {
		return nil, ErrInvalidModel.because(errors.Join(err, m.Close()))
	}
	made, err := compileProgram(ctx, t, p, func(f *mil.Function) map[string][]int {
		if d := m.Description.Function(f.Name); d != nil {
			return d.DefaultShapes(f)
		}
		return nil
	}, o)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	made.close = m.Close
	return made, nil
}

func compileJob(ctx context.Context, job *compiler.Job, o Options) (*object, error) {
	job.EngineOnly, job.OneContainer, job.Strict, job.Numerics, job.Variant = true, true, o.Strict, o.Numerics, true
	made := &object{}
	if o.DebugMask != 0 {
		job.Trace = func(p *compiler.Pass, s *segment.Segment, took time.Duration) {
			made.log = append(made.log, fmt.Sprintf("%v %s: %d layers, %d tasks, %v", p.Phase, p.Name, len(s.Graph.Layers), len(s.Tasks), took))
		}
	}
	result, err := compiler.Compile(ctx, job)
	if err != nil {
		return nil, ErrCompile.because(err)
	}
	made.bundle = result.Bundle
	for _, f := range result.Functions {
		made.graphs = append(made.graphs, f.Lowered...)
	}
	return made, made.read()
}

// openObject opens a bundle.
func openObject(ctx context.Context, dir string) (*object, error) {
	b, err := bundle.OpenCopy(ctx, dir)
	if err != nil {
		return nil, ErrInvalidModel.because(err)
	}
	made := &object{bundle: b}
	return made, made.read()
}

// read finds the procedures of a bundle.
func (o *object) read() error {
	m := o.bundle.Manifest
	if m.Numerics != m.Target {
		n, err := hal.ParseNumerics(m.Numerics)
		if err != nil {
			return ErrInvalidModel.because(err)
		}
		o.numerics = &n
	}
	for _, f := range m.Functions {
		if len(f.Segments) != 1 || f.Segments[0].Backend != bundle.Engine {
			return ErrCompile.saying("function %q has %d segments: %w", f.Name, len(f.Segments), errHost)
		}
		s := f.Segments[0]
		p := objectProcedure{name: f.Name}
		var err error
		if p.container, err = o.container(s); err != nil {
			return err
		}
		list := o.containers[p.container].procedures
		if p.index = slices.IndexFunc(list, func(p *hwx.Procedure) bool { return p.Name == s.Procedure }); p.index < 0 {
			return ErrInvalidModel.saying("%s has no procedure %q", s.Container, s.Procedure)
		}
		if p.info, err = list[p.index].Info(); err != nil {
			return ErrInvalidModel.because(err)
		}
		o.procedures = append(o.procedures, p)
	}
	return nil
}

// container finds the container of a segment among those that are known, or adds it.
func (o *object) container(s bundle.Segment) (int, error) {
	if i := slices.IndexFunc(o.containers, func(c objectContainer) bool { return c.path == s.Container }); i >= 0 {
		return i, nil
	}
	file := o.bundle.Container(s.Container)
	made := objectContainer{path: s.Container}
	var err error
	if made.data, err = file.Encode(); err != nil {
		return 0, ErrInvalidModel.because(err)
	}
	if made.procedures, err = file.Procedures(); err != nil {
		return 0, ErrInvalidModel.because(err)
	}
	if s.Weights != "" {
		made.weights = o.bundle.Bytes(s.Weights)
	}
	o.containers = append(o.containers, made)
	return len(o.containers) - 1, nil
}

// free releases what the object is made of.
func (o *object) free() error {
	err := o.bundle.Close()
	if o.close != nil {
		err = errors.Join(err, o.close())
	}
	return err
}

// describe is what a bundle says of a function, from the types that it has.
func describe(f *mil.Function) (d bundle.Function, err error) {
	d.Name = f.Name
	feature := func(v *mil.Value) bundle.Feature {
		kind, t := "array", v.Type
		if s, ok := t.(*mil.StateType); ok {
			kind, t = "state", s.Elem
		}
		of, ok := t.(*mil.TensorType)
		if !ok {
			err = fmt.Errorf("%q is a %v, which no surface can hold", v.Name, v.Type)
			return bundle.Feature{}
		}
		a := &bundle.Array{Type: of.DType.String()}
		a.Shape, _ = of.Shape.Ints()
		return bundle.Feature{Name: v.Name, Kind: kind, Array: a}
	}
	for _, in := range f.Inputs {
		if made := feature(in); made.Kind == "state" {
			d.States = append(d.States, made)
		} else {
			d.Inputs = append(d.Inputs, made)
		}
	}
	for _, out := range f.Body.Outputs {
		d.Outputs = append(d.Outputs, feature(out))
	}
	return d, err
}
