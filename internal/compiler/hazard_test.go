package compiler

import (
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/estimate"
)

// hazardCases have for each rule graphs that it finds something in, and graphs like them that it does not.
var hazardCases = []struct {
	name   string
	target string // h13 if empty
	graph  string
	want   string // the IDs, in order; kernel-memory-split is left out unless it is wanted
	say    string // a part of the text
}{
	{name: "attention without the maximum", want: "netplist-subtract-max", say: "does not subtract", graph: `
input %q : fp16[1,1,1,4,8]
const %s : fp16[1,1,1,1,1] {data = [0.5]}
%y = anec.sdpa(%q, %q, %q, %s) : fp16[1,1,1,4,8]
output %y`},
	{name: "attention with the maximum", graph: `
input %q : fp16[1,1,1,4,8]
const %s : fp16[1,1,1,1,1] {data = [0.5]}
%y = anec.sdpa(%q, %q, %q, %s) {subtract_max = true} : fp16[1,1,1,4,8]
output %y`},
	{name: "weights and operand are known", graph: `
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = splat(5000)}
%a = anec.sigmoid(%x) : fp16[1,1,8,4,4]
%y = anec.convolution(%a, %w) : fp16[1,1,8,4,4]
output %y`, want: "saturates-at-port", say: "can reach 4e+04"},
	{name: "both are known and small", graph: `
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = splat(4000)}
%a = anec.sigmoid(%x) : fp16[1,1,8,4,4]
%y = anec.convolution(%a, %w) : fp16[1,1,8,4,4]
output %y`},
	{name: "an image of bytes", graph: `
input %x : uint8[1,1,3,4,4]
const %w : fp16[8,1,3,1,1] {data = splat(50)}
%a = anec.cast(%x) {to = fp16} : fp16[1,1,3,4,4]
%y = anec.convolution(%a, %w) : fp16[1,1,8,4,4]
output %y`, want: "saturates-at-port", say: "up to 255"},
	{name: "weights that make infinity of anything", graph: `
input %x : fp16[1,1,1,4,8]
const %w : fp16[1,1,1,8,8] {data = splat(1000)}
%y = anec.matmul(%x, %w) : fp16[1,1,1,4,8]
output %y`, want: "saturates-at-port", say: "magnitude 4.1"},
	{name: "ordinary weights", graph: `
input %x : fp16[1,1,1,4,8]
const %w : fp16[1,1,1,8,8] {data = splat(1)}
%y = anec.linear(%x, %w) : fp16[1,1,1,4,8]
output %y`},
	{name: "one product passes the port", graph: `
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,1,1,1] {data = splat(60000)}
%y = anec.convolution(%x, %w) {groups = 8} : fp16[1,1,8,4,4]
output %y`},
	{name: "long sums of live products", graph: `
input %x : fp16[1,1,1,1,10000]
input %z : fp16[1,1,1,10000,1]
%y = anec.matmul(%x, %z) : fp16[1,1,1,1,1]
output %y`, want: "saturates-at-port", say: "mean is 3.28"},
	{name: "short sums of live products", graph: `
input %x : fp16[1,1,1,8,512]
input %z : fp16[1,1,1,512,8]
%y = anec.matmul(%x, %z) : fp16[1,1,1,8,8]
output %y`},
	{name: "a mean by softmax is as large as what it is of", graph: `
input %x : fp16[1,1,1,1,10000]
input %z : fp16[1,1,1,10000,1]
%p = anec.softmax(%x) {axes = W} : fp16[1,1,1,1,10000]
%y = anec.matmul(%p, %z) : fp16[1,1,1,1,1]
output %y`},
	{name: "bounds of both live operands", graph: `
input %x : int8[1,1,1,8,512]
input %z : int8[1,1,1,512,8]
%a = anec.cast(%x) {to = fp16} : fp16[1,1,1,8,512]
%b = anec.cast(%z) {to = fp16} : fp16[1,1,1,512,8]
%y = anec.matmul(%a, %b) : fp16[1,1,1,8,8]
output %y`, want: "saturates-at-port", say: "bounds both operands"},

	{name: "a long sum", target: "h17s", graph: `
input %x : fp16[1,1,1,200,200]
%y = anec.reduce_sum(%x) {axes = HW} : fp16[1,1,1,1,1]
output %y`, want: "sum-overflows", say: "nothing is known"},
	{name: "a sum of what is at most 1", target: "h17s", graph: `
input %x : fp16[1,1,1,200,200]
%s = anec.sigmoid(%x) : fp16[1,1,1,200,200]
%y = anec.reduce_sum(%s) {axes = HW} : fp16[1,1,1,1,1]
output %y`},
	{name: "squares of what is at most 64", graph: `
input %x : fp16[1,1,1,1,100]
%s = anec.neuron(%x) {type = clip, a = -64, b = 32} : fp16[1,1,1,1,100]
%y = anec.reduction(%s) {type = SumSquare, axes = W} : fp16[1,1,1,1,1]
output %y`, want: "sum-overflows", say: "4.096e+05"},

	{name: "a slice along W", graph: `
input %x : fp16[1,1,1,4,8]
%y = anec.input_view(%x) {axis = W, offset = 4, size = 4} : fp16[1,1,1,4,4]
output %y`, want: "width-slice-gain", say: "begins at 4"},
	{name: "on A14 too", target: "h14", graph: `
input %x : fp16[1,1,1,4,8]
%y = anec.input_view(%x) {axis = W, offset = 4, size = 4} : fp16[1,1,1,4,4]
output %y`, want: "width-slice-gain"},
	{name: "not from A15 on", target: "h15", graph: `
input %x : fp16[1,1,1,4,8]
%y = anec.input_view(%x) {axis = W, offset = 4, size = 4} : fp16[1,1,1,4,4]
output %y`},
	{name: "slices that do no harm", graph: `
input %x : fp16[1,1,1,4,8]
%a = anec.input_view(%x) {axis = W, offset = 0, size = 4} : fp16[1,1,1,4,4]
%b = anec.input_view(%x) {axis = H, offset = 2, size = 2} : fp16[1,1,1,2,8]
%t = anec.tanh(%x) : fp16[1,1,1,4,8]
%c = anec.input_view(%t) {axis = W, offset = 4, size = 4} : fp16[1,1,1,4,4]
output %a
output %b
output %c`},

	{name: "variance", graph: `
input %x : fp16[1,1,1,8,64]
%m = anec.reduce_mean(%x) {axes = W} : fp16[1,1,1,8,1]
%s = anec.multiply(%x, %x) : fp16[1,1,1,8,64]
%a = anec.reduce_mean(%s) {axes = W} : fp16[1,1,1,8,1]
%q = anec.elementwise(%m) {type = Square} : fp16[1,1,1,8,1]
%y = anec.sub(%a, %q) : fp16[1,1,1,8,1]
output %y`, want: "variance-cancels", say: "over 64 elements"},
	{name: "variance by sums and a scale", graph: `
input %x : fp16[1,1,1,8,64]
const %n : fp16[1,1,1,1,1] {data = [64]}
%s = anec.reduce_sum(%x) {axes = W} : fp16[1,1,1,8,1]
%m = anec.divide(%s, %n) : fp16[1,1,1,8,1]
%t = anec.reduction(%x) {type = SumSquare, axes = W} : fp16[1,1,1,8,1]
%a = anec.divide(%t, %n) : fp16[1,1,1,8,1]
%q = anec.multiply(%m, %m) : fp16[1,1,1,8,1]
%y = anec.sub(%a, %q) : fp16[1,1,1,8,1]
output %y`, want: "variance-cancels"},
	{name: "variance of differences", graph: `
input %x : fp16[1,1,1,8,64]
%m = anec.reduce_mean(%x) {axes = W} : fp16[1,1,1,8,1]
%d = anec.sub(%x, %m) : fp16[1,1,1,8,64]
%s = anec.elementwise(%d) {type = Square} : fp16[1,1,1,8,64]
%y = anec.reduce_mean(%s) {axes = W} : fp16[1,1,1,8,1]
output %y`},
	{name: "long sums less each other", target: "h17s", graph: `
input %x : fp16[1,1,1,64,64]
input %z : fp16[1,1,1,64,64]
%a = anec.reduce_mean(%x) {axes = HW} : fp16[1,1,1,1,1]
%b = anec.reduce_mean(%z) {axes = HW} : fp16[1,1,1,1,1]
%y = anec.sub(%a, %b) : fp16[1,1,1,1,1]
output %y`, want: "sums-cancel", say: "4096 elements"},
	{name: "short sums less each other", graph: `
input %x : fp16[1,1,1,8,64]
input %z : fp16[1,1,1,8,64]
%a = anec.reduce_mean(%x) {axes = W} : fp16[1,1,1,8,1]
%b = anec.reduce_mean(%z) {axes = W} : fp16[1,1,1,8,1]
%y = anec.sub(%a, %b) : fp16[1,1,1,8,1]
output %y`},
	{name: "long normalization", graph: `
input %x : fp16[1,1,1,2,4096]
%y = anec.layer_norm(%x) {axes = W, epsilon = 1e-05} : fp16[1,1,1,2,4096]
output %y`, want: "norm-long-axis", say: "4096 elements"},
	{name: "normalization in groups", graph: `
input %x : fp16[1,1,32,16,16]
%y = anec.layer_norm(%x) {axes = CHW, epsilon = 1e-05, groups = 8} : fp16[1,1,32,16,16]
output %y`},

	{name: "beyond the working set", graph: `
input %x : fp16[1,1,64,128,128]
%y = anec.relu(%x) : fp16[1,1,64,128,128]
output %y`, want: "working-set", say: "on chip"},
	{name: "within the working set", graph: `
input %x : fp16[1,1,32,128,128]
%y = anec.relu(%x) : fp16[1,1,32,128,128]
%z = anec.reshape(%y) {dims = [1, 1, 32, 128, 128]} : fp16[1,1,32,128,128]
output %z`},
	{name: "int8 folds on the M1", graph: `
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = int8[8,1,8,1,1]:splat(1), scale = fp16[8,1,1,1,1]:splat(0.5)}
%y = anec.convolution(%x, %w) : fp16[1,1,8,4,4]
output %y`, want: "weights-fold", say: "int8 affine, 8 bits"},
	{name: "int8 streams on A14", target: "h14", graph: `
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = int8[8,1,8,1,1]:splat(1), scale = fp16[8,1,1,1,1]:splat(0.5)}
%y = anec.convolution(%x, %w) : fp16[1,1,8,4,4]
output %y`},
	{name: "blocks fold on A14", target: "h14", graph: `
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = int8[8,1,8,1,1]:splat(1), scale = fp16[8,1,2,1,1]:splat(0.5)}
%y = anec.convolution(%x, %w) : fp16[1,1,8,4,4]
output %y`, want: "weights-fold", say: "blockwise"},
	{name: "a palette streams", graph: `
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = uint4[8,1,8,1,1]:splat(1), table = fp16[1,1,1,1,1,16,1]:splat(0.5)}
%y = anec.convolution(%x, %w) : fp16[1,1,8,4,4]
output %y`},
	{name: "but not with a stride", graph: `
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,8,1,1] {data = uint4[8,1,8,1,1]:splat(1), table = fp16[1,1,1,1,1,16,1]:splat(0.5)}
%y = anec.convolution(%x, %w) {strides = [2, 2]} : fp16[1,1,8,2,2]
output %y`, want: "weights-fold", say: "a stride"},
	{name: "decoded by a layer", graph: `
input %x : fp16[1,1,8,4,4]
const %d : int8[8,1,8,1,1] {data = splat(1)}
const %s : fp16[8,1,1,1,1] {data = splat(0.5)}
%w = anec.dequantize(%d, %s) : fp16[8,1,8,1,1]
%y = anec.convolution(%x, %w) : fp16[1,1,8,4,4]
output %y`, want: "weights-fold", say: "int8 affine"},
	{name: "weights beyond the kernel memories of all engines", graph: `
input %x : fp16[1,1,1024,16,16]
const %w : fp16[1024,1,1024,1,1] {data = splat(0.01)}
%y = anec.convolution(%x, %w) : fp16[1,1,1024,16,16]
output %y`, want: "kernel-memory-split", say: "splits"},
	{name: "for so few positions they go by once", graph: `
input %x : fp16[1,1,1024,8,16]
const %w : fp16[1024,1,1024,1,1] {data = splat(0.01)}
%y = anec.convolution(%x, %w) : fp16[1,1,1024,8,16]
output %y`},
	{name: "weights beyond what streams", target: "h14", graph: `
input %x : fp16[1,1,4096,4,4]
const %w : fp16[4096,1,4096,1,1] {data = splat(0.01)}
%y = anec.convolution(%x, %w) : fp16[1,1,4096,4,4]
output %y`, want: "kernel-memory-split", say: "splits"},
	{name: "which is more for what is compressed", target: "h14", graph: `
input %x : fp16[1,1,4096,4,4]
const %w : fp16[4096,1,4096,1,1] {data = uint4[4096,1,4096,1,1]:splat(1), table = fp16[1,1,1,1,1,16,1]:splat(0.01)}
%y = anec.convolution(%x, %w) : fp16[1,1,4096,4,4]
output %y`},
	{name: "a reduction at the threshold", graph: `
input %x : fp16[1,1,1,4,192]
%y = anec.reduce_max(%x) {axes = W} : fp16[1,1,1,4,1]
output %y`, want: "reduction-via-transpose", say: "192 along W"},
	{name: "below it", target: "h15", graph: `
input %x : fp16[1,1,1,4,383]
%y = anec.reduce_max(%x) {axes = W} : fp16[1,1,1,4,1]
output %y`},
	{name: "a transpose of a long axis", graph: `
input %x : fp16[1,1,1,2,20000]
%y = anec.transpose(%x) {perm = [N, D, C, W, H]} : fp16[1,1,1,20000,2]
output %y`, want: "transpose-passes", say: "several passes"},
	{name: "one that moves nothing", graph: `
input %x : fp16[1,1,1,1,20000]
%y = anec.transpose(%x) {perm = [N, D, C, W, H]} : fp16[1,1,1,20000,1]
output %y`},
	{name: "a stride of two factors", graph: `
input %x : fp16[1,1,8,12,12]
const %w : fp16[8,1,8,1,1] {data = splat(1)}
%y = anec.convolution(%x, %w) {strides = [6, 6]} : fp16[1,1,8,2,2]
output %y`, want: "stride-factored", say: "a stride of 6"},
}

