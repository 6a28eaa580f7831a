package ops

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The helpers here lower one operation in isolation, with the arguments of evalOp:
//
//	g := lowerOp(t, IOS15, "relu", args{"x": f32(dims(3), -1, 0, 2)})
//	wantKinds(t, g, "Neuron")
//
// What the layers compute is held to the evaluator where there is an engine to run them: in the tests of the
// compiler, and by the conformance cases. But every evalOp lowers its operation too, and holds the lowering to
// checkLowering.

// lowerOp lowers an operation to a graph, whose outputs are its results. The graph is swept.
func lowerOp(t *testing.T, o Opset, kind string, a args, opts ...evalOption) *anec.Graph {
	t.Helper()
	g, err := lowerArgs(o, kind, a, opts)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return g
}

// wantRefusal lowers an operation that must be refused, with a reason that has all the given parts.
func wantRefusal(t *testing.T, o Opset, kind string, a args, parts ...string) {
	t.Helper()
	_, err := lowerArgs(o, kind, a, nil)
	if err == nil {
		t.Fatalf("%s %v: expected a refusal", kind, a)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%s is refused with %q, expected it to have %q", kind, err, p)
		}
	}
}

// kindsOf are the kinds of a graph's layers in their order, constants left out: "Neuron Reshape".
func kindsOf(g *anec.Graph) string {
	var kinds []string
	for _, l := range g.Layers {
		kinds = append(kinds, l.Kind().String())
	}
	return strings.Join(kinds, " ")
}

// wantKinds compares the kinds of a graph's layers, in the order of the lowering.
func wantKinds(t *testing.T, g *anec.Graph, want string) {
	t.Helper()
	if got := kindsOf(g); got != want {
		t.Errorf("lowered to %q, expected %q\n%s", got, want, anec.Print(g))
	}
}

func lowerArgs(o Opset, kind string, a args, opts []evalOption) (*anec.Graph, error) {
	cfg := &evalConfig{}
	for _, opt := range opts {
		opt(cfg)
	}
	p := buildOp(o, kind, a, cfg, asGiven)
	types, err := p.outputTypes(o)
	if err != nil {
		return nil, err
	}
	p.declare(types)
	return lowerProgram(p)
}

// lowerProgram makes a graph of a function of one operation.
func lowerProgram(p *program) (*anec.Graph, error) {
	an, err := Analyze(p.f, nil)
	if err != nil {
		return nil, err
	}
	g := anec.New(p.f.Name)
	scope := &testScope{values: map[*mil.Value]*anec.Value{}, states: map[*mil.Value]*anec.State{}}
	for _, v := range p.f.Inputs {
		if err := scope.add(g, v); err != nil {
			return nil, err
		}
	}
	b := &anec.Builder{Graph: g}
	tops, err := an.Lower(p.op, b, scope)
	if err != nil {
		return nil, err
	}
	for _, v := range tops {
		g.AddOutput(v)
	}
	g.Sweep()
	return g, anec.Verify(g)
}

// testScope has the inputs of a function.
type testScope struct {
	values map[*mil.Value]*anec.Value
	states map[*mil.Value]*anec.State
}

// add makes an input or a state of what a graph can have, and skips the rest.
func (s *testScope) add(g *anec.Graph, v *mil.Value) error {
	typeOf := v.Type
	state, isState := typeOf.(*mil.StateType)
	if isState {
		typeOf = state.Elem
	}
	tt, ok := typeOf.(*mil.TensorType)
	if !ok || tt.AnyRank || tt.DType == tensor.String {
		return nil
	}
	shape, known := tt.Shape.Ints()
	dims, err := anec.DimsOf(shape)
	if !known || err != nil {
		return nil
	}
	typ := anec.Type{DType: tt.DType, Dims: dims, Interleave: 1}
	if isState {
		s.states[v], err = g.AddState(v.Name, typ)
	} else {
		s.values[v], err = g.AddInput(v.Name, typ)
	}
	return err
}

func (s *testScope) Value(v *mil.Value) (*anec.Value, error) {
	if a := s.values[v]; a != nil {
		return a, nil
	}
	return nil, noLayer("%q is no tensor of a graph", v.Name)
}

func (s *testScope) State(v *mil.Value) (*anec.State, error) {
	if a := s.states[v]; a != nil {
		return a, nil
	}
	return nil, noLayer("%q is no state of a graph", v.Name)
}

// checkLowering holds an operation to what is true of all lowerings: either the graph is whole and gives what the
// type rule says, or there is a reason why not. Both for live arguments and for constants. What moves elements alone
// is held to the evaluator as well.
func checkLowering(t *testing.T, o Opset, kind string, a args, cfg *evalConfig, types []mil.Type, vals []Value) {
	t.Helper()
	if d := Lookup(kind); d == nil || d.Lower == nil {
		return
	}
	for _, mode := range []buildMode{asGiven, allConstant} {
		p := buildOp(o, kind, a, cfg, mode)
		p.declare(types)
		g, err := lowerProgram(p)
		var refused *diag.Reason
		var rule *anec.LayerError
		if err != nil && !errors.As(err, &refused) && !errors.As(err, &rule) {
			t.Errorf("%s %v: the lowering fails: %v", kind, a, err)
		}
		if err == nil {
			checkMoves(t, kind, a, g, p.inputs, vals)
		}
	}
}

// TestEveryOperationLowersOrSaysWhy lists the operations without a native form and the reasons; testdata has
// the list.
func TestEveryOperationLowersOrSaysWhy(t *testing.T) {
	var list bytes.Buffer
	for _, d := range All() {
		switch {
		case d.Lower != nil && d.HostOnly != "":
			t.Errorf("%s has a lowering and a reason why it has none", d.Name)
		case d.Lower == nil && d.HostOnly == "":
			t.Errorf("%s has neither a lowering nor a reason why not", d.Name)
		case d.Lower == nil:
			fmt.Fprintf(&list, "%s: %s\n", d.Name, d.HostOnly)
		}
	}
	testkit.Golden(t, filepath.Join("testdata", "hostonly.txt"), list.Bytes())
}

// TestLoweringOrder keeps kindsOf honest: layers stand in the order in which they were added.
func TestLoweringOrder(t *testing.T) {
	g := lowerOp(t, IOS15, "reduce_sum", args{"x": f32(dims(2, 3, 4), 1), "axes": []int{1}})
	if !slices.IsSortedFunc(g.Layers, func(a, b *anec.Layer) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("layers are not in the order of their IDs")
	}
}
