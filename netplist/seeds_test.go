package netplist

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
)

func graphsOf(p Procedure) []*anec.Graph { return []*anec.Graph{p.Graph} }

// seedLists are lists of our own: one of each kind's example, and those of testdata.
func seedLists(t testing.TB) (lists [][]byte) {
	for i, kind := range anec.Kinds() {
		g, err := kind.ExampleGraph()
		if err != nil {
			t.Fatal(err)
		}
		f, _, _, err := FromGraphs([]*anec.Graph{g})
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := f.Write(&buf, Form(i%2)); err != nil {
			t.Fatal(err)
		}
		lists = append(lists, buf.Bytes())
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "*.plist"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, data)
	}
	return lists
}
