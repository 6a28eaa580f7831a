package mil_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
)

// inFunction puts lines into a function; the first is line 3 of the text.
func inFunction(lines string) string {
	return "program(1.3)\n{ func main<ios18>(tensor<fp16, [2]> x, fp16 h) {\n" + lines + "\n} -> (x);\n}"
}

// ofType puts a literal into a constant of the given type.
func ofType(t, literal string) string {
	return inFunction("fp16 k = f(c = " + t + "(" + literal + "));")
}

var badTexts = []struct{ name, text, want string }{
	{"empty", "", `1:1: expected "program", found the end of the text`},
	{"no version", "program()", `1:9: expected the version of the program, such as 1.3, found ")"`},
	{"strange version", "program(1e3){}", `1:9: expected the version of the program, such as 1.3, found "1e3"`},
	{"no braces", "program(1.0)", `1:13: expected "{" before the functions, found the end of the text`},
	{"not a function", "program(1.0){ main }", `1:15: expected "func", or "}" after the last function, found "main"`},
	{"after the end", "program(1.0){} x", `1:16: expected the end of the text after the program, found "x"`},
	{"git lfs pointer", "version https://git-lfs.github.com/spec/v1\n", `1:1: expected "program", found "version"`},
	{"bad character", "program(1.0)\n  &", `2:3: unexpected character '&'`},
	{"bad bytes", "program(1.0){func f<a>(\x01", `1:24: unexpected character '\x01'`},
	{"open comment", "program(1.0) /* …", `1:14: comment is not closed: expected */, found the end of the text`},
	{"no opset", "program(1.0){ func main() {} }", `1:24: expected "<" before the opset of function main, found "("`},
	{"function twice", "program(1.0){ func f<a>(){} func f<a>(){} }", `1:34: function "f" is defined twice`},
	{"input twice", "program(1.0){ func f<a>(fp16 x, fp16 x){} }", `1:38: value "x" is defined a second time: line 1 defines it`},
	{"open function", "program(1.0){ func f<a>(){ ", `1:28: expected an operation, or "}" after the last one, found the end of the text`},
	{"open block list", "program(1.0){ func f<a>(fp16 x){} -> (x", `1:40: expected "," or ")" after an output of a block, found the end of the text`},

	{"undefined", inFunction("fp16 y = relu(x = q);"),
		`3:19: value "q" is not defined: parameter x of operation y (relu) uses it`},
	{"undefined in a tuple", inFunction("fp16 y = concat(values = (x, q));"),
		`3:30: value "q" is not defined: parameter values of operation y (concat) uses it`},
	{"used too early", inFunction("fp16 y = relu(x = z);\nfp16 z = relu(x = x);"),
		`3:19: value "z" is used before it is defined: parameter x of operation y (relu) uses it here, line 4 defines it`},
	{"uses itself", inFunction("fp16 y = relu(x = y);"), `3:19: value "y" is not defined: parameter x of operation y (relu) uses it`},
	{"defined twice", inFunction("fp16 y = relu(x = x);\nfp16 y = tanh(x = x);"),
		`4:6: value "y" is defined a second time by operation tanh: line 3 defines it`},
	{"two outputs of one name", inFunction("fp16 y, fp16 y = split(x = x);"),
		`3:14: value "y" is defined a second time by operation split: line 3 defines it`},
	{"hides an outer value", inFunction("fp16 y = cond(pred = h) { fp16 x = relu(x = h); } -> (x);"),
		`3:32: value "x" is defined a second time by operation relu: line 2 defines it`},
	{"inner value", inFunction("fp16 y = cond(pred = h) { fp16 a = relu(x = h); } -> (a);\nfp16 z = relu(x = a);"),
		`4:19: value "a" is not defined: parameter x of operation z (relu) uses it`},
	{"undefined output", "program(1.0){ func f<a>(){} -> (y); }", `1:33: value "y" is not defined: the output of a block uses it`},

	{"no semicolon", inFunction("fp16 y = relu(x = x)\nfp16 z = relu(x = x);"), `4:6: expected "{" before the operations of a block, found "z"`},
	{"no equals", inFunction("fp16 y relu(x = x);"), `3:8: expected "=" after the outputs of an operation, found "relu"`},
	{"no arguments", inFunction("fp16 y = relu;"), `3:14: expected "(" before the arguments of an operation, found ";"`},
	{"untyped constant", inFunction("fp16 y = relu(x = 1);"), `3:19: expected a value or a typed constant for parameter x, found "1"`},
	{"parameter twice", inFunction("fp16 y = add(x = x, x = x);"), `3:21: parameter "x" of operation y (add) is given twice`},
	{"attribute twice", inFunction(`fp16 y = relu(x = x)[a = bool(true), a = bool(true)];`), `3:38: attribute "a" is given twice`},
	{"trailing comma", inFunction("fp16 y = add(x = x,);"), `3:20: expected a parameter, found ")"`},
	{"empty name", inFunction(`fp16 "" = relu(x = x);`), `3:6: expected the name of a value, found the string ""`},

	{"unknown type", inFunction("tensor_buffer<fp16, [1]> y = relu(x = x);"),
		`3:1: unknown type "tensor_buffer": expected tensor, list, tuple, dict, state or an element type`},
	{"unknown element type", inFunction("tensor<fp17, [1]> y = relu(x = x);"), `3:8: unknown element type "fp17"`},
	{"negative length", inFunction("tensor<fp16, [-1]> y = relu(x = x);"), `3:15: expected a length, found "-1"`},
	{"huge length", inFunction("tensor<fp16, [99999999999999999999]> y = relu(x = x);"), `3:15: expected a length, found "99999999999999999999"`},
	{"no shape", inFunction("tensor<fp16> y = relu(x = x);"), `3:12: expected "," after an element type, found ">"`},
	{"open type", inFunction("dict<string> y = relu(x = x);"), `3:12: expected "," after the key type of a dict, found ">"`},

	{"too few", ofType("tensor<fp32, [3]>", "[1, 2]"), `3:34: axis 0 of tensor<fp32, [3]> has length 3, found 2`},
	{"too many", ofType("tensor<fp32, [1]>", "[1, 2]"), `3:38: axis 0 of tensor<fp32, [1]> has length 1, found more`},
	{"ragged", ofType("tensor<fp32, [?, ?]>", "[[1, 2], [3]]"), `3:46: axis 1 of tensor<fp32, [?, ?]> has length 2, found 1`},
	{"flat and short", ofType("tensor<fp32, [2, 2]>", "[1, 2, 3]"), `3:37: tensor<fp32, [2, 2]> has size 4, found 3`},
	{"one value for many", ofType("tensor<fp32, [4]>", "0"), `3:34: expected "[" before the elements of tensor<fp32, [4]>, found "0"`},
	{"far too few", ofType("tensor<fp32, [1000000000]>", "[1]"), `3:43: axis 0 of tensor<fp32, [1000000000]> has length 1000000000, found 1`},
	{"overflow", ofType("tensor<fp32, [4294967296, 4294967296, 4294967296]>", "[1]"),
		`3:67: tensor<fp32, [4294967296, 4294967296, 4294967296]> has too many elements`},
	{"unknown rank", ofType("tensor<fp32, [...]>", "[1]"), `3:36: a constant cannot have type tensor<fp32, [...]>: its rank must be known`},
	{"list for a scalar", ofType("fp32", "[1]"), `3:21: expected a number of type fp32, found "["`},
	{"no value", ofType("fp32", ""), `3:21: expected a number of type fp32, found ")"`},
	{"state constant", ofType("state<fp16>", "1"), `3:28: a constant cannot have type state<fp16>`},
	{"other element type", ofType("tensor<fp32, [1]>", "[fp16(1)]"), `3:35: expected a constant of type fp32, found fp16`},
	{"list too long", ofType("list<int32, 1>", "[1, 2]"), `3:31: list<int32, 1> has length 1, found 2`},
	{"tuple too short", ofType("tuple<int32, int32>", "(1)"), `3:36: tuple<int32, int32> has length 2, found 1`},
	{"tuple too long", ofType("tuple<int32>", "(1, 2)"), `3:33: tuple<int32> has length 1, found more`},
	{"dict of values", ofType("dict<string, int32>", `{"a"}`), `3:37: expected "{" before the key of an entry, found the string "a"`},

	{"int8 too big", ofType("int8", "128"), `3:21: 128 is out of the range of int8, which is -128 to 127`},
	{"uint too small", ofType("uint4", "-1"), `3:22: -1 is out of the range of uint4, which is 0 to 15`},
	{"int4 too small", ofType("int4", "-9"), `3:21: -9 is out of the range of int4, which is -8 to 7`},
	{"uint64 too big", ofType("uint64", "18446744073709551616"),
		`3:23: 18446744073709551616 is out of the range of uint64, which is 0 to 18446744073709551615`},
	{"fraction", ofType("int32", "1.5"), `3:22: expected a number of type int32, found "1.5"`},
	{"fp16 too big", ofType("fp16", "65520"), `3:21: 65520 is out of the range of fp16`},
	{"fp16 too small", ofType("fp16", "-1e9"), `3:21: -1e9 is out of the range of fp16`},
	{"fp32 too big", ofType("fp32", "0x1p128"), `3:21: 0x1p128 is out of the range of fp32`},
	{"fp8 too big", ofType("fp8e4m3fn", "480"), `3:26: 480 is out of the range of fp8e4m3fn`},
	{"no infinities", ofType("fp8e4m3fn", "inf"), `3:26: fp8e4m3fn has no infinities`},
	{"not a number", ofType("fp16", "0x"), `3:21: expected a number of type fp16, found "0x"`},
	{"a word", ofType("fp16", "one"), `3:21: expected a number of type fp16, found "one"`},
	{"nan of nothing", ofType("fp16", "nan(0)"), `3:25: expected the mantissa of a NaN of type fp16, found "0"`},
	{"wide nan", ofType("fp16", "nan(0x400)"), `3:25: expected the mantissa of a NaN of type fp16, found "0x400"`},
	{"long number", ofType("fp16", "0."+strings.Repeat("0", 2000)), `3:21: a number with 2002 characters is too long`},
	{"not a bool", ofType("bool", "1"), `3:21: expected true or false, found "1"`},
	{"not a string", ofType("string", "a"), `3:23: expected a string, found "a"`},
	{"open string", ofType("string", `"a`), `3:23: string is not closed: expected ", found the end of the text`},
	{"unknown escape", ofType("string", `"\q"`), `3:23: string has the unknown escape \q`},
	{"short escape", ofType("string", `"\u12"`), `3:23: string has the escape \u without its 4 hexadecimal digits`},

	{"blob without path", ofType("tensor<fp16, [4]>", "BLOBFILE(offset = uint64(64))"), `3:34: BLOBFILE takes a path and an offset`},
	{"blob with more", ofType("tensor<fp16, [4]>", "BLOBFILE(size = uint64(64))"), `3:43: BLOBFILE takes one path and one offset, found "size"`},
	{"blob at a string", ofType("tensor<fp16, [4]>", `BLOBFILE(path = string("w"), offset = string("64"))`),
		`3:72: expected a constant of type uint64, found string`},
	{"blob in a list", ofType("tensor<fp16, [1]>", `[fp16(BLOBFILE(path = "w", offset = 64))]`),
		`3:35: an element of an array cannot live in a file`},
	{"blob of blobs", ofType("fp16", `BLOBFILE(path = string(BLOBFILE(path = "a", offset = 1)), offset = 64)`),
		`3:44: unknown element type "BLOBFILE"`},

	{"deep type", inFunction(strings.Repeat("list<", 300) + "fp16" + strings.Repeat(">", 300) + " y = f();"),
		"3:996: nested more than 200 levels deep"},
	{"deep literal", ofType("fp16", strings.Repeat("fp16(", 300)), "3:1016: nested more than 200 levels deep"},
	{"deep blocks", inFunction(strings.Repeat("fp16 y = cond() {", 300)), "3:3400: nested more than 200 levels deep"},
	{"deep shape", ofType("tensor<fp16, ["+strings.Repeat("?, ", 300)+"?]>", strings.Repeat("[", 301)),
		"3:1132: nested more than 200 levels deep"},
}

