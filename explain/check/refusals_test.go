package check_test

import (
	"bytes"
	"encoding/json"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/tensor"
)

// A refusalCase is a made-up module and network that the validators of whole networks refuse.
type refusalCase struct {
	id     diag.ID
	target string
	module anec.Module
	change func(*anec.Network) // of a network that is well
	text   string
}

func edit(weight string, bytes int) anec.WeightEdit {
	return anec.WeightEdit{Weight: weight, Bytes: bytes}
}

var refusalCases = []refusalCase{
	{id: diag.SchemaNewer, change: func(n *anec.Network) { n.Schema = anec.Version{1, 1, 0} }, text: "network schema 1.1.0 is newer than the current schema 1.0.10"},
	{id: diag.SchemaNewer, module: anec.Module{Schema: anec.Version{2}}, text: "module schema 2.0.0 is newer than the current schema 1.0.10"},
	{id: diag.BondedNetwork, change: func(n *anec.Network) { n.Engines = 2 }, text: "Bonded networks are not supported on the target"},
	{id: diag.UnitCollision, change: func(n *anec.Network) { n.Graph.Layers[1].Name = n.Graph.Layers[0].Name }, text: `ANE internal error: Unit name "first" collision during MIL to ANEC IR conversion.`},
	{id: diag.ConversionRecord, change: func(n *anec.Network) { n.Graph.Layers[1].Origin = nil }, text: `layer "second" has no conversion record`},
	{id: diag.ConversionRecord, module: moduleOf(anec.Operation{Name: "u", Rank: 1}), text: `operation "u" has no conversion record`},
	{id: diag.ModuleFamily, target: "h12", module: moduleOf(anec.Operation{Name: "a", Rank: 1, Converts: true}), text: "MIL is only supported for H13+ ANE architectures"},
	{id: diag.ModuleDynamic, module: moduleOf(anec.Operation{Name: "d", Dynamic: true, Converts: true}), text: "Unranked input types or dynamic shapes are not supported on ANEs"},
	{id: diag.ModuleRank, module: moduleOf(anec.Operation{Name: "r", Rank: 6, Converts: true}), text: "tensor rank 6 exceeds the ANE maximum of 5"},
	{id: diag.MutableWeight, change: func(n *anec.Network) { n.Edits = []anec.WeightEdit{edit("x", 2)} }, text: `mutable weight "x" is no constant of the network`},
	{id: diag.MutableTwice, change: func(n *anec.Network) { n.Edits = []anec.WeightEdit{edit("plain", 12), edit("plain", 12)} }, text: `mutable weight "plain" is edited twice`},
	{id: diag.MutableSize, change: func(n *anec.Network) { n.Edits = []anec.WeightEdit{edit("plain", 4)} }, text: `mutable weight "plain": 4 bytes for one of 12`},
	{id: diag.MutablePalette, change: func(n *anec.Network) { n.Edits = []anec.WeightEdit{edit("vectors", 20)} }, text: "Mutable kernels are not supported with vector palettization."},
	{id: diag.MutableQuantized, change: func(n *anec.Network) { n.Edits = []anec.WeightEdit{edit("quantized", 8)} }, text: "mutable kernels are not supported with kernel quantization"},

	// And a gate of a layer, which a network meets where its operations alone did not.
	{id: diag.PadChannel, change: func(n *anec.Network) { n.Graph.Layers[0].Params.(*anec.Padding).Before[anec.C] = 1 }, text: "Channel padding is not supported on ANE"},
}

func moduleOf(o ...anec.Operation) anec.Module { return anec.Module{Operations: o} }

// goodNetwork is one that no target refuses: two layers and three constants.
func goodNetwork(t *testing.T) *anec.Network {
	t.Helper()
	g := anec.New("net")
	x, err := g.AddInput("x", anec.TypeOf(tensor.Float16, 1, 1, 3, 8, 8))
	if err != nil {
		t.Fatal(err)
	}
	b := anec.Builder{Graph: g, Origin: []string{"op"}}
	padding := *anec.NewParams(anec.KindPadding).(*anec.Padding)
	padding.Before[anec.W] = 1
	g.AddOutput(b.Layer("second", &anec.Copy{}, b.Layer("first", &padding, x)))
	b.Constant("plain", anec.ConstantOf(tensor.New(tensor.Float16, 1, 1, 1, 2, 3)))
	b.Constant("quantized", &anec.Constant{
		DType: tensor.Float16, Dims: anec.Dims{1, 1, 1, 2, 3}, Stored: tensor.New(tensor.Int8, 1, 1, 1, 2, 3), Scale: tensor.New(tensor.Float16, 1, 1, 1, 1, 1),
	})
	b.Constant("vectors", &anec.Constant{
		DType: tensor.Float16, Dims: anec.Dims{1, 1, 1, 2, 4}, Stored: tensor.New(tensor.UInt8, 1, 1, 1, 2, 2),
		Palette: &anec.Palette{Table: tensor.New(tensor.Float16, 1, 1, 1, 1, 1, 4, 2), VectorAxis: anec.W},
	})
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	return &anec.Network{Graph: g, Converted: true}
}

