package espalier_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/dump"
	"github.com/espalier-ane/espalier/explain/model"
	"github.com/espalier-ane/espalier/tensor"
)

// Damaged files. Each mutation damages one input of one form, by what the form is made of: see mutationForms. The
// inputs are opened and run in a child process, so that nothing that a file does can hide: each must give an error or a
// result, in time and memory. A mutation is its number: the same number is always the same damage.
//
//	go test . -run Mutations                                       a few hundred
//	make mutate N=50000                                            as many as you like
//	ESPALIER_MUTATIONS=1 ESPALIER_MUTATION=1234 go test . -run Mutations -v   the one with this number
//
// The child says which mutation it begins and how it ended, a line each. One that takes the child down is reported, and
// the next child goes on after it.

const (
	mutationLimitTime   = 30 * time.Second // ends what hangs
	mutationDeadline    = 1500 * time.Millisecond
	mutationLimitMemory = 1 << 30
	mutationCount       = 396
)

func TestMutationsGiveAnErrorOrAResult(t *testing.T) {
	if os.Getenv("ESPALIER_MUTATION_CHILD") != "" {
		runMutations(t)
		return
	}
	first, count := envInt("ESPALIER_MUTATION", 0), envInt("ESPALIER_MUTATIONS", mutationCount)
	tally := mutationTally{"result": {}, "error": {}}
	failed := 0
	for next := first; next < first+count; {
		next = mutationChild(t, next, first+count, tally, &failed)
	}
	ran := 0
	for i, form := range mutationForms {
		t.Logf("%-20s %6d gave a result, %6d an error", form.name, tally["result"][i], tally["error"][i])
		ran += tally["result"][i] + tally["error"][i]
	}
	t.Logf("%d mutations, %d failed", count, failed)
	if ran+failed != count {
		t.Errorf("%d of %d mutations were run", ran+failed, count)
	}
}

// A mutationTally counts how mutations ended, "result" or "error", by their forms.
type mutationTally map[string]map[int]int

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// mutationChild runs a child over the mutations from first to end, and returns the first that it did not reach.
func mutationChild(t *testing.T, first, end int, tally mutationTally, failed *int) (next int) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestMutationsGiveAnErrorOrAResult$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "ESPALIER_MUTATION_CHILD=1", fmt.Sprint("ESPALIER_MUTATION=", first), fmt.Sprint("ESPALIER_MUTATIONS=", end-first),
		"GOMEMLIMIT="+strconv.Itoa(mutationLimitMemory/2))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	next, last := first, "the start"
	for s := bufio.NewScanner(out); s.Scan(); {
		what, rest, _ := strings.Cut(s.Text(), " ")
		switch what {
		case "begin":
			last, next = rest, next+1
		case "input":
			last += ": " + rest
		case "result", "error":
			tally[what][(next-1)%len(mutationForms)]++
			if testing.Verbose() && end-first == 1 {
				fmt.Printf("%s: %s %s\n", last, what, rest)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		*failed++
		t.Errorf("mutation %s: %v\n%.6000s", last, err, stderr.String())
		if next == first {
			t.FailNow() // it would be the same again
		}
	}
	return next
}

// runMutations is the child.
func runMutations(t *testing.T) {
	first, count := envInt("ESPALIER_MUTATION", 0), envInt("ESPALIER_MUTATIONS", 0)
	go watchMemory()
	dir := t.TempDir()
	for i := first; i < first+count; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		form := mutationForms[i%len(mutationForms)]
		fmt.Printf("begin %d %s\n", i, form.name) // what damages it are packages of ours too
		input := form.damage(t, r)
		fmt.Printf("input %s\n", input.name)
		path := filepath.Join(dir, strconv.Itoa(i))
		input.write(t, path)
		watch := time.AfterFunc(mutationLimitTime, func() {
			debug.SetTraceback("all")
			panic(fmt.Sprintf("mutation %d hangs", i))
		})
		start := time.Now()
		err := tryInput(r, path)
		watch.Stop()
		what := "error"
		if err == nil {
			what = "result"
		}
		fmt.Printf("%s %v %.200q\n", what, time.Since(start).Round(time.Millisecond), fmt.Sprint(err))
		if os.Getenv("ESPALIER_MUTATION_KEEP") == "" {
			os.RemoveAll(path)
		} else {
			os.CopyFS(filepath.Join(os.Getenv("ESPALIER_MUTATION_KEEP"), strconv.Itoa(i)), os.DirFS(path))
		}
		if i%16 == 0 {
			runtime.GC()
		}
	}
}