func idsOf(found []*diag.Finding) (ids []string) {
	for _, h := range found {
		ids = append(ids, string(h.ID))
	}
	return ids
}

// Each rule finds what it is for, and nothing in a graph that is like it but safe.
func TestHazards(t *testing.T) {
	covered := map[diag.ID]bool{}
	for _, c := range hazardCases {
		t.Run(c.name, func(t *testing.T) {
			target := c.target
			if target == "" {
				target = "h13"
			}
			g := parseGraph(t, "graph g"+c.graph+"\n")
			found := FindHazards(g, lookup(t, target), estimate.FindRanges(g, false, estimate.RangeBudget), nil)
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if ids := idsOf(found); !slices.Equal(ids, want) {
				t.Fatalf("found %q, want %q\n%+v", ids, want, found)
			}
			for _, h := range found {
				covered[h.ID] = true
				if !strings.Contains(h.Text, c.say) {
					t.Errorf("%q does not say %q", h.Text, c.say)
				}
				if h.Place.Layer == "" || h.Limit == "" && h.ID != diag.WeightsFold || h.Found == "" || h.Remedy == "" || h.Source == "" || h.Confidence == 0 || (h.Effect() == 0) != (h.Severity == diag.Note) {
					t.Errorf("something is missing: %+v", h)
				}
			}
			if virtual := FindHazards(g, lookup(t, "virtual"), estimate.FindRanges(g, false, estimate.RangeBudget), nil); virtual != nil {
				t.Errorf("virtual: %+v", virtual)
			}
		})
	}
	seen := map[diag.ID]bool{}
	for _, r := range hazardRules {
		if row := r.id.Row(); !covered[r.id] || seen[r.id] || row.Group != diag.Hazards || row.Effect == 0 {
			t.Errorf("rule %s: has no case, no row among the hazards or stands twice", r.id)
		}
		seen[r.id] = true
	}
}

