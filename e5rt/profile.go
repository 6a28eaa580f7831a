package e5rt

import (
	"context"
	"slices"
	"time"

	"github.com/espalier-ane/espalier/internal/trace"
)

// A Profile sums up where the time of runs goes. The zero Profile is ready to use, and safe for concurrent use.
type Profile struct{ times trace.Times }

// Watch makes runs with the context add to the profile.
func (p *Profile) Watch(ctx context.Context) context.Context { return trace.With(ctx, &p.times) }

// Spent is the time of something in all runs that were watched.
type Spent struct {
	Runs        int
	Total, Best time.Duration
}

// A StepProfile is what a step of a function took. Steps that only give a buffer another name are none.
type StepProfile struct {
	Name    string // of the segment's procedure or of the host's function; of a cast, of the operation in the descriptor
	Backend string // "engine", "host" or "cast"
	Segment int    // of the function, by the manifest; -1 for a cast
	Spent
	Tasks []TaskProfile // of the engine
}

// A TaskProfile is what a task took, from its start to its end on all threads.
type TaskProfile struct {
	Index  int    // in the container
	What   string // "Conv 3×3"
	Result string // type and extents of its result

	// FLOPs and Bytes are the work of one run: additions and multiplications, and the bytes of all operands, each once.
	FLOPs, Bytes float64
	Spent
}

// Profile returns what the steps of the function took, in order, of all runs that p has watched.
func (f *Function) Profile(p *Profile) []StepProfile {
	var list []StepProfile
	segments := f.library.bundle.Manifest.Functions[slices.Index(f.library.functions, f)].Segments
	segment := 0
	for i, s := range f.steps {
		step := StepProfile{Name: s.operation, Backend: "cast", Segment: -1, Spent: Spent(p.times.Sum(f, i))}
		if _, isCast := s.do.(castStep); !isCast {
			of := &segments[segment]
			step.Name, step.Backend, step.Segment = of.Procedure+of.Function, of.Backend, segment // it has one of both
			segment++
		}
		if do, ok := s.do.(*engineStep); ok {
			for k, t := range do.program.Tasks() {
				step.Tasks = append(step.Tasks, TaskProfile{
					Index: t.Index, What: t.What, Result: t.Result, FLOPs: t.FLOPs, Bytes: t.Bytes, Spent: Spent(p.times.Sum(do.program, k)),
				})
			}
		}
		list = append(list, step)
	}
	return list
}
