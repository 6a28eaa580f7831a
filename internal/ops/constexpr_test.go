package ops

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

func u1(shape []int, vals ...int64) *tensor.Tensor  { return ints(tensor.UInt1, shape, vals) }
func u32(shape []int, vals ...int64) *tensor.Tensor { return ints(tensor.UInt32, shape, vals) }

// sevens is (7·i mod m) + first, as the generator of the expected values had it.
func sevens(d tensor.DType, m, first int64, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	vals := make([]int64, n)
	for i := range vals {
		vals[i] = int64(i)*7%m + first
	}
	return tensor.FromInt64s(d, vals, shape...)
}

var sparseMask = u1(dims(4, 6),
	1, 1, 0, 0, 0, 0,
	1, 1, 0, 0, 0, 1,
	0, 1, 1, 0, 1, 0,
	0, 0, 0, 1, 0, 0)

var sparseMask4 = u1(dims(4, 4), 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0)

// constexprTests have the values that coremltools' own decompression gives.
var constexprTests = []struct {
	name  string
	opset Opset
	kind  string
	args  args
	types []string
	want  [][]float64
}{
	{
		"affine, per channel", IOS16, "constexpr_affine_dequantize",
		args{"quantized_data": sevens(tensor.Int8, 256, -20, 2, 3, 2), "zero_point": i8(dims(3), -3, 0, 5), "scale": f16(dims(3), 0.5, 0.25, 2), "axis": -2},
		[]string{"tensor<fp16, [2, 3, 2]>"},
		[][]float64{{-8.5, -5, -1.5, 0.25, 6, 20, 12.5, 16, 9, 10.75, 90, 104}},
	},
	{
		"affine, per tensor", IOS16, "constexpr_affine_dequantize",
		args{"quantized_data": sevens(tensor.UInt8, 256, 0, 2, 2), "zero_point": u8(nil, 10), "scale": scalarF32(0.1), "axis": 0},
		[]string{"tensor<fp32, [2, 2]>"},
		[][]float64{{-1, -0.3, 0.4, 1.1}},
	},
	{
		"affine, float zero point", IOS16, "constexpr_affine_dequantize",
		args{"quantized_data": sevens(tensor.UInt8, 256, 0, 2, 2), "zero_point": scalarF32(1.5), "scale": f32(dims(2), 2, 4), "axis": 0},
		[]string{"tensor<fp32, [2, 2]>"},
		[][]float64{{-3, 11, 50, 78}},
	},
	{
		"cast", IOS16, "constexpr_cast",
		args{"source_val": f16(dims(3), 0.1, 65504, -1), "output_dtype": "fp32"},
		[]string{"tensor<fp32, [3]>"},
		[][]float64{{0.099975586, 65504, -1}},
	},
	{
		"flat palette of 6 bits", IOS16, "constexpr_lut_to_dense",
		args{"indices": u8(dims(4), 0b01_000011, 0b1110_0100, 0b111111_10, 0b000101), "lut": countdown(tensor.Int8, 64), "shape": u32(dims(2), 1, 5)},
		[]string{"tensor<int8, [1, 5]>"},
		[][]float64{{61, 47, 18, 1, 59}},
	},
	{
		"flat palette of 2 bits", IOS16, "constexpr_lut_to_dense",
		args{"indices": u8(dims(2), 0b01101100, 0b11), "lut": f16(dims(4), 1.5, -2, 3, 0.25), "shape": u32(dims(1), 5)},
		[]string{"tensor<fp16, [5]>"},
		[][]float64{{1.5, 0.25, 3, -2, 0.25}},
	},
	{
		"flat sparse", IOS16, "constexpr_sparse_to_dense",
		args{"nonzero_data": f16(dims(3), 3, 5, -1.5), "mask": u8(dims(2), 0b10000100, 0b10), "shape": u32(dims(2), 2, 5)},
		[]string{"tensor<fp16, [2, 5]>"},
		[][]float64{{0, 0, 3, 0, 0, 0, 0, 5, 0, -1.5}},
	},
	{
		"blocks of int4", IOS18, "constexpr_blockwise_shift_scale",
		args{
			"data": sevens(tensor.Int4, 16, -8, 4, 6), "scale": f32(dims(2, 3), 0.5, 1, 2, 4, 8, 0.25),
			"offset": ints(tensor.Int4, dims(2, 3), []int64{1, -2, 3, 0, 5, -8}),
		},
		[]string{"tensor<fp32, [4, 6]>"},
		[][]float64{{-4.5, -1, 8, -1, 2, -16, 0.5, -4, 2, 9, -10, 4, -16, 12, -88, -32, 0, 1.75, 24, -12, -8, -80, 2.5, 0.25}},
	},
	{
		"rows of uint4, float offset", IOS18, "constexpr_blockwise_shift_scale",
		args{"data": sevens(tensor.UInt4, 16, 0, 2, 4), "scale": f16(dims(2, 1), 0.5, 2), "offset": f16(dims(2, 1), 1.5, 0.25)},
		[]string{"tensor<fp16, [2, 4]>"},
		[][]float64{{-0.75, 2.75, 6.25, 1.75, 23.5, 5.5, 19.5, 1.5}},
	},
	{
		"middle axis, no offset", IOS18, "constexpr_blockwise_shift_scale",
		args{"data": sevens(tensor.Int8, 256, -40, 2, 3, 2), "scale": f32(dims(1, 3, 1), 1, 2, 3)},
		[]string{"tensor<fp32, [2, 3, 2]>"},
		[][]float64{{-40, -33, -52, -38, -36, -15, 2, 9, 32, 46, 90, 111}},
	},
	{
		"palettes by group", IOS18, "constexpr_lut_to_dense",
		args{
			"indices": ints(tensor.UInt2, dims(6, 2), []int64{2, 3, 3, 0, 1, 0, 3, 0, 2, 1, 0, 3}),
			"lut":     f16(dims(2, 1, 4, 1), 1, 5, 9, 13, 2, 10, 18, 26),
		},
		[]string{"tensor<fp16, [6, 2]>"},
		[][]float64{{9, 13, 13, 1, 5, 1, 26, 2, 18, 10, 2, 26}},
	},
	{
		"vector palettes on axis 0", IOS18, "constexpr_lut_to_dense", vectorPalette(0),
		[]string{"tensor<int8, [6, 2, 2]>"},
		[][]float64{{-20, 1, 22, 19, -19, 2, 23, 20, -18, 3, 24, 21, -8, -11, 10, 7, -7, -10, 11, 8, -6, -9, 12, 9}},
	},
	{
		"vector palettes on axis 1", IOS18, "constexpr_lut_to_dense", vectorPalette(1),
		[]string{"tensor<int8, [2, 6, 2]>"},
		[][]float64{{-20, 1, -19, 2, -18, 3, 22, 19, 23, 20, 24, 21, -8, -11, -7, -10, -6, -9, 10, 7, 11, 8, 12, 9}},
	},
	{
		"vector palettes on the last axis", IOS18, "constexpr_lut_to_dense", vectorPalette(-1),
		[]string{"tensor<int8, [2, 2, 6]>"},
		[][]float64{{-20, -19, -18, 1, 2, 3, 22, 23, 24, 19, 20, 21, -8, -7, -6, -11, -10, -9, 10, 11, 12, 7, 8, 9}},
	},
	{
		"sparse palettes", IOS18, "constexpr_lut_to_sparse",
		args{"indices_mask": sparseMask, "indices_nonzero_data": u1(dims(9), 0, 1, 1, 0, 1, 1, 0, 0, 1), "lut": f16(dims(2, 1, 2, 1), 2, 3, 4, 5)},
		[]string{"tensor<uint1, [4, 6]>", "tensor<fp16, [9]>"},
		[][]float64{sparseMask.Float64s(), {2, 3, 3, 2, 3, 5, 4, 4, 5}},
	},
	{
		"sparse vector palettes on axis 0", IOS18, "constexpr_lut_to_sparse", sparseVectorPalette(0),
		[]string{"tensor<uint1, [8, 6]>", "tensor<uint8, [18]>"},
		[][]float64{
			{
				1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1,
				0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0,
			},
			{2, 3, 20, 30, 3, 2, 5, 30, 20, 50, 3, 2, 4, 30, 20, 40, 5, 50},
		},
	},
	{
		"sparse vector palettes on the last axis", IOS18, "constexpr_lut_to_sparse", sparseVectorPalette(-1),
		[]string{"tensor<uint1, [4, 12]>", "tensor<uint8, [18]>"},
		[][]float64{
			{
				1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1,
				0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0,
			},
			{2, 20, 3, 30, 3, 30, 2, 20, 5, 50, 3, 30, 2, 20, 4, 40, 5, 50},
		},
	},
	{
		"sparse int4", IOS18, "constexpr_sparse_to_dense",
		args{"nonzero_data": ints(tensor.Int4, dims(3), []int64{-8, 7, -1}), "mask": u1(dims(2, 3), 1, 0, 1, 0, 0, 1)},
		[]string{"tensor<int4, [2, 3]>"},
		[][]float64{{-8, 0, 7, 0, 0, -1}},
	},
	{
		"sparse fp32", IOS18, "constexpr_sparse_to_dense",
		args{"nonzero_data": f32(dims(2), 1.5, 2.5), "mask": u1(dims(4), 0, 1, 0, 1)},
		[]string{"tensor<fp32, [4]>"},
		[][]float64{{0, 1.5, 0, 2.5}},
	},
	{
		"sparse, scaled by column", IOS18, "constexpr_sparse_blockwise_shift_scale",
		args{
			"data_mask": sparseMask4, "nonzero_data": i8(dims(9), 10, 11, 3, 4, 5, 6, 7, 8, 9),
			"scale": f32(dims(1, 4), 0.1, 0.2, 0.3, 0.4), "offset": i8(dims(1, 4), 1, 2, 3, 4),
		},
		[]string{"tensor<uint1, [4, 4]>", "tensor<fp32, [9]>"},
		[][]float64{sparseMask4.Float64s(), {0.9, 1.8, 0.2, 0.4, 0.6, 0.9, 1.2, 0.7, 1.4}},
	},
	{
		"sparse, scaled by block", IOS18, "constexpr_sparse_blockwise_shift_scale",
		args{
			"data_mask": sparseMask4, "nonzero_data": ints(tensor.UInt4, dims(9), []int64{10, 11, 3, 4, 5, 6, 7, 8, 9}),
			"scale": f16(dims(2, 2), 1, 2, 4, 8),
		},
		[]string{"tensor<uint1, [4, 4]>", "tensor<fp16, [9]>"},
		[][]float64{sparseMask4.Float64s(), {10, 11, 3, 4, 10, 48, 56, 32, 36}},
	},
}

