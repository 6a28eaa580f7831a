package e5rt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/tensor"
)

// A step is an operation of the descriptor that has something to do.
type step struct {
	operation string // its name
	do        any    // *castStep, *engineStep or *hostStep
}

// castStep brings a value to another element type or layout, or copies it.
type castStep struct {
	from, to int
	move     *move // once all is known of the slots
}

// engineStep runs a program on the engine.
type engineStep struct {
	program    *engine.Program
	tasks      int                // of it
	slots      []int              // of its ports, in their order
	directions []engine.Direction // likewise
}

// hostStep runs a function of the host program. Outputs that are states are left
// out: the host updates them where it reads them.
type hostStep struct {
	function        HostFunction
	inputs, outputs []int
}

// operation makes the step of an operation.
func (p *planner) operation(op *e5.Operation) (symbol string, err error) {
	inputs, outputs := make([]int, len(op.Inputs)), make([]int, len(op.Outputs))
	for i := range op.Inputs {
		if inputs[i], err = p.read(&op.Inputs[i]); err != nil {
			return op.Inputs[i].Symbol, err
		}
	}
	for i := range op.Outputs {
		if outputs[i], err = p.write(&op.Outputs[i]); err != nil {
			return op.Outputs[i].Symbol, err
		}
	}
	var do any
	switch a := op.Attrs.(type) {
	case e5.CastAttrs:
		symbol, err = "", p.checkCast(a, inputs, outputs)
		if err == nil {
			do = &castStep{from: inputs[0], to: outputs[0]}
		}
	case e5.AneInferenceAttrs:
		do, symbol, err = p.engineStep(a, inputs, outputs)
		p.f.mutable.segments = append(p.f.mutable.segments, do)
		p.segment++
	case e5.CpuInferenceAttrs:
		do, symbol, err = p.hostStep(a, inputs, outputs)
		p.f.mutable.segments = append(p.f.mutable.segments, do)
		p.segment++
	default:
		err = fmt.Errorf("no backend runs an operation of kind %v", op.Kind())
	}
	if err == nil {
		p.f.steps = append(p.f.steps, step{op.Name, do})
	}
	return symbol, err
}

func (p *planner) checkCast(a e5.CastAttrs, inputs, outputs []int) error {
	if len(inputs) != 1 || len(outputs) != 1 {
		return fmt.Errorf("a cast of %d operands to %d", len(inputs), len(outputs))
	}
	from, to := &p.f.slots[inputs[0]], &p.f.slots[outputs[0]]
	switch {
	case from.state >= 0 || to.state >= 0:
		return errors.New("a state is not cast: it is bound where it is used")
	case from.opaque || to.opaque:
		return errors.New("a cast of a value without a layout")
	case a.Source != from.storage || a.Destination != to.storage:
		return fmt.Errorf("a cast from %v to %v of %v to %v", a.Source, a.Destination, from, to)
	}
	if count(from.shape) != count(to.shape) {
		return fmt.Errorf("a cast of %v to %v", from, to)
	}
	return nil
}

// shareMemory leaves out the casts that change nothing: their slots share
// memory, unless the caller binds both of them. Of those that remain it refuses
// the ones that cannot be computed.
func (p *planner) shareMemory() (at step, err error) {
	slots := p.f.slots
	var steps []step
	for _, s := range p.f.steps {
		cast, ok := s.do.(*castStep)
		if !ok {
			steps = append(steps, s)
			continue
		}
		from, to := p.f.findRoot(cast.from), p.f.findRoot(cast.to)
		same := slots[from].storage == slots[to].storage
		if same && slots[from].typ == slots[from].storage.DType() {
			slots[from].typ = slots[to].typ
		} else if same && slots[to].typ == slots[to].storage.DType() {
			slots[to].typ = slots[from].typ
		}
		if !converts(slots[from].typ, slots[to].typ) {
			return s, fmt.Errorf("a cast from %v to %v", slots[from].typ, slots[to].typ)
		}
		if !same || !slots[from].servesAs(&slots[to]) || slots[from].port && slots[to].port {
			steps = append(steps, s)
			continue
		}
		slots[from].port = slots[from].port || slots[to].port
		slots[from].needs = max(slots[from].needs, slots[to].needs)
		slots[to].root = from
	}
	for i := range slots {
		slots[i].root = p.f.findRoot(i)
	}
	p.f.steps = steps
	return step{}, nil
}

// makeMoves says how the casts that are left are done.
func (p *planner) makeMoves() (at step, err error) {
	for _, s := range p.f.steps {
		if cast, ok := s.do.(*castStep); ok {
			to, from := p.f.layoutOf(cast.to), p.f.layoutOf(cast.from)
			if cast.move = newMove(&to, &from); cast.move == nil {
				return s, fmt.Errorf("a cast from %v to %v", from, to)
			}
		}
	}
	return step{}, nil
}

