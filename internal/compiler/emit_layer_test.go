package compiler

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A layerCase is a graph, what goes in and what comes out: numbers small enough to follow by hand.
type layerCase struct {
	name   string
	text   string
	inputs [][]float32
	want   []float32
}

func runCases(t *testing.T, cases []layerCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := evaluate(t, "graph g\n"+c.text, c.inputs...)
			compare(t, got[0], c.want)
		})
	}
}

// compare holds numbers to others, within what fp16 rounds away.
func compare(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d elements, want %d: %v", len(got), len(want), got)
	}
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if g != w && !(math.Abs(g-w) <= 1e-3*math.Max(1, math.Abs(w))) && !(math.IsNaN(g) && math.IsNaN(w)) {
			t.Fatalf("element %d: got %v, want %v", i, got, want)
		}
	}
}

func list(v ...float32) []float32 { return v }

func count(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i + 1)
	}
	return v
}

func in(lists ...[]float32) [][]float32 { return lists }

var inf, nan = float32(math.Inf(1)), float32(math.NaN())

func TestEmitPointwise(t *testing.T) { runCases(t, pointwiseCases) }

var pointwiseCases = []layerCase{
	{"add", `input %x : fp16[1,1,1,1,3]
input %z : fp16[1,1,1,2,1]
%y = anec.add(%x, %z) : fp16[1,1,1,2,3]
output %y`, in(list(1, 2, 3), list(10, 20)), list(11, 12, 13, 21, 22, 23)},
	{"integers beyond fp32", `input %x : int32[1,1,1,1,1]
const %c : int32[1,1,1,1,1] {data = splat(16777217)}
%y = anec.add(%x, %c) : int32[1,1,1,1,1]
%z = anec.sub(%y, %c) : int32[1,1,1,1,1]
output %z`, in(list(4)), list(4)},
	{"comparison", `input %x : fp16[1,1,1,1,3]
const %c : fp16[1,1,1,1,1] {data = splat(2)}
%y = anec.greater_equal(%x, %c) : bool[1,1,1,1,3]
output %y`, in(list(1, 2, 3)), list(0, 1, 1)},
	{"scaled", `input %x : fp16[1,1,1,1,2]
%y = anec.scaled_elementwise(%x, %x) {type = Add, scale = 0.5} : fp16[1,1,1,1,2]
output %y`, in(list(3, 4)), list(3, 4)},
	{"select", `input %c : bool[1,1,1,1,3]
input %a : fp16[1,1,1,1,3]
input %b : fp16[1,1,1,1,1]
%y = anec.select(%c, %a, %b) | act relu : fp16[1,1,1,1,3]
output %y`, in(list(1, 0, 1), list(5, 6, -7), list(9)), list(5, 9, 0)},
	{"neuron", `input %x : fp16[1,1,1,1,3]
%y = anec.neuron(%x) {type = clip, a = -1, b = 2} : fp16[1,1,1,1,3]
output %y`, in(list(-3, 1, 7)), list(-1, 1, 2)},
	{"table", `input %x : fp16[1,1,1,1,7]
const %t : uint16[1,1,1,1,64] {data = [` + squareTable + `]}
%y = anec.neuron_custom(%x, %t) : fp16[1,1,1,1,7]
output %y`, in(list(-20, -16, -1.5, 0.25, 3, 3.5, inf)), list(-7, -7, 2.5, 0.25, 9, 12.5, 7)},
	{"sign of integers", `input %x : int32[1,1,1,1,3]
%y = anec.sign(%x) : int32[1,1,1,1,3]
output %y`, in(list(-3, 0, 7)), list(-1, 0, 1)},
	{"slope for each channel", `input %x : fp16[1,1,2,1,3]
const %s : fp16[1,1,2,1,1] {data = [0.5, 2]}
%y = anec.prelu(%x, %s) | post abs : fp16[1,1,2,1,3]
output %y`, in(list(-2, 4, inf, -2, 4, -inf)), list(1, 4, inf, 4, 4, inf)},
	{"goc", `input %x : fp16[1,1,2,1,2]
const %s : fp16[1,1,2,1,1] {data = [2, 3]}
const %b : fp16[1,1,2,1,1] {data = [10, 20]}
%y = anec.gain_offset_control(%x, %s, %b) : fp16[1,1,2,1,2]
output %y`, in(list(1, 2, 3, 4)), list(12, 14, 29, 32)},
	{"goc of numbers", `input %x : fp16[1,1,2,1,2]
const %b : fp16[1,1,2,1,1] {data = [10, 20]}
%a = anec.gain_offset_control(%x) {scale = 2, bias = 1} : fp16[1,1,2,1,2]
%y = anec.gain_offset_control(%a, _, %b) {scale = 3} : fp16[1,1,2,1,2]
output %y`, in(list(1, 2, 3, 4)), list(19, 25, 41, 47)},
	{"live goc", `input %x : fp16[1,1,2,1,1]
input %s : fp16[1,1,2,1,1]
%y = anec.dynamic_gain_offset_control(%x, %s) : fp16[1,1,2,1,1]
output %y`, in(list(3, 4), list(5, 6)), list(15, 24)},
	{"live goc adds first", `input %x : fp16[1,1,2,1,1]
input %s : fp16[1,1,2,1,1]
input %b : fp16[1,1,2,1,1]
%y = anec.dynamic_gain_offset_control(%x, %s, %b) | act relu : fp16[1,1,2,1,1]
output %y`, in(list(3, 4), list(5, 6), list(1, -5)), list(20, 0)},
	{"cast cuts off", `input %x : fp16[1,1,1,1,3]
%y = anec.cast(%x) {to = int32} : int32[1,1,1,1,3]
output %y`, in(list(-1.75, 1.75, 2)), list(-1, 1, 2)},
	{"cast of integers", `input %x : int32[1,1,1,1,3]
%y = anec.cast(%x) {to = fp16} : fp16[1,1,1,1,3]
output %y`, in(list(-3, 0, 7)), list(-3, 0, 7)},
	{"output type rounds", `input %x : fp16[1,1,1,1,3]
%y = anec.copy(%x) {output_type = int32} : int32[1,1,1,1,3]
output %y`, in(list(-1.75, 2.5, 2)), list(-2, 2, 2)},
	{"to bool", `input %x : fp16[1,1,1,1,3]
%y = anec.cast(%x) {to = bool} : bool[1,1,1,1,3]
output %y`, in(list(-0.25, 0, 2)), list(1, 0, 1)},
	{"dropout", `input %x : fp16[1,1,1,1,3]
%y = anec.dropout(%x) : fp16[1,1,1,1,3]
output %y`, in(list(1, 2, 3)), list(1, 2, 3)},
	{"quant", `input %x : fp16[1,1,2,1,2]
const %s : fp16[1,1,2,1,1] {data = [0.5, 2]}
const %z : int8[1,1,1,1,1] {data = splat(3)}
%y = anec.quantize(%x, %s, %z) {to = int8} : int8[1,1,2,1,2]
output %y`, in(list(1, 2000, 3, 8)), list(5, 127, 5, 7)},
	{"dequant", `input %x : int8[1,1,2,1,1]
const %s : fp16[1,1,2,1,1] {data = [0.5, 2]}
const %z : int8[1,1,1,1,1] {data = splat(3)}
%y = anec.dequantize(%x, %s, %z) : fp16[1,1,2,1,1]
output %y`, in(list(5, 7)), list(1, 8)},
}

