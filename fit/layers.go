package fit

import (
	"errors"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// AddTable adds the fit to a graph, as a layer NeuronCustom, which target virtual
// runs and no chip's compiler takes, and returns its result. The builder keeps the
// error if there is one.
func AddTable(b *anec.Builder, r *Result, x *anec.Value) *anec.Value {
	words := r.Halfwords()
	table := b.Constant("table", anec.ConstantOf(tensor.Of(words, 1, 1, 1, 1, len(words))))
	return b.Layer("fit", &anec.NeuronCustom{}, addArgument(b, r.Scale, r.Offset, x), table)
}

// AddBasis adds a basis to a graph and returns its result. Each channel of x has
// units of its own:
//
//	x  N,D,C,H,W  ->  units  N,D,C*len(Out),H,W  ->  rectified  ->  fit  N,D,C,H,W
func AddBasis(b *anec.Builder, s *Basis, x *anec.Value) *anec.Value {
	if b.Err() != nil {
		return nil
	}
	channels, units := x.Type.Dims[anec.C], len(s.Out)
	constant := func(name string, values []float64, dims ...int) *anec.Value {
		all := make([]float32, 0, channels*len(values))
		for range channels {
			for _, v := range values {
				all = append(all, float32(v))
			}
		}
		return b.Constant(name, anec.ConstantOf(tensor.FromFloat32s(tensor.Float16, all, dims...)))
	}
	u := addArgument(b, s.Scale, s.Offset, x)
	conv := &anec.Conv{Window: anec.UnitWindow, Groups: channels, PaddingMode: td.PadZero}
	first := b.Layer("units", conv, u,
		constant("weights", s.Weights, channels*units, 1, 1, 1, 1), constant("biases", s.Biases, 1, 1, channels*units, 1, 1))
	rectified := b.Layer("rectified", &anec.Neuron{Type: td.FuncReLUN, A: 1}, first)
	conv = &anec.Conv{Window: anec.UnitWindow, Groups: channels, PaddingMode: td.PadZero}
	return b.Layer("fit", conv, rectified,
		constant("rises", s.Out, channels, 1, units, 1, 1), constant("bias", []float64{s.Bias}, 1, 1, channels, 1, 1))
}

// addArgument adds Scale*x + Offset.
func addArgument(b *anec.Builder, scale, offset float64, x *anec.Value) *anec.Value {
	if scale == 1 && offset == 0 {
		return x
	}
	return b.Layer("argument", &anec.GOC{Scale: float32(scale), Bias: float32(offset)}, x)
}

// Graphs are the fit as graphs of their own, which take x and give fit, of so many channels, rows and columns: "table" and, if there is
// one, "rectifiers".
func Graphs(r *Result, s *Basis, channels, rows, columns int) (graphs []*anec.Graph, err error) {
	add := func(name string, layers func(*anec.Builder, *anec.Value) *anec.Value) {
		g := anec.New(name)
		x, e := g.AddInput("x", anec.TypeOf(tensor.Float16, 1, 1, channels, rows, columns))
		b := anec.Builder{Graph: g}
		if e == nil {
			g.AddOutput(layers(&b, x))
		}
		err = errors.Join(err, e, b.Err())
		graphs = append(graphs, g)
	}
	add("table", func(b *anec.Builder, x *anec.Value) *anec.Value { return AddTable(b, r, x) })
	if s != nil {
		add("rectifiers", func(b *anec.Builder, x *anec.Value) *anec.Value { return AddBasis(b, s, x) })
	}
	return graphs, err
}
