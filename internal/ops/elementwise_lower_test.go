package ops

import (
	"reflect"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Functions of one element are one layer; integers take those that hold them whole.
func TestLowerFunctions(t *testing.T) {
	x, n := f16(dims(2, 3), 1), i32(dims(2, 3), 1)
	for _, tt := range []struct {
		kind string
		a    args
		want anec.Params
	}{
		{"relu", args{"x": x}, &anec.Neuron{Type: td.FuncReLU}},
		{"relu6", args{"x": x}, &anec.Neuron{Type: td.FuncReLUN, A: 6}},
		{"silu", args{"x": x}, &anec.Neuron{Type: td.FuncSwish, A: 1}},
		{"gelu", args{"x": x, "mode": "TANH_APPROXIMATION"}, &anec.Neuron{Type: td.FuncGELUTanhApproximation}},
		{"elu", args{"x": x, "alpha": 0.5}, &anec.Neuron{Type: td.FuncELU, A: 0.5}},
		{"clamped_relu", args{"x": x, "alpha": 0.5, "beta": 2.0}, &anec.Neuron{Type: td.FuncClampedReLU, A: 0.5, B: 2}},
		{"linear_activation", args{"x": x, "alpha": 0.5, "beta": 2.0}, &anec.GOC{Scale: 0.5, Bias: 2}},
		{"clip", args{"x": x, "alpha": -1.0, "beta": 2.0}, &anec.Neuron{Type: td.FuncClip, A: -1, B: 2}},
		{"rsqrt", args{"x": f32(dims(2), 1), "epsilon": 0.25}, &anec.Neuron{Type: td.FuncRSqrt, A: 0.25}},
		{"log", args{"x": x}, &anec.Neuron{Type: td.FuncLog}}, // as an fp16, 1e-45 is 0
		{"log", args{"x": f32(dims(2), 1)}, &anec.Neuron{Type: td.FuncLog, A: 1e-45}},
		{"abs", args{"x": x}, &anec.Neuron{Type: td.FuncAbs}},
		{"abs", args{"x": n}, &anec.ElementWise{Type: td.EWAbs}},
		{"square", args{"x": n}, &anec.ElementWise{Type: td.EWSquare}},
		{"exp2", args{"x": n}, &anec.ElementWise{Type: td.EWPower}},
		{"threshold", args{"x": n, "alpha": 3}, &anec.ElementWise{Type: td.EWMax}},
		{"logical_not", args{"x": bools(dims(2), true, false)}, &anec.ElementWise{Type: td.EWEqualZero}},
		{"softmax", args{"x": f16(dims(2, 3, 4), 1), "axis": 1}, &anec.Softmax{Axes: td.AxesOf(anec.H)}},
		{"cast", args{"x": n, "dtype": "fp16"}, &anec.TypeCast{To: tensor.Float16}},
		{"real_div", args{"x": n, "y": n}, &anec.ElementWise{Type: td.EWDiv}},
		{"less_equal", args{"x": x, "y": x}, &anec.ElementWise{Type: td.EWLessThanEqual}},
		{"logical_xor", args{"x": bools(dims(1), true), "y": bools(dims(2), true)}, &anec.ElementWise{Type: td.EWXor}},
		{"reduce_argmin", args{"x": x, "axis": 0, "keep_dims": true}, &anec.GlobalArgMinMax{Type: td.Min, Axis: anec.H}},
		{"reduce_log_sum_exp", args{"x": x, "axes": []int{-1}, "keep_dims": true}, &anec.Reduction{Type: td.ReduceLogSumExp, Axes: td.AxesOf(anec.W)}},
		{"reduce_mean", args{"x": f16(dims(2, 3, 4, 5), 1), "axes": []int{0, 2}, "keep_dims": true}, &anec.Reduction{Type: td.ReduceAvg, Axes: td.AxesOf(anec.N, anec.H)}},
		{"reduce_sum", args{"x": scalarF32(1)}, &anec.Reduction{Type: td.ReduceSum, Axes: td.AxesOf(anec.D)}},
		{"l2_norm", args{"x": f16(dims(2, 3, 4, 5), 1), "epsilon": 0.5}, &anec.L2Norm{Axes: td.AxesOf(anec.C, anec.H, anec.W), Epsilon: 0.5}},
		{"batch_norm", args{"x": f32(dims(2, 3, 4, 5), 1), "mean": f32(dims(3), 1), "variance": f32(dims(3), 1), "epsilon": 0.5}, &anec.BatchNorm{Epsilon: 0.5}},
		{"quantize", args{"input": x, "scale": 0.5, "output_dtype": "int8"}, &anec.Quant{To: tensor.Int8}},
		{"random_uniform", args{"shape": []int{2}}, &anec.Random{Dims: anec.Dims{1, 1, 1, 1, 2}, High: 1, Fresh: true}},
		{"random_uniform", args{"shape": []int{2, 3}, "low": -1.0, "high": 2.0, "seed": 7}, &anec.Random{Dims: anec.Dims{1, 1, 1, 2, 3}, Low: -1, High: 2, Seed: 7}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			g := lowerOp(t, IOS17, tt.kind, tt.a)
			if len(g.Layers) != 1 || !reflect.DeepEqual(g.Layers[0].Params, tt.want) {
				t.Errorf("lowered to\n%s\nexpected one layer %v %+v", anec.Print(g), tt.want.Info().Kind, tt.want)
			}
		})
	}
}

