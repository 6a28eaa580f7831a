package coreml

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Parts of a program (MIL.proto), for tests.

func dim(n int64) []byte { return sub(3, sub(1, number(1, n))) }

// tensorOf is a ValueType.
func tensorOf(code int64, dims ...int64) []byte {
	parts := [][]byte{number(1, code), number(2, int64(len(dims)))}
	for _, n := range dims {
		parts = append(parts, dim(n))
	}
	return sub(1, parts...)
}

var fp32x2 = tensorOf(11, 2)

// named is a NamedValueType.
func named(name string, typ []byte) []byte { return join(text(1, name), sub(2, typ)) }

// op is an operation with one output of type fp32 [2].
func op(kind, output string, inputs ...[]byte) []byte {
	return sub(3, text(1, kind), join(inputs...), sub(3, named(output, fp32x2)))
}

// arg binds a parameter of an operation to values.
func arg(param string, values ...string) []byte {
	var bindings [][]byte
	for _, v := range values {
		bindings = append(bindings, sub(1, text(1, v)))
	}
	return entry(2, param, bindings...)
}

// val is a const operation's attribute.
func val(value ...[]byte) []byte { return entry(5, "val", value...) }

// program is one function main(x fp32 [2]) of opset CoreML8 whose body has the parts.
func program(body ...[]byte) []byte {
	return join(number(1, 1), entry(2, "main",
		sub(1, named("x", fp32x2)), text(2, "CoreML8"), entry(3, "CoreML8", body...)))
}

func gives(names ...string) []byte {
	var parts []byte
	for _, n := range names {
		parts = append(parts, text(2, n)...)
	}
	return parts
}

func decodeProgram(data []byte) (*mil.Program, error) {
	m, err := decodeModel(&modelFile{name: "test.mlmodel"}, message{join(number(1, 9), sub(2), sub(502, data)), 0}, 0)
	if err != nil {
		return nil, err
	}
	return m.Program()
}

func TestProgram(t *testing.T) {
	body := sub(4, sub(1, named("i", fp32x2)), op("add", "y", arg("x", "i"), arg("y", "x")), gives("y"))
	p, err := decodeProgram(program(
		sub(3, text(1, "while_loop"), arg("loop_vars", "x", "x"), body, body, sub(3, named("w", fp32x2)),
			entry(5, "name", sub(2, tensorOf(2)), sub(3, sub(1, sub(4, text(1, "loop")))))),
		sub(3, text(1, "write_state"), arg("input", "x"), arg("data", "w")),
		op("concat", "z", arg("values", "w", "x", "w"), arg("axis", "w")),
		gives("z", "x"),
	))
	if err != nil {
		t.Fatal(err)
	}
	main := p.Function("main")
	ops := main.Body.Operations
	if len(ops) != 3 || main.Opset != "CoreML8" || p.Version != "1" {
		t.Fatalf("got %+v", main)
	}
	loop, write, concat := ops[0], ops[1], ops[2]
	if len(loop.Blocks) != 2 || len(loop.Blocks[1].Inputs) != 1 {
		t.Fatalf("got loop %+v", loop)
	}
	add := loop.Blocks[1].Operations[0]
	if add.Input("x")[0].Value != loop.Blocks[1].Inputs[0] || add.Input("y")[0].Value != main.Inputs[0] {
		t.Error("the block does not see its own input and that of the function")
	}
	if name, _ := loop.Attributes.Get("name").Str(); name != "loop" {
		t.Errorf("the loop is called %q", name)
	}
	if len(write.Outputs) != 0 || write.Name() != "write_state" {
		t.Errorf("got %+v", write)
	}
	if concat.Inputs[0].Param != "axis" || concat.Inputs[1].Param != "values" || len(concat.Input("values")) != 3 {
		t.Errorf("got inputs %+v", concat.Inputs)
	}
	if concat.Outputs[0].Def != concat || main.Body.Outputs[0] != concat.Outputs[0] || main.Body.Outputs[1] != main.Inputs[0] {
		t.Error("the outputs are not those of the operations")
	}
	if err := mil.Verify(p); err != nil {
		t.Error(err)
	}
}

