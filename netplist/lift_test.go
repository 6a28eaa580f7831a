package netplist

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
)

func openIn(files map[string][]byte) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return data, nil
		}
		return nil, fmt.Errorf("no file %s", name)
	}
}

// throughList is a graph after it was a list.
func throughList(t *testing.T, g *anec.Graph, form Form) (*anec.Graph, []diag.Finding) {
	t.Helper()
	f, files, findings, err := FromGraphs([]*anec.Graph{g})
	if err != nil {
		t.Fatal(err)
	}
	procs, _, err := again(t, f, form).Procedures(openIn(files))
	if err != nil {
		t.Fatalf("%v\n%s", err, anec.Print(g))
	}
	return procs[0].Graph, findings
}

// names are what may differ: layers that had the name of their output, constants in parameters, exchanges of axes, files.
var names = regexp.MustCompile(`( @\S+)|(, source = [^}]+)`)

func bare(g *anec.Graph) string { return names.ReplaceAllString(anec.Print(g), "") }

// Every kind becomes a unit and is the same layer again; and what was a list stays the same list.
func TestKindsThroughLists(t *testing.T) {
	for _, kind := range anec.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			g, err := kind.ExampleGraph()
			if err != nil {
				t.Fatal(err)
			}
			once, _ := throughList(t, g, XML)
			if a, b := layersOf(g), layersOf(once); a != b {
				t.Errorf("was\n%s\nis\n%s", a, b)
			}
			twice, _ := throughList(t, once, Binary)
			if a, b := bare(once), bare(twice); a != b {
				t.Errorf("once\n%s\ntwice\n%s", a, b)
			}
		})
	}
}

// layersOf are the lines of a graph without the names of constants and layers.
func layersOf(g *anec.Graph) string {
	text := bare(g)
	for _, v := range g.Values {
		if v.Const != nil {
			text = strings.ReplaceAll(text, "%"+v.Name+" ", "%const ")
			text = strings.ReplaceAll(text, "%"+v.Name+",", "%const,")
			text = strings.ReplaceAll(text, "%"+v.Name+")", "%const)")
		}
	}
	lines := strings.Split(text, "\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		if strings.HasPrefix(a, "const") && strings.HasPrefix(b, "const") {
			return strings.Compare(a, b)
		}
		return 0
	})
	return strings.Join(lines, "\n")
}

