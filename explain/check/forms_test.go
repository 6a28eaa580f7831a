package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// gates is the report of a text that meets gates of all severities but one, on three chips.
func gates(t testing.TB) *check.Report {
	t.Helper()
	const file = "testdata/forms/gates.mil"
	m, err := coreml.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	targets, err := hal.ParseList("m1,m2,m3")
	if err != nil {
		t.Fatal(err)
	}
	r, err := check.Model(t.Context(), file, m, check.Options{Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestJSON(t *testing.T) {
	text, err := json.MarshalIndent(gates(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/forms/gates.json", append(text, '\n'))
}

// Every field of the schema is explained.
func TestJSONIsDocumented(t *testing.T) {
	text, err := json.Marshal(&check.Report{Route: check.Both, Readings: []check.Reading{{Name: "a14"}}, Functions: []*check.Function{{
		AbsentWeights: true, Graph: true, Shapes: []string{"x 1"},
		Operations: []*check.Operation{{Name: "o", Line: 1, Origin: "o"}, {Name: "p", Offset: 1}},
		Targets: []*check.Target{
			{Places: make([]check.Place, 2), Segments: []check.Segment{{}}, NoEstimate: "none", Authored: &check.Authoring{}},
			{Places: make([]check.Place, 2), Estimate: &check.Estimate{Excluded: "host"}, Findings: []*check.Finding{
				{ID: diag.WorkingSet, Severity: check.Hazard, Text: "t", Limit: "l", Found: "f", Remedy: "r", Confidence: check.Disputed, Source: "s", Against: "a", Place: diag.Place{Operation: "o"}},
				{ID: diag.UnitCollision, Severity: check.Refusal, Text: "t", Confidence: check.Decoded, Place: diag.Place{Layer: "l"}},
			}},
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## `espalier check --format json`")
	section, _, _ = strings.Cut(section, "\n## ")
	fields := regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(text), -1)
	if len(fields) < 40 {
		t.Fatalf("%d fields in %s", len(fields), text)
	}
	for _, f := range fields {
		if !strings.Contains(section, "`"+f[1]+"`") {
			t.Errorf("docs/json.md does not have the field %q of check", f[1])
		}
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := gates(t).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/forms/gates.md", b.Bytes())
}

// Findings that a comment cannot hold are counted.
func TestMarkdownIsShort(t *testing.T) {
	f := &check.Function{Name: "main"}
	target := &check.Target{Name: "h13"}
	for i := range 5000 {
		kind := "kind" + string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		name := fmt.Sprintf("%s%d", strings.Repeat("n", 26), i)
		f.Operations = append(f.Operations, &check.Operation{Name: name, Kind: kind})
		target.Places = append(target.Places, check.Place{Backend: check.Host, Status: "no path"})
		target.Findings = append(target.Findings, &check.Finding{
			ID: diag.NoLayer, Severity: check.Fallback, Place: diag.Place{Operation: name}, Text: "there is none for " + kind, Confidence: check.Predicted,
		})
	}
	f.Targets = []*check.Target{target}
	var b bytes.Buffer
	if err := (&check.Report{Model: "m", Functions: []*check.Function{f}}).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 65536 || !strings.Contains(b.String(), "- and 616 more") {
		t.Errorf("%d bytes, more than a comment takes", b.Len())
	}
}

func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := gates(t).WriteSARIF(&b, ".", "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/forms/gates.sarif", b.Bytes())
	checkSARIF(t, b.Bytes(), func(line int, properties map[string]any) bool { return line > 1 && properties == nil })

	// A binary model has bytes instead of lines.
	b.Reset()
	r := report(t, "testdata/models/sort_topk")
	r.Model = modelPath(t, "testdata/models/sort_topk")
	if err := r.WriteSARIF(&b, testkit.Root(t), "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	checkSARIF(t, b.Bytes(), func(line int, properties map[string]any) bool {
		offset, ok := properties["byteOffset"].(float64)
		return line == 1 && ok && offset > 0
	})
	if want := `"uri": "testdata/models/sort_topk/model.mlpackage/Data/com.apple.CoreML/model.mlmodel"`; !strings.Contains(b.String(), want) {
		t.Errorf("no %s", want)
	}
}

// checkSARIF holds a log to the rules of SARIF 2.1.0 that apply to it: members that must be there, their types and
// enumerations, indices into the rules, relative addresses, and nothing that the standard does not know.
func checkSARIF(t *testing.T, text []byte, place func(line int, properties map[string]any) bool) {
	t.Helper()
	var log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name    string `json:"name"`
					Version string `json:"version"`
					Rules   []struct {
						ID               string            `json:"id"`
						ShortDescription map[string]string `json:"shortDescription"`
						Help             map[string]string `json:"help"`
						Default          map[string]string `json:"defaultConfiguration"`
					} `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			BaseIDs    map[string]json.RawMessage `json:"originalUriBaseIds"`
			ColumnKind string                     `json:"columnKind"`
			Artifacts  []json.RawMessage          `json:"artifacts"`
			Results    []struct {
				RuleID    string            `json:"ruleId"`
				RuleIndex int               `json:"ruleIndex"`
				Level     string            `json:"level"`
				Message   map[string]string `json:"message"`
				Locations []struct {
					Physical struct {
						File struct {
							URI    string `json:"uri"`
							BaseID string `json:"uriBaseId"`
						} `json:"artifactLocation"`
						Region struct {
							StartLine  int            `json:"startLine"`
							Properties map[string]any `json:"properties"`
						} `json:"region"`
					} `json:"physicalLocation"`
					Logical []struct {
						Name      string `json:"name"`
						Qualified string `json:"fullyQualifiedName"`
						Kind      string `json:"kind"`
					} `json:"logicalLocations"`
				} `json:"locations"`
				Fingerprints map[string]string `json:"partialFingerprints"`
				Properties   map[string]any    `json:"properties"`
			} `json:"results"`
		} `json:"runs"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 {
		t.Fatalf("version %q, schema %q, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	run := log.Runs[0]
	rules := run.Tool.Driver.Rules
	if run.Tool.Driver.Name == "" || run.ColumnKind != "unicodeCodePoints" || len(run.Results) == 0 || len(rules) == 0 {
		t.Errorf("driver %q, columns %q, %d results, %d rules", run.Tool.Driver.Name, run.ColumnKind, len(run.Results), len(rules))
	}
	levels := []string{"none", "note", "warning", "error"}
	var ids, prints []string
	for _, r := range rules {
		if r.ID == "" || slices.Contains(ids, r.ID) || r.ShortDescription["text"] == "" || r.Help["text"] == "" || !slices.Contains(levels, r.Default["level"]) {
			t.Errorf("rule %+v", r)
		}
		ids = append(ids, r.ID)
	}
	braces := regexp.MustCompile(`\{\d+\}`)
	for _, r := range run.Results {
		if r.RuleIndex < 0 || r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("result of %q has the rule %d", r.RuleID, r.RuleIndex)
		}
		if !slices.Contains(levels, r.Level) || r.Message["text"] == "" || braces.MatchString(r.Message["text"]) || len(r.Locations) != 1 {
			t.Errorf("result %+v", r)
			continue
		}
		print := r.Fingerprints["espalierFinding/v1"]
		if print == "" || slices.Contains(prints, print) {
			t.Errorf("fingerprint %q of %s is not its own", print, r.Message["text"])
		}
		prints = append(prints, print)
		l := r.Locations[0]
		uri, err := url.Parse(l.Physical.File.URI)
		if err != nil || uri.IsAbs() || strings.HasPrefix(uri.Path, "/") || strings.Contains(uri.Path, "..") || strings.Contains(uri.Path, `\`) {
			t.Errorf("address %q is not relative (%v)", l.Physical.File.URI, err)
		}
		if run.BaseIDs[l.Physical.File.BaseID] == nil {
			t.Errorf("base %q is not declared", l.Physical.File.BaseID)
		}
		if !place(l.Physical.Region.StartLine, l.Physical.Region.Properties) {
			t.Errorf("region %+v", l.Physical.Region)
		}
		if len(l.Logical) != 1 || l.Logical[0].Kind != "operation" || !strings.HasSuffix(l.Logical[0].Qualified, "/"+l.Logical[0].Name) {
			t.Errorf("logical location %+v", l.Logical)
		}
	}
}

// A model outside of the repository has an absolute address.
func TestSARIFOutside(t *testing.T) {
	r := gates(t)
	var b bytes.Buffer
	if err := r.WriteSARIF(&b, filepath.Join("testdata", "check"), ""); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"uri": "file:///`) || strings.Contains(b.String(), "SRCROOT") {
		t.Errorf("%s", b.String()[:1500])
	}
}

// The page needs nothing but itself, and shows what a model says as text.
func TestHTML(t *testing.T) {
	r := gates(t)
	const nasty = `<script>alert(1)</script>`
	r.Functions[0].Operations[1].Name = nasty
	r.Functions[0].Operations[1].Origin = `"><img src=x onerror=alert(1)>`
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, outside := range []string{"http:", "https:", "//cdn", "@import", "url(", nasty, "<img"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %q", outside)
		}
	}
	if got := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1); len(got) != 1 || got[0][1] != "data:," {
		t.Errorf("the page refers to %q", got)
	}
	if n := strings.Count(page, template.HTMLEscapeString(nasty)); n < 2 {
		t.Errorf("the name of an operation is shown %d times, expected matrix and findings", n)
	}
	f := r.Functions[0]
	if n := strings.Count(page, `<svg role="img"`); n != len(f.Targets) {
		t.Errorf("%d pictures of segments for %d targets", n, len(f.Targets))
	}
	boxes := 0
	for _, target := range f.Targets {
		boxes += len(target.Segments)
		if !strings.Contains(page, template.HTMLEscapeString(target.Outcome(f))) {
			t.Errorf("no verdict of %s", target.Name)
		}
	}
	if n := strings.Count(page, "<rect "); n != boxes {
		t.Errorf("%d boxes for %d segments", n, boxes)
	}
	if n, want := len(regexp.MustCompile(`<td class="[nshb]"`).FindAllString(page, -1)), len(f.Targets)*len(f.Operations); n != want {
		t.Errorf("%d cells, expected %d", n, want)
	}
}

// Reports are known again by how they begin, in every form; other files are not taken for one.
func TestIsReport(t *testing.T) {
	r := gates(t)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return r.WriteText(b) },
		"markdown": func(b *bytes.Buffer) error { return r.WriteMarkdown(b) },
		"html":     func(b *bytes.Buffer) error { return r.WriteHTML(b) },
		"sarif":    func(b *bytes.Buffer) error { return r.WriteSARIF(b, ".", "v1") },
		"json":     func(b *bytes.Buffer) error { return json.NewEncoder(b).Encode(r) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !isReport(t, b.Bytes()) {
			t.Errorf("%s is not taken for a report:\n%.300s", name, b.Bytes())
		}
	}
	model, err := os.ReadFile("testdata/forms/gates.mil")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"", "notes", string(model), "{}", `{"report": "mine"}`, "<!DOCTYPE html>\n<html></html>",
		`{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [{"tool": {"driver": {"name": "other"}}}]}`} {
		if isReport(t, []byte(other)) {
			t.Errorf("%.60q is taken for a report", other)
		}
	}
}

func isReport(t *testing.T, content []byte) bool {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, content, 0o666); err != nil {
		t.Fatal(err)
	}
	ours, err := check.IsReportFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ours
}
