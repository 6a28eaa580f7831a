package netplist

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
)

// The sequence of the unit lies along C, that of the layer along H.
func TestAttentionList(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "attention.plist"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	procs, findings, err := f.Procedures(openIn(map[string][]byte{"weights.1": {0x00, 0x38}})) // 0.5; nothing reads weights.0
	if err != nil {
		t.Fatal(err)
	}
	const want = `graph attend
input %q : fp16[1,1,5,2,4]
input %k : fp16[1,1,7,2,4]
input %v : fp16[1,1,7,2,4]
const %scale : fp16[1,1,1,1,1] {data = [0.5], source = weights.1+0}
%attn.q = anec.transpose(%q) {perm = [N, D, H, C, W]} : fp16[1,1,2,5,4]
%attn.k = anec.transpose(%k) {perm = [N, D, H, C, W]} : fp16[1,1,2,7,4]
%attn.v = anec.transpose(%v) {perm = [N, D, H, C, W]} : fp16[1,1,2,7,4]
%attn.y = anec.sdpa(%attn.q, %attn.k, %attn.v, %scale) : fp16[1,1,2,5,4] @attn
%y = anec.transpose(%attn.y) {perm = [N, D, H, C, W]} : fp16[1,1,5,2,4] @attn.y_1
output %y
`
	if got := anec.Print(procs[0].Graph); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var ids []diag.ID
	for _, f := range findings {
		ids = append(ids, f.ID)
	}
	if len(ids) != 2 || ids[0] != diag.NetplistKey || ids[1] != diag.NetplistSubtractMax || !strings.Contains(findings[0].Text, "Params.Colour") {
		t.Errorf("%v", findings)
	}
	if g := again(t, f, XML); g.Networks[0].Units[0].Params["Colour"] != "red" {
		t.Errorf("a key was lost: %v", g.Networks[0].Units[0].Params)
	}
}

// one is a list of one unit that reads x, fp16[1,1,4,8,8].
func one(u *Unit) *File {
	u.Name = "u"
	n := &Network{
		Name: "net", Units: []*Unit{u}, Weights: []string{"w"}, Inputs: []*Port{{Symbol: "x", Dims: Dims{1, 1, 4, 8, 8}}},
		Outputs: []*Port{{Symbol: "y", Bottom: "u"}},
	}
	return &File{Version: "1.0.9", Networks: []*Network{n}}
}

