package espalier_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/diag"
	_ "github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// twoWeights is y = (x·wᵀ + b)·v: its numbers tell which w, b and v it was computed with.
const twoWeights = `program(1.3)
{
    func main<ios17>(tensor<%[1]s, [2, 16]> x) {
        tensor<%[1]s, [8, 16]> w = const()[name = string("w"), val = tensor<%[1]s, [8, 16]>(%[2]s)];
        tensor<%[1]s, [8]> b = const()[name = string("b"), val = tensor<%[1]s, [8]>(%[3]s)];
        tensor<%[1]s, [1]> v = const()[name = string("v"), val = tensor<%[1]s, [1]>([0x1p+0])];
        tensor<%[1]s, [2, 8]> h = linear(x = x, weight = w, bias = b)[name = string("h")];
        tensor<%[1]s, [2, 8]> y = mul(x = h, y = v)[name = string("y")];
    } -> (y);
}`

// list writes n numbers as MIL text does.
func list(n int, number string) string {
	return "[" + strings.Join(strings.Split(strings.Repeat(number+" ", n-1)+number, " "), ", ") + "]"
}

func rows(r, c int, number string) string {
	return list(r, strings.ReplaceAll(list(c, number), " ", ""))
}

func openTwoWeights(t testing.TB, target, dtype string, lowMemory bool, mutable ...string) *espalier.Model {
	t.Helper()
	text := fmt.Sprintf(twoWeights, dtype, rows(8, 16, "0x0p+0"), list(8, "0x0p+0"))
	c := espalier.Config{Target: target, Mutable: mutable, Cache: espalier.NoCache, Concurrency: 8, LowMemory: lowMemory}
	m, err := c.OpenBytes("two.mil", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// filled is an array of one number.
func filled(number float32, shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = number
	}
	return tensor.FromFloat32s(tensor.Float32, values, shape...)
}

// versioned are the weights of version n, of which every output is 16·n + n.
func versioned(n int) map[string]*tensor.Tensor {
	return map[string]*tensor.Tensor{"w": filled(float32(n), 8, 16), "b": filled(float32(n), 8), "v": filled(1, 1)}
}

func TestSetWeights(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		target, dtype string
		low           bool
	}{{"virtual", "fp16", false}, {"virtual", "fp16", true}, {"virtual", "fp32", false}, {"h13", "fp16", false}, {"h13", "fp16", true}, {"h13", "fp32", false}} {
		t.Run(fmt.Sprint(c.target, " ", c.dtype, " ", c.low), func(t *testing.T) {
			m := openTwoWeights(t, c.target, c.dtype, c.low, "w", "b", "v")
			ask := func(want float32) {
				t.Helper()
				out, err := m.Predict(ctx, map[string]any{"x": filled(1, 2, 16)})
				if err != nil {
					t.Fatal(err)
				}
				for _, y := range out["y"].Tensor.Float32s() {
					if y != want {
						t.Fatalf("got %v, want %v", y, want)
					}
				}
			}
			set := func(elements map[string]*tensor.Tensor) {
				t.Helper()
				if err := m.SetWeights(ctx, elements); err != nil {
					t.Fatal(err)
				}
			}
			ask(0)
			set(versioned(2))
			ask(34)
			set(map[string]*tensor.Tensor{"b": filled(5, 8)}) // the others stay as they are
			ask(37)
			set(map[string]*tensor.Tensor{"v": filled(0.5, 1)}) // one element, which would be a number of a step
			ask(18.5)
			set(map[string]*tensor.Tensor{"w": filled(0, 8, 16)})
			ask(2.5)
			if list := m.Functions()[0].Weights(); len(list) != 3 || list[0].Name != "w" || list[0].Shape[1] != 16 {
				t.Errorf("the weights are %v", list)
			}
		})
	}
}

// TestSetWeightsRefuses holds the findings of the check of a mutable procedure.
func TestSetWeightsRefuses(t *testing.T) {
	ctx := context.Background()
	m := openTwoWeights(t, "virtual", "fp16", false, "w")
	for _, c := range []struct {
		elements map[string]*tensor.Tensor
		id       string
		text     string
	}{
		{map[string]*tensor.Tensor{"b": filled(1, 8)}, string(diag.MutableWeight), `"b" is no constant`},
		{map[string]*tensor.Tensor{"w": filled(1, 8)}, string(diag.MutableSize), `16 bytes for one of 256`},
		{map[string]*tensor.Tensor{"w": filled(1, 16, 8)}, "", "want fp16[8, 16]"},
		{map[string]*tensor.Tensor{"w": nil}, "", "nil"},
	} {
		err := m.SetWeights(ctx, c.elements)
		var found *e5rt.WeightsError
		if err == nil || !strings.Contains(err.Error(), c.text) || (c.id != "") != errors.As(err, &found) || c.id != "" && found.Findings[0].ID != diag.ID(c.id) {
			t.Errorf("%v: %v", c.elements, err)
		}
	}
	if _, err := openTwoWeights(t, "virtual", "fp16", false, "nothing").Predict(ctx, map[string]any{"x": filled(1, 2, 16)}); err == nil || !strings.Contains(err.Error(), `"nothing" is no constant`) {
		t.Errorf("a name of no constant: %v", err)
	}
	if err := openTwoWeights(t, "virtual", "fp16", false).SetWeights(ctx, versioned(1)); err == nil {
		t.Error("nothing is mutable, and yet it was changed")
	}
}

