package check_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// modelPath finds a model by its name in goldens: of the repository, or of the shared data.
func modelPath(t testing.TB, name string) string {
	t.Helper()
	if rest, ok := strings.CutPrefix(name, "shared/"); ok {
		return filepath.Join(testkit.Shared(t, filepath.FromSlash(rest)), "model.mlpackage")
	}
	return filepath.Join(testkit.Root(t), filepath.FromSlash(name), "model.mlpackage")
}

// report checks a model on targets; none are the base ones. The report calls the model by the name.
func report(t testing.TB, name string, targets ...string) *check.Report {
	t.Helper()
	m, err := coreml.Open(modelPath(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	o := check.Options{Targets: hal.Base()}
	if len(targets) > 0 {
		if o.Targets, err = hal.ParseList(strings.Join(targets, ",")); err != nil {
			t.Fatal(err)
		}
	}
	r, err := check.Model(t.Context(), name, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The text reports of ten models of different kinds. The verdicts were written by hand from the guide's rules before the
// code ran. Three of them were wrong, as the comments of these goldens say: gpt2_decode, stateful_kv_cache, b_control_flow.
// -update writes the reports and leaves the verdicts as they are.
func TestReports(t *testing.T) {
	files, err := filepath.Glob("testdata/check/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d goldens, expected ten (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			golden, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(golden.Comment), "\n")
			name, ok := strings.CutPrefix(line, "model: ")
			if !ok || len(golden.Files) == 0 || golden.Files[0].Name != "verdicts" {
				t.Fatalf("%s: expected a model and verdicts", file)
			}
			r := report(t, name)
			compareVerdicts(t, string(golden.Files[0].Data), r.Functions[0])

			var text bytes.Buffer
			if err := r.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if testkit.Update() {
				golden.Files = append(golden.Files[:1], txtar.File{Name: "report", Data: text.Bytes()})
				if err := os.WriteFile(file, txtar.Format(golden), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(golden.Files) != 2 || !bytes.Equal(golden.Files[1].Data, text.Bytes()) {
				t.Errorf("the report differs from %s; if that is right, run go test -update and read the diff\n%s", file, text.Bytes())
			}
		})
	}
}

// compareVerdicts holds a function to verdicts by hand. One that ends in "…" says how the line begins.
func compareVerdicts(t *testing.T, want string, f *check.Function) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(want), "\n")
	if len(lines) != len(f.Targets) {
		t.Fatalf("%d verdicts for %d targets", len(lines), len(f.Targets))
	}
	for i, target := range f.Targets {
		got := target.Name + "  " + target.Verdict(f)
		begin, open := strings.CutSuffix(lines[i], "…")
		if got != lines[i] && !(open && strings.HasPrefix(got, begin)) {
			t.Errorf("by hand:  %s\nby check: %s", lines[i], got)
		}
	}
}

// Every model of the repository can be checked on every target, and what is said of it is consistent.
func TestEveryModel(t *testing.T) {
	models, err := os.ReadDir(filepath.Join(testkit.Root(t), "testdata", "models"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		name := "testdata/models/" + m.Name()
		if _, err := os.Stat(modelPath(t, name)); err != nil {
			continue
		}
		t.Run(m.Name(), func(t *testing.T) {
			t.Parallel()
			for _, f := range report(t, name, "all").Functions {
				for _, target := range f.Targets {
					consistent(t, f, target)
				}
			}
		})
	}
}

// consistent holds a target to the meaning of its parts.
func consistent(t *testing.T, f *check.Function, target *check.Target) {
	t.Helper()
	if len(target.Places) != len(f.Operations) {
		t.Fatalf("%s: %d places for %d operations", target.Name, len(target.Places), len(f.Operations))
	}
	if (target.Estimate == nil) != (target.NoEstimate != "") {
		t.Errorf("%s: estimate %v and %q", target.Name, target.Estimate, target.NoEstimate)
	}
	there, told := map[string]bool{"": true}, map[string]bool{}
	for _, o := range f.Operations {
		there[o.Name] = true
	}
	for _, x := range target.Findings {
		if x.ID.Row().Title == "" || x.Text == "" || x.Severity == 0 || x.Confidence == 0 || !there[x.Place.Operation] {
			t.Errorf("%s: %+v", target.Name, x)
		}
		if x.Severity == check.Fallback {
			told[x.Place.Operation] = true
		}
	}
	for i, p := range target.Places {
		if o := f.Operations[i]; (p.Backend == check.Host) != told[o.Name] {
			t.Errorf("%s: %s %q is at %s, and that it falls back is said: %t", target.Name, o.Kind, o.Name, p.Backend, told[o.Name])
		}
	}
	for _, s := range target.Segments {
		for _, i := range s.Operations {
			if target.Places[i].Backend != s.Backend {
				t.Errorf("%s: %q of a segment on the %s is at %s", target.Name, f.Operations[i].Name, s.Backend, target.Places[i].Backend)
			}
		}
	}
}

// What is said of a target does not depend on the others: they share what they cut alike, and nothing else.
func TestTargetsAreIndependent(t *testing.T) {
	for _, name := range []string{"tiny_resnet", "sort_topk", "stateful_kv_cache", "comp_pal6", "lstm_bi2"} {
		name = "testdata/models/" + name
		for _, f := range report(t, name, "all").Functions {
			for _, target := range f.Targets {
				alone := report(t, name, target.Name).Functions[0].Targets[0]
				if !reflect.DeepEqual(alone, target) {
					t.Errorf("%s on %s:\nalone  %s\nbeside %s", name, target.Name, alone.Verdict(f), target.Verdict(f))
				}
			}
		}
	}
}

func TestCheckStops(t *testing.T) {
	m, err := coreml.Open(modelPath(t, "testdata/models/tiny_resnet"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := check.Model(ctx, "m", m, check.Options{Targets: hal.Base()}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestChipNames(t *testing.T) {
	want := map[string]string{
		"h13": "M1", "h13g": "M1", "h13c": "M1 Max", "h13s": "M1 Pro?", "h14": "M2", "h17": "M5", "h18g": "M6", "h18p": "A19, A19 Pro", "u1": "reference, not silicon",
	}
	for _, target := range report(t, "testdata/models/passthrough", "all").Functions[0].Targets {
		if name, ok := want[target.Name]; ok && target.Chip != name {
			t.Errorf("%s is called %q, expected %q", target.Name, target.Chip, name)
		}
	}
}

// Operations of one name, as those are that only write a state, are told apart by their places.
func TestSameNames(t *testing.T) {
	f := &check.Function{Name: "main", Operations: []*check.Operation{{Name: "write_state", Line: 4}, {Name: "write_state", Line: 7}}}
	target := &check.Target{Name: "h13", Places: make([]check.Place, 2)}
	for _, line := range []int{4, 7} {
		place := diag.Place{Operation: "write_state", Line: line}
		target.Findings = append(target.Findings, &check.Finding{ID: diag.NoLayer, Severity: check.Fallback, Text: "no", Place: place})
	}
	f.Targets = []*check.Target{target}
	groups := f.Findings()
	if len(groups) != 2 || groups[0].First() != 0 || groups[1].First() != 1 {
		t.Errorf("%+v", groups)
	}
}
