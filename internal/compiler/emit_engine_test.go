package compiler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	v256 "github.com/espalier-ane/espalier/internal/encode/v256"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// What the tests of legalization and emission run layers with: a graph in text, the passes of the table
// that make it legal, every value in a memory of its own, the engine. What other passes do is not in the way.

// emitted takes a segment on to a container.
func emitted(t testing.TB, s *segment.Segment) {
	t.Helper()
	planApart(t, s)
	if err := emitApart(s); err != nil {
		t.Fatalf("%v\n%s", err, anec.Print(s.Graph))
	}
	if err := emitContainer(s); err != nil {
		t.Fatal(err)
	}
}

// emitApart makes tasks of the layers of a plan.
func emitApart(s *segment.Segment) error {
	s.BeginMemory()
	c := &segment.Choice{Segment: s, IsView: isViewKind, Spots: map[*anec.Value]segment.Spot{}}
	for v, p := range s.Plan.Places {
		b := s.NewBuffer(p.Region)
		b.Port, b.Offset = p.Port, p.Offset
		at := segment.Spot{Buffer: b, Strides: p.Strides}
		if p.Region != segment.InScratch && p.Region != segment.InDerived {
			b.Offset, at.Offset = 0, p.Offset
		}
		c.Spots[v] = at
	}
	var refused []error
	for _, l := range s.Plan.Layers {
		c.Layers = []*anec.Layer{l}
		tasks, err := v256.Encoder{}.Choose(c)
		s.Selected[l] = tasks
		refused = append(refused, err)
	}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	return bindTasks(s)
}

