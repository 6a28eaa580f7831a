package diag

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

func TestTable(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[ID]bool{}
	for _, r := range Rows() {
		if !form.MatchString(string(r.ID)) {
			t.Errorf("%q is no ID: lower case and hyphens", r.ID)
		}
		if seen[r.ID] {
			t.Errorf("%s stands twice", r.ID)
		}
		seen[r.ID] = true
		if r.Severity == 0 || r.Confidence == 0 || r.Title == "" || r.Doc == "" || (r.Effect != 0) != (r.Group == Hazards) {
			t.Errorf("%s is not whole: %+v", r.ID, *r)
		}
		if r.Confidence == Disputed {
			t.Errorf("%s: whether a finding is disputed, the chip decides", r.ID)
		}
		if strings.HasSuffix(r.Title, ".") || !strings.HasSuffix(r.Doc, ".") || strings.HasSuffix(r.Helps, ".") {
			t.Errorf("%s: a title and a help have no full stop, a text has one", r.ID)
		}
		if r.ID.Row() != r {
			t.Errorf("%s is not found", r.ID)
		}
	}
	if ID("none").Row().Title != "" {
		t.Error("an ID that is none has a row")
	}
}

// Every ID of the table is emitted somewhere, and nothing else is: product code names rows, and writes no ID as a string.
// The sources are read in this process, so that the test cache knows what the result depends on.
func TestEveryIDIsEmitted(t *testing.T) {
	rows := map[string]ID{} // by the names of their variables
	emitted := map[string]bool{}
	root := testkit.Root(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if path != root && (base == "testdata" || base == "tools" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(base) != ".go" || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		switch {
		case file.Name.Name == "diag":
			maps.Copy(rows, rowsOf(t, file))
		case imports(file, "internal/diag"):
			for _, complaint := range uses(set, file, emitted) {
				t.Error(complaint)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(Rows()) {
		t.Errorf("%d variables for %d rows", len(rows), len(Rows()))
	}
	for name, id := range rows {
		if !emitted[name] {
			t.Errorf("%s, diag.%s, is emitted nowhere", id, name)
		}
	}
}

// rowsOf are the IDs that a file declares, by the names of their variables.
func rowsOf(t *testing.T, file *ast.File) map[string]ID {
	rows := map[string]ID{}
	makers := []string{"place", "note", "gate", "inferred", "network", "listing", "codegen", "encode", "hazard"}
	for _, decl := range file.Decls {
		vars, ok := decl.(*ast.GenDecl)
		if !ok || vars.Tok != token.VAR {
			continue
		}
		for _, spec := range vars.Specs {
			v := spec.(*ast.ValueSpec)
			if len(v.Values) != 1 {
				continue
			}
			call, ok := v.Values[0].(*ast.CallExpr)
			if !ok {
				continue
			}
			if maker, ok := call.Fun.(*ast.Ident); !ok || !slices.Contains(makers, maker.Name) {
				continue
			}
			text, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			rows[v.Names[0].Name] = ID(text)
		}
	}
	return rows
}

func imports(file *ast.File, suffix string) bool {
	return slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool { return strings.HasSuffix(s.Path.Value, "/"+suffix+`"`) })
}

// uses notes what a file names of this package, and complains of IDs that are strings.
func uses(set *token.FileSet, file *ast.File, emitted map[string]bool) (complaints []string) {
	complain := func(n ast.Node) {
		complaints = append(complaints, fmt.Sprintf("%v: an ID is written as a string: name its row in package diag", set.Position(n.Pos())))
	}
	isString := func(e ast.Expr) bool {
		literal, ok := e.(*ast.BasicLit)
		return ok && literal.Kind == token.STRING
	}
	ours := func(e ast.Expr) string { // what it names of this package
		if s, ok := e.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "diag" {
				return s.Sel.Name
			}
		}
		return ""
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			emitted[ours(n)] = true
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "ID" && isString(n.Value) {
				complain(n)
			}
		case *ast.CallExpr:
			if name := ours(n.Fun); (name == "ID" || name == "Decline") && isString(n.Args[0]) {
				complain(n)
			}
		}
		return true
	})
	return complaints
}

// The test bites.
func TestUsesBite(t *testing.T) {
	for text, bad := range map[string]bool{
		`&diag.Finding{ID: diag.NoLayer}`:    false,
		`&diag.Finding{ID: "no-layer"}`:      true,
		`diag.ID("no-layer")`:                true,
		`diag.Decline("no-layer", "x")`:      true,
		`diag.Decline(diag.NoLayer, "x")`:    false,
		`struct{ ID string }{ID: string(x)}`: false,
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "x.go", "package x\n\nvar v = "+text+"\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := uses(set, file, map[string]bool{}); (got != nil) != bad {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestDocs keeps docs/diagnostics.md in step with the table.
func TestDocs(t *testing.T) {
	testkit.Golden(t, filepath.Join("..", "..", "docs", "diagnostics.md"), page())
}

func page() []byte {
	var b bytes.Buffer
	b.WriteString(`# Diagnostics

What ` + "`espalier check`" + ` and ` + "`espalier compile --strict`" + ` may find, by its ID. This page is made from the table in ` + "`internal/diag`" + `: after a change there, run
` + "`go test ./internal/diag -run TestDocs -update`" + `.

A finding says besides which operation it is about, what the chip allows and what was found. It is a *refusal* (the engine's
compiler refuses the network as a whole), a *fallback* (the operation runs on the host), a *hazard* (it runs on the engine, and
numbers or time may suffer) or a *note*. It is *measured* on the chip, *decoded* from its compiler, *predicted* by a rule or *disputed*:
the column has what holds unless the finding knows better for its chip.
`)
	intro := map[Group]string{
		Placement:  "Where an operation runs, before and beside the validators of layers.",
		Networks:   "Validators of whole networks, asked about each segment of the engine. Where one refuses, Apple's compiler makes no program of it, though ours may. Models that Apple's tools made meet few of these; they are for network descriptions that people write.",
		Lists:      "What stands in a property list that describes a network, beside what its layers are.",
		Layers:     "Validators of layers: the gates that the engine's compiler holds each layer to.",
		Generation: "Layers that pass their validator and of which no code comes.",
		Encoding:   "Layers that run on the engine, and are not native-encoded: their tasks are ours. `compile --strict` refuses them and says why.",
		Hazards:    "What no gate stops.",
	}
	for g := Placement; g <= Hazards; g++ {
		fmt.Fprintf(&b, "\n## %v\n\n%s\n\n| ID | Severity | Known | Meaning | What helps |\n|---|---|---|---|---|\n", g, intro[g])
		for _, r := range Rows() {
			if r.Group != g {
				continue
			}
			severity := r.Severity.String()
			if r.Effect != 0 && r.Severity == Hazard {
				severity += " for " + r.Effect.String()
			}
			fmt.Fprintf(&b, "| `%s` | %s | %v | **%s.** %s | %s |\n", r.ID, severity, r.Confidence, r.Title, r.Doc, r.Helps)
		}
	}
	fmt.Fprintf(&b, "\n%d IDs.\n", len(Rows()))
	return b.Bytes()
}
