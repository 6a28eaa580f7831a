package compiler

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// TestRoutes: what the guide says of the two compile routes (chapters 4 and 26) shows in the verdicts on models of one operation.
// A backend stands with the ID of its finding.
func TestRoutes(t *testing.T) {
	for _, c := range []struct{ kind, targets, converted, authored string }{
		// Whole-axis argmin: the floor is A15, the feature byte is set from A13 on; appendix B disputes it before A15.
		{"reduce_argmin", "h13 h14", "host minimum-family", "engine disputed-unit"},
		{"reduce_argmin", "h15 h17s", "engine", "engine"},
		{"reduce_argmin", "h12", "host globalargminmax-capability", "host globalargminmax-capability"},
		// Sine and cosine have no authoring bridge.
		{"sin", "h13 h14", "host neuron-mode", "host neuron-mode"},
		{"sin", "h15 h17s", "engine", "host codegen-sine-authored"},
		{"cos", "h15", "engine", "host codegen-sine-authored"},
		// Sort and top-k have a bridge, and code generation rejects it on the M1.
		{"argsort", "h13", "host codegen-sort", "host codegen-sort"},
		{"topk", "h13", "host codegen-topk", "host codegen-topk"},
		{"argsort", "h14", "engine", "engine"},
		// The texture engine, and the generator of random numbers, are bytes of both routes.
		{"affine", "h13", "host affine-texture", "host affine-texture"},
		{"affine", "h14", "engine", "engine"},
		{"crop_resize", "h17s", "engine", "host codegen-crop-resize-authored"},
		{"resample", "h17s", "engine", "host codegen-resample-authored"},
		{"resize", "h13", "engine stand-in", "engine stand-in"},
		{"random_uniform", "h14", "host random-capability", "host random-capability"},
		{"random_uniform", "h15", "engine", "engine"},
		// What the converter has no operation for, and layers do the work of.
		{"lstm", "h13", "host no-engine-operation", "engine"},
		{"random_bernoulli", "h15", "host no-engine-operation", "engine"},
		{"band_part", "h13", "host no-engine-operation", "engine our-unit"},
		{"mod", "h13", "host no-engine-operation", "host elementwise-type"},
		{"non_zero", "h13", "host no-engine-operation", "host no-layer"},
		{"slice_update", "h13", "engine", "host codegen-ring-buffer"},
		{"select", "h13", "engine", "engine our-unit"},
		{"conv", "h12 h13", "engine", "engine"},
		{"layer_norm", "h12", "host minimum-family", "host codegen-before-m1"},
		{"sin", "virtual", "engine", "engine"},
	} {
		m := converted("", "", "", "", c.kind, nil).model
		e := m.examine(t)
		i := slices.IndexFunc(e.Operations, func(x *Examined) bool { return x.Op.Kind == c.kind })
		for _, target := range strings.Fields(c.targets) {
			for route, want := range map[anec.Route]string{anec.Converted: c.converted, anec.Authored: c.authored} {
				v := e.Operations[i].verdict(lookup(t, target), route)
				got := v.Backend.String()
				if v.Finding != nil {
					got += " " + string(v.Finding.ID)
					if f := v.Finding.At(0, diag.Place{}); f.Confidence == diag.Disputed && f.Against == "" {
						t.Errorf("%s on %s, %v: disputed by nobody", c.kind, target, route)
					}
				}
				if got != want {
					t.Errorf("%s on %s, %v: got %q, want %q", c.kind, target, route, got, want)
				}
			}
		}
	}
}

// The remedy of the conversion route names the other one, and only where that takes the layers.
func TestAuthorDirectly(t *testing.T) {
	for _, m := range oneModels() {
		e := m.examine(t)
		for _, x := range e.Operations {
			for _, target := range hal.Base() {
				v := x.verdict(target, anec.Converted)
				if v.Finding == nil || !strings.Contains(v.Finding.Remedy, diag.AuthorDirectly) {
					continue
				}
				if a := x.verdict(target, anec.Authored); a.Backend != OnEngine {
					t.Errorf("%s on %s: the remedy is no help: %v", x.Op.Kind, target.Name, a.Finding)
				}
			}
		}
	}
}

// AssessGraph says of a graph what a compile does with it: here of the example of every kind.
func TestAssessGraphAgrees(t *testing.T) {
	for _, k := range anec.Kinds() {
		g, err := k.ExampleGraph()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"h13", "h14", "h15", "virtual"} {
			target := lookup(t, name)
			a, err := AssessGraph(t.Context(), g, target)
			if err != nil {
				t.Fatalf("%v on %s: %v", k, name, err)
			}
			r, err := Compile(t.Context(), &Job{Target: target, Functions: []Entry{{Graph: g}}})
			if (err == nil) == a.refused() {
				t.Errorf("%v on %s: said to be refused: %v; compiled: %v", k, name, a.refused(), err)
			}
			if err == nil && len(r.Functions[0].Segments) != len(a.Segments) {
				t.Errorf("%v on %s: %d segments, compiled %d", k, name, len(a.Segments), len(r.Functions[0].Segments))
			}
			if err != nil && a.Verdicts[0].Finding != nil && !strings.Contains(err.Error(), a.Verdicts[0].Finding.Text) {
				t.Errorf("%v on %s: %q, compiled: %v", k, name, a.Verdicts[0].Finding.Text, err)
			}
		}
	}
}