func countdown(d tensor.DType, n int) *tensor.Tensor {
	vals := make([]int64, n)
	for i := range vals {
		vals[i] = int64(n - i)
	}
	return tensor.FromInt64s(d, vals, n)
}

func vectorPalette(axis int) args {
	return args{"indices": sevens(tensor.UInt3, 8, 0, 2, 2, 2), "lut": seqFrom(tensor.Int8, -20, 1, 2, 1, 8, 3), "vector_axis": axis}
}

func sparseVectorPalette(axis int) args {
	return args{
		"indices_mask": sparseMask, "indices_nonzero_data": u1(dims(9), 0, 1, 1, 0, 1, 1, 0, 0, 1),
		"lut": u8(dims(1, 2, 2, 2), 2, 20, 3, 30, 4, 40, 5, 50), "vector_axis": axis,
	}
}

func TestConstexpr(t *testing.T) {
	for _, tt := range constexprTests {
		t.Run(tt.name, func(t *testing.T) {
			if got := inferOp(t, tt.opset, tt.kind, tt.args); !slices.Equal(got, tt.types) {
				t.Errorf("types are %v, expected %v", got, tt.types)
			}
			got := evalOp(t, tt.opset, tt.kind, tt.args)
			for i, want := range tt.want {
				wantFloats(t, got[i], 1e-7, want...)
			}
		})
	}
}