func TestBadTexts(t *testing.T) {
	for _, test := range badTexts {
		t.Run(test.name, func(t *testing.T) {
			_, err := mil.ParseText("bad.mil", []byte(test.text), nil)
			var syntax *mil.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("expected a SyntaxError, found %v", err)
			}
			if want := "bad.mil:" + test.want; err.Error() != want {
				t.Errorf("\nwant %s\ngot  %s", want, err)
			}
		})
	}
}

// TestTruncated cuts a text everywhere: only the whole is a program.
func TestTruncated(t *testing.T) {
	text := `program(1.3)
[buildInfo = dict<string, string>({{"a", "b"}})]
{
    func main<ios18>(bool p, tensor<fp16, [1, ?]> x) {
            tensor<fp16, [2]> w = const()[name = string("w"), val = tensor<fp16, [2]>(BLOBFILE(path = string("p"), offset = uint64(64)))];
            tensor<fp16, [1, ?]> y = cond(pred = p)[name = string("y")]
                () {
                } -> (x)
                () {
                    tensor<fp16, [1, ?]> z = add(x = x, y = fp16(-0x1.8p-3));
                } -> (z);
        } -> (y);
}`
	for n := range len(text) {
		if _, err := mil.ParseText("cut.mil", []byte(text[:n]), nil); err == nil {
			t.Errorf("the first %d bytes are a program", n)
		}
	}
	parse(t, "whole.mil", []byte(text))
}

// TestHostileTexts holds that time and memory follow the length of the text, not what it claims.
func TestHostileTexts(t *testing.T) {
	const n = 20000
	repeat := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"shape":      ofType("tensor<fp64, [281474976710656]>", "[1]"),
		"empty rows": ofType("tensor<fp64, [1000000000, 0]>", "[]"),
		"functions":  "program(1){" + repeat("func f%d<o>(){}") + "}",
		"parameters": inFunction("op(" + repeat("p%d = x, ") + "last = x);"),
		"attributes": inFunction("op()[" + repeat("a%d = bool(true), ") + "last = bool(true)];"),
		"values":     inFunction(repeat("fp16 v%d = relu(x = x);")),
		"inputs":     "program(1){func f<o>(" + repeat("fp16 v%d, ") + "fp16 last){}}",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := mil.ParseText("hostile.mil", []byte(text), nil)
			if err == nil {
				format(t, p)
				_ = mil.Verify(p)
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 200<<20 {
				t.Errorf("a text of %d bytes took %d MiB", len(text), got>>20)
			}
		})
	}
}
