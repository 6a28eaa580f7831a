package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Ports that share memory, over all operations. Every model of one operation is compiled and run with each port in
// memory of its own, and then with two that share it, for each two: from one byte on, and a few bytes apart. Bits are the
// same, or the two are refused by name.

// aliasModels are what single operations do not show.
var aliasModels = []oneModel{
	{kind: "turned square", build: func(b *mil.Builder) []*mil.Value {
		return []*mil.Value{b.Op("transpose", "y", image, mil.Args{"x": b.Input("x", image), "perm": []int32{0, 1, 3, 2}})}
	}},
	{kind: "broadcasting subtraction", build: func(b *mil.Builder) []*mil.Value {
		x, row := b.Input("x", image), b.Input("row", half(1, 1, 16, 16))
		return []*mil.Value{b.Op("sub", "y", image, mil.Args{"x": row, "y": x})}
	}},
	{kind: "slice and concat", build: func(b *mil.Builder) []*mil.Value {
		x, part := b.Input("x", image), half(1, 4, 16, 16)
		slice := func(name string, at int32) *mil.Value {
			return b.Op("slice_by_size", name, part, mil.Args{"x": x, "begin": []int32{0, at, 0, 0}, "size": []int32{1, 4, 16, 16}})
		}
		return []*mil.Value{b.Op("concat", "y", image, mil.Args{"values": []any{slice("high", 4), slice("low", 0)}, "axis": 1})}
	}},
	{kind: "read again after a write", build: func(b *mil.Builder) []*mil.Value {
		x := b.Input("x", image)
		y := b.Op("softmax", "y", image, mil.Args{"x": x, "axis": -1})
		return []*mil.Value{y, b.Op("mul", "z", image, mil.Args{"x": y, "y": x})}
	}},
	{kind: "between two host segments", build: func(b *mil.Builder) []*mil.Value {
		x := b.Input("x", image)
		first := b.Op("cumsum", "first", image, mil.Args{"x": x, "axis": -1})
		second := b.Op("relu", "second", image, mil.Args{"x": first})
		third := b.Op("cumsum", "third", image, mil.Args{"x": second, "axis": -2})
		return []*mil.Value{second, b.Op("add", "y", image, mil.Args{"x": third, "y": x})}
	}},
	{kind: "wider type", build: func(b *mil.Builder) []*mil.Value {
		x := b.Input("x", image)
		wide := b.Op("cast", "wide", mil.Tensor(tensor.Float32, 1, 8, 16, 16), mil.Args{"x": x, "dtype": "fp32"})
		return []*mil.Value{wide, b.Op("relu", "y", image, mil.Args{"x": x})}
	}},
}

func TestAliasMatrix(t *testing.T) {
	for _, target := range []string{"virtual", "h13"} {
		t.Run(target, func(t *testing.T) {
			pairs, refused, kinds := 0, 0, 0
			for _, m := range append(oneModels(), aliasModels...) {
				if strings.HasPrefix(m.kind, "random") {
					continue // other numbers each time
				}
				r := m.compileFilled(t, lookup(t, target))
				if r == nil {
					continue
				}
				a := &aliasing{what: m.kind, random: rand.New(rand.NewPCG(12, 3))}
				a.function(t, r)
				for _, s := range r.Bundle.Manifest.Functions[0].Segments {
					if s.Container != "" {
						a.container(t, r.Bundle, &s)
					}
				}
				if a.pairs > 0 {
					kinds++
				}
				pairs += a.pairs
				refused += a.refused
			}
			t.Logf("%d models, %d ways to share memory: %d equal, %d refused", kinds, pairs, pairs-refused, refused)
			if kinds < 120 || refused == 0 {
				t.Errorf("%d models with two ports, %d refusals: too few to be all operations", kinds, refused)
			}
		})
	}
}