// TestConstexprAttributes: programs of iOS16 keep the parameters in attributes.
func TestConstexprAttributes(t *testing.T) {
	out := newValue("w", mil.Tensor(tensor.Float16, 5))
	op := &mil.Operation{Kind: "constexpr_lut_to_dense", Outputs: []*mil.Value{out}}
	op.Attributes.Set("name", mil.ConstOf("w"))
	op.Attributes.Set("indices", mil.NewConst(u8(dims(2), 0b01101100, 0b11)))
	op.Attributes.Set("lut", mil.NewConst(f16(dims(4), 1.5, -2, 3, 0.25)))
	op.Attributes.Set("shape", mil.NewConst(u32(dims(1), 5)))
	f := &mil.Function{Name: "main", Opset: "CoreML6", Body: newBlock(nil, []*mil.Value{out}, op)}
	if _, err := Infer(f); err != nil {
		t.Fatal(err)
	}
	ev, err := NewEvaluator(f, Virtual)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ev.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantFloats(t, got[0], 0, 1.5, 0.25, 3, -2, 0.25)
}

// TestConstexprChain: the stored elements of a sparse tensor are indices into a palette of int8, which is
// scaled at the end.
func TestConstexprChain(t *testing.T) {
	mask := newValue("mask", mil.Tensor(tensor.UInt1, 2, 3))
	stored := newValue("stored", mil.Tensor(tensor.Int8, 4))
	dense := newValue("dense", mil.Tensor(tensor.Int8, 2, 3))
	weights := newValue("weights", mil.Tensor(tensor.Float16, 2, 3))
	body := newBlock(nil, []*mil.Value{weights},
		newOp(IOS18, "constexpr_lut_to_sparse", args{
			"indices_mask": u1(dims(2, 3), 1, 0, 1, 1, 1, 0), "indices_nonzero_data": ints(tensor.UInt2, dims(4), []int64{0, 3, 2, 1}),
			"lut": i8(dims(1, 1, 4, 1), 10, -20, 30, -40),
		}, mask, stored),
		newOp(IOS18, "constexpr_sparse_to_dense", args{"nonzero_data": stored, "mask": mask}, dense),
		newOp(IOS18, "constexpr_blockwise_shift_scale", args{"data": dense, "scale": f16(dims(2, 1), 0.5, 0.25)}, weights))
	f := &mil.Function{Name: "main", Opset: "CoreML8", Body: body}
	if _, err := Infer(f); err != nil {
		t.Fatal(err)
	}
	ev, err := NewEvaluator(f, Virtual)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ev.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantFloats(t, got[0], 0, 5, 0, -20, 7.5, -5, 0)
}

