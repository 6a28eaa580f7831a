package espalier

import (
	"context"
	"fmt"
	"time"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/trace"
	"github.com/espalier-ane/espalier/tensor"
)

// Stages are where the time of one prediction goes, as the execution model cuts it (its Table 2.3):
//
//	├─ bind ─┤─ request ─┤─ kick ─┤──── engine ────┤─ completion ─┤─ bind ─┤
//	           a dispatch          its tasks
//
// A prediction with several dispatches has the sums. Compiling, what the cache takes instead, and loading are in none of them.
type Stages struct {
	Bind       time.Duration // what the caller gave is bound and checked; inputs and outputs are copied and converted
	Request    time.Duration // the ports are bound and the program is begun
	Kick       time.Duration // until the goroutine of a stream has it; 0 of a prediction that runs on the caller's
	Engine     time.Duration // from the first task of a dispatch to the end of the last: the round trip
	Completion time.Duration // until who waits knows
	Host       time.Duration // segments of the host
	Total      time.Duration
	Dispatches int
}

// Stages returns those of each prediction that was recorded, in order. It is not for predictions that ran at the same time.
func (p *Profile) Stages() []Stages {
	spans, _ := p.times.Spans()
	var list []Stages
	for len(spans) > 0 {
		n := 1
		for n < len(spans) && spans[n].Category != predictCategory {
			n++
		}
		if spans[0].Category == predictCategory { // not what came before the first
			list = append(list, stagesOf(spans[0], spans[1:n]))
		}
		spans = spans[n:]
	}
	return list
}

// stagesOf cuts a prediction by what was recorded in it.
func stagesOf(whole trace.Span, parts []trace.Span) Stages {
	s := Stages{Total: whole.End.Sub(whole.Begin)}
	var worked time.Time // the end of the last step
	for i, part := range parts {
		took := part.End.Sub(part.Begin)
		switch part.Category {
		case compiling.String(), loading.String(), fetching.String():
			if part.Name == part.Category { // not one of its phases
				s.Total -= took
			}
		case "queue":
			s.Kick += took
		case "host":
			s.Host += took
		case "dispatch":
			s.Dispatches++
			first, last := part.End, part.End
			for k, task := range parts[i+1:] {
				if task.Category != "task" || task.Begin.After(part.End) {
					break
				}
				if k == 0 {
					first = task.Begin
				}
				last = task.End
			}
			s.Request += first.Sub(part.Begin)
			s.Engine += last.Sub(first)
			s.Completion += part.End.Sub(last)
		case completionCategory:
			s.Completion += part.End.Sub(worked)
		}
		if part.End.After(worked) && part.Category != completionCategory {
			worked = part.End
		}
	}
	s.Bind = s.Total - s.Request - s.Kick - s.Engine - s.Completion - s.Host
	return s
}

// What a timeline calls a prediction, and the way of its end from a stream to the caller.
const (
	predictCategory    = "predict"
	completionCategory = "completion"
)

// Budget runs a function on inputs as long as goOn says, which is told how many predictions there were, and says where the time
// of each went: on the goroutine of the caller, and through a stream. Memory for outputs is bound as Bind does. The measurement
// itself takes some 0.1 µs for each task. It is not for functions that are evaluated on the host, nor for pipelines.
func (f *Function) Budget(ctx context.Context, inputs map[string]any, goOn func(predictions int) bool) (inline, stream []Stages, err error) {
	made, err := f.PredictWithState(ctx, inputs, f.NewState())
	if err != nil {
		return nil, nil, err
	}
	outputs := map[string]any{}
	for name, v := range made {
		if v.Tensor.DType() != tensor.String {
			outputs[name] = v.Tensor
		}
	}
	call, err := f.Bind(ctx, inputs, outputs)
	if err != nil {
		return nil, nil, err
	}
	b, ok := call.bound.(*boundOperation)
	if !ok {
		return nil, nil, fmt.Errorf("%s: function %q is no single program of the engine: it has no dispatch to take apart", f.path, f.Name())
	}
	through := newThroughStream(b.operation)
	for _, way := range []struct {
		run  func(context.Context, *e5rt.State) error
		list *[]Stages
	}{{b.operation.Run, &inline}, {through.run, &stream}} {
		b.execute = way.run
		var p Profile
		p.Record()
		watched, state := p.Watch(ctx), f.NewState()
		const warm = 3 // that do not count
		for n := -warm; n <= 0 || goOn(n); n++ {
			if n == 0 {
				p.times.Forget()
			}
			if err := call.RunWithState(watched, state); err != nil {
				return nil, nil, err
			}
		}
		*way.list = p.Stages()
	}
	return inline, stream, nil
}

// throughStream runs an operation through a stream, and waits.
type throughStream struct {
	operation *e5rt.Operation
	stream    *e5rt.Stream
	event     *e5rt.Event
	n         uint64
	done      time.Time
	err       error
}

func newThroughStream(o *e5rt.Operation) *throughStream {
	return &throughStream{operation: o, stream: e5rt.NewStream(), event: e5rt.NewEvent()}
}

func (t *throughStream) run(ctx context.Context, s *e5rt.State) error {
	if err := t.stream.Encode(t.operation, s); err != nil {
		return err
	}
	defer t.stream.Reset()
	t.n++
	err := t.stream.Submit(ctx, func(err error) {
		t.done, t.err = time.Now(), err
		t.event.Signal(t.n)
	})
	if err != nil {
		return err
	}
	if err := t.event.Wait(context.Background(), t.n); err != nil { // the stream ends with ctx
		return err
	}
	trace.Of(ctx).Add(trace.Label{Category: completionCategory, Name: "completion"}, t.done, time.Now())
	return t.err
}
