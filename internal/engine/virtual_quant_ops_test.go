package engine

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Classes that a MIL operation is lowered to give the same bits as the host
// evaluator does.

// evaluateMIL evaluates one operation on the host.
func evaluateMIL(t *testing.T, kind string, result mil.Type, args mil.Args) *tensor.Tensor {
	t.Helper()
	return evaluateBuilt(t, func(b *mil.Builder) *mil.Value { return b.Op(kind, "y", result, args) })
}

// runDense runs an operation on dense tensors, the first of which is the result.
func runDense(t *testing.T, params td.Params, result *tensor.Tensor, sources ...*tensor.Tensor) []byte {
	t.Helper()
	b := &bench{op: &td.Op{Params: params}}
	for i, x := range append([]*tensor.Tensor{result}, sources...) {
		if x == nil {
			b.op.Operands, b.memories = append(b.op.Operands, td.Operand{}), append(b.memories, nil)
			continue
		}
		b.op.Operands = append(b.op.Operands, td.Dense(i, 0, x.DType(), five(x.Shape()...)))
		b.memories = append(b.memories, bytes.Clone(x.Bytes()))
	}
	b.memories[0] = make([]byte, len(b.memories[0]))
	b.run(t)
	return b.memories[0]
}

// five has the extents of a shape as the last axes.
func five(shape ...int) (dims [td.NumAxes]int) {
	for a := range dims {
		dims[a] = 1
		if k := a - td.NumAxes + len(shape); k >= 0 {
			dims[a] = shape[k]
		}
	}
	return dims
}

func randomTensor(r *rand.Rand, d tensor.DType, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * 40)
		switch d.Kind() {
		case tensor.KindBool:
			v[i] = float32(r.IntN(2))
		case tensor.KindUint:
			v[i] = float32(r.IntN(200))
		case tensor.KindInt:
			v[i] = float32(r.IntN(200) - 100)
		}
	}
	return tensor.FromFloat32s(d, v, shape...)
}

func wantBytes(t *testing.T, what string, got []byte, want *tensor.Tensor) {
	t.Helper()
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s: the engine has other bits than the host\n%x\n%x", what, got, want.Bytes())
	}
}

func TestVirtualAsSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 58))
	for _, d := range []tensor.DType{tensor.Float16, tensor.Float32, tensor.Int32, tensor.Bool} {
		cond, a, b := randomTensor(r, tensor.Bool, 3, 1, 7), randomTensor(r, d, 3, 5, 7), randomTensor(r, d, 1, 5, 1)
		want := evaluateMIL(t, "select", mil.Tensor(d, 3, 5, 7), mil.Args{"cond": cond, "a": a, "b": b})
		wantBytes(t, "select of "+d.String(), runDense(t, &td.ElementWise{Kind: td.EWSelect}, want, cond, a, b), want)
	}
}

func TestVirtualAsQuantize(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 58))
	for _, float := range []tensor.DType{tensor.Float16, tensor.Float32} {
		for _, whole := range []tensor.DType{tensor.Int8, tensor.UInt8} {
			for _, perAxis := range []bool{false, true} {
				for _, shifted := range []bool{false, true} {
					// scale as MIL has it, a scalar or a vector, and with all axes
					scale, zero, full := randomTensor(r, float), randomTensor(r, whole), []int{1, 1, 1}
					if perAxis {
						scale, zero, full = randomTensor(r, float, 5), randomTensor(r, whole, 5), []int{1, 5, 1}
					}
					scaleFull, err := scale.Reshape(full...)
					if err != nil {
						t.Fatal(err)
					}
					var zeroFull *tensor.Tensor
					args := mil.Args{"scale": scale}
					if perAxis {
						args["axis"] = 1
					}
					if shifted {
						args["zero_point"] = zero
						if zeroFull, err = zero.Reshape(full...); err != nil {
							t.Fatal(err)
						}
					}
					sources := []*tensor.Tensor{nil, scaleFull, zeroFull}
					if !shifted {
						sources = sources[:2]
					}

					x := randomTensor(r, float, 3, 5, 70)
					args["input"], args["output_dtype"] = x, whole.String()
					want := evaluateMIL(t, "quantize", mil.Tensor(whole, 3, 5, 70), args)
					sources[0] = x
					wantBytes(t, "quantize", runDense(t, &td.Quant{}, want, sources...), want)

					delete(args, "output_dtype")
					q := randomTensor(r, whole, 3, 5, 70)
					args["input"], sources[0] = q, q
					want = evaluateMIL(t, "dequantize", mil.Tensor(float, 3, 5, 70), args)
					wantBytes(t, "dequantize", runDense(t, &td.DeQuant{}, want, sources...), want)
				}
			}
		}
	}
}

func TestVirtualAsSliceUpdate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 58))
	for _, begin := range [][]int32{{0, 0, 0}, {1, 2, 3}, {2, -3, -4}} {
		x, update := randomTensor(r, tensor.Float16, 4, 6, 9), randomTensor(r, tensor.Float16, 2, 3, 4)
		end := make([]int32, 3)
		endMask := make([]bool, 3)
		for a, n := range update.Shape() {
			end[a] = begin[a] + int32(n)
			endMask[a] = end[a] == 0 // it would count from the beginning
		}
		want := evaluateMIL(t, "slice_update", mil.Tensor(tensor.Float16, 4, 6, 9),
			mil.Args{"x": x, "update": update, "begin": begin, "end": end, "end_mask": endMask})
		start := tensor.Of(begin, 3)
		p := &td.RingBufferWriter{Live: [td.NumAxes]int{0, 0, 1, 2, 3}}
		wantBytes(t, "slice_update", runDense(t, p, want, x, update, start), want)
		if begin[1] >= 0 { // where the window is known
			p = &td.RingBufferWriter{Offset: [td.NumAxes]int{0, 0, int(begin[0]), int(begin[1]), int(begin[2])}}
			wantBytes(t, "slice_update", runDense(t, p, want, x, update), want)
		}
	}
}

func TestVirtualAsRandomUniform(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float16, tensor.Float32} {
		for _, test := range []struct {
			low, high float32
			seed      int32
		}{{0, 1, 0}, {-2, 3.5, 77}, {1, 1.001, 5}, {-1, 0.3, -2}, {-1, 1, math.MaxInt32}} {
			bounds := tensor.FromFloat32s(d, []float32{test.low, test.high}, 2).Float32s()
			low, high := bounds[0], bounds[1]
			scalar := func(v float32) *tensor.Tensor { return tensor.FromFloat32s(d, []float32{v}) }
			want := evaluateMIL(t, "random_uniform", mil.Tensor(d, 3, 41, 7), mil.Args{
				"shape": []int32{3, 41, 7}, "low": scalar(low), "high": scalar(high), "seed": test.seed})
			got := runDense(t, &td.RandomGenerator{Low: low, High: high, Seed: uint32(test.seed)}, want)
			wantBytes(t, "random_uniform", got, want)
		}
	}
}
