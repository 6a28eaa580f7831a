package ops

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// Expected values: numpy, windows of the padded input against the kernel.
func TestConv(t *testing.T) {
	tests := []struct {
		name  string
		a     args
		shape []int
		want  []float64
	}{
		{"one axis", args{"x": xs(1, 2, 5), "weight": ws(3, 2, 2), "bias": []float64{1, 2, 3}}, dims(1, 3, 4),
			[]float64{12, -9, 25, -18, -20, 2, 13, 13, 11, -1, -13, 30}},
		{"custom pad and strides", args{"x": xs(1, 2, 4, 5), "weight": ws(2, 2, 3, 2), "strides": []int{2, 1}, "pad_type": "custom", "pad": []int{1, 0, 0, 2}}, dims(1, 2, 2, 6),
			[]float64{-10, 3, -6, -15, 5, 0, 30, -14, -14, 8, -25, 0, 21, 8, 17, -7, -1, 0, -1, 25, 7, 22, -6, 0}},
		{"same", args{"x": xs(1, 2, 4, 5), "weight": ws(2, 2, 3, 2), "strides": []int{2, 2}, "pad_type": "same", "pad": []int{9, 9, 9, 9}}, dims(1, 2, 2, 3),
			[]float64{30, 8, 10, -10, 8, -9, 12, -35, -10, -27, -8, 19}},
		{"dilations", args{"x": xs(1, 2, 4, 5), "weight": fixed(ws(2, 2, 3, 2)), "dilations": []int{1, 3}}, dims(1, 2, 2, 2),
			[]float64{22, -11, -22, -22, -19, -15, 34, 38}},
		{"groups", args{"x": xs(1, 4, 3, 3), "weight": ws(6, 2, 2, 2), "groups": 2}, dims(1, 6, 2, 2),
			[]float64{29, -25, -1, -11, -23, 13, -3, 0, 16, 16, 16, -17, 3, 0, -6, 13, 23, -11, -13, -25, -20, 20, 1, -14}},
		{"depthwise", args{"x": xs(2, 3, 3, 4), "weight": ws(3, 1, 3, 3), "groups": 3, "pad_type": "custom", "pad": []int{1, 1, 1, 1}}, dims(2, 3, 3, 4),
			[]float64{-22, 30, -14, 15, 8, 5, -2, 24, -7, 7, 3, -25, -4, -17, 6, 4, -17, 28, 3, -8, 18, 11, -14, 1, 8, 4, -22, 8, -7, -25, 25, 8, 2, 9, 12, -19,
				8, 8, -14, 18, 25, -27, 21, -5, -13, 6, 13, 8, 2, -14, 9, 2, -12, 8, 5, 14, 21, -20, -23, 14, 2, 3, -23, 8, -2, 4, -1, 4, 0, 29, -23, -22}},
		{"three axes", args{"x": xs(1, 1, 3, 3, 3), "weight": ws(2, 1, 2, 2, 2), "strides": []int{1, 2, 1}, "pad_type": "custom", "pad": []int{0, 1, 0, 0, 1, 0}}, dims(1, 2, 3, 1, 3),
			[]float64{-23, 29, -25, 5, 5, -27, 2, 2, 14, 16, -23, 13, 4, -7, 29, -3, -13, 8}},
		{"no batch", args{"x": xs(0, 2, 5), "weight": ws(3, 2, 2)}, dims(0, 3, 4), nil},
		{"no channels", args{"x": xs(1, 0, 3), "weight": ws(2, 0, 2), "bias": []float64{5, 6}}, dims(1, 2, 2), []float64{5, 5, 6, 6}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := evalOp(t, IOS15, "conv", tt.a)
			wantShape(t, got[0], tt.shape...)
			wantFloats(t, got[0], 0, tt.want...)
		})
	}
	got := evalOp(t, IOS16, "conv", args{"x": xs(1, 2, 4, 5), "weight": ws(2, 2, 3, 2), "strides": []int{2, 2}, "pad_type": "same_lower"})
	wantFloats(t, got[0], 0, 22, 3, -15, -24, -14, 8, -13, 8, -7, 16, 25, 22)
	// Weights and a bias of another type, all from the input: by hand, 1·3+2·4 and 2·3+5·4, plus 1.
	got = evalOp(t, IOS17, "conv", args{"x": f16(dims(1, 1, 3), 1, 2, 5), "weight": f32(dims(1, 1, 2), 3, 4), "bias": f32(dims(1), 1)})
	wantFloats(t, got[0], 0, 12, 27)
}

