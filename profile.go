package espalier

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/build"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/trace"
)

// A Profile sums up where the time of predictions goes: segments and tasks. The zero Profile is ready to use, and safe for
// concurrent use.
//
//	var p espalier.Profile
//	out, err := m.Predict(p.Watch(ctx), inputs)
//	for _, s := range m.Functions()[0].Profile(&p) { … }
type Profile struct{ times trace.Times }

// Watch makes predictions with the context add to the profile.
func (p *Profile) Watch(ctx context.Context) context.Context { return trace.With(ctx, &p.times) }

// Record makes the profile keep the timeline from now on: when each phase of the compiler, load, dispatch and task began and
// ended. It takes memory for each.
func (p *Profile) Record() { p.times.Record() }

// Mark adds something of the caller's to the timeline, that ends now.
func (p *Profile) Mark(what string, began time.Time) {
	p.times.Add(trace.Label{Category: "caller", Name: what}, began, time.Now())
}

// WriteTimeline writes what was recorded as trace events in JSON, for Perfetto (ui.perfetto.dev) and the tracing page of Chrome.
func (p *Profile) WriteTimeline(w io.Writer) error { return p.times.WriteTimeline(w, "espalier") }

// Compiled and Loaded are the time that functions took to be compiled, and their programs to be loaded, because shapes of inputs
// came for the first time.
func (p *Profile) Compiled() e5rt.Spent { return e5rt.Spent(p.times.Sum(compiling, 0)) }

// Loaded: see Compiled.
func (p *Profile) Loaded() e5rt.Spent { return e5rt.Spent(p.times.Sum(loading, 0)) }

// Fetched is the time that functions took which were compiled before to be taken from the cache: see Config.Cache.
func (p *Profile) Fetched() e5rt.Spent { return e5rt.Spent(p.times.Sum(fetching, 0)) }

// A stage is what comes before a function can run, or that it does.
type stage int

const (
	compiling stage = iota
	loading
	fetching
	predicting
)

func (s stage) String() string { return [...]string{"compile", "load", "fetch", predictCategory}[s] }

// Label says what a stage is, for a timeline.
func (s stage) Label(int) trace.Label { return trace.Label{Category: s.String(), Name: s.String()} }

// traced makes passes of the compiler part of the timeline, beside what else is told of them.
func traced(times *trace.Times, tell func(*compiler.Pass, *segment.Segment, time.Duration)) func(*compiler.Pass, *segment.Segment, time.Duration) {
	if times == nil {
		return tell
	}
	return func(p *compiler.Pass, s *segment.Segment, took time.Duration) {
		ended := time.Now()
		times.Add(trace.Label{Category: "compile", Name: p.Name, Args: []trace.Arg{{Name: "phase", Value: p.Phase.String()}, {Name: "segment", Value: s.Name}}}, ended.Add(-took), ended)
		if tell != nil {
			tell(p, s, took)
		}
	}
}

// A StepProfile is what a step of a function took: a segment on the engine or on the host, or a cast between them.
type StepProfile struct {
	e5rt.StepProfile
	Operations []string // of the model, that a segment of the host has; nil if that is not known
	Tasks      []TaskProfile
}

// A TaskProfile is what a task of the engine took.
type TaskProfile struct {
	e5rt.TaskProfile
	Operations []string // of the model, that the task computes; nil if that is not known, as of a bundle
}

// Profile returns what the steps of the function took in all predictions that p has watched, in the order in which they run.
// What the host evaluates by itself (CPUOnly) has none.
func (f *Function) Profile(p *Profile) []StepProfile { return f.runner.profile(&p.times) }

func (c *compiled) profile(p *trace.Times) []StepProfile {
	var list []StepProfile
	for _, s := range c.function.Profile(p) {
		if s.Runs == 0 {
			continue
		}
		step := StepProfile{StepProfile: s}
		var from build.Origins
		if s.Segment >= 0 && s.Segment < len(c.origins) {
			from = c.origins[s.Segment]
		}
		step.Operations = from.Host
		for _, t := range s.Tasks {
			task := TaskProfile{TaskProfile: t}
			if t.Index < len(from.Tasks) {
				task.Operations = from.Tasks[t.Index]
			}
			step.Tasks = append(step.Tasks, task)
		}
		list = append(list, step)
	}
	return list
}

func (v *variants) profile(p *trace.Times) []StepProfile {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []StepProfile
	for _, key := range slices.Sorted(maps.Keys(v.byShape)) {
		one := v.byShape[key]
		select {
		case <-one.ready:
			if one.compiled != nil {
				list = append(list, one.compiled.profile(p)...)
			}
		default: // somebody compiles it
		}
	}
	return list
}

func (p *pipeline) profile(of *trace.Times) []StepProfile {
	var list []StepProfile
	for _, stage := range p.stages {
		list = append(list, stage.runner.profile(of)...)
	}
	return list
}

func (e *evaluator) profile(*trace.Times) []StepProfile { return nil }
