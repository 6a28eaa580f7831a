package compiler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A v7Program is a segment in H13's own tasks.
type v7Program struct {
	list      []Task
	Ports     []Port // in the order of their base-address entries
	Constants []byte
	Scratch   int
	Tables    bool // a function is a table of knots
	Crops     bool // a slice along W has its gain
}

// A v7build makes a program of version 7 of a graph. Values lie in memory as H13 has them: rows on 64 bytes, planes and
// batches dense. What lies between layers is in the scratch memory; what lies between the tasks of a layer is on chip.
type v7build struct {
	units.Machine
	surfaces  map[*anec.Value]*units.Surface
	constants v7constants
	scratch   int
	tasks     int                  // how many there are so far
	plan      *Plan                // where values lie, if a plan says so
	dry       bool                 // nobody wants the words: weights need not be packed
	touched   []*anec.Value        // whose surface was asked for
	joined    map[*anec.Layer]bool // layers that another one's tasks compute
	placed    []*anec.Value        // those in scratch memory, in the order in which they got it
	graph     *anec.Graph
}

// errSeveralLayers says that a graph is for the memory plan to lay out.
var errSeveralLayers = errors.New("several layers have tasks")

func newV7build(g *anec.Graph, m units.Machine) *v7build {
	return &v7build{Machine: m, graph: g, constants: v7constants{Machine: m}, surfaces: map[*anec.Value]*units.Surface{}, joined: map[*anec.Layer]bool{}}
}

// emitV7 makes the program, of a graph of which at most so many layers have tasks of their own. Its error names the first
// layer that has no certain encoding.
//
//	%y = ElementWise(%x, %z) Type=Add   →   a planar task: x from base 4, z from base 6, y to base 5
func emitV7(g *anec.Graph, m units.Machine, outputs []string, most int) (*v7Program, error) {
	b := newV7build(g, m)
	ports, err := b.ports(outputs)
	if err != nil {
		return nil, err
	}
	p := &v7Program{Ports: ports}
	order := g.Order()
	for _, l := range slices.Backward(order) {
		b.join(l)
	}
	for _, l := range order {
		if b.joined[l] {
			continue
		}
		ops, ok := selectV7(l, b)
		if !ok {
			return nil, &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: fmt.Errorf("version 7 has no certain tasks for it")}
		}
		if len(ops) > 0 {
			if most--; most < 0 {
				return nil, errSeveralLayers
			}
		}
		for _, o := range ops {
			p.Tables = p.Tables || o.NonLinear == units.Table || o.Rounded
			p.Crops = p.Crops || o.Cropped
			p.list = append(p.list, Task{Layer: l, own: o})
		}
		b.tasks = len(p.list)
	}
	if _, err := encodeTasks(p.list, td.V7); err != nil {
		return nil, err
	}
	p.Constants, p.Scratch = b.constants.section(), b.scratch
	return p, nil
}

// ports gives the ports their entries in the base-address table: by name, as Apple's compiler does.
func (b *v7build) ports(outputs []string) ([]Port, error) {
	var ports []Port
	g := b.graph
	if len(g.States) > 0 {
		return nil, fmt.Errorf("version 7 has no certain form of states")
	}
	for _, v := range g.Inputs {
		ports = append(ports, Port{Name: v.Name, Value: v, In: true})
	}
	for i, v := range g.Outputs {
		if v.Def == nil || slices.Contains(g.Outputs[:i], v) {
			return nil, fmt.Errorf("output %d is an input, a constant or another output", i)
		}
		ports = append(ports, Port{Name: outputs[i], Value: v, Out: true})
	}
	slices.SortStableFunc(ports, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range ports {
		s, ok := b.denseSurface(p.Value.Type)
		if !ok {
			return nil, fmt.Errorf("port %q is of %v: version 7 has no certain form of it", p.Name, p.Value.Type)
		}
		s.Base = hwx.BasePorts + i
		b.surfaces[p.Value] = s
	}
	return ports, nil
}

// surface is where a value lies. What is neither a port nor placed yet gets scratch memory.
func (b *v7build) surface(v *anec.Value) (*units.Surface, bool) {
	if s := b.surfaces[v]; s != nil {
		return s, true
	}
	b.touched = append(b.touched, v)
	if b.plan != nil {
		return b.plan.surface(b.Machine, v)
	}
	if v.Def == nil { // a constant
		return nil, false
	}
	return b.scratchFor(v)
}

// attempt selects tasks, and takes back constants and memory of what does not succeed.
func (b *v7build) attempt(selection func() ([]*units.Op, bool)) ([]*units.Op, bool) {
	constants, scratch, placed := len(b.constants.data), b.scratch, len(b.placed)
	ops, ok := selection()
	if !ok {
		for _, v := range b.placed[placed:] {
			delete(b.surfaces, v)
		}
		b.constants.data, b.scratch, b.placed = b.constants.data[:constants], scratch, b.placed[:placed]
	}
	return ops, ok
}
