package compiler

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A oneModel is a model of one operation, of the shapes that images and sequences have and with coremltools' defaults.
type oneModel struct {
	kind string
	args mil.Args       // a type stands for an input of the function
	outs []tensor.DType // the element types of the results; nil: fp16

	// build writes a model that is more than the operation and its inputs, and returns the outputs.
	build func(b *mil.Builder) []*mil.Value
}

// The types that models take.
var (
	image    = half(1, 8, 16, 16)
	sequence = half(1, 16, 64)
	matrix   = half(16, 64)
	truths   = mil.Tensor(tensor.Bool, 1, 8, 16, 16)
	cached   = &mil.StateType{Elem: image}
	places   = mil.Tensor(tensor.Int16, 4)
	tensors  = &mil.ListType{Elem: matrix, Length: tensor.Unknown}
)

func half(dims ...tensor.Dim) *mil.TensorType { return mil.Tensor(tensor.Float16, dims...) }

// weight is an array of zeros: no verdict here depends on numbers.
func weight(dims ...int) *tensor.Tensor { return tensor.New(tensor.Float16, dims...) }

func integers(vals ...int32) *tensor.Tensor { return tensor.Of(vals, len(vals)) }

// window are the arguments of a pooling.
func window() mil.Args {
	return mil.Args{"x": image, "kernel_sizes": []int32{2, 2}, "strides": []int32{2, 2}, "pad_type": "valid"}
}

func unaryOf(t mil.Type, kinds ...string) (models []oneModel) {
	for _, k := range kinds {
		models = append(models, oneModel{kind: k, args: mil.Args{"x": t}})
	}
	return models
}

// activation is an operation with constants of one element, or of one for each channel.
func activation(kind string, constants ...string) oneModel {
	m := oneModel{kind: kind, args: mil.Args{"x": image}}
	for i, c := range constants {
		m.args[c] = mil.F16(float32(i) + 0.5)
	}
	return m
}

func binaryOf(t mil.Type, out tensor.DType, kinds ...string) (models []oneModel) {
	for _, k := range kinds {
		models = append(models, oneModel{kind: k, args: mil.Args{"x": t, "y": t}, outs: []tensor.DType{out}})
	}
	return models
}

func reductionOf(kinds ...string) (models []oneModel) {
	for _, k := range kinds {
		models = append(models, oneModel{kind: k, args: mil.Args{"x": image, "axes": []int32{-1}, "keep_dims": true}})
	}
	return models
}

// oneModels returns the models, one for each operation of the catalogue.
func oneModels() []oneModel {
	var all []oneModel
	for _, group := range [][]oneModel{
		unaryOf(image, "abs", "acos", "asin", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "exp2", "floor", "identity", "inverse",
			"l2_norm", "instance_norm", "log", "relu", "relu6", "round", "rsqrt", "sigmoid", "sign", "silu", "sin", "sinh", "softplus",
			"softsign", "sqrt", "square", "tan", "tanh", "gelu"),
		binaryOf(image, tensor.Float16, "add", "sub", "mul", "real_div", "floor_div", "pow", "maximum", "minimum", "mod"),
		binaryOf(image, tensor.Bool, "equal", "not_equal", "greater", "greater_equal", "less", "less_equal"),
		binaryOf(truths, tensor.Bool, "logical_and", "logical_or", "logical_xor"),
		reductionOf("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_sum_square", "reduce_l1_norm", "reduce_l2_norm",
			"reduce_log_sum", "reduce_log_sum_exp", "reduce_prod"),
		productModels, activationModels, moveModels, indexModels, samplingModels, weightModels, controlModels, sourceModels,
	} {
		all = append(all, group...)
	}
	return all
}

