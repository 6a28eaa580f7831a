package espalier_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// A text of graphs is a model: each graph is a function.

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenGraph(t *testing.T) {
	for _, c := range graphCases {
		for target := range strings.FieldsSeq(c.targets) {
			t.Run(c.name+"/"+target, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "any.name")
				writeFiles(t, filepath.Dir(path), map[string]string{"any.name": c.text})
				m := open(t, espalier.Config{Target: target}, path)
				c.compare(t, m.Functions()[0], parseGraph(t, c.text))
				if w := m.Functions()[0].Warnings(); len(w) != 0 {
					t.Errorf("warnings %v", w)
				}
			})
		}
	}
}

// Several graphs of one text are functions, by path, from memory and from a file system.
func TestOpenGraphs(t *testing.T) {
	first, second := graphCases[0], graphCases[1]
	text := "# two\n" + first.text + "\n" + second.text
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"both": text})
	for form, opened := range map[string]func() (*espalier.Model, error){
		"path": func() (*espalier.Model, error) { return espalier.Open(filepath.Join(dir, "both")) },
		"copy": func() (*espalier.Model, error) {
			return espalier.Config{Weights: espalier.CopiedWeights}.Open(filepath.Join(dir, "both"))
		},
		"memory": func() (*espalier.Model, error) { return espalier.OpenBytes("both", []byte(text)) },
		"file system": func() (*espalier.Model, error) {
			return espalier.OpenFS(fstest.MapFS{"a/both": {Data: []byte(text)}}, "a/both")
		},
	} {
		m, err := opened()
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		defer m.Close()
		if len(m.Functions()) != 2 || m.Functions()[0].Name() != "net" || m.Functions()[1].Name() != "count" {
			t.Fatalf("%s: %d functions", form, len(m.Functions()))
		}
		first.compare(t, m.Functions()[0], parseGraph(t, first.text))
	}
	m := open(t, espalier.Config{}, filepath.Join(dir, "both"))
	p, err := m.Compile(t.Context(), espalier.CompileOptions{Target: "h13"})
	if err != nil {
		t.Fatal(err)
	}
	if f := p.Functions(); len(f) != 2 || f[0].Segments[0].Operations != 2 || f[0].Segments[0].Backend != "engine" || f[0].Segments[0].Container == nil {
		t.Errorf("functions %+v", f)
	}
	if want := (espalier.Placement{Function: "net", Operation: "c", Kind: "Conv", Backend: "engine"}); !slices.Contains(p.Placements(), want) {
		t.Errorf("placements %+v", p.Placements())
	}
	if err := p.WriteMIL(io.Discard); !errors.Is(err, espalier.ErrNoMIL) {
		t.Errorf("MIL of a graph: %v", err)
	}
	bundle := filepath.Join(dir, "both.bundle")
	if _, err := p.WriteBundle(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	second.compare(t, open(t, espalier.Config{}, bundle).Functions()[1], parseGraph(t, second.text))
}

const graphWithWeights = `graph net
input %x : fp16[1,1,32,1,2]
const %w : fp16[1,1,32,1,1] {data = file(../net.weights+64, 64)}
%y = anec.multiply(%x, %w) : fp16[1,1,32,1,2]
output %y
`

func weightsOf(first float32) string {
	values := make([]float32, 32)
	for i := range values {
		values[i] = first + float32(i)
	}
	return string(make([]byte, 64)) + string(tensor.FromFloat32s(tensor.Float16, values, 32).Bytes())
}