func TestUnitErrors(t *testing.T) {
	x := []string{"x"}
	for _, c := range []struct {
		unit *Unit
		code Code
		text string
	}{
		{&Unit{Type: "Reverse", Bottom: x}, InvalidUnit, `network "net", unit "u", key Type: InvalidUnit: found "Reverse"`},
		{&Unit{Type: "Copy", Bottom: x}, InvalidUnit, `found "Copy"`},
		{&Unit{Type: "Softmax", Bottom: []string{"z"}, Params: Dict{"Dimension": "Width"}}, InvalidUnit, `key Bottom: InvalidUnit: nothing is called "z"`},
		{&Unit{Type: "Softmax", Bottom: []string{"u"}, Params: Dict{"Dimension": "Width"}}, InvalidUnit, `it reads what it makes`},
		{&Unit{Type: "Softmax", Bottom: []string{"x", "x"}, Params: Dict{"Dimension": "Width"}}, InvalidBottomCount, `found 2 bottoms of a Softmax, want x`},
		{&Unit{Type: "Softmax", Bottom: x}, InvalidParamSyntax, `key Params.Dimension: InvalidParamSyntax: it is not there`},
		{&Unit{Type: "Softmax", Bottom: x, Params: Dict{"Dimension": "W"}}, InvalidParamSyntax, `found the string "W", want one of Batch, Depth`},
		{&Unit{Type: "Neuron", Bottom: x, Params: Dict{"Type": "Relu"}}, InvalidParamSyntax, `found the string "Relu", want one of ReLU, ClampedReLU`},
		{&Unit{Type: "GOC", Bottom: x, Params: Dict{"ScaleScalar": 0.5}}, InvalidParamSyntax, `key Params.ScaleScalar: InvalidParamSyntax: found the real 0.5, want the bits of an fp16`},
		{&Unit{Type: "GOC", Bottom: x, Params: Dict{"BiasScaleGroupData": Dict{"ScaleCount": int64(4), "BiasCount": int64(3)}}}, InvalidParamSyntax,
			`key Params.BiasScaleGroupData.BiasCount: InvalidParamSyntax: found 3, and ScaleCount is 4`},
		{&Unit{Type: "Conv", Bottom: x, OutputChannels: 4, Params: Dict{"KernelIndex": int64(1)}}, InvalidParamSyntax, `weights file 1 of 1`},
		{&Unit{Type: "Conv", Bottom: x, OutputChannels: 4}, InvalidParamSyntax, `fp16 [4 1 4 1 1] at byte 0 of "w", which has 8`},
		{&Unit{Type: "Conv", Bottom: x, OutputChannels: 1, Params: Dict{"KernelOffset": int64(1)}}, InvalidParamSyntax, `at byte 1 of "w"`},
		{&Unit{Type: "Conv", Bottom: x, OutputChannels: 1, Params: Dict{"KernelMode": "Sparse"}}, InvalidParamSyntax, `found the string "Sparse", want Dense or Unity`},
		{&Unit{Type: "Conv", Bottom: x}, InvalidParamSyntax, `key OutputChannels`},
		{&Unit{Type: "Conv", Bottom: x, OutputChannels: 1 << 30, Params: Dict{"KernelMode": "Unity"}}, InvalidParamSyntax, `all ones`},
		{&Unit{Type: "Conv", Bottom: x, OutputChannels: 3, NumGroups: 2}, InvalidParamSyntax, `key NumGroups`},
		{&Unit{Type: "InputView", Bottom: x, Params: Dict{"Dimension": int64(2), "Size": int64(1)}}, InvalidInputViewDimension, `key Params.Dimension`},
		{&Unit{Type: "InputView", Bottom: x, Params: Dict{"Dimension": "Width"}}, InvalidInputViewSize, `key Params.Size`},
		{&Unit{Type: "InputView", Bottom: x, Params: Dict{"Dimension": "Width", "Size": int64(1), "Offset": "0"}}, InvalidInputViewOffset, ``},
		{&Unit{Type: "InputView", Bottom: x, Params: Dict{"Dimension": "Width", "Size": int64(1), "Step": true}}, InvalidInputViewStep, ``},
		{&Unit{Type: "Transpose", Bottom: x, Params: Dict{"TransposeDimensions": []any{Dict{
			"TransposeSourceDimension": "Width", "TransposeDestinationDimension": "Height"}}}}, InvalidParamSyntax, `an axis is the source of two`},
		{&Unit{Type: "CostVolume", Bottom: []string{"x", "x"}, Params: Dict{"DisparityRange": int64(1), "ScaleFactorX": 2.0}}, InvalidParamSyntax, `no source says`},
		{&Unit{Type: "Softmax", Bottom: x, OutputType: "Half", Params: Dict{"Dimension": "Width"}}, InvalidParamSyntax, `key OutputType`},
		{&Unit{Type: "Softmax", Bottom: x, OutputType: "Int8", Params: Dict{"Dimension": "Width"}, OutputChannels: 4}, "", ``},
	} {
		_, _, err := one(c.unit).Procedures(openIn(map[string][]byte{"w": make([]byte, 8)}))
		e, ok := errors.AsType[*Error](err)
		if c.code == "" && err == nil {
			continue
		}
		if !ok || e.Code != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v\nwant %s, %s", err, c.code, c.text)
		}
	}
}

