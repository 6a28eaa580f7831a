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
var names = regexp.MustCompile(`( @\S+)|( source=\S+)`)

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
input %x fp16[2,1,8,16,16]
const %w fp16[8,1,4,3,3] data=splat(0.5)
const %b fp16[1,1,8,1,1] data=splat(0.25)
%y fp16[2,1,8,7,8] = Conv(%x, %w, %b) Kernel=[1,3,3] Stride=[1,2,2] Dilation=[1,1,2] PadBefore=[0,0,1] PadAfter=[0,0,2] Groups=2
output %y
---
input %x fp16[1,4,2,5,5]
const %w fp16[3,2,2,1,1] data=(1,2,3,4,5,6,7,8,9,10,11,12)
%y fp16[1,3,3,5,5] = Conv(%x, %w) Kernel=[2,1,1]
output %y
---
input %x fp16[1,1,8,4,4]
const %w fp16[8,1,6,3,3] data=splat(0.5)
%y fp16[1,1,6,8,8] = Conv(%x, %w) Kernel=[1,3,3] Stride=[1,2,2] PadBefore=[0,1,1] PadAfter=[0,1,1] Transposed=true OutputPad=[0,1,1]
output %y
---
input %x fp16[1,1,8,4,4]
const %w fp16[8,1,1,2,2] data=splat(1)
%y fp16[1,1,8,8,8] = Conv(%x, %w) Kernel=[1,2,2] Stride=[1,2,2] Groups=8 Transposed=true
output %y
---
input %x fp16[1,1,8,4,4]
input %w fp16[4,1,8,1,1]
%y fp16[1,1,4,4,4] = Conv(%x, %w)
output %y
---
input %x fp16[1,1,8,4,4]
const %w fp16[4,1,8,1,1] data=int8[4,1,8,1,1]:splat(3) scale=fp16[4,1,1,1,1]:splat(0.5)
const %b fp16[1,1,8,1,1] data=splat(1)
%z fp16[1,1,8,4,4] = GOC(%x, _, %b) Scale=0.3 Bias=0.1
%y fp16[1,1,4,4,4] = Conv(%z, %w)
output %y
output %z
---
input %x fp16[1,1,2,4,4]
const %s fp16[1,1,2,1,1] data=(2,0.1)
const %b fp16[1,1,2,1,1] data=(3,0.3)
const %z fp32[1,1,2,1,1] data=(0,2)
%p fp16[1,1,2,4,4] = GOC(%x, %s, %b)
%q fp16[1,1,2,4,4] = GOC(%p, %s) Bias=0.3
%r fp16[1,1,2,4,4] = GOC(%q, %z, %b) Scale=2
%t fp16[1,1,2,4,4] = GOC(%r) Scale=34 Bias=67
%u fp16[1,1,2,4,4] = GOC(%t) Bias=0.5
%v fp16[1,1,2,4,4] = GOC(%u) Scale=0 Bias=0.5
%y fp16[1,1,2,4,4] = GOC(%v, _, %b) Scale=4
output %y
---
input %x fp16[1,1,8,4,4]
const %s fp16[1,1,8,1,1] data=splat(0.1)
%a fp16[1,1,8,4,4] = Neuron(%x, %s) Type=prelu
%b fp16[1,1,8,4,4] = Neuron(%a) Type=clamped_relu A=0.1 B=6
%c fp16[1,1,8,4,4] = Neuron(%b) Type=clamped_relu A=0.25 B=6
%d fp16[1,1,8,4,4] = Neuron(%c) Type=clip A=-0.1 B=0.3
%e fp16[1,1,8,4,4] = Neuron(%d) Type=swish A=1
%f fp16[1,1,8,4,4] = Neuron(%e) Type=swish A=1.7
%g fp16[1,1,8,4,4] = Neuron(%f) Type=softplus A=1 B=2
%h fp16[1,1,8,4,4] = Neuron(%g) Type=sigmoid_hard A=0.2 B=0.5
%i fp16[1,1,8,4,4] = Neuron(%h) Type=log2 A=1e-05
%y fp16[1,1,8,4,4] = Neuron(%i) Type=elu A=0.7
output %y
---
input %x fp16[1,1,8,4,4]
input %z fp16[1,1,8,4,4]
%a bool[1,1,8,4,4] = ElementWise(%x, %z) Type=LessThan
%b bool[1,1,8,4,4] = ElementWise(%a, %a) Type=Xor
%c fp16[1,1,8,4,4] = Select(%b, %x, %z)
%y fp16[1,1,8,4,1] = Reduction(%c) Type=LogSumExp Axes=W
output %y
---
input %x fp16[1,1,2,16,64]
%v fp16[1,1,2,16,64], %i int32[1,1,2,16,64] = Sort(%x) Axis=W Results=Both
%y int32[1,1,2,16,64] = ElementWise(%i, %i) Type=Add
output %y
output %v
---
input %x fp16[1,1,2,3,4]
input %z fp16[1,1,2,4,5]
%y fp16[1,1,2,3,5] = MatrixMultiplication(%x, %z)
output %y
---
input %x fp16[1,1,2,4,3]
input %z fp16[1,1,2,5,4]
%y fp16[1,1,2,3,5] = MatrixMultiplication(%x, %z) TransposeX=true TransposeZ=true
output %y
---
input %q fp16[1,1,8,7,16]
input %k fp16[1,1,8,9,16]
input %v fp16[1,1,8,9,16]
input %mask fp16[1,1,1,7,9]
const %scale fp16[1,1,1,1,1] data=splat(0.25)
%attn fp16[1,1,8,7,16] = SDPA(%q, %k, %v, %scale, %mask) SubtractMax=true
output %attn
---
input %u fp16[1,1,8,4,16]
state %s fp16[1,1,8,16,16] -> %t
%t fp16[1,1,8,16,16] = RingBufferWriter(%s, %u) Offset=[0,0,0,2,0]
%y fp16[1,1,8,4,16] = RingBufferReader(%t) Size=[1,1,8,4,16] Circular=H
output %y
---
input %x fp16[1,1,1,4,4]
%y fp16[1,1,1,4,4] = Copy(%x)
output %y
output %x
---
input %x fp16[1,1,8,4,4]
const %g fp16[1,1,8,1,1] data=splat(0.1)
%a fp16[1,1,8,4,4] = InstanceNormalization(%x, _, %g) Axes=HW Epsilon=1e-05
%b fp16[1,1,8,4,4] = LayerNormalization(%a) Axes=CH Epsilon=1e-05 Groups=2
%c int8[1,1,8,4,4] = Pooling(%b) OutputType=int8 Type=Avg Kernel=[1,2,2] PadAfter=[0,1,1] ExcludePad=true
%y fp16[1,1,8,4,4] = TypeCast(%c) To=fp16
output %y
---
input %x fp16[1,1,8,4,4]
input %c fp16[1,1,2,5,6]
input %i fp16[1,1,1,1,2]
%a fp16[1,1,8,5,6] = Resample(%x, %c) Method=NearestNeighbor Coordinate=NormalizedUnit Padding=Replication AlignCorners=true
%b fp16[1,1,8,2,3] = DynamicSlice(%a, %i) Axes=[H,W] Sizes=[2,3] Background=0.5 FromEnd=true
%c2 fp16[1,1,8,3,2] = Transpose(%b) Perm=[N,D,C,W,H]
%y fp16[1,1,8,6,4] = Resize(%c2) Scale=[2,2] Grid=UnalignedCorners Rounding=floor
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