// Hazards of numbers are found after fusion as before.
func TestHazardsAfterFusion(t *testing.T) {
	for _, c := range hazardCases {
		g := parseGraph(t, "graph g"+c.graph+"\n")
		switch c.want {
		case "saturates-at-port", "variance-cancels", "sums-cancel", "width-slice-gain":
		default:
			continue
		}
		target := c.target
		if target == "" {
			target = "h13"
		}
		g = fused(t, g, 0)
		if ids := idsOf(FindHazards(g, lookup(t, target), estimate.FindRanges(g, false, estimate.RangeBudget), nil)); !slices.Contains(ids, c.want) {
			t.Errorf("%s: found %q after fusion\n%s", c.name, ids, anec.Print(g))
		}
	}
}

// The layers of one operation have one finding together.
func TestHazardsOfOneOperation(t *testing.T) {
	g := parseGraph(t, `graph g
input %x : fp16[1,1,1,4,8]
%a = anec.input_view(%x) {axis = W, offset = 2, size = 2} : fp16[1,1,1,4,2] from split
%b = anec.input_view(%x) {axis = W, offset = 4, size = 2} : fp16[1,1,1,4,2] from split
%c = anec.input_view(%x) {axis = W, offset = 6, size = 2} : fp16[1,1,1,4,2] from slice
output %a
output %b
output %c
`)
	found := FindHazards(g, lookup(t, "h13"), estimate.FindRanges(g, false, estimate.RangeBudget), nil)
	if len(found) != 2 || found[0].Place.Operation != "split" || found[1].Place.Operation != "slice" {
		t.Errorf("%+v", found)
	}
}