// compileFilled compiles the model with numbers for its weights; nil if it has shapes that are not known.
func (m *oneModel) compileFilled(t *testing.T, target *hal.Target) *Result {
	t.Helper()
	p := m.program(t)
	f := p.Functions[0]
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(c *mil.Constant) {
		if c == nil || c.Tensor == nil || c.Tensor.DType() != tensor.Float16 || c.Tensor.Rank() == 0 {
			return
		}
		numbers := make([]float32, c.Tensor.Len())
		for i := range numbers {
			numbers[i] = 0.25 + 0.75*r.Float32() // a variance, among others
		}
		c.Tensor = tensor.FromFloat32s(tensor.Float16, numbers, c.Tensor.Shape()...)
	}
	for _, op := range f.Body.Operations {
		for _, in := range op.Inputs {
			for _, a := range in.Args {
				fill(a.Const)
			}
		}
		if op.Kind == "const" {
			fill(op.Attributes.Get("val"))
		}
	}
	features := bundle.Function{Name: "main"}
	array := func(typ mil.Type) *bundle.Array {
		a, ok := typ.(*mil.TensorType)
		if !ok {
			return nil
		}
		shape, ok := a.Shape.Ints()
		if !ok || a.AnyRank {
			return nil
		}
		return &bundle.Array{Type: a.DType.String(), Shape: shape}
	}
	for _, v := range f.Inputs {
		if s, ok := v.Type.(*mil.StateType); ok {
			features.States = append(features.States, bundle.Feature{Name: v.Name, Kind: "state", Array: array(s.Elem)})
			continue
		}
		a := array(v.Type)
		if a == nil {
			return nil
		}
		features.Inputs = append(features.Inputs, bundle.Feature{Name: v.Name, Kind: "array", Array: a})
	}
	for _, v := range f.Body.Outputs {
		a := array(v.Type)
		if a == nil {
			return nil
		}
		features.Outputs = append(features.Outputs, bundle.Feature{Name: v.Name, Kind: "array", Array: a})
	}
	result, err := Compile(t.Context(), &Job{
		Target: target, Numerics: "virtual", Program: p, Functions: []Entry{{Function: f, Features: features}},
	})
	if err != nil {
		t.Fatalf("%s: %v", m.kind, err)
	}
	return result
}

// aliasing is the test of one model.
type aliasing struct {
	what           string
	random         *rand.Rand
	pairs, refused int
}

// An aliasPort is a port of a function or of a container.
type aliasPort struct {
	name      string
	direction engine.Direction
	typ       tensor.DType
	bytes     int
	fixed     bool                       // its memory is not the caller's
	elements  func(memory []byte) []byte // without what lies between them
}

// function lets ports of the function share memory.
func (a *aliasing) function(t *testing.T, r *Result) {
	t.Helper()
	var options e5rt.Options
	if r.Host != nil {
		h, err := host.New(r.Host)
		if err != nil {
			t.Fatalf("%s: %v", a.what, err)
		}
		options.Host = h
	}
	lib, err := e5rt.Open(r.Bundle, options)
	if err != nil {
		t.Fatalf("%s: %v", a.what, err)
	}
	f := lib.Functions()[0]
	var ports []aliasPort
	var shapes [][]int
	for direction, list := range [][]e5rt.Port{f.Inputs(), f.Outputs(), f.States()} {
		for _, p := range list {
			if p.Type == tensor.Invalid {
				return // a value of the host
			}
			ports = append(ports, aliasPort{
				name: p.Name, direction: engine.Direction(direction), typ: p.Type, bytes: p.Bytes,
				fixed: engine.Direction(direction) == engine.State, elements: func(b []byte) []byte { return b },
			})
			shapes = append(shapes, p.Shape)
		}
	}
	a.check(t, "the function", ports, func(memory [][]byte) error {
		o := f.NewOperation()
		var state *e5rt.State
		if len(f.States()) > 0 {
			state = f.NewState()
		}
		for i, p := range ports {
			if p.fixed {
				held, err := state.Tensor(p.name)
				if err != nil {
					return err
				}
				copy(held.Bytes(), memory[i])
				defer func() { copy(memory[i], held.Bytes()) }()
				continue
			}
			x, err := tensor.FromBytes(p.typ, shapes[i], memory[i])
			if err == nil {
				err = o.Bind(p.name, x)
			}
			if err != nil {
				return err
			}
		}
		return o.Run(t.Context(), state)
	})
}