var productModels = []oneModel{
	{kind: "conv", args: mil.Args{"x": image, "weight": weight(16, 8, 3, 3), "pad_type": "same"}},
	{kind: "conv_quantized", args: mil.Args{
		"x": image, "weight": tensor.New(tensor.UInt8, 16, 8, 3, 3), "quantization_type": "linear", "quant_scale": mil.F16(1), "quant_bias": mil.F16(0),
	}},
	{kind: "conv_transpose", args: mil.Args{"x": image, "weight": weight(8, 16, 2, 2), "strides": []int32{2, 2}}},
	{kind: "linear", args: mil.Args{"x": sequence, "weight": weight(32, 64)}},
	{kind: "matmul", args: mil.Args{"x": sequence, "y": half(1, 64, 32)}},
	{kind: "einsum", args: mil.Args{"values": []any{half(1, 8, 16, 32), half(1, 32, 16, 4)}, "equation": "nchw,nwhu->nchu"}},
	{kind: "avg_pool", args: window()}, {kind: "max_pool", args: window()}, {kind: "l2_pool", args: window()},
	{kind: "scaled_dot_product_attention", args: mil.Args{"query": half(1, 4, 16, 32), "key": half(1, 4, 16, 32), "value": half(1, 4, 16, 32)}},
	{kind: "batch_norm", args: mil.Args{"x": image, "mean": weight(8), "variance": weight(8)}},
	{kind: "layer_norm", args: mil.Args{"x": sequence, "axes": []int32{-1}}},
	{kind: "local_response_norm", args: mil.Args{"x": image, "size": 5}},
}

var activationModels = []oneModel{
	activation("linear_activation", "alpha", "beta"), activation("leaky_relu", "alpha"), activation("clamped_relu", "alpha", "beta"),
	activation("thresholded_relu", "alpha"), activation("threshold", "alpha"), activation("clip", "alpha", "beta"), activation("elu", "alpha"),
	activation("sigmoid_hard", "alpha", "beta"), activation("scaled_tanh", "alpha", "beta"),
	{kind: "prelu", args: mil.Args{"x": image, "alpha": weight(8)}},
	{kind: "softplus_parametric", args: mil.Args{"x": image, "alpha": weight(8), "beta": weight(8)}},
	{kind: "softmax", args: mil.Args{"x": sequence, "axis": -1}},
	{kind: "logical_not", args: mil.Args{"x": truths}, outs: []tensor.DType{tensor.Bool}},
	{kind: "select", args: mil.Args{"cond": truths, "a": image, "b": image}},
	{kind: "cast", args: mil.Args{"x": image, "dtype": "fp32"}, outs: []tensor.DType{tensor.Float32}},
	{kind: "quantize", args: mil.Args{"input": image, "scale": mil.F16(1), "output_dtype": "int8"}, outs: []tensor.DType{tensor.Int8}},
	{kind: "dequantize", args: mil.Args{"input": mil.Tensor(tensor.Int8, 1, 8, 16, 16), "scale": mil.F16(1)}},
}

var moveModels = []oneModel{
	{kind: "reshape", args: mil.Args{"x": image, "shape": []int32{1, 8, 256, 1}}},
	{kind: "reshape_like", args: mil.Args{"x": image, "ref_tensors": []any{half(1, 8, 256)}, "begins": []any{integers(0)}, "ends": []any{integers(3)}, "end_masks": []any{tensor.Of([]bool{false}, 1)}}},
	{kind: "expand_dims", args: mil.Args{"x": sequence, "axes": []int32{1}}},
	{kind: "squeeze", args: mil.Args{"x": sequence, "axes": []int32{0}}},
	{kind: "flatten2d", args: mil.Args{"x": image}},
	{kind: "transpose", args: mil.Args{"x": image, "perm": []int32{0, 2, 3, 1}}},
	{kind: "concat", args: mil.Args{"values": []any{image, image}, "axis": 1}},
	{kind: "stack", args: mil.Args{"values": []any{matrix, matrix}, "axis": 0}},
	{kind: "split", args: mil.Args{"x": image, "num_splits": 2, "axis": 1}, outs: []tensor.DType{tensor.Float16, tensor.Float16}},
	{kind: "pad", args: mil.Args{"x": image, "pad": []int32{1, 1, 1, 1}}},
	{kind: "slice_by_size", args: mil.Args{"x": image, "begin": []int32{0, 2, 0, 0}, "size": []int32{1, 4, 16, 16}}},
	{kind: "slice_by_index", args: mil.Args{"x": image, "begin": []int32{0, 2, 0, 0}, "end": []int32{1, 6, 16, 16}}},
	{kind: "slice_update", args: mil.Args{"x": image, "update": half(1, 4, 16, 16), "begin": []int32{0, 2, 0, 0}, "end": []int32{1, 6, 16, 16}}},
	{kind: "reverse", args: mil.Args{"x": image, "axes": []int32{-1}}},
	{kind: "tile", args: mil.Args{"x": image, "reps": []int32{1, 2, 1, 1}}},
	{kind: "depth_to_space", args: mil.Args{"x": image, "block_size": 2}},
	{kind: "space_to_depth", args: mil.Args{"x": image, "block_size": 2}},
	{kind: "pixel_shuffle", args: mil.Args{"x": image, "upscale_factor": 2}},
	{kind: "pixel_unshuffle", args: mil.Args{"x": image, "downscale_factor": uint32(2)}},
	{kind: "space_to_batch", args: mil.Args{"x": image, "block_shape": []int32{2, 2}, "paddings": tensor.New(tensor.Int32, 2, 2)}},
	{kind: "batch_to_space", args: mil.Args{"x": half(4, 8, 16, 16), "block_shape": []int32{2, 2}, "crops": tensor.New(tensor.Int32, 2, 2)}},
	{kind: "crop", args: mil.Args{"x": image, "crop_height": []int32{1, 1}, "crop_width": []int32{1, 1}}},
	{kind: "band_part", args: mil.Args{"x": matrix, "lower": 0}},
	{kind: "sliding_windows", args: mil.Args{"x": matrix, "axis": -1, "size": 4}},
	{kind: "cumsum", args: mil.Args{"x": sequence, "axis": -1}},
}

