package v7_test

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// Every list that is at hand, compiled for H13 and run.

// listNames are the lists, as paths without their ending.
func listNames(t testing.TB) (names []string) {
	t.Helper()
	root := testkit.Shared(t, "netplists")
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(path, ".plist"); ok {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A listRun is a list, compiled for a target, and its results by the names of its outputs.
type listRun struct {
	native, extension int // tasks
	form              string
	why               []string // layers have no native tasks
	results           map[string][]float32
}

func runList(t testing.TB, name string, target *hal.Target, weights func(file string) []byte) *listRun {
	t.Helper()
	g := listGraph(t, name, nil, func(file string) []byte {
		if name == "plists/gemm" { // its weights are not at hand
			return randomWeightsFile(1 << 15)
		}
		return weights(file)
	})
	result, err := compiler.Compile(t.Context(), &compiler.Job{Target: target, Functions: []compiler.Entry{{Graph: g}}})
	if err != nil {
		t.Fatal(err)
	}
	run := &listRun{results: map[string][]float32{}}
	f := result.Functions[0]
	if len(f.Segments) != 1 {
		t.Fatalf("%d segments", len(f.Segments))
	}
	s := f.Segments[0]
	for _, task := range s.Tasks {
		if task.Unit != nil {
			run.native++
			continue
		}
		run.extension++
		if why := s.Declined[task.Layer]; why != nil && !slices.Contains(run.why, why.Error()) {
			run.why = append(run.why, why.Error())
		}
	}
	file, err := compiler.Container(s)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := file.Describe()
	if err != nil {
		t.Fatal(err)
	}
	run.form = spec.Form.String()
	p, err := engine.Load(file, target.Numerics)
	if err != nil {
		t.Fatal(err)
	}
	c := p.NewContext()
	for _, q := range p.Ports() {
		if q.Direction != engine.Output {
			r := rand.New(rand.NewPCG(23, uint64(len(q.Name))))
			values := make([]float32, q.Len())
			for i := range values {
				values[i] = float32(r.IntN(9) - 4)
				if q.Type == tensor.UInt8 {
					values[i] += 4
				}
			}
			if err := c.Set(q.Name, values); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.RunAll(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, q := range p.Ports() {
		if q.Direction == engine.Output {
			values := make([]float32, q.Len())
			if err := c.Get(q.Name, values); err != nil {
				t.Fatal(err)
			}
			run.results[q.Name] = values
		}
	}
	return run
}

// randomWeightsFile has numbers of fp32 that fp16 holds, too.
func randomWeightsFile(size int) []byte {
	r := rand.New(rand.NewPCG(64, 64))
	data := make([]byte, size)
	for i := 0; i < size; i += 4 {
		binary.LittleEndian.PutUint32(data[i:], math.Float32bits(float32(r.IntN(65)-32)/64))
	}
	return data
}

// TestLists compiles every list for H13 and runs it. What it computes is what our own engine makes of the list, as near as the chip's
// tables and fp16 allow.
func TestLists(t *testing.T) {
	virtual, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	names := listNames(t)
	if len(names) != 23 {
		t.Errorf("%d lists, want 23", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			weights := func(file string) []byte {
				if file == "../min.weights" { // below what the array computes with: it has zeros (h13 4.7)
					file = "../twos.weights"
				}
				return weightsFile(t, file)
			}
			chip, own := runList(t, name, h13(t), weights), runList(t, name, virtual, weights)
			if len(chip.results) != len(own.results) {
				t.Errorf("%d outputs, want %d", len(chip.results), len(own.results))
			}
			for output, want := range own.results {
				got := chip.results[output]
				if len(got) != len(want) || len(want) == 0 {
					t.Fatalf("%s: %d elements, want %d", output, len(got), len(want))
				}
				for i, v := range want {
					if d := math.Abs(float64(got[i] - v)); !(d <= 0.004+0.002*math.Abs(float64(v))) {
						t.Fatalf("%s: element %d is %v, want %v", output, i, got[i], v)
					}
				}
			}
		})
	}
}

// listsPage is the part of the page about all lists.
func listsPage(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`
## Every network description at hand

All compile for H13 and run. A layer that has no native tasks is an extension record, which ` + "`--strict`" + ` refuses, for the reason that is
given. The weights of plists/gemm are not at hand; the test draws them.

| Description | native tasks | extensions | container | why a layer has no native tasks |
|---|--:|--:|---|---|
`)
	for _, name := range listNames(t) {
		r := runList(t, name, h13(t), func(file string) []byte { return weightsFile(t, file) })
		fmt.Fprintf(&b, "| %s | %d | %d | of %s | %s |\n", name, r.native, r.extension, r.form, strings.Join(r.why, "; "))
	}
	return b.String()
}

// Apple's programs for matrices are of zeros. With our constants for other weights, where Apple's words find them, they compute the same
// as ours.
func TestAppleFilesWithWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(512, 1))
	weights := randomHalves(r, 2*512*512)
	for _, f := range appleFiles {
		if f.list != "simple/gemm" {
			continue
		}
		s := compileGraph(t, listGraph(t, f.list, f.edits, func(string) []byte { return weights }))
		ours, err := compiler.Container(s)
		if err != nil {
			t.Fatal(err)
		}
		theirs := f.open(t)
		copy(theirs.Constants().Data, ours.Constants().Data)
		if sameResults(t, theirs, ours) == 0 {
			t.Errorf("%s: nothing is the same", f.name)
		}
	}
}