func TestLowerToSeveralLayers(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		a          args
		want       string
	}{
		{"sign of integers", "sign", args{"x": i32(dims(2), 1)}, "ElementWise ElementWise"},
		{"axes that go", "reduce_max", args{"x": f16(dims(2, 3, 4), 1), "axes": []int{1}}, "Reduction Reshape"},
		{"channels of rank 3", "prelu", args{"x": f16(dims(2, 3, 4), 1), "alpha": []float64{1, 2, 3}}, "Reshape Neuron Reshape"},
		{"channels of rank 5", "instance_norm", args{"x": f16(dims(2, 3, 4, 5, 6), 1)}, "Transpose InstanceNormalization Transpose"},
		{"channels of rank 2", "local_response_norm", args{"x": f16(dims(2, 3), 1), "size": 3}, "Reshape LocalResponseNormalization Reshape"},
		{"constants for each channel", "softplus_parametric", args{"x": f16(dims(1, 2, 1, 1), 1), "alpha": []float64{1, 2}, "beta": []float64{1, 2}}, "ElementWise Neuron ElementWise"},
		{"the same type", "cast", args{"x": f16(dims(2), 1), "dtype": "fp16"}, ""},
		{"five sums take three steps", "cumsum", args{"x": i32(dims(5), 1)},
			"InputView Padding ElementWise InputView Padding ElementWise InputView Padding ElementWise"},
		{"of one element, without it", "cumsum", args{"x": f16(dims(1), 1), "exclusive": true}, "Broadcast"},
		{"a band", "band_part", args{"x": f16(dims(4, 4), 1), "lower": 1, "upper": 0}, "Select"},
		{"ones and zeros", "one_hot", args{"indices": i32(dims(3), 1), "one_hot_vector_size": 4}, "Reshape ElementWise"},
		{"two values", "one_hot", args{"indices": i32(dims(3), 1), "one_hot_vector_size": 4, "on_value": 2.5, "off_value": 1.0}, "Reshape ElementWise Select"},
		{"other values", "fill_like", args{"ref_tensor": f16(dims(3, 4), 1), "value": 2.0}, "Broadcast"},
		{"pairs of words", "random_normal", args{"shape": []int{3}, "seed": 1},
			"RandomGenerator InputView Neuron GOC Neuron InputView GOC Neuron ElementWise GOC Neuron ElementWise Concat Reshape InputView GOC"},
		{"a probability", "random_bernoulli", args{"shape": []int{3}, "seed": 1}, "RandomGenerator ElementWise"},
	} {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			wantKinds(t, lowerOp(t, IOS17, tt.kind, tt.a), tt.want)
		})
	}
}

// Operands meet from the right, as in the model, whatever axes they lie on.
func TestLowerBroadcasting(t *testing.T) {
	five := f16(dims(2, 3, 1, 5, 6), 1)
	wantKinds(t, lowerOp(t, IOS15, "add", args{"x": five, "y": f16(dims(3, 4, 5, 6), 1)}), "Reshape ElementWise")
	wantKinds(t, lowerOp(t, IOS15, "add", args{"x": five, "y": f16(dims(4, 1, 6), 1)}), "ElementWise")
	wantKinds(t, lowerOp(t, IOS15, "add", args{"x": five, "y": fixed(f16(dims(3, 4, 5, 6), 1))}), "ElementWise")
	wantKinds(t, lowerOp(t, IOS15, "mul", args{"x": f16(dims(2, 3, 1, 1), 1), "y": f16(dims(5), 1)}), "ElementWise")
	cond := bools(dims(3, 1, 1, 1), true)
	wantKinds(t, lowerOp(t, IOS15, "select", args{"cond": cond, "a": five, "b": scalarF16(0)}), "Reshape Select")
}

// gamma and beta lie along the axes that are normalized.
func TestLowerLayerNorm(t *testing.T) {
	g := lowerOp(t, IOS15, "layer_norm", args{"x": f16(dims(2, 3, 4, 5), 1), "axes": []int{-1, 1}, "gamma": f16(dims(3, 5), 1)})
	wantKinds(t, g, "LayerNormalization")
	if got, want := g.Layers[0].Bottoms[1].Type.Dims, (anec.Dims{1, 1, 3, 1, 5}); got != want {
		t.Errorf("gamma has extents %v, expected %v", got, want)
	}
}

func TestRefusals(t *testing.T) {
	wantRefusal(t, IOS15, "random_uniform", args{"shape": []int{2}, "low": 1.0, "high": 1.0, "seed": 3}, "interval")
	wantRefusal(t, IOS15, "reduce_log_sum_exp", args{"x": i32(dims(2), 1)}, "exponentials", "int32")
	wantRefusal(t, IOS15, "reduce_sum", args{"x": f32(dims(1, 1, 1, 1, 1, 2), 1)}, "rank 6")
	wantRefusal(t, IOS15, "non_zero", args{"x": f32(dims(2), 1)}, "depends on the values")
	wantRefusal(t, IOS15, "add", args{"x": f32(dims(0, 2)), "y": scalarF32(1)}, "empty")
}