var indexModels = []oneModel{
	{kind: "gather", args: mil.Args{"x": matrix, "indices": places, "axis": 0}},
	{kind: "gather_along_axis", args: mil.Args{"x": matrix, "indices": mil.Tensor(tensor.Int16, 4, 64), "axis": 0}},
	{kind: "gather_nd", args: mil.Args{"x": half(8, 16, 16), "indices": mil.Tensor(tensor.Int16, 4, 3)}},
	{kind: "scatter", args: mil.Args{"data": matrix, "indices": mil.Tensor(tensor.Int32, 4), "updates": half(4, 64)}},
	{kind: "scatter_along_axis", args: mil.Args{"data": matrix, "indices": mil.Tensor(tensor.Int32, 4, 64), "updates": half(4, 64)}},
	{kind: "scatter_nd", args: mil.Args{"data": matrix, "indices": mil.Tensor(tensor.Int32, 4, 1), "updates": half(4, 64)}},
	{kind: "reverse_sequence", args: mil.Args{"x": matrix, "lengths": mil.Tensor(tensor.Int32, 16), "seq_axis": 1, "batch_axis": 0}},
	{kind: "reduce_argmax", args: mil.Args{"x": image, "axis": -1, "keep_dims": true, "output_dtype": "uint16"}, outs: []tensor.DType{tensor.UInt16}},
	{kind: "reduce_argmin", args: mil.Args{"x": image, "axis": -1, "keep_dims": true, "output_dtype": "uint16"}, outs: []tensor.DType{tensor.UInt16}},
	{kind: "topk", args: mil.Args{"x": sequence, "k": 8, "axis": -1, "output_indices_dtype": "uint16"}, outs: []tensor.DType{tensor.Float16, tensor.UInt16}},
	{kind: "argsort", args: mil.Args{"x": sequence, "axis": -1}, outs: []tensor.DType{tensor.Int32}},
	{kind: "non_zero", args: mil.Args{"x": matrix}, outs: []tensor.DType{tensor.Int32}},
	{kind: "one_hot", args: mil.Args{"indices": mil.Tensor(tensor.Int32, 4), "one_hot_vector_size": 8, "on_value": mil.F16(1), "off_value": mil.F16(0)}},
	{kind: "non_maximum_suppression", args: mil.Args{"boxes": half(1, 4, 64), "scores": half(1, 8, 64), "iou_threshold": mil.F16(0.5), "max_boxes": 8},
		outs: []tensor.DType{tensor.Float16, tensor.Float16, tensor.Int32}},
	{kind: "classify", build: func(b *mil.Builder) []*mil.Value {
		label, labels := mil.Tensor(tensor.Int64), &mil.ListType{Elem: mil.Tensor(tensor.Int64), Length: 2}
		classes := &mil.Constant{Type: labels, Items: []*mil.Constant{mil.ConstOf(int64(1)), mil.ConstOf(int64(2))}}
		return b.Add(mil.Spec{
			Kind: "classify", Name: "result", Outputs: []mil.Type{label, &mil.DictType{Key: label, Value: mil.Tensor(tensor.Float64)}},
			Args: mil.Args{"probabilities": b.Input("x", mil.Tensor(tensor.Float32, 2)), "classes": classes},
		})
	}},
}