// Zeros that stand for weights that are not there are no weights: nothing follows from them.
func TestHazardsWithoutWeights(t *testing.T) {
	g := parseGraph(t, `graph g
input %x : fp16[1,1,1,4,8]
const %w : fp16[1,1,1,8,8] {data = splat(0)}
const %half : fp16[1,1,1,1,1] {data = [0.5]}
%a = anec.linear(%x, %w) : fp16[1,1,1,4,8]
%b = anec.multiply(%a, %half) : fp16[1,1,1,4,8]
%y = anec.input_view(%b) {axis = W, offset = 4, size = 4} : fp16[1,1,1,4,4]
output %y
`)
	m1 := lookup(t, "h13")
	if ids := idsOf(FindHazards(g, m1, estimate.FindRanges(g, false, estimate.RangeBudget), nil)); len(ids) != 0 {
		t.Errorf("weights of zero: %q", ids)
	}
	if ids := idsOf(FindHazards(g, m1, estimate.FindRanges(g, true, estimate.RangeBudget), nil)); !slices.Equal(ids, []string{"width-slice-gain"}) {
		t.Errorf("absent weights: %q", ids)
	}
}

// Every target takes the search, fused or not, whatever the kinds.
func TestHazardsOfEveryTarget(t *testing.T) {
	for _, name := range []string{"attention", "layer_norm_written_out", "int8_weights", "dequant_weights", "quant", "states_stay"} {
		archive, err := txtar.ParseFile("testdata/fuse/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			g := parseGraph(t, string(f.Data))
			r := estimate.FindRanges(g, false, estimate.RangeBudget)
			for _, target := range hal.Targets() {
				FindHazards(g, target, r, nil)
				estimate.Segment(g, target)
			}
		}
	}
}

