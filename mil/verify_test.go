package mil_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

const sound = `program(1.3)
[buildInfo = dict<string, string>({{"a", "b"}})]
{
    func main<ios18>(tensor<fp16, [2]> x, bool p) [shapes = list<tensor<int32, [2]>, 1>([[1, 2]]), pair = tuple<int32, string>((1, "a"))] {
            tensor<fp16, [2]> w = const()[name = string("w"), val = tensor<fp16, [2]>([0x1p+0, 0x1p+1])];
            tensor<fp16, [2]> f = const()[name = string("f"), val = tensor<fp16, [2]>(BLOBFILE(path = string("@model_path/w"), offset = uint64(64)))];
            tensor<fp16, [2]> y = add(x = x, y = w)[name = string("y")];
            tensor<fp16, [2]> c = cond(pred = p)
                () {
                    tensor<fp16, [2]> inner = mul(x = y, y = fp16(0x1p+1));
                } -> (inner)
                () {
                } -> (y);
        } -> (c);
}
`

// at finds an operation of the sound program by the name of its output.
func at(p *mil.Program, name string) *mil.Operation {
	var found *mil.Operation
	p.Functions[0].Body.Walk(func(op *mil.Operation) {
		if op.Outputs[0].Name == name {
			found = op
		}
	})
	return found
}

