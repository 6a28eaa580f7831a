package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
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
	surfaces  map[*anec.Value]*v7surface
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

func newV7build(g *anec.Graph) *v7build {
	return &v7build{graph: g, surfaces: map[*anec.Value]*v7surface{}, joined: map[*anec.Layer]bool{}}
}

// emitV7 makes the program, of a graph of which at most so many layers have tasks of their own. Its error names the first
// layer that has no certain encoding.
//
//	%y = ElementWise(%x, %z) Type=Add   →   a planar task: x from base 4, z from base 6, y to base 5
func emitV7(g *anec.Graph, outputs []string, most int) (*v7Program, error) {
	b := newV7build(g)
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
			p.Tables = p.Tables || o.nonLinear == v7Table || o.rounded
			p.Crops = p.Crops || o.cropped
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
		s, ok := denseSurface(p.Value.Type)
		if !ok {
			return nil, fmt.Errorf("port %q is of %v: version 7 has no certain form of it", p.Name, p.Value.Type)
		}
		s.base = hwx.BasePorts + i
		b.surfaces[p.Value] = s
	}
	return ports, nil
}

// denseSurface lays a tensor out as H13 has it in memory.
func denseSurface(t anec.Type) (*v7surface, bool) {
	s := &v7surface{}
	bytes := 2
	switch t.DType {
	case tensor.Float16:
	case tensor.Bool:
		s.element, bytes = v7byte, 1
	default:
		return nil, false
	}
	if t.Dims[anec.D] != 1 || t.Interleave > 1 {
		return nil, false
	}
	s.row = v7align(bytes*t.Dims[anec.W], 64)
	s.plane = s.row * t.Dims[anec.H]
	s.depth = s.plane * t.Dims[anec.C]
	s.group = s.depth
	return s, int64(s.group)*int64(t.Dims[anec.N]) < 1<<31
}

// surface is where a value lies. What is neither a port nor placed yet gets scratch memory.
func (b *v7build) surface(v *anec.Value) (*v7surface, bool) {
	if s := b.surfaces[v]; s != nil {
		return s, true
	}
	b.touched = append(b.touched, v)
	if b.plan != nil {
		return b.plan.surface(v)
	}
	if v.Def == nil { // a constant
		return nil, false
	}
	s, ok := denseSurface(v.Type)
	if !ok {
		return nil, false
	}
	s.base, s.offset = hwx.BaseScratch, b.scratch
	b.scratch += v7align(s.group*v.Type.Dims[anec.N], 0x4000)
	b.surfaces[v] = s
	b.placed = append(b.placed, v)
	return s, true
}

// v7sizeOf is the extents of a value as a task has them; the batch goes into the groups.
func v7sizeOf(v *anec.Value) (size v7size, groups int) {
	d := v.Type.Dims
	return v7size{w: d[anec.W], h: d[anec.H], d: 1, c: d[anec.C]}, d[anec.N]
}

// v7constants is the constant section.
type v7constants struct {
	data    []byte
	kernels map[[32]byte][]int // offsets of the streams of kernels, by their hash; some may have been taken back
}

// add appends bytes, which are then to be found on a multiple of 64.
func (c *v7constants) add(b []byte) (offset int) {
	c.data = append(c.data, make([]byte, v7align(len(c.data), 64)-len(c.data))...)
	offset = len(c.data)
	c.data = append(c.data, b...)
	return offset
}

// table adds an activation table for so many engines. They all read the first copy; the section has room for one each.
func (c *v7constants) table(t *td.Table, engines int) *v7kernel {
	stored := t.Encode()
	room := make([]byte, td.TableBytes*engines)
	copy(room, stored)
	offset := -1
	for at := 0; at+len(room) <= len(c.data); at += 64 { // equal constants are stored once
		if bytes.Equal(c.data[at:at+len(room)], room) {
			offset = at
			break
		}
	}
	if offset < 0 {
		offset = c.add(room)
	}
	k := &v7kernel{base: v7const, producer: -1}
	for range engines {
		k.offsets, k.sizes = append(k.offsets, offset), append(k.sizes, td.TableBytes)
	}
	return k
}

// section is the section as the container has it: 0x4000 zero bytes where there is nothing.
func (c *v7constants) section() []byte {
	if len(c.data) == 0 {
		return make([]byte, 0x4000)
	}
	return c.data
}

// halves returns the fp16 elements of a constant, plain or decoded from others. They may be the memory of the weight file:
// nobody writes there.
func halves(v *anec.Value) ([]uint16, bool) {
	if v != nil && isDecoded(v) {
		return decodeHalves(v.Def)
	}
	if v == nil || v.Const == nil || !v.Const.Plain() {
		return nil, false
	}
	if stored := v.Const.Stored; stored.DType() == tensor.Float16 {
		if bits, err := stored.Alias(tensor.UInt16); err == nil {
			return tensor.Data[uint16](bits), true
		}
	}
	values := v.Const.Stored.Float32s()
	list := make([]uint16, len(values))
	for i, x := range values {
		if list[i] = tensor.ToF16(x); tensor.F16(list[i]) != x && x == x {
			return nil, false // it is wider than fp16
		}
	}
	return list, true
}

// scalarHalf is the one element of a constant as fp16.
func scalarHalf(v *anec.Value) (uint16, bool) {
	if v == nil || v.Const == nil {
		return 0, false
	}
	f, ok := v.Const.Scalar()
	return tensor.ToF16(float32(f)), ok
}
