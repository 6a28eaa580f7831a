package anec

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
)

// Every operation has a name of its own, and the names that the guide has are among them.
func TestDialect(t *testing.T) {
	plain := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	owner := map[string]Kind{}
	for _, k := range Kinds() {
		d := &k.Info().Dialect
		names := append(slices.Sorted(maps.Values(d.Names)), d.Name)
		for _, name := range names {
			if other, ok := owner[name]; ok || !plain.MatchString(name) {
				t.Errorf("%v: %q is the name of %v too, or none", k, name, other)
			}
			owner[name] = k
			p, ok := paramsNamed("anec." + name)
			if !ok || p.Info().Kind != k {
				t.Errorf("anec.%s is not found", name)
				continue
			}
			if got, _ := operationOf(p); name != d.Name && got != "anec."+name {
				t.Errorf("anec.%s comes back as %s", name, got)
			}
		}
		seen := map[string]bool{outputType: true}
		for _, a := range attributes(k) {
			if seen[a.name] || !plain.MatchString(a.name) || len(a.fields) > 2 {
				t.Errorf("%v: the attribute %q stands twice, or has no plain name", k, a.name)
			}
			seen[a.name] = true
		}
	}
	// Operations that have no kind of their own, and are written otherwise.
	others := []string{"leaky_relu", "clamp", "threshold", "not", "split", "slice"}
	for _, floor := range hal.Floors() {
		for _, name := range floor.Operations {
			if _, ok := owner[name]; ok == slices.Contains(others, name) {
				t.Errorf("the guide's operation %s: %v", name, ok)
			}
		}
	}
}

// The listings of the guide are read as they stand there, with names for numbers and types behind.
func TestListings(t *testing.T) {
	text := `// chapters 13 and 26
graph listings
input %input : fp16[1,1,8,16,16]   // an image
input %q : fp16[1,1,8,16,16]
const %weights : fp16[8,1,4,3,3] {data = splat(0.5)}
const %bias : fp16[1,1,8,1,1] {data = splat(0.5)}
const %scale : fp16[1,1,1,1,1] {data = [1]}
%y = anec.convolution(%input, %weights, %bias) {
  strides         = [1, 1],            // 1 keeps the Winograd path for a 3x3 kernel
  explicit_padding = [1, 1, 1, 1],
  groups          = 2,                 // 1 standard
  dilation_rates  = [1, 1],
  kernel_sizes    = [3, 3],            // fp16 kernel width bounded at 13 on the M1
} : fp16[1,1,8,16,16]  // filter and input rank 4 or 5
%p = anec.matmul(%y, %y) { transpose_lhs, transpose_rhs } : fp16[1,1,8,16,16]
%n = anec.layer_norm(%p) { groups = 2, epsilon = 0.001, axes = CHW } : fp16[1,1,8,16,16]
%a = anec.sdpa(%q, %n, %n, %scale) { subtract_max = true } : fp16[1,1,8,16,16]   // 4 or 5 bottoms
output %a
`
	g, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	conv := g.Value("y").Def.Params.(*Conv)
	if conv.Groups != 2 || conv.Kernel != [3]int{1, 3, 3} || conv.PadBefore != [3]int{0, 1, 1} || conv.PadAfter != [3]int{0, 1, 1} {
		t.Errorf("the convolution is %+v", conv)
	}
	if m := g.Value("p").Def.Params.(*MatMul); !m.TransposeX || !m.TransposeZ {
		t.Errorf("the product is %+v", m)
	}
	for _, want := range []string{
		"%y = anec.convolution(%input, %weights, %bias) {kernel_sizes = [3, 3], explicit_padding = [1, 1, 1, 1], groups = 2} : fp16[1,1,8,16,16]\n",
		"%p = anec.matmul(%y, %y) {transpose_lhs = true, transpose_rhs = true} : fp16[1,1,8,16,16]\n",
	} {
		if !strings.Contains(Print(g), want) {
			t.Errorf("no %sin\n%s", want, Print(g))
		}
	}
}

// Along the depth a window is written where it is not the usual one, and padding goes axis by axis.
func TestSpatialAttributes(t *testing.T) {
	for _, c := range []struct {
		fields, text string
	}{
		{"Kernel=[1,3,2]", "kernel_sizes = [3, 2]"},
		{"Kernel=[2,1,1]", "kernel_sizes = [2, 1, 1]"},
		{"PadBefore=[0,1,2] PadAfter=[0,3,4]", "explicit_padding = [1, 3, 2, 4]"},
		{"PadAfter=[5,0,0]", "explicit_padding = [0, 5, 0, 0, 0, 0]"},
	} {
		p := NewParams(KindConv)
		if err := setFields(c.fields, p, nil); err != nil {
			t.Fatal(err)
		}
		if got := formatAttributes(p, ""); len(got) != 1 || got[0] != c.text {
			t.Errorf("%s: %q, want %q", c.fields, got, c.text)
		}
		back := NewParams(KindConv)
		name, value, _ := strings.Cut(c.text, " = ")
		if err := parseAttribute(back, name, value); err != nil || !reflect.DeepEqual(p, back) {
			t.Errorf("%s: %+v, %v", c.text, back, err)
		}
	}
	for value, want := range map[string]string{"[1]": "1 numbers, want 2, or 3 with the depth", "3": "not a list", "[a, b]": "not an integer"} {
		if err := parseAttribute(NewParams(KindConv), "kernel_sizes", value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}