// watchMemory ends the process that takes more than it may.
func watchMemory() {
	for {
		if rss := peakRSS(); rss > mutationLimitMemory {
			fmt.Fprintf(os.Stderr, "the child took %d MiB\n", rss>>20)
			buf := make([]byte, 1<<20)
			os.Stderr.Write(buf[:runtime.Stack(buf, true)])
			os.Exit(3)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// An input is a damaged input: files by their paths, with slashes. The one folder or file at the top is a model, an
// archive of arrays or a picture, by its name.
type input struct {
	name  string // what was damaged, and how
	files map[string][]byte
}

func (in input) write(t testing.TB, dir string) {
	for name, data := range in.files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// tryInput does with an input what a user would.
func tryInput(r *rand.Rand, dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) != 1 {
		return fmt.Errorf("found %v", paths)
	}
	path := paths[0]
	if r.IntN(3) == 0 {
		if report, err := dump.File(path); err == nil {
			report.WriteText(io.Discard)
			report.Close()
		}
	}
	base := filepath.Base(path)
	switch {
	case strings.HasPrefix(base, "arrays."):
		_, err = tensor.OpenNPZ(path)
		return err
	case strings.HasPrefix(base, "picture."):
		return tryPicture(path)
	}
	if strings.HasSuffix(base, ".bundle") || r.IntN(3) == 0 { // what a manifest says, inspect asks
		if report, err := model.File(path); err == nil {
			report.WriteText(io.Discard)
		}
	}
	return tryModel(r, path)
}

func tryModel(r *rand.Rand, path string) error {
	var c espalier.Config
	if strings.Contains(filepath.Base(path), ".ml") { // what is not compiled yet
		c.Target = []string{"", "", "", "h13"}[r.IntN(4)]
		if r.IntN(8) == 0 {
			c = espalier.Config{Units: espalier.CPUOnly}
		}
	}
	m, err := c.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	// A damaged loop may be endless: the deadline is part of what a caller can rely on.
	ctx, cancel := context.WithTimeout(context.Background(), mutationDeadline)
	defer cancel()
	var first error
	for _, f := range m.Functions() {
		in := map[string]any{}
		for _, d := range f.Inputs() {
			if v := zeroInput(d); v != nil {
				in[d.Name] = v
			}
		}
		if len(f.States()) > 0 {
			_, err = f.PredictWithState(ctx, in, f.NewState())
		} else {
			_, err = f.Predict(ctx, in)
		}
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

// pictureModel takes pictures, for the whole life of the child.
var pictureModel = sync.OnceValues(func() (*espalier.Model, error) {
	return espalier.Config{Resize: espalier.Fit}.Open(filepath.Join(modelsDir, "image_rgb", "model.mlpackage"))
})

func tryPicture(path string) error {
	m, err := pictureModel()
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	picture, err := espalier.DecodePicture(file)
	if err != nil {
		return err
	}
	_, err = m.Predict(context.Background(), map[string]any{m.Functions()[0].Inputs()[0].Name: picture})
	return err
}

// zeroInput is an input of zeros in its default shape; nil where that cannot be had.
func zeroInput(d coreml.Feature) any {
	switch typ := d.Type.(type) {
	case *coreml.ArrayType:
		if n, ok := tensor.Count(typ.Shape); ok && n < 1<<20 && typ.DType != tensor.Invalid {
			return tensor.New(typ.DType, typ.Shape...)
		}
	case *coreml.ImageType:
		shape := []int{typ.Height, typ.Width, 3}
		if typ.ColorSpace.Channels() == 1 {
			shape = shape[:2]
		}
		if n, ok := tensor.Count(shape); ok && n < 1<<20 {
			return tensor.New(tensor.UInt8, shape...)
		}
	}
	return nil
}
