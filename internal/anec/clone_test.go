package anec

import (
	"slices"
	"strings"
	"testing"
)

// A clone is the same graph, and none of its values and layers is one of the other's: what is done to it leaves the other as it
// was.
func TestClone(t *testing.T) {
	g, err := Parse(everything, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := Print(g)
	c := g.Clone()
	if got := Print(c); got != before {
		t.Errorf("the clone is\n%s\nnot\n%s", got, before)
	}
	if err := Verify(c); err != nil {
		t.Error(err)
	}
	for _, v := range c.Values {
		if slices.Contains(g.Values, v) || c.Value(v.Name) != v {
			t.Errorf("%s: it is the other's, or has not its name", v.Name)
		}
	}
	for _, l := range c.Layers {
		if slices.Contains(g.Layers, l) {
			t.Errorf("%s is the other's", l.Name)
		}
		for _, v := range append(l.Reads(), l.Tops...) {
			if !slices.Contains(c.Values, v) {
				t.Errorf("%s has %s of the other", l.Name, v.Name)
			}
		}
	}
	b := &Builder{Graph: c}
	twice := b.Layer("twice", &Alias{}, c.Value("x"))
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	for _, l := range slices.Clone(c.Value("x").Uses) {
		if l != twice.Def {
			c.ReplaceRead(l, c.Value("x"), twice)
		}
	}
	if after := Print(g); after != before {
		t.Errorf("what was done to the clone shows:\n%s\nnot\n%s", after, before)
	}
}

// All layers of a graph, copied into another with the same inputs and states, are the same graph. Some of them need what the
// others make.
func TestCopyLayers(t *testing.T) {
	g, err := Parse(everything, nil)
	if err != nil {
		t.Fatal(err)
	}
	given := func() (*Graph, map[*Value]*Value) {
		c, here := New(g.Name), map[*Value]*Value{}
		for _, v := range g.Inputs {
			if here[v], err = c.AddInput(v.Name, v.Type); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range g.States {
			state, err := c.AddState(s.Name, s.Before.Type)
			if err != nil {
				t.Fatal(err)
			}
			here[s.Before] = state.Before
		}
		return c, here
	}
	c, here := given()
	if err := c.CopyLayers(g.Order(), here); err != nil {
		t.Fatal(err)
	}
	c.States[0].After = here[g.States[0].After]
	lines := func(g *Graph) (list []string) {
		for line := range strings.Lines(Print(g)) {
			if strings.HasPrefix(line, "%") {
				list = append(list, line)
			}
		}
		return list
	}
	if got, want := lines(c), lines(g); !slices.Equal(got, want) {
		t.Errorf("the copies are\n%s\nnot\n%s", strings.Join(got, ""), strings.Join(want, ""))
	}
	if err := Verify(c); err != nil {
		t.Error(err)
	}

	c, here = given()
	if err := c.CopyLayers([]*Layer{g.Value("b").Def}, here); err == nil || !strings.Contains(err.Error(), `value "a" is not there`) {
		t.Errorf("without what it reads: %v", err)
	}
}