// planApart lays every value apart. Views are places in what they look at; one that leaves the graph, or is reshaped,
// is copied.
func planApart(t testing.TB, s *segment.Segment) {
	t.Helper()
	g := s.Graph
	for i, v := range g.Outputs {
		if v.Def == nil || isViewKind(v.Def) || slices.Contains(g.Outputs[:i], v) {
			l, err := g.Add(anec.Spec{Name: g.FreshName(v.Name + "_out"), Params: &anec.Copy{}, Bottoms: []*anec.Value{v}})
			if err != nil {
				t.Fatal(err)
			}
			g.Outputs[i] = l.Top()
		}
	}
	for _, l := range slices.Clone(g.Layers) {
		if l.Kind() == anec.KindReshape && l.Bottoms[0].Def != nil && isViewKind(l.Bottoms[0].Def) {
			dense, err := g.Add(anec.Spec{Name: g.FreshName(l.Name), Params: &anec.Copy{}, Bottoms: l.Bottoms})
			if err == nil {
				err = g.Edit(l, func(l *anec.Layer) { l.Bottoms[0] = dense.Top() })
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	plan := &segment.Plan{Places: map[*anec.Value]segment.Place{}}
	dense := func(v *anec.Value, r segment.Region, port int, offset int64) {
		p := segment.Place{Region: r, Port: port, Offset: offset}
		stride := int64(v.Type.DType.Size())
		for a := anec.NumAxes - 1; a >= 0; a-- {
			p.Strides[a] = stride
			stride *= int64(v.Type.Dims[a])
		}
		plan.Places[v] = p
	}
	port := func(name string, v *anec.Value, in, out bool) {
		dense(v, segment.InPort, len(plan.Ports), 0)
		plan.Ports = append(plan.Ports, segment.Port{Name: name, Value: v, In: in, Out: out})
	}
	for _, v := range g.Inputs {
		port(v.Name, v, true, false)
	}
	for _, st := range g.States {
		port(st.Name, st.Before, true, true)
		if st.After != st.Before {
			plan.Places[st.After] = plan.Places[st.Before]
		}
	}
	for i, v := range g.Outputs {
		port(fmt.Sprintf("out%d", i), v, false, true)
	}
	for _, v := range g.Values {
		if v.Const != nil {
			if !v.Const.Plain() {
				t.Fatalf("constant %q is compressed", v.Name)
			}
			dense(v, segment.InConstants, 0, int64(len(plan.Constants)))
			plan.Constants = append(plan.Constants, v.Const.Stored.Bytes()...)
			for len(plan.Constants)%64 != 0 {
				plan.Constants = append(plan.Constants, 0)
			}
		}
	}
	s.Order = g.Order()
	for _, l := range s.Order {
		if isViewKind(l) {
			plan.Places[l.Top()] = viewPlace(t, l, plan.Places[l.Bottoms[0]])
			continue
		}
		plan.Layers = append(plan.Layers, l)
		for _, v := range l.Tops {
			if _, ok := plan.Places[v]; !ok {
				n, _ := v.Type.Bytes()
				dense(v, segment.InScratch, 0, plan.Scratch)
				plan.Scratch += int64(n+63) / 64 * 64
			}
		}
	}
	s.Plan = plan
}

func isViewKind(l *anec.Layer) bool { return l.Info().NoTask == "a view" }

// viewPlace is where a view lies. A reshape looks at what is dense.
func viewPlace(t testing.TB, l *anec.Layer, x segment.Place) segment.Place {
	t.Helper()
	y := x
	switch p := l.Params.(type) {
	case *anec.Reshape:
		stride := int64(l.Top().Type.DType.Size())
		in := l.Bottoms[0].Type.Dims
		for a := anec.NumAxes - 1; a >= 0; a-- {
			if in[a] > 1 && x.Strides[a] != stride {
				t.Fatalf("a reshape of what is not dense: %v, %v", in, x.Strides)
			}
			stride *= int64(in[a])
		}
		stride = int64(l.Top().Type.DType.Size())
		for a := anec.NumAxes - 1; a >= 0; a-- {
			y.Strides[a] = stride
			stride *= int64(p.Dims[a])
		}
	case *anec.Transpose:
		for i, a := range p.Perm {
			y.Strides[i] = x.Strides[a]
		}
	case *anec.InputView:
		y.Offset += int64(p.Offset) * x.Strides[p.Axis]
		y.Strides[p.Axis] *= int64(p.Step)
	case *anec.Broadcast:
		for a, d := range l.Bottoms[0].Type.Dims {
			if d == 1 {
				y.Strides[a] = 0
			}
		}
	default:
		t.Fatalf("no view of %v", l.Kind())
	}
	return y
}

// loaded is a container made ready, from its bytes.
func loaded(t testing.TB, s *segment.Segment) (*engine.Program, *engine.Context) {
	t.Helper()
	p, err := engine.Load(s.File, s.Target.Numerics)
	if err != nil {
		t.Fatalf("%v\n%s", err, anec.Print(s.Graph))
	}
	return p, p.NewContext()
}

// evaluate runs a graph. Inputs are given in the order of the graph, states after them; the outputs come back.
func evaluate(t testing.TB, text string, inputs ...[]float32) [][]float32 {
	t.Helper()
	return evaluateGraph(t, parseGraph(t, text), inputs...)
}

// evaluateGraph is evaluate of a graph that is there, which it changes.
func evaluateGraph(t testing.TB, g *anec.Graph, inputs ...[]float32) [][]float32 {
	t.Helper()
	s := legal(t, g, 0)
	emitted(t, s)
	p, c := loaded(t, s)
	var outputs [][]float32
	for i, port := range s.Plan.Ports {
		if !port.In {
			continue
		}
		x := tensor.FromFloat32s(port.Value.Type.DType, inputs[i], len(inputs[i]))
		surface, err := c.Surface(port.Name)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := port.Value.Type.Bytes(); n != len(x.Bytes()) {
			t.Fatalf("input %q has %d elements, want %d bytes", port.Name, len(inputs[i]), n)
		}
		copy(surface, x.Bytes())
	}
	if err := p.RunAll(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	for _, port := range s.Plan.Ports {
		if !port.Out {
			continue
		}
		surface, err := c.Surface(port.Name)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := port.Value.Type.Bytes()
		count, _ := port.Value.Type.Dims.Count()
		y, err := tensor.FromBytes(port.Value.Type.DType, []int{count}, surface[:n])
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, y.Float32s())
	}
	return outputs
}
