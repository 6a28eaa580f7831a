package engine_test

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// A realFile is one of Apple's programs and the plain computation that it
// stands for. Facts about the files are from their annotated dumps, not from
// our own decoder.
type realFile struct {
	name    string
	inputs  []string
	output  string
	patch   func(constants []byte, weights []float32)
	compute func(in [][]float32, weights []float32) []float32
	weights func() []float32 // what the file holds, or what patch is to write
}

// pointwise is a 1x1 convolution of a single point.
func pointwise(outputs int, bias float32) func(in [][]float32, weights []float32) []float32 {
	return func(in [][]float32, weights []float32) []float32 {
		x := in[0]
		y := make([]float32, outputs)
		for o := range y {
			sum := float64(bias)
			for i, v := range x {
				sum += float64(v) * float64(weights[o*len(x)+i])
			}
			y[o] = float32(sum)
		}
		return y
	}
}

func all(n int, v float32) func() []float32 {
	return func() []float32 {
		w := make([]float32, n)
		for i := range w {
			w[i] = v
		}
		return w
	}
}

func seeded(n int) func() []float32 {
	return func() []float32 { return grid(newRand(uint64(n)), n) }
}

// patchLanes writes a weight matrix as sixteen streams in which lanes outputs
// lie side by side: output o is lane o%lanes of group o/lanes, which engine
// (o/lanes)%16 has. head is the number of halfwords before the weights.
func patchLanes(outputs, inputs, lanes, stream, head int) func([]byte, []float32) {
	return func(constants []byte, weights []float32) {
		for o := range outputs {
			for i := range inputs {
				at := o / lanes % 16 * stream
				at += 2 * (head + i*lanes + o%lanes)
				binary.LittleEndian.PutUint16(constants[at:], tensor.ToF16(weights[o*inputs+i]))
			}
		}
	}
}

func relu(in [][]float32, _ []float32) []float32 {
	y := make([]float32, len(in[0]))
	for i, v := range in[0] {
		y[i] = max(v, 0)
	}
	return y
}

var realFiles = []realFile{
	{"compiled_ee9d5b1b", []string{"image"}, "probs@output", patchLanes(2, 3, 1, 0x40, 1), pointwise(2, 1), seeded(6)},
	{"compiled_signed_4e6bd6e6", []string{"image"}, "probs@output", nil, pointwise(2, 1), all(6, 3)},
	{"concat_0f988933", []string{"input_0", "input_1"}, "output@output", nil, concat, nil},
	{"concat_fb59e09a", []string{"input_0", "input_1"}, "output@output", nil, concat, nil},
	{"conv_8a6bd427", []string{"image"}, "probs@output", nil, pointwise(3, 0), subnormals},
	{"conv_ea5905f3", []string{"image"}, "probs@output", nil, pointwise(3, 0), all(9, 2)},
	{"gemm_bc27a277", []string{"image"}, "probs@output", patchLanes(512, 512, 32, 0x8000, 0), pointwise(512, 0), seeded(512 * 512)},
	{"gemm_ef7e5c24", []string{"image"}, "probs@output", patchLanes(64, 64, 4, 0x200, 0), pointwise(64, 0), seeded(64 * 64)},
	{"golden_32a7ae2d", []string{"image"}, "probs@output", nil, pointwise(3, 0), all(9, 3)},
	{"golden_50e38bf9", []string{"image"}, "probs@output", nil, pointwise(2, 1), all(6, 3)},
	{"golden_a199507d", []string{"image"}, "probs@output", nil, pointwise(3, 0), all(9, 3)},
	{"golden_c20271e3", []string{"image"}, "probs@output", nil, func(in [][]float32, _ []float32) []float32 { return in[0] }, nil},
	{"golden_cb1ce958", []string{"image"}, "probs@output", nil, pointwise(2, 0), all(6, 3)},
	{"relu_d66a665b", []string{"image"}, "probs@output", nil, relu, nil},
	{"relu_dc54cc54", []string{"image"}, "probs@output", nil, relu, nil},
	{"sigmoid_7cc79341", []string{"image"}, "probs@output", nil, sigmoidTable, nil},
	{"sum_1b1855b8", []string{"image", "image2"}, "probs@output", nil, func(in [][]float32, _ []float32) []float32 {
		y := make([]float32, len(in[0]))
		for i := range y {
			y[i] = in[0][i] + in[1][i]
		}
		return y
	}, nil},
}

func concat(in [][]float32, _ []float32) []float32 {
	return append(append([]float32(nil), in[0]...), in[1]...)
}

// subnormals are the weights of the file that proves their order: the fp16
// numbers with the bits 0 to 8.
func subnormals() []float32 {
	w := make([]float32, 9)
	for i := range w {
		w[i] = float32(i) * 0x1p-24
	}
	return w
}