// mistakes change the sound program into one that is not.
var mistakes = []struct {
	name   string
	change func(p *mil.Program)
	want   string
}{
	{"version", func(p *mil.Program) { p.Version = "" }, `the version of the program is ""`},
	{"function without a name", func(p *mil.Program) { p.Functions[0].Name = "" }, "a function has no name"},
	{"function twice", func(p *mil.Program) { p.Functions = append(p.Functions, p.Functions[0]) }, `function "main" is defined twice`},
	{"no opset", func(p *mil.Program) { p.Functions[0].Opset = "" }, "function main: the function has no opset"},
	{"no body", func(p *mil.Program) { p.Functions[0].Body = nil }, "function main: the function has no body"},
	{"no return", func(p *mil.Program) { p.Functions[0].Body.Outputs = nil },
		`function main: the function returns nothing: its return, "-> (…)", is missing or empty`},
	{"body with inputs", func(p *mil.Program) {
		p.Functions[0].Body.Inputs = []*mil.Value{{Name: "i", Type: mil.Tensor(tensor.Bool)}}
	},
		"function main: the body of the function has inputs of its own"},
	{"input twice", func(p *mil.Program) { p.Functions[0].Inputs = append(p.Functions[0].Inputs, p.Functions[0].Inputs[0]) },
		`function main: value "x" is defined a second time`},

	{"undefined", func(p *mil.Program) {
		at(p, "y").Inputs[0].Args[0].Value = &mil.Value{Name: "q", Type: mil.Tensor(tensor.Bool)}
	},
		`function main: operation y (add), line 7:13: parameter "x" is value "q", which is not defined before its use`},
	{"impostor", func(p *mil.Program) {
		at(p, "y").Inputs[0].Args[0].Value = &mil.Value{Name: "x", Type: mil.Tensor(tensor.Bool)}
	},
		`function main: operation y (add), line 7:13: parameter "x" is a value "x", but not the one that is defined here`},
	{"too early", func(p *mil.Program) { at(p, "y").Inputs[0].Args[0].Value = at(p, "c").Outputs[0] },
		`function main: operation y (add), line 7:13: parameter "x" is value "c", which is not defined before its use`},
	{"cycle", func(p *mil.Program) { at(p, "y").Inputs[0].Args[0].Value = at(p, "y").Outputs[0] },
		`parameter "x" is value "y", which is not defined before its use`},
	{"out of scope", func(p *mil.Program) { p.Functions[0].Body.Outputs[0] = at(p, "inner").Outputs[0] },
		`function main: an output of the block is value "inner", which is out of scope`},
	{"sibling block", func(p *mil.Program) { at(p, "c").Blocks[1].Outputs[0] = at(p, "inner").Outputs[0] },
		`function main: operation c (cond), line 8:13: an output of the block is value "inner", which is out of scope`},
	{"defined twice", func(p *mil.Program) { at(p, "y").Outputs[0].Name = "w" },
		`function main: operation w (add), line 7:13: value "w" is defined a second time`},
	{"hides an outer value", func(p *mil.Program) { at(p, "inner").Outputs[0].Name = "x" },
		`function main: operation x (mul), line 10:21: value "x" is defined a second time`},
	{"output without a name", func(p *mil.Program) { at(p, "y").Outputs[0].Name = "" }, `operation y (add), line 7:13: an output has no name`},
	{"wrong definition", func(p *mil.Program) { at(p, "y").Outputs[0].Def = nil }, `value "y" does not know the operation that defines it`},

	{"no kind", func(p *mil.Program) { at(p, "y").Kind = "" }, `operation y (), line 7:13: the operation has no kind`},
	{"nothing bound", func(p *mil.Program) { at(p, "y").Inputs[0].Args[0] = mil.Arg{} },
		`operation y (add), line 7:13: parameter "x" must be bound to a value or to a constant`},
	{"both bound", func(p *mil.Program) { at(p, "y").Inputs[0].Args[0].Const = mil.ConstOf(true) },
		`parameter "x" must be bound to a value or to a constant`},
	{"parameter twice", func(p *mil.Program) { at(p, "y").Inputs[1].Param = "x" }, `parameter "x" is given twice`},
	{"parameter without a name", func(p *mil.Program) { at(p, "y").Inputs[1].Param = "" }, "a parameter has no name"},
	{"attribute twice", func(p *mil.Program) { a := &at(p, "y").Attributes; *a = append(*a, (*a)[0]) }, `attribute "name" is given twice`},
	{"attribute without a value", func(p *mil.Program) { at(p, "y").Attributes[0].Value = nil }, `attribute "name": a constant is missing`},
	{"nil block", func(p *mil.Program) { at(p, "c").Blocks[0] = nil }, "operation c (cond), line 8:13: a block is nil"},
	{"nil operation", func(p *mil.Program) { p.Functions[0].Body.Operations[0] = nil }, "function main: an operation is nil"},

	{"nil type", func(p *mil.Program) { at(p, "y").Outputs[0].Type = nil }, `value "y": a type is missing`},
	{"nil pointer", func(p *mil.Program) { at(p, "y").Outputs[0].Type = (*mil.TensorType)(nil) }, `value "y": a type is missing`},
	{"nil in a type", func(p *mil.Program) { at(p, "y").Outputs[0].Type = &mil.ListType{} }, `value "y": a type is missing`},
	{"no element type", func(p *mil.Program) { at(p, "y").Outputs[0].Type = &mil.TensorType{} }, `value "y": an element type is missing`},
	{"huge", func(p *mil.Program) {
		at(p, "y").Outputs[0].Type = mil.Tensor(tensor.Float16, 1<<40, tensor.Unknown, 1<<40)
	},
		`value "y": tensor<fp16, [1099511627776, ?, 1099511627776]> has too many elements`},
	{"deep type", func(p *mil.Program) {
		for range 300 {
			at(p, "y").Outputs[0].Type = &mil.StateType{Elem: at(p, "y").Outputs[0].Type}
		}
	}, "types are nested more than 200 levels deep"},
	{"deep blocks", func(p *mil.Program) {
		b := at(p, "c").Blocks[1]
		for range 300 {
			b.Operations = []*mil.Operation{{Kind: "k", Blocks: []*mil.Block{{}}}}
			b = b.Operations[0].Blocks[0]
		}
	}, "blocks are nested more than 200 levels deep"},

	{"const without val", func(p *mil.Program) { at(p, "w").Attributes = nil }, `operation w (const), line 5:13: a const needs the attribute "val"`},
	{"const of another type", func(p *mil.Program) { at(p, "w").Outputs[0].Type = mil.Tensor(tensor.Float16, 3) },
		`operation w (const), line 5:13: value "w" is declared tensor<fp16, [3]>, but its constant is tensor<fp16, [2]>`},
	{"constant of another size", func(p *mil.Program) { at(p, "w").Attributes.Get("val").Tensor = tensor.New(tensor.Float16, 3) },
		`operation w (const), line 5:13: attribute "val": a constant of type tensor<fp16, [2]> holds an array of type tensor<fp16, [3]>`},
	{"constant of another element type", func(p *mil.Program) { at(p, "w").Attributes.Get("val").Tensor = tensor.New(tensor.Int16, 2) },
		`a constant of type tensor<fp16, [2]> holds an array of type tensor<int16, [2]>`},
	{"constant without a value", func(p *mil.Program) { at(p, "w").Attributes.Get("val").Tensor = nil },
		`a constant of type tensor<fp16, [2]> must be in the program or in a file`},
	{"constant in two places", func(p *mil.Program) { at(p, "f").Attributes.Get("val").Tensor = tensor.New(tensor.Float16, 2) },
		`a constant of type tensor<fp16, [2]> must be in the program or in a file`},
	{"file without a path", func(p *mil.Program) { at(p, "f").Attributes.Get("val").File.Path = "" }, "a constant is in a file without a path"},
	{"list too short", func(p *mil.Program) { p.Functions[0].Attributes.Get("shapes").Items = nil },
		`function main: attribute "shapes": a constant of type list<tensor<int32, [2]>, 1> has length 0`},
	{"list of other things", func(p *mil.Program) { p.Functions[0].Attributes.Get("shapes").Items[0] = mil.ConstOf(int32(1)) },
		`function main: attribute "shapes": element 0: expected type tensor<int32, [2]>, found int32`},
	{"tuple too long", func(p *mil.Program) {
		c := p.Functions[0].Attributes.Get("pair")
		c.Items = append(c.Items, c.Items[0])
	}, `attribute "pair": a constant of type tuple<int32, string> has length 3`},
	{"dict of other things", func(p *mil.Program) { p.Attributes.Get("buildInfo").Entries[0].Value = mil.ConstOf(true) },
		`attribute "buildInfo": value of entry 0: expected type string, found bool`},
	{"dict with a hole", func(p *mil.Program) { p.Attributes.Get("buildInfo").Entries[0].Key = nil },
		`attribute "buildInfo": key of entry 0: a constant is missing`},
	{"dict with an array", func(p *mil.Program) { p.Attributes.Get("buildInfo").Tensor = tensor.Scalar(true) },
		`a constant of type dict<string, string> cannot hold an array`},
	{"array with elements", func(p *mil.Program) { at(p, "w").Attributes.Get("val").Items = []*mil.Constant{nil} },
		`a constant of type tensor<fp16, [2]> holds elements that it cannot have`},
}

