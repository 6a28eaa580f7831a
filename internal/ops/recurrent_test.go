package ops

import (
	"context"
	"errors"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// The layers of these tests have 3 steps, a batch of 2, and input and hidden length 2. The expected values were
// computed with NumPy in float64, from the formulas of the operations' documentation.
const testSteps, testBatch, testWidth = 3, 2, 2

// pattern fills a tensor with ((i·a + b) mod 11 - 5) / 8: small, and exact in fp16.
func pattern(d tensor.DType, a, b int, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	vals := make([]float64, n)
	for i := range vals {
		vals[i] = float64((i*a+b)%11-5) / 8
	}
	return floats(d, shape, vals)
}

// recurrentArgs are the arguments of a layer with a bias.
func recurrentArgs(d tensor.DType, gates int, more args) args {
	a := args{
		"x":               pattern(d, 3, 1, testSteps, testBatch, testWidth),
		"initial_h":       pattern(d, 2, 3, testBatch, testWidth),
		"weight_ih":       pattern(d, 5, 2, gates*testWidth, testWidth),
		"weight_hh":       pattern(d, 7, 5, gates*testWidth, testWidth),
		"bias":            pattern(d, 4, 3, gates*testWidth),
		"output_sequence": true,
	}
	return with(a, more)
}

func lstmArgs(d tensor.DType, more args) args {
	a := recurrentArgs(d, 4, args{"initial_c": pattern(d, 5, 1, testBatch, testWidth)})
	return with(a, more)
}

func bidirectionalArgs(d tensor.DType, more args) args {
	a := lstmArgs(d, args{
		"direction":      "bidirectional",
		"initial_h":      pattern(d, 2, 3, testBatch, 2*testWidth),
		"initial_c":      pattern(d, 5, 1, testBatch, 2*testWidth),
		"peephole":       pattern(d, 3, 4, 3*testWidth),
		"weight_ih_back": pattern(d, 9, 2, 4*testWidth, testWidth),
		"weight_hh_back": pattern(d, 7, 9, 4*testWidth, testWidth),
		"bias_back":      pattern(d, 4, 7, 4*testWidth),
		"peephole_back":  pattern(d, 5, 2, 3*testWidth),
	})
	return with(a, more)
}

// with adds arguments; nil removes one.
func with(a, more args) args {
	for name, v := range more {
		if v == nil {
			delete(a, name)
		} else {
			a[name] = v
		}
	}
	return a
}

var recurrentTests = []struct {
	name string
	kind string
	args args
	want [][]float64
}{
	{
		"rnn", "rnn", recurrentArgs(tensor.Float32, 1, nil),
		[][]float64{
			{-0.0934763, 0.3718989, -0.4115701, 0.2301757, -0.287028, 0.3416497, -0.5796682, -0.19616, -0.2874871, 0.2357633, -0.4336798, -0.2499463},
			{-0.2874871, 0.2357633, -0.4336798, -0.2499463},
		},
	},
	{ // the outputs stand in the order of processing
		"rnn reverse", "rnn", recurrentArgs(tensor.Float32, 1, args{"direction": "reverse", "activation": "relu", "bias": nil}),
		[][]float64{
			{0.125, 0.046875, 0, 0, 0.1171875, 0.2285156, 0, 0, 0.04199219, 0.2497559, 0.0625, 0},
			{0.04199219, 0.2497559, 0.0625, 0},
		},
	},
	{
		"rnn last step", "rnn", recurrentArgs(tensor.Float32, 1, args{"activation": "LINEAR", "output_sequence": false}),
		[][]float64{{-0.3017578, 0.2321777, -0.4580078, -0.2854004}, {-0.3017578, 0.2321777, -0.4580078, -0.2854004}},
	},
	{
		"rnn hard sigmoid", "rnn", recurrentArgs(tensor.Float32, 1, args{"activation": "sigmoid_hard", "output_sequence": nil}),
		[][]float64{{0.4140859, 0.5944199, 0.3360859, 0.4998418}, {0.4140859, 0.5944199, 0.3360859, 0.4998418}},
	},
	{
		"gru", "gru", recurrentArgs(tensor.Float32, 3, nil),
		[][]float64{
			{-0.2423298, -0.2547089, -0.1572705, 0.2512519, -0.2842204, -0.3535561, -0.3355658, 0.2606992, -0.3349413, -0.3651151, -0.4585827, 0.3042786},
			{-0.3349413, -0.3651151, -0.4585827, 0.3042786},
		},
	},
	{
		"gru reverse", "gru",
		recurrentArgs(tensor.Float32, 3, args{"direction": "reverse", "recurrent_activation": "tanh", "activation": "sigmoid", "bias": nil}),
		[][]float64{
			{0.6909263, 0.5782163, 0.3940818, 0.5428271, 0.554444, 0.4999253, 0.4532527, 0.5582038, 0.609929, 0.4632086, 0.4824001, 0.5325863},
			{0.609929, 0.4632086, 0.4824001, 0.5325863},
		},
	},
	{
		"gru reset after", "gru", recurrentArgs(tensor.Float32, 3, args{"reset_after": true, "input_bias": pattern(tensor.Float32, 6, 1, 6)}),
		[][]float64{
			{-0.2368977, 0.02104284, -0.1956901, 0.4928154, -0.2681602, 0.06915869, -0.371186, 0.5688475, -0.3124513, 0.1386517, -0.4845464, 0.6377613},
			{-0.3124513, 0.1386517, -0.4845464, 0.6377613},
		},
	},
	{
		"gru reset after, one bias", "gru", recurrentArgs(tensor.Float32, 3, args{"reset_after": true, "direction": "reverse"}),
		[][]float64{
			{-0.1654261, -0.1397861, -0.007301398, 0.4553793, -0.1088436, -0.2640397, -0.1420705, 0.4107546, -0.06314356, -0.37427, -0.2231263, 0.2454779},
			{-0.06314356, -0.37427, -0.2231263, 0.2454779},
		},
	},
	{
		"gru two biases", "gru",
		recurrentArgs(tensor.Float32, 3, args{"input_bias": pattern(tensor.Float32, 6, 1, 6), "output_sequence": false}),
		[][]float64{{-0.5680281, 0.08603309, -0.6568693, 0.6058332}, {-0.5680281, 0.08603309, -0.6568693, 0.6058332}},
	},
	{
		"lstm", "lstm", lstmArgs(tensor.Float32, nil),
		[][]float64{
			{-0.105236, 0.1063566, -0.1414907, -0.04165399, -0.0458236, 0.1200673, 0.05163778, 0.1328551, -0.03259026, 0.114862, 0.1020034, 0.2173317},
			{-0.03259026, 0.114862, 0.1020034, 0.2173317},
			{-0.06021331, 0.3517014, 0.1535167, 0.4939221},
		},
	},
	{
		"lstm reverse", "lstm", lstmArgs(tensor.Float32, args{"direction": "reverse", "bias": nil}),
		[][]float64{
			{-0.1273583, 0.008326523, -0.06070559, 0.008363937, -0.08048103, -0.004792738, 0.07311879, 0.1069953, -0.05291844, 0.005096871, -0.03083853, -0.04877106},
			{-0.05291844, 0.005096871, -0.03083853, -0.04877106},
			{-0.1198941, 0.01120469, -0.06374342, -0.1032564},
		},
	},
	{ // the clip is on the cell state
		"lstm clip", "lstm",
		lstmArgs(tensor.Float32, args{"activation": "hard_sigmoid", "peephole": pattern(tensor.Float32, 3, 4, 6), "clip": 0.25}),
		[][]float64{
			{0.2484217, 0.1859424, 0.249256, 0.173907, 0.2552276, 0.2177337, 0.3407741, 0.2878302, 0.2582797, 0.2172452, 0.3478084, 0.2941005},
			{0.2582797, 0.2172452, 0.3478084, 0.2941005},
			{-0.1180073, 0.2427172, 0.1159739, 0.25},
		},
	},
	{
		"lstm relu and linear", "lstm",
		lstmArgs(tensor.Float32, args{
			"recurrent_activation": "hard_sigmoid", "cell_activation": "relu", "activation": "linear",
			"peephole": pattern(tensor.Float32, 3, 4, 6),
		}),
		[][]float64{
			{-0.09043945, 0.1393856, -0.08713379, 0, -0.03692456, 0.1494751, 0.08074812, 0.2330586, -0.01531908, 0.1352935, 0.1230232, 0.3276109},
			{-0.01531908, 0.1352935, 0.1230232, 0.3276109},
			{-0.02881606, 0.3434366, 0.1938779, 0.6187404},
		},
	},
	{
		"lstm scaled tanh", "lstm",
		lstmArgs(tensor.Float32, args{"cell_activation": "scaled_tanh", "activation": "sigmoid", "output_sequence": false}),
		[][]float64{
			{0.2541912, 0.2131899, 0.3510172, 0.3126342},
			{0.2541912, 0.2131899, 0.3510172, 0.3126342},
			{-0.1243385, 0.2829981, 0.1111741, 0.4539781},
		},
	},
	{ // both halves in the order of time
		"lstm bidirectional", "lstm", bidirectionalArgs(tensor.Float32, nil),
		[][]float64{
			{
				-0.08517342, 0.1168426, 0.138411, -0.1202979, 0.1528503, 0.04328258, 0.109921, -0.09437402,
				-0.03617561, 0.1302384, 0.1071448, -0.1043874, 0.1325968, 0.2231073, 0.03177182, -0.09414464,
				-0.02851722, 0.1210513, 0.0006066285, -0.07001852, 0.1210068, 0.2752454, 0.05348123, -0.1236388,
			},
			{-0.02851722, 0.1210513, 0.138411, -0.1202979, 0.1210068, 0.2752454, 0.109921, -0.09437402},
			{-0.05273624, 0.3394654, 0.5727196, -0.243255, 0.1841878, 0.5646648, 0.3015095, -0.2288532},
		},
	},
	{ // the last step of each direction
		"lstm bidirectional, last step", "lstm", bidirectionalArgs(tensor.Float32, args{"output_sequence": false}),
		[][]float64{
			{-0.02851722, 0.1210513, 0.138411, -0.1202979, 0.1210068, 0.2752454, 0.109921, -0.09437402},
			{-0.02851722, 0.1210513, 0.138411, -0.1202979, 0.1210068, 0.2752454, 0.109921, -0.09437402},
			{-0.05273624, 0.3394654, 0.5727196, -0.243255, 0.1841878, 0.5646648, 0.3015095, -0.2288532},
		},
	},
}

func TestRecurrent(t *testing.T) {
	for _, tt := range recurrentTests {
		t.Run(tt.name, func(t *testing.T) {
			got := evalOp(t, IOS18, tt.kind, tt.args)
			for i, want := range tt.want {
				wantFloats(t, got[i], 1e-6, want...)
			}
		})
	}
}

// TestRecurrentHalf: from iOS17 the layers take fp16; states stay fp32 from step to step, and only the
// results are rounded.
func TestRecurrentHalf(t *testing.T) {
	wide := evalOp(t, IOS17, "lstm", bidirectionalArgs(tensor.Float32, nil))
	half := evalOp(t, IOS17, "lstm", bidirectionalArgs(tensor.Float16, nil))
	for i := range wide {
		want := tensorOf(t, wide[i]).Float64s()
		for j := range want {
			want[j] = float64(tensor.RoundF16(float32(want[j])))
		}
		wantFloats(t, half[i], 0, want...)
	}
	wantErr(t, IOS16, "lstm", bidirectionalArgs(tensor.Float16, nil), "expected fp32")
	wantErr(t, IOS15, "gru", recurrentArgs(tensor.Float16, 3, nil), "expected fp32")
	wantErr(t, IOS15, "rnn", recurrentArgs(tensor.Float16, 1, nil), "expected fp32")
	wantErr(t, IOS17, "gru", recurrentArgs(tensor.Float32, 3, args{"reset_after": true}), "unknown parameter", "reset_after")
}

// TestRecurrentAhead runs a sequence that is too long to compute the input's contribution at once, forwards
// and backwards: a cell that sums its inputs shows every step that is lost or taken twice.
func TestRecurrentAhead(t *testing.T) {
	const steps, batch = 3, preLimit/2 + 1
	x := make([]float32, steps*batch)
	for i := range x {
		x[i] = float32(1 + i/batch) // 1, 2, 3 by step
	}
	for direction, want := range map[string][]float64{"forward": {1, 3, 6}, "reverse": {3, 5, 6}} {
		got := evalOp(t, IOS15, "rnn", args{
			"x": tensor.Of(x, steps, batch, 1), "initial_h": f32(dims(batch, 1), 0), "weight_ih": f32(dims(1, 1), 1),
			"weight_hh": f32(dims(1, 1), 1), "activation": "linear", "direction": direction, "output_sequence": true,
		})
		out := tensorOf(t, got[0]).Float32s()
		for s, w := range want {
			for _, b := range []int{0, batch - 1} {
				if g := out[s*batch+b]; float64(g) != w {
					t.Errorf("%s: step %d of %d is %v, expected %v", direction, s, b, g, w)
				}
			}
		}
	}
}

func TestRecurrentEmpty(t *testing.T) {
	got := evalOp(t, IOS15, "rnn", recurrentArgs(tensor.Float32, 1, args{"x": f32(dims(0, 2, 2))}))
	wantShape(t, got[0], 0, 2, 2)
	wantFloats(t, got[1], 0, -0.25, 0, 0.25, 0.5) // initial_h
	got = evalOp(t, IOS15, "lstm", lstmArgs(tensor.Float32, args{
		"x": f32(dims(3, 0, 2)), "initial_h": f32(dims(0, 2)), "initial_c": f32(dims(0, 2)),
	}))
	wantShape(t, got[0], 3, 0, 2)
}

func TestRecurrentErrors(t *testing.T) {
	f := tensor.Float32
	for _, tt := range []struct {
		kind string
		args args
		want string
	}{
		{"rnn", recurrentArgs(f, 1, args{"x": f32(dims(3, 2))}), "x has shape [3, 2], expected rank 3"},
		{"rnn", recurrentArgs(f, 1, args{"direction": "bidirectional"}), `direction is "bidirectional", expected forward or reverse`},
		{"rnn", recurrentArgs(f, 1, args{"activation": "gelu"}), `activation is "gelu", expected tanh`},
		{"rnn", recurrentArgs(f, 1, args{"weight_hh": f32(dims(2, 3))}), "weight_hh has shape [2, 3], expected [1H, H]"},
		{"gru", recurrentArgs(f, 3, args{"weight_hh": f32(dims(6, 3))}), "weight_hh has shape [6, 3], expected [3H, H]"},
		{"gru", recurrentArgs(f, 3, args{"weight_ih": f32(dims(6, 5))}), "weight_ih has shape [6, 5], expected [6, 2]"},
		{"gru", recurrentArgs(f, 3, args{"bias": f32(dims(5))}), "bias has shape [5], expected [6]"},
		{"gru", recurrentArgs(f, 3, args{"input_bias": f32(dims(2, 3))}), "input_bias has shape [2, 3], expected [6]"},
		{"gru", recurrentArgs(f, 3, args{"initial_h": f32(dims(1, 2))}), "initial_h has shape [1, 2], expected [2, 2]"},
		{"lstm", lstmArgs(f, args{"direction": "both"}), "expected forward, reverse or bidirectional"},
		{"lstm", lstmArgs(f, args{"direction": "bidirectional"}), "needs weight_ih_back and weight_hh_back"},
		{"lstm", lstmArgs(f, args{"initial_c": f32(dims(2, 4))}), "initial_c has shape [2, 4], expected [2, 2]"},
		{"lstm", lstmArgs(f, args{"peephole": f32(dims(8))}), "peephole has shape [8], expected [6]"},
		{"lstm", lstmArgs(f, args{"clip": -1.0}), "clip is -1"},
		{"lstm", lstmArgs(f, args{"cell_activation": ""}), `cell_activation is "", expected`},
		{"lstm", bidirectionalArgs(f, args{"peephole_back": f32(dims(2))}), "peephole_back has shape [2], expected [6]"},
		{"lstm", bidirectionalArgs(f, args{"initial_h": f32(dims(2, 2))}), "initial_h has shape [2, 2], expected [2, 4]"},
		{
			"lstm",
			bidirectionalArgs(f, args{"weight_hh_back": f32(dims(4, 1)), "weight_ih_back": f32(dims(4, 2)), "bias_back": nil}),
			"weight_hh_back is for 1 hidden elements, weight_hh for 2",
		},
	} {
		wantErr(t, IOS18, tt.kind, tt.args, tt.want)
	}
}

func TestRecurrentCancel(t *testing.T) {
	p := buildOp(IOS15, "rnn", recurrentArgs(tensor.Float32, 1, nil), &evalConfig{}, asGiven)
	types, err := p.outputTypes(IOS15)
	if err != nil {
		t.Fatal(err)
	}
	p.declare(types)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := &layer{steps: 2, batch: 1, input: 1, hidden: 1, gates: 1, x: []float32{1, 2}, weightIH: []float32{1}}
	l.step = func([]float32) { t.Error("a step ran after the context ended") }
	if err := l.run(ctx, false, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	ev, err := NewEvaluator(p.f, Virtual)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ev.Run(ctx, p.inputs); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