func TestTypes(t *testing.T) {
	unknown := sub(3, sub(2))
	variadic := sub(3, sub(2, number(1, 1)))
	str := tensorOf(2)
	for _, c := range []struct {
		typ  []byte
		want string
	}{
		{tensorOf(10, 1, 3), "tensor<fp16, [1, 3]>"},
		{sub(1, number(1, 23)), "int32"},
		{sub(1, number(1, 11), number(2, 2), dim(4), unknown), "tensor<fp32, [4, ?]>"},
		{sub(1, number(1, 11), number(2, -1)), "tensor<fp32, [...]>"},
		{sub(1, number(1, 11), number(2, 1), variadic), "tensor<fp32, [...]>"},
		{sub(1, number(1, 11), number(2, 1), sub(3, sub(1))), "tensor<fp32, [0]>"},
		{sub(2, sub(1, str), sub(2, sub(1, number(1, 3)))), "list<string, 3>"},
		{sub(2, sub(1, str), sub(2, sub(2))), "list<string, ?>"},
		{sub(2, sub(1, str)), "list<string, ?>"},
		{sub(3, sub(1, str), sub(1, tensorOf(1))), "tuple<string, bool>"},
		{sub(3), "tuple<>"},
		{sub(4, sub(1, str), sub(2, tensorOf(12))), "dict<string, fp64>"},
		{sub(5, sub(1, tensorOf(10, 2))), "state<tensor<fp16, [2]>>"},
	} {
		d := &programDecoder{}
		got, err := d.valueType(message{c.typ, 0})
		if err != nil || got.String() != c.want || d.depth != 0 {
			t.Errorf("got %v, %v, want %s", got, err, c.want)
		}
	}
	seen := map[tensor.DType]bool{}
	for code, dtype := range dataTypes {
		seen[dtype] = true
		d := &programDecoder{}
		if got, err := d.valueType(message{tensorOf(code), 0}); err != nil || got.(*mil.TensorType).DType != dtype {
			t.Errorf("code %d: got %v, %v", code, got, err)
		}
	}
	for _, dtype := range tensor.DTypes() {
		if !seen[dtype] {
			t.Errorf("%v has no code", dtype)
		}
	}
}

