package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// evaluateBuilt evaluates what build returns on the host.
func evaluateBuilt(t *testing.T, build func(b *mil.Builder) *mil.Value) *tensor.Tensor {
	t.Helper()
	b := mil.NewBuilder("main", "ios18")
	y := build(b)
	b.Return(y)
	program, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	if err := ops.Verify(program); err != nil {
		t.Fatal(err)
	}
	ev, err := ops.NewEvaluator(program.Functions[0], ops.Virtual)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ev.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := out[0].(*tensor.Tensor).Convert(y.Type.(*mil.TensorType).DType)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// codes is a tensor of random integers that its type holds.
func codes(r *rand.Rand, d tensor.DType, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(r.IntN(1 << d.Bits()))
		if d.Kind() == tensor.KindInt {
			v[i] -= 1 << (d.Bits() - 1)
		}
	}
	return tensor.FromInt64s(d, v, shape...)
}

// numbers is a tensor of fp16 numbers of which products with codes are exact in
// fp32.
func numbers(r *rand.Rand, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(1000)-500) / 64
	}
	return tensor.FromFloat32s(tensor.Float16, v, shape...)
}

// Weights in blocks of one scale are what the host makes of them.
func TestVirtualAsBlockwise(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 59))
	for _, d := range []tensor.DType{tensor.Int4, tensor.UInt4, tensor.Int8, tensor.UInt8} {
		for _, grid := range [][]int{{1, 1, 1}, {6, 1, 1}, {6, 4, 1}, {2, 8, 10}, {3, 1, 5}} {
			for _, shifted := range []bool{false, true} {
				data, scale := codes(r, d, 6, 8, 10), numbers(r, grid...)
				args := mil.Args{"data": data, "scale": scale}
				sources := []*tensor.Tensor{data, scale}
				if shifted {
					offset := codes(r, d, grid...)
					args["offset"] = offset
					sources = append(sources, offset)
				}
				want := evaluateBuilt(t, func(b *mil.Builder) *mil.Value {
					return b.Op("constexpr_blockwise_shift_scale", "y", mil.Tensor(tensor.Float16, 6, 8, 10), args)
				})
				what := fmt.Sprintf("%v in blocks %v", d, grid)
				wantBytes(t, what, runDense(t, &td.DeQuant{}, want, sources...), want)
			}
		}
	}
}

// Weights that are indices into tables, of numbers or of vectors, are what the
// host makes of them.
func TestVirtualAsPalette(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 59))
	for _, d := range []tensor.DType{tensor.UInt1, tensor.UInt2, tensor.UInt3, tensor.UInt4, tensor.UInt6, tensor.UInt8} {
		for _, grid := range [][]int{{1, 1, 1}, {6, 1, 1}, {2, 4, 1}, {1, 2, 5}} {
			for vector := 1; vector <= 4; vector++ {
				for axis := range 3 {
					if vector == 1 && axis > 0 {
						continue
					}
					entries := 1 << d.Bits()
					indices := codes(r, d, 6, 8, 10)
					lut := numbers(r, append(append([]int{}, grid...), entries, vector)...)
					shape := []int{6, 8, 10}
					shape[axis] *= vector
					want := evaluateBuilt(t, func(b *mil.Builder) *mil.Value {
						args := mil.Args{"indices": indices, "lut": lut}
						if vector > 1 {
							args["vector_axis"] = axis
						}
						return b.Op("constexpr_lut_to_dense", "y", mil.Tensor(tensor.Float16, tensor.ShapeOf(shape...)...), args)
					})
					table, err := lut.Reshape(grid[0]*grid[1]*grid[2], entries, vector)
					if err != nil {
						t.Fatal(err)
					}
					p := &td.DeQuant{Blocks: five(grid...), VectorAxis: td.AxisC + td.Axis(axis)}
					what := fmt.Sprintf("%v in tables %v, entries of %d along %d", d, grid, vector, axis)
					wantBytes(t, what, runDense(t, p, want, indices, nil, nil, table), want)
				}
			}
		}
	}
}

// Sparse weights whose stored elements are numbers, quantized, or indices, are
// what the host makes of them.
func TestVirtualAsSparse(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 59))
	shape := []int{6, 8, 10}
	for _, form := range []string{"numbers", "quantized", "palette"} {
		mask := codes(r, tensor.UInt1, shape...)
		stored := 0
		for _, bit := range mask.Int64s() {
			stored += int(bit)
		}
		scale, offset, lut := numbers(r, 3, 4, 1), codes(r, tensor.Int8, 3, 4, 1), numbers(r, 2, 1, 1, 16, 1)
		table, err := lut.Reshape(2, 16, 1)
		if err != nil {
			t.Fatal(err)
		}
		var x *tensor.Tensor
		var sources []*tensor.Tensor
		p := new(td.DeQuant)
		want := evaluateBuilt(t, func(b *mil.Builder) *mil.Value {
			dense := mil.Args{"mask": mask}
			outputs := []mil.Type{mil.Tensor(tensor.UInt1, tensor.ShapeOf(shape...)...), mil.Tensor(tensor.Float16, tensor.Dim(stored))}
			switch form {
			case "numbers":
				x = numbers(r, stored)
				dense["nonzero_data"] = x
				sources = []*tensor.Tensor{x, nil, nil, nil, mask}
			case "quantized":
				x = codes(r, tensor.Int8, stored)
				part := b.Add(mil.Spec{Kind: "constexpr_sparse_blockwise_shift_scale", Outputs: outputs,
					Args: mil.Args{"data_mask": mask, "nonzero_data": x, "scale": scale, "offset": offset}})
				dense["mask"], dense["nonzero_data"] = part[0], part[1]
				sources = []*tensor.Tensor{x, scale, offset, nil, mask}
			case "palette":
				x = codes(r, tensor.UInt4, stored)
				part := b.Add(mil.Spec{Kind: "constexpr_lut_to_sparse", Outputs: outputs,
					Args: mil.Args{"indices_mask": mask, "indices_nonzero_data": x, "lut": lut}})
				dense["mask"], dense["nonzero_data"] = part[0], part[1]
				p.Blocks = five(2, 1, 1)
				sources = []*tensor.Tensor{x, nil, nil, table, mask}
			}
			return b.Op("constexpr_sparse_to_dense", "y", mil.Tensor(tensor.Float16, tensor.ShapeOf(shape...)...), dense)
		})
		wantBytes(t, form, runDense(t, p, want, sources...), want)
	}
}