// What the validators of whole networks say stands in every form of the report, with its ID.
func TestRefusals(t *testing.T) {
	h13, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	if found := compiler.FindRefusals(&anec.Module{}, goodNetwork(t), h13); found != nil {
		t.Errorf("of a good network: %v", found[0])
	}
	for _, c := range refusalCases {
		t.Run(string(c.id), func(t *testing.T) {
			n, target := goodNetwork(t), h13
			if c.change != nil {
				c.change(n)
			}
			if c.target != "" {
				if target, err = hal.Lookup(c.target); err != nil {
					t.Fatal(err)
				}
			}
			found := compiler.FindRefusals(&c.module, n, target)
			if len(found) != 1 || found[0].ID != c.id || found[0].Text != c.text || found[0].Severity != check.Refusal || found[0].Confidence == 0 {
				t.Fatalf("found %+v, want %s: %s", found, c.id, c.text)
			}
			f := &check.Function{Name: "main", Operations: []*check.Operation{{Name: "op", Kind: "pad", Line: 3}}}
			f.Targets = []*check.Target{{Name: target.Name, Chip: target.Chips(), NoEstimate: "none", Places: make([]check.Place, 1), Findings: found}}
			shows(t, &check.Report{Model: "net.plist", Functions: []*check.Function{f}}, found[0])
		})
	}
	for _, row := range diag.Rows() {
		if row.Group == diag.Networks && row.Severity == diag.Refusal && !slices.ContainsFunc(refusalCases, func(c refusalCase) bool { return c.id == row.ID }) {
			t.Errorf("%s has no case", row.ID)
		}
	}
}

// shows holds all forms of a report to having a finding.
func shows(t *testing.T, r *check.Report, f *check.Finding) {
	t.Helper()
	plain := func(s string) string { return s }
	unescaped := func(s string) string { return strings.ReplaceAll(s, `\`, "") }
	for _, form := range []struct {
		name  string
		write func(*bytes.Buffer) error
		read  func(string) string
	}{
		{"text", func(b *bytes.Buffer) error { return r.WriteText(b) }, plain},
		{"md", func(b *bytes.Buffer) error { return r.WriteMarkdown(b) }, unescaped},
		{"html", func(b *bytes.Buffer) error { return r.WriteHTML(b) }, html.UnescapeString},
		{"sarif", func(b *bytes.Buffer) error { return r.WriteSARIF(b, ".", "v1") }, unescaped},
		{"json", func(b *bytes.Buffer) error { return json.NewEncoder(b).Encode(r) }, unescaped},
	} {
		var b bytes.Buffer
		if err := form.write(&b); err != nil {
			t.Fatal(err)
		}
		text := form.read(b.String())
		for _, part := range []string{string(f.ID), f.Text, f.Confidence.String()} {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not say %q:\n%s", form.name, part, text)
			}
		}
	}
}

// A model reaches the one about old chips by itself, once for all of its segments.
func TestRefusalOfAModel(t *testing.T) {
	m, err := coreml.Open("testdata/forms/gates.mil")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	targets, err := hal.ParseList("h12,h13")
	if err != nil {
		t.Fatal(err)
	}
	r, err := check.Model(t.Context(), "gates.mil", m, check.Options{Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	var refused []*check.Finding
	for i, target := range r.Functions[0].Targets {
		for _, f := range target.Findings {
			if f.Severity == check.Refusal {
				if i != 0 || f.Place != (diag.Place{File: "gates.mil", Function: "main"}) {
					t.Errorf("%s: %+v", target.Name, f)
				}
				refused = append(refused, f)
			}
		}
	}
	if len(refused) != 1 || refused[0].ID != diag.ModuleFamily || refused[0].Limit != "M1, A14 or later" {
		t.Fatalf("%+v", refused)
	}
	shows(t, r, refused[0])
	groups := r.Functions[0].Groups()
	if first := groups[0]; first.ID != diag.ModuleFamily || first.Title() != "the function" {
		t.Errorf("the gravest is %s about %s", first.ID, first.Title())
	}
}
