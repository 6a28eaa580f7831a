package espalier_test

import (
	"context"
	"errors"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// memoryFor is a tensor for each array, of its type and shape.
func memoryFor(values map[string]*espalier.Value) map[string]any {
	out := map[string]any{}
	for name, v := range values {
		out[name] = tensor.New(v.Tensor.DType(), v.Tensor.Shape()...)
	}
	return out
}

// Into memory of the caller goes what Predict gives: for every model, on every unit, when it is bound once or each time.
func TestPredictIntoIsPredict(t *testing.T) {
	for _, c := range []espalier.Config{{}, {Units: espalier.CPUOnly}, {Target: "h13"}} {
		for i, name := range modelNames(t) {
			if (c.Units != "" || c.Target != "") && i%5 != 0 {
				continue
			}
			t.Run(c.Target+string(c.Units)+"/"+name, func(t *testing.T) {
				t.Parallel()
				meta := readMeta(t, name)
				m := openModel(t, c, name)
				for i, test := range meta.Cases {
					f, err := m.Function(test.Function)
					if err != nil {
						t.Fatal(err)
					}
					if i > 2 || strings.Contains(name, "random") {
						break
					}
					in := asInputs(readArrays(t, modelsDir, name, test.Inputs))
					one, other := f.NewState(), f.NewState()
					want, err := f.PredictWithState(t.Context(), in, one)
					if err != nil {
						t.Fatal(err)
					}
					got := memoryFor(want)
					if err := f.PredictIntoWithState(t.Context(), in, got, other); err != nil {
						t.Fatal(err)
					}
					again := memoryFor(want)
					call, err := f.Bind(t.Context(), in, again)
					if err != nil {
						t.Fatal(err)
					}
					if err := call.RunWithState(t.Context(), f.NewState()); err != nil {
						t.Fatal(err)
					}
					for name, w := range want {
						for how, v := range map[string]any{"into": got[name], "bound": again[name]} {
							if !sameBits(v.(*tensor.Tensor), w.Tensor) {
								t.Errorf("%s: output %q differs", how, name)
							}
						}
					}
				}
			})
		}
	}
}

// double is y = x + x, z = x·x.
const double = `program(1.0) {
    func main<ios17>(tensor<T, [2, 3]> x) {
        tensor<T, [2, 3]> y = add(x = x, y = x)[name = tensor<string, []>("y")];
        tensor<T, [2, 3]> z = mul(x = x, y = x)[name = tensor<string, []>("z")];
    } -> (y, z);
}`

// A call reads and writes memory of the caller, of any type that can hold the elements.
func TestCallMemory(t *testing.T) {
	for _, units := range []espalier.Units{espalier.AllUnits, espalier.CPUOnly} {
		for _, typ := range []string{"fp32", "fp16", "int32"} {
			m := textModel(t, espalier.Config{Units: units}, strings.ReplaceAll(double, "T", typ))
			f := m.Functions()[0]
			x32, y32, z32 := make([]float32, 6), make([]float32, 6), make([]float32, 6)
			x64, y64 := make([]float64, 6), make([]float64, 6)
			xi, yi := make([]int, 6), make([]int64, 6)
			xt, yt := tensor.New(tensor.Float16, 2, 3), tensor.New(tensor.Float16, 2, 3)
			batch := tensor.New(tensor.Float32, 4, 2, 3)
			row := func(i int) *tensor.Tensor {
				v, err := batch.Slice(0, i, 1, 1)
				if err != nil {
					t.Fatal(err)
				}
				v, _ = v.Reshape(2, 3)
				return v
			}
			for _, c := range []struct {
				name    string
				x, y, z any
			}{
				{"float32", x32, y32, z32},
				{"float64", x64, y64, nil},
				{"int", xi, yi, nil},
				{"fp16", xt, yt, nil},
				{"views of one array", x32, row(1), row(3)},
				{"output over input", x32, x32, nil},
			} {
				outputs := map[string]any{"y": c.y}
				if c.z != nil {
					outputs["z"] = c.z
				}
				call, err := f.Bind(t.Context(), map[string]any{"x": c.x}, outputs)
				if err != nil {
					t.Fatalf("%s, %s: %v", typ, c.name, err)
				}
				for round := range 3 {
					for i := range 6 {
						v := i + round
						x32[i], x64[i], xi[i], tensor.Data[uint16](xt)[i] = float32(v), float64(v), v, tensor.ToF16(float32(v))
					}
					if err := call.Run(t.Context()); err != nil {
						t.Fatalf("%s, %s: %v", typ, c.name, err)
					}
					for i := range 6 {
						v := float64(i + round)
						if got := element(c.y, i); got != 2*v {
							t.Errorf("%s, %s, %s: y[%d] is %v, want %v", units, typ, c.name, i, got, 2*v)
						}
						if got := element(c.z, i); c.z != nil && got != v*v {
							t.Errorf("%s, %s, %s: z[%d] is %v, want %v", units, typ, c.name, i, got, v*v)
						}
					}
				}
			}
		}
	}
}

func element(memory any, i int) float64 {
	switch v := memory.(type) {
	case []float32:
		return float64(v[i])
	case []float64:
		return v[i]
	case []int64:
		return float64(v[i])
	case *tensor.Tensor:
		return v.Float64s()[i]
	}
	return math.NaN()
}

// PredictInto may have other memory each time, be it of other types.
func TestPredictIntoOtherMemory(t *testing.T) {
	m := textModel(t, espalier.Config{}, strings.ReplaceAll(double, "T", "fp32"))
	for i := range 12 {
		v := float32(i)
		x := []float32{v, v, v, v, v, v}
		inputs := []any{x, tensor.Of(x, 2, 3), tensor.Of(x, 2, 3).Float64s()}
		outputs := []any{make([]float32, 6), make([]float64, 6), tensor.New(tensor.Float32, 2, 3)}
		y, z := outputs[i%3], outputs[(i+1)%3]
		given := map[string]any{"y": y, "z": z}
		if i%4 == 3 {
			delete(given, "z")
		}
		if err := m.PredictInto(t.Context(), map[string]any{"x": inputs[i/2%3]}, given); err != nil {
			t.Fatal(err)
		}
		if element(y, 5) != float64(2*v) {
			t.Errorf("run %d: y is %v", i, element(y, 5))
		}
		want := float64(v * v)
		if i%4 == 3 {
			want = 0
		}
		if element(z, 5) != want {
			t.Errorf("run %d: z is %v, want %v", i, element(z, 5), want)
		}
	}
}

// A call that is bound allocates nothing, and neither does PredictInto on the memory that it had before.
func TestCallAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		model  string
		config espalier.Config
	}{
		{"tiny_resnet", espalier.Config{}},
		{"tiny_resnet_fp32", espalier.Config{}},
		{"transformer_block", espalier.Config{}},
		{"fp16_io", espalier.Config{}},
		{"linear_mlp", espalier.Config{Target: "h13"}},
		{"stateful_kv_cache", espalier.Config{}},
	} {
		m := openModel(t, c.config, c.model)
		f := m.Functions()[0]
		state := f.NewState()
		cases := readMeta(t, c.model).Cases
		in := asInputs(readArrays(t, modelsDir, c.model, cases[0].Inputs))
		want, err := f.PredictWithState(ctx, in, f.NewState())
		if err != nil {
			t.Fatal(err)
		}
		for name, outputs := range map[string]map[string]any{"tensors": memoryFor(want), "slices": slicesFor(want)} {
			inputs := in
			if name == "slices" {
				inputs = map[string]any{}
				for _, d := range f.Inputs() {
					inputs[d.Name] = in[d.Name].(*tensor.Tensor).Float32s()
					if !d.Type.(*coreml.ArrayType).DType.IsFloat() {
						inputs[d.Name] = in[d.Name].(*tensor.Tensor).Int64s()
					}
				}
			}
			call, err := f.Bind(ctx, inputs, outputs)
			if err != nil {
				t.Fatal(err)
			}
			if n := testkit.Allocs(20, func() {
				if err := call.RunWithState(ctx, state); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s, %s: a run of a call allocates %v times", c.model, name, n)
			}
			if raceEnabled { // a sync.Pool then drops what it likes
				continue
			}
			if n := testkit.Allocs(20, func() {
				if err := f.PredictIntoWithState(ctx, inputs, outputs, state); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s, %s: PredictInto allocates %v times", c.model, name, n)
			}
		}
	}
}

// slicesFor is a slice of Go numbers for each array.
func slicesFor(values map[string]*espalier.Value) map[string]any {
	out := map[string]any{}
	for name, v := range values {
		if out[name] = make([]float32, v.Tensor.Len()); !v.Tensor.DType().IsFloat() {
			out[name] = make([]int, v.Tensor.Len())
		}
	}
	return out
}

// What is wrong with memory is said by name, with what it should be.
func TestCallErrors(t *testing.T) {
	m := textModel(t, espalier.Config{}, strings.ReplaceAll(double, "T", "fp32"))
	host := textModel(t, espalier.Config{Units: espalier.CPUOnly}, strings.ReplaceAll(double, "T", "fp32"))
	x, six := make([]float32, 6), func() []float32 { return make([]float32, 6) }
	shared := six()
	turned, _ := tensor.New(tensor.Float32, 3, 2).Transpose(1, 0)
	for _, c := range []struct {
		name            string
		inputs, outputs map[string]any
		want            string
	}{
		{"no input", nil, nil, `input "x": it is missing`},
		{"another input", map[string]any{"x": x, "w": x}, nil, `input "w": there is no such input: expected x`},
		{"short input", map[string]any{"x": x[:5]}, nil, `input "x": expected fp32 array [2, 3], found a []float32 of 5 elements`},
		{"another output", map[string]any{"x": x}, map[string]any{"w": six()}, `output "w": there is no such output: expected y, z`},
		{"short output", map[string]any{"x": x}, map[string]any{"y": x[:5]}, `output "y": expected memory for fp32[2, 3], 6 elements, found fp32[5]`},
		{"another shape", map[string]any{"x": x}, map[string]any{"y": tensor.New(tensor.Float32, 3, 2)}, `output "y": expected memory for fp32[2, 3], 6 elements, found fp32[3, 2]`},
		{"a number", map[string]any{"x": x}, map[string]any{"y": 1.5}, `output "y": expected a tensor or a slice, found a float64`},
		{"nothing", map[string]any{"x": x}, map[string]any{"y": (*tensor.Tensor)(nil)}, `output "y": expected a tensor or a slice, found `},
		{"strings", map[string]any{"x": x}, map[string]any{"y": make([]string, 6)}, `output "y": expected memory for fp32, found string[6]`},
		{"gaps", map[string]any{"x": x}, map[string]any{"y": turned}, `output "y": the elements of fp32[2, 3] do not lie side by side`},
		{"one memory for two", map[string]any{"x": x}, map[string]any{"y": shared, "z": shared}, `its memory is that of another output too`},
	} {
		for _, m := range []*espalier.Model{m, host} {
			call, err := m.Functions()[0].Bind(t.Context(), c.inputs, c.outputs)
			if err == nil {
				err = call.Run(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %s", c.name, err, c.want)
			}
			if err := m.PredictInto(t.Context(), c.inputs, c.outputs); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: PredictInto: got %v, want %s", c.name, err, c.want)
			}
		}
	}
	// Values that do not survive are found when they come.
	for _, m := range []*espalier.Model{m, host} {
		x, y := []float64{1, 2, 3, 4, 5, 6}, make([]int32, 6)
		call, err := m.Functions()[0].Bind(t.Context(), map[string]any{"x": x}, map[string]any{"y": y})
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Run(t.Context()); err != nil || !slices.Equal(y, []int32{2, 4, 6, 8, 10, 12}) {
			t.Errorf("%v, %v", y, err)
		}
		x[1] = 0.25
		var output *espalier.OutputError
		if err := call.Run(t.Context()); !errors.As(err, &output) || !strings.Contains(err.Error(), `output "y": element [0, 1] is 0.5, which int32 cannot hold`) {
			t.Errorf("got %v", err)
		}
		x[1] = 1e300
		var input *espalier.InputError
		if err := call.Run(t.Context()); !errors.As(err, &input) || !strings.Contains(err.Error(), `input "x": element [0, 1] is 1e+300, which fp32 cannot hold`) {
			t.Errorf("got %v", err)
		}
	}
	// A context that has ended ends a call.
	ended, cancel := context.WithCancel(t.Context())
	call, err := m.Functions()[0].Bind(t.Context(), map[string]any{"x": x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := call.Run(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A picture is read anew in each run, and an optional input that is left out has its default.
func TestCallOfPicture(t *testing.T) {
	m := openModel(t, espalier.Config{}, "image_rgb")
	f := m.Functions()[0]
	img := image.NewNRGBA(image.Rect(0, 0, 32, 32))
	first, err := f.Predict(t.Context(), map[string]any{"image": img})
	if err != nil {
		t.Fatal(err)
	}
	outputs := memoryFor(first)
	call, err := f.Bind(t.Context(), map[string]any{"image": img}, outputs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		for p := range 32 * 32 {
			img.SetNRGBA(p%32, p/32, color.NRGBA{uint8(p * i), uint8(p + i), uint8(i), 255})
		}
		want, err := f.Predict(t.Context(), map[string]any{"image": img})
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			if !sameBits(outputs[name].(*tensor.Tensor), w.Tensor) {
				t.Errorf("picture %d: output %q differs", i, name)
			}
		}
	}
	optional := openModel(t, espalier.Config{}, "optional_input").Functions()[0]
	x := make([]float32, 12)
	want, err := optional.Predict(t.Context(), map[string]any{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	got := memoryFor(want)
	if err := optional.PredictInto(t.Context(), map[string]any{"x": x}, got); err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		if !sameBits(got[name].(*tensor.Tensor), w.Tensor) {
			t.Errorf("output %q differs where an input is left out", name)
		}
	}
}

// Goroutines that predict into memory of their own do not mix, and share no call.
func TestPredictIntoAtOnce(t *testing.T) {
	m := textModel(t, espalier.Config{}, strings.ReplaceAll(double, "T", "fp16"))
	f := m.Functions()[0]
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			x, y := make([]float32, 6), make([]float32, 6)
			inputs, outputs := map[string]any{"x": x}, map[string]any{"y": y}
			call, err := f.Bind(t.Context(), inputs, outputs)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 50 {
				for k := range x {
					x[k] = float32(g*100 + i + k)
				}
				if i%2 == 0 {
					err = call.Run(t.Context())
				} else {
					err = f.PredictInto(t.Context(), inputs, outputs)
				}
				if err != nil || y[5] != 2*float32(g*100+i+5) {
					t.Errorf("goroutine %d, run %d: y is %v, %v", g, i, y, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// The memory of a call may be in a bundle or a container's ports as well.
func TestCallInEveryForm(t *testing.T) {
	model := openModel(t, espalier.Config{}, "fp16_io")
	in := readArrays(t, modelsDir, "fp16_io", "inputs.npz")
	for _, name := range []string{"m.bundle", "m.hwx"} {
		f := open(t, espalier.Config{}, compiled(t, model, "", name)).Functions()[0]
		given := map[string]any{}
		for _, d := range f.Inputs() {
			given[d.Name] = asFeature(t, in[strings.TrimSuffix(d.Name, "__engine")], d)
		}
		want, err := f.Predict(t.Context(), given)
		if err != nil {
			t.Fatal(err)
		}
		got := memoryFor(want)
		if err := f.PredictInto(t.Context(), given, got); err != nil {
			t.Fatal(err)
		}
		for output, w := range want {
			if !sameBits(got[output].(*tensor.Tensor), w.Tensor) {
				t.Errorf("%s: output %q differs", filepath.Ext(name), output)
			}
		}
	}
}
