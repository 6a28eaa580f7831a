package espalier_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Damaged files. Each mutation changes one file of one model: a bit flipped, the end cut off, or a piece of
// the file, or of another one, written over it. The models are opened and run in child processes, so that
// nothing that a file does can hide: each must give an error or a result in time and memory.
//
//	go test . -run Mutations                                       220 mutations
//	ESPALIER_MUTATIONS=2000 go test . -run Mutations -timeout 30m  as many as you like

const (
	mutationLimitTime   = 30 * time.Second // ends what hangs
	mutationDeadline    = 1500 * time.Millisecond
	mutationLimitMemory = 1 << 30
	mutationsPerChild   = 55
)

// mutated are the models whose files are damaged: between them every kind of constant, feature, nested
// block and compressed weight. The text of a program is damaged for each of them too.
var mutated = []string{
	"conv2d_basic", "comp_joint_pal_quant", "comp_pal4_ios18_group", "b_control_flow", "b_lists", "classifier_labels",
	"flex_enum", "multifunction", "pipeline_two", "stateful_counter", "optional_input", "image_bgr_meanstd", "comp_sparse",
}

// mutant is a file to damage.
type mutant struct {
	model string
	file  string // inside the package; "" for the text of the program
	data  []byte
}

func mutants(t *testing.T) []mutant {
	var all []mutant
	for _, name := range mutated {
		root := filepath.Join(modelsDir, name, "model.mlpackage")
		if _, err := os.Stat(root); err != nil {
			t.Fatal(err)
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(root, path)
			all = append(all, mutant{name, rel, data})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := coreml.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := m.Program(); err == nil {
			text, err := mil.FormatText(p)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, mutant{name, "", text})
		}
		m.Close()
	}
	return all
}

// mutate returns a damaged copy.
func mutate(r *rand.Rand, data, other []byte) []byte {
	out := bytes.Clone(data)
	if len(out) == 0 {
		return append(out, byte(r.Uint32()))
	}
	switch r.IntN(4) {
	case 0:
		out[r.IntN(len(out))] ^= 1 << r.IntN(8)
	case 1: // several bytes: lengths and varints change most when their high bits do
		for range 1 + r.IntN(4) {
			out[r.IntN(len(out))] = byte(r.Uint32()) | 0x80
		}
	case 2:
		out = out[:r.IntN(len(out))]
	case 3:
		if len(other) == 0 {
			other = data
		}
		from := r.IntN(len(other))
		copy(out[r.IntN(len(out)):], other[from:min(len(other), from+1+r.IntN(64))])
	}
	return out
}

func TestMutationsGiveAnErrorOrAResult(t *testing.T) {
	if os.Getenv("ESPALIER_MUTATION_DIR") != "" {
		runMutants(os.Getenv("ESPALIER_MUTATION_DIR"))
		return
	}
	count := 220
	if n, err := strconv.Atoi(os.Getenv("ESPALIER_MUTATIONS")); err == nil {
		count = n
	}
	files := mutants(t)
	for first := 0; first < count; first += mutationsPerChild {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			dir := t.TempDir()
			for i := first; i < min(count, first+mutationsPerChild); i++ {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				victim := files[i%len(files)]
				damaged := mutate(r, victim.data, files[r.IntN(len(files))].data)
				writeMutant(t, filepath.Join(dir, fmt.Sprintf("%05d", i)), victim, damaged)
			}
			checkMutants(t, dir)
		})
	}
}

// writeMutant lays out a damaged model under path: a copy of the package with one file replaced, or a text.
func writeMutant(t *testing.T, path string, m mutant, data []byte) {
	root := filepath.Join(modelsDir, m.model, "model.mlpackage")
	if m.file == "" {
		copyTree(t, filepath.Join(root, "Data", "com.apple.CoreML"), filepath.Join(path, "model.mlmodelc"))
		if err := os.WriteFile(filepath.Join(path, "model.mlmodelc", "model.mil"), data, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	copyTree(t, root, filepath.Join(path, "model.mlpackage"))
	if err := os.WriteFile(filepath.Join(path, "model.mlpackage", m.file), data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func copyTree(t *testing.T, from, to string) {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// checkMutants runs the child over a folder of damaged models and reads its report, a line per model.
func checkMutants(t *testing.T, dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), mutationsPerChild*mutationLimitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMutationsGiveAnErrorOrAResult$")
	cmd.Env = append(os.Environ(), "ESPALIER_MUTATION_DIR="+dir, "GOMEMLIMIT="+strconv.Itoa(mutationLimitMemory/2))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	done, last := 0, "none"
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		name, rest, ok := strings.Cut(s.Text(), " took ")
		if !ok {
			continue
		}
		done, last = done+1, name
		if d, err := time.ParseDuration(strings.Fields(rest)[0]); err != nil || d > mutationLimitTime {
			t.Errorf("%s: %s took %s", dir, name, rest)
		}
	}
	if err != nil {
		t.Fatalf("the child failed after %s: %v\n%.4000s", last, err, stderr.String())
	}
	if entries, _ := os.ReadDir(dir); done != len(entries) {
		t.Errorf("%d of %d models were run", done, len(entries))
	}
	if rss := maxRSS(cmd.ProcessState); rss > mutationLimitMemory {
		t.Errorf("the child took %d MiB", rss>>20)
	}
}

// runMutants is the child: it opens and runs every model of a folder.
func runMutants(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, e := range entries {
		start := time.Now()
		err := runMutant(filepath.Join(dir, e.Name()))
		fmt.Printf("%s took %v %.200q\n", e.Name(), time.Since(start), fmt.Sprint(err))
		runtime.GC()
	}
}

func runMutant(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "model.*"))
	if err != nil || len(paths) != 1 {
		return fmt.Errorf("found %v", paths)
	}
	m, err := espalier.Open(paths[0])
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