func TestConvErrors(t *testing.T) {
	x, w := xs(1, 2, 4, 5), ws(2, 2, 3, 2)
	with := func(name string, v any) args { return args{"x": x, "weight": w, name: v} }
	for _, tt := range []struct {
		a    args
		want string
	}{
		{args{"x": xs(2, 4), "weight": w}, "x has shape [2, 4], expected batch, channels"},
		{args{"x": x, "weight": ws(2, 2, 3)}, "weight has shape [2, 2, 3], expected rank 4"},
		{args{"x": x, "weight": ws(2, 3, 1, 1)}, "weight is for 3 channels per group, but x has 2 in 1 groups"},
		{args{"x": x, "weight": ws(2, 2, 0, 1)}, "the kernel length is 0"},
		{args{"x": x, "weight": ws(2, 2, 5, 1)}, "spatial axis 0: a window of 5 does not fit the input, 4 with padding 0 and 0"},
		{with("groups", 0), "groups is 0"},
		{with("groups", 3), "3 groups do not divide"},
		{with("strides", []int{0, 1}), "strides [0 1]: expected positive numbers"},
		{with("strides", []int{1}), "strides [1] has 1 elements"},
		{with("dilations", []int{1, 2}), "with a weight that is not constant"},
		{with("pad_type", "full"), `pad_type is "full", expected one of valid, same, custom, same_lower`},
		{with("pad_type", "same_lower"), "not in opset iOS15"},
		{with("bias", []float64{1, 2, 3}), "bias has shape [3], expected [2]"},
		{args{"x": x, "weight": w, "pad_type": "custom", "pad": []int{1, 1}}, "pad [1 1] has 2 elements"},
		{args{"x": x, "weight": w, "pad_type": "custom", "pad": []int{1, 1, -1, 0}}, "expected no negative number"},
	} {
		wantErr(t, IOS15, "conv", tt.a, tt.want)
	}
	wantErr(t, IOS17, "conv", args{"x": x, "weight": w, "dilations": []int{1, 4}}, "with a weight that is not constant")
}

// Expected values: numpy, the convolution of the decompressed weights.
func TestConvQuantized(t *testing.T) {
	x, w := xs(1, 1, 4), u8(dims(2, 1, 3), 0, 1, 2, 3, 3, 1)
	a := args{"x": x, "weight": w, "bias": u8(dims(2), 1, 2), "quantization_type": "linear", "nbits": 2, "quant_scale": []float64{0.5, 2}, "quant_bias": []float64{-1, 1}}
	got := evalOp(t, IOS15, "conv_quantized", a)
	wantShape(t, got[0], 1, 2, 2)
	wantFloats(t, got[0], 0, 5, 0, -25, 17)
	got = evalOp(t, IOS15, "conv_quantized", args{"x": x, "weight": w, "quantization_type": "lut", "nbits": 2, "quant_scale": []float64{-4, -1, 2, 8}, "quant_bias": []float64{0}})
	wantFloats(t, got[0], 0, 14, 4, -22, -5)

	change := func(name string, v any) args {
		b := args{}
		for k, v := range a {
			b[k] = v
		}
		b[name] = v
		return b
	}
	wantErr(t, IOS15, "conv_quantized", change("nbits", 1), "weight has the element 2, expected less than 2")
	wantErr(t, IOS15, "conv_quantized", change("nbits", 9), "nbits is 9")
	wantErr(t, IOS15, "conv_quantized", change("quantization_type", "log"), `quantization_type is "log"`)
	wantErr(t, IOS15, "conv_quantized", change("quantization_type", "lut"), "quant_scale has 2 elements, expected a table of 4")
	wantErr(t, IOS15, "conv_quantized", change("quant_bias", []float64{1, 2, 3}), "quant_bias has shape [3]")
}

// convByDefinition sums channel by channel and tap by tap, as the law of a convolution states it.
func convByDefinition(v *convolution, x, weight, out []float32) {
	g := v.grid
	for o := range out {
		channel := o / g.outputs()
		group, filter := channel/v.cout, channel%(v.groups*v.cout)
		at := [3]int{o / (g[1].out * g[2].out) % g[0].out, o / g[2].out % g[1].out, o % g[2].out}
		var sum float32
		t := filter * v.cin * g.taps()
		for c := range v.cin {
			for _, d := range g[0].offsets {
				for _, h := range g[1].offsets {
					for _, w := range g[2].offsets {
						i, j, k := at[0]*g[0].step+d, at[1]*g[1].step+h, at[2]*g[2].step+w
						if i >= 0 && i < g[0].in && j >= 0 && j < g[1].in && k >= 0 && k < g[2].in {
							sum += float32(weight[t] * x[(((group*v.cin+c)*g[0].in+i)*g[1].in+j)*g[2].in+k])
						}
						t++
					}
				}
			}
		}
		out[o] += sum
	}
}