// squareTable has the squares of the whole numbers from -16 to 16, with -7 and 7 beyond.
var squareTable = func() string {
	table := &td.Table{XLow: 0xcc00, XHigh: 0x4c00, YLow: 0xc700, YHigh: 0x4700, Mode: uint16(td.FormCentred)}
	for i := range table.Knots {
		table.Knots[i] = tensor.ToF16(float32((i - 16) * (i - 16)))
	}
	var numbers []string
	for b := table.Encode(); len(b) > 0; b = b[2:] {
		numbers = append(numbers, fmt.Sprint(binary.LittleEndian.Uint16(b)))
	}
	return strings.Join(numbers, ",")
}()

func TestEmitEpilogue(t *testing.T) { runCases(t, epilogueCases) }

var epilogueCases = []layerCase{
	{"slots in order", `input %x : fp16[1,1,2,1,1]
const %g : fp16[1,1,2,1,1] {data = [2, 3]}
const %o : fp16[1,1,1,1,1] {data = splat(-10)}
%y = anec.copy(%x) | pre abs | goc %g %o | post relu : fp16[1,1,2,1,1]
output %y`, in(list(-7, 3)), list(4, 0)},
	{"earlier values", `input %x : fp16[1,1,1,1,2]
input %z : fp16[1,1,1,1,2]
%y = anec.add(%x, %z) | pre relu | scale 2 1 | ew Mult #0 | ew Sub %z swap | ew Add %x : fp16[1,1,1,1,2]
output %y`, // v = relu(x+z); s0 = 2v+1; s1 = s0*v; s2 = z-s1; s3 = s2+x
		in(list(1, -9), list(2, 3)), list(2-21+1, 3-0-9)},
	{"the step before", `input %x : fp16[1,1,1,1,2]
%y = anec.copy(%x) | scale 2 1 | scale 10 0 | ew Add #1 : fp16[1,1,1,1,2]
output %y`, in(list(1, 2)), list(33, 55)},
	{"transpose", `input %x : fp16[1,1,2,2,3]
const %b : fp16[1,1,2,1,1] {data = [100, 200]}
%y = anec.copy(%x) | goc _ %b | transpose NDWHC : fp16[1,1,3,2,2]
output %y`, in(count(12)),
		list(101, 207, 104, 210, 102, 208, 105, 211, 103, 209, 106, 212)},
	{"transpose of three axes", `input %x : fp16[1,1,2,1,3]
%y = anec.copy(%x) | transpose CDHWN : fp16[2,1,1,3,1]
output %y`, in(count(6)), list(1, 2, 3, 4, 5, 6)},
	{"requantize", `input %x : fp16[1,1,2,1,2]
const %s : fp16[1,1,2,1,1] {data = [0.5, 2]}
const %z : int8[1,1,1,1,1] {data = splat(3)}
%y = anec.copy(%x) | quant int8 %s %z : int8[1,1,2,1,2]
output %y`, in(list(1, 2000, 5, -4000)), list(5, 127, 5, -128)},
	{"requantize behind a transpose", `input %x : fp16[1,1,2,1,2]
const %s : fp16[1,1,2,1,1] {data = [0.5, 2]}
%y = anec.copy(%x) | transpose NDWHC | quant int8 %s _ : int8[1,1,2,1,2]
output %y`, in(list(1, 2, 3, 4)), list(2, 6, 1, 2)},
	{"broadcast", `input %x : fp16[1,1,2,1,1]
input %z : fp16[1,1,1,1,3]
%y = anec.relu(%x) | broadcast [1,1,2,1,3] | ew Add %z : fp16[1,1,2,1,3]
output %y`, in(list(-1, 2), list(10, 20, 30)), list(10, 20, 30, 12, 22, 32)},
	{"cast on the way", `input %x : fp16[1,1,1,1,2]
%y = anec.copy(%x) | scale 0.3 0 | cast int32 | scale 10 0 : fp16[1,1,1,1,2]
output %y`, in(list(5, 10)), list(10, 30)},
}

