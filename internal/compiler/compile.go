package compiler

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"unsafe"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
)

// A Job is what Compile takes: functions of a program and graphs, for a target.
type Job struct {
	Target    *hal.Target
	Program   *mil.Program // of the functions that have none of their own; nil if all are graphs
	Functions []Entry

	// Pipeline is what the manifest says of functions that run one after the other; nil if each is called by itself.
	Pipeline *bundle.Pipeline

	// EngineOnly refuses a program of which the host would have to run an operation.
	EngineOnly bool

	// Variant leaves the whole function of one that takes other shapes too out of the host program: who asks for the bundle has
	// it.
	Variant bool

	// OneContainer makes the segments of all functions procedures of one container, instead of a container each.
	OneContainer bool

	// Strict refuses a program with tasks that the chip itself could not run: a *StrictError.
	Strict bool

	// Numerics is the profile that the manifest names, "h13,saturate-at-port=0"; "" is the target's.
	Numerics string

	// Mutable names the constants that may change when the bundle is compiled; AllWeights is all of them. No pass computes with
	// their elements, and the manifest says where they lie.
	Mutable []string

	Trace Trace // nil: none

	// Seed is for tests: not 0, it shuffles what no result may depend on.
	Seed uint64
}

// An Entry is a function that the bundle shall have: one of a program, or a graph of native layers.
type Entry struct {
	Function *mil.Function
	Program  *mil.Program     // that the function is of; nil: the job's
	Shapes   map[string][]int // of the inputs that are flexible

	// Graph stands instead of Function, and stays as it is. Weights are the files that its constants lie in: tasks read one of
	// them in place.
	Graph   *anec.Graph
	Weights []WeightFile

	// Features is what the manifest says of it. Name and Segments are filled in, and of a graph inputs, outputs and states:
	// its ports.
	Features bundle.Function
}

// A WeightFile is one that constants of a graph lie in.
type WeightFile struct {
	Path string // as the graph spells it
	Data []byte

	// Identity is what the file is known by without reading it; nil if there is nothing.
	Identity func() (id osfile.Identity, ok bool)
}

// A Result is a compiled job.
type Result struct {
	Functions []*Function
	Bundle    *bundle.Bundle
	Host      *mil.Program // the host program of the bundle; nil if it has none
}

// A Function is a function that is compiled.
type Function struct {
	Name      string
	Placement *Placement         // nil if it is a graph
	Segments  []*segment.Segment // one for each part of the placement or graph; nil for those of the host
	Hosts     []*mil.Function    // likewise; nil for those of the engine

	// Lowered are the layers of the segments before any pass, with the names of the ports; nil for those of the host.
	Lowered []*anec.Graph

	graph   *graphFunction         // nil if it is of a program
	mutable []bundle.MutableWeight // as the manifest has them
}

// Tasks counts the tasks of all segments.
func (f *Function) Tasks() int {
	n := 0
	for _, s := range f.Segments {
		if s != nil {
			n += len(s.Tasks)
		}
	}
	return n
}

// A PlacedLayer is a layer of a graph.
type PlacedLayer struct {
	Name string
	Kind anec.Kind
}

// Layers are the layers of a graph by segment, as they were given; nil if the function is of a program.
func (f *Function) Layers() [][]PlacedLayer {
	if f.graph == nil {
		return nil
	}
	list := make([][]PlacedLayer, len(f.graph.parts))
	for i, part := range f.graph.parts {
		for _, l := range part.layers {
			list[i] = append(list[i], PlacedLayer{l.Name, l.Kind()})
		}
	}
	return list
}

