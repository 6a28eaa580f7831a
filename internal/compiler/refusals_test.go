package compiler

import (
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/mil"
)

// Every segment of the engine is asked about as a module and as a network. What no model reaches is put into what was
// built of one: the operations of a segment, and its layers as they were converted.
func TestAssessAsksOfNetworks(t *testing.T) {
	const text = `program(1.0)
{
    func main<ios16>(tensor<fp16, [1, 8, 4, 16]> x) {
            tensor<fp16, [1, 8, 4, 16]> a = relu(x = x)[name = tensor<string, []>("a")];
            tensor<fp16, [1, 8, 4, 16]> b = tanh(x = a)[name = tensor<string, []>("b")];
            tensor<int32, [6]> six = const()[name = tensor<string, []>("six"), val = tensor<int32, [6]>([1, 2, 4, 2, 2, 16])];
            tensor<fp16, [1, 2, 4, 2, 2, 16]> c = reshape(x = b, shape = six)[name = tensor<string, []>("c")];
            tensor<int32, [?, 4]> d = non_zero(x = b)[name = tensor<string, []>("d")];
        } -> (b, c, d);
}
`
	take := func(p *Placement, name string) { // into the first segment, of what the host has
		i := slices.IndexFunc(p.Ops, func(o *Placed) bool { return o.Op.Name() == name })
		p.Parts[0].Ops = append(p.Parts[0].Ops, p.Ops[i])
	}
	for _, c := range []struct {
		name, target string
		change       func(p *Placement, s *assessed)
		want         diag.ID
		place        diag.Place
	}{
		{name: "nothing", target: "h13", change: func(*Placement, *assessed) {}},
		{name: "an old chip", target: "h12", change: func(*Placement, *assessed) {}, want: diag.ModuleFamily},
		{name: "rank", target: "h13", change: func(p *Placement, _ *assessed) { take(p, "c") },
			want: diag.ModuleRank, place: diag.Place{Operation: "c", Line: 7}},
		{name: "a shape that is not known", target: "h13", change: func(p *Placement, _ *assessed) { take(p, "d") },
			want: diag.ModuleDynamic, place: diag.Place{Operation: "d", Line: 8}},
		{name: "no conversion", target: "h13", change: func(p *Placement, _ *assessed) {
			p.Parts[0].Ops = append(p.Parts[0].Ops, &Placed{Op: &mil.Operation{Kind: "no_such_operation"}})
		}, want: diag.ConversionRecord, place: diag.Place{Operation: "no_such_operation"}},
		{name: "one name twice", target: "h13", change: func(_ *Placement, s *assessed) { s.network.Layers[1].Name = "a" },
			want: diag.UnitCollision, place: diag.Place{Operation: "b", Line: 5, Layer: "a"}},
		{name: "no origin", target: "h13", change: func(_ *Placement, s *assessed) { s.network.Layers[0].Origin = nil },
			want: diag.ConversionRecord, place: diag.Place{Layer: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			program, err := mil.ParseText("model.mil", []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			e, err := Examine(program.Functions[0], nil)
			if err != nil {
				t.Fatal(err)
			}
			a := e.NewAssessor()
			p := e.On(lookup(t, c.target))
			s, err := a.segment(t.Context(), p, p.Parts[0])
			if err != nil {
				t.Fatal(err)
			}
			key := fusesLike(p.Target) + a.key(p.Parts[0])
			c.change(p, s)
			a.segments = map[string]*assessed{key: s, fusesLike(p.Target) + a.key(p.Parts[0]): s}
			_, found, err := a.Assess(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if len(found) > 0 {
					t.Errorf("found %v", found)
				}
				return
			}
			c.place.Function = "main"
			i := slices.IndexFunc(found, func(f *diag.Finding) bool { return f.ID == c.want })
			if i < 0 || found[i].Severity != diag.Refusal || found[i].Place != c.place {
				t.Errorf("found %v, want %s at %v", found, c.want, c.place)
			}
		})
	}
}
