package e5rt

import (
	"time"

	"github.com/espalier-ane/espalier/internal/trace"
)

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
	Tasks  []TaskProfile // of the engine
	Memory Memory        // likewise
}

// Memory is what a segment on the engine needs beside its ports, in bytes.
type Memory struct {
	Weights int64 // constants as they are stored; those of a file that an earlier segment reads too are counted there
	Packed  int64 // what is made of them when the program is loaded
	Scratch int64 // of each run under way
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

// Label says what a step is, for a timeline: an engine segment is a dispatch.
func (f *Function) Label(i int) trace.Label {
	s := &f.steps[i]
	segment := 0
	for _, before := range f.steps[:i] {
		if _, isCast := before.do.(*castStep); !isCast {
			segment++
		}
	}
	of := f.library.manifest(f).Segments
	switch do := s.do.(type) {
	case *engineStep:
		return trace.Label{Category: "dispatch", Name: of[segment].Procedure, Args: []trace.Arg{{Name: "tasks", Value: len(do.program.Tasks())}}}
	case *hostStep:
		return trace.Label{Category: "host", Name: of[segment].Function}
	case *castStep:
		return trace.Label{Category: "cast", Name: f.slots[do.from].symbol + " to " + f.slots[do.to].symbol, Args: []trace.Arg{{Name: "bytes", Value: f.slots[do.from].size}}}
	}
	panic("bug: a step of no kind")
}

// Profile returns what the steps of the function took, in order, of all runs that added to the times.
func (f *Function) Profile(times *trace.Times) []StepProfile {
	var list []StepProfile
	counted := map[string]bool{"": true}
	segments := f.library.manifest(f).Segments
	segment := 0
	for i, s := range f.steps {
		step := StepProfile{Name: s.operation, Backend: "cast", Segment: -1, Spent: Spent(times.Sum(f, i))}
		if _, isCast := s.do.(*castStep); !isCast {
			of := &segments[segment]
			step.Name, step.Backend, step.Segment = of.Procedure+of.Function, of.Backend, segment // it has one of both
			segment++
		}
		if do, ok := s.do.(*engineStep); ok {
			own, external, packed, scratch := do.program.Bytes()
			if file := segments[step.Segment].Weights; !counted[file] {
				counted[file] = true
				own += external
			}
			step.Memory = Memory{own, packed, scratch}
			for k, t := range do.program.Tasks() {
				step.Tasks = append(step.Tasks, TaskProfile{
					Index: t.Index, What: t.What, Result: t.Result, FLOPs: t.FLOPs, Bytes: t.Bytes, Spent: Spent(times.Sum(do.program, k)),
				})
			}
		}
		list = append(list, step)
	}
	return list
}
