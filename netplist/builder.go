package netplist

import (
	"fmt"
	"maps"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

// A Builder makes a list of one procedure, unit by unit:
//
//	g := netplist.New("G")
//	q := g.Input("q", tensor.Float16, 1, 8, 197, 64)
//	k := g.Input("k", tensor.Float16, 1, 8, 197, 64)
//	v := g.Input("v", tensor.Float16, 1, 8, 197, 64)
//	scale := g.Const("scale", tensor.Scalar(float32(0.125)))
//	attn := g.BridgeNode("attn", "SDPA", netplist.Params{"SubtractMax": true}, q, k, v, scale)
//	g.Output(attn)
//	file, weights, err := g.Build()
//
// The first error is kept for Build.
type Builder struct {
	file    *File
	net     *Network
	entry   *Entry
	names   map[string]bool
	outputs []string
	weights []byte
	err     error
}

// A Node is something that a unit reads: an input, a state, a constant, or what another unit makes.
type Node struct {
	name string
	typ  tensor.DType
}

// Params are the parameters of a unit, by the keys that a list has (espalier layers KIND names them). A value is a bool, a number, a
// string, a slice of these or of dictionaries; where a list has the bits of an fp16, a float is given as such. A tensor is stored in
// the weights file:
//
//	Kernel   of a Conv or Linear: [out, in, height, width], or with a depth before the height; it gives KernelHeight and its kin
//	Scale, Bias   of a GOC: one number for each channel
type Params map[string]any

// New begins a list.
func New(name string) *Builder {
	b := &Builder{net: &Network{Name: name}, names: map[string]bool{"": true}}
	b.entry = &Entry{Name: name, Operations: []Operation{{Name: "op0", Network: name}}}
	b.file = &File{Version: "1.0.10", Networks: []*Network{b.net}, ProcedureList: []*Entry{b.entry}}
	return b
}

func (b *Builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// take takes a name for good.
func (b *Builder) take(name string) {
	if b.names[name] {
		b.fail("two nodes %q", name)
	}
	b.names[name] = true
}

// shape reads N, C, H, W or N, D, C, H, W; fewer are the last of N, C, H, W.
func (b *Builder) shape(name string, extents []int) (d Dims) {
	d = Dims{1, 1, 1, 1, 1}
	switch n := len(extents); {
	case n > 5:
		b.fail("%q has %d extents, want at most 5", name, n)
	case n == 5:
		copy(d[:], extents)
	case n == 4:
		d = Dims{extents[0], 1, extents[1], extents[2], extents[3]}
	default:
		copy(d[5-n:], extents)
	}
	for _, e := range d {
		if e < 1 {
			b.fail("%q has extents %v, want 1 or more", name, extents)
		}
	}
	return d
}

// Input adds an input with extents N, C, H, W, or N, D, C, H, W.
func (b *Builder) Input(name string, t tensor.DType, extents ...int) Node {
	b.take(name)
	p := &Port{Symbol: name, Type: typeName(t), Dims: b.shape(name, extents), Interleave: 1, Operation: "op0"}
	b.entry.Inputs = append(b.entry.Inputs, p)
	return Node{name, t}
}

// State adds a state, which outlives a run. Units of RingBufferWriter write it.
func (b *Builder) State(name string, t tensor.DType, extents ...int) Node {
	b.take(name)
	b.net.States = append(b.net.States, &Port{Symbol: name, Type: typeName(t), Dims: b.shape(name, extents), Interleave: 1})
	return Node{name, t}
}

// Const adds a constant. Numbers of fp32 and fp64 become fp16, which the engine computes in.
func (b *Builder) Const(name string, t *tensor.Tensor) Node {
	b.take(name)
	if t == nil {
		b.fail("constant %q: there is no tensor", name)
		return Node{name, tensor.Float16}
	}
	t = b.half(name, t)
	c := &Constant{Name: name, Type: typeName(t.DType()), Dims: b.shape(name, t.Shape()), Interleave: 1, Offset: b.blob(t)}
	b.net.Constants = append(b.net.Constants, c)
	return Node{name, t.DType()}
}

func (b *Builder) half(name string, t *tensor.Tensor) *tensor.Tensor {
	if d := t.DType(); d == tensor.Float32 || d == tensor.Float64 {
		h, err := t.Convert(tensor.Float16)
		if err != nil {
			b.fail("%q: %w", name, err)
			return t
		}
		return h
	}
	return t
}

func (b *Builder) blob(t *tensor.Tensor) int {
	b.weights = append(b.weights, make([]byte, (blobAlign-len(b.weights)%blobAlign)%blobAlign)...)
	at := len(b.weights)
	b.weights = append(b.weights, t.Dense().Bytes()...)
	return at
}

// Unit adds a unit of a kind, which makes fp16.
func (b *Builder) Unit(name, kind string, params Params, inputs ...Node) Node {
	return b.UnitAs(tensor.Float16, name, kind, params, inputs...)
}

// UnitAs adds a unit that makes elements of a type.
func (b *Builder) UnitAs(t tensor.DType, name, kind string, params Params, inputs ...Node) Node {
	b.take(name)
	u := &Unit{Name: name, Type: kind, OutputType: typeName(t), Params: Dict{}}
	for _, in := range inputs {
		if !b.names[in.name] || in.name == "" {
			b.fail("unit %q reads a node that is not of this list", name)
		}
		u.Bottom = append(u.Bottom, in.name)
		u.InputType = append(u.InputType, typeName(in.typ))
	}
	k, _ := kindOf(kind)
	for _, key := range slices.Sorted(maps.Keys(params)) { // the same list each time
		b.param(u, k, key, params[key])
	}
	b.net.Units = append(b.net.Units, u)
	return Node{name, t}
}

// BridgeNode adds a unit whose operands have the axes that models give them: for SDPA and MatrixMultiplication the sequence, or the
// rows, along H, and heads along C. The units of these kinds have the two exchanged, so each operand and the result goes through a
// Transpose.
func (b *Builder) BridgeNode(name, kind string, params Params, inputs ...Node) Node {
	k, _ := kindOf(kind)
	swap := exchanged(k)
	if swap == nil {
		return b.Unit(name, kind, params, inputs...)
	}
	transpose := func(name string, in Node) Node {
		u := &Unit{}
		(&paramWriter{unit: u, kind: anec.KindTranspose}).write(&anec.Transpose{Perm: exchange})
		return b.UnitAs(in.typ, name, anec.KindTranspose.String(), Params(u.Params), in)
	}
	rows := k.Info().Contract.Bottoms
	inner := slices.Clone(inputs)
	for i, in := range inputs {
		if i < len(rows) && slices.Contains(swap, rows[i].Name) {
			inner[i] = transpose(name+"."+rows[i].Name, in)
		}
	}
	return transpose(name, b.Unit(name+"."+kind, kind, params, inner...))
}

// Output makes a node an output, by a port of its name.
func (b *Builder) Output(nodes ...Node) {
	for _, n := range nodes {
		b.outputs = append(b.outputs, n.name)
	}
}

// param stores a parameter in the form of a list.
func (b *Builder) param(u *Unit, kind anec.Kind, key string, v any) {
	if t, ok := v.(*tensor.Tensor); ok && t != nil {
		b.tensor(u, key, t)
		return
	}
	x, err := listValue(v)
	if err != nil {
		b.fail("unit %q, key %s: %w", u.Name, key, err)
		return
	}
	if f, ok := x.(float64); ok && bitsKey(kind, key) {
		x = int64(tensor.ToF16(float32(f)))
	}
	u.Params[key] = x
}

// bitsKey reports whether a kind has the bits of an fp16 under a key.
func bitsKey(kind anec.Kind, key string) bool {
	if kind == anec.KindNeuron {
		return key != "Type" && !isOurs(key)
	}
	if !kind.Valid() {
		return false
	}
	return slices.ContainsFunc(anec.Fields(kind), func(f anec.Field) bool {
		return f.Net == key && rules[kind.String()+"."+f.Name].bits
	})
}

// tensor stores a parameter that lies in the weights file.
func (b *Builder) tensor(u *Unit, key string, t *tensor.Tensor) {
	t = b.half(u.Name, t)
	shape := t.Shape()
	switch {
	case key == "Kernel" && len(shape) >= 2 && len(shape) <= 5:
		kernel := []int{1, 1, 1}
		copy(kernel[3-(len(shape)-2):], shape[2:])
		for i, name := range []string{"KernelDepth", "KernelHeight", "KernelWidth"} {
			u.Params[name] = int64(kernel[i])
		}
		u.OutputChannels = shape[0]
		u.Params["KernelIndex"], u.Params["KernelOffset"] = int64(0), int64(b.blob(t))
		u.Params["KernelType"], u.Params["KernelMode"] = typeName(t.DType()), "Dense"
		if u.Type == "Linear" {
			for _, name := range []string{"KernelDepth", "KernelHeight", "KernelWidth"} {
				delete(u.Params, name)
			}
		}
	case (key == "Scale" || key == "Bias") && u.Type == "GOC":
		d, _ := u.Params["BiasScaleGroupData"].(Dict)
		if d == nil {
			d = Dict{}
			u.Params["BiasScaleGroupData"] = d
		}
		d[key+"Count"], d[key+"Index"] = int64(t.Len()), int64(0)
		d[key+"Offset"], d[key+"Type"] = int64(b.blob(t)), typeName(t.DType())
	default:
		b.fail("unit %q, key %s: a tensor of extents %v has no place there", u.Name, key, shape)
	}
}

// listValue is a value as a Dict has it.
func listValue(v any) (any, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case string, bool, int64, float64:
		return v, nil
	case []int:
		return ints(v), nil
	case []string:
		return anyOf(v), nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = listValue(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case []Dict:
		return listValue(anyOf(v))
	case map[string]any:
		return listValue(Dict(v))
	case Dict:
		d := make(Dict, len(v))
		for k, x := range v {
			var err error
			if d[k], err = listValue(x); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		}
		return d, nil
	}
	return nil, fmt.Errorf("a %T has no form in a list", v)
}

// Build returns the list and its weights files by name. The units have been held to the shape rules of their kinds; what a target
// says of them is known when it compiles.
func (b *Builder) Build() (*File, map[string][]byte, error) {
	if b.err != nil {
		return nil, nil, b.err
	}
	if len(b.outputs) == 0 {
		return nil, nil, fmt.Errorf("%q has no output", b.net.Name)
	}
	files := map[string][]byte{}
	if len(b.weights) > 0 {
		name := fileName(b.net.Name) + ".weights"
		files[name], b.net.Weights = b.weights, []string{name}
	}
	b.connect()
	procedures, _, err := b.file.Procedures(func(name string) ([]byte, error) { return files[name], nil })
	if err != nil {
		return nil, nil, err
	}
	g := procedures[0].Graph
	for _, p := range b.entry.Outputs {
		p.Type = typeName(g.Value(p.Symbol).Type.DType)
	}
	b.fail("the list is built already")
	return b.file, files, nil
}

// connect makes the ports of the outputs. A unit that leaves by one gets another name, for the port has its own.
func (b *Builder) connect() {
	renamed := map[string]string{}
	for i, name := range b.outputs {
		if slices.Contains(b.outputs[:i], name) {
			continue
		}
		unit := name
		if slices.ContainsFunc(b.net.Units, func(u *Unit) bool { return u.Name == name }) {
			unit = fresh(b.names, name+"-1")
			renamed[name] = unit
			b.net.Outputs = append(b.net.Outputs, &Port{Symbol: name, Bottom: unit, Interleave: 1, Unlisted: true})
		}
		b.entry.Outputs = append(b.entry.Outputs, &Port{Symbol: name, Unit: unit, Operation: "op0", Interleave: 1})
	}
	for _, u := range b.net.Units {
		if to, ok := renamed[u.Name]; ok {
			u.Name = to
		}
		for i, symbol := range u.Bottom {
			if to, ok := renamed[symbol]; ok {
				u.Bottom[i] = to
			}
		}
	}
}
