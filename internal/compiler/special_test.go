package compiler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// specials are what has no place among numbers of a common size.
var specials = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}

// notCompared are operations that the test has no use for, and why.
var notCompared = map[string]string{
	"random_uniform":     "its results are random",
	"random_normal":      "its results are random",
	"random_bernoulli":   "its results are random",
	"random_categorical": "its results are random",
	"range_1d":           "its shape depends on the number, and it runs on the host alone",
	"non_zero":           "its shape depends on the numbers, and it runs on the host alone",
	"classify":           "its results are no arrays, and it runs on the host alone",
}

// specialsOnChips are operations of which a special number spreads further in the tasks of a chip than on the host, and why. Plain
// arithmetic is meant: what a chip's rules make of NaN and infinity is in docs/numerics.md.
var specialsOnChips = map[string]map[string]string{
	"h13": {
		"prelu":                     "a function of two slopes is a sum of products with the slopes, and inf·0 has no answer",
		"resize":                    byProducts,
		"resize_bilinear":           byProducts,
		"resize_nearest_neighbor":   byProducts,
		"upsample_bilinear":         byProducts,
		"upsample_nearest_neighbor": byProducts,
	},
}

const byProducts = "it is a sum of products with weights of 0 and 1 over a neighbourhood, and 0·NaN and 0·inf are NaN"

// A NaN or an infinity among the inputs of an operation comes out as the same on the host and on the engine: where the one gives a
// NaN, an infinity of a sign, or a finite number, so does the other, and results that are integers are equal.
func TestSpecialNumbersAgree(t *testing.T) {
	for _, name := range []string{"virtual", "h13", "h16"} {
		sets := [][]float32{specials[:1], specials[1:2], specials[2:], specials}
		if name != "virtual" {
			sets = sets[3:]
		}
		for _, m := range oneModels() {
			if notCompared[m.kind] != "" {
				continue
			}
			err := specialsAgree(t, &m, lookup(t, name), sets)
			switch why := specialsOnChips[name][m.kind]; {
			case err != nil && why == "":
				t.Errorf("%s: %s: %v", name, m.kind, err)
			case err == nil && why != "":
				t.Errorf("%s: %s agrees, though %s", name, m.kind, why)
			}
		}
	}
}

func specialsAgree(t *testing.T, m *oneModel, target *hal.Target, sets [][]float32) error {
	for _, weights := range []bool{false, true} {
		p := m.program(t)
		if weights && !fillWeights(p.Functions[0].Body) {
			break // all of it was seen
		}
		for n, set := range sets {
			inputs, states, ok := specialInputs(p.Functions[0], set, n)
			if !ok {
				return nil // nothing that is a float, or no array
			}
			if err := sameClasses(t.Context(), p, target, inputs, states); err != nil {
				return fmt.Errorf("%v, weights %v: %w", set, weights, err)
			}
		}
	}
	return nil
}

// fillWeights puts numbers of both signs in place of the zeros that the models have for weights; false if there are none.
func fillWeights(b *mil.Block) (any bool) {
	fill := func(c *mil.Constant) {
		if c == nil || c.Tensor == nil || c.Tensor.DType() != tensor.Float16 || c.Tensor.Len() < 2 {
			return
		}
		vals := make([]float32, c.Tensor.Len())
		for i, v := range c.Tensor.Float32s() {
			if v != 0 {
				return
			}
			vals[i] = float32(i*5%13-6) / 8
		}
		c.Tensor = tensor.FromFloat32s(tensor.Float16, vals, c.Tensor.Shape()...)
		any = true
	}
	for _, op := range b.Operations {
		for _, in := range op.Inputs {
			for _, a := range in.Args {
				fill(a.Const)
			}
		}
		for _, a := range op.Attributes {
			if a.Name == "val" {
				fill(a.Value)
			}
		}
	}
	return any
}

// specialInputs fills the inputs of a function: floats between -0.9 and 0.9, with zeros, and special numbers at a few places of
// each; integers and truths are 0 and 1.
func specialInputs(f *mil.Function, special []float32, n int) (inputs, states map[string]*tensor.Tensor, ok bool) {
	inputs, states = map[string]*tensor.Tensor{}, map[string]*tensor.Tensor{}
	floats := false
	for k, v := range f.Inputs {
		into, typ := inputs, v.Type
		if s, isState := typ.(*mil.StateType); isState {
			into, typ = states, s.Elem
		}
		tt, isTensor := typ.(*mil.TensorType)
		if !isTensor || tt.AnyRank {
			return nil, nil, false
		}
		shape, known := tt.Shape.Ints()
		if !known {
			return nil, nil, false
		}
		count, _ := tensor.Count(shape)
		if !tt.DType.IsFloat() {
			vals := make([]int64, count)
			for i := range vals {
				vals[i] = int64(i+k) % 2
			}
			into[v.Name] = tensor.FromInt64s(tt.DType, vals, shape...)
			continue
		}
		floats = true
		vals := make([]float32, count)
		for i := range vals {
			vals[i] = float32((i*7+k*3)%23-11) * 0.9 / 11
			if i%97 == (11*k+5*n)%min(97, count) || i%89 == 3*n {
				vals[i] = special[i%len(special)]
			}
		}
		into[v.Name] = tensor.FromFloat32s(tt.DType, vals, shape...)
	}
	return inputs, states, floats
}

