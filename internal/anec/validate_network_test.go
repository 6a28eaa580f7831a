package anec

import (
	"cmp"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

func lookup(t *testing.T, name string) *hal.Target {
	t.Helper()
	target, err := hal.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// ids lists findings as "place: ID".
func ids(found []*diag.Finding) (list []string) {
	for _, r := range found {
		list = append(list, cmp.Or(r.Place.Layer, r.Place.Operation)+": "+string(r.ID))
	}
	return list
}

func TestValidateNetwork(t *testing.T) {
	g := New("net")
	x, err := g.AddInput("x", TypeOf(tensor.Float16, 1, 1, 3, 8, 8))
	if err != nil {
		t.Fatal(err)
	}
	b := Builder{Graph: g, Origin: []string{"op"}}
	padding := *NewParams(KindPadding).(*Padding)
	padding.Before[W] = 1
	y := b.Layer("pad", &padding, x)
	b.Origin = nil
	z := b.Layer("copy", &Copy{}, y)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	g.AddOutput(z)

	h13 := lookup(t, "h13")
	if r := ValidateNetwork(&Network{Graph: g}, h13); r != nil {
		t.Errorf("a good network: %v", ids(r))
	}
	// Everything at once, in order: the network first, then its layers.
	padding.Before[C] = 1 // the layer holds this very value
	g.Layers[0].Params = &padding
	n := &Network{Graph: g, Schema: Version{1, 1, 0}, Engines: 2, Converted: true}
	got := ValidateNetwork(n, h13)
	want := []string{": schema-newer", ": bonded-network", "pad: pad-channel", "copy: conversion-record"}
	if !slices.Equal(ids(got), want) {
		t.Fatalf("got %v, want %v", ids(got), want)
	}
	for i, text := range []string{
		"network schema 1.1.0 is newer than the current schema 1.0.10",
		"Bonded networks are not supported on the target",
		"Channel padding is not supported on ANE",
		`layer "copy" has no conversion record`,
	} {
		if got[i].Text != text {
			t.Errorf("got %q, want %q", got[i].Text, text)
		}
	}
	if p := got[2].Place; p.Operation != "op" || p.Layer != "pad" || got[2].Severity != diag.Refusal || got[2].Confidence == 0 {
		t.Errorf("got %+v", got[2])
	}
	// What stands in for a converted layer spares it a gate, which an authored one meets.
	padding.Before[C], padding.Mode = 0, td.PadSymmetric
	if got := ids(ValidateNetwork(&Network{Graph: g, Converted: true}, h13)); !slices.Equal(got, []string{"copy: conversion-record"}) {
		t.Errorf("converted: %v", got)
	}
	if got := ids(ValidateNetwork(&Network{Graph: g}, h13)); !slices.Equal(got, []string{"pad: pad-mode"}) {
		t.Errorf("authored: %v", got)
	}
	// Two units of one name.
	g.Layers[1].Name = "pad"
	n = &Network{Graph: g}
	if got := ValidateNetwork(n, lookup(t, "h14")); len(got) != 1 || got[0].Text != `ANE internal error: Unit name "pad" collision during MIL to ANEC IR conversion.` {
		t.Errorf("got %v", ids(got))
	}
	if got := ValidateNetwork(&Network{Graph: g, Engines: 2}, lookup(t, "virtual")); !slices.Equal(ids(got), []string{"pad: unit-collision"}) {
		t.Errorf("on virtual: %v", ids(got))
	}
}

func TestValidateModule(t *testing.T) {
	good := Operation{Name: "a", Type: "relu", Rank: 4, Converts: true}
	for _, c := range []struct {
		name   string
		target string
		module Module
		want   []string
		text   string
	}{
		{"good", "h13", Module{Operations: []Operation{good}}, nil, ""},
		{"legacy", "h12", Module{Operations: []Operation{good}}, []string{": module-family"}, "MIL is only supported for H13+ ANE architectures"},
		{"newer", "h13", Module{Schema: Version{1, 0, 11}}, []string{": schema-newer"}, "module schema 1.0.11 is newer than the current schema 1.0.10"},
		{"older", "h13", Module{Schema: Version{1, 0, 9}}, nil, ""},
		{"collision", "h13", Module{Operations: []Operation{good, good}}, []string{"a: unit-collision"}, `ANE internal error: Unit name "a" collision during MIL to ANEC IR conversion.`},
		{"dynamic", "h17s", Module{Operations: []Operation{{Name: "d", Dynamic: true, Converts: true}}}, []string{"d: module-dynamic"}, "Unranked input types or dynamic shapes are not supported on ANEs"},
		{"rank", "h17s", Module{Operations: []Operation{{Name: "r", Rank: 6, Converts: true}}}, []string{"r: module-rank"}, "tensor rank 6 exceeds the ANE maximum of 5"},
		{"record", "h17s", Module{Operations: []Operation{{Name: "u", Rank: 1}}}, []string{"u: conversion-record"}, `operation "u" has no conversion record`},
		{"virtual", "virtual", Module{Operations: []Operation{{Name: "u", Rank: 6, Dynamic: true}}}, nil, ""},
	} {
		target := lookup(t, c.target)
		got := ValidateModule(&c.module, target)
		if !slices.Equal(ids(got), c.want) {
			t.Errorf("%s: got %v, want %v", c.name, ids(got), c.want)
			continue
		}
		if len(got) == 1 && got[0].Text != c.text {
			t.Errorf("%s: got %q, want %q", c.name, got[0].Text, c.text)
		}
		// A module that cannot be converted has no network to look at.
		n := &Network{Graph: New("empty"), Engines: 2}
		all := ValidateModuleCreate(&c.module, n, target)
		want := c.want
		if want == nil && c.target != "virtual" {
			want = []string{": bonded-network"}
		}
		if !slices.Equal(ids(all), want) {
			t.Errorf("%s, created: got %v, want %v", c.name, ids(all), want)
		}
	}
}

func TestValidateMutableProcedure(t *testing.T) {
	g := New("mutable")
	b := Builder{Graph: g}
	b.Constant("plain", ConstantOf(tensor.New(tensor.Float16, 1, 1, 1, 2, 3)))
	b.Constant("quantized", &Constant{
		DType: tensor.Float16, Dims: Dims{1, 1, 1, 2, 3}, Stored: tensor.New(tensor.Int8, 1, 1, 1, 2, 3),
		Scale: tensor.New(tensor.Float16, 1, 1, 1, 1, 1),
	})
	palette := func(vector int) *Constant {
		return &Constant{
			DType: tensor.Float16, Dims: Dims{1, 1, 1, 2, 4}, Stored: tensor.New(tensor.UInt8, 1, 1, 1, 2, 4/vector),
			Palette: &Palette{Table: tensor.New(tensor.Float16, 1, 1, 1, 1, 1, 4, vector), VectorAxis: W},
		}
	}
	b.Constant("palette", palette(1))
	b.Constant("vectors", palette(2))
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	edit := func(names ...string) (edits []WeightEdit) {
		for _, name := range names {
			e := WeightEdit{Weight: name}
			if v := g.Value(name); v != nil {
				e.Bytes = v.Const.StoredBytes()
			}
			edits = append(edits, e)
		}
		return edits
	}
	h13 := lookup(t, "h13")
	for _, c := range []struct {
		edits []WeightEdit
		want  []string
		text  string
	}{
		{edit("plain", "palette"), nil, ""},
		{edit("nothing"), []string{"nothing: mutable-weight"}, `mutable weight "nothing" is no constant of the network`},
		{edit("plain", "plain"), []string{"plain: mutable-twice"}, `mutable weight "plain" is edited twice`},
		{[]WeightEdit{{Weight: "plain", Bytes: 11}}, []string{"plain: mutable-size"}, `mutable weight "plain": 11 bytes for one of 12`},
		{edit("quantized"), []string{"quantized: mutable-quantized"}, "mutable kernels are not supported with kernel quantization"},
		{edit("vectors"), []string{"vectors: mutable-palette"}, "Mutable kernels are not supported with vector palettization."},
	} {
		got := ValidateMutableProcedure(g, c.edits, h13)
		if !slices.Equal(ids(got), c.want) || len(got) == 1 && got[0].Text != c.text {
			t.Errorf("%v: got %v, want %v with %q", c.edits, got, c.want, c.text)
		}
	}
	if got := ValidateMutableProcedure(g, edit("quantized", "vectors"), lookup(t, "virtual")); got != nil {
		t.Errorf("on virtual: %v", ids(got))
	}
}

// The kinds' contracts fit the grammar: what our shape rules let in, the
// compiler's patterns match.
func TestPatterns(t *testing.T) {
	for _, k := range exportedKinds() {
		p := &k.Info().Pattern
		least, most := 0, 0
		for _, o := range k.Info().Contract.Bottoms {
			if folded(k, o) {
				continue
			}
			if !o.Optional {
				least++
			}
			most++
			if o.Repeats {
				most = 1 << 20
			}
		}
		if p.Max >= 0 && most > p.Max || most < p.Min {
			t.Errorf("%v takes %d to %d bottoms, the pattern %d to %d", k, least, most, p.Min, p.Max)
		}
		// Where a pattern has a text, the validator says it of a layer with a bottom
		// too many, or one too few where any number goes.
		if p.Text == "" {
			continue
		}
		n := p.Max + 1
		if p.Max < 0 {
			n = p.Min - 1
		}
		l := &Layer{Name: "l", Params: NewParams(k)}
		if s, ok := l.Params.(*Softmax); ok {
			s.Axes = td.AxesOf(C) // without axes it says that first
		}
		for range n {
			l.Bottoms = append(l.Bottoms, halfs(1, 1, 4, 1, 1))
		}
		if r := Validate(l, lookup(t, "h13")); r == nil || r.Text != p.Text {
			t.Errorf("%v with %d bottoms: %v, want %q", k, n, r, p.Text)
		}
	}
}
