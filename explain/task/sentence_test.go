package task

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// recordSentences describes the tasks of a record of Apple's compiler. Ports are called by their base.
func recordSentences(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, "oracles", "h13", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var record struct {
		Tasks []struct {
			Header []string `json:"header_words"`
			Blocks map[string]struct{ Words map[string]string }
		} `json:"task_descriptors"`
	}
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	parse := func(text string) uint32 {
		v, err := strconv.ParseUint(text, 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(v)
	}
	e := &explainer{file: &hwx.File{}, registers: td.NewRegisters(td.LayoutOf(td.V7)), bases: map[int]hwx.Base{
		hwx.BaseConst: {Kind: hwx.KindConst}, hwx.BaseScratch: {Kind: hwx.KindScratch},
	}}
	for i := hwx.BasePorts; i < hwx.BasePorts+4; i++ {
		e.bases[i] = hwx.Base{Kind: hwx.KindPort, Name: fmt.Sprintf("p%d", i)}
	}
	var list []string
	for _, r := range record.Tasks {
		task := &td.Task{Version: td.V7}
		for _, w := range r.Header {
			task.Header = append(task.Header, parse(w))
		}
		for _, b := range r.Blocks {
			for addr, w := range b.Words {
				task.Records = append(task.Records, td.Record{Addr: parse(addr), Words: []uint32{parse(w)}})
			}
		}
		e.registers.Apply(task)
		_, table := e.kernel(task)
		list = append(list, e.describeV7(task, table))
	}
	return list
}

func TestSentencesOfRecords(t *testing.T) {
	for name, want := range map[string]string{
		"binary_add_c64_constant_blob": `copy of 1 channel on 2×64, from constants to on-chip memory
plus the offset, times the gain of each channel, of 64 channels on 1×1, from p4 and on-chip memory (channels and columns exchanged) to p5`,
		"binary_mul_c64_constant_scalar":                "copy of 64 channels on 1×1, times 0.5, from p4 to p5",
		"binary_sub_1x128x16x16":                        "difference of 128 channels on 16×16, from p4 and p6 to p5",
		"cast_b_to_f16_1x1x64x1":                        "copy of 1 channel on 64×1, from p4 (uint8) to p5",
		"chain_add_relu_c512":                           "sum of 512 channels on 1×1, ReLU, from p4 and p6 to p5",
		"conv_probe_k1_c128_n128_s16_st1_g4_bias0_same": "1×1 convolution 128→128 channels on 16×16, 4 groups or images, from p4 to p5",
		"env_chain_residual_relu_1x64x8x8":              "sum of 64 channels on 8×8, from p4 and p4 (ReLU) to p5",
		"env_conv_k3_c64_n64_s16_st1_g1_bias1":          "3×3 convolution 64→64 channels on 16×16, padding 1, bias, from p4 to p5",
		"env_conv_k3_c64_n64_s16_st1_g64_bias0":         "3×3 depthwise convolution 64→64 channels on 16×16, padding 1, from p4 to p5",
		"env_conv_k3_c64_n64_s16_st2_g1_bias0":          "3×3 convolution 64→64 channels on 16×16 to 8×8, stride 2, from p4 to p5",
		"reduce_max_axes_1":                             "maximum of every 64 channels, of 64 channels on 8×8, from p4 to p5",
		"reduce_mean_axes_2_3":                          "sum over the plane of each channel, of 64 channels on 8×8, then times 0.015625, from p4 to p5",
		"rrmm_r2rr_m16_k64_n64_tx0_ty0":                 "1×1 convolution 64→16 channels on 1×64, weights made at run time in p6, from p5 to p4",
		"unary_abs_c128":                                "absolute value of 128 channels on 1×1, from p4 to p5",
		"unary_exp_c64":                                 "copy of 64 channels on 1×1, times 1.4424, table, from p4 to p5",
		"unary_relu_c64":                                "ReLU of 64 channels on 1×1, from p4 to p5",
	} {
		if got := strings.Join(recordSentences(t, name), "\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// What is said of each of Apple's programs, in a sentence for each task.
func TestSentences(t *testing.T) {
	want := map[string][]string{
		"compiled_ee9d5b1b":        {"1×1 convolution 3→2 channels on 1×1, bias, from image to probs@output"},
		"compiled_signed_4e6bd6e6": {"1×1 convolution 3→2 channels on 1×1, bias, from image to probs@output"},
		"concat_0f988933":          {"copy of 16,384 channels on 1×1, from input_0 to output@output", "copy of 16 channels on 1×1, from input_1 to output@output+0x100000"},
		"concat_fb59e09a":          {"copy of 16 channels on 1×1, from input_0 to output@output", "copy of 16 channels on 1×1, from input_1 to output@output+0x400"},
		"conv_8a6bd427":            {"1×1 convolution 3→3 channels on 1×1, from image to probs@output"},
		"conv_ea5905f3":            {"1×1 convolution 3→3 channels on 1×1, from image to probs@output"},
		"gemm_bc27a277":            {"1×1 convolution 512→512 channels on 1×1, from image to probs@output"},
		"gemm_ef7e5c24":            {"1×1 convolution 64→64 channels on 1×1, from image to probs@output"},
		"golden_32a7ae2d":          {"1×1 convolution 3→3 channels on 1×1, from image to probs@output"},
		"golden_50e38bf9":          {"1×1 convolution 3→2 channels on 1×1, bias, from image to probs@output"},
		"golden_a199507d":          {"1×1 convolution 3→3 channels on 1×1, from image to probs@output"},
		"golden_c20271e3":          {"copy of 3 channels on 1×1, from image to probs@output"},
		"golden_cb1ce958":          {"1×1 convolution 3→2 channels on 1×1, from image to probs@output"},
		"relu_d66a665b":            {"ReLU of 1 channel on 1×16, from image to probs@output"},
		"relu_dc54cc54":            {"ReLU of 1 channel on 1×77, from image to probs@output"},
		"sigmoid_7cc79341":         {"sigmoid of 1 channel on 1×77, from image to probs@output"},
		"sum_1b1855b8":             {"sum of 64 channels on 1×1, from image and image2 to probs@output"},
	}
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "hwx"), "*.hwx"))
	if err != nil || len(files) != len(want) {
		t.Fatalf("found %d real containers, %v; want %d", len(files), err, len(want))
	}
	for _, path := range files {
		f, err := hwx.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tasks, err := Explain(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".hwx")
		var got []string
		for _, task := range tasks {
			got = append(got, task.What)
		}
		if strings.Join(got, "\n") != strings.Join(want[name], "\n") {
			t.Errorf("%s: got %q, want %q", name, got, want[name])
		}
	}
}

func TestOperationNames(t *testing.T) {
	square := func(n int) [3]int { return [3]int{1, n, n} }
	window := td.Window{Kernel: square(3), Stride: square(2), Dilation: square(1), PadBefore: [3]int{0, 1, 1}}
	for _, c := range []struct {
		params td.Params
		want   string
	}{
		{&td.Convolution{Window: window, Groups: 4}, "3×3 convolution, stride 2×2, padding before 1×1, 4 groups"},
		{&td.Pooling{Window: window, Kind: td.PoolMax}, "3×3 Max pooling, stride 2×2, padding before 1×1"},
		{&td.ElementWise{}, "elementwise"},
		{&td.ElementWise{Kind: td.EWAdd}, "elementwise Add"},
		{&td.MatMul{TransposeZ: true}, "matrix product, the second transposed"},
		{&td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisH, td.AxisW)}, "Sum over HW"},
		{&td.Softmax{Axis: td.AxisW}, "softmax over W"},
		{&td.LayerNorm{Axes: td.AxesOf(td.AxisW), Epsilon: 1e-5}, "layer normalization over W, epsilon 1e-05"},
		{&td.Gather{Axis: td.AxisC}, "gather along C"},
		{&td.Copy{}, "copy"},
		{&td.Attention{Scale: 0.125}, "attention, scale 0.125"},
	} {
		if got := operationName(&td.Op{Params: c.params}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	fp16, _ := td.ElementCode(tensor.Float16)
	for _, c := range []struct {
		step td.MicroOp
		want string
	}{
		{td.MicroOp{Code: td.MicroScaleBias, A: 2, B: 1}, "times 2 plus 1"},
		{td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncReLU)}, "relu"},
		{td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncClip), A: -1, B: 1}, "clip(-1, 1)"},
		{td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWAdd), A: 3}, "Add with 3"},
		{td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWSub), Source: td.FromOperand(2), Swap: true}, "Sub of operand 2 and it"},
		{td.MicroOp{Code: td.MicroTypeCast, Function: fp16}, "cast to fp16"},
	} {
		if got := stepName(c.step); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestFieldsOfEveryClass(t *testing.T) {
	for _, c := range []struct {
		params td.Params
		want   string
	}{
		{&td.Convolution{Window: td.UnitWindow, Groups: 1, Transposed: true}, "1×1 transposed convolution"},
		{&td.Padding{Before: [td.NumAxes]int{3: 1, 4: 2}, Mode: td.PadReflective}, "Padding, before [0, 0, 0, 1, 2], mode Reflective"},
		{&td.DeQuant{}, "DeQuant"},
		{&td.DeQuant{Blocks: [td.NumAxes]int{1, 1, 2, 1, 1}, VectorAxis: td.AxisC}, "DeQuant, blocks [1, 1, 2, 1, 1], vector axis C"},
		{&td.Sort{Direction: td.Ascending, Sorting: td.Sorting{Axis: td.AxisW}}, "Sort, Ascending, along W, results Values"},
		{&td.TopK{Type: td.Max, K: 3, Sorting: td.Sorting{Axis: td.AxisH, VectorAxis: td.AxisW, NumKeys: 2, Keys: [td.MaxSortKeys]int{1, 0}}}, "TopK, Max 3, along H, vectors along W by [1 0], results Values"},
		{&td.DynamicSlice{Number: 2, Axes: [td.NumAxes]td.Axis{td.AxisH, td.AxisW}, Padding: td.PadBackground, FromEnd: true}, "DynamicSlice, along HW, coordinate NonNormalized, padding Background, from end"},
		{&td.RingBufferWriter{Offset: [td.NumAxes]int{3: 4}, Circular: td.AxesOf(td.AxisH), Live: [td.NumAxes]int{4: 1}}, "RingBufferWriter, offset [0, 0, 0, 4, 0], circular H, live [0, 0, 0, 0, 1]"},
		{&td.PixelShuffle{Factors: td.Factors{X: 2, Y: 2, Z: 1}}, "PixelShuffle, X 2, Y 2, Z 1"},
		{&td.InstanceNorm{Axes: td.AxesOf(td.AxisH, td.AxisW), Epsilon: 0.5}, "InstanceNormalization, axes HW, epsilon 0.5"},
		{&td.Resize{Method: td.SampleNearest, Scale: [2]float32{2, 3}}, "Resize, method NearestNeighbor, grid AlignedCorners, rounding round_prefer_ceil, scale [2 3]"},
	} {
		if got := operationName(&td.Op{Params: c.params}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	for _, class := range td.OpClasses() {
		if text := operationName(&td.Op{Params: td.NewParams(class)}); text == "" || strings.ContainsAny(text, "{}&") {
			t.Errorf("%v: %q", class, text)
		}
	}
}
