package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// What the descriptor and the manifest say of a graph. Its ports are those of the segments, dense: a cast stands between where the
// target has them otherwise.

// descriptor makes the E5 function: one inference for each segment.
//
//	x ─AneInference─ a ─AneInference─ y
func (g *graphFunction) descriptor(f *Function, containers []string) *e5.Function {
	taken := map[string]bool{}
	for _, p := range slices.Concat(g.inputs, g.outputs, g.states) {
		taken[p.symbol] = true
	}
	for _, part := range g.parts {
		for _, p := range part.outputs {
			taken[p.symbol] = true
		}
	}
	d := newForms(f.Name, taken)
	for _, p := range g.inputs {
		d.e5.Inputs = append(d.e5.Inputs, ioPort(d.make(p.symbol, p.dense(), p.dense())))
	}
	for _, p := range g.states {
		port := ioPort(e5.Operand{Symbol: p.symbol, Tensor: p.onEngine(f)})
		d.e5.Inputs, d.e5.Outputs = append(d.e5.Inputs, port), append(d.e5.Outputs, port)
	}
	for _, p := range g.outputs {
		d.e5.Outputs = append(d.e5.Outputs, ioPort(e5.Operand{Symbol: p.symbol, Tensor: p.dense()}))
	}
	in := func(p graphPort, want e5.TensorDescriptor) e5.Operand {
		o, ok := d.find(p.symbol, want)
		if !ok {
			from := d.lies[p.symbol][0]
			o = d.make(p.symbol, want, p.dense())
			d.cast(from, o)
		}
		return o
	}
	for i, part := range g.parts {
		var inputs, outputs []e5.Operand
		for _, port := range containerPorts(f.Segments[i]) {
			switch {
			case !port.In:
				p := portNamed(part.outputs, port.Name)
				outputs = append(outputs, d.make(p.symbol, p.onEngine(f), p.dense()))
			case portNamed(part.states, port.Name) != nil:
				state := e5.Operand{Symbol: port.Name, Tensor: portNamed(part.states, port.Name).onEngine(f)}
				if inputs = append(inputs, state); port.Out {
					outputs = append(outputs, state)
				}
			default:
				p := portNamed(part.inputs, port.Name)
				inputs = append(inputs, in(*p, p.onEngine(f)))
			}
		}
		d.e5.Add(inputs, outputs, e5.AneInferenceAttrs{ProcedureName: f.Segments[i].Name, ProgramSymbol: containers[i]})
		for _, p := range part.outputs {
			if slices.Contains(g.outputs, p) {
				in(p, p.dense())
			}
		}
	}
	return d.e5
}

// containerPorts are the ports of a segment in the order of its container, in which the runtime binds them: in the form of 2020 they
// do not stand there as tasks count them.
func containerPorts(s *segment.Segment) []segment.Port {
	listed, err := s.File.Ports()
	if err != nil {
		panic("bug: " + err.Error()) // it is of the compiler's making
	}
	var ports []segment.Port
	for _, l := range listed {
		i := slices.IndexFunc(s.Plan.Ports, func(p segment.Port) bool { return p.Name == l.Name })
		ports = append(ports, s.Plan.Ports[i])
	}
	return ports
}

// portNamed finds a port by its symbol; nil if it is none of them.
func portNamed(ports []graphPort, symbol string) *graphPort {
	if i := slices.IndexFunc(ports, func(p graphPort) bool { return p.symbol == symbol }); i >= 0 {
		return &ports[i]
	}
	return nil
}

// DescribeGraph is what the manifest says of a graph, whatever target it is compiled for: its ports.
func DescribeGraph(g *anec.Graph) (bundle.Function, error) {
	c := g.Clone()
	c.Sweep()
	d := bundle.Function{Name: graphName(g)}
	cut, err := cutGraph(c, d.Name, &hal.Target{}) // which has no ways
	if err != nil {
		return d, fmt.Errorf("graph %s: %w", d.Name, err)
	}
	cut.describe(&d)
	return d, nil
}

// graphName is what a graph is called by.
func graphName(g *anec.Graph) string { return cmp.Or(g.Name, "main") }

// describe says in the manifest what the function takes, gives and keeps.
func (g *graphFunction) describe(f *bundle.Function) {
	f.Inputs, f.Outputs, f.States = features(g.inputs, "array"), features(g.outputs, "array"), features(g.states, "state")
}

func features(ports []graphPort, kind string) []bundle.Feature {
	var list []bundle.Feature
	for _, p := range ports {
		list = append(list, bundle.Feature{Name: p.symbol, Kind: kind, Array: &bundle.Array{Type: p.typ.DType.String(), Shape: p.shape()}})
	}
	return list
}

// shape is that of the array that a caller has: N, C, H, W as for a container, or N, D, C, H, W where there is a depth.
func (p graphPort) shape() []int {
	d := p.typ.Dims
	if d[anec.D] == 1 {
		return []int{d[anec.N], d[anec.C], d[anec.H], d[anec.W]}
	}
	return d[:]
}

// dense is how it lies in a port of the function.
func (p graphPort) dense() e5.TensorDescriptor {
	dense, err := e5.Dense(p.typ.DType, p.shape()...)
	if err != nil {
		panic("bug: " + err.Error()) // check has seen to it
	}
	return dense
}

// onEngine is how it lies in the containers of a function, all of one target.
func (p graphPort) onEngine(f *Function) e5.TensorDescriptor {
	if len(f.Segments) == 0 {
		return p.dense()
	}
	return portTensor(p.typ, f.Segments[0].Target, p.shape())
}

// check refuses what no port of a container can hold.
func (p graphPort) check() error {
	if _, ok := e5.StorageTypeOf(p.typ.DType); !ok || p.typ.DType.SubByte() {
		return fmt.Errorf("%q is of %v: a port has elements of whole bytes", p.symbol, p.typ.DType)
	}
	return nil
}