var samplingModels = []oneModel{
	{kind: "resize", args: mil.Args{"x": image, "shape": []int32{32, 32}, "resized_dims": uint32(2)}},
	{kind: "resize_bilinear", args: mil.Args{"x": image, "target_size_height": 32, "target_size_width": 32}},
	{kind: "resize_nearest_neighbor", args: mil.Args{"x": image, "target_size_height": 32, "target_size_width": 32}},
	{kind: "upsample_bilinear", args: mil.Args{"x": image, "scale_factor_height": float32(2), "scale_factor_width": float32(2)}},
	{kind: "upsample_nearest_neighbor", args: mil.Args{"x": image, "scale_factor_height": float32(2), "scale_factor_width": float32(2)}},
	{kind: "crop_resize", args: mil.Args{"x": image, "boxes": half(1, 4), "target_height": 8, "target_width": 8}},
	{kind: "resample", args: mil.Args{
		"x": image, "coordinates": half(1, 8, 8, 2), "sampling_mode": "bilinear", "padding_mode": "constant", "padding_value": mil.F16(0),
		"coordinates_mode": "normalized_minus_one_to_one", "align_corners": true,
	}},
	{kind: "affine", args: mil.Args{
		"x": image, "transform_matrix": half(1, 6), "output_height": 8, "output_width": 8, "sampling_mode": "bilinear", "padding_mode": "constant",
		"padding_value": mil.F16(0), "coordinates_mode": "normalized_minus_one_to_one", "align_corners": true,
	}},
}

// linearWith is a linear layer whose weight one makes.
func linearWith(b *mil.Builder, w *mil.Value) []*mil.Value {
	x := b.Input("x", sequence)
	return []*mil.Value{b.Op("linear", "y", half(1, 16, 32), mil.Args{"x": x, "weight": w})}
}

// half of the elements of a sparse weight are there.
var (
	sparseMask = func() *tensor.Tensor {
		one := make([]int64, 32*64)
		for i := range one {
			one[i] = int64(i % 2)
		}
		return tensor.FromInt64s(tensor.UInt1, one, 32, 64)
	}()
	present = 32 * 64 / 2
)