func TestEmitCompute(t *testing.T) { runCases(t, computeCases) }

var computeCases = []layerCase{
	{"conv", `input %x : fp16[1,1,1,3,3]
const %w : fp16[2,1,1,2,2] {data = [1, 1, 1, 1, 1, 0, 0, 0]}
const %b : fp16[1,1,2,1,1] {data = [0, 100]}
%y = anec.convolution(%x, %w, %b) {kernel_sizes = [2, 2]} | post relu : fp16[1,1,2,2,2]
output %y`, in(count(9)), list(12, 16, 24, 28, 101, 102, 104, 105)},
	{"conv with padding and stride", `input %x : fp16[1,1,1,1,4]
const %w : fp16[1,1,1,1,3] {data = splat(1)}
%y = anec.convolution(%x, %w) {kernel_sizes = [1, 3], strides = [1, 2], explicit_padding = [0, 0, 1, 1]} : fp16[1,1,1,1,2]
output %y`, in(list(1, 2, 3, 4)), list(3, 9)},
	{"transposed conv", `input %x : fp16[1,1,1,1,2]
const %w : fp16[1,1,2,1,2] {data = [1, 10, 2, 20]}
%y = anec.deconvolution(%x, %w) {kernel_sizes = [1, 2], strides = [1, 2], output_padding = [0, 1]} | scale 1 1 : fp16[1,1,2,1,5]
output %y`, in(list(1, 2)), list(2, 11, 3, 21, 1, 3, 21, 5, 41, 1)},
	{"max pooling ignores padding", `input %x : fp16[1,1,1,1,4]
%y = anec.max_pool(%x) {kernel_sizes = [1, 3], strides = [1, 2], explicit_padding = [0, 0, 1, 1], padding_mode = Negative} : fp16[1,1,1,1,2]
output %y`, in(list(-1, -2, -3, -4)), list(-1, -2)},
	{"average", `input %x : fp16[1,1,1,1,4]
%a = anec.average_pool(%x) {kernel_sizes = [1, 3], strides = [1, 2], explicit_padding = [0, 0, 1, 1]} : fp16[1,1,1,1,2]
%b = anec.average_pool(%x) {kernel_sizes = [1, 3], strides = [1, 2], explicit_padding = [0, 0, 1, 1], exclude_pad = true} : fp16[1,1,1,1,2]
%y = anec.concat(%a, %b) {axis = W} : fp16[1,1,1,1,4]
output %y`, in(list(3, 6, 9, 12)), list(3, 9, 4.5, 9)},
	{"matmul", `input %x : fp16[1,1,1,2,3]
input %z : fp16[1,1,1,2,3]
%y = anec.matmul(%x, %z) {transpose_rhs = true} : fp16[1,1,1,2,2]
output %y`, in(count(6), list(1, 0, 0, 0, 1, 1)), list(1, 5, 4, 11)},
	{"linear", `input %x : fp16[1,1,2,1,3]
const %w : fp16[1,1,1,2,3] {data = [1, 0, 0, 1, 1, 1]}
const %b : fp16[1,1,1,1,2] {data = [10, 20]}
%y = anec.linear(%x, %w, %b) : fp16[1,1,2,1,2]
output %y`, in(count(6)), list(11, 26, 14, 35)},
	{"linear along C", `input %x : fp16[1,1,3,1,2]
const %w : fp16[1,1,1,2,3] {data = [1, 0, 0, 1, 1, 1]}
const %b : fp16[1,1,2,1,1] {data = [10, 20]}
input %z : fp16[1,1,1,1,2]
%y = anec.linear(%x, %w, %b) {axis = C} | ew Add %z | transpose NDWHC : fp16[1,1,2,1,2]
output %y`, in(count(6), list(100, 200)), list(111, 129, 212, 232)},
	{"reduction", `input %x : fp16[1,1,2,1,3]
%y = anec.reduce_sum(%x) {axes = W, square = true} : fp16[1,1,2,1,1]
output %y`, in(count(6)), list(36, 225)},
	{"softmax", `input %x : fp16[1,1,2,1,2]
%y = anec.softmax(%x) {axes = CH} : fp16[1,1,2,1,2]
output %y`, in(list(0, 0, 0, 30000)), list(0.5, 0, 0.5, 1)},
	{"layernorm", `input %x : fp16[1,1,1,1,4]
const %g : fp16[1,1,1,1,4] {data = [1, 1, 1, 2]}
const %b : fp16[1,1,1,1,1] {data = splat(5)}
%y = anec.layer_norm(%x, %g, %b) {axes = W} : fp16[1,1,1,1,4]
output %y`, in(list(-1, 1, -1, 1)), list(4, 6, 4, 7)},
	{"instancenorm", `input %x : fp16[1,1,2,1,2]
const %g : fp16[1,1,2,1,1] {data = [1, 2]}
%y = anec.instance_norm(%x, %g) {axes = HW} : fp16[1,1,2,1,2]
output %y`, in(list(0, 2, 5, 3)), list(-1, 1, 2, -2)},
	{"l2norm", `input %x : fp16[1,1,1,1,2]
%y = anec.l2_norm(%x) {axes = W} : fp16[1,1,1,1,2]
output %y`, in(list(3, 4)), list(0.6, 0.8)},
	{"minmaxnorm", `input %x : fp16[1,1,1,1,3]
%y = anec.min_max_norm(%x) {axes = W} : fp16[1,1,1,1,3]
output %y`, in(list(2, 4, 3)), list(0, 1, 0.5)},
	{"lrn", `input %x : fp16[1,1,2,1,1]
%y = anec.lrn(%x) {size = 1, alpha = 1, beta = 1, around = true} : fp16[1,1,2,1,1]
output %y`, in(list(1, 3)), list(0.5, 0.3)},
	{"lrn of the first channels", `input %x : fp16[1,1,3,1,1]
%y = anec.lrn(%x) {size = 2, alpha = 2, beta = 1, k = 5} : fp16[1,1,3,1,1]
output %y`, in(list(1, 2, 3)), list(0.1, 0.2, 3)},
	{"attention", `input %q : fp16[1,1,1,1,2]
input %k : fp16[1,1,1,2,2]
input %v : fp16[1,1,1,2,3]
const %s : fp16[1,1,1,1,1] {data = splat(1)}
input %m : bool[1,1,1,1,2]
%y = anec.sdpa(%q, %k, %v, %s, %m) {subtract_max = true} : fp16[1,1,1,1,3]
output %y`, in(list(1, 1), count(4), count(6), list(0, 1)), list(4, 5, 6)},
	{"attention that subtracts nothing", `input %q : fp16[1,1,1,1,2]
input %k : fp16[1,1,1,2,2]
input %v : fp16[1,1,1,2,3]
const %s : fp16[1,1,1,1,1] {data = splat(1)}
input %m : bool[1,1,1,1,2]
%y = anec.sdpa(%q, %k, %v, %s, %m) : fp16[1,1,1,1,3]
output %y`, in(list(1, 1), count(4), count(6), list(0, 1)), list(4, 5, 6)},
	{"attention that overflows", `input %q : fp16[1,1,1,2,1]
input %k : fp16[1,1,1,2,1]
const %s : fp16[1,1,1,1,1] {data = splat(1)}
input %m : fp16[1,1,1,1,2]
%y = anec.sdpa(%q, %k, %k, %s, %m) | act abs : fp16[1,1,1,2,1]
output %y`, in(list(0.5, 1), list(11, -11), list(1, 1)), list(11, nan)},
	{"cross product", `input %x : fp16[1,1,3,1,1]
input %z : fp16[1,1,3,1,1]
%y = anec.cross_product(%x, %z) : fp16[1,1,3,1,1]
output %y`, in(list(1, 0, 0), list(0, 1, 0)), list(0, 0, 1)},
	{"cross correlation", `input %x : fp16[1,1,1,1,3]
input %t : fp16[1,1,1,1,2]
%y = anec.cross_correlation(%x, %t) {template_sizes = [1, 2]} : fp16[1,1,1,1,2]
output %y`, in(list(1, 2, 3), list(1, 10)), list(21, 32)},
	{"cost volume", `input %a : fp16[1,1,1,1,2]
input %r : fp16[1,1,1,1,3]
%y = anec.cost_volume(%a, %r) {range = 1} : fp16[1,1,2,1,2]
output %y`, in(list(1, 2), list(5, 7, 9)), list(4, 5, 6, 7)},
	{"furthest points", `input %p : fp16[1,1,3,1,3]
%y = anec.furthest_point_sampling(%p) {count = 2} : fp16[1,1,3,1,2]
output %y`, in(list(0, 1, 5, 0, 0, 0, 0, 0, 0)), list(0, 5, 0, 0, 0, 0)},
	{"radius search", `input %c : fp16[1,1,3,1,1]
input %p : fp16[1,1,3,1,2]
%y = anec.radius_search(%c, %p) {radius = 2} : fp16[1,1,1,2,1]
output %y`, in(list(0, 0, 0), list(1, 3, 0, 0, 0, 0)), list(1, 0)},
}