// TestConvolutionByDefinition holds both ways of convolving to the bits of the definition, for random shapes and
// offsets, those among them that reach far into padding.
func TestConvolutionByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		axes := make([]gridAxis, 1+r.IntN(3))
		for i := range axes {
			axes[i] = gridAxis{in: 1 + r.IntN(9), out: 1 + r.IntN(9), step: 1 + r.IntN(3)}
			for range 1 + r.IntN(3) {
				axes[i].offsets = append(axes[i].offsets, r.IntN(12)-6)
			}
		}
		v := &convolution{newGrid(axes), nil, 1 + r.IntN(2), 1 + r.IntN(3), 1 + r.IntN(4), 1 + r.IntN(9)}
		x := randomFloats(r, v.batch*v.groups*v.cin*v.inputs())
		weight := randomFloats(r, v.groups*v.cout*v.cin*v.taps())
		got := randomFloats(r, v.batch*v.groups*v.cout*v.outputs())
		want := append([]float32{}, got...)
		v.addTo(got, x, weight)
		convByDefinition(v, x, weight, want)
		sameBits(t, fmt.Sprintf("%+v of %+v", *v, axes), got, want)
	}
}

func BenchmarkConv(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, bm := range []struct {
		name                       string
		groups, cin, cout, size, k int
	}{
		{"3x3 64-64 56x56", 1, 64, 64, 56, 3},
		{"3x3 512-512 7x7", 1, 512, 512, 7, 3},
		{"1x1 256-64 56x56", 1, 256, 64, 56, 1},
		{"7x7 3-64 112x112", 1, 3, 64, 112, 7},
		{"depthwise 3x3 128 56x56", 128, 1, 1, 56, 3},
	} {
		b.Run(bm.name, func(b *testing.B) {
			axis := gridAxis{in: bm.size, out: bm.size, step: 1}
			for t := range bm.k {
				axis.offsets = append(axis.offsets, t-bm.k/2)
			}
			v := &convolution{newGrid([]gridAxis{axis, axis}), nil, 1, bm.groups, bm.cin, bm.cout}
			x, weight := randomFloats(r, bm.groups*bm.cin*v.inputs()), randomFloats(r, bm.groups*bm.cout*bm.cin*v.taps())
			out := make([]float32, bm.groups*bm.cout*v.outputs())
			for b.Loop() {
				v.addTo(out, x, weight)
			}
			reportRate(b, len(out)*bm.cin*v.taps())
		})
	}
}

// A type rule keeps a symbol where the length passes through.
func TestConvSymbols(t *testing.T) {
	unknown := &slide{in: tensor.Symbol(3), kernel: 3, stride: 1, dilation: 2}
	for _, tt := range []struct {
		padType       string
		before, after int
		want          tensor.Dim
	}{
		{"same", 0, 0, tensor.Symbol(3)}, {"custom", 1, 3, tensor.Symbol(3)}, {"custom", 1, 1, tensor.Unknown}, {"valid", 0, 0, tensor.Unknown},
	} {
		s := *unknown
		s.before, s.after = tt.before, tt.after
		if err := s.place(tt.padType, roundDown); err != nil || s.out != tt.want {
			t.Errorf("%+v: %v, %v, expected %v", tt, s.out, err, tt.want)
		}
	}
}

// Beside a length of zero the others may be anything, and must not be looped over or allocated for.
func TestEmptyButHuge(t *testing.T) {
	const huge = 1 << 30
	none := func(shape ...int) *tensor.Tensor { return tensor.New(tensor.Float32, shape...) }
	for _, tt := range []struct {
		kind string
		a    args
	}{
		{"conv", args{"x": none(1, 0, 4), "weight": none(2, 0, huge), "pad_type": "same"}},
		{"conv", args{"x": none(1, 1, 4), "weight": none(0, 1, huge), "pad_type": "same"}},
		{"conv", args{"x": none(huge, 0, 0, 4), "weight": none(0, 0, 1, 1), "pad_type": "custom", "pad": []int{1, 0, 0, 0}}},
		{"conv_transpose", args{"x": none(1, 0, 4), "weight": none(0, 2, huge), "pad_type": "same", "strides": []int{2}}},
		{"conv_transpose", args{"x": none(0, 1, 4), "weight": none(1, 2, 3), "pad_type": "same", "strides": []int{huge}}},
		{"max_pool", args{"x": none(huge, 0, 4), "kernel_sizes": []int{2}, "pad_type": "valid"}},
		{"matmul", args{"x": none(huge, 9, 0, 3), "y": none(3, 2)}},
		{"matmul", args{"x": none(huge, 0, 3), "y": none(1, 3, 0)}},
		{"linear", args{"x": none(0, huge, 3), "weight": none(2, 3)}},
		{"einsum", args{"values": []*tensor.Tensor{none(huge, 0), none(huge, 0)}, "equation": "ij,ik->"}},
		{"einsum", args{"values": []*tensor.Tensor{none(huge, 0), none(huge, 0)}, "equation": "ij,ij->j"}},
		{"scaled_dot_product_attention", args{"query": none(1, huge, 0), "key": none(1, huge, 0), "value": none(1, huge, 0)}},
	} {
		evalOp(t, IOS18, tt.kind, tt.a)
	}
}