// Compile compiles the functions of a job. Errors are about all functions and operations at once.
func Compile(ctx context.Context, job *Job) (*Result, error) {
	files, err := job.weightFiles()
	if err != nil {
		return nil, err
	}
	var compiled []*Function
	var wrong []error
	for i, e := range job.Functions {
		f, err := job.mutableFunction(ctx, e, files[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		compiled, wrong = append(compiled, f), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if err := job.checkMutable(compiled); err != nil {
		return nil, err
	}
	return job.link(ctx, compiled, files)
}

// function compiles one function, on what takes it.
func (job *Job) function(ctx context.Context, e Entry, weights *WeightFile) (*Function, error) {
	if e.Graph != nil {
		return job.graphFunction(ctx, e.Graph, weights)
	}
	source, err := ops.Unroll(e.Function, e.Shapes)
	if err != nil {
		return nil, err
	}
	x, err := Examine(source, e.Shapes)
	if err != nil {
		return nil, err
	}
	if x.AbsentWeights {
		return nil, fmt.Errorf("function %s: %w", source.Name, errAbsentWeights)
	}
	var f *Function
	_, err = x.placeUntilTaken(job.Target, anec.Converted, func(p *Placement) (err error) {
		if err = job.checkPlacement(p); err == nil {
			f, err = job.compileParts(ctx, p, weights)
		}
		return err
	})
	return f, err
}

// checkPlacement lists the operations of the host where there may be none.
func (job *Job) checkPlacement(p *Placement) error {
	if !job.EngineOnly {
		return nil
	}
	var wrong []error
	for _, o := range p.Ops {
		if o.Backend == OnHost {
			wrong = append(wrong, &ops.Error{Function: p.Function.Name, Op: o.Op, Err: fmt.Errorf("the engine does not run it: %s", o.Reason())})
		}
	}
	return errors.Join(wrong...)
}

func (job *Job) compileParts(ctx context.Context, p *Placement, weights *WeightFile) (*Function, error) {
	f := &Function{Name: p.Function.Name, Placement: p}
	symbols := newSymbols(p)
	var parts []*Part
	var wrong []error
	for i, part := range p.Parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s_%d", f.Name, i)
		if part.Backend == OnHost {
			f.add(nil, p.hostFunction(name, part))
			parts = append(parts, part)
			continue
		}
		g, err := p.graph(name, part, symbols)
		if err != nil {
			return nil, err
		}
		s := job.newSegment(name, g)
		for _, v := range part.Outputs {
			s.Outputs = append(s.Outputs, symbols.engine(v))
		}
		if weights != nil {
			s.Weights = weights.Data
		}
		lowered := loweredGraph(s, weights)
		if err := job.run(ctx, s); err != nil {
			wrong = append(wrong, err)
		}
		if len(s.Tasks) == 0 {
			continue // a state that is given the value that it has
		}
		f.add(s, nil)
		f.Lowered[len(f.Lowered)-1] = lowered
		parts = append(parts, part)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	p.Parts = parts
	return f, nil
}

func (job *Job) newSegment(name string, g *anec.Graph) *segment.Segment {
	asked, own := job.numerics(), job.Target.Numerics
	return &segment.Segment{
		Name: name, Target: job.Target, Graph: g, Strict: job.Strict,
		ExactFunctions: own.TableFromKnots && !asked.TableFromKnots, // native tasks have nothing but the table
		OtherCrops:     asked.WidthSliceGain != own.WidthSliceGain,  // native tasks have the target's gain
	}
}

// add adds a segment of the engine, or of the host.
func (f *Function) add(s *segment.Segment, host *mil.Function) {
	f.Segments, f.Hosts, f.Lowered = append(f.Segments, s), append(f.Hosts, host), append(f.Lowered, nil)
}

// loweredGraph is the graph of a segment as it stands, whose outputs have the names of their ports. A value of which there are
// several ports is copied to those that come later: a graph has one port for it. Constants know their place in the weight file.
func loweredGraph(s *segment.Segment, weights *WeightFile) *anec.Graph {
	g := s.Graph.Clone()
	for _, v := range g.Values {
		if v.Const == nil || weights == nil {
			continue
		}
		start, size := v.Const.Stored.Memory()
		if at, ok := offsetIn(weights.Data, unsafe.Slice(start, size)); ok {
			placed := *v.Const
			placed.Source = anec.Source{File: path.Base(weights.Path), Offset: at}
			v.Const = &placed
		}
	}
	for i, v := range g.Outputs {
		port := s.OutputName(i)
		again := slices.Contains(g.Outputs[:i], v)
		if v.Name == port || v.Def == nil && !again {
			continue
		}
		if other := g.Value(port); other != nil && (other.Def == nil || g.IsOutput(other)) {
			continue // then the port has the value's name
		} else if other != nil {
			g.Rename(other, g.FreshName(port))
		}
		if !again {
			g.Rename(v, port)
			continue
		}
		if l, err := g.Add(anec.Spec{Name: port, Params: anec.NewParams(anec.KindCopy), Bottoms: []*anec.Value{v}, Tops: []string{port}}); err == nil {
			g.Outputs[i] = l.Top()
		}
	}
	return g
}

// numerics is the profile that a job asks for, and else its target's own. One that cannot be read is refused elsewhere.
func (job *Job) numerics() hal.Numerics {
	if job.Numerics != "" {
		if n, err := hal.ParseNumerics(job.Numerics); err == nil {
			return n
		}
	}
	return job.Target.Numerics
}