// findRoot follows a slot to the one whose buffer it shares, and shortens the way
// for the next.
func (f *Function) findRoot(i int) int {
	for f.slots[i].root != i {
		f.slots[i].root = f.slots[f.slots[i].root].root
		i = f.slots[i].root
	}
	return i
}

// engineStep binds the ports of a container to the operands: its input ports and
// states to the inputs, its output ports and states to the outputs, in their order.
func (p *planner) engineStep(a e5.AneInferenceAttrs, inputs, outputs []int) (do any, symbol string, err error) {
	program, err := p.program(a, p.manifest.Segments[p.segment].Weights, stretches(p.manifest, p.segment))
	if err != nil {
		return nil, "", err
	}
	s := &engineStep{program: program, tasks: len(program.Tasks())}
	ins, outs := inputs, outputs
	for _, port := range program.Ports() {
		i, ok := -1, true
		if port.Direction != engine.Output {
			i, ins, ok = next(ins)
		}
		if port.Direction != engine.Input && ok {
			var o int
			if o, outs, ok = next(outs); ok && i >= 0 && o != i {
				return nil, p.f.slots[o].symbol, fmt.Errorf("the state %q of the container is %q among the inputs", port.Name, p.f.slots[i].symbol)
			}
			i = o
		}
		if !ok {
			return nil, "", fmt.Errorf("%d inputs and %d outputs: none for the %v port %q of the container", len(inputs), len(outputs), port.Direction, port.Name)
		}
		if err := p.checkPort(i, &port); err != nil {
			return nil, p.f.slots[i].symbol, err
		}
		s.slots, s.directions = append(s.slots, i), append(s.directions, port.Direction)
	}
	for _, rest := range [][]int{ins, outs} {
		if len(rest) > 0 {
			return nil, p.f.slots[rest[0]].symbol, errors.New("the container has no port for it")
		}
	}
	return s, "", nil
}

// next takes the first of a list.
func next(list []int) (first int, rest []int, ok bool) {
	if len(list) == 0 {
		return -1, nil, false
	}
	return list[0], list[1:], true
}

// checkPort holds an operand to the port of a container: it lies as the port does.
func (p *planner) checkPort(i int, port *engine.Port) error {
	v := &p.f.slots[i]
	switch {
	case v.opaque:
		return errors.New("a value without a layout")
	case port.Direction == engine.State && v.state < 0:
		return errors.New("it is changed in place, and no state")
	case port.Len() != count(v.shape) || port.Bytes() > v.size || !slices.Equal(v.loops, loopsOf(port.Shape[:], port.Strides[:])):
		return fmt.Errorf("%v of %v with strides %v in the container, and %v here, for %d bytes: if an earlier version wrote the bundle, compile the model again",
			port.Type, port.Shape, port.Strides, v, port.Bytes())
	}
	v.needs = max(v.needs, port.Bytes())
	return p.refine(i, port.Type)
}

// hostStep finds a function of the host program, and holds the operands to it.
func (p *planner) hostStep(a e5.CpuInferenceAttrs, inputs, outputs []int) (do any, symbol string, err error) {
	if p.host == nil {
		return nil, "", ErrNoHost
	}
	function, err := p.host.Function(a.Function)
	if err != nil {
		return nil, "", err
	}
	s := &hostStep{function: function, inputs: inputs}
	for _, i := range outputs {
		if p.f.slots[i].state < 0 {
			s.outputs = append(s.outputs, i)
		} else if !slices.Contains(inputs, i) {
			return nil, p.f.slots[i].symbol, errors.New("a state that is written, and no input")
		}
	}
	for _, side := range []struct {
		name  string
		slots []int
		types []HostType
	}{{"inputs", s.inputs, function.Inputs()}, {"outputs", s.outputs, function.Outputs()}} {
		if len(side.slots) != len(side.types) {
			return nil, "", fmt.Errorf("%d %s, and the function %s of the host has %d", len(side.slots), side.name, a.Function, len(side.types))
		}
		for i, n := range side.slots {
			if err := p.checkHost(n, &side.types[i]); err != nil {
				return nil, p.f.slots[n].symbol, fmt.Errorf("%w, for %s of the host's function %s", err, side.types[i].Name, a.Function)
			}
		}
	}
	return s, "", nil
}

// checkHost holds an operand to the type of the host. A value without a layout
// may be anything.
func (p *planner) checkHost(i int, t *HostType) error {
	s := &p.f.slots[i]
	switch {
	case t.State != (s.state >= 0):
		return errors.New("one is a state, the other is none")
	case s.opaque:
		return nil
	case t.Type == tensor.Invalid:
		return fmt.Errorf("%v instead of a value without a layout", s)
	case t.Ranked && !t.Shape.Compatible(tensor.ShapeOf(s.shape...)):
		return fmt.Errorf("%v instead of %v%v", s, t.Type, t.Shape)
	}
	return p.refine(i, t.Type)
}
