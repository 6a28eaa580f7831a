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
	do        any    // castStep, *engineStep or *hostStep
}

// castStep converts between element types, or copies.
type castStep struct{ from, to int }

// engineStep runs a program on the engine.
type engineStep struct {
	program    *engine.Program
	slots      []int              // of its ports, in their order
	directions []engine.Direction // likewise
	padded     []*surface         // likewise; nil where the port has the layout of the slot
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
			do = castStep{inputs[0], outputs[0]}
		}
	case e5.AneInferenceAttrs:
		do, symbol, err = p.engineStep(a, inputs, outputs)
		p.segment++
	case e5.CpuInferenceAttrs:
		do, symbol, err = p.hostStep(a, inputs, outputs)
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
	n, _ := tensor.Count(from.shape)
	if m, _ := tensor.Count(to.shape); m != n {
		return fmt.Errorf("a cast of %v to %v", from, to)
	}
	return nil
}

// shareBuffers leaves out the casts that change nothing: their slots share a
// buffer, unless the caller binds both of them. Of those that remain it refuses
// the ones that cannot be computed.
func (p *planner) shareBuffers() (at step, err error) {
	slots := p.f.slots
	var steps []step
	for _, s := range p.f.steps {
		cast, ok := s.do.(castStep)
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
		if !same || slots[from].port && slots[to].port {
			steps = append(steps, s)
			continue
		}
		slots[from].port = slots[from].port || slots[to].port
		slots[to].root = from
	}
	for i := range slots {
		slots[i].root = p.f.findRoot(i)
	}
	p.f.steps = steps
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

// engineStep binds the ports of a container to the slots of their symbols.
func (p *planner) engineStep(a e5.AneInferenceAttrs, inputs, outputs []int) (do any, symbol string, err error) {
	program, err := p.program(a, p.manifest.Segments[p.segment].Weights)
	if err != nil {
		return nil, "", err
	}
	s := &engineStep{program: program.Program}
	bound := map[int]bool{}
	for k, port := range program.Ports() {
		symbol := program.symbols[k]
		i, ok := p.f.symbols[symbol]
		isInput, isOutput := ok && slices.Contains(inputs, i), ok && slices.Contains(outputs, i)
		if isInput != (port.Direction != engine.Output) || isOutput != (port.Direction != engine.Input) {
			return nil, symbol, fmt.Errorf("%v port of the container, and %s here", port.Direction, sides(isInput, isOutput))
		}
		v := &p.f.slots[i]
		size, dense := portBytes(&port)
		dense = dense && port.Bytes() <= size
		var padded *surface
		if !dense {
			padded = newSurface(&port)
		}
		switch {
		case v.opaque:
			err = errors.New("a value without a layout")
		case size != v.size || !dense && padded == nil:
			err = fmt.Errorf("%v of %v with strides %v in the container, and %v here", port.Type, port.Shape, port.Strides, v)
		case port.Direction == engine.State && v.state < 0:
			err = errors.New("it is changed in place, and no state")
		default:
			err = p.refine(i, port.Type)
		}
		if err != nil {
			return nil, symbol, err
		}
		bound[i] = true
		s.slots, s.directions, s.padded = append(s.slots, i), append(s.directions, port.Direction), append(s.padded, padded)
	}
	for _, i := range slices.Concat(inputs, outputs) {
		if !bound[i] {
			return nil, p.f.slots[i].symbol, errors.New("the container has no port of the name")
		}
	}
	return s, "", nil
}

// sides says on which sides of an operation something is.
func sides(input, output bool) string {
	switch {
	case input && output:
		return "both"
	case input:
		return "an input"
	case output:
		return "an output"
	}
	return "nothing"
}

// portBytes is the size of a port's elements, and whether they lie side by side.
func portBytes(p *engine.Port) (size int, dense bool) {
	size, dense = p.Type.Size(), true
	for i := len(p.Shape) - 1; i >= 0; i-- {
		dense = dense && (p.Shape[i] <= 1 || p.Strides[i] == size)
		size *= p.Shape[i]
	}
	return size, dense
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
