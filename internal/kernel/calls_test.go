// Package kernel has no code of its own: its folders are the families of kernels.
package kernel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Machine code cannot be preempted, and neither can a loop of Go that calls nothing else.
// So every loop around machine code goes through a Go function with a stack check: one
// that is not inlined. This test reads the source and holds it, for every processor:
//
//	for … { part(…) }    part, //go:noinline, calls machine code    right
//	for … { code(…) }                                               wrong
//	for … { small(…) }   small may be inlined and calls it          wrong
//
// A function that stands in a variable is taken for machine code if the name of the
// variable begins with fast.
func TestLoopsAroundMachineCode(t *testing.T) {
	folders, err := filepath.Glob("*/*_*.s")
	if err != nil || len(folders) == 0 {
		t.Fatal(err, folders)
	}
	done := map[string]bool{}
	for _, f := range folders {
		if dir := filepath.Dir(f); !done[dir] {
			done[dir] = true
			checkFolder(t, dir)
		}
	}
}

func checkFolder(t *testing.T, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	bodies := map[string]*ast.BlockStmt{} // of Go functions that may be inlined, or stop at a check
	code := map[string]bool{}             // machine code, and what may be inlined to it
	stops := map[string]bool{}            // has a stack check
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case f.Body == nil:
				code[f.Name.Name] = true
			default:
				bodies[e.Name()+"/"+f.Name.Name] = f.Body
				if f.Doc != nil {
					for _, c := range f.Doc.List {
						stops[f.Name.Name] = stops[f.Name.Name] || c.Text == "//go:noinline"
					}
				}
			}
		}
	}
	// calls reports whether a node calls machine code without a stack check before.
	calls := func(n ast.Node) (at ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			if !stops[name] && (code[name] || strings.HasPrefix(name, "fast")) {
				at = call
			}
			return true
		})
		return at
	}
	for grown := true; grown; {
		grown = false
		for key, body := range bodies {
			if name := filepath.Base(key); !code[name] && !stops[name] && calls(body) != nil {
				code[name], grown = true, true
			}
		}
	}
	for _, body := range bodies {
		ast.Inspect(body, func(n ast.Node) bool {
			var loop ast.Node
			switch n := n.(type) {
			case *ast.ForStmt:
				loop = n.Body
			case *ast.RangeStmt:
				loop = n.Body
			default:
				return true
			}
			if at := calls(loop); at != nil {
				t.Errorf("%v: a loop calls machine code with no function between them that is not inlined", fset.Position(at.Pos()))
			}
			return true
		})
	}
}