// sameClasses compares what the host evaluator and a compiled program make of inputs, element by element.
func sameClasses(ctx context.Context, p *mil.Program, target *hal.Target, inputs, states map[string]*tensor.Tensor) error {
	f := p.Functions[0]
	ev, err := ops.NewEvaluator(f, ops.Virtual)
	if err != nil {
		return err
	}
	args := map[string]ops.Value{}
	for name, t := range inputs {
		args[name] = t
	}
	for name, t := range states {
		s := ops.NewState(mil.TypeOf(t))
		held, err := t.Convert(s.Read().DType())
		if err != nil {
			return err
		}
		s.Write(held)
		args[name] = s
	}
	want, err := ev.Run(ctx, args)
	if err != nil {
		return fmt.Errorf("the host: %w", err)
	}
	got, err := runCompiled(ctx, p, target, inputs, states)
	if err != nil {
		return err
	}
	for i, v := range want {
		t, isTensor := v.(*tensor.Tensor)
		if !isTensor {
			continue
		}
		declared := f.Body.Outputs[i].Type.(*mil.TensorType).DType
		if t, err = t.Convert(declared); err != nil {
			return err
		}
		g, w := got[i].Float64s(), t.Float64s()
		if len(g) != len(w) {
			return fmt.Errorf("output %d has %d elements, expected %d", i, len(g), len(w))
		}
		for k := range w {
			if !declared.IsFloat() && g[k] != w[k] || classOf(g[k]) != classOf(w[k]) {
				return fmt.Errorf("element %d of output %d is %v, and on the host %v", k, i, g[k], w[k])
			}
		}
	}
	return nil
}

// classOf tells NaN, the infinities and numbers apart.
func classOf(v float64) int {
	switch {
	case math.IsNaN(v):
		return 2
	case math.IsInf(v, 1):
		return 1
	case math.IsInf(v, -1):
		return -1
	}
	return 0
}

// runCompiled compiles a program, with plain arithmetic, and runs it once.
func runCompiled(ctx context.Context, p *mil.Program, target *hal.Target, inputs, states map[string]*tensor.Tensor) ([]*tensor.Tensor, error) {
	f := p.Functions[0]
	features := bundle.Function{Name: f.Name}
	feature := func(kind string, v *mil.Value) (bundle.Feature, bool) {
		typ := v.Type
		if s, ok := typ.(*mil.StateType); ok {
			typ = s.Elem
		}
		tt, ok := typ.(*mil.TensorType)
		if !ok {
			return bundle.Feature{}, false
		}
		shape, ok := tt.Shape.Ints()
		return bundle.Feature{Name: v.Name, Kind: kind, Array: &bundle.Array{Type: tt.DType.String(), Shape: shape}}, ok
	}
	for _, v := range f.Inputs {
		kind, list := "array", &features.Inputs
		if _, ok := v.Type.(*mil.StateType); ok {
			kind, list = "state", &features.States
		}
		one, _ := feature(kind, v)
		*list = append(*list, one)
	}
	for _, v := range f.Body.Outputs {
		one, ok := feature("array", v)
		if !ok {
			return nil, errNoArray
		}
		features.Outputs = append(features.Outputs, one)
	}
	r, err := Compile(ctx, &Job{Target: target, Numerics: "virtual", Program: p, Functions: []Entry{{Function: f, Features: features}}})
	if err != nil {
		return nil, err
	}
	var options e5rt.Options
	if r.Host != nil {
		if options.Host, err = host.New(r.Host); err != nil {
			return nil, err
		}
	}
	lib, err := e5rt.Open(r.Bundle, options)
	if err != nil {
		return nil, err
	}
	function := lib.Functions()[0]
	var state *e5rt.State
	if len(states) > 0 {
		state = function.NewState()
		for name, t := range states {
			held, err := state.Tensor(name)
			if err != nil {
				return nil, err
			}
			if err := held.CopyFrom(t); err != nil {
				return nil, err
			}
		}
	}
	op := function.NewOperation()
	for name, t := range inputs {
		if err := op.Set(name, t); err != nil {
			return nil, err
		}
	}
	if err := op.Run(ctx, state); err != nil {
		return nil, err
	}
	var out []*tensor.Tensor
	for _, v := range f.Body.Outputs {
		value, err := op.Value(v.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, value.(*tensor.Tensor).Clone())
	}
	return out, nil
}

var errNoArray = errors.New("an output is no array of a known shape")
