package engine_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// evaluateMIL is what the MIL operation says of x; results is what stands before
// the operation's name, of which the parts are named y and, if there is one, z.
func evaluateMIL(t *testing.T, x *tensor.Tensor, results, outputs, operation string) (values []*tensor.Tensor) {
	t.Helper()
	text := fmt.Sprintf("program(1.3)\n{\n  func main<ios17>(%v x) {\n    %s = %s[name = string(\"y\")];\n  } -> (%s);\n}\n",
		mil.Tensor(x.DType(), shapeOf(x)...), results, operation, outputs)
	program, err := mil.ParseText("test", []byte(text), blobs{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := ops.Verify(program); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	ev, err := ops.NewEvaluator(program.Functions[0], ops.FP32)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ev.Run(context.Background(), map[string]ops.Value{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range out {
		values = append(values, v.(*tensor.Tensor))
	}
	return values
}

func shapeOf(x *tensor.Tensor) (shape tensor.Shape) {
	for _, n := range x.Shape() {
		shape = append(shape, tensor.Dim(n))
	}
	return shape
}

// nearMIL compares with the host's evaluation: both are within some units of
// 2^-24 of the exact result.
func nearMIL(t *testing.T, what string, got, want *tensor.Tensor, units float64) {
	t.Helper()
	g, w := got.Float64s(), want.Float64s()
	if len(g) != len(w) || got.DType() != want.DType() {
		t.Fatalf("%s: got %d of %v, want %d of %v", what, len(g), got.DType(), len(w), want.DType())
	}
	for i := range g {
		if g[i] != w[i] && !(math.IsNaN(g[i]) && math.IsNaN(w[i])) && !(math.Abs(g[i]-w[i]) <= 2*units*0x1p-24*math.Abs(w[i])) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g[i], w[i])
		}
	}
}

// sampleTensor has random elements.
func sampleTensor(seed uint64, d tensor.DType, shape ...int) *tensor.Tensor {
	r := newRand(seed)
	n, _ := tensor.Count(shape)
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * 3)
	}
	return tensor.FromFloat32s(d, v, shape...)
}

func TestNormOps(t *testing.T) {
	for i, tt := range []struct {
		mil    string
		params td.Params
	}{
		{"instance_norm(x = x, epsilon = fp32(0.001))", &td.InstanceNorm{Axes: td.AxesOf(td.AxisH, td.AxisW), Epsilon: 0.001}},
		{"l2_norm(x = x, epsilon = fp32(0.001))", &td.L2Norm{Axes: td.AxesOf(td.AxisC, td.AxisH, td.AxisW), Epsilon: 0.001}},
		{"local_response_norm(x = x, size = int32(3), alpha = fp32(0.5), beta = fp32(0.75), k = fp32(2))", &td.LRN{Size: 3, Alpha: 0.5, Beta: 0.75, K: 2}},
		{"local_response_norm(x = x, size = int32(4), alpha = fp32(0.5), beta = fp32(0.75), k = fp32(2))", &td.LRN{Size: 4, Alpha: 0.5, Beta: 0.75, K: 2}},
		{"local_response_norm(x = x, size = int32(40), alpha = fp32(0.5), beta = fp32(0.75), k = fp32(2))", &td.LRN{Size: 40, Alpha: 0.5, Beta: 0.75, K: 2}},
	} {
		x := sampleTensor(uint64(i), tensor.Float32, 2, 7, 5, 9)
		want := evaluateMIL(t, x, "tensor<fp32, [2, 7, 5, 9]> y", "y", tt.mil)
		dims := [td.NumAxes]int{2, 1, 7, 5, 9}
		got := engine.RunOperation(t, &td.Op{Params: tt.params, Operands: []td.Operand{
			{Type: tensor.Float32, Dims: dims}, {Type: tensor.Float32, Dims: dims}}}, x)
		nearMIL(t, tt.mil, got[0], want[0], 2)
	}
}