func TestConstexprErrors(t *testing.T) {
	data, mask := i8(dims(4, 6)), u1(dims(4, 2), 1, 0, 1, 0, 1, 0, 0, 0)
	for _, tt := range []struct {
		opset Opset
		kind  string
		args  args
		want  string
	}{
		{
			IOS16, "constexpr_affine_dequantize", args{"quantized_data": data, "zero_point": i8(dims(4)), "scale": f32(dims(6)), "axis": 1},
			"zero_point has length 4, expected the length of the data's axis, 6",
		},
		{
			IOS16, "constexpr_affine_dequantize", args{"quantized_data": data, "zero_point": i8(nil), "scale": f32(dims(2, 3)), "axis": 1},
			"scale is tensor<fp32, [2, 3]>, expected a scalar or a vector",
		},
		{
			IOS16, "constexpr_affine_dequantize", args{"quantized_data": data, "zero_point": i8(nil), "scale": f32(nil), "axis": 2},
			"axis is 2",
		},
		{IOS16, "constexpr_cast", args{"source_val": f16(dims(2)), "output_dtype": "int8"}, `output_dtype is "int8", expected "fp32"`},
		{IOS15, "constexpr_cast", args{"source_val": f16(dims(2)), "output_dtype": "fp32"}, "not in opset iOS15: it comes with iOS16"},
		{
			IOS16, "constexpr_lut_to_dense", args{"indices": u8(dims(2)), "lut": f16(dims(8)), "shape": u32(dims(1), 5)},
			"lut has shape [8], expected a vector of 2, 4, 16, 64 or 256 entries",
		},
		{
			IOS16, "constexpr_lut_to_dense", args{"indices": u8(dims(2)), "lut": f16(dims(16)), "shape": u32(dims(1), 5)},
			"indices has shape [2], expected [3]: 5 elements of 4 bits",
		},
		{
			IOS16, "constexpr_lut_to_dense",
			args{"indices": u8(dims(2)), "lut": f16(dims(16)), "shape": u32(dims(3), 1<<31, 1<<31, 1<<31)},
			"no tensor can have shape",
		},
		{
			IOS16, "constexpr_sparse_to_dense", args{"nonzero_data": f16(dims(2)), "mask": u8(dims(1), 0b111), "shape": u32(dims(1), 4)},
			"mask has 3 bits set, but nonzero_data has 2 elements",
		},
		{
			IOS16, "constexpr_sparse_to_dense", args{"nonzero_data": f16(dims(1)), "mask": u8(dims(1), 0b100100), "shape": u32(dims(1), 4)},
			"mask has 1 bits set beyond the last of its 4 elements",
		},
		{
			IOS16, "constexpr_sparse_to_dense", args{"nonzero_data": f16(dims(1)), "mask": u8(dims(2), 1, 0), "shape": u32(dims(1), 4)},
			"mask has shape [2], expected [1]",
		},
		{
			IOS18, "constexpr_blockwise_shift_scale", args{"data": data, "scale": f32(dims(3, 6))},
			"scale has length 3 on axis 0, expected a divisor of the data's length 4",
		},
		{
			IOS18, "constexpr_blockwise_shift_scale", args{"data": data, "scale": f32(dims(0, 6))},
			"scale has length 0 on axis 0, expected a divisor",
		},
		{IOS18, "constexpr_blockwise_shift_scale", args{"data": data, "scale": f32(dims(4))}, "scale has 1 axes of blocks, expected 2"},
		{
			IOS18, "constexpr_blockwise_shift_scale", args{"data": data, "scale": f32(dims(4, 1)), "offset": i8(dims(1, 6))},
			"offset has shape [1, 6], expected that of scale, [4, 1]",
		},
		{
			IOS18, "constexpr_blockwise_shift_scale", args{"data": data, "scale": f32(dims(4, 1)), "offset": u8(dims(4, 1))},
			"offset is uint8, expected a floating-point type or that of data, int8",
		},
		{
			IOS18, "constexpr_lut_to_dense", args{"indices": ints(tensor.UInt2, dims(4), nil), "lut": f16(dims(1, 8, 1))},
			"lut has 8 entries, but indices of 2 bits need 4",
		},
		{
			IOS18, "constexpr_lut_to_dense", args{"indices": ints(tensor.UInt2, dims(4), nil), "lut": f16(dims(4, 1))},
			"lut has rank 2, expected 3",
		},
		{
			IOS18, "constexpr_lut_to_dense", args{"indices": ints(tensor.UInt2, dims(4), nil), "lut": f16(dims(3, 4, 1))},
			"lut has length 3 on axis 0, expected a divisor of the data's length 4",
		},
		{
			IOS18, "constexpr_lut_to_dense", args{"indices": ints(tensor.UInt2, dims(4), nil), "lut": f16(dims(1, 4, 2))},
			"vectors of 2 elements, but there is no vector_axis",
		},
		{
			IOS18, "constexpr_lut_to_dense", args{"indices": ints(tensor.UInt2, dims(4), nil), "lut": f16(dims(1, 4, 2)), "vector_axis": 1},
			"vector_axis is 1",
		},
		{
			IOS18, "constexpr_lut_to_dense", args{"indices": ints(tensor.UInt2, dims(4), nil), "lut": f16(dims(1, 4, 0)), "vector_axis": 0},
			"vectors of no elements",
		},
		{
			IOS18, "constexpr_lut_to_sparse",
			args{"indices_mask": mask, "indices_nonzero_data": u1(dims(2)), "lut": f16(dims(1, 1, 2, 1))},
			"indices_mask has 3 bits set, but indices_nonzero_data has 2 elements",
		},
		{
			IOS18, "constexpr_sparse_to_dense", args{"nonzero_data": f16(dims(3, 1)), "mask": mask},
			"nonzero_data has shape [3, 1], expected a vector",
		},
		{
			IOS18, "constexpr_sparse_to_dense", args{"nonzero_data": f16(dims(4)), "mask": mask},
			"mask has 3 bits set, but nonzero_data has 4 elements",
		},
		{
			IOS18, "constexpr_sparse_blockwise_shift_scale", args{"data_mask": mask, "nonzero_data": i8(dims(3)), "scale": f32(dims(3, 1))},
			"scale has length 3 on axis 0, expected a divisor of the data's length 4",
		},
	} {
		wantErr(t, tt.opset, tt.kind, tt.args, tt.want)
	}
}