func TestAssessGraph(t *testing.T) {
	ranked := anec.New("ranked")
	x, err := ranked.AddInput("x", anec.TypeOf(tensor.Float16, 1, 1, 1, 16, 64))
	if err != nil {
		t.Fatal(err)
	}
	b := anec.Builder{Graph: ranked}
	a := b.Layer("a", &anec.Neuron{Type: td.FuncReLU}, x)
	ranked.AddOutput(b.Layer("first", &anec.GlobalArgMinMax{Type: td.Max, Axis: anec.W}, a))
	ranked.AddOutput(b.Layer("best", &anec.TopK{Type: td.Max, K: 5, Sorting: anec.Sorting{Axis: anec.W}}, a))
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ target, verdicts, found string }{
		{"h13", "engine engine nowhere", "disputed-unit codegen-topk"},
		{"h14", "engine engine engine", "disputed-unit"},
		{"h15", "engine engine engine", ""},
		{"virtual", "engine engine engine", ""},
	} {
		a, err := AssessGraph(t.Context(), ranked, lookup(t, c.target))
		if err != nil {
			t.Fatal(err)
		}
		var verdicts, found []string
		for _, v := range a.Verdicts {
			verdicts = append(verdicts, v.Backend.String())
			if v.Finding == nil {
				continue
			}
			found = append(found, string(v.Finding.ID))
			if (v.Backend == Nowhere) != (v.Finding.Severity == diag.Refusal) {
				t.Errorf("%s: %v", c.target, v.Finding)
			}
		}
		if got := strings.Join(verdicts, " "); got != c.verdicts {
			t.Errorf("%s: got %s, want %s", c.target, got, c.verdicts)
		}
		if got := strings.Join(found, " "); got != c.found {
			t.Errorf("%s: found %s, want %s", c.target, got, c.found)
		}
		if (a.Segments == nil) != a.refused() || a.refused() && a.Estimate.Known() {
			t.Errorf("%s: segments %v, estimate %v", c.target, a.Segments, a.Estimate)
		}
	}
}

// TestGatesOfRoutes keeps testdata/routes.txt: every kind on the M1, the M2 and the M3, by both routes.
func TestGatesOfRoutes(t *testing.T) {
	type cell struct {
		kind   anec.Kind
		target string
	}
	targets := []string{"h13", "h14", "h15"}
	said := func(v Verdict) string {
		switch {
		case v.Finding == nil:
			return "taken"
		case v.Backend == OnEngine:
			return "taken, " + string(v.Finding.ID)
		}
		return string(v.Finding.ID)
	}
	byConversion := map[cell]string{}
	for _, m := range oneModels() {
		for _, x := range m.examine(t).Operations {
			if x.Op.Kind != m.kind || x.Layers == nil {
				continue
			}
			for _, name := range targets {
				v := x.verdict(lookup(t, name), anec.Converted)
				for _, l := range x.workers() {
					at := cell{l.Kind(), name}
					if c, _ := ops.ConversionOf(m.kind); c.Native == "arg_min_max" {
						at.kind = anec.KindArgMinMax // which a chip's converter makes of it, and our lowering does not
					}
					if before := byConversion[at]; before == "" || v.Backend == OnEngine && !strings.HasPrefix(before, "taken") || said(v) == "taken" {
						byConversion[at] = said(v)
					}
				}
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprint(&b, `What the gates of the two routes say of each native kind, on the targets of the M1, the M2 and the M3. Made by a test:
go test ./internal/compiler -run TestGatesOfRoutes -update.

converted: of the operations of MIL that become layers of the kind, the one that comes farthest; - if none does.
authored: of the kind's example, as a unit of a network description.

`)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "kind")
	for _, name := range targets {
		fmt.Fprintf(table, "\t%s converted\t%s authored", name, name)
	}
	for _, k := range anec.Kinds() {
		g, err := k.ExampleGraph()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(table, "\n%v", k)
		for _, name := range targets {
			fmt.Fprintf(table, "\t%s\t%s", cmp.Or(byConversion[cell{k, name}], "-"), said(judgeUnit(g.Layers[0], lookup(t, name))))
		}
	}
	fmt.Fprintln(table)
	table.Flush()
	testkit.Golden(t, filepath.Join("testdata", "routes.txt"), b.Bytes())
}