func TestRanges(t *testing.T) {
	g := parseGraph(t, `graph g
input %x : fp16[1,1,1,4,8]
input %i : int8[1,1,1,4,8]
const %w : fp16[1,1,1,2,8] {data = [1, 1, 1, 1, 1, 1, 1, 1, -2, 2, -2, 2, -2, 2, -2, 2]}
const %b : fp16[1,1,1,1,2] {data = [1, -3]}
const %gamma : fp16[1,1,1,1,8] {data = splat(2)}
%s = anec.sigmoid(%x) : fp16[1,1,1,4,8]
%l = anec.linear(%s, %w, %b) : fp16[1,1,1,4,2]
%d = anec.sub(%l, %l) : fp16[1,1,1,4,2]
%n = anec.layer_norm(%x, %gamma) {axes = W} : fp16[1,1,1,4,8]
%f = anec.cast(%i) {to = fp16} : fp16[1,1,1,4,8]
%r = anec.reduce_sum(%f) {axes = W} | scale 0.5 1 | act relu | ew Max 2000 : fp16[1,1,1,4,1]
%c = anec.less(%x, %s) : bool[1,1,1,4,8]
%u = anec.add(%x, %s) : fp16[1,1,1,4,8]
output %d
output %n
output %r
output %c
output %u
`)
	r := estimate.FindRanges(g, false, estimate.RangeBudget)
	for name, want := range map[string]float64{"s": 1, "l": 16 + 3, "d": 2 * 19, "n": 2 * 2.8284271247461903, "f": 128, "r": 2000, "c": 1, "u": estimate.Unbounded, "x": estimate.Unbounded} {
		if got := r.Of(g.Value(name)); got != want {
			t.Errorf("%s: at most %g, want %g", name, got, want)
		}
	}
}

