package aneclient_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/aneclient"
	"github.com/espalier-ane/espalier/tensor"

	_ "github.com/espalier-ane/espalier/internal/testkit" // the user's cache is off
)

var ctx = context.Background()

const qos = aneclient.QoSDefault

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience ends what hangs.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// connect opens a connection to a device of its own.
func connect(t testing.TB, target string) *aneclient.Client {
	t.Helper()
	c, err := aneclient.Connect(aneclient.ClientOptions{Target: target, Private: true})
	check(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func forTargets(t *testing.T, f func(t *testing.T, c *aneclient.Client)) {
	for _, target := range []string{"virtual", "h13"} {
		t.Run(target, func(t *testing.T) { f(t, connect(t, target)) })
	}
}

// function is a program of one function with one input and one output.
func function(inputs, body, output string) []byte {
	return fmt.Appendf(nil, "program(1.3)\n{\n    func main<ios18>(%s) {\n%s\n        } -> (%s);\n}\n", inputs, body, output)
}

// constant is a line of a program.
func constant(typ, name, value string) string {
	return fmt.Sprintf("%s %s = const()[name = string(%q), val = %s(%s)];\n", typ, name, name, typ, value)
}

// weightPath is what a program calls its weight file.
const weightPath = "@model_path/weights/weight.bin"

// blob is a weight file with one record of halves, at offset 64.
func blob(values []float32) []byte {
	le := binary.LittleEndian
	b := make([]byte, 128, 128+2*len(values))
	le.PutUint32(b, 1)
	le.PutUint32(b[4:], 2)
	le.PutUint32(b[64:], 0xDEADBEEF)
	le.PutUint32(b[68:], 1) // fp16
	le.PutUint64(b[72:], uint64(2*len(values)))
	le.PutUint64(b[80:], 128)
	for _, v := range values {
		b = le.AppendUint16(b, tensor.ToF16(v))
	}
	return b
}

// diagonal is a matrix with one value on its diagonal.
func diagonal(n int, value float32) []float32 {
	m := make([]float32, n*n)
	for i := range n {
		m[i*n+i] = value
	}
	return m
}

// convText is the kernel of the research: a convolution 1×1 of as many channels to as many over a row, whose weights are in a file.
func convText(channels, width int) []byte {
	typ := fmt.Sprintf("tensor<fp16, [1, %d, 1, %d]>", channels, width)
	weight := fmt.Sprintf("tensor<fp16, [%d, %d, 1, 1]>", channels, channels)
	body := constant("string", "pt", `"valid"`) + constant("tensor<int32, [4]>", "pad", "[0, 0, 0, 0]") + constant("tensor<int32, [2]>", "st", "[1, 1]") +
		constant("tensor<int32, [2]>", "di", "[1, 1]") + constant("int32", "gr", "1") +
		constant(weight, "W", fmt.Sprintf("BLOBFILE(path = string(%q), offset = uint64(64))", weightPath)) +
		typ + " y = conv(dilations = di, groups = gr, pad = pad, pad_type = pt, strides = st, weight = W, x = x)[name = string(\"y\")];"
	return function(typ+" x", body, "y")
}

// conv describes a kernel of the research with a weight matrix.
func conv(t testing.TB, channels, width int, weights []float32) *aneclient.ModelDescriptor {
	t.Helper()
	d, err := aneclient.NewDescriptor(convText(channels, width), map[string][]byte{weightPath: blob(weights)}, nil)
	check(t, err)
	return d
}

// half is the kernel of the research's first experiments: y = x/2.
func half(t testing.TB, channels, width int) *aneclient.ModelDescriptor {
	return conv(t, channels, width, diagonal(channels, 0.5))
}

// load compiles and loads a model.
func load(t testing.TB, c *aneclient.Client, d *aneclient.ModelDescriptor) *aneclient.Model {
	t.Helper()
	m := c.InMemoryModel(d)
	check(t, m.Compile(ctx, qos, aneclient.Options{}))
	check(t, m.Load(ctx, qos, aneclient.Options{}))
	return m
}

// loadText is load of a text without a weight file.
func loadText(t testing.TB, c *aneclient.Client, text []byte) *aneclient.Model {
	t.Helper()
	d, err := aneclient.NewDescriptor(text, nil, nil)
	check(t, err)
	return load(t, c, d)
}

// A kernel is a loaded model with surfaces for a procedure, and a request of them.
type kernel struct {
	*aneclient.Model
	info    *aneclient.ProcedureInfo
	x, y    []*aneclient.IOSurfaceObject
	request *aneclient.Request
}

func surface(t testing.TB, c *aneclient.Client, bytes int) *aneclient.IOSurface {
	t.Helper()
	s, err := c.NewIOSurface(bytes)
	check(t, err)
	return s
}

// bench makes surfaces for a procedure of a model.
func bench(t testing.TB, c *aneclient.Client, m *aneclient.Model, procedure int) *kernel {
	t.Helper()
	info, err := m.ProcedureInfo(procedure)
	check(t, err)
	k := &kernel{Model: m, info: info}
	for _, p := range info.Inputs {
		k.x = append(k.x, surface(t, c, p.Bytes).Object())
	}
	for _, p := range info.Outputs {
		k.y = append(k.y, surface(t, c, p.Bytes).Object())
	}
	in, err := m.InputSymbolIndices(procedure)
	check(t, err)
	out, err := m.OutputSymbolIndices(procedure)
	check(t, err)
	k.request = aneclient.NewRequest(k.x, in, k.y, out, nil, nil, procedure)
	return k
}

// put and get are the values of an input and of an output.
func (k *kernel) put(t testing.TB, input int, values []float32) {
	t.Helper()
	check(t, k.info.Inputs[input].Store(k.x[input], values))
}

func (k *kernel) get(t testing.TB, output int) []float32 {
	t.Helper()
	values, err := k.info.Outputs[output].Load(k.y[output])
	check(t, err)
	return values
}

// run evaluates values of the first input, and gives the first output.
func (k *kernel) run(t testing.TB, values []float32) []float32 {
	t.Helper()
	k.put(t, 0, values)
	check(t, k.Evaluate(patience(t), qos, k.request))
	return k.get(t, 0)
}

// filled is n times a value.
func filled(n int, value float32) []float32 { return slices.Repeat([]float32{value}, n) }

// random is values in fp16, from -1 to 1.
func random(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]float32, n)
	for i := range list {
		list[i] = tensor.RoundF16(2*r.Float32() - 1)
	}
	return list
}

// wants holds all values to one.
func wants(t testing.TB, what string, got []float32, want float32) {
	t.Helper()
	for i, v := range got {
		if v != want {
			t.Fatalf("%s: element %d is %v, want %v", what, i, v, want)
		}
	}
}

// near holds values to others, and gives the greatest difference.
func near(t testing.TB, what string, got, want []float32, tolerance float64) (worst float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if !(d <= tolerance) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
		worst = max(worst, d)
	}
	return worst
}

// buffer is a surface for a symbol.
func buffer(t testing.TB, o *aneclient.IOSurfaceObject, symbol int, source aneclient.Agent) *aneclient.Buffer {
	t.Helper()
	b, err := aneclient.NewBuffer(o, symbol, source)
	check(t, err)
	return b
}

// lines joins the lines of a program.
func lines(list ...string) string { return strings.Join(list, "") }
