package estimate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

// chip returns a row of the table.
func chip(t testing.TB, name string) *hal.Target {
	t.Helper()
	row, err := hal.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// referenceConvs are the convolutions of guide 18 with its columns: the placement model's roofline and the analytic
// estimate for the M1, in microseconds.
var referenceConvs = []struct {
	name                   string
	kernel, channels, size int
	coarse, analytic       float64
	flops, bytes           float64
	bound                  Bound
}{
	{"3x3 C256 to 256 at 28", 3, 256, 28, 1156, 505, 924844032, 1982464, BoundByCompute},
	{"1x1 C512 to 512 at 32", 1, 512, 32, 671, 511, 536870912, 2621440, BoundByBandwidth},
	{"1x1 C1024 to 1024 at 16", 1, 1024, 16, 671, 569, 536870912, 3145728, BoundByBandwidth},
	{"1x1 C2048 to 2048 at 8", 1, 2048, 8, 671, 1210, 536870912, 8912896, BoundByBandwidth},
}

func convGraph(t testing.TB, kernel, channels, size int) *anec.Graph {
	pad := kernel / 2
	return parseGraph(t, fmt.Sprintf(`graph g
input %%x : fp16[1,1,%[2]d,%[3]d,%[3]d]
const %%w : fp16[%[2]d,1,%[2]d,%[1]d,%[1]d] {data = splat(0.01)}
%%y = anec.convolution(%%x, %%w) {kernel_sizes = [%[1]d, %[1]d], explicit_padding = [%[4]d, %[4]d, %[4]d, %[4]d]} : fp16[1,1,%[2]d,%[3]d,%[3]d]
output %%y
`, kernel, channels, size, pad))
}

// The four reference convolutions come out as published: each within 3 %, in the same order, with the same bound.
func TestReferenceConvolutions(t *testing.T) {
	m1 := chip(t, "h13")
	last := 0.0
	for _, c := range referenceConvs {
		g := convGraph(t, c.kernel, c.channels, c.size)
		e, ok := Layer(g.Layers[0], m1)
		if !ok {
			t.Fatalf("%s: %v", c.name, e)
		}
		if got := e.Seconds * 1e6; math.Abs(got-c.analytic) > 0.03*c.analytic {
			t.Errorf("%s: %.1f µs, published are %.0f", c.name, got, c.analytic)
		}
		if e.FLOPs != c.flops || e.Bytes != c.bytes || e.Bound != c.bound {
			t.Errorf("%s: %.0f operations, %.0f bytes, bound by %v", c.name, e.FLOPs, e.Bytes, e.Bound)
		}
		if e.Seconds <= last {
			t.Errorf("%s: is not slower than the one before", c.name)
		}
		last = e.Seconds
		if whole := Segment(g, m1); whole != e {
			t.Errorf("%s: as a segment %+v, as a layer %+v", c.name, whole, e)
		}
		if coarse := PlaceEngine.Roofline(e.FLOPs, e.Bytes) * 1e6; math.Abs(coarse-c.coarse) > 0.5 {
			t.Errorf("%s: the placement model has %.1f µs, published are %.0f", c.name, coarse, c.coarse)
		}
		if !strings.HasSuffix(e.String(), "µs, median error 31 %, for ranking") {
			t.Errorf("%s: %v", c.name, e)
		}
	}
}

// Operations and bytes of kinds, by hand.
func TestWork(t *testing.T) {
	const header = `graph g
input %x : fp16[1,1,8,4,4]
input %z : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = splat(1)}
const %dw : fp16[8,1,1,3,3] {data = splat(1)}
const %tw : fp16[8,1,4,2,2] {data = splat(1)}
const %int8 : fp16[8,1,8,1,1] {data = int8[8,1,8,1,1]:splat(1), scale = fp16[8,1,1,1,1]:splat(0.5)}
const %lut : fp16[8,1,8,1,1] {data = uint4[8,1,8,1,1]:splat(1), table = fp16[1,1,1,1,1,16,1]:splat(0.5)}
const %sparse : fp16[8,1,8,1,1] {data = fp16[16]:splat(1), mask = uint1[8,1,8,1,1]:[` + "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1" + `, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}
const %b : fp16[1,1,8,1,1] {data = splat(1)}
`
	const x = 8 * 4 * 4 // elements
	for _, c := range []struct {
		layer        string
		flops, bytes float64
	}{
		{"%y = anec.convolution(%x, %w) : fp16[1,1,8,4,4]", 2 * x * 8, 2 * (x + 64 + x)},
		{"%y = anec.convolution(%x, %w) | goc _ %b | post relu : fp16[1,1,8,4,4]", 2 * x * 8, 2 * (x + 64 + x)},
		{"%y = anec.convolution(%x, %w) | ew Add %z : fp16[1,1,8,4,4]", 2 * x * 8, 2 * (x + 64 + x + x)},
		{"%y = anec.convolution(%x, %dw) {kernel_sizes = [3, 3], groups = 8} : fp16[1,1,8,2,2]", 2 * 8 * 4 * 9, 2 * (x + 72 + 32)},
		{"%y = anec.deconvolution(%x, %tw) {kernel_sizes = [2, 2], strides = [2, 2]} : fp16[1,1,4,8,8]", 2 * x * 4 * 4, 2 * (x + 128 + 256)},
		{"%y = anec.convolution(%x, %int8) : fp16[1,1,8,4,4]", 2 * x * 8, 2 * (x + 64 + x)},          // folds on the M1
		{"%y = anec.convolution(%x, %lut) : fp16[1,1,8,4,4]", 2 * x * 8, 2*(x+x) + 64/2 + 16*2},      // streams
		{"%y = anec.convolution(%x, %sparse) : fp16[1,1,8,4,4]", 2 * x * 8 / 4, 2*(x+x) + 64/8 + 32}, // streams and skips
		{"%y = anec.matmul(%x, %z) : fp16[1,1,8,4,4]", 2 * 8 * 4 * 4 * 4, 2 * 3 * x},
		{"%y = anec.add(%x, %z) : fp16[1,1,8,4,4]", x, 2 * 3 * x},
		{"%y = anec.multiply(%x, %x) : fp16[1,1,8,4,4]", x, 2 * 2 * x},
		{"%y = anec.relu(%x) : fp16[1,1,8,4,4]", x, 2 * 2 * x},
		{"%y = anec.max_pool(%x) {kernel_sizes = [2, 2], strides = [2, 2]} : fp16[1,1,8,2,2]", 8 * 4 * 4, 2 * (x + 32)},
		{"%y = anec.reduce_mean(%x) {axes = HW} : fp16[1,1,8,1,1]", x, 2 * (x + 8)},
		{"%y = anec.concat(%x, %z) {axis = C} : fp16[1,1,16,4,4]", 0, 2 * 4 * x},
		{"%y = anec.reshape(%x) {dims = [1, 1, 8, 16, 1]} : fp16[1,1,8,16,1]", 0, 0},
		{"%y = anec.input_view(%x) {axis = W, offset = 2, size = 2, step = 1} : fp16[1,1,8,4,2]", 0, 0},
	} {
		g := parseGraph(t, header+c.layer+"\noutput %y\n")
		e, ok := Layer(g.Layers[0], chip(t, "h13"))
		if !ok || e.FLOPs != c.flops || e.Bytes != c.bytes {
			t.Errorf("%s: %g operations, %g bytes (%s); want %g, %g", c.layer, e.FLOPs, e.Bytes, e.Absent, c.flops, c.bytes)
		}
		if e.Bound != BoundByDispatch {
			t.Errorf("%s: bound by %v", c.layer, e.Bound)
		}
	}
}

// A segment is one dispatch: one floor, and what stays on chip moves no bytes.
func TestEstimateSegment(t *testing.T) {
	m1 := chip(t, "h13")
	g := parseGraph(t, `graph g
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = splat(1)}
const %d : int8[8,1,8,1,1] {data = splat(1)}
const %s : fp16[8,1,1,1,1] {data = splat(1)}
%a = anec.convolution(%x, %w) : fp16[1,1,8,4,4]
%r = anec.reshape(%a) {dims = [1, 1, 8, 16, 1]} : fp16[1,1,8,16,1]
%u = anec.dequantize(%d, %s) : fp16[8,1,8,1,1]
%y = anec.convolution(%r, %u) : fp16[1,1,8,16,1]
output %y
`)
	e := Segment(g, m1)
	const x = 8 * 4 * 4
	if want := 2.0*x + 2*64 + 2*64 + 2*x; e.Bytes != want || e.FLOPs != 2*2*x*8 || e.Dispatches != 1 || e.Floor != m1.Cost.DispatchFloor {
		t.Errorf("%+v; want %g bytes", e, want)
	}
	small := *m1
	small.Limits.WorkingSet = 16
	if more := Segment(g, &small); more.Bytes != e.Bytes+2*2*x {
		t.Errorf("what does not fit into the working set: %g bytes, %g if it does", more.Bytes, e.Bytes)
	}

	twice := Model([]Estimate{e, e}, 0)
	if twice.Floor != 2*e.Floor || twice.Seconds != 2*e.Seconds || twice.Dispatches != 2 || twice.Bound != BoundByDispatch {
		t.Errorf("two dispatches: %+v", twice)
	}
	if s := Model([]Estimate{e}, 2).String(); !strings.Contains(s, "without 2 segments on the host, median error") {
		t.Error(s)
	}
	if none := Model([]Estimate{e, Absent("no form")}, 0); none.Known() || none.String() != "no estimate: no form" {
		t.Errorf("%+v", none)
	}
	if Model(nil, 1).Known() {
		t.Error("a time for what does not run on the engine")
	}
}

// Attention has no number, fused or written out; nor have kinds without a form, nor targets without anchors.
func TestNoEstimate(t *testing.T) {
	m1 := chip(t, "h13")
	const text = `graph attention
input %q : fp16[1,1,4,8,16]
input %k : fp16[1,1,4,8,16]
input %v : fp16[1,1,4,8,16]
%s = anec.matmul(%q, %k) {transpose_rhs = true} : fp16[1,1,4,8,8]
%p = anec.softmax(%s) {axes = W} : fp16[1,1,4,8,8]
%y = anec.matmul(%p, %v) : fp16[1,1,4,8,16]
output %y
`
	const one = `graph attention
input %q : fp16[1,1,4,8,16]
input %k : fp16[1,1,4,8,16]
input %v : fp16[1,1,4,8,16]
const %scale : fp16[1,1,1,1,1] {data = [0.25]}
%y = anec.sdpa(%q, %k, %v, %scale) : fp16[1,1,4,8,16]
output %y
`
	for name, g := range map[string]*anec.Graph{"written out": parseGraph(t, text), "fused": parseGraph(t, one)} {
		if e := Segment(g, m1); e.Absent != WhyAttention {
			t.Errorf("attention, %s: %v", name, e)
		}
	}
	parts := 0
	for _, l := range parseGraph(t, text).Layers {
		if _, ok := Layer(l, m1); !ok {
			parts++
		}
	}
	if parts != 3 {
		t.Errorf("%d layers of attention have no number, want the products and the softmax", parts)
	}

	// A softmax that is no attention has one.
	g := parseGraph(t, "graph g\ninput %x : fp16[1,1,1,1,8]\nconst %w : fp16[1,1,1,8,8] {data = splat(1)}\n%m = anec.matmul(%x, %w) : fp16[1,1,1,1,8]\n%y = anec.softmax(%m) {axes = W} : fp16[1,1,1,1,8]\noutput %y\n")
	if e := Segment(g, m1); !e.Known() {
		t.Errorf("a classifier: %v", e)
	}

	g = parseGraph(t, "graph g\ninput %x : fp16[1,1,1,1,8]\n%y = anec.sort(%x) {axis = W} : fp16[1,1,1,1,8]\noutput %y\n")
	if e, ok := Layer(g.Layers[0], m1); ok || e.String() != "no estimate: Sort has no cost form: its work depends on the data" {
		t.Errorf("a sort: %v", e)
	}
	if e := Segment(convGraph(t, 1, 8, 8), chip(t, "virtual")); e.Known() || !strings.Contains(e.Absent, "virtual") {
		t.Errorf("virtual: %v", e)
	}
}

func TestEstimateText(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    string
	}{
		{505e-6, "~510 µs"}, {511e-6, "~510 µs"}, {569e-6, "~570 µs"}, {1210e-6, "~1200 µs"}, {230e-6, "~230 µs"}, {12345e-6, "~12000 µs"}, {1.5e-6, "~1.5 µs"},
	} {
		e := Estimate{Seconds: c.seconds, Error: ErrorText(&hal.Cost{MedianError: 0.31})}
		if got := e.String(); got != c.want+", median error 31 %, for ranking" {
			t.Errorf("%g s: %s", c.seconds, got)
		}
	}
	if got := ErrorText(&hal.Cost{FitError: 0.13}); !strings.Contains(got, "13 %") {
		t.Error(got)
	}
	if got := ErrorText(&hal.Cost{Status: hal.Predicted}); got != "error not measured, anchors predicted" {
		t.Error(got)
	}
}

