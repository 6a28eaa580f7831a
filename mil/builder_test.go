package mil_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

func ExampleBuilder() {
	image := mil.Tensor(tensor.Float32, 1, 3, 8, 8)
	b := mil.NewBuilder("main", "CoreML8")
	x := b.Input("x", image)
	w := b.Const("w", tensor.New(tensor.Float32, 1, 3, 1, 1))
	y := b.Op("conv", "y", mil.Tensor(tensor.Float32, 1, 1, 8, 8), mil.Args{
		"x": x, "weight": w, "strides": []int{1, 1}, "pad_type": "valid"})
	z := b.Op("add", "z", y.Type, mil.Args{"x": y, "y": 0.5})
	b.Return(z)
	p, err := b.Program()
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := mil.FormatText(p)
	fmt.Printf("%s", text)
	// Output:
	// program(1.3)
	// {
	//     func main<CoreML8>(tensor<fp32, [1, 3, 8, 8]> x) {
	//             tensor<fp32, [1, 3, 1, 1]> w = const()[name = string("w"), val = tensor<fp32, [1, 3, 1, 1]>([[[[0x0p+0]], [[0x0p+0]], [[0x0p+0]]]])];
	//             string y_pad_type_0 = const()[name = string("y_pad_type_0"), val = string("valid")];
	//             tensor<int32, [2]> y_strides_0 = const()[name = string("y_strides_0"), val = tensor<int32, [2]>([1, 1])];
	//             tensor<fp32, [1, 1, 8, 8]> y = conv(pad_type = y_pad_type_0, strides = y_strides_0, weight = w, x = x)[name = string("y")];
	//             fp32 z_y_0 = const()[name = string("z_y_0"), val = fp32(0x1p-1)];
	//             tensor<fp32, [1, 1, 8, 8]> z = add(x = y, y = z_y_0)[name = string("z")];
	//         } -> (z);
	// }
}

func ExampleBuilder_While() {
	b := mil.NewBuilder("main", "ios18")
	n := b.Input("n", mil.Tensor(tensor.Int32))
	isSmall := func(v []*mil.Value) *mil.Value {
		return b.Op("less", "small", mil.Tensor(tensor.Bool), mil.Args{"x": v[0], "y": 1000})
	}
	double := func(v []*mil.Value) []*mil.Value {
		return []*mil.Value{b.Op("add", "twice", n.Type, mil.Args{"x": v[0], "y": v[0]})}
	}
	loop := b.While("big", []*mil.Value{n}, isSmall, double)
	b.Return(loop...)
	p, err := b.Program()
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := mil.FormatText(p)
	fmt.Printf("%s", text)
	// Output:
	// program(1.3)
	// {
	//     func main<ios18>(int32 n) {
	//             int32 big = while_loop(loop_vars = n)[name = string("big")]
	//                 (int32 n_x) {
	//                     int32 small_y_0 = const()[name = string("small_y_0"), val = int32(1000)];
	//                     bool small = less(x = n_x, y = small_y_0)[name = string("small")];
	//                 } -> (small)
	//                 (int32 n_x_1) {
	//                     int32 twice = add(x = n_x_1, y = n_x_1)[name = string("twice")];
	//                 } -> (twice);
	//         } -> (big);
	// }
}