// TestWeightsUnderLoad patches weights a thousand times while eight goroutines predict: every result is of one version, of one that
// was current since the prediction began.
func TestWeightsUnderLoad(t *testing.T) {
	ctx := context.Background()
	m := openTwoWeights(t, "virtual", "fp32", false, "w", "b", "v")
	f := m.Functions()[0]
	if err := m.SetWeights(ctx, versioned(0)); err != nil {
		t.Fatal(err)
	}
	const patches = 1000
	var current atomic.Int64
	var done atomic.Bool
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			x, y := make([]float32, 2*16), make([]float32, 2*8)
			for i := range x {
				x[i] = 1
			}
			call, err := f.Bind(ctx, map[string]any{"x": x}, map[string]any{"y": y})
			if err != nil {
				t.Error(err)
				return
			}
			for !done.Load() {
				before := current.Load()
				if err := call.Run(ctx); err != nil {
					t.Error(err)
					return
				}
				version := int64(y[0]) / 17
				for _, v := range y {
					if v != float32(17*version) {
						t.Errorf("an output of %v beside one of %v", v, y[0])
						return
					}
				}
				if after := current.Load() + 1; version < before || version > after {
					t.Errorf("version %d, and the current one was %d, then %d", version, before, after)
					return
				}
			}
		}()
	}
	for n := 1; n <= patches; n++ {
		if err := m.SetWeights(ctx, versioned(n)); err != nil {
			t.Fatal(err)
		}
		current.Store(int64(n))
	}
	done.Store(true)
	wait.Wait()
}

// TestMutableBundle opens a bundle, for whom the manifest says where the weights lie.
func TestMutableBundle(t *testing.T) {
	ctx := context.Background()
	for _, target := range []string{"virtual", "h13"} {
		p, err := openTwoWeights(t, target, "fp16", false, "w", "b").Compile(ctx, espalier.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "two.bundle")
		if _, err := p.WriteBundle(ctx, dir); err != nil {
			t.Fatal(err)
		}
		m, err := espalier.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if err := m.SetWeights(ctx, map[string]*tensor.Tensor{"w": filled(2, 8, 16), "b": filled(3, 8)}); err != nil {
			t.Fatal(err)
		}
		out, err := m.Predict(ctx, map[string]any{"x": filled(1, 2, 16)})
		if err != nil {
			t.Fatal(err)
		}
		if y := out["y"].Tensor.Float32s()[5]; y != 35 {
			t.Errorf("%s: got %v, want 35", target, y)
		}
	}
}

// manyWide is how wide the layers of a large model are.
const manyWide = 512

// manyWeights is a model of so many layers with square matrices in fp16, in a file.
func manyWeights(layers int) fstest.MapFS {
	const n = manyWide
	var text strings.Builder
	var file []byte
	file = binary.LittleEndian.AppendUint32(file, uint32(layers))
	file = binary.LittleEndian.AppendUint32(file, 2)
	file = append(file, make([]byte, 56)...)
	fmt.Fprintf(&text, "program(1.3)\n{\n    func main<ios17>(tensor<fp16, [16, %d]> x) {\n", n)
	x := "x"
	for i := range layers {
		at := len(file)
		file = binary.LittleEndian.AppendUint32(file, 0xdeadbeef)
		file = binary.LittleEndian.AppendUint32(file, 1)
		file = binary.LittleEndian.AppendUint64(file, 2*n*n)
		file = binary.LittleEndian.AppendUint64(file, uint64(at+64))
		file = append(file, make([]byte, 40)...)
		for k := range n * n {
			h := uint16(0)
			if k%(n+1) == 0 {
				h = 0x3c00 // 1: x goes through
			}
			file = binary.LittleEndian.AppendUint16(file, h)
		}
		fmt.Fprintf(&text, "tensor<fp16, [%d, %d]> w%d = const()[name = string(\"w%d\"), val = tensor<fp16, [%d, %d]>(BLOBFILE(path = string(\"@model_path/weights/w.bin\"), offset = uint64(%d)))];\n", n, n, i, i, n, n, at)
		fmt.Fprintf(&text, "tensor<fp16, [16, %d]> y%d = linear(x = %s, weight = w%d)[name = string(\"y%d\")];\n", n, i, x, i, i)
		x = fmt.Sprintf("y%d", i)
	}
	fmt.Fprintf(&text, "    } -> (%s);\n}\n", x)
	return fstest.MapFS{"model.mil": {Data: []byte(text.String())}, "weights/w.bin": {Data: file}}
}