// Constants of every form, in a file that Google's encoder wrote (testdata/make.py).
func TestValues(t *testing.T) {
	m := open(t, "testdata/values.mlmodel")
	p, err := m.Program()
	if err != nil {
		t.Fatal(err)
	}
	consts := map[string]*mil.Constant{}
	for _, op := range p.Function("main").Body.Operations {
		consts[op.Outputs[0].Name] = op.Attributes.Get("val")
		if v := op.Outputs[0]; !mil.Equal(v.Type, v.Const().Type) {
			t.Errorf("%s is of type %v, its value of type %v", v.Name, v.Type, v.Const().Type)
		}
	}
	for name, want := range map[string][]float64{
		"f32": {1.5, -2, math.Inf(1), float64(math.Float32frombits(1))}, "f64": {1e300}, "f16": {1, -1}, "scalar": {0.25},
	} {
		if got := consts[name].Tensor.Float64s(); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string][]int64{
		"i32": {-1, 0, math.MaxInt32}, "i16": {-32768, 32767}, "u16": {65535}, "i64": {math.MinInt64, math.MaxInt64},
		"u32": {math.MaxUint32}, "i8": {-1, 127}, "u8": {255}, "i4": {-1, -8, 7}, "u3": {1, 2, 7}, "bools": {1, 0, 1}, "empty": {},
	} {
		if got := consts[name].Tensor.Int64s(); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := tensor.Data[uint64](consts["u64"].Tensor)[0]; got != math.MaxUint64 {
		t.Errorf("u64 is %d", got)
	}
	if got := consts["empty"].Tensor.Shape(); !slices.Equal(got, []int{0, 3}) {
		t.Errorf("empty has shape %v", got)
	}
	if got := consts["strings"].Tensor.Strings(); !slices.Equal(got, []string{"", "grüße"}) {
		t.Errorf("strings is %q", got)
	}
	list := consts["list"]
	if a, _ := list.Items[0].Str(); len(list.Items) != 2 || a != "a" || list.Type.String() != "list<string, 2>" {
		t.Errorf("list is %+v", list)
	}
	tuple := consts["tuple"]
	if len(tuple.Items) != 2 || tuple.Items[1].Tensor.Int64s()[0] != 7 || tuple.Type.String() != "tuple<bool, int32>" {
		t.Errorf("tuple is %+v", tuple)
	}
	blob := consts["blob"]
	if blob.File == nil || blob.File.Path != "@model_path/weights/weight.bin" || blob.File.Offset != 64 || blob.Tensor != nil {
		t.Errorf("blob is %+v", blob)
	}
	info := p.Attributes.Get("buildInfo")
	if key, _ := info.Entries[0].Key.Str(); key != "coremltools-version" {
		t.Errorf("buildInfo is %+v", info)
	}
	// What mil.Program has no place for is not lost.
	if u := m.Unknown(); len(u) != 1 || u[0].Message != "Program" || u[0].Number != 3 || !strings.HasSuffix(string(u[0].Raw), "kept as an unknown field") {
		t.Errorf("got unknown fields %+v", u)
	}
	again, err := m.Program()
	if err != nil || again != p {
		t.Errorf("Program decoded twice, error %v", err)
	}
}

// Floats that do not lie in one piece are joined; the file itself is not written to.
func TestScatteredFloats(t *testing.T) {
	data := sub(1, float(1, 1), sub(1, float(0x1, 2)[1:], float(0x1, 3)[1:]), float(1, 4))
	before := slices.Clone(data)
	d := &programDecoder{}
	got, err := d.tensorValue(mil.Tensor(tensor.Float32, 4), message{data, 0})
	if err != nil || !slices.Equal(got.Float32s(), []float32{1, 2, 3, 4}) {
		t.Errorf("got %v, %v", got, err)
	}
	if !reflect.DeepEqual(before, data) {
		t.Error("the file was changed")
	}
}

func TestImmediateArraysAreViews(t *testing.T) {
	data := sub(7, text(1, "\x00\x3c\x00\x40"))
	d := &programDecoder{}
	got, err := d.tensorValue(mil.Tensor(tensor.Float16, 2), message{data, 0})
	if err != nil {
		t.Fatal(err)
	}
	if b := got.Bytes(); &b[0] != &data[len(data)-4] {
		t.Error("the array was copied")
	}
}

func TestBadPrograms(t *testing.T) {
	add := op("add", "y", arg("x", "x"), arg("y", "x"))
	constant := func(typ []byte, value ...[]byte) []byte {
		return program(sub(3, text(1, "const"), val(sub(2, typ), join(value...)), sub(3, named("c", typ))), gives("c"))
	}
	immediate := func(kind int, parts ...[]byte) []byte { return sub(3, sub(1, sub(protowire.Number(kind), parts...))) }
	deepType := tensorOf(11)
	listType := sub(2, sub(1, tensorOf(11)))
	deepValue := sub(3, sub(3))
	for range maxDepth {
		deepType = sub(2, sub(1, deepType))
		deepValue = sub(3, sub(3, sub(1, sub(2, listType), deepValue)))
	}
	deepBlock := gives("x")
	for range maxDepth {
		deepBlock = join(sub(3, text(1, "cond"), sub(4, deepBlock)), gives("x"))
	}
	const body = "mlProgram.functions[main].block_specializations[CoreML8]"
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"undefined", program(op("relu", "y", arg("x", "nowhere")), gives("y")), []string{body + ".operations[0].inputs[x].arguments[0].name", "operation relu (y)", `"nowhere"`, "not defined"}},
		{"cycle", program(op("relu", "a", arg("x", "b")), op("relu", "b", arg("x", "a")), gives("b")), []string{body + ".operations[0]", "operation relu (a)", `"b"`, "cycle"}},
		{"itself", program(op("relu", "a", arg("x", "a")), gives("a")), []string{"operation relu (a)", `"a"`, "cycle"}},
		{"its own block", program(sub(3, text(1, "cond"), sub(4, gives("c")), sub(3, named("c", fp32x2))), gives("c")), []string{"operations[0].blocks[0].outputs[0]", `"c"`, "not defined"}},
		{"a value of a block that ended", program(sub(3, text(1, "cond"), sub(4, add, gives("y"))), op("relu", "z", arg("x", "y")), gives("z")), []string{"operation relu (z)", `"y"`, "not defined"}},
		{"defined twice", program(add, add, gives("y")), []string{body + ".operations[1].outputs[0]", "operation add (y)", `"y"`, "already defined by operation add (y)"}},
		{"two inputs", join(number(1, 1), entry(2, "f", sub(1, named("x", fp32x2)), sub(1, named("x", fp32x2)), text(2, "o"), entry(3, "o"))), []string{"functions[f].inputs[1]", `"x"`}},
		{"output undefined", program(gives("nothing")), []string{body + ".outputs[0]", `"nothing"`, "not defined"}},
		{"no such opset", join(number(1, 1), entry(2, "f", text(2, "CoreML7"), entry(3, "CoreML8"))), []string{"functions[f]", `"CoreML7"`, "CoreML8"}},
		{"function without a name", entry(2, ""), []string{"mlProgram.functions", "no name"}},
		{"parameter without a name", program(op("relu", "y", arg("", "x"))), []string{"operations[0].inputs", "no name"}},
		{"function twice", join(entry(2, "f"), entry(2, "f")), []string{"mlProgram.functions[f]", "second time"}},
		{"specialization twice", entry(2, "f", entry(3, "a"), entry(3, "a")), []string{"functions[f].block_specializations[a]", "second time"}},
		{"body with inputs", program(sub(1, named("i", fp32x2))), []string{body, `"i"`}},
		{"operation without a type", program(sub(3)), []string{body + ".operations[0].type"}},
		{"output without a name", program(sub(3, text(1, "relu"), sub(3, sub(2, fp32x2)))), []string{"operations[0].outputs[0].name"}},
		{"output without a type", program(sub(3, text(1, "relu"), sub(3, text(1, "y")))), []string{"operations[0].outputs[0].type"}},
		{"parameter twice", program(sub(3, text(1, "relu"), arg("x", "x"), arg("x", "x"))), []string{"operations[0].inputs[x]", "second time"}},
		{"attribute twice", program(sub(3, text(1, "relu"), val(), val())), []string{"operations[0].attributes[val]", "second time"}},
		{"bound to nothing", program(op("relu", "y", entry(2, "x", sub(1)))), []string{"inputs[x].arguments[0]", "bound to nothing"}},
		{"bound twice", program(op("relu", "y", entry(2, "x", sub(1, text(1, "x"), text(1, "x"))))), []string{"inputs[x].arguments[0]", "bound twice"}},
		{"blocks too deep", program(deepBlock), []string{"blocks are nested more than 100 deep"}},

		{"element type", constant(tensorOf(77)), []string{"operations[0].outputs[0].type.tensorType.dataType", "77"}},
		{"no element type", constant(sub(1)), []string{"tensorType.dataType", "missing"}},
		{"rank", constant(sub(1, number(1, 11), number(2, 2), dim(3))), []string{"tensorType.rank", "rank is 2, but there are 1 dimensions"}},
		{"dimension of nothing", constant(sub(1, number(1, 11), number(2, 1), sub(3))), []string{"tensorType.dimensions[0]", "neither"}},
		{"dimension twice", constant(sub(1, number(1, 11), number(2, 1), sub(3, sub(1), sub(2)))), []string{"tensorType.dimensions[0].unknown", "twice"}},
		{"dimension too long", constant(tensorOf(11, -1)), []string{"tensorType.dimensions[0].constant.size", "-1"}},
		{"product overflows", constant(tensorOf(11, 1<<32, 1<<32)), []string{"tensorType.dimensions", "more elements than any memory"}},
		{"no type", constant(nil), []string{"type", "missing"}},
		{"two types", constant(join(tensorOf(11), tensorOf(11))), []string{"type.tensorType", "twice"}},
		{"types too deep", constant(deepType), []string{"types are nested more than 100 deep"}},
		{"list of nothing", constant(sub(2)), []string{"listType.type"}},
		{"dictionary of nothing", constant(sub(4)), []string{"dictionaryType.keyType"}},
		{"state of nothing", constant(sub(5)), []string{"stateType.wrappedType"}},

		{"no value", constant(tensorOf(11)), []string{"attributes[val]", "neither in the program nor in a file"}},
		{"value twice", constant(tensorOf(11), sub(3), sub(5)), []string{"attributes[val]", "given twice"}},
		{"too few", constant(tensorOf(11, 2), immediate(storedFloats, float(1, 1))), []string{"immediateValue.tensor.floats", "take 8 bytes, found 4"}},
		{"too many", constant(tensorOf(23, 2), immediate(storedInts, packed(1, 1, 2, 3))), []string{"immediateValue.tensor.ints", "take 8 bytes, found 12"}},
		{"none", constant(tensorOf(23, 2), sub(3, sub(1))), []string{"immediateValue.tensor", "missing"}},
		{"no member", constant(tensorOf(23, 2), sub(3)), []string{"immediateValue", "missing"}},
		{"not packed", constant(tensorOf(25, 2), immediate(storedInts, packed(1, 1, 2))), []string{"ints", "as bytes"}},
		{"too large", constant(tensorOf(22, 1), immediate(storedInts, packed(1, 40000))), []string{"immediateValue.tensor.ints.values", "40000 does not fit type int16"}},
		{"too small", constant(tensorOf(32, 1), immediate(storedInts, packed(1, -1))), []string{"-1 does not fit type uint16"}},
		{"fp32 as ints", constant(tensorOf(11, 1), immediate(storedInts, packed(1, 1))), []string{"immediateValue.tensor.ints", "cannot be given as ints"}},
		{"bool as bytes", constant(tensorOf(1, 1), immediate(storedBytes, text(1, "\x02"))), []string{"cannot be given as bytes"}},
		{"string as bytes", constant(tensorOf(2, 1), immediate(storedBytes, text(1, "a"))), []string{"cannot be given as bytes"}},
		{"elements twice", constant(tensorOf(11), sub(3, sub(1, sub(1), sub(1)))), []string{"immediateValue.tensor.floats", "twice"}},
		{"floats cut off", constant(tensorOf(11, 1), immediate(storedFloats, text(1, "abc"))), []string{"take 4 bytes, found 3"}},
		{"too few strings", constant(tensorOf(2, 2), immediate(storedStrings, text(1, "a"))), []string{"strings", "there are 1 strings, the shape asks for 2"}},
		{"too many strings", constant(tensorOf(2), immediate(storedStrings, text(1, "a"), text(1, "b"))), []string{"strings.values", "more than the 1"}},
		{"string not UTF-8", constant(tensorOf(2), immediate(storedStrings, text(1, "\xff"))), []string{"strings.values", "UTF-8"}},
		{"unknown shape", constant(sub(1, number(1, 11), number(2, 1), sub(3, sub(2))), immediate(storedFloats)), []string{"without unknowns"}},
		{"list for a tensor", constant(tensorOf(11), sub(3, sub(3))), []string{"immediateValue.list", "cannot be the value of a constant of type fp32"}},
		{"short list", constant(sub(2, sub(1, tensorOf(2)), sub(2, sub(1, number(1, 2)))), sub(3, sub(3))), []string{"immediateValue.list", "there are 0 values, expected 2"}},
		{"long tuple", constant(sub(3), sub(3, sub(2, sub(1)))), []string{"immediateValue.tuple", "more than the 0 values"}},
		{"wrong item", constant(sub(3, sub(1, tensorOf(2))), sub(3, sub(2, sub(1, sub(2, tensorOf(23)), immediate(storedInts, packed(1, 1)))))), []string{"immediateValue.tuple.values[0]", "type int32, expected string"}},
		{"dictionary without values", constant(sub(4, sub(1, tensorOf(2)), sub(2, tensorOf(2))), sub(3, sub(4, sub(1)))), []string{"immediateValue.dictionary.values[0].key"}},
		{"values too deep", constant(listType, deepValue), []string{"attributes[val].immediateValue.list.values[0].", "nested more than 100 deep"}},
		{"blob without a name", constant(tensorOf(11, 1), sub(5, number(2, 64))), []string{"blobFileValue.fileName"}},
		{"blob of unknown shape", constant(sub(1, number(1, 11), number(2, -1)), sub(5, text(1, "w"))), []string{"blobFileValue", "cannot live in a file"}},
		{"blob of a list", constant(sub(2, sub(1, tensorOf(2))), sub(5, text(1, "w"))), []string{"blobFileValue", "cannot live in a file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decodeProgram(c.data)
			if err == nil {
				t.Fatal("no error")
			}
			wantFormatError(t, err, append(c.want, "test.mlmodel: byte 0x")...)
		})
	}
}

