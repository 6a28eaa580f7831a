package netplist

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

func buildGraph(t *testing.T, b *Builder) *anec.Graph {
	t.Helper()
	f, files, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	procs, _, err := again(t, f, Binary).Procedures(openIn(files))
	if err != nil {
		t.Fatal(err)
	}
	return procs[0].Graph
}

// Listing 26.3 of the guide, with its names.
func TestBuildAttention(t *testing.T) {
	g := New("G")
	q := g.Input("q", tensor.Float16, 1, 8, 197, 64)
	k := g.Input("k", tensor.Float16, 1, 8, 197, 64)
	v := g.Input("v", tensor.Float16, 1, 8, 197, 64)
	scale := g.Const("scale", tensor.Scalar(float32(0.125)))
	attn := g.BridgeNode("attn", "SDPA", Params{"SubtractMax": true}, q, k, v, scale)
	g.Output(attn)
	const want = `graph G
input %q : fp16[1,1,8,197,64]
input %k : fp16[1,1,8,197,64]
input %v : fp16[1,1,8,197,64]
const %scale : fp16[1,1,1,1,1] {data = [0.125]SUM
`
	got := anec.Print(buildGraph(t, g))
	head := strings.Join(strings.SplitAfterN(got, "\n", 6)[:5], "")
	if !matches(head, want) {
		t.Errorf("begins\n%s\nwant\n%s", head, want)
	}
	for _, part := range []string{" = anec.sdpa(", "{subtract_max = true} : fp16[1,1,8,197,64]", "output %attn\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
}

// Weights go into the file, and floats become bits.
func TestBuildUnits(t *testing.T) {
	b := New("g")
	x := b.Input("x", tensor.Float16, 1, 4, 8, 8)
	filter := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4, 1, 1)
	conv := b.Unit("conv", "Conv", Params{"Kernel": filter, "Step": []int{2, 2}}, x)
	goc := b.Unit("goc", "GOC", Params{"Bias": tensor.Of([]float32{1, 2}, 2), "ScaleScalar": 0.5}, conv)
	relu := b.Unit("relu", "Neuron", Params{"Type": "ClampedReLU", "ReluMin": -1.0, "ReluMax": 6.0}, goc)
	b.Output(relu, conv)
	const want = `graph g
input %x : fp16[1,1,4,8,8]
const %conv-1.w : fp16[2,1,4,1,1] {data = [1, 2, 3, 4, 5, 6, 7, 8]SUM
const %goc.bias : fp32[1,1,2,1,1] {data = [0.5, 1]}
%conv = anec.convolution(%x, %conv-1.w) {strides = [2, 2]} : fp16[1,1,2,4,4] @conv-1
%goc = anec.gain_offset_control(%conv, _, %goc.bias) {scale = 0.5} : fp16[1,1,2,4,4]
%relu = anec.neuron(%goc) {type = clip, a = -1, b = 6} : fp16[1,1,2,4,4] @relu-1
output %relu
output %conv
`
	if got := anec.Print(buildGraph(t, b)); !matches(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBuilderErrors(t *testing.T) {
	for want, author := range map[string]func(b *Builder, x Node){
		`two nodes "x"`:             func(b *Builder, _ Node) { b.Output(b.Input("x", tensor.Float16, 1)) },
		`has no output`:             func(b *Builder, x Node) {},
		`no layer kind`:             func(b *Builder, x Node) { b.Output(b.Unit("y", "Nothing", nil, x)) },
		`not of this list`:          func(b *Builder, x Node) { b.Output(b.Unit("y", "Softmax", nil, Node{})) },
		`key Params.Dimension`:      func(b *Builder, x Node) { b.Output(b.Unit("y", "Softmax", nil, x)) },
		`a chan int has no form`:    func(b *Builder, x Node) { b.Output(b.Unit("y", "Softmax", Params{"Dimension": make(chan int)}, x)) },
		`want 1 or more`:            func(b *Builder, x Node) { b.Input("z", tensor.Float16, 0) },
		`constant "c": there is no`: func(b *Builder, x Node) { b.Output(b.Unit("y", "NeuronCustom", nil, x, b.Const("c", nil))) },
		`key Kernel: a *tensor.`:    func(b *Builder, x Node) { b.Output(b.Unit("y", "Conv", Params{"Kernel": (*tensor.Tensor)(nil)}, x)) },
		`extents [4] has no place`:  func(b *Builder, x Node) { b.Unit("y", "GOC", Params{"Offset": tensor.New(tensor.Float16, 4)}, x) },
	} {
		b := New("g")
		author(b, b.Input("x", tensor.Float16, 1, 4, 8, 8))
		if _, _, err := b.Build(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	b := New("g")
	b.Output(b.Unit("y", "InputView", Params{"Dimension": "Width", "Offset": 3, "Size": 9}, b.Input("x", tensor.Float16, 1, 4, 8, 8)))
	_, _, err := b.Build()
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != InvalidInputViewSize || e.Unit != "y-1" {
		t.Errorf("%v", err)
	}
}

// The same calls make the same bytes, in whatever order a map gives the parameters.
func TestBuildTwice(t *testing.T) {
	build := func() []byte {
		b := New("g")
		goc := Params{"Scale": tensor.Of([]float32{1, 2, 3, 4}, 4), "Bias": tensor.Of([]float32{5, 6, 7, 8}, 4)}
		b.Output(b.Unit("y", "GOC", goc, b.Input("x", tensor.Float16, 1, 4, 8, 8)))
		_, files, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return files["g.weights"]
	}
	first := build()
	for range 64 {
		if !bytes.Equal(build(), first) {
			t.Fatal("two builds have different weights")
		}
	}
}
