package selection

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// questions are the functions that end in a bool. They look for something that need not be there, and decline nothing: whoever
// asks goes on in another way. Everything else that may say no says why, with a *diag.Reason.
var questions = strings.Fields(`
	addressed alike beginsInside compatible depthwise permOf inRows inWindow isHalf isReLU isTranspose isWeights joinWithProduct
	joinedAll Keep loneNumber Names plain plainConcat readOnce regular same scalarHalf spreads tiled viewLayout`)

// No function of this package declines with a bare false. The sources are read in this process, so that the test cache knows
// what the result depends on.
func TestNobodyDeclinesWithoutAReason(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, complaint := range bareDeclines(set, file, used) {
			t.Error(complaint)
		}
	}
	for _, name := range questions {
		if !used[name] {
			t.Errorf("%s is on the list, and ends in no bool", name)
		}
	}
}

// bareDeclines complains of what ends in a bool: a function that is not one of the questions, and a function literal that has
// other results besides, for tasks perhaps.
func bareDeclines(set *token.FileSet, file *ast.File, used map[string]bool) (complaints []string) {
	complain := func(n ast.Node, what string) {
		complaints = append(complaints, set.Position(n.Pos()).String()+": "+what)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			results, last := resultsOf(n.Type)
			question := slices.Contains(questions, n.Name.Name)
			switch {
			case last != "bool":
			case !question:
				complain(n, n.Name.Name+" ends in a bool: let it return a *diag.Reason, or put it on the list of questions")
			case slices.Contains(results, "[]*units.Op"):
				complain(n, n.Name.Name+" has tasks: it is no question")
			default:
				used[n.Name.Name] = true
			}
		case *ast.FuncType: // of a literal, a parameter or a field; a declaration's was seen before
			if results, last := resultsOf(n); last == "bool" && slices.Contains(results, "[]*units.Op") {
				complain(n, "a function of tasks ends in a bool")
			}
		case *ast.ReturnStmt:
			if k := len(n.Results); k == 2 && isNamed(n.Results[0], "nil") && isNamed(n.Results[1], "false") {
				complain(n, "it declines with nil, false: say why")
			}
		}
		return true
	})
	return complaints
}

// resultsOf are the types of a function's results, as they are written, and the last of them.
func resultsOf(f *ast.FuncType) (types []string, last string) {
	if f.Results == nil {
		return nil, ""
	}
	for _, field := range f.Results.List {
		for range max(len(field.Names), 1) {
			types = append(types, written(field.Type))
		}
	}
	return types, types[len(types)-1]
}

// written is a type as it is written, as far as the rule asks.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + written(e.X)
	case *ast.ArrayType:
		return "[]" + written(e.Elt)
	case *ast.SelectorExpr:
		return written(e.X) + "." + e.Sel.Name
	}
	return "?"
}

func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// The test bites.
func TestBareDeclinesBite(t *testing.T) {
	for text, bad := range map[string]bool{
		`func (b *builder) tile() ([]*units.Op, bool) { return b.all() }`:         true,
		`func (b *builder) tile() (ops []*units.Op, ok bool) { return }`:          true,
		`func (b *builder) fits() bool { return true }`:                           true,
		`func (b *builder) tiled() ([]*units.Op, bool) { return b.all() }`:        true,
		`var f = func() ([]*units.Op, bool) { return b.all() }`:                   true,
		`func each(f func() ([]*units.Op, bool)) {}`:                              true,
		`func loneNumber() ([]float32, bool) { return nil , false }`:              true,
		`func loneNumber() (float32, bool) { return 0, false }`:                   false,
		`func tiled() bool { return false }`:                                      false,
		`func (b *builder) tile() ([]*units.Op, *diag.Reason) { return b.all() }`: false,
		`var f = func(i int) bool { return i > 0 }`:                               false,
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "x.go", "package x\n\n"+text+"\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := bareDeclines(set, file, map[string]bool{}); (got != nil) != bad {
			t.Errorf("%s: %v", text, got)
		}
	}
}