// TestBuilder uses what the examples do not.
func TestBuilder(t *testing.T) {
	half := mil.Tensor(tensor.Float16, 4)
	build := func() *mil.Program {
		b := mil.NewBuilder("main", "ios18")
		x := b.Input("x", half)
		p := b.Input("p", mil.Tensor(tensor.Bool))
		s := b.Input("s", &mil.StateType{Elem: half})
		b.Do("write_state", mil.Args{"input": s, "data": x})
		parts := b.Add(mil.Spec{Kind: "split", Name: "part", Outputs: []mil.Type{half, half}, Args: mil.Args{"x": x, "axis": int32(0)}})
		again := b.Op("relu", "part_1", half, mil.Args{"x": parts[1]})
		w := b.Add(mil.Spec{Kind: "constexpr_lut_to_dense", Name: "w", Outputs: []mil.Type{half}, Attributes: map[string]any{
			"indices": []uint8{0, 1, 2, 3}, "lut": tensor.New(tensor.Float16, 4), "shape": []uint32{4}}})[0]
		sum := b.Op("concat", "", mil.Tensor(tensor.Float16, 9), mil.Args{
			"values": []any{again, w, mil.F16(1)}, "axis": mil.ConstOf(int32(0)), "interleave": false})
		out := b.Cond("out", []mil.Type{half}, p,
			func() []*mil.Value { return []*mil.Value{b.Op("exp", "e", half, mil.Args{"x": x})} },
			func() []*mil.Value { return []*mil.Value{x} })
		b.Return(out[0], sum)

		other := mil.NewBuilder("another", "ios18")
		other.Return(other.Input("x", half))
		prog, err := mil.Build(b, other)
		if err != nil {
			t.Fatal(err)
		}
		return prog
	}
	first, second := build(), build()
	if a, b := format(t, first), format(t, second); string(a) != string(b) {
		t.Errorf("the same calls gave different programs:\n%s\n%s", a, b)
	}
	if first.Functions[0].Name != "another" {
		t.Error("the functions are not in the order of their names")
	}
	names := ""
	first.Function("main").Body.Walk(func(op *mil.Operation) { names += op.Name() + " " })
	const want = "write_state part_axis_0 part_0 part_1_1 w concat_interleave_0 concat_values_0 concat out e "
	if names != want {
		t.Errorf("operations\n%s, want\n%s", names, want)
	}
}

func TestBuilderMistakes(t *testing.T) {
	scalar := mil.Tensor(tensor.Float32)
	for _, test := range []struct {
		name  string
		build func(b *mil.Builder)
		want  string
	}{
		{"no return", func(b *mil.Builder) {}, "function main: the function returns nothing"},
		{"strange argument", func(b *mil.Builder) { b.Op("relu", "y", scalar, mil.Args{"x": struct{}{}}) },
			`function main: operation y: parameter "x": no constant can be made of a struct {}`},
		{"no value", func(b *mil.Builder) { b.Op("relu", "y", scalar, mil.Args{"x": (*mil.Value)(nil)}) },
			`function main: operation y: parameter "x": the value is nil`},
		{"nothing", func(b *mil.Builder) { b.Op("relu", "y", scalar, mil.Args{"x": nil}) },
			`function main: operation y: parameter "x": no constant can be made of a <nil>`},
		{"too big", func(b *mil.Builder) { b.Const("c", 1<<40) }, "function main: operation c: 1099511627776 is out of the range of int32"},
		{"two inputs", func(b *mil.Builder) { b.Input("x", scalar); b.Input("x", scalar) },
			`function main: input "x" is not the first value of that name`},
		{"bad attribute", func(b *mil.Builder) { b.Add(mil.Spec{Kind: "k", Attributes: map[string]any{"a": 1i}}) },
			`function main: operation k: attribute "a": no constant can be made of a complex128`},
		{"no type", func(b *mil.Builder) { b.Return(b.Op("relu", "y", nil, nil)) },
			`function main: operation y (relu): value "y": a type is missing`},
		{"loop over nothing", func(b *mil.Builder) { b.While("loop", []*mil.Value{nil}, nil, nil) },
			"function main: operation loop: loop variable 0 is nil"},
		{"out of a block", func(b *mil.Builder) {
			var inner *mil.Value
			p := b.Input("p", mil.Tensor(tensor.Bool))
			block := func() []*mil.Value { inner = b.Const("inner", 1.0); return []*mil.Value{inner} }
			b.Cond("c", []mil.Type{scalar}, p, block, block)
			b.Return(inner)
		}, `function main: an output of the block is value "inner_1", which is out of scope`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := mil.NewBuilder("main", "ios18")
			test.build(b)
			if _, err := b.Program(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("\nwant %s\ngot  %v", test.want, err)
			}
		})
	}
}