// Weights lie beside the text, or in the folder above it. The cache knows a graph by its text and the bytes of its weights.
func TestGraphWeights(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"in/net": graphWithWeights, "net.weights": weightsOf(1)})
	cache := filepath.Join(dir, "cache")
	predict := func(want float32, compiled bool) {
		t.Helper()
		passes := 0
		m := open(t, espalier.Config{Cache: cache, Pass: func(espalier.PassReport) { passes++ }, Note: func(err error) { t.Error(err) }}, filepath.Join(dir, "in", "net"))
		x := make([]float32, 64)
		for i := range x {
			x[i] = 2
		}
		out, err := m.Predict(t.Context(), map[string]any{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		if got := out["y"].Tensor.Float32s(); got[0] != 2*want || got[63] != 2*(want+31) {
			t.Errorf("got %v … %v, want %v", got[0], got[63], 2*want)
		}
		if compiled != (passes > 0) {
			t.Errorf("%d passes", passes)
		}
	}
	predict(1, true)
	predict(1, false)
	writeFiles(t, dir, map[string]string{"net.weights": weightsOf(3)})
	predict(3, true)
	writeFiles(t, dir, map[string]string{"in/net": strings.ReplaceAll(graphWithWeights, "%w", "%v")})
	predict(3, true)
	writeFiles(t, dir, map[string]string{"in/net": graphWithWeights, "in/net.weights": weightsOf(5)})
	predict(3, false) // where the name says comes first
	if err := os.Remove(filepath.Join(dir, "net.weights")); err != nil {
		t.Fatal(err)
	}
	predict(5, true) // then beside the text

	m := open(t, espalier.Config{}, filepath.Join(dir, "in", "net"))
	writeFiles(t, dir, map[string]string{"in/net.weights": weightsOf(5) + "more"})
	if _, err := m.Predict(t.Context(), map[string]any{"x": make([]float32, 64)}); !errors.Is(err, espalier.ErrFileChanged) {
		t.Errorf("of a file that was written to: %v", err)
	}
	files := fstest.MapFS{"net": {Data: []byte(graphWithWeights)}, "net.weights": {Data: []byte(weightsOf(1))}}
	if m, err := espalier.OpenFS(files, "net"); err != nil {
		t.Error(err)
	} else {
		m.Close()
	}
}

func TestGraphsThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	seed := uint64(1)
	for _, c := range []struct {
		name, text string
		config     espalier.Config
		is         error
		want       string
	}{
		{"units", graphCases[0].text, espalier.Config{Units: espalier.CPUOnly}, espalier.ErrUnits, "the host has no form of it"},
		{"fp32", graphCases[0].text, espalier.Config{Numerics: espalier.FP32}, espalier.ErrNumerics, "fp32 is the host's"},
		{"random weights", graphCases[0].text, espalier.Config{RandomWeights: &seed}, nil, "cannot be made up"},
		{"syntax", "graph net\ninput %x : fp17[1]\n", espalier.Config{}, nil, "line 2"},
		{"twice", "graph net\ngraph net\n", espalier.Config{}, nil, `two graphs are called "net"`},
		{"port", "graph net\ninput %x : int4[1,1,1,1,4]\noutput %x\n", espalier.Config{}, nil, "a port has elements of whole bytes"},
		{"weights", graphWithWeights, espalier.Config{}, fs.ErrNotExist, `weights "../net.weights"`},
		{"left out", strings.Replace(graphWithWeights, "file(../net.weights+64, 64)", "blob(00,64)", 1), espalier.Config{}, nil, "leaves out the bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, c.name)
			writeFiles(t, dir, map[string]string{c.name: c.text})
			_, err := c.config.Open(path)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	m := open(t, espalier.Config{Target: "h13"}, writeGraph(t, dir, "graph net\ninput %x : fp16[1,2,1,4,4]\n%first = anec.matmul(%x, %x) : fp16[1,2,1,4,4]\noutput %first\n"))
	if _, err := m.Predict(context.Background(), map[string]any{"x": make([]float32, 32)}); err == nil || !strings.Contains(err.Error(), `layer "first" (MatrixMultiplication): depth > 1`) {
		t.Errorf("a layer that the target does not take: %v", err)
	}
}

func writeGraph(t *testing.T, dir, text string) string {
	t.Helper()
	writeFiles(t, dir, map[string]string{"graph": text})
	return filepath.Join(dir, "graph")
}

// Every real network description opens by its content and runs, on virtual and on the chip that it was written for.
func TestRealLists(t *testing.T) {
	shared := testkit.Shared(t, "netplists")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(shared)); err != nil {
		t.Fatal(err)
	}
	zero, err := os.Create(filepath.Join(dir, "zero")) // which simple/gemm.plist multiplies by
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(zero.Truncate(16<<20), zero.Close()); err != nil {
		t.Fatal(err)
	}
	lists, err := filepath.Glob(filepath.Join(dir, "*", "*.plist"))
	if err != nil {
		t.Fatal(err)
	}
	lists = append(lists, dir) // with its net.plist
	if len(lists) != 23 {
		t.Errorf("%d lists", len(lists))
	}
	for _, path := range lists {
		if strings.HasSuffix(filepath.ToSlash(path), "plists/gemm.plist") {
			_, err := espalier.Open(path)
			if err == nil || !strings.Contains(err.Error(), "InvalidParamSyntax") {
				t.Errorf("%s, whose weights nobody has: %v", path, err)
			}
			continue
		}
		var first map[string]*espalier.Value
		for _, target := range []string{"virtual", "h13"} {
			f := open(t, espalier.Config{Target: target}, path).Functions()[0]
			in := map[string]any{}
			for i, d := range f.Inputs() {
				array := d.Type.(*coreml.ArrayType)
				x, err := wave(i, array.Shape...).Convert(array.DType)
				if err != nil {
					t.Fatal(err)
				}
				in[d.Name] = x
			}
			out, err := f.Predict(t.Context(), in)
			if err != nil {
				t.Errorf("%s on %s: %v", path, target, err)
				break
			}
			if first == nil {
				first = out
				continue
			}
			if strings.HasSuffix(path, "convneuron.plist") { // the sign of subnormals, which are zero to the chip
				break
			}
			for name, v := range first {
				near(t, path+" "+name, out[name].Tensor.Float32s(), v.Tensor.Float32s())
			}
		}
	}
}

// near holds results to others by the rounding of fp16, and that of the chip's tables.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if d := math.Abs(float64(got[i] - w)); !(d <= 0.01*max(1, math.Abs(float64(w)))) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], w)
			return
		}
	}
}
