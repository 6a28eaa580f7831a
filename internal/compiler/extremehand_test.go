package compiler

import (
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// handModels are extremes of the operations whose models are built by hand: weights that are made of others, control flow,
// states and lists.
func handModels() []oneModel {
	var all []oneModel
	add := func(kind string, build func(b *mil.Builder) []*mil.Value) {
		all = append(all, oneModel{kind: kind, build: build})
	}
	// weights multiplies with a weight that an operation makes, and returns one that is too large to multiply with.
	weights := func(kind string, out mil.Type, args mil.Args) {
		add(kind, func(b *mil.Builder) []*mil.Value {
			w := b.Op(kind, "w", out, args)
			x := b.Input("x", half(1))
			return []*mil.Value{b.Op("mul", "y", out, mil.Args{"x": w, "y": x})}
		})
	}
	for _, n := range []int32{4096, math.MaxInt32} {
		large := half(tensor.Dim(n), 64)
		weights("constexpr_affine_dequantize", half(32, 64), mil.Args{
			"quantized_data": tensor.New(tensor.Int8, 32, 64), "zero_point": int8(0), "scale": mil.F16(1), "axis": n})
		weights("constexpr_affine_dequantize", half(4096, 64), mil.Args{
			"quantized_data": tensor.New(tensor.Int8, 4096, 64), "zero_point": int8(0), "scale": mil.F16(1), "axis": 0})
		// Few bits stand for many elements: vectors of the palette.
		weights("constexpr_lut_to_dense", large, mil.Args{"indices": tensor.New(tensor.UInt1, 1, 64), "lut": weight(1, 1, 2, 4096), "vector_axis": int32(0)})
		weights("constexpr_lut_to_dense", half(32, 64), mil.Args{"indices": tensor.New(tensor.UInt4, 32, 64), "lut": weight(1, 1, 16, 1), "vector_axis": n})
		weights("constexpr_lut_to_dense", half(1024<<12, 1024), mil.Args{
			"indices": tensor.New(tensor.UInt1, 1024, 1024), "lut": weight(1, 1, 2, 4096), "vector_axis": int32(0)})
		weights("constexpr_sparse_to_dense", large, mil.Args{"nonzero_data": weight(present), "mask": sparseMask})
		weights("constexpr_sparse_to_dense", half(4096, 64), mil.Args{"nonzero_data": weight(0), "mask": tensor.New(tensor.UInt1, 4096, 64)})
		weights("constexpr_blockwise_shift_scale", large, mil.Args{"data": tensor.New(tensor.Int4, 4096, 64), "scale": weight(4096, 64)})
		weights("constexpr_blockwise_shift_scale", half(4096, 64), mil.Args{"data": tensor.New(tensor.Int4, 4096, 64), "scale": weight(4096, 1)})
		add("constexpr_cast", func(b *mil.Builder) []*mil.Value {
			single := mil.Tensor(tensor.Float32, 4096, 64)
			w := b.Op("constexpr_cast", "w", single, mil.Args{"source_val": weight(4096, 64), "output_dtype": "fp32"})
			return []*mil.Value{b.Op("mul", "y", single, mil.Args{"x": w, "y": b.Input("x", mil.Tensor(tensor.Float32, 1))})}
		})
		for _, kind := range []string{"constexpr_lut_to_sparse", "constexpr_sparse_blockwise_shift_scale"} {
			args := mil.Args{"data_mask": tensor.New(tensor.UInt1, 4096, 64), "nonzero_data": tensor.New(tensor.Int8, 0), "scale": weight(4096, 1)}
			if kind == "constexpr_lut_to_sparse" {
				args = mil.Args{"indices_mask": tensor.New(tensor.UInt1, 4096, 64), "indices_nonzero_data": tensor.New(tensor.UInt4, 0),
					"lut": weight(1, 1, 16, 1)}
			}
			add(kind, func(b *mil.Builder) []*mil.Value {
				parts := b.Add(mil.Spec{Kind: kind, Name: "sparse", Outputs: []mil.Type{mil.Tensor(tensor.UInt1, 4096, 64), half(0)}, Args: args})
				w := b.Op("constexpr_sparse_to_dense", "w", half(4096, 64), mil.Args{"mask": parts[0], "nonzero_data": parts[1]})
				return []*mil.Value{b.Op("mul", "y", half(4096, 64), mil.Args{"x": w, "y": b.Input("x", half(1))})}
			})
		}
		add("const", func(b *mil.Builder) []*mil.Value {
			return []*mil.Value{b.Op("linear", "y", half(1, 16, 4096), mil.Args{"x": b.Input("x", sequence), "weight": b.Const("w", weight(4096, 64))})}
		})

		// A branch, and a turn of a loop, that take as long as they like.
		padded := mil.Args{"kernel_sizes": []int32{n, n}, "pad_type": "custom", "pad": []int32{n, n, n, n}}
		slow := func(b *mil.Builder, name string, x *mil.Value) *mil.Value {
			args := mil.Args{"x": x}
			for k, v := range padded {
				args[k] = v
			}
			y := b.Op("avg_pool", name+"_pool", half(1, 8, tensor.Dim(8+int(n)+1), tensor.Dim(8+int(n)+1)), args)
			return b.Op("reduce_sum", name, half(1, 8, 1, 1), mil.Args{"x": y, "axes": []int32{2, 3}, "keep_dims": true})
		}
		add("cond", func(b *mil.Builder) []*mil.Value {
			pred, x := b.Input("pred", mil.Tensor(tensor.Bool)), b.Input("x", half(1, 8, 8, 8))
			return b.Cond("y", []mil.Type{half(1, 8, 1, 1)}, pred,
				func() []*mil.Value { return []*mil.Value{slow(b, "then", x)} },
				func() []*mil.Value { return []*mil.Value{slow(b, "otherwise", x)} })
		})
		for _, turn := range []func(b *mil.Builder, x *mil.Value) *mil.Value{
			func(b *mil.Builder, x *mil.Value) *mil.Value { return b.Op("relu", "turn", x.Type, mil.Args{"x": x}) },
			func(b *mil.Builder, x *mil.Value) *mil.Value {
				return b.Op("add", "turn", x.Type, mil.Args{"x": x, "y": slow(b, "sum", x)})
			},
		} {
			add("while_loop", func(b *mil.Builder) []*mil.Value { // so many turns, which unroll if they are few
				x := b.Input("x", half(1, 8, 8, 8))
				return b.While("y", []*mil.Value{x, b.Const("first", int32(0))},
					func(vars []*mil.Value) *mil.Value {
						return b.Op("less", "again", mil.Tensor(tensor.Bool), mil.Args{"x": vars[1], "y": n})
					},
					func(vars []*mil.Value) []*mil.Value {
						return []*mil.Value{turn(b, vars[0]), b.Op("add", "next", vars[1].Type, mil.Args{"x": vars[1], "y": int32(1)})}
					})[:1]
			})
		}
		add("while_loop", func(b *mil.Builder) []*mil.Value { // without end
			x := b.Input("x", image)
			return b.While("y", []*mil.Value{x, b.Input("stop", mil.Tensor(tensor.Bool))},
				func(vars []*mil.Value) *mil.Value {
					return b.Op("logical_not", "again", vars[1].Type, mil.Args{"x": vars[1]})
				},
				func(vars []*mil.Value) []*mil.Value {
					return []*mil.Value{b.Op("relu", "turn", image, mil.Args{"x": vars[0]}), b.Op("identity", "same", vars[1].Type, mil.Args{"x": vars[1]})}
				})[:1]
		})

		add("write_state", func(b *mil.Builder) []*mil.Value {
			x := b.Input("x", large)
			b.Do("write_state", mil.Args{"input": b.Input("cache", &mil.StateType{Elem: large}), "data": x})
			return []*mil.Value{b.Op("relu", "y", large, mil.Args{"x": x})}
		})
		add("list_write", func(b *mil.Builder) []*mil.Value {
			return []*mil.Value{b.Op("list_write", "y", tensors, mil.Args{"ls": b.Input("ls", tensors), "index": n, "value": b.Input("x", matrix)})}
		})
		add("list_scatter", func(b *mil.Builder) []*mil.Value {
			return []*mil.Value{b.Op("list_scatter", "y", tensors, mil.Args{"ls": b.Input("ls", tensors), "indices": []int32{0, n}, "value": b.Input("x", half(2, 16, 64))})}
		})
		for _, args := range []mil.Args{
			{"elem_shape": []any{n, int32(64)}, "dtype": "fp16"},
			{"elem_shape": []any{int32(16), int32(64)}, "dtype": "fp16", "init_length": n},
			{"elem_shape": []any{n, n}, "dtype": "fp16", "init_length": n},
		} {
			add("make_list", func(b *mil.Builder) []*mil.Value {
				shape := args["elem_shape"].([]any)
				element := half(tensor.Dim(shape[0].(int32)), tensor.Dim(shape[1].(int32)))
				list := &mil.ListType{Elem: element, Length: tensors.Length}
				made := b.Op("make_list", "ls", list, args)
				return []*mil.Value{b.Op("list_write", "y", list, mil.Args{"ls": made, "index": n - 1, "value": b.Input("x", element)})}
			})
		}
		add("classify", func(b *mil.Builder) []*mil.Value {
			label := mil.Tensor(tensor.Int64)
			classes := &mil.Constant{Type: &mil.ListType{Elem: label, Length: tensor.Dim(4096)}}
			for i := range 4096 {
				classes.Items = append(classes.Items, mil.ConstOf(int64(i)))
			}
			return b.Add(mil.Spec{
				Kind: "classify", Name: "result", Outputs: []mil.Type{label, &mil.DictType{Key: label, Value: mil.Tensor(tensor.Float64)}},
				Args: mil.Args{"probabilities": b.Input("x", mil.Tensor(tensor.Float32, tensor.Dim(n))), "classes": classes},
			})
		})
	}
	return all
}
