package compiler_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A ref is a value of a program, by its number; refs is a variadic argument.
type (
	ref  int
	refs []ref
)

// A source is an input or a state, with what it holds when the program is run.
type source struct {
	id    ref
	value *tensor.Tensor
}

// A step is an operation. A const has its value as argument val, and so that it may be an output, a number.
type step struct {
	kind string
	args map[string]any // ref, refs, or what mil.Builder takes
	outs []ref
}

// A program is a function in a form from which parts are easily taken out.
type program struct {
	target string // that it is compiled for
	opset  string // "" is the newest

	inputs, states []source
	steps          []*step
	outputs        []ref

	// jumps says that an operation was chosen by what it reads: with other states, it may be at a place where its
	// result hangs on the last bit.
	jumps bool

	values map[ref]*tensor.Tensor // what the evaluator has for each, as declared
}

// valueName is what a value is called: an input and an output by the same rule, so that either may be the other.
func valueName(id ref) string { return fmt.Sprintf("v%d", id) }

// reads calls f for the values that a step reads, states too.
func (s *step) reads(f func(ref)) {
	for _, name := range slices.Sorted(maps.Keys(s.args)) {
		switch a := s.args[name].(type) {
		case ref:
			f(a)
		case refs:
			for _, r := range a {
				f(r)
			}
		}
	}
}

// arguments replaces the numbers in the arguments of a step.
func (s *step) arguments(values map[ref]*mil.Value) mil.Args {
	args := mil.Args{}
	for name, a := range s.args {
		switch a := a.(type) {
		case ref:
			args[name] = values[a]
		case refs:
			list := make([]*mil.Value, len(a))
			for i, r := range a {
				list[i] = values[r]
			}
			args[name] = list
		default:
			args[name] = a
		}
	}
	return args
}

// build writes the program in MIL.
func (p *program) build() (*mil.Program, error) {
	b := mil.NewBuilder("main", cmp.Or(p.opset, "CoreML8"))
	values := map[ref]*mil.Value{}
	for _, in := range p.inputs {
		values[in.id] = b.Input(valueName(in.id), mil.TypeOf(in.value))
	}
	for _, s := range p.states {
		values[s.id] = b.Input(valueName(s.id), &mil.StateType{Elem: mil.TypeOf(s.value)})
	}
	for _, s := range p.steps {
		if s.kind == "const" {
			values[s.outs[0]] = b.Const(valueName(s.outs[0]), s.args["val"])
			continue
		}
		spec := mil.Spec{Kind: s.kind, Args: s.arguments(values)}
		for _, id := range s.outs {
			spec.Outputs = append(spec.Outputs, mil.TypeOf(p.values[id]))
		}
		if len(s.outs) > 0 {
			spec.Name = valueName(s.outs[0])
		}
		for i, v := range b.Add(spec) {
			v.Name = valueName(s.outs[i])
			values[s.outs[i]] = v
		}
	}
	var outputs []*mil.Value
	for _, id := range p.outputs {
		outputs = append(outputs, values[id])
	}
	b.Return(outputs...)
	built, err := b.Program()
	if err != nil {
		return nil, err
	}
	return built, ops.Verify(built)
}

// results are what a run gave: the outputs in order, and the states after it.
type results struct {
	outputs, states []*tensor.Tensor
}

// evaluate runs the program twice on the host evaluator, the second time on the states of the first.
func (p *program) evaluate(ctx context.Context, built *mil.Program, n ops.Numerics) ([]results, error) {
	f := built.Functions[0]
	ev, err := ops.NewEvaluator(f, n)
	if err != nil {
		return nil, err
	}
	args := map[string]ops.Value{}
	for _, in := range p.inputs {
		args[valueName(in.id)] = in.value
	}
	for _, s := range p.states {
		state := ops.NewState(mil.TypeOf(s.value))
		held, err := s.value.Convert(state.Read().DType())
		if err != nil {
			return nil, err
		}
		state.Write(held)
		args[valueName(s.id)] = state
	}
	var all []results
	for range p.runs() {
		out, err := ev.Run(ctx, args)
		if err != nil {
			return nil, err
		}
		var r results
		for i, v := range out {
			declared := f.Body.Outputs[i].Type.(*mil.TensorType).DType
			if n == ops.FP32 && declared == tensor.Float16 {
				declared = tensor.Float32
			}
			t, err := v.(*tensor.Tensor).Convert(declared)
			if err != nil {
				return nil, err
			}
			r.outputs = append(r.outputs, t)
		}
		for _, s := range p.states {
			declared := s.value.DType()
			if n == ops.FP32 && declared == tensor.Float16 {
				declared = tensor.Float32
			}
			t, err := args[valueName(s.id)].(*ops.State).Read().Convert(declared)
			if err != nil {
				return nil, err
			}
			r.states = append(r.states, t.Clone())
		}
		all = append(all, r)
	}
	return all, nil
}

