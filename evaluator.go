package espalier

import (
	"context"
	"fmt"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/tensor"
)

// An evaluator runs a function of a program on the host alone.
type evaluator struct {
	from     *source
	features *features
	program  *ops.Evaluator
	threads  int // of a prediction
}

func newEvaluator(from *source, described *features, n Numerics, threads int) (*evaluator, error) {
	numerics, err := n.host()
	if err != nil {
		return nil, err
	}
	program, err := ops.NewEvaluator(from.function, numerics)
	if err != nil {
		return nil, err
	}
	program.SetLimits(described.limits.use())
	return &evaluator{from, described, program, threads}, nil
}

func (e *evaluator) run(ctx context.Context, inputs map[string]any, s states) (map[string]*Value, error) {
	args, err := e.features.arguments(ctx, inputs, e.from.argument)
	if err != nil {
		return nil, err
	}
	held, _ := s.(evaluatorStates)
	values := map[string]ops.Value{}
	for name, t := range args {
		if len(held) > 0 {
			t = t.Clone() // a program may put it into a state, and the caller may change it later
		}
		values[name] = t
	}
	for name, v := range held {
		values[name] = v
	}
	results, err := e.program.Run(pool.WithThreads(ctx, e.threads), values)
	if err != nil {
		return nil, err
	}
	return e.features.values(func(name string) (e5rt.Value, error) { return results[e.from.output(name)], nil },
		func(string) bool { return false })
}

func (e *evaluator) bind(_ context.Context, inputs, outputs map[string]any) (bound, error) {
	return bindCopies(e, inputs, outputs)
}

func (e *evaluator) newState() states {
	held := evaluatorStates{}
	for _, d := range e.features.States {
		held[d.Name] = ops.NewState(e.from.state(d.Name))
	}
	return held
}

func (e *evaluator) source() (*source, error) {
	return nil, fmt.Errorf("%w: the units %s leave the engine out, for which it would be compiled", ErrUnits, CPUOnly)
}

// evaluatorStates are the states of a function by name. The evaluator may hold them in another type than the declared
// one.
type evaluatorStates map[string]*ops.State

func (s evaluatorStates) Tensor(name string) (*tensor.Tensor, error) { return s[name].Read(), nil }

func (s evaluatorStates) Set(name string, t *tensor.Tensor) error {
	t, err := t.Convert(s[name].Read().DType())
	if err != nil {
		return err
	}
	s[name].Write(t.Clone()) // nobody else has it
	return nil
}