// sigmoidTable evaluates the sigmoid's 33 knots, as the fact sheet lists them:
// half a unit apart from -8 on, lines through the knots and beyond them.
func sigmoidTable(in [][]float32, _ []float32) []float32 {
	knots := []uint16{
		0x0d7f, 0x1087, 0x1377, 0x1626, 0x1910, 0x1c2b, 0x1eda, 0x21a0, 0x249b, 0x2781, 0x2a12,
		0x2cdb, 0x2fa1, 0x31d6, 0x344e, 0x360a, 0x3800, 0x38fb, 0x39d9, 0x3a8a, 0x3b0c, 0x3b65,
		0x3b9f, 0x3bc4, 0x3bdb, 0x3be9, 0x3bf2, 0x3bf8, 0x3bfb, 0x3bfd, 0x3bfe, 0x3bff, 0x3bff,
	}
	y := make([]float32, len(in[0]))
	for i, x := range in[0] {
		switch {
		case x <= -9.9375:
			y[i] = 0
		case x >= 8.3203125:
			y[i] = 1
		case x < -8:
			y[i] = tensor.F16(0x09ac)*x + tensor.F16(0x170c)
		case x > 8:
			y[i] = tensor.F16(0x163e)*x + tensor.F16(0x3be6)
		default:
			p := float64(2*x + 16)
			k := min(int(p), 31)
			a, b := float64(tensor.F16(knots[k])), float64(tensor.F16(knots[k+1]))
			y[i] = float32(a + (b-a)*(p-float64(k)))
		}
	}
	return y
}

// open reads a real file into memory that the test may change.
func open(t testing.TB, name string) *hwx.File {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, "hwx", name+".hwx"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := hwx.NewFile(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// prepare opens a real file with weights that are not zero.
func (f *realFile) prepare(t testing.TB) (file *hwx.File, weights []float32) {
	t.Helper()
	file = open(t, f.name)
	if f.weights != nil {
		weights = f.weights()
	}
	if f.patch != nil {
		f.patch(file.Constants().Data, weights)
	}
	return file, weights
}

func TestRealFiles(t *testing.T) {
	testkit.Shared(t, "hwx")
	executed := 0
	for _, f := range realFiles {
		t.Run(f.name, func(t *testing.T) {
			file, weights := f.prepare(t)
			p := load(t, file, plain)
			r := newRand(1)
			for range 5 {
				inputs := make(map[string][]float32)
				var in [][]float32
				for _, name := range f.inputs {
					x := grid(r, portLen(t, p, name))
					inputs[name] = x
					in = append(in, x)
				}
				got := execute(t, p, inputs)[f.output]
				equal(t, f.output, got, f.compute(in, weights))
			}
			executed++
		})
	}
	t.Logf("%d of %d real programs executed, all equal to the plain computation", executed, len(realFiles))
	if executed != 17 {
		t.Errorf("executed %d of 17", executed)
	}
}

func portLen(t testing.TB, p *engine.Program, name string) int {
	t.Helper()
	for _, port := range p.Ports() {
		if port.Name == name {
			return port.Len()
		}
	}
	t.Fatalf("no port %q among %v", name, p.Ports())
	return 0
}

// TestRealSigmoid holds the sigmoid to the function, over the whole range and
// beyond.
func TestRealSigmoid(t *testing.T) {
	p := load(t, open(t, "sigmoid_7cc79341"), plain)
	x := make([]float32, portLen(t, p, "image"))
	worst := 0.0
	for start := float32(-12); start < 12; start += float32(len(x)) / 64 {
		for i := range x {
			x[i] = start + float32(i)/64
		}
		got := execute(t, p, map[string][]float32{"image": x})["probs@output"]
		for i, v := range x {
			worst = max(worst, math.Abs(float64(got[i])-1/(1+math.Exp(-float64(v)))))
		}
	}
	t.Logf("worst error against the function: %.5f", worst)
	if worst > 0.0035 {
		t.Errorf("worst error %v, want 0.0035 or less", worst)
	}
}

// TestRealFlush executes the file with subnormal weights as the chip would: the
// array flushes them.
func TestRealFlush(t *testing.T) {
	for _, flush := range []bool{false, true} {
		n := plain
		n.FlushArraySubnormals = flush
		p := load(t, open(t, "conv_8a6bd427"), n)
		got := execute(t, p, map[string][]float32{"image": {3.5, -2, 4}})["probs@output"]
		for i, v := range got {
			if (v == 0) != flush {
				t.Errorf("flush %v: output %d is %v", flush, i, v)
			}
		}
	}
}
