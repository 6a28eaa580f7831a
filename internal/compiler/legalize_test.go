package compiler

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// legal takes a graph through the passes that make it legal. The graph is verified after each, and stored in
// another order before each if there is a seed.
func legal(t testing.TB, g *anec.Graph, seed uint64) *Segment {
	t.Helper()
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	s := &Segment{Name: "net", Target: target, Graph: g}
	for i, p := range Passes() {
		if p.Phase != Legalize {
			continue
		}
		if seed != 0 {
			anec.Shuffle(g, rand.New(rand.NewPCG(seed, uint64(i))))
		}
		if err := p.Run(s); err != nil {
			t.Fatalf("pass %s: %v\n%s", p.Name, err, anec.Print(g))
		}
		if err := anec.Verify(g); err != nil {
			t.Fatalf("after pass %s: %v\n%s", p.Name, err, anec.Print(g))
		}
	}
	return s
}

// Each rule has a file with a graph before and after, what goes into the graph and what must come out of it, worked
// out by hand: a line for each input, and for each output. The order in which a graph is stored changes nothing, and
// what is legal stays as it is.
func TestLegalize(t *testing.T) {
	files, err := filepath.Glob("testdata/legalize/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) < 3 {
				t.Fatalf("%d parts, want before, in and out", len(archive.Files))
			}
			before := string(archive.Files[0].Data)
			after := anec.Print(legal(t, parseGraph(t, before), 0).Graph)
			for seed := uint64(1); seed < 4; seed++ {
				if got := anec.Print(legal(t, parseGraph(t, before), seed).Graph); got != after {
					t.Errorf("stored in another order, it becomes\n%s\nnot\n%s", got, after)
				}
			}
			if again := anec.Print(legal(t, parseGraph(t, after), 0).Graph); again != after {
				t.Errorf("made legal again, it becomes\n%s\nnot\n%s", again, after)
			}
			got := evaluate(t, before, numberLines(t, archive.Files[1].Data)...)
			for i, want := range numberLines(t, archive.Files[2].Data) {
				compare(t, got[i], want)
			}
			archive.Files = append(archive.Files[:3], txtar.File{Name: "after", Data: []byte(after)})
			testkit.Golden(t, file, txtar.Format(archive))
		})
	}
}

func numberLines(t testing.TB, text []byte) (lines [][]float32) {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		var numbers []float32
		for _, word := range strings.Fields(line) {
			f, err := strconv.ParseFloat(word, 32)
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, float32(f))
		}
		lines = append(lines, numbers)
	}
	return lines
}