func TestPortErrors(t *testing.T) {
	for want, edit := range map[string]func(n *Network){
		"neither an output nor a state": func(n *Network) { n.Outputs = nil },
		"an interleave of -1":           func(n *Network) { n.Inputs[0].Interleave = -1 },
	} {
		f := one(&Unit{Type: "Dropout", Bottom: []string{"x"}})
		edit(f.Networks[0])
		if _, _, err := f.Procedures(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Step is along W, H and D, in this order, read and written.
func TestStepOrder(t *testing.T) {
	for want, step := range map[string][]any{"strides = [1, 2]": {int64(2), int64(1)}, "strides = [3, 1, 2]": {int64(2), int64(1), int64(3)}} {
		u := &Unit{Type: "Conv", Bottom: []string{"x"}, OutputChannels: 2, Params: Dict{"KernelMode": "Unity", "Step": step}}
		procs, _, err := one(u).Procedures(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := anec.Print(procs[0].Graph); !strings.Contains(got, want) {
			t.Errorf("Step %v gives\n%s, want %s", step, got, want)
		}
		f, _, _, err := FromGraphs([]*anec.Graph{procs[0].Graph})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Networks[0].Units[0].Params["Step"]; !reflect.DeepEqual(got, step) {
			t.Errorf("Step %v is written as %v", step, got)
		}
	}
}

// A name that stands in two lists, or twice in one, is said to: it is described.
func TestListedTwice(t *testing.T) {
	const list = `<plist><dict><key>Version</key><string>1.0.9</string><key>Networks</key><array><string>net</string></array><key>net</key><dict>
<key>Units</key><array><string>u</string>%s</array><key>u</key><dict><key>Type</key><string>Dropout</string></dict></dict></dict></plist>`
	for more, want := range map[string]string{"<string>u</string>": "listed twice", "<string>v</string>": "not described"} {
		if _, err := Read(fmt.Appendf(nil, list, more)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestVersions(t *testing.T) {
	u := func() *Unit { return &Unit{Type: "Dropout", Bottom: []string{"x"}} }
	for version, want := range map[string]string{"1.0.9": "", "1.0.10": "", "1.0.11": "schema", "2.0": "schema", "": "a version such as", "1.0.x": "a version such as"} {
		f := one(u())
		f.Version = version
		_, _, err := f.Procedures(nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// Strides that a list asks of its ports are kept for who lays them out.
func TestPortStrides(t *testing.T) {
	f := one(&Unit{Type: "Dropout", Bottom: []string{"x"}})
	f.Networks[0].Inputs[0].Strides = Strides{Plane: 1024, Row: 128}
	f.Networks[0].Outputs[0].Strides = Strides{Row: 64}
	f.Networks[0].Outputs[0].Interleave = 4
	procs, _, err := f.Procedures(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := procs[0].Graph
	if g.Ports["x"] != (anec.PortStrides{0, 0, 1024, 128}) || g.Ports["y"] != (anec.PortStrides{0, 0, 0, 64}) || g.Outputs[0].Type.Interleave != 4 {
		t.Errorf("%v, %v", g.Ports, g.Outputs[0].Type)
	}
	again, _ := throughList(t, g, XML)
	if again.Ports["x"] != g.Ports["x"] || again.Ports["y"] != g.Ports["y"] {
		t.Errorf("%v", again.Ports)
	}
}

// Several procedures, one of two networks that run one after the other.
func TestProcedures(t *testing.T) {
	relu := func(name, bottom string) *Unit {
		return &Unit{Name: name, Type: "Neuron", Bottom: []string{bottom}, Params: Dict{"Type": "ReLU"}}
	}
	in := []*Port{{Symbol: "x", Dims: Dims{1, 1, 2, 2, 2}, Operation: "a"}}
	f := &File{Version: "1.0.10", Networks: []*Network{
		{Name: "first", Units: []*Unit{relu("r", "x")}, Outputs: []*Port{{Symbol: "t", Bottom: "r", Unlisted: true}}},
		{Name: "second", Units: []*Unit{relu("s", "t")}},
	}, ProcedureList: []*Entry{
		{Name: "both", Inputs: in, Operations: []Operation{{Name: "a", Network: "first"}, {Name: "b", Network: "second"}}, Outputs: []*Port{{Symbol: "y", Unit: "s", Operation: "b"}}},
		{Name: "one", Inputs: in, Operations: []Operation{{Name: "a", Network: "first"}}, Outputs: []*Port{{Symbol: "t", Unit: "r"}, {Symbol: "u", Unit: "r"}}},
	}}
	procs, findings, err := f.Procedures(nil)
	if err != nil || len(findings) > 0 {
		t.Fatal(findings, err)
	}
	got := anec.Print(procs[0].Graph) + anec.Print(procs[1].Graph)
	const want = `graph both
input %x : fp16[1,1,2,2,2]
%r = anec.relu(%x) : fp16[1,1,2,2,2]
%y = anec.relu(%r) : fp16[1,1,2,2,2] @s
output %y
graph one
input %x : fp16[1,1,2,2,2]
%t = anec.relu(%x) : fp16[1,1,2,2,2] @r
%u = anec.copy(%t) : fp16[1,1,2,2,2]
output %t
output %u
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