// runs is how often the program is run: again, where it has states.
func (p *program) runs() int {
	if len(p.states) > 0 && !p.jumps {
		return 2
	}
	return 1
}

// compile takes the program to a bundle.
func (p *program) compile(ctx context.Context, built *mil.Program, seed uint64) (*compiler.Result, error) {
	target, err := hal.Lookup(p.target)
	if err != nil {
		return nil, err
	}
	features := bundle.Function{Name: "main"}
	feature := func(kind string, id ref) bundle.Feature {
		v := p.values[id]
		return bundle.Feature{Name: valueName(id), Kind: kind, Array: &bundle.Array{Type: v.DType().String(), Shape: v.Shape()}}
	}
	for _, in := range p.inputs {
		features.Inputs = append(features.Inputs, feature("array", in.id))
	}
	for _, id := range p.outputs {
		features.Outputs = append(features.Outputs, feature("array", id))
	}
	for _, s := range p.states {
		features.States = append(features.States, feature("state", s.id))
	}
	return compiler.Compile(ctx, &compiler.Job{
		Target: target, Numerics: "virtual", Program: built, Seed: seed,
		Functions: []compiler.Entry{{Function: built.Functions[0], Features: features}},
	})
}

// run runs a bundle as often as evaluate does.
func (p *program) run(ctx context.Context, r *compiler.Result) ([]results, error) {
	var options e5rt.Options
	if r.Host != nil {
		h, err := host.New(r.Host)
		if err != nil {
			return nil, fmt.Errorf("host: %w", err)
		}
		options.Host = h
	}
	lib, err := e5rt.Open(r.Bundle, options)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	f := lib.Functions()[0]
	var state *e5rt.State
	if len(p.states) > 0 {
		state = f.NewState()
		for _, s := range p.states {
			t, err := state.Tensor(valueName(s.id))
			if err != nil {
				return nil, err
			}
			if err := t.CopyFrom(s.value); err != nil {
				return nil, err
			}
		}
	}
	op := f.NewOperation()
	var all []results
	for range p.runs() {
		for _, in := range p.inputs {
			if err := op.Set(valueName(in.id), in.value); err != nil {
				return nil, err
			}
		}
		if err := op.Run(ctx, state); err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		var r results
		for _, id := range p.outputs {
			v, err := op.Value(valueName(id))
			if err != nil {
				return nil, err
			}
			r.outputs = append(r.outputs, v.(*tensor.Tensor).Clone())
		}
		for _, s := range p.states {
			t, err := state.Tensor(valueName(s.id))
			if err != nil {
				return nil, err
			}
			r.states = append(r.states, t.Clone())
		}
		all = append(all, r)
	}
	return all, nil
}

// String is the program in short, for reports.
func (p *program) String() string {
	var b strings.Builder
	for _, in := range p.inputs {
		fmt.Fprintf(&b, "%s: %v\n", valueName(in.id), mil.TypeOf(in.value))
	}
	for _, s := range p.states {
		fmt.Fprintf(&b, "%s: state %v\n", valueName(s.id), mil.TypeOf(s.value))
	}
	for _, s := range p.steps {
		for _, id := range s.outs {
			fmt.Fprintf(&b, "%s: %v ", valueName(id), mil.TypeOf(p.values[id]))
		}
		fmt.Fprintf(&b, "= %s(", s.kind)
		for _, name := range slices.Sorted(maps.Keys(s.args)) {
			switch a := s.args[name].(type) {
			case ref:
				fmt.Fprintf(&b, " %s=%s", name, valueName(a))
			case refs:
				fmt.Fprintf(&b, " %s=%v", name, []ref(a))
			case *tensor.Tensor:
				fmt.Fprintf(&b, " %s=%v", name, mil.TypeOf(a))
				if a.Len() <= 8 {
					fmt.Fprintf(&b, "%v", a.Float32s())
				}
			default:
				fmt.Fprintf(&b, " %s=%v", name, a)
			}
		}
		b.WriteString(" )\n")
	}
	fmt.Fprintf(&b, "-> %v\n", p.outputs)
	return b.String()
}