// container lets ports of a container share memory.
func (a *aliasing) container(t *testing.T, b *bundle.Bundle, s *bundle.Segment) {
	t.Helper()
	p, err := engine.LoadWith(b.Container(s.Container), engine.Options{
		Numerics: hal.Numerics{RoundHalfEven: true}, Weights: b.Bytes(s.Weights),
	})
	if err != nil {
		t.Fatalf("%s: %v", a.what, err)
	}
	var ports []aliasPort
	for _, port := range p.Ports() {
		ports = append(ports, aliasPort{
			name: port.Name, direction: port.Direction, typ: port.Type, bytes: port.Bytes(),
			elements: func(memory []byte) (e []byte) {
				s, size := port.Shape, port.Type.Size()
				for i := range port.Len() {
					at := i%s[3]*port.Strides[3] + i/s[3]%s[2]*port.Strides[2] + i/s[3]/s[2]%s[1]*port.Strides[1] + i/s[3]/s[2]/s[1]*port.Strides[0]
					e = append(e, memory[at:at+size]...)
				}
				return e
			},
		})
	}
	a.check(t, s.Container, ports, func(memory [][]byte) error {
		c := p.NewContext()
		if err := c.BindAll(memory); err != nil {
			return err
		}
		return p.RunAll(t.Context(), c)
	})
}

// check runs with two ports in one memory, for each two, and with all inputs in that of an output.
func (a *aliasing) check(t *testing.T, what string, ports []aliasPort, run func(memory [][]byte) error) {
	t.Helper()
	try := func(shift int, group ...int) {
		t.Helper()
		shared, apart := a.memory(ports, group, shift), make([][]byte, len(ports))
		for i := range ports {
			apart[i] = bytes.Clone(shared[i])
		}
		if run(apart) != nil {
			return // numbers that are no indices, say
		}
		a.pairs++
		err := run(shared)
		var overlap *engine.OverlapError
		where := fmt.Sprintf("%s: %s: ports %d, %d bytes apart", a.what, what, group, shift)
		switch {
		case err != nil && (errors.As(err, &overlap) || errors.Is(err, e5rt.ErrOverlap)):
			a.refused++
			for _, i := range group {
				if ports[i].direction == engine.Input || !strings.Contains(err.Error(), fmt.Sprintf("%q", ports[i].name)) {
					t.Errorf("%s: %q does not name output or state %q", where, err, ports[i].name)
				}
			}
			return
		case err != nil:
			t.Errorf("%s: %v", where, err)
			return
		}
		for i, p := range ports {
			if p.direction != engine.Input && !bytes.Equal(p.elements(shared[i]), p.elements(apart[i])) {
				t.Errorf("%s: %s is not what it is in memory of its own", where, p.name)
			}
		}
	}
	for j := range ports {
		for i := range j {
			if !ports[i].fixed && !ports[j].fixed && !(ports[i].direction == engine.Input && ports[j].direction == engine.Input) {
				for _, shift := range []int{0, 32, -16} {
					try(shift, i, j)
				}
			}
		}
		group := []int{j}
		for i, p := range ports {
			if p.direction == engine.Input {
				group = append(group, i)
			}
		}
		if ports[j].direction == engine.Output && len(group) > 2 {
			try(0, group...)
		}
	}
}

// memory makes memory with numbers for the ports, of which a group shares one, each so many bytes after the one before.
func (a *aliasing) memory(ports []aliasPort, group []int, shift int) [][]byte {
	size, at, first := 0, 0, 0
	if shift < 0 {
		first = -shift * (len(group) - 1)
	}
	at = first
	for _, i := range group {
		size = max(size, at+ports[i].bytes)
		at += shift
	}
	all := make([]byte, size)
	memory := make([][]byte, len(ports))
	at = first
	for _, i := range group {
		memory[i] = all[at : at+ports[i].bytes]
		at += shift
	}
	for _, content := range []bool{false, true} { // what is read last, so that it is whole
		for i, p := range ports {
			if memory[i] == nil {
				memory[i] = make([]byte, p.bytes)
			}
			if content == (p.direction != engine.Output) {
				a.fill(memory[i], p.typ)
			}
		}
	}
	return memory
}

// fill writes numbers: small ones where they may be indices.
func (a *aliasing) fill(memory []byte, d tensor.DType) {
	n := len(memory) / d.Size()
	var numbers *tensor.Tensor
	if d.IsFloat() {
		values := make([]float32, n)
		for i := range values {
			values[i] = 4*a.random.Float32() - 1
		}
		numbers = tensor.FromFloat32s(d, values, n)
	} else {
		values := make([]int64, n)
		for i := range values {
			values[i] = a.random.Int64N(2)
		}
		numbers = tensor.FromInt64s(d, values, n)
	}
	copy(memory, numbers.Bytes())
}
