package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
)

// The descriptor of a function: one operation for each segment, and a cast where a value lies otherwise, or has another element
// type, than the one that reads it wants.
//
//	x ─Cast─ x__engine ─AneInference─ y__engine ─Cast─ y      a chip: rows of 64 bytes on the engine's side
//	x ─AneInference─ y                                        virtual: both sides are the same
//
// package e5rt says what the runtime makes of it.

// descriptor makes the E5 function, with the containers at the given paths, one for each engine segment.
func (f *Function) descriptor(containers []string) *e5.Function {
	d := &describer{f: f, symbols: newSymbols(f.Placement), forms: newForms(f.Name, f.Placement.names())}
	body := f.Placement.Function
	for _, v := range body.Inputs {
		o := e5.Operand{Symbol: v.Name, Tensor: d.dense(v)}
		_, state := v.Type.(*mil.StateType)
		if state {
			o.Tensor = d.state(v)
		}
		d.lies[v.Name] = []e5.Operand{o}
		d.e5.Inputs = append(d.e5.Inputs, ioPort(o))
		if state {
			d.e5.Outputs = append(d.e5.Outputs, ioPort(o))
		}
	}
	for i, v := range body.Body.Outputs {
		if !slices.Contains(body.Body.Outputs[:i], v) { // one that is named twice is one port
			d.e5.Outputs = append(d.e5.Outputs, ioPort(e5.Operand{Symbol: v.Name, Tensor: d.dense(v)}))
		}
	}
	for i, part := range f.Placement.Parts {
		if part.Backend == OnHost {
			d.hostPart(i, part)
		} else {
			d.enginePart(i, part, containers[i])
		}
		d.outputs(part)
	}
	for _, v := range body.Body.Outputs { // that no part made
		d.in(v, d.dense(v))
	}
	return d.e5
}

type describer struct {
	f       *Function
	symbols *symbols
	*forms
}

// boundaryArgument is what a boundary cast reads; nil for other operations.
func boundaryArgument(o *Placed) *mil.Value {
	if o.Backend != AtBoundary {
		return nil
	}
	return o.Op.Input("x")[0].Value
}

func (d *describer) hostPart(i int, part *Part) {
	var inputs, outputs []e5.Operand
	for _, v := range part.Inputs {
		inputs = append(inputs, d.in(v, d.dense(v)))
	}
	for _, v := range part.States {
		state := d.lies[v.Name][0]
		inputs, outputs = append(inputs, state), append(outputs, state)
	}
	for _, v := range part.Outputs {
		outputs = append(outputs, d.make(v.Name, d.dense(v), d.dense(v)))
	}
	d.e5.Add(inputs, outputs, e5.CpuInferenceAttrs{Function: d.f.Hosts[i].Name})
}

// enginePart adds the inference of a segment. Its operands are the ports of the container, in their order.
func (d *describer) enginePart(i int, part *Part, container string) {
	s := d.f.Segments[i]
	var inputs, outputs []e5.Operand
	for _, p := range s.Plan.Ports {
		switch {
		case !p.In:
			v := d.named(part.Outputs, p.Name)
			outputs = append(outputs, d.make(v.Name, d.onEngine(v, s, p), d.dense(v)))
		case d.named(part.States, p.Name) != nil:
			state := e5.Operand{Symbol: p.Name, Tensor: d.lies[p.Name][0].Tensor}
			if inputs = append(inputs, state); p.Out {
				outputs = append(outputs, state)
			}
		default:
			v := d.named(part.Inputs, p.Name)
			inputs = append(inputs, d.in(v, d.onEngine(v, s, p)))
		}
	}
	d.e5.Add(inputs, outputs, e5.AneInferenceAttrs{ProcedureName: s.Name, ProgramSymbol: container})
}

// named finds the value that is bound as a port; nil if it is none of them.
func (d *describer) named(values []*mil.Value, port string) *mil.Value {
	if i := slices.IndexFunc(values, func(v *mil.Value) bool { return d.symbols.engine(v) == port }); i >= 0 {
		return values[i]
	}
	return nil
}

// outputs brings what a part has made, and what boundary casts make of that, to the ports of the function.
func (d *describer) outputs(part *Part) {
	p := d.f.Placement
	for _, v := range part.Outputs {
		if slices.Contains(p.Function.Body.Outputs, v) {
			d.in(v, d.dense(v))
		}
		for _, o := range p.Ops {
			if y := boundaryArgument(o); y == v && slices.Contains(p.Function.Body.Outputs, o.Op.Outputs[0]) {
				d.in(o.Op.Outputs[0], d.dense(o.Op.Outputs[0]))
			}
		}
	}
}

// in finds a value in a form, and adds the cast to it if nobody has asked for it before. It goes from the form that was there
// first; of what a boundary cast of the model makes, from what that reads.
func (d *describer) in(v *mil.Value, want e5.TensorDescriptor) e5.Operand {
	if o, ok := d.find(v.Name, want); ok {
		return o
	}
	from := d.source(v)
	to := d.make(v.Name, want, d.dense(v))
	if from != nil {
		d.cast(*from, to)
	}
	return to
}

// source is a form of what a value is made of; nil of one that nothing has made yet.
func (d *describer) source(v *mil.Value) *e5.Operand {
	for v != nil && len(d.lies[v.Name]) == 0 {
		i := slices.IndexFunc(d.f.Placement.Ops, func(o *Placed) bool { return o.Op == v.Def })
		if i < 0 {
			return nil
		}
		v = boundaryArgument(d.f.Placement.Ops[i])
	}
	if v == nil {
		return nil
	}
	return &d.lies[v.Name][0]
}

// dense describes a value as the host has it: its own shape, elements side by side. Where that is only known when it runs
// there is no layout.
func (d *describer) dense(v *mil.Value) e5.TensorDescriptor {
	if shape, ok := d.shape(v); ok {
		if dense, err := e5.Dense(d.tensor(v).DType, shape...); err == nil { // strings have none
			return dense
		}
	}
	return e5.Opaque()
}

// tensor is the type of a value, or of what a state holds; nil if that is no tensor.
func (d *describer) tensor(v *mil.Value) *mil.TensorType {
	t := d.f.Placement.Analysis.Type(v)
	if s, ok := t.(*mil.StateType); ok {
		t = s.Elem
	}
	tt, _ := t.(*mil.TensorType)
	return tt
}

func (d *describer) shape(v *mil.Value) ([]int, bool) {
	t := d.tensor(v)
	if t == nil || t.AnyRank {
		return nil, false
	}
	return t.Shape.Ints()
}

// onEngine describes a value as it lies in a port of a container: its own shape, with the strides that the port has.
func (d *describer) onEngine(v *mil.Value, s *segment.Segment, p segment.Port) e5.TensorDescriptor {
	shape, _ := d.shape(v)
	return portTensor(p.Value.Type, s.Target, shape)
}

// state describes a state: as it lies in the containers that use it, in one way for all; dense if only the host does.
func (d *describer) state(v *mil.Value) e5.TensorDescriptor {
	for i, part := range d.f.Placement.Parts {
		if part.Backend == OnHost || !slices.Contains(part.States, v) {
			continue
		}
		for _, p := range d.f.Segments[i].Plan.Ports {
			if p.In && p.Name == v.Name {
				return d.onEngine(v, d.f.Segments[i], p)
			}
		}
	}
	return d.dense(v)
}
