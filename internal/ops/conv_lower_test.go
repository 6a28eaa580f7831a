package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// Every rank becomes one Conv; what brings the axes there are views, also of the weights.
func TestLowerConv(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind string
		a    args
		want string
	}{
		{"two axes", "conv", args{"x": xs(1, 2, 4, 4), "weight": fixed(ws(3, 2, 3, 3)), "bias": []float64{1, 2, 3}}, "Conv"},
		{"one axis", "conv", args{"x": xs(1, 2, 4), "weight": fixed(ws(3, 2, 3))}, "Reshape Conv Reshape"},
		{"three axes", "conv", args{"x": xs(1, 2, 4, 4, 4), "weight": fixed(ws(3, 2, 3, 3, 3))}, "Transpose Transpose Conv Transpose"},
		{"live weights", "conv", args{"x": xs(1, 2, 4, 4), "weight": ws(3, 2, 3, 3)}, "Conv"},
		{"transposed", "conv_transpose", args{"x": xs(1, 2, 4, 4), "weight": ws(2, 3, 2, 2), "strides": []int{2, 2}}, "Conv"},
		{"of a table", "conv_quantized", args{"x": xs(1, 1, 2, 2), "weight": fixed(u8(dims(1, 1, 1, 2), 0, 1)), "quantization_type": "lut",
			"nbits": 1, "quant_scale": []float64{2, 3}, "quant_bias": []float64{0}}, "Conv"},
		{"of integers", "conv_quantized", args{"x": xs(1, 1, 2, 2), "weight": fixed(u8(dims(1, 1, 1, 2), 0, 1)), "quantization_type": "linear",
			"quant_scale": []float64{2}, "quant_bias": []float64{1}}, "TypeCast ElementWise ElementWise Conv"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantKinds(t, lowerOp(t, IOS15, tt.kind, tt.a), tt.want) })
	}
}

// Weights are not copied: the constant is the memory of the program's.
func TestLowerConvSharesWeights(t *testing.T) {
	w := ws(3, 2, 3)
	g := lowerOp(t, IOS15, "conv", args{"x": xs(1, 2, 4), "weight": fixed(w)})
	want, _ := w.Memory()
	for _, v := range g.Values {
		if v.Const == nil {
			continue
		}
		if start, _ := v.Const.Stored.Memory(); start == want {
			return
		}
	}
	t.Errorf("no constant has the memory of the weight\n%v", g)
}

func paramsOf[T anec.Params](t *testing.T, g *anec.Graph) T {
	t.Helper()
	for _, l := range g.Layers {
		if p, ok := l.Params.(T); ok {
			return p
		}
	}
	t.Fatalf("no layer of the kind\n%v", g)
	panic("unreachable")
}

// Ways of padding become numbers.
func TestLowerConvPadding(t *testing.T) {
	for _, tt := range []struct {
		padType       string
		pad           []int
		before, after [3]int
	}{
		{"valid", []int{1, 1, 1, 1}, [3]int{}, [3]int{}},
		{"same", nil, [3]int{0, 1, 0}, [3]int{0, 1, 1}},
		{"same_lower", nil, [3]int{0, 1, 1}, [3]int{0, 1, 0}},
		{"custom", []int{1, 2, 3, 4}, [3]int{0, 1, 3}, [3]int{0, 2, 4}},
	} {
		a := args{"x": xs(1, 1, 5, 5), "weight": fixed(ws(1, 1, 3, 2)), "pad_type": tt.padType}
		if tt.pad != nil {
			a["pad"] = tt.pad
		}
		c := paramsOf[*anec.Conv](t, lowerOp(t, IOS16, "conv", a))
		if c.PadBefore != tt.before || c.PadAfter != tt.after {
			t.Errorf("%s: padding %v and %v, expected %v and %v", tt.padType, c.PadBefore, c.PadAfter, tt.before, tt.after)
		}
	}
}

// An output_shape cuts at the end, or adds there.
func TestLowerConvTransposeShape(t *testing.T) {
	for _, tt := range []struct{ width, after, more int }{{7, 0, 0}, {5, 2, 0}, {8, 0, 1}} {
		g := lowerOp(t, IOS15, "conv_transpose", args{"x": xs(1, 2, 3), "weight": ws(2, 2, 3), "strides": []int{2}, "output_shape": []int{1, 2, tt.width}})
		c := paramsOf[*anec.Conv](t, g)
		if c.PadAfter[2] != tt.after || c.OutputPad[2] != tt.more {
			t.Errorf("width %d: %d cut off and %d added, expected %d and %d", tt.width, c.PadAfter[2], c.OutputPad[2], tt.after, tt.more)
		}
	}
	wantRefusal(t, IOS15, "conv_transpose", args{"x": xs(1, 1, 2, 2), "weight": ws(1, 1, 1, 1), "strides": []int{200, 200}}, "strides [1 200 200]", "at most 16384")
}

// What ceil_mode adds beyond the padding is no part of an average that counts padding.
func TestLowerPool(t *testing.T) {
	pool := func(a args) args {
		all := args{"x": xs(1, 1, 6), "kernel_sizes": []int{3}, "strides": []int{2}, "pad_type": "custom", "pad": []int{1, 1}}
		for k, v := range a {
			all[k] = v
		}
		return all
	}
	for _, tt := range []struct {
		name, kind string
		a          args
		want       string
		after      int
		exclude    bool
	}{
		{"average", "avg_pool", args{}, "Pooling", 1, false},
		{"average of input", "avg_pool", args{"exclude_padding_from_average": true}, "Pooling", 1, true},
		{"average, one more", "avg_pool", args{"ceil_mode": true}, "Padding Pooling", 1, true},
		{"average, one more without padding", "avg_pool", args{"ceil_mode": true, "pad": []int{0, 0}}, "Pooling", 1, true},
		{"average, no more", "avg_pool", args{"ceil_mode": true, "strides": []int{1}}, "Pooling", 1, false},
		{"average of input, one more", "avg_pool", args{"ceil_mode": true, "exclude_padding_from_average": true}, "Pooling", 2, true},
		{"maximum, one more", "max_pool", args{"ceil_mode": true}, "Pooling", 2, false},
		{"norm, one more", "l2_pool", args{"ceil_mode": true}, "Pooling", 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := lowerOp(t, IOS15, tt.kind, pool(tt.a))
			wantKinds(t, g, tt.want)
			p := paramsOf[*anec.Pooling](t, g)
			if p.PadAfter[2] != tt.after || p.ExcludePad != tt.exclude {
				t.Errorf("padding %d at the end, left out: %t; expected %d, %t", p.PadAfter[2], p.ExcludePad, tt.after, tt.exclude)
			}
			if wantMode := map[bool]td.PaddingMode{true: td.PadNegative, false: td.PadZero}[tt.kind == "max_pool"]; p.PaddingMode != wantMode {
				t.Errorf("padding mode %v, expected %v", p.PaddingMode, wantMode)
			}
		})
	}
}
