package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	v256 "github.com/espalier-ane/espalier/internal/encode/v256"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// Every kind becomes a task, or there is a reason why not; a reason that names a pass names one of the table.
func TestEveryKindEmits(t *testing.T) {
	names := map[string]bool{}
	for _, p := range Passes() {
		names[p.Name] = true
	}
	for _, k := range anec.Kinds() {
		why := k.Info().NoTask
		if emits := v256.Emits(k); emits != (why == "") {
			t.Errorf("%v: it has an emitter: %t; a reason why it has none: %q", k, emits, why)
		}
		if rest, ok := strings.CutPrefix(why, "pass "); ok {
			if name, _, _ := strings.Cut(rest, " "); !names[name] {
				t.Errorf("%v: there is no pass %q", k, name)
			}
		}
	}
}

// Every class of version 256 has a kind that becomes it.
func TestEveryClassIsEmitted(t *testing.T) {
	kinds := map[td.Class]bool{}
	for _, k := range anec.Kinds() {
		if v256.Emits(k) {
			kinds[k.Info().Class] = true
		}
	}
	for _, c := range td.OpClasses() {
		if !kinds[c] {
			t.Errorf("no layer becomes class %v", c)
		}
	}
}

// What cannot be said is refused by the name of the layer and the operations that it stands for.
func TestEmitRefusals(t *testing.T) {
	const head = "graph g\ninput %x : fp16[1,1,4,8,8]\n"
	const tail = " @layer from op\noutput %y\n"
	for _, c := range []struct{ layer, want string }{
		{"%y = anec.dropout(%x) {rate = 0.5} : fp16[1,1,4,8,8]", "rate 0.5"},
		{"%y = anec.neuron(%x) {type = degamma} : fp16[1,1,4,8,8]", "what degamma computes is not known"},
		{"%y = anec.copy(%x) | post gamma : fp16[1,1,4,8,8]", "what gamma computes is not known"},
		{"%y = anec.reduction(%x) {type = SatSub, axes = W} : fp16[1,1,4,8,1]", "what SatSub computes is not known"},
		{"%y = anec.resize(%x) {size = [4, 4], grid = OffsetDefault} : fp16[1,1,4,4,4]", "what OffsetDefault computes is not known"},
		{"%y = anec.cast(%x) {to = int4} : int4[1,1,4,8,8]", "results of int4 share bytes"},
		{"%y = anec.plane_reader(%x) : fp16[1,1,4,8,8]", "becomes no task: what it reads is not known"},
	} {
		s := legal(t, parseGraph(t, head+c.layer+tail), 0)
		planApart(t, s)
		err := emitApart(s)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "[from op]") {
			t.Errorf("%s: %v; want %q", c.layer, err, c.want)
		}
	}
}

// All refusals of a segment come at once, and their operations are refused together.
func TestEmitRefusesAllAtOnce(t *testing.T) {
	s := legal(t, parseGraph(t, `graph g
input %x : fp16[1,1,4,8,8]
%a = anec.neuron(%x) {type = degamma} : fp16[1,1,4,8,8] @first from a
%b = anec.relu(%x) : fp16[1,1,4,8,8] @second from b
%y = anec.plane_reader(%b) : fp16[1,1,4,8,8] @third from c
output %a
output %y
`), 0)
	planApart(t, s)
	before := &diag.Finding{ID: diag.NoTask, Text: "known before"}
	refused := map[string]*diag.Finding{"a": before}
	if err := fmt.Errorf("segment: %w", emitApart(s)); !refuse(refused, err) || refuse(refused, err) {
		t.Errorf("%v: want that it names an operation that is new, once", err)
	}
	if refused["a"] != before || refused["b"] != nil || refused["c"] == nil || refused["c"].ID != diag.NoTask || !strings.Contains(refused["c"].Text, "no task") {
		t.Errorf("refused are %v, want a as before, and c", refused)
	}
	if refuse(refused, errors.New("no layer is to blame")) {
		t.Error("an error about no layer refuses an operation")
	}
}