var weightModels = []oneModel{
	{kind: "const", build: func(b *mil.Builder) []*mil.Value { return linearWith(b, b.Const("w", weight(32, 64))) }},
	{kind: "constexpr_affine_dequantize", build: func(b *mil.Builder) []*mil.Value {
		return linearWith(b, b.Op("constexpr_affine_dequantize", "w", half(32, 64), mil.Args{
			"quantized_data": tensor.New(tensor.Int8, 32, 64), "zero_point": int8(0), "scale": mil.F16(1), "axis": 0,
		}))
	}},
	{kind: "constexpr_lut_to_dense", build: func(b *mil.Builder) []*mil.Value {
		return linearWith(b, b.Op("constexpr_lut_to_dense", "w", half(32, 64), mil.Args{
			"indices": tensor.New(tensor.UInt4, 32, 64), "lut": weight(1, 1, 16, 1),
		}))
	}},
	{kind: "constexpr_sparse_to_dense", build: func(b *mil.Builder) []*mil.Value {
		return linearWith(b, b.Op("constexpr_sparse_to_dense", "w", half(32, 64), mil.Args{
			"nonzero_data": weight(present), "mask": sparseMask,
		}))
	}},
	{kind: "constexpr_blockwise_shift_scale", build: func(b *mil.Builder) []*mil.Value {
		return linearWith(b, b.Op("constexpr_blockwise_shift_scale", "w", half(32, 64), mil.Args{
			"data": tensor.New(tensor.Int4, 32, 64), "scale": weight(32, 2),
		}))
	}},
	{kind: "constexpr_lut_to_sparse", build: func(b *mil.Builder) []*mil.Value {
		parts := b.Add(mil.Spec{
			Kind: "constexpr_lut_to_sparse", Name: "sparse", Outputs: []mil.Type{mil.Tensor(tensor.UInt1, 32, 64), half(tensor.Dim(present))},
			Args: mil.Args{"indices_mask": sparseMask, "indices_nonzero_data": tensor.New(tensor.UInt4, present), "lut": weight(1, 1, 16, 1)},
		})
		return linearWith(b, b.Op("constexpr_sparse_to_dense", "w", half(32, 64), mil.Args{"mask": parts[0], "nonzero_data": parts[1]}))
	}},
	{kind: "constexpr_sparse_blockwise_shift_scale", build: func(b *mil.Builder) []*mil.Value {
		parts := b.Add(mil.Spec{
			Kind: "constexpr_sparse_blockwise_shift_scale", Name: "sparse", Outputs: []mil.Type{mil.Tensor(tensor.UInt1, 32, 64), half(tensor.Dim(present))},
			Args: mil.Args{"data_mask": sparseMask, "nonzero_data": tensor.New(tensor.Int8, present), "scale": weight(32, 2)},
		})
		return linearWith(b, b.Op("constexpr_sparse_to_dense", "w", half(32, 64), mil.Args{"mask": parts[0], "nonzero_data": parts[1]}))
	}},
	{kind: "constexpr_cast", build: func(b *mil.Builder) []*mil.Value {
		w := b.Op("constexpr_cast", "w", mil.Tensor(tensor.Float32, 32, 64), mil.Args{"source_val": weight(32, 64), "output_dtype": "fp32"})
		return linearWith(b, w)
	}},
}

var controlModels = []oneModel{
	{kind: "read_state", args: mil.Args{"input": cached}},
	{kind: "write_state", build: func(b *mil.Builder) []*mil.Value {
		state, x := b.Input("cache", cached), b.Input("x", image)
		b.Do("write_state", mil.Args{"input": state, "data": x})
		return []*mil.Value{b.Op("relu", "y", image, mil.Args{"x": x})}
	}},
	{kind: "coreml_update_state", args: mil.Args{"state": cached, "value": image}},
	{kind: "cond", build: func(b *mil.Builder) []*mil.Value {
		pred, x := b.Input("pred", mil.Tensor(tensor.Bool)), b.Input("x", image)
		branch := func(kind string) func() []*mil.Value {
			return func() []*mil.Value { return []*mil.Value{b.Op(kind, kind, image, mil.Args{"x": x})} }
		}
		return b.Cond("y", []mil.Type{image}, pred, branch("relu"), branch("sigmoid"))
	}},
	{kind: "while_loop", build: func(b *mil.Builder) []*mil.Value {
		x, more := b.Input("x", image), b.Input("more", mil.Tensor(tensor.Bool))
		return b.While("y", []*mil.Value{x, more},
			func(vars []*mil.Value) *mil.Value {
				return b.Op("identity", "again", vars[1].Type, mil.Args{"x": vars[1]})
			},
			func(vars []*mil.Value) []*mil.Value {
				return []*mil.Value{b.Op("relu", "turn", image, mil.Args{"x": vars[0]}), b.Op("logical_not", "stop", vars[1].Type, mil.Args{"x": vars[1]})}
			})
	}},
	{kind: "gru", args: mil.Args{"x": half(4, 1, 16), "initial_h": half(1, 8), "weight_ih": weight(24, 16), "weight_hh": weight(24, 8)}, outs: []tensor.DType{tensor.Float16, tensor.Float16}},
	{kind: "rnn", args: mil.Args{"x": half(4, 1, 16), "initial_h": half(1, 8), "weight_ih": weight(8, 16), "weight_hh": weight(8, 8)}, outs: []tensor.DType{tensor.Float16, tensor.Float16}},
	{kind: "lstm", args: mil.Args{"x": half(4, 1, 16), "initial_h": half(1, 8), "initial_c": half(1, 8), "weight_ih": weight(32, 16), "weight_hh": weight(32, 8)},
		outs: []tensor.DType{tensor.Float16, tensor.Float16, tensor.Float16}},
	{kind: "list_length", args: mil.Args{"ls": tensors}, outs: []tensor.DType{tensor.Int32}},
	{kind: "list_read", args: mil.Args{"ls": tensors, "index": mil.Tensor(tensor.Int32)}},
	{kind: "list_gather", args: mil.Args{"ls": tensors, "indices": mil.Tensor(tensor.Int32, 4)}},
	{kind: "list_write", build: func(b *mil.Builder) []*mil.Value {
		return []*mil.Value{b.Op("list_write", "y", tensors, mil.Args{"ls": b.Input("ls", tensors), "index": 0, "value": b.Input("x", matrix)})}
	}},
	{kind: "list_scatter", build: func(b *mil.Builder) []*mil.Value {
		return []*mil.Value{b.Op("list_scatter", "y", tensors, mil.Args{"ls": b.Input("ls", tensors), "indices": []int32{0, 1}, "value": b.Input("x", half(2, 16, 64))})}
	}},
	{kind: "make_list", build: func(b *mil.Builder) []*mil.Value {
		return []*mil.Value{b.Op("make_list", "y", tensors, mil.Args{"elem_shape": []any{int32(16), int32(64)}, "dtype": "fp16"})}
	}},
}

