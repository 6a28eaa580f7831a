package compiler

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// legal takes a graph through the passes that make it legal.
func legal(t testing.TB, g *anec.Graph, seed uint64) *segment.Segment {
	t.Helper()
	return legalFor(t, virtual(t), g, seed)
}

func legalFor(t testing.TB, target *hal.Target, g *anec.Graph, seed uint64) *segment.Segment {
	t.Helper()
	s := &segment.Segment{Name: "net", Target: target, Graph: g}
	runPhase(t, Legalize, s, seed)
	return s
}

// Each rule has a file with a graph before and after, what goes into the graph and what must come out of it, worked
// out by hand: a line for each input, and for each output. The order in which a graph is stored changes nothing, and
// what is legal stays as it is. What is legal for a chip computes the same on our own engine,
// and the validators, which a verdict goes by, take each of its layers.
func TestLegalize(t *testing.T) {
	goldens(t, "legalize", 3, func(t *testing.T, archive *txtar.Archive) {
		before, target := string(archive.Files[0].Data), targetOf(t, archive)
		after := anec.Print(legalFor(t, target, parseGraph(t, before), 0).Graph)
		for seed := uint64(1); seed < 4; seed++ {
			if got := anec.Print(legalFor(t, target, parseGraph(t, before), seed).Graph); got != after {
				t.Errorf("stored in another order, it becomes\n%s\nnot\n%s", got, after)
			}
		}
		if again := anec.Print(legalFor(t, target, parseGraph(t, after), 0).Graph); again != after {
			t.Errorf("made legal again, it becomes\n%s\nnot\n%s", again, after)
		}
		for _, l := range parseGraph(t, after).Layers {
			if r := anec.Validate(l, target); r != nil {
				t.Errorf("%s is legal and yet %s does not take it: %v", l.Name, target.Name, r)
			}
		}
		for _, graph := range []string{before, after} {
			got := evaluate(t, graph, numberLines(t, archive.Files[1].Data)...)
			for i, want := range numberLines(t, archive.Files[2].Data) {
				compare(t, got[i], want)
			}
		}
		archive.Files = append(archive.Files, txtar.File{Name: "after", Data: []byte(after)})
	})
}

// numberLines reads lines of numbers; 2*8 is the number 2 eight times.
func numberLines(t testing.TB, text []byte) (lines [][]float32) {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		var numbers []float32
		for _, word := range strings.Fields(line) {
			number, times, repeated := strings.Cut(word, "*")
			f, err := strconv.ParseFloat(number, 32)
			n := 1
			if err == nil && repeated {
				n, err = strconv.Atoi(times)
			}
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, slices.Repeat([]float32{float32(f)}, n)...)
		}
		lines = append(lines, numbers)
	}
	return lines
}