// The placement model puts the backends in one order whatever the work, and charges what the guide says.
func TestPlacementModel(t *testing.T) {
	last := 0.0
	for _, a := range PlacementAnchors() {
		if cost := a.Roofline(1e9, 1e6); cost <= last {
			t.Errorf("%s is not behind the one before", a.Backend)
		} else {
			last = cost
		}
		if a.Source == "" {
			t.Errorf("%s has no source", a.Backend)
		}
	}
	run := []PlacementAnchor{PlaceEngine, PlaceEngine, PlaceCPU, PlaceEngine}
	if got := Penalty(run); math.Abs(got-(0.05+0.05+0.23+0.10+0.09+0.05)) > 1e-12 {
		t.Errorf("penalty %g", got)
	}
	// The costs of the trees rise from elementwise over pooling... to transposed convolution.
	order := []string{"linear", "conv", "conv_transpose"}
	low := 0.0
	for _, op := range order {
		for _, l := range Leaves() {
			if l.Operation == op {
				if l.Low <= low || l.High < l.Low || l.Source == "" {
					t.Errorf("%+v", l)
				}
				low = l.Low
			}
		}
	}
	if ok, _ := HasEngineTree("conv"); !ok {
		t.Error("conv has no tree")
	}
	if ok, source := HasEngineTree("lstm"); ok || source == "" {
		t.Error("lstm has a tree")
	}
}

