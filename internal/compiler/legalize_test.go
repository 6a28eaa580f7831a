package compiler

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/internal/anec"
)

// legal takes a graph through the passes that make it legal.
func legal(t testing.TB, g *anec.Graph, seed uint64) *Segment {
	t.Helper()
	s := &Segment{Name: "net", Target: virtual(t), Graph: g}
	runPhase(t, Legalize, s, seed)
	return s
}

// Each rule has a file with a graph before and after, what goes into the graph and what must come out of it, worked
// out by hand: a line for each input, and for each output. The order in which a graph is stored changes nothing, and
// what is legal stays as it is.
func TestLegalize(t *testing.T) {
	goldens(t, "legalize", 3, func(t *testing.T, archive *txtar.Archive) {
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
		archive.Files = append(archive.Files, txtar.File{Name: "after", Data: []byte(after)})
	})
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