// openMany opens a model of half a megabyte a layer.
func openMany(t testing.TB, layers int) *e5rt.Function {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, manyWeights(layers)); err != nil {
		t.Fatal(err)
	}
	c := espalier.NewCompiler(espalier.Config{Cache: espalier.NoCache})
	how := e5rt.CompilerOptions{Mutable: []string{espalier.AllWeights}}
	lib, err := e5rt.Compile(context.Background(), c, filepath.Join(dir, "model.mil"), how, e5rt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	return lib.Functions()[0]
}

// TestPatchOfLargeModel counts what a patch packs: the weight that it changes, and nothing else.
func TestPatchOfLargeModel(t *testing.T) {
	ctx := context.Background()
	const layers = 4
	f := openMany(t, layers)
	o := f.NewOperation()
	x := tensor.FromFloat32s(tensor.Float16, filled(1, 16, manyWide).Float32s(), 16, manyWide)
	run := func() float32 {
		t.Helper()
		if err := o.Set("x", x); err != nil {
			t.Fatal(err)
		}
		if err := o.Run(ctx, nil); err != nil {
			t.Fatal(err)
		}
		y, err := o.Value(f.Outputs()[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		return y.(*tensor.Tensor).Float32s()[3]
	}
	if y := run(); y != 1 {
		t.Fatalf("got %v, want 1", y)
	}
	w, err := f.NewWeights(ctx, map[string]*tensor.Tensor{"w2": filled(2.0/manyWide, manyWide, manyWide)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	const one = 2 * manyWide * manyWide
	if w.Packed() < one || w.Packed() > 3*one { // fp16 numbers, or floats
		t.Errorf("%d bytes were packed for a weight of %d", w.Packed(), one)
	}
	if y := run(); y != 1 {
		t.Errorf("a version that nobody uses: got %v, want 1", y)
	}
	if err := o.UseWeights(ctx, w); err != nil {
		t.Fatal(err)
	}
	if y := run(); y != 2 {
		t.Errorf("with other weights for this operation: got %v, want 2", y)
	}
	if err := o.UseWeights(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if y := run(); y != 1 {
		t.Errorf("with those of the function again: got %v, want 1", y)
	}
	if err := f.SetWeights(ctx, map[string]*tensor.Tensor{"w2": filled(4.0/manyWide, manyWide, manyWide)}); err != nil {
		t.Fatal(err)
	}
	if y := run(); y != 4 {
		t.Errorf("at the next dispatch: got %v, want 4", y)
	}
}

// BenchmarkPatch is a patch of one weight of half a megabyte, of a model of 100 MB.
func BenchmarkPatch(b *testing.B) {
	ctx := context.Background()
	f := openMany(b, 200)
	elements := map[string]*tensor.Tensor{"w7": tensor.FromFloat32s(tensor.Float16, filled(0.5, manyWide*manyWide).Float32s(), manyWide, manyWide)}
	b.SetBytes(2 * manyWide * manyWide)
	began := time.Now()
	for b.Loop() {
		if err := f.SetWeights(ctx, elements); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/float64(b.N), "µs/patch")
}

// TestWeightsOfVariants sets weights of a function that is compiled for each shape that comes: those that are there have them, and
// those that come.
func TestWeightsOfVariants(t *testing.T) {
	ctx := context.Background()
	c := espalier.Config{Mutable: []string{"w"}, Cache: espalier.NoCache}
	m, err := c.OpenBytes("open.mil", []byte(`program(1.3)
{
    func main<ios17>(tensor<fp16, [?, 4]> x) {
        tensor<fp16, [4]> w = const()[name = string("w"), val = tensor<fp16, [4]>([0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0])];
        tensor<fp16, [?, 4]> y = mul(x = x, y = w)[name = string("y")];
    } -> (y);
}`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ask := func(rows int, want float32) {
		t.Helper()
		out, err := m.Predict(ctx, map[string]any{"x": filled(1, rows, 4)})
		if err != nil {
			t.Fatal(err)
		}
		if y := out["y"].Tensor.Float32s(); len(y) != 4*rows || y[0] != want {
			t.Fatalf("%d rows: got %v, want %v", rows, y, want)
		}
	}
	set := func(number float32) {
		t.Helper()
		if err := m.SetWeights(ctx, map[string]*tensor.Tensor{"w": filled(number, 4)}); err != nil {
			t.Fatal(err)
		}
	}
	set(2)
	ask(2, 2)
	ask(3, 2)
	set(5)
	ask(2, 5)
	ask(3, 5)
	ask(7, 5)
	if err := m.SetWeights(ctx, map[string]*tensor.Tensor{"x": filled(1, 4)}); err == nil {
		t.Error("an input was taken for a weight")
	}
}