var sourceModels = []oneModel{
	{kind: "fill_like", args: mil.Args{"ref_tensor": image, "value": mil.F16(1)}},
	{kind: "fill", args: mil.Args{"shape": []int32{1, 8, 16, 16}, "value": mil.F16(1)}},
	{kind: "shape", args: mil.Args{"x": half(1, 8, tensor.Unknown, 16)}, outs: []tensor.DType{tensor.Int32}},
	{kind: "range_1d", args: mil.Args{"start": mil.F16(0), "end": half(), "step": mil.F16(1)}},
	{kind: "random_uniform", args: mil.Args{"shape": []int32{1, 8, 16, 16}, "low": mil.F16(0), "high": mil.F16(1)}},
	{kind: "random_normal", args: mil.Args{"shape": []int32{1, 8, 16, 16}, "mean": mil.F16(0), "stddev": mil.F16(1)}},
	{kind: "random_bernoulli", args: mil.Args{"shape": []int32{1, 8, 16, 16}, "prob": mil.F16(0.5)}},
	{kind: "random_categorical", args: mil.Args{"x": matrix}},
}

// program builds the model, and gives its results the types that the rules have for them.
func (m *oneModel) program(t testing.TB) *mil.Program {
	t.Helper()
	b := mil.NewBuilder("main", "CoreML8")
	build := m.build
	if build == nil {
		build = m.alone
	}
	b.Return(build(b)...)
	p, err := b.Program()
	if err != nil {
		t.Fatalf("%s: %v", m.kind, err)
	}
	f := p.Functions[0]
	types, err := ops.Infer(f)
	if err != nil {
		t.Fatalf("%s: %v", m.kind, err)
	}
	for _, op := range f.Body.Operations {
		for _, v := range op.Outputs {
			v.Type = types[v]
		}
	}
	return p
}

// examine builds the model and examines it.
func (m *oneModel) examine(t testing.TB) *Examination {
	t.Helper()
	e, err := Examine(m.program(t).Functions[0], nil)
	if err != nil {
		t.Fatalf("%s: %v", m.kind, err)
	}
	return e
}

// alone is the operation with inputs where the arguments are types.
func (m *oneModel) alone(b *mil.Builder) []*mil.Value {
	args := mil.Args{}
	for name, arg := range m.args {
		switch arg := arg.(type) {
		case mil.Type:
			args[name] = b.Input(name, arg)
		case []any:
			several := make([]any, len(arg))
			for i, a := range arg {
				if several[i] = a; isType(a) {
					several[i] = b.Input(fmt.Sprintf("%s_%d", name, i), a.(mil.Type))
				}
			}
			args[name] = several
		default:
			args[name] = arg
		}
	}
	outs := m.outs
	if outs == nil {
		outs = []tensor.DType{tensor.Float16}
	}
	spec := mil.Spec{Kind: m.kind, Name: "result", Args: args}
	for _, d := range outs {
		spec.Outputs = append(spec.Outputs, &mil.TensorType{DType: d, AnyRank: true})
	}
	return b.Add(spec)
}

func isType(a any) bool { _, ok := a.(mil.Type); return ok }
