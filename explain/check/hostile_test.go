package check_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/internal/diag"
)

// Whatever names a model has, a report stays what it is: one line is one line, no markup comes from a name, and nothing
// reaches a terminal as a command.
func TestHostileNames(t *testing.T) {
	const script = "<script>alert(1)</script>"
	names := []string{
		script, "</title></style>", `a"b'c`, "x`y|z*", "new\nline", "\x1b[31mred", "\u202ertl", "{0} {x}", "-->", "](javascript:alert(1))",
		strings.Repeat("n", 1<<20), "\xff\xfe",
	}
	f := &check.Function{Name: "main\n" + script, Shapes: []string{script + " 1×1"}}
	target := &check.Target{Name: "h13", Chip: "M1", NoEstimate: "none"}
	for i, name := range names {
		f.Operations = append(f.Operations, &check.Operation{Name: name, Kind: "sin", Origin: script, Line: i + 1})
		target.Places = append(target.Places, check.Place{Backend: check.Host, Status: "no path"})
		target.Findings = append(target.Findings, &check.Finding{
			ID: diag.NoLayer, Severity: check.Fallback, Place: diag.Place{Operation: name}, Against: script + "\n", Text: "of " + script + "\n\x1b", Found: script, Remedy: "write " + script,
		})
		target.Segments = append(target.Segments, check.Segment{Backend: check.Host, Operations: []int{i}})
	}
	f.Targets = []*check.Target{target}
	r := &check.Report{Model: "my\n" + script + ".mil", Functions: []*check.Function{f}}

	forms := map[string]func(*bytes.Buffer) error{
		"text":  func(b *bytes.Buffer) error { return r.WriteText(b) },
		"md":    func(b *bytes.Buffer) error { return r.WriteMarkdown(b) },
		"html":  func(b *bytes.Buffer) error { return r.WriteHTML(b) },
		"sarif": func(b *bytes.Buffer) error { return r.WriteSARIF(b, ".", "v1") },
		"json":  func(b *bytes.Buffer) error { return json.NewEncoder(b).Encode(r) },
	}
	for form, write := range forms {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		for _, c := range b.String() {
			if c != '\n' && unicode.IsControl(c) {
				t.Errorf("%s: has the control character %U", form, c)
				break
			}
		}
		switch form {
		case "text", "md", "html":
			if b.Len() > 64<<10 {
				t.Errorf("%s: %d bytes for %d operations", form, b.Len(), len(names))
			}
		default:
			if !json.Valid(b.Bytes()) {
				t.Errorf("%s: not JSON", form)
			}
		}
		if form == "html" && strings.Count(b.String(), "<script>") != 1 {
			t.Error("html: a script that is not the page's own")
		}
		if form == "text" && !strings.HasPrefix(b.String(), `my\n<script>alert(1)</script>.mil, function main\n`) {
			t.Errorf("text: begins with %.80q", b.String())
		}
	}
}

// A name with a colon is a path, not a scheme.
func TestSARIFColon(t *testing.T) {
	r := &check.Report{Model: "a:b %.mil", Functions: []*check.Function{{Name: "main"}}}
	var b bytes.Buffer
	if err := r.WriteSARIF(&b, ".", "v1"); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct {
			Artifacts []struct {
				Location struct {
					URI string `json:"uri"`
				} `json:"location"`
			} `json:"artifacts"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	uri := log.Runs[0].Artifacts[0].Location.URI
	if u, err := url.Parse(uri); err != nil || u.Scheme != "" || u.Path != "./a:b %.mil" {
		t.Errorf("%q is %+v, %v", uri, u, err)
	}
}