func TestVerify(t *testing.T) {
	if err := mil.Verify(parse(t, "sound.mil", []byte(sound))); err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			p := parse(t, "sound.mil", []byte(sound))
			m.change(p)
			err := mil.Verify(p)
			var typed *mil.VerifyError
			if !errors.As(err, &typed) || !strings.Contains(err.Error(), m.want) {
				t.Errorf("\nwant %s\ngot  %v", m.want, err)
			}
		})
	}
	p := parse(t, "sound.mil", []byte(sound))
	at(p, "y").Outputs[0].Name = "w"
	var typed *mil.VerifyError
	if err := mil.Verify(p); !errors.As(err, &typed) || typed.Function != "main" || typed.Op != at(p, "w") && typed.Op.Kind != "add" || typed.Value != "w" {
		t.Errorf("the error does not say where: %#v", typed)
	}
}

// TestEqualPrograms holds that no mistake, and no other change, goes unnoticed.
func TestEqualPrograms(t *testing.T) {
	changes := mistakes
	for _, c := range []struct {
		name   string
		change func(p *mil.Program)
		want   string
	}{
		{"version", func(p *mil.Program) { p.Version = "1.2" }, "version 1.3 ≠ 1.2"},
		{"opset", func(p *mil.Program) { p.Functions[0].Opset = "ios17" }, "function main: opset ios18 ≠ ios17"},
		{"function", func(p *mil.Program) { p.Functions[0].Name = "f" }, "function main is missing"},
		{"input", func(p *mil.Program) { p.Functions[0].Inputs[0].Name = "z" }, `function main: input 0: value "x" ≠ "z"`},
		{"type", func(p *mil.Program) { p.Functions[0].Inputs[1].Type = mil.Tensor(tensor.Int8) }, `function main: input "p": bool ≠ int8`},
		{"kind", func(p *mil.Program) { at(p, "y").Kind = "sub" }, "function main: operation y (add): kind add ≠ sub"},
		{"parameter", func(p *mil.Program) { at(p, "y").Inputs[1].Param = "z" }, "function main: operation y (add): parameter y ≠ z"},
		{"argument", func(p *mil.Program) { at(p, "y").Inputs[1].Args[0].Value = p.Functions[0].Inputs[0] },
			`function main: operation y (add): parameter y: value "w" ≠ "x"`},
		{"in place", func(p *mil.Program) { at(p, "inner").Inputs[1].Args[0].Const = mil.NewConst(mil.F16(3)) },
			"operation c (cond): block 0: operation inner (mul): parameter y: 0x1p+1 ≠ 0x1.8p+1 at element 0 of fp16"},
		{"bits", func(p *mil.Program) { at(p, "w").Attributes.Get("val").Tensor.Bytes()[2] ^= 1 },
			"operation w (const): attribute val: 0x1p+1 ≠ 0x1.004p+1 at element 1 of tensor<fp16, [2]>"},
		{"offset", func(p *mil.Program) { at(p, "f").Attributes.Get("val").File.Offset = 128 },
			"attribute val: @model_path/w at 64 ≠ @model_path/w at 128"},
		{"place", func(p *mil.Program) {
			c := at(p, "f").Attributes.Get("val")
			c.File, c.Tensor = nil, tensor.New(tensor.Float16, 2)
		}, "attribute val: a constant in the program ≠ one in a file"},
		{"attribute", func(p *mil.Program) { at(p, "y").Attributes.Set("a", mil.ConstOf(true)) }, "attribute a is missing in the first"},
		{"no attribute", func(p *mil.Program) { at(p, "y").Attributes = nil }, "attribute name is missing in the second"},
		{"output", func(p *mil.Program) { p.Functions[0].Body.Outputs[0] = at(p, "y").Outputs[0] }, `function main: block output 0: value "c" ≠ "y"`},
		{"operations", func(p *mil.Program) {
			b := at(p, "c").Blocks[0]
			b.Operations = nil
			b.Outputs = at(p, "c").Blocks[1].Outputs
		}, "block 0: 1 operations ≠ 0"},
		{"entry", func(p *mil.Program) { p.Attributes.Get("buildInfo").Entries[0].Value = mil.ConstOf("c") },
			`attribute buildInfo: value of entry 0: "b" ≠ "c" at element 0 of string`},
	} {
		changes = append(changes, c)
		t.Run(c.name, func(t *testing.T) {
			a, b := parse(t, "a.mil", []byte(sound)), parse(t, "b.mil", []byte("\n\n"+sound))
			if err := mil.EqualPrograms(a, b); err != nil {
				t.Fatal(err)
			}
			c.change(b)
			if err := mil.EqualPrograms(a, b); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("\nwant %s\ngot  %v", c.want, err)
			}
		})
	}
	for _, c := range changes {
		if strings.HasPrefix(c.name, "nil") || c.name == "wrong definition" || strings.HasSuffix(c.name, "twice") {
			continue // not a program that can be compared
		}
		a, b := parse(t, "a.mil", []byte(sound)), parse(t, "b.mil", []byte(sound))
		c.change(b)
		if err := mil.EqualPrograms(a, b); err == nil {
			t.Errorf("%s goes unnoticed", c.name)
		}
	}
}

// A function that writes a state has done something, though it returns nothing.
func TestStateIsEffectEnough(t *testing.T) {
	const text = `program(1.3)
[buildInfo = dict<string, string>({})]
{
  func main<ios18>(state<tensor<fp16, [4]>> s, tensor<fp16, [4]> x) {
    write_state(data = x, input = s)[name = string("w")];
  } -> ();
}
`
	if _, err := mil.ParseText("state.mil", []byte(text), nil); err != nil {
		t.Error(err)
	}
}