func TestConstexprEmpty(t *testing.T) {
	got := evalOp(t, IOS18, "constexpr_blockwise_shift_scale", args{"data": i8(dims(0, 4)), "scale": f32(dims(0, 2))})
	wantShape(t, got[0], 0, 4)
	got = evalOp(t, IOS18, "constexpr_sparse_to_dense", args{"nonzero_data": f16(dims(0)), "mask": u1(dims(3), 0)})
	wantFloats(t, got[0], 0, 0, 0, 0)
	got = evalOp(t, IOS18, "constexpr_lut_to_dense", args{"indices": u1(dims(2, 0)), "lut": f16(dims(1, 1, 2, 1))})
	wantShape(t, got[0], 2, 0)
	got = evalOp(t, IOS16, "constexpr_sparse_to_dense", args{"nonzero_data": u8(dims(0)), "mask": u8(dims(0)), "shape": u32(dims(1), 0)})
	wantShape(t, got[0], 0)
}

// TestConstexprLarge holds what is computed in parallel, range by range, to the obvious loops.
func TestConstexprLarge(t *testing.T) {
	const rows, cols, vector = 96, 1026, 3
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(d tensor.DType, shape ...int) *tensor.Tensor {
		n, _ := tensor.Count(shape)
		vals := make([]int64, n)
		for i := range vals {
			vals[i] = rng.Int64()
		}
		return tensor.FromInt64s(d, vals, shape...)
	}
	mask := random(tensor.UInt1, rows, cols)
	bits, stored := mask.Int64s(), 0
	for _, b := range bits {
		stored += int(b)
	}

	for _, d := range []tensor.DType{tensor.UInt1, tensor.UInt2, tensor.UInt3, tensor.UInt4, tensor.UInt6, tensor.UInt8} {
		entries := 1 << d.Bits()
		indices, lut := random(d, rows, cols), random(tensor.Int8, 8, 2, entries, vector)
		idx, table := indices.Int64s(), lut.Int64s()
		entry := func(i int, e int64, v int) int64 {
			block := i/cols/(rows/8)*2 + i%cols/(cols/2)
			return table[(block*entries+int(e))*vector+v]
		}

		dense := evalOp(t, IOS18, "constexpr_lut_to_dense", args{"indices": indices, "lut": lut, "vector_axis": 0})
		want := make([]int64, rows*vector*cols)
		for i, e := range idx {
			for v := range vector {
				want[(i/cols*vector+v)*cols+i%cols] = entry(i, e, v)
			}
		}
		wantInts(t, dense[0], want...)

		// What is sparse and then spread is what is dense and then masked.
		var kept []int64
		for i, e := range idx {
			if bits[i] != 0 {
				kept = append(kept, e)
			}
		}
		sparse := evalOp(t, IOS18, "constexpr_lut_to_sparse", args{
			"indices_mask": mask, "indices_nonzero_data": tensor.FromInt64s(d, kept, stored), "lut": lut, "vector_axis": 0,
		})
		spread := evalOp(t, IOS18, "constexpr_sparse_to_dense", args{"mask": tensorOf(t, sparse[0]), "nonzero_data": tensorOf(t, sparse[1])})
		for i := range want {
			want[i] *= bits[i/cols/vector*cols+i%cols]
		}
		wantInts(t, spread[0], want...)
	}

	for _, grid := range [][]int{{1, 1}, {rows, 1}, {1, cols}, {rows, cols}, {4, 27}} {
		data, offset := random(tensor.Int4, rows, cols), random(tensor.Int4, grid...)
		scale := tensor.Of(random(tensor.Int8, grid...).Float32s(), grid...)
		want := make([]float64, rows*cols)
		var kept []int64
		var keptWant []float64
		ints, offs, scales := data.Int64s(), offset.Int64s(), scale.Float32s()
		for i, v := range ints {
			b := i/cols/(rows/grid[0])*grid[1] + i%cols/(cols/grid[1])
			want[i] = float64(scales[b]) * float64(v-offs[b])
			if bits[i] != 0 {
				kept, keptWant = append(kept, v), append(keptWant, want[i])
			}
		}
		got := evalOp(t, IOS18, "constexpr_blockwise_shift_scale", args{"data": data, "scale": scale, "offset": offset})
		wantFloats(t, got[0], 0, want...)
		got = evalOp(t, IOS18, "constexpr_sparse_blockwise_shift_scale", args{
			"data_mask": mask, "nonzero_data": tensor.FromInt64s(tensor.Int4, kept, stored), "scale": scale, "offset": offset,
		})
		wantFloats(t, got[1], 0, keptWant...)
		got = evalOp(t, IOS18, "constexpr_sparse_to_dense", args{"mask": mask, "nonzero_data": tensor.FromInt64s(tensor.Int4, kept, stored)})
		for i := range ints {
			ints[i] *= bits[i]
		}
		wantInts(t, got[0], ints...)
	}
}