// Integer weights are scaled where they enter the multipliers: that fusion has the scale behind the sums does not make the
// sums of a chip larger.
func TestScaledIntegersDoNotSaturate(t *testing.T) {
	for scale, want := range map[string]bool{"0.001": false, "1": true} {
		for _, layer := range []string{
			"input %x : fp16[1,1,64,4,4]\nconst %w : fp16[8,1,64,1,1] {data = int8[8,1,64,1,1]:splat(100), scale = fp16[8,1,1,1,1]:splat(" + scale + ")}\n%y = anec.convolution(%x, %w) : fp16[1,1,8,4,4]",
			"input %x : fp16[1,1,1,4,64]\nconst %w : fp16[1,1,1,64,8] {data = int8[1,1,1,64,8]:splat(100), scale = fp16[1,1,1,1,8]:splat(" + scale + ")}\n%y = anec.matmul(%x, %w) : fp16[1,1,1,4,8]",
		} {
			g := fused(t, parseGraph(t, "graph g\n"+layer+"\noutput %y\n"), 0)
			ids := idsOf(FindHazards(g, lookup(t, "h14"), estimate.FindRanges(g, false, estimate.RangeBudget), nil))
			if slices.Contains(ids, "saturates-at-port") != want {
				t.Errorf("weights of 100 with a scale of %s: %q\n%v", scale, ids, g)
			}
		}
	}
}
