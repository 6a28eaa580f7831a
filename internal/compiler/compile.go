package compiler

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// A Job is what Compile takes: functions of a program, for a target.
type Job struct {
	Target    *hal.Target
	Program   *mil.Program
	Functions []Entry

	// EngineOnly refuses a program of which the host would have to run an operation.
	EngineOnly bool

	Trace Trace // nil: none

	// Seed is for tests: not 0, it shuffles what no result may depend on.
	Seed uint64
}

// An Entry is a function that the bundle shall have.
type Entry struct {
	Function *mil.Function
	Shapes   map[string][]int // of the inputs that are flexible
	Features bundle.Function  // what the manifest says of it; Name and Segments are filled in
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
	Placement *Placement
	Segments  []*Segment      // one for each part of the placement; nil for those of the host
	Hosts     []*mil.Function // likewise; nil for those of the engine
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

// Compile compiles the functions of a job. Errors are about all functions and operations at once.
func Compile(ctx context.Context, job *Job) (*Result, error) {
	weights, err := weightFile(job.Program)
	if err != nil {
		return nil, err
	}
	var compiled []*Function
	var wrong []error
	for _, e := range job.Functions {
		f, err := job.function(ctx, e, weights)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		compiled, wrong = append(compiled, f), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return job.link(compiled, weights)
}

// function compiles one function. An operation whose layers a later pass refuses goes to the host, as one that was not
// lowered does; then the function is placed anew.
func (job *Job) function(ctx context.Context, e Entry, weights *weights) (*Function, error) {
	source, err := ops.Unroll(e.Function, e.Shapes)
	if err != nil {
		return nil, err
	}
	refused := map[string]string{} // by operation
	for {
		p, err := place(source, e.Shapes, job.Target, refused)
		if err != nil {
			return nil, err
		}
		if err := job.checkPlacement(p); err != nil {
			return nil, err
		}
		f, err := job.compileParts(ctx, p, weights)
		if layer, ok := errors.AsType[*anec.LayerError](err); ok && refuse(refused, layer) {
			continue
		}
		return f, err
	}
}

// refuse notes the operations that a refused layer stands for; false if there is none that is new.
func refuse(refused map[string]string, e *anec.LayerError) bool {
	added := false
	for _, op := range e.Origin {
		if _, ok := refused[op]; !ok {
			refused[op] = e.Err.Error()
			added = true
		}
	}
	return added
}

// checkPlacement lists the operations of the host where there may be none.
func (job *Job) checkPlacement(p *Placement) error {
	if !job.EngineOnly {
		return nil
	}
	var wrong []error
	for _, o := range p.Ops {
		if o.Backend == OnHost {
			wrong = append(wrong, &ops.Error{Function: p.Function.Name, Op: o.Op, Err: fmt.Errorf("the engine does not run it: %s", o.Reason)})
		}
	}
	return errors.Join(wrong...)
}

func (job *Job) compileParts(ctx context.Context, p *Placement, weights *weights) (*Function, error) {
	f := &Function{
		Name: p.Function.Name, Placement: p,
		Segments: make([]*Segment, len(p.Parts)), Hosts: make([]*mil.Function, len(p.Parts)),
	}
	symbols := newSymbols(p)
	for i, part := range p.Parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s_%d", f.Name, i)
		if part.Backend == OnHost {
			f.Hosts[i] = p.hostFunction(name, part)
			continue
		}
		g, err := p.graph(name, part, symbols)
		if err != nil {
			return nil, err
		}
		s := &Segment{Name: name, Target: job.Target, Graph: g}
		for _, v := range part.Outputs {
			s.Outputs = append(s.Outputs, symbols.engine(v))
		}
		if weights != nil {
			s.Weights = weights.data
		}
		if err := job.run(s); err != nil {
			return nil, err
		}
		f.Segments[i] = s
	}
	return f, nil
}

// weights is the weight file that tasks read in place.
type weights struct {
	path string // as the program spells it
	data []byte
}

// weightFile returns the largest weight file of a program; nil if it has none. Constants of others are copied.
func weightFile(p *mil.Program) (*weights, error) {
	var largest *weights
	var failed error
	seen := map[string]bool{}
	look := func(c *mil.Constant) {
		if c.File == nil || c.File.Files == nil || seen[c.File.Path] || failed != nil {
			return
		}
		seen[c.File.Path] = true
		data, err := c.File.Files.Bytes(c.File.Path)
		if failed = err; err == nil && (largest == nil || len(data) > len(largest.data)) {
			largest = &weights{c.File.Path, data}
		}
	}
	for _, f := range p.Functions {
		f.Body.Walk(func(op *mil.Operation) { visitConstants(op, look) })
	}
	return largest, failed
}

// usesWeights reports whether tasks read the weight file.
func (s *Segment) usesWeights() bool {
	for _, p := range s.Plan.Places {
		if p.Region == InWeights {
			return true
		}
	}
	return false
}

// symbols are the names that values have in the descriptor. A feature has its own name on the host and another on the engine's
// side of the cast that stands between.
type symbols struct {
	place *Placement
	ends  map[*mil.Value]string // of inputs and outputs of the function, on the engine's side
}

// engineSuffix marks the engine's side of a feature.
const engineSuffix = "__engine"

func newSymbols(p *Placement) *symbols {
	s := &symbols{place: p, ends: map[*mil.Value]string{}}
	names := map[string]bool{}
	for _, v := range p.Function.Inputs {
		names[v.Name] = true
	}
	for _, op := range p.Function.Body.Operations {
		for _, v := range op.Outputs {
			names[v.Name] = true
		}
	}
	add := func(v *mil.Value) {
		if _, ok := v.Type.(*mil.TensorType); !ok || s.ends[v] != "" {
			return
		}
		name := v.Name + engineSuffix
		for names[name] {
			name = strings.TrimSuffix(name, engineSuffix) + "_" + engineSuffix
		}
		names[name] = true
		s.ends[v] = name
	}
	for _, v := range p.Function.Inputs {
		add(v)
	}
	for _, v := range p.Function.Body.Outputs {
		add(v)
	}
	return s
}

// engine is the name of a value on the engine's side.
func (s *symbols) engine(v *mil.Value) string {
	if name := s.ends[v]; name != "" {
		return name
	}
	return v.Name
}
