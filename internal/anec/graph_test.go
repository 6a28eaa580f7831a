package anec

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// parse reads a graph that the test wrote.
func parse(t *testing.T, text string) *Graph {
	t.Helper()
	g, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// diamond is two ways from one convolution to one sum.
const diamond = `graph diamond
input %x : fp16[1,1,3,8,8]
const %w : fp16[3,1,3,1,1] {data = splat(0.5)}
%a = anec.convolution(%x, %w) : fp16[1,1,3,8,8] from conv_0
%b = anec.relu(%a) : fp16[1,1,3,8,8]
%c = anec.tanh(%a) : fp16[1,1,3,8,8]
%d = anec.add(%b, %c) : fp16[1,1,3,8,8]
%e = anec.multiply(%d, %d) : fp16[1,1,3,8,8]
output %e
`

func TestUses(t *testing.T) {
	g := parse(t, diamond)
	uses := func(name string) (names []string) {
		for _, l := range g.Value(name).Uses {
			names = append(names, l.Name)
		}
		return names
	}
	if got := uses("a"); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("a is read by %v", got)
	}
	if got := uses("d"); !slices.Equal(got, []string{"e"}) {
		t.Errorf("d is read by %v: once for each layer", got)
	}
}

func TestEdit(t *testing.T) {
	g := parse(t, diamond)
	a, b, c, d := g.Value("a"), g.Value("b"), g.Value("c"), g.Value("d")

	// The activation goes into the convolution; the sum reads it there.
	if err := g.Edit(a.Def, func(l *Layer) { l.Epilogue.Post = &Activation{Function: td.FuncReLU} }); err != nil {
		t.Fatal(err)
	}
	if err := g.ReplaceUses(b, a); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(b.Def); err != nil {
		t.Fatal(err)
	}
	// A second live operand.
	if err := g.Edit(c.Def, func(l *Layer) {
		l.Epilogue.Steps = []Step{{Code: td.MicroEW, EW: td.EWAdd, Operand: a}}
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.ReplaceUses(d, c); err != nil {
		t.Fatal(err)
	}
	if n := g.Sweep(); n != 1 {
		t.Errorf("%d layers swept, want the sum", n)
	}
	if err := Verify(g); err != nil {
		t.Error(err)
	}
	want := `graph diamond
input %x : fp16[1,1,3,8,8]
const %w : fp16[3,1,3,1,1] {data = splat(0.5)}
%a = anec.convolution(%x, %w) | post relu : fp16[1,1,3,8,8] from conv_0
%c = anec.tanh(%a) | ew Add %a : fp16[1,1,3,8,8]
%e = anec.multiply(%c, %c) : fp16[1,1,3,8,8]
output %e
`
	if got := Print(g); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// What an edit breaks is put back.
func TestEditRefused(t *testing.T) {
	g := parse(t, diamond)
	before := Print(g)
	conv := g.Value("a").Def
	for name, change := range map[string]func(*Layer){
		"field":    func(l *Layer) { l.Params.(*Conv).Groups = 2 },
		"bottom":   func(l *Layer) { l.Bottoms[1] = g.Value("x") },
		"missing":  func(l *Layer) { l.Bottoms = l.Bottoms[:1] },
		"epilogue": func(l *Layer) { l.Epilogue.GOC = &GainOffset{} },
		"tops":     func(l *Layer) { l.Params = &TopK{Type: td.Max, K: 1, Sorting: Sorting{Results: td.ResultBoth}} },
	} {
		var e *LayerError
		if err := g.Edit(conv, change); !errors.As(err, &e) || e.Layer != "a" || !slices.Equal(e.Origin, []string{"conv_0"}) {
			t.Errorf("%s: got %v", name, err)
		}
		if got := Print(g); got != before {
			t.Errorf("%s left\n%s", name, got)
		}
		if err := Verify(g); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := g.Remove(conv); err == nil {
		t.Error("a layer that is read was removed")
	}
	if err := g.ReplaceUses(g.Value("a"), g.Value("w")); err == nil {
		t.Error("a value was replaced by one of another type")
	}
}

// A pass that takes out many layers discards them and sweeps once.
func TestDiscard(t *testing.T) {
	g := parse(t, `graph g
input %x : fp16[1,1,1,1,4]
%a = anec.tanh(%x) : fp16[1,1,1,1,4]
%b = anec.copy(%a) : fp16[1,1,1,1,4]
%c = anec.add(%b, %a) : fp16[1,1,1,1,4]
output %c
output %b
`)
	a, b := g.Value("a"), g.Value("b")
	if err := g.Discard(b.Def); err == nil || !strings.Contains(err.Error(), `"b" is still read`) {
		t.Errorf("discarded what is read: %v", err)
	}
	if err := g.ReplaceReads(b, a); err != nil {
		t.Fatal(err)
	}
	if g.Outputs[1] != b || len(b.Uses) != 0 || len(a.Uses) != 2 {
		t.Errorf("outputs %v, %d readers of b, %d of a", g.Outputs, len(b.Uses), len(a.Uses))
	}
	if err := g.ReplaceUses(b, a); err != nil {
		t.Fatal(err)
	}
	if err := g.Discard(b.Def); err != nil {
		t.Fatal(err)
	}
	if len(a.Uses) != 1 || a.Uses[0].Name != "c" {
		t.Errorf("%d readers of a", len(a.Uses))
	}
	if n := g.Sweep(); n != 1 {
		t.Errorf("%d layers swept, want 1", n)
	}
	if err := Verify(g); err != nil {
		t.Error(err)
	}
}

// Nothing goes by the order of storage.
func TestShuffle(t *testing.T) {
	g := parse(t, diamond)
	want := Print(g)
	for seed := range uint64(20) {
		Shuffle(g, rand.New(rand.NewPCG(seed, 0)))
		if got := Print(g); got != want {
			t.Fatalf("seed %d: got\n%s", seed, got)
		}
		if err := Verify(g); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStates(t *testing.T) {
	g := parse(t, `graph s
input %x : fp16[1,1,2,1,4]
input %at : int32[1,1,1,1,1]
state %cache : fp16[1,1,2,8,4] -> %cache.1
state %kept : fp16[1,1,1,1,1] -> %kept @"a state"
%cache.1 = anec.ring_buffer_writer(%cache, %x, %at) {live = [H]} : fp16[1,1,2,8,4]
%y = anec.multiply(%cache.1, %kept) : fp16[1,1,2,8,4]
output %y
`)
	if s := g.States[0]; s.After.Def.Kind() != KindRingBufferWriter || !g.IsOutput(s.After) || g.IsOutput(s.Before) {
		t.Errorf("the state leaves %v", s.After)
	}
	if s := g.States[1]; s.Name != "a state" || s.Before != s.After {
		t.Errorf("state %q", s.Name)
	}
	if n := g.Sweep(); n != 0 {
		t.Errorf("%d layers swept", n)
	}
}

func TestBuilder(t *testing.T) {
	g := New("b")
	x, err := g.AddInput("x", TypeOf(tensor.Float16, 1, 1, 3, 8, 8))
	if err != nil {
		t.Fatal(err)
	}
	b := Builder{Graph: g, Origin: []string{"op"}}
	y := b.Layer("t", &ElementWise{Type: td.EWMult}, x, b.Scalar("t", 2))
	y = b.LayerAs(tensor.Float32, "t", &Neuron{Type: td.FuncReLU}, y)
	both := b.Layers(tensor.Invalid, "k", &TopK{Type: td.Max, K: 2, Sorting: Sorting{Axis: W, Results: td.ResultBoth}}, y)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	g.AddOutput(both[1])
	want := `graph b
input %x : fp16[1,1,3,8,8]
const %t : fp32[1,1,1,1,1] {data = [2]}
%t_1 = anec.multiply(%x, %t) : fp16[1,1,3,8,8] from op
%t_2 = anec.relu(%t_1) {output_type = fp32} : fp32[1,1,3,8,8] from op
%k, %k.1 = anec.top_k(%t_2) {k = 2, axis = W, results = Both} : fp32[1,1,3,8,2], int32[1,1,3,8,2] from op
output %k.1
`
	if got := Print(g); got != want {
		t.Errorf("got\n%s", got)
	}
	if err := Verify(g); err != nil {
		t.Error(err)
	}
	if v := b.Layer("bad", &Softmax{}, y); v != nil || b.Err() == nil || !strings.Contains(b.Err().Error(), `layer "bad" (Softmax)`) {
		t.Errorf("got %v, %v", v, b.Err())
	}
	if b.Layer("more", &Copy{}, y) != nil || g.Value("more") != nil {
		t.Error("a builder went on after an error")
	}
}

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name, want string
		harm       func(g *Graph)
	}{
		{"name", "stands twice", func(g *Graph) { g.Value("a").Name = "b" }},
		{"id", "which value", func(g *Graph) { g.Value("a").ID = g.Value("b").ID }},
		{"type", `top "a" is fp16[1,1,3,8,7], the rule says fp16[1,1,3,8,8]`, func(g *Graph) { g.Value("a").Type.Dims[W] = 7 }},
		{"element type", "none that a task can hold", func(g *Graph) { g.Value("x").Type.DType = tensor.String }},
		{"interleave", "interleave 5", func(g *Graph) { g.Value("x").Type.Interleave = 5 }},
		{"two origins", "2 origins", func(g *Graph) { g.Value("x").Const = g.Value("w").Const }},
		{"no origin", "0 origins", func(g *Graph) { g.Inputs = nil }},
		{"constant", "its constant fp16[3,1,3,1,1]", func(g *Graph) { g.Value("w").Type.Dims[N] = 4 }},
		{"uses", "knows 1 readers, has 2", func(g *Graph) { v := g.Value("a"); v.Uses = v.Uses[:1] }},
		{"foreign top", "is not its own", func(g *Graph) { g.Value("a").Def = nil }},
		{"foreign bottom", `reads "z", which is not in the graph`, func(g *Graph) {
			g.Value("b").Def.Bottoms[0] = &Value{Name: "z", Type: g.Value("a").Type}
		}},
		{"gone layer", "which is not in the graph", func(g *Graph) {
			g.Layers = slices.DeleteFunc(g.Layers, func(l *Layer) bool { return l.Name == "a" })
		}},
		{"layer twice", "stands twice", func(g *Graph) { g.Layers = append(g.Layers, g.Layers[0]) }},
		{"circle", "circle of layers", func(g *Graph) {
			if err := g.Edit(g.Value("b").Def, func(l *Layer) { l.Bottoms[0] = g.Value("e") }); err != nil {
				panic("bug: " + err.Error())
			}
		}},
		{"contract", "w is missing", func(g *Graph) {
			l := g.Value("a").Def
			g.dropUses(l)
			l.Bottoms = l.Bottoms[:1]
			g.addUses(l)
		}},
		{"output", "output 0 is not in the graph", func(g *Graph) { g.Outputs[0] = &Value{} }},
		{"state", "is fp16[1,1,3,8,8] before and fp16[3,1,3,1,1] after", func(g *Graph) {
			g.Inputs = nil
			g.States = []*State{{"s", g.Value("x"), g.Value("w")}}
		}},
		{"no kind", "has no kind", func(g *Graph) { g.Value("a").Def.Params = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := parse(t, diamond)
			c.harm(g)
			err := Verify(g)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