func TestWeightForms(t *testing.T) {
	for name, want := range map[string]struct {
		text string
		form string
	}{
		"plain":       {"fp16[4,1,4,1,1] {data = splat(1)}", "dense"},
		"integers":    {"int8[4,1,4,1,1] {data = splat(1)}", "int8 affine, 8 bits"},
		"one scale":   {"fp16[4,1,4,1,1] {data = int8[4,1,4,1,1]:splat(1), scale = fp16[1,1,1,1,1]:[2]}", "int8 affine, 8 bits"},
		"per channel": {"fp16[4,1,4,1,1] {data = int8[4,1,4,1,1]:splat(1), scale = fp16[4,1,1,1,1]:splat(2)}", "int8 affine, 8 bits"},
		"blocks":      {"fp16[4,1,4,1,1] {data = int4[4,1,4,1,1]:splat(1), scale = fp16[4,1,2,1,1]:splat(2)}", "blockwise affine, 4 bits"},
		"palette":     {"fp16[4,1,4,1,1] {data = uint4[4,1,4,1,1]:splat(1), table = fp16[1,1,1,1,1,16,1]:splat(2)}", "palette, 4 bits"},
		"sparse":      {"fp16[4,1,1,1,1] {data = fp16[2]:[1, 2], mask = uint1[4,1,1,1,1]:[0, 1, 0, 1]}", "sparse, 16 bits"},
	} {
		g := parseGraph(t, "graph g\nconst %w : "+want.text+"\noutput %w\n")
		if got := WeightOf(g.Value("w")).String(); got != want.form {
			t.Errorf("%s: %s, want %s", name, got, want.form)
		}
	}
	if got := DenseBytes(tensor.Float32, 4); got != 8 {
		t.Errorf("four fp32 are %g bytes on the engine", got)
	}
}

func parseGraph(t testing.TB, text string) *anec.Graph {
	t.Helper()
	g, err := anec.Parse(text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return g
}