func TestProgramOfOtherTypes(t *testing.T) {
	m := open(t, "testdata/features.mlmodel")
	if _, err := m.Program(); !errors.Is(err, ErrNotSupported) || !strings.Contains(err.Error(), "neuralNetworkClassifier") {
		t.Errorf("got error %v", err)
	}
	if files, err := m.CheckWeights(); err != nil || files != nil {
		t.Errorf("got weights %v, %v", files, err)
	}
}

// Whatever is cut off gives an error or a model, never a panic.
func TestEveryPrefix(t *testing.T) {
	for _, name := range []string{"features", "functions", "pipeline_classifier", "values"} {
		m := open(t, "testdata/"+name+".mlmodel")
		data, err := m.file.src.open("")
		if err != nil {
			t.Fatal(err)
		}
		for n := range data {
			m, err := decodeModel(&modelFile{}, message{data[:n:n], 0}, 0)
			if err == nil {
				if _, err = m.Program(); err == nil {
					walk(m)
				}
			}
			var format *FormatError
			if err != nil && !errors.As(err, &format) && !errors.Is(err, ErrNotSupported) {
				t.Fatalf("%s cut off after %d bytes: error %v of type %T", name, n, err, err)
			}
		}
	}
}

// walk looks at everything that a model says of itself.
func walk(m *Model) {
	for _, f := range m.Description.Functions {
		for _, feature := range slices.Concat(f.Inputs, f.Outputs, f.States) {
			_ = fmt.Sprint(feature.Type)
		}
	}
	for _, s := range m.Stages {
		walk(s.Model)
	}
	p, err := m.Program()
	if err != nil {
		return
	}
	walkConstants(p, func(_ *mil.Operation, c *mil.Constant) {
		if c.Tensor != nil && c.Tensor.DType() != tensor.String {
			_ = c.Tensor.Bytes()
		}
		_ = c.Type.String()
	})
}