// Layers with more to say than the examples.
func TestGraphsThroughLists(t *testing.T) {
	for _, text := range strings.Split(`
input %x : fp16[2,1,8,16,16]
const %w : fp16[8,1,4,3,3] {data = splat(0.5)}
const %b : fp16[1,1,8,1,1] {data = splat(0.25)}
%y = anec.convolution(%x, %w, %b) {kernel_sizes = [3, 3], strides = [2, 2], dilation_rates = [1, 2], explicit_padding = [0, 0, 1, 2], groups = 2} : fp16[2,1,8,7,8]
output %y
---
input %x : fp16[1,4,2,5,5]
const %w : fp16[3,2,2,1,1] {data = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
%y = anec.convolution(%x, %w) {kernel_sizes = [2, 1, 1]} : fp16[1,3,3,5,5]
output %y
---
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,6,3,3] {data = splat(0.5)}
%y = anec.deconvolution(%x, %w) {kernel_sizes = [3, 3], strides = [2, 2], explicit_padding = [1, 1, 1, 1], output_padding = [1, 1]} : fp16[1,1,6,8,8]
output %y
---
input %x : fp16[1,1,8,4,4]
const %w : fp16[8,1,1,2,2] {data = splat(1)}
%y = anec.deconvolution(%x, %w) {kernel_sizes = [2, 2], strides = [2, 2], groups = 8} : fp16[1,1,8,8,8]
output %y
---
input %x : fp16[1,1,8,4,4]
input %w : fp16[4,1,8,1,1]
%y = anec.convolution(%x, %w) : fp16[1,1,4,4,4]
output %y
---
input %x : fp16[1,1,8,4,4]
input %w : fp16[4,1,8,1,1]
const %b : fp16[1,1,4,1,1] {data = splat(0.25)}
%y = anec.convolution(%x, %w, %b) : fp16[1,1,4,4,4]
output %y
---
input %x : fp16[1,1,8,4,4]
const %w : fp16[4,1,8,1,1] {data = int8[4,1,8,1,1]:splat(3), scale = fp16[4,1,1,1,1]:splat(0.5)}
const %b : fp16[1,1,8,1,1] {data = splat(1)}
%z = anec.gain_offset_control(%x, _, %b) {scale = 0.3, bias = 0.1} : fp16[1,1,8,4,4]
%y = anec.convolution(%z, %w) : fp16[1,1,4,4,4]
output %y
output %z
---
input %x : fp16[1,1,2,4,4]
const %s : fp16[1,1,2,1,1] {data = [2, 0.1]}
const %b : fp16[1,1,2,1,1] {data = [3, 0.3]}
const %z : fp32[1,1,2,1,1] {data = [0, 2]}
%p = anec.gain_offset_control(%x, %s, %b) : fp16[1,1,2,4,4]
%q = anec.gain_offset_control(%p, %s) {bias = 0.3} : fp16[1,1,2,4,4]
%r = anec.gain_offset_control(%q, %z, %b) {scale = 2} : fp16[1,1,2,4,4]
%t = anec.gain_offset_control(%r) {scale = 34, bias = 67} : fp16[1,1,2,4,4]
%u = anec.gain_offset_control(%t) {bias = 0.5} : fp16[1,1,2,4,4]
%v = anec.gain_offset_control(%u) {scale = 0, bias = 0.5} : fp16[1,1,2,4,4]
%y = anec.gain_offset_control(%v, _, %b) {scale = 4} : fp16[1,1,2,4,4]
output %y
---
input %x : fp16[1,1,8,4,4]
const %s : fp16[1,1,8,1,1] {data = splat(0.1)}
%a = anec.prelu(%x, %s) : fp16[1,1,8,4,4]
%b = anec.clamped_relu(%a) {a = 0.1, b = 6} : fp16[1,1,8,4,4]
%c = anec.clamped_relu(%b) {a = 0.25, b = 6} : fp16[1,1,8,4,4]
%d = anec.neuron(%c) {type = clip, a = -0.1, b = 0.3} : fp16[1,1,8,4,4]
%e = anec.swish(%d) {a = 1} : fp16[1,1,8,4,4]
%f = anec.swish(%e) {a = 1.7} : fp16[1,1,8,4,4]
%g = anec.softplus(%f) {a = 1, b = 2} : fp16[1,1,8,4,4]
%h = anec.neuron(%g) {type = sigmoid_hard, a = 0.2, b = 0.5} : fp16[1,1,8,4,4]
%i = anec.log2(%h) {a = 1e-05} : fp16[1,1,8,4,4]
%y = anec.elu(%i) {a = 0.7} : fp16[1,1,8,4,4]
output %y
---
input %x : fp16[1,1,8,4,4]
input %z : fp16[1,1,8,4,4]
%a = anec.less(%x, %z) : bool[1,1,8,4,4]
%b = anec.elementwise(%a, %a) {type = Xor} : bool[1,1,8,4,4]
%c = anec.select(%b, %x, %z) : fp16[1,1,8,4,4]
%y = anec.reduction(%c) {type = LogSumExp, axes = W} : fp16[1,1,8,4,1]
output %y
---
input %x : fp16[1,1,2,16,64]
%v, %i = anec.sort(%x) {axis = W, results = Both} : fp16[1,1,2,16,64], int32[1,1,2,16,64]
%y = anec.add(%i, %i) : int32[1,1,2,16,64]
output %y
output %v
---
input %x : fp16[1,1,2,3,4]
input %z : fp16[1,1,2,4,5]
%y = anec.matmul(%x, %z) : fp16[1,1,2,3,5]
output %y
---
input %x : fp16[1,1,2,4,3]
input %z : fp16[1,1,2,5,4]
%y = anec.matmul(%x, %z) {transpose_lhs = true, transpose_rhs = true} : fp16[1,1,2,3,5]
output %y
---
input %q : fp16[1,1,8,7,16]
input %k : fp16[1,1,8,9,16]
input %v : fp16[1,1,8,9,16]
input %mask : fp16[1,1,1,7,9]
const %scale : fp16[1,1,1,1,1] {data = splat(0.25)}
%attn = anec.sdpa(%q, %k, %v, %scale, %mask) {subtract_max = true} : fp16[1,1,8,7,16]
output %attn
---
input %u : fp16[1,1,8,4,16]
state %s : fp16[1,1,8,16,16] -> %t
%t = anec.ring_buffer_writer(%s, %u) {offset = [0, 0, 0, 2, 0]} : fp16[1,1,8,16,16]
%y = anec.ring_buffer_reader(%t) {size = [1, 1, 8, 4, 16], circular = H} : fp16[1,1,8,4,16]
output %y
---
input %x : fp16[1,1,1,4,4]
%y = anec.copy(%x) : fp16[1,1,1,4,4]
output %y
output %x
---
input %x : fp16[1,1,8,4,4]
const %g : fp16[1,1,8,1,1] {data = splat(0.1)}
%a = anec.instance_norm(%x, _, %g) {axes = HW, epsilon = 1e-05} : fp16[1,1,8,4,4]
%b = anec.layer_norm(%a) {axes = CH, epsilon = 1e-05, groups = 2} : fp16[1,1,8,4,4]
%c = anec.average_pool(%b) {output_type = int8, kernel_sizes = [2, 2], explicit_padding = [0, 1, 0, 1], exclude_pad = true} : int8[1,1,8,4,4]
%y = anec.cast(%c) {to = fp16} : fp16[1,1,8,4,4]
output %y
---
input %x : fp16[1,1,8,4,4]
input %c : fp16[1,1,2,5,6]
input %i : fp16[1,1,1,1,2]
%a = anec.resample(%x, %c) {method = NearestNeighbor, coordinate = NormalizedUnit, padding = Replication, align_corners = true} : fp16[1,1,8,5,6]
%b = anec.dynamic_slice(%a, %i) {axes = [H, W], sizes = [2, 3], background = 0.5, from_end = true} : fp16[1,1,8,2,3]
%c2 = anec.transpose(%b) {perm = [N, D, C, W, H]} : fp16[1,1,8,3,2]
%y = anec.resize(%c2) {scale = [2, 2], grid = UnalignedCorners, rounding = floor} : fp16[1,1,8,6,4]
output %y
`, "---\n") {
		g, err := anec.Parse("graph g\n"+text, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		once, _ := throughList(t, g, Binary)
		if a, b := layersOf(g), layersOf(once); a != b {
			t.Errorf("was\n%s\nis\n%s", a, b)
		}
		twice, _ := throughList(t, once, XML)
		if a, b := bare(once), bare(twice); a != b {
			t.Errorf("once\n%s\ntwice\n%s", a, b)
		}
	}
}

// What is saved is found again, weights beside the list.
func TestSave(t *testing.T) {
	g, err := anec.KindConv.ExampleGraph()
	if err != nil {
		t.Fatal(err)
	}
	f, files, findings, err := FromGraphs([]*anec.Graph{g, g.Clone()})
	if err != nil || len(f.Networks) != 2 || f.Networks[0].Name == f.Networks[1].Name || len(files) != 2 || len(findings) > 0 {
		t.Fatal(f, files, findings, err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	path, err := f.Save(dir, Binary, files)
	if err != nil {
		t.Fatal(err)
	}
	procs, _, err := readReal(t, path).Procedures(beside(path))
	if err != nil || len(procs) != 2 || layersOf(procs[0].Graph) != layersOf(g) {
		t.Errorf("%v, %v", procs, err)
	}
	for _, name := range []string{"../w", "a/b", FileName, ".."} {
		if _, err := f.Save(dir, XML, map[string][]byte{name: nil}); err == nil {
			t.Errorf("weights file %q was written", name)
		}
	}
}
