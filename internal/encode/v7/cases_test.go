package v7_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A testCase is a program in a few lines: operations over inputs, the last of them y. In testdata/cases:
//
//	-- NAME --
//	tasks 1                         how many there are, if it matters
//	abs 0.004                       what a result may be off by, and rel, by its magnitude: fp16's unit if not given
//	least 0.1                       inputs are at least this
//	input x [1, 9, 4, 5]            of fp16; "input c bool [1, 9, 4, 5]"
//	y [1, 9, 4, 5] = relu(x = x)    lines that are indented go on; blob [1, 9] is a constant of a weight file
type testCase struct {
	name   string
	inputs []string
	body   []string
	tasks  int // 0: any number
	abs    float64
	rel    float64
	least  float64
}

const fp16Unit = 0x1p-10

// casesOf reads the cases of a file of testdata/cases.
func casesOf(t testing.TB, file string) (cases []testCase) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "cases", file+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		c := testCase{name: f.Name}
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimRight(line, "\n")
			word, rest, _ := strings.Cut(line, " ")
			number := func() float64 {
				v, err := strconv.ParseFloat(rest, 64)
				if err != nil {
					t.Fatalf("%s, %s: %v", file, f.Name, err)
				}
				return v
			}
			switch {
			case strings.HasPrefix(line, " "):
				c.body[len(c.body)-1] += " " + strings.TrimSpace(line)
			case word == "tasks":
				c.tasks = int(number())
			case word == "abs":
				c.abs = number()
			case word == "rel":
				c.rel = number()
			case word == "least":
				c.least = number()
			case word == "input":
				c.inputs = append(c.inputs, rest)
			default:
				c.body = append(c.body, line)
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// families are the files whose cases are run and compared.
var families = []string{"basic", "convolution", "function", "product", "reduction", "move", "elementwise"}

// eachCase runs a test for each case of some files.
func eachCase(t *testing.T, files []string, test func(*testing.T, *testCase)) {
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			for _, c := range casesOf(t, file) {
				t.Run(c.name, func(t *testing.T) { test(t, &c) })
			}
		})
	}
}

// text is the case as MIL. Constants become operations of their own.
func (c *testCase) text() string {
	var b strings.Builder
	b.WriteString("program(1.3)\n[buildInfo = dict<string, string>({})]\n{\n  func main<ios18>(")
	for i, in := range c.inputs {
		name, shape, _ := strings.Cut(in, " ")
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", typeOf(shape), name)
	}
	b.WriteString(") {\n")
	constants := 0
	for _, line := range c.body {
		head, call, _ := strings.Cut(line, " = ")
		name, shape, _ := strings.Cut(head, " ")
		for strings.Contains(call, "blob ") {
			before, after, _ := strings.Cut(call, "blob ")
			blob, rest, _ := strings.Cut(after, "]")
			constants++
			fmt.Fprintf(&b, "    tensor<fp16, %s]> c%d = const()[name = string(\"c%d\"), val = tensor<fp16, %s]>(BLOBFILE(path = string(\"@model_path/weights.bin\"), offset = uint64(%d)))];\n",
				blob, constants, constants, blob, 64*constants)
			call = fmt.Sprintf("%sc%d%s", before, constants, rest)
		}
		fmt.Fprintf(&b, "    %s %s = %s[name = string(\"%s\")];\n", typeOf(shape), name, call, name)
	}
	b.WriteString("  } -> (y);\n}\n")
	return b.String()
}

func typeOf(shape string) string {
	if rest, ok := strings.CutPrefix(shape, "bool "); ok {
		return "tensor<bool, " + rest + ">"
	}
	return "tensor<fp16, " + shape + ">"
}

func (c *testCase) program(t testing.TB) *mil.Program {
	t.Helper()
	program, err := mil.ParseText(c.name, []byte(c.text()), randomWeights{})
	if err != nil {
		t.Fatalf("%v\n%s", err, c.text())
	}
	return program
}

// values are random numbers for the inputs.
func (c *testCase) values(fn *mil.Function) map[string][]float32 {
	r := rand.New(rand.NewPCG(1, 2))
	inputs := map[string][]float32{}
	for _, in := range fn.Inputs {
		shape, _ := in.Type.(*mil.TensorType).Shape.Ints()
		n, _ := tensor.Count(shape)
		values := make([]float32, n)
		for i := range values {
			values[i] = tensor.RoundF16(float32(r.NormFloat64()))
			if c.least > 0 {
				values[i] = max(values[i], -values[i], float32(c.least))
			}
			if in.Type.(*mil.TensorType).DType == tensor.Bool {
				values[i] = float32(r.IntN(2))
			}
		}
		inputs[in.Name] = values
	}
	return inputs
}

// randomWeights makes up the arrays of weight files. The files themselves have no bytes, so that constants are copied.
type randomWeights struct{}

func (randomWeights) Bytes(string) ([]byte, error) { return []byte{}, nil }

func (randomWeights) Load(path string, offset uint64, typ *mil.TensorType) (*tensor.Tensor, error) {
	shape, _ := typ.Shape.Ints()
	n, _ := tensor.Count(shape)
	r := rand.New(rand.NewPCG(offset, uint64(n)))
	values := make([]float32, n)
	for i := range values {
		values[i] = tensor.RoundF16(float32(r.NormFloat64()) / 8)
	}
	return tensor.FromFloat32s(typ.DType, values, shape...), nil
}

func h13(t testing.TB) *hal.Target {
	t.Helper()
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// compile makes the one segment of a program.
func compile(t testing.TB, job *compiler.Job) *segment.Segment {
	t.Helper()
	s, err := tryCompile(t, job)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryCompile(t testing.TB, job *compiler.Job) (*segment.Segment, error) {
	t.Helper()
	job.Functions = []compiler.Entry{{Function: job.Program.Functions[0]}}
	job.EngineOnly = true
	r, err := compiler.Compile(t.Context(), job)
	if err != nil {
		return nil, err
	}
	if segments := r.Functions[0].Segments; len(segments) != 1 {
		return nil, fmt.Errorf("it is %d segments", len(segments))
	}
	return r.Functions[0].Segments[0], nil
}

// nativeSegment compiles a program for H13, to nothing but native tasks.
func nativeSegment(t testing.TB, program *mil.Program) (*segment.Segment, error) {
	t.Helper()
	return tryCompile(t, &compiler.Job{Target: h13(t), Program: program, Strict: true})
}

// An encoding under which layers become what the test wants.

// declines is H13's encoder that takes no layer: all of them become extension records.
type declines struct{ encode.Encoder }

func (declines) Choose(*segment.Choice) ([]segment.Task, error) {
	return nil, diag.Decline(diag.NativeKind, "the test wants none")
}

// extensions is H13 with extension records alone.
func extensions(t testing.TB) *hal.Target {
	t.Helper()
	target := *h13(t)
	own := target
	t.Cleanup(encode.Add(t.Name(), func(*hal.Target) encode.Encoder { return declines{encode.Of(&own)[0]} }))
	target.Encoders = slices.Concat([]string{t.Name()}, target.Encoders[1:])
	return &target
}
