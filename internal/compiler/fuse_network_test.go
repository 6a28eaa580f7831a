package compiler

import (
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// fp16 is the type of an array.
func fp16(dims ...int) *mil.TensorType { return mil.Tensor(tensor.Float16, tensor.ShapeOf(dims...)...) }

// ramp is an array of small numbers.
func ramp(dims ...int) *tensor.Tensor {
	n, _ := tensor.Count(dims)
	vals := make([]float32, n)
	for i := range vals {
		vals[i] = float32(i%13-6) / 16
	}
	return tensor.FromFloat32s(tensor.Float16, vals, dims...)
}

// A network adds operations to a function whose input is given, and returns its output.
type network func(b *mil.Builder, x *mil.Value) *mil.Value

func conv(b *mil.Builder, name string, x *mil.Value, bias bool) *mil.Value {
	args := mil.Args{
		"x": x, "weight": ramp(8, 8, 3, 3), "strides": []int32{1, 1}, "pad_type": "same", "pad": []int32{0, 0, 0, 0},
		"dilations": []int32{1, 1}, "groups": int32(1),
	}
	if bias {
		args["bias"] = ramp(8)
	}
	return b.Op("conv", name, x.Type, args)
}

// fusions are networks that are one task each on virtual.
var fusions = []struct {
	name  string
	input *mil.TensorType
	make  network
}{
	{"conv bias relu", fp16(1, 8, 6, 6), func(b *mil.Builder, x *mil.Value) *mil.Value {
		return b.Op("relu", "y", x.Type, mil.Args{"x": conv(b, "c", x, true)})
	}},
	{"conv add bias relu", fp16(1, 8, 6, 6), func(b *mil.Builder, x *mil.Value) *mil.Value {
		a := b.Op("add", "a", x.Type, mil.Args{"x": conv(b, "c", x, false), "y": ramp(1, 8, 1, 1)})
		return b.Op("relu", "y", x.Type, mil.Args{"x": a})
	}},
	{"matmul bias gelu", fp16(1, 6, 8), func(b *mil.Builder, x *mil.Value) *mil.Value {
		m := b.Op("matmul", "m", x.Type, mil.Args{"x": x, "y": ramp(8, 8), "transpose_x": false, "transpose_y": false})
		a := b.Op("add", "a", x.Type, mil.Args{"x": m, "y": ramp(8)})
		return b.Op("gelu", "y", x.Type, mil.Args{"x": a, "mode": "EXACT"})
	}},
	{"linear gelu", fp16(1, 6, 8), func(b *mil.Builder, x *mil.Value) *mil.Value {
		m := b.Op("linear", "m", x.Type, mil.Args{"x": x, "weight": ramp(8, 8), "bias": ramp(8)})
		return b.Op("gelu", "y", x.Type, mil.Args{"x": m, "mode": "TANH_APPROXIMATION"})
	}},
	{"conv bn relu6", fp16(1, 8, 6, 6), func(b *mil.Builder, x *mil.Value) *mil.Value {
		positive := tensor.FromFloat32s(tensor.Float16, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 8)
		n := b.Op("batch_norm", "n", x.Type, mil.Args{
			"x": conv(b, "c", x, false), "mean": ramp(8), "variance": positive, "gamma": ramp(8), "beta": ramp(8), "epsilon": tensor.FromFloat32s(tensor.Float16, []float32{1e-3}),
		})
		return b.Op("relu6", "y", x.Type, mil.Args{"x": n})
	}},
	{"conv add relu", fp16(1, 8, 6, 6), func(b *mil.Builder, x *mil.Value) *mil.Value {
		a := b.Op("add", "a", x.Type, mil.Args{"x": conv(b, "c", x, true), "y": x})
		return b.Op("relu", "y", x.Type, mil.Args{"x": a})
	}},
	{"six elementwise operations", fp16(1, 8, 6, 6), sixElementwise},
}

func sixElementwise(b *mil.Builder, x *mil.Value) *mil.Value {
	half := tensor.FromFloat32s(tensor.Float16, []float32{0.5})
	v := b.Op("mul", "v1", x.Type, mil.Args{"x": x, "y": half})
	v = b.Op("tanh", "v2", x.Type, mil.Args{"x": v})
	v = b.Op("add", "v3", x.Type, mil.Args{"x": v, "y": x})
	v = b.Op("sigmoid", "v4", x.Type, mil.Args{"x": v})
	v = b.Op("sub", "v5", x.Type, mil.Args{"x": v, "y": half})
	return b.Op("abs", "y", x.Type, mil.Args{"x": v})
}

func compileNetwork(t testing.TB, input *mil.TensorType, make network) *Result {
	t.Helper()
	return compileFor(t, virtual(t), input, make)
}

func compileFor(t testing.TB, target *hal.Target, input *mil.TensorType, make network) *Result {
	t.Helper()
	b := mil.NewBuilder("main", "CoreML7")
	b.Return(make(b, b.Input("x", input)))
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compile(t.Context(), &Job{Target: target, Program: p, Functions: []Entry{{Function: p.Functions[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFusionsAreOneTask(t *testing.T) {
	for _, f := range fusions {
		t.Run(f.name, func(t *testing.T) {
			r := compileNetwork(t, f.input, f.make)
			if n := r.Functions[0].Tasks(); len(r.Functions[0].Segments) != 1 || n != 1 {
				var kinds []string
				for _, s := range r.Functions[0].Segments {
					for _, l := range s.Plan.Layers {
						kinds = append(kinds, l.Kind().String())
					}
				}
				t.Errorf("%d segments, %d tasks (%s); want one of each", len(r.Functions[0].Segments), n, strings.Join(kinds, ", "))
			}
		})
	}
}

// However many operations are fused, the descriptor is one inference, and has as many bytes.
func TestDescriptorDoesNotGrowWithTheNetwork(t *testing.T) {
	one := compileNetwork(t, fp16(1, 8, 6, 6), func(b *mil.Builder, x *mil.Value) *mil.Value {
		return b.Op("relu", "y", x.Type, mil.Args{"x": x})
	})
	six := compileNetwork(t, fp16(1, 8, 6, 6), sixElementwise)
	var sizes []int
	for _, r := range []*Result{one, six} {
		var kinds []string
		for _, op := range r.Bundle.Program.Functions[0].Operations() {
			kinds = append(kinds, op.Kind().String())
		}
		if got := strings.Join(kinds, " "); got != "AneInference" {
			t.Errorf("the descriptor is %q", got)
		}
		data, err := r.Bundle.Program.Encode()
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(data))
	}
	if sizes[0] != sizes[1] {
		t.Errorf("descriptors of %d and %d bytes", sizes[0], sizes[1])
	}
}

// On H13, in its own encoding, what follows a matrix multiply in its epilogue takes no task, and a second live operand one.
func TestEpiloguesTakeNoTaskOnH13(t *testing.T) {
	chip, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	product := func(b *mil.Builder, x *mil.Value) *mil.Value {
		return b.Op("matmul", "m", x.Type, mil.Args{"x": x, "y": ramp(256, 256), "transpose_x": false, "transpose_y": true})
	}
	half := tensor.FromFloat32s(tensor.Float16, []float32{0.5})
	after := func(kind string, args mil.Args) network {
		return func(b *mil.Builder, x *mil.Value) *mil.Value {
			args["x"] = product(b, x)
			return b.Op(kind, "y", x.Type, args)
		}
	}
	input := fp16(8, 256)
	bare := compileFor(t, chip, input, product).Functions[0]
	if !allNative(bare.Segments[0]) {
		t.Fatal("the product is not native-encoded")
	}
	for _, row := range []struct {
		name string
		make network
		more int
	}{
		{"bias", after("add", mil.Args{"y": ramp(256)}), 0},
		{"relu", after("relu", mil.Args{}), 0},
		{"gelu", after("gelu", mil.Args{"mode": "EXACT"}), 0},
		{"scalar multiply", after("mul", mil.Args{"y": half}), 0},
		{"residual", func(b *mil.Builder, x *mil.Value) *mil.Value {
			return b.Op("add", "y", x.Type, mil.Args{"x": product(b, x), "y": x})
		}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := compileFor(t, chip, input, row.make).Functions[0]
			if !allNative(f.Segments[0]) {
				t.Fatal("it is not native-encoded")
			}
			if got, want := f.Tasks(), bare.Tasks()+row.more; row.more == 0 && got != want || row.more > 0 && got < want {
				t.Errorf("%d tasks, the product alone has %d", got, bare.Tasks())
			}
		})
	}
}

// allNative reports whether all tasks of a segment are native.
func allNative(s *segment.Segment) bool {
	return !slices.ContainsFunc(s.Tasks, func(t segment.Task) bool { return t.Unit == nil })
}