func TestEmitMoves(t *testing.T) { runCases(t, movesCases) }

var movesCases = []layerCase{
	{"gather", `input %x : fp16[1,1,1,2,3]
input %i : int32[1,1,1,1,2]
%y = anec.gather(%x, %i) {axes = [W]} : fp16[1,1,1,2,2]
output %y`, in(count(6), list(2, -3)), list(3, 1, 6, 4)},
	{"concat", `input %x : fp16[1,1,1,2,1]
input %z : fp16[1,1,1,2,2]
%y = anec.concat(%x, %z) {axis = W} : fp16[1,1,1,2,3]
output %y`, in(list(1, 2), list(3, 4, 5, 6)), list(1, 3, 4, 2, 5, 6)},
	{"concat by turns", `input %x : fp16[1,1,2,1,1]
input %z : fp16[1,1,2,1,1]
%y = anec.concat(%x, %z) {axis = C, interleave = true} : fp16[1,1,4,1,1]
output %y`, in(list(1, 2), list(3, 4)), list(1, 3, 2, 4)},
	{"sort", `input %x : fp16[1,1,1,1,3]
%y = anec.sort(%x) {direction = Descending, axis = W} : fp16[1,1,1,1,3]
output %y`, in(list(2, 3, 1)), list(3, 2, 1)},
	{"topk", `input %x : fp16[1,1,1,1,3]
%v, %i = anec.top_k(%x) {k = 2, axis = W, results = Both} : fp16[1,1,1,1,2], int32[1,1,1,1,2]
%f = anec.cast(%i) {to = fp16} : fp16[1,1,1,1,2]
%y = anec.concat(%v, %f) {axis = W} : fp16[1,1,1,1,4]
output %y`, in(list(2, 3, 1)), list(3, 2, 1, 0)},
	{"topk by indices", `input %x : fp16[1,1,1,1,3]
%y = anec.top_k(%x) {type = Min, k = 2, axis = W, results = Indices} : int32[1,1,1,1,2]
output %y`, in(list(2, 3, 1)), list(2, 0)},
	{"global arg", `input %x : fp16[1,1,1,2,3]
%y = anec.global_arg_min_max(%x) {type = Max, axis = W} : int32[1,1,1,2,1]
output %y`, in(list(1, 3, 2, 9, 8, 7)), list(1, 0)},
	{"arg", `input %x : fp16[1,1,1,2,2]
%y = anec.arg_min_max(%x) {kernel_sizes = [2, 2], mode = SpatialArgMin} : int32[1,1,1,1,1]
output %y`, in(list(4, 3, 1, 2)), list(2)},
	{"padding", `input %x : fp16[1,1,1,1,2]
%y = anec.pad(%x) {before = [0, 0, 0, 0, 1], after = [0, 0, 0, 0, 2], mode = Background, value = 9} : fp16[1,1,1,1,5]
output %y`, in(list(1, 2)), list(9, 1, 2, 9, 9)},
	{"tile", `input %x : fp16[1,1,1,1,2]
%y = anec.tile(%x) {reps = [1, 1, 1, 2, 2]} : fp16[1,1,1,2,4]
output %y`, in(list(1, 2)), list(1, 2, 1, 2, 1, 2, 1, 2)},
	{"dynamic slice", `input %x : fp16[1,1,1,2,3]
input %s : int32[1,1,1,1,2]
%y = anec.dynamic_slice(%x, %s) {axes = [W, H], sizes = [2, 1], from_end = true} : fp16[1,1,1,1,2]
output %y`, in(count(6), list(1, -1)), list(5, 6)},
	{"pixel shuffle", `input %x : fp16[1,1,4,1,1]
%y = anec.pixel_shuffle(%x) {x = 2, y = 2} : fp16[1,1,1,2,2]
%z = anec.pixel_unshuffle(%y) {x = 2, y = 2} : fp16[1,1,4,1,1]
%a = anec.channel_to_space(%z) {x = 2, y = 2} : fp16[1,1,1,2,2]
%b = anec.space_to_channel(%a) {x = 2, y = 2} : fp16[1,1,4,1,1]
%c = anec.space_to_batch(%a) {x = 2, y = 2} : fp16[4,1,1,1,1]
%d = anec.batch_to_space(%c) {x = 2, y = 2} : fp16[1,1,1,2,2]
%e = anec.add(%d, %y) : fp16[1,1,1,2,2]
output %e`, in(count(4)), list(2, 4, 6, 8)},
	{"channels inside blocks", `input %x : fp16[1,1,2,1,2]
%y = anec.pixel_shuffle(%x) {x = 2} : fp16[1,1,1,1,4]
output %y`, in(count(4)), list(1, 3, 2, 4)},
	{"blocks inside channels", `input %x : fp16[1,1,1,1,4]
%y = anec.pixel_unshuffle(%x) {x = 2} : fp16[1,1,2,1,2]
output %y`, in(count(4)), list(1, 3, 2, 4)},
	{"channels to blocks", `input %x : fp16[1,1,4,1,1]
%y = anec.channel_to_space(%x) {x = 2} : fp16[1,1,2,1,2]
output %y`, in(count(4)), list(1, 3, 2, 4)},
	{"blocks to channels", `input %x : fp16[1,1,2,1,2]
%y = anec.space_to_channel(%x) {x = 2} : fp16[1,1,4,1,1]
output %y`, in(count(4)), list(1, 3, 2, 4)},
	{"blocks to the batch", `input %x : fp16[1,1,1,1,4]
%y = anec.space_to_batch(%x) {x = 2} : fp16[2,1,1,1,2]
output %y`, in(count(4)), list(1, 3, 2, 4)},
	{"the batch to blocks", `input %x : fp16[2,1,1,1,2]
%y = anec.batch_to_space(%x) {x = 2} : fp16[1,1,1,1,4]
output %y`, in(count(4)), list(1, 3, 2, 4)},
	{"unfolded windows", `input %x : fp16[1,1,2,2,3]
%y = anec.kernel_rasterizer(%x) {kernel_sizes = [2, 2], groups = 2} : fp16[1,1,8,1,2]
output %y`, in(count(12)), list(1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12)},
	{"a window of one element", `input %x : fp16[1,1,2,1,3]
%y = anec.kernel_rasterizer(%x) : fp16[1,1,2,1,3]
output %y`, in(count(6)), list(1, 2, 3, 4, 5, 6)},
	{"state", `state %s : fp16[1,1,1,1,4] -> %t
input %u : fp16[1,1,1,1,2]
input %i : int32[1,1,1,1,1]
%t = anec.ring_buffer_writer(%s, %u, %i) {live = [W]} : fp16[1,1,1,1,4]
%y = anec.copy(%t) : fp16[1,1,1,1,4]
output %y`, in(list(8, 9), list(1), list(1, 2, 3, 4)), list(1, 8, 9, 4)},
	{"random", `%y = anec.random_generator() {dims = [1, 1, 1, 1, 4], low = 2, high = 2.0001, seed = 7} : fp16[1,1,1,1,4]
output %y`, nil, list(2, 2, 2, 2)},
	{"resize", `input %x : fp16[1,1,1,1,2]
%y = anec.resize(%x) {size = [1, 4], method = NearestNeighbor, grid = Default, rounding = floor} : fp16[1,1,1,1,4]
output %y`, in(list(1, 2)), list(1, 1, 2, 2)},
	{"resize as", `input %x : fp16[1,1,1,1,2]
input %z : fp16[1,1,1,1,3]
%y = anec.resize_as(%x, %z) {grid = AlignedCorners} : fp16[1,1,1,1,3]
output %y`, in(list(1, 2), list(0, 0, 0)), list(1, 1.5, 2)},
	{"resample", `input %x : fp16[1,1,1,1,3]
input %c : fp16[1,1,1,1,2]
%y = anec.resample(%x, %c) : fp16[1,1,1,1,2]
output %y`, in(list(1, 2, 3), list(0.5, 2)), list(1.5, 3)},
	{"affine", `input %x : fp16[1,1,1,1,3]
const %m : fp16[1,1,1,2,3] {data = [1, 0, 1, 0, 1, 0]}
%y = anec.affine_transform(%x, %m) {size = [1, 2]} : fp16[1,1,1,1,2]
output %y`, in(list(1, 2, 3)), list(2, 3)},
	{"crop", `input %x : fp16[1,1,1,2,3]
const %b : fp16[1,1,4,1,1] {data = [0, 1, 1, 2]}
%y = anec.crop_resize(%x, %b) {size = [2, 2], grid = StrictAlignedCorners} : fp16[1,1,1,2,2]
output %y`, in(count(6)), list(2, 3, 5, 6)},
}
