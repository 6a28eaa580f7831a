package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
)

// The descriptor of a function: casts between features and engine, one operation for each segment.
//
//	x ─Cast─ x__engine ─AneInference─ y__engine ─Cast─ y
//
// package e5rt says what the runtime makes of it.

// descriptor makes the E5 function, with the containers at the given paths, one for each engine segment.
func (f *Function) descriptor(containers []string) *e5.Function {
	d := &describer{f: f, symbols: newSymbols(f.Placement), e5: e5.NewFunction(f.Name), cast: map[string]bool{}}
	body := f.Placement.Function
	for _, v := range body.Inputs {
		port := d.port(v)
		d.e5.Inputs = append(d.e5.Inputs, port)
		if _, state := v.Type.(*mil.StateType); state {
			d.e5.Outputs = append(d.e5.Outputs, port)
		}
	}
	for i, v := range body.Body.Outputs {
		if !slices.Contains(body.Body.Outputs[:i], v) { // one that is named twice is one port
			d.e5.Outputs = append(d.e5.Outputs, d.port(v))
		}
	}
	d.inputCasts()
	for i, part := range f.Placement.Parts {
		d.part(i, part, containers[i])
	}
	return d.e5
}

type describer struct {
	f       *Function
	symbols *symbols
	e5      *e5.Function
	cast    map[string]bool // symbols that a cast has made
}

// port describes a feature or a state.
func (d *describer) port(v *mil.Value) e5.IOPort {
	t := d.f.Placement.Analysis.Type(v)
	if s, ok := t.(*mil.StateType); ok {
		t = s.Elem
	}
	size, _ := byteSize(t) // of what is only known when it runs, 0
	return e5.IOPort{Name: v.Name, ByteSize: uint64(size)}
}

func byteSize(t mil.Type) (int, bool) {
	tt, ok := t.(*mil.TensorType)
	if !ok {
		return 0, false
	}
	n, ok := tt.Shape.Count()
	if !ok {
		return 0, false
	}
	return tt.DType.ByteLen(n)
}

// inputCasts brings features to the engine: those that the model casts itself, and those that the engine takes as
// they are.
func (d *describer) inputCasts() {
	p := d.f.Placement
	for _, o := range p.Ops {
		if x := boundaryArgument(o); x != nil && isInput(p.Function, x) {
			y := o.Op.Outputs[0]
			d.addCast(x, x.Name, y, d.symbols.engine(y))
			if d.symbols.ends[y] != "" { // it is an output too
				d.addCast(y, d.symbols.engine(y), y, y.Name)
			}
		}
	}
	for _, v := range p.Function.Inputs {
		if o := d.operand(v, v.Name); d.symbols.ends[v] != "" && !o.Tensor.IsOpaque() {
			d.addCast(v, v.Name, v, d.symbols.engine(v)) // be it unused: so the descriptor knows its type
		}
	}
}

// boundaryArgument is what a boundary cast reads; nil for other operations.
func boundaryArgument(o *Placed) *mil.Value {
	if o.Backend != AtBoundary {
		return nil
	}
	return o.Op.Input("x")[0].Value
}

// part adds the operation of a segment, then the casts of what it makes for outputs and for segments of the other kind.
func (d *describer) part(i int, part *Part, container string) {
	p := d.f.Placement
	name := func(v *mil.Value) string { return v.Name }
	if part.Backend == OnEngine {
		name = d.symbols.engine
	}
	var inputs, outputs []e5.Operand
	for _, v := range part.Inputs {
		inputs = append(inputs, d.operand(v, name(v)))
	}
	for _, v := range part.States {
		state := d.operand(v, v.Name)
		inputs = append(inputs, state)
		if part.Backend == OnHost || writesPort(d.f.Segments[i], v.Name) {
			outputs = append(outputs, state)
		}
	}
	for _, v := range part.Outputs {
		outputs = append(outputs, d.operand(v, name(v)))
	}
	if part.Backend == OnHost {
		d.e5.Add(inputs, outputs, e5.CpuInferenceAttrs{Function: d.f.Hosts[i].Name})
		for _, v := range part.Outputs { // an output that the engine reads too
			if d.symbols.ends[v] != "" && d.engineReads(v) {
				d.addCast(v, v.Name, v, d.symbols.engine(v))
			}
			for _, o := range p.Ops {
				if boundaryArgument(o) != v {
					continue
				}
				y := o.Op.Outputs[0]
				if d.engineReads(y) {
					d.addCast(v, v.Name, y, d.symbols.engine(y))
				} else {
					d.addCast(v, v.Name, y, y.Name)
				}
			}
		}
		return
	}
	d.e5.Add(inputs, outputs, e5.AneInferenceAttrs{ProcedureName: d.f.Segments[i].Name, ProgramSymbol: container})
	for _, v := range part.Outputs {
		if d.symbols.ends[v] != "" {
			d.addCast(v, d.symbols.engine(v), v, v.Name)
		}
		for _, o := range p.Ops {
			if boundaryArgument(o) == v {
				d.addCast(v, d.symbols.engine(v), o.Op.Outputs[0], o.Op.Outputs[0].Name)
			}
		}
	}
}

// engineReads reports whether a value goes into an engine segment.
func (d *describer) engineReads(v *mil.Value) bool {
	return slices.ContainsFunc(d.f.Placement.Parts, func(p *Part) bool {
		return p.Backend == OnEngine && slices.Contains(p.Inputs, v)
	})
}

// writesPort reports whether the tasks write a port.
func writesPort(s *segment.Segment, port string) bool {
	for _, p := range s.Plan.Ports {
		if p.Name == port {
			return p.Out
		}
	}
	return false
}

func (d *describer) addCast(from *mil.Value, fromName string, to *mil.Value, toName string) {
	if d.cast[toName] {
		return
	}
	d.cast[toName] = true
	src, dst := d.operand(from, fromName), d.operand(to, toName)
	d.e5.Add([]e5.Operand{src}, []e5.Operand{dst},
		e5.CastAttrs{Source: src.Tensor.StorageType, Destination: dst.Tensor.StorageType, ComponentPack: 1})
}

// operand describes a value: its own shape, dense. Where that is only known when it runs there is none.
func (d *describer) operand(v *mil.Value, symbol string) e5.Operand {
	t := d.f.Placement.Analysis.Type(v)
	if s, ok := t.(*mil.StateType); ok {
		t = s.Elem
	}
	o := e5.Operand{Symbol: symbol, Tensor: e5.Opaque()}
	if tt, ok := t.(*mil.TensorType); ok && !tt.AnyRank {
		if shape, known := tt.Shape.Ints(); known {
			if dense, err := e5.Dense(tt.DType, shape...); err == nil { // strings have none
				o.Tensor = dense
			}
		}
	}
	return o
}