const twoPorts = `graph g
input %x : fp16[2,3,1,1,2]
input %u : fp16[1,1,1,1,2]
state %s : fp16[1,1,1,1,4] -> %t
const %c : fp16[1,1,1,1,2] {data = [1, 2]}
%t = anec.ring_buffer_writer(%s, %u) : fp16[1,1,1,1,4]
%a = anec.less(%x, %c) : bool[2,3,1,1,2]
%y = anec.select(%a, %x, %c) : fp16[2,3,1,1,2]
output %y
output %a
`

// The bytes of a container go by the graph alone, not by the order in which it is stored.
func TestContainerBytes(t *testing.T) {
	var first []byte
	for seed := uint64(1); seed < 5; seed++ {
		g := parseGraph(t, twoPorts)
		s := legal(t, g, seed)
		anec.Shuffle(g, rand.New(rand.NewPCG(seed, seed)))
		emitted(t, s)
		data, err := s.File.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(data, first) {
			t.Errorf("seed %d: other bytes", seed)
		}
	}
}

// Ports have the order of the plan; batch and depth are one axis; a state is one port for both directions.
func TestContainerPorts(t *testing.T) {
	s := legal(t, parseGraph(t, twoPorts), 0)
	emitted(t, s)
	ports, err := s.File.Ports()
	if err != nil {
		t.Fatal(err)
	}
	boolean, err := hwx.ElementOf(s.Plan.Ports[4].Value.Type.DType)
	if err != nil {
		t.Fatal(err)
	}
	want := []hwx.Port{
		{Name: "x", Direction: hwx.In, Element: hwx.ElementFloat16, Shape: [4]int{6, 1, 1, 2}},
		{Name: "u", Direction: hwx.In, Element: hwx.ElementFloat16, Shape: [4]int{1, 1, 1, 2}},
		{Name: "s", Direction: hwx.InOut, Element: hwx.ElementFloat16, Shape: [4]int{1, 1, 1, 4}},
		{Name: "out0", Direction: hwx.Out, Element: hwx.ElementFloat16, Shape: [4]int{6, 1, 1, 2}},
		{Name: "out1", Direction: hwx.Out, Element: boolean, Shape: [4]int{6, 1, 1, 2}},
	}
	if len(ports) != len(want) {
		t.Fatalf("%d ports, want %d", len(ports), len(want))
	}
	for i, p := range ports {
		w := want[i]
		if p.Name != w.Name || p.Direction != w.Direction || p.Element != w.Element || p.Shape != w.Shape || p.Base != hwx.BasePorts+i {
			t.Errorf("port %d: %s %v %v %v at base %d, want %s %v %v %v", i, p.Name, p.Direction, p.Element, p.Shape, p.Base, w.Name, w.Direction, w.Element, w.Shape)
		}
	}
}

// A weight file is in a container that stands alone, as it is, and outside one of a bundle.
func TestContainerWeights(t *testing.T) {
	s := legal(t, parseGraph(t, `graph g
input %x : fp16[1,1,1,1,2]
const %w : fp16[1,1,1,1,2] {data = [3, 4]}
%y = anec.add(%x, %w) : fp16[1,1,1,1,2]
output %y
`), 0)
	planApart(t, s)
	w := s.Graph.Value("w")
	s.Weights = append(make([]byte, 64), w.Const.Stored.Bytes()...)
	place := s.Plan.Places[w]
	place.Region, place.Offset = segment.InWeights, 64
	s.Plan.Places[w], s.Plan.Constants = place, nil
	if err := emitApart(s); err != nil {
		t.Fatal(err)
	}
	alone, err := containerOf(s, true)
	if err != nil {
		t.Fatal(err)
	}
	if k := alone.KernelSections(); len(k) != 1 || &k[0].Data[0] != &s.Weights[0] {
		t.Error("the weights are not the kernel section, or were copied")
	}
	if err := emitContainer(s); err != nil {
		t.Fatal(err)
	}
	if e := s.File.External(); e == nil || e.Size != uint64(len(s.Weights)) || e.Data != nil {
		t.Errorf("the external section is %+v", e)
	}
}
