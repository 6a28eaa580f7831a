package check_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// routed is the report of a text on both routes: one operation is won and one lost, and others are on the host by both.
func routed(t testing.TB, route check.Route) *check.Report {
	t.Helper()
	targets, err := hal.ParseList("m1,m2,m3")
	if err != nil {
		t.Fatal(err)
	}
	r, err := check.File(t.Context(), "testdata/routes/routes.mil", check.Options{Targets: targets, Route: route})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The forms of a report on both routes.
func TestRouteForms(t *testing.T) {
	both := routed(t, check.Both)
	for form, write := range map[string]func(*bytes.Buffer) error{
		"txt":   func(b *bytes.Buffer) error { return both.WriteText(b) },
		"json":  func(b *bytes.Buffer) error { return both.WriteJSON(b) },
		"md":    func(b *bytes.Buffer) error { return both.WriteMarkdown(b) },
		"sarif": func(b *bytes.Buffer) error { return both.WriteSARIF(b, ".", "1") },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "testdata/routes/routes."+form, b.Bytes())
	}
	var page bytes.Buffer
	if err := both.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"authored: wins reduce_argmin; still on the host", "<code>authored-takes</code>", "<code>authored-loses</code>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// A route changes where operations run, and the default is the one that a model takes.
func TestRoutes(t *testing.T) {
	onHost := func(r *check.Report, target int) (kinds []string) {
		f := r.Functions[0]
		for i, p := range f.Targets[target].Places {
			if p.Backend == check.Host {
				kinds = append(kinds, f.Operations[i].Kind)
			}
		}
		return kinds
	}
	for _, c := range []struct {
		route    check.Route
		m1, m3   string
		recorded check.Route
	}{
		{"", "sin reduce_argmin topk band_part non_zero", "band_part non_zero", check.Converted},
		{check.Converted, "sin reduce_argmin topk band_part non_zero", "band_part non_zero", check.Converted},
		{check.Both, "sin reduce_argmin topk band_part non_zero", "band_part non_zero", check.Both},
		{check.Authored, "sin topk non_zero", "sin non_zero", check.Authored},
	} {
		r := routed(t, c.route)
		if m1, m3 := strings.Join(onHost(r, 0), " "), strings.Join(onHost(r, 2), " "); m1 != c.m1 || m3 != c.m3 {
			t.Errorf("%q: %q and %q on the host, want %q and %q", c.route, m1, m3, c.m1, c.m3)
		}
		if r.Route != c.recorded || (r.Functions[0].Targets[0].Authored != nil) != (c.route == check.Both) {
			t.Errorf("%q: the report says %q", c.route, r.Route)
		}
	}
	for _, name := range []string{"x", "Both", "any", "converted "} {
		if r, err := check.ParseRoute(name); err == nil {
			t.Errorf("%q is %v", name, r)
		}
	}
}

// ranked has an index of a maximum and the greatest elements.
func ranked(t testing.TB) *anec.Graph {
	t.Helper()
	g := anec.New("ranked")
	x, err := g.AddInput("x", anec.TypeOf(tensor.Float16, 1, 1, 1, 16, 64))
	if err != nil {
		t.Fatal(err)
	}
	b := anec.Builder{Graph: g}
	g.AddOutput(b.Layer("first", &anec.GlobalArgMinMax{Type: td.Max, Axis: anec.W}, x))
	g.AddOutput(b.Layer("best", &anec.TopK{Type: td.Max, K: 5, Sorting: anec.Sorting{Axis: anec.W}}, x))
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	return g
}

// Graphs are judged layer by layer, and one that is refused refuses the whole.
func TestGraphs(t *testing.T) {
	targets, err := hal.ParseList("m1,m2,m3")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ranked.anec")
	if err := os.WriteFile(path, []byte(anec.Print(ranked(t))), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := check.File(t.Context(), path, check.Options{Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	r.Rename("ranked.anec")
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ranked.anec, function ranked: 2 layers\n  h13g  M1  is refused: TopK; no estimate: ", "\n  h14g  M2  runs whole on the engine, ",
		"\nrefusal: TopK on h13g [codegen-topk, disputed]\n", "\nnote: GlobalArgMinMax on h13g, h14g [disputed-unit, disputed]\n", "disputed: gated to A15 by direct authoring too",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if m1 := r.Functions[0].Targets[0]; m1.Whole() || !m1.Refused() || m1.OnHost() != 0 || m1.Dispatches() != 0 {
		t.Errorf("on the M1: %+v", m1)
	}
	if lines := r.OnHost(targets); len(lines) != 1 || !strings.HasPrefix(lines[0], "h13g, function ranked: is refused: TopK") {
		t.Errorf("%q", lines)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"route":"authored"`, `"graph":true`, `"backends":["engine","nowhere"]`, `"severity":"refusal"`} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	for _, form := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return r.WriteMarkdown(b) },
		func(b *bytes.Buffer) error { return r.WriteHTML(b) },
		func(b *bytes.Buffer) error { return r.WriteSARIF(b, ".", "1") },
	} {
		var b bytes.Buffer
		if err := form(&b); err != nil || !bytes.Contains(b.Bytes(), []byte("codegen-topk")) {
			t.Errorf("%v in %s", err, b.Bytes())
		}
	}

	for _, route := range []check.Route{check.Converted, check.Both} {
		_, err := check.File(t.Context(), path, check.Options{Route: route})
		if _, ok := errors.AsType[*check.RouteError](err); !ok {
			t.Errorf("%v: %v", route, err)
		}
	}
	_, err = check.File(t.Context(), path, check.Options{Function: "other"})
	if missing, ok := errors.AsType[*check.FunctionError](err); !ok || !slices.Equal(missing.Have, []string{"ranked"}) {
		t.Errorf("%v", err)
	}
}
