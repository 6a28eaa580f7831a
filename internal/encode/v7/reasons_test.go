package v7_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	v7 "github.com/espalier-ane/espalier/internal/encode/v7"
	"github.com/espalier-ane/espalier/internal/segment"
)

// Small graphs whose last layer H13's encoder declines: by which ID, and in which words.
var declined = []struct {
	id    diag.ID
	graph string
	lay   func(*segment.Choice) // how its values lie, if otherwise than ports do; what the numerics ask for
	words []string
}{
	{
		id: diag.NativeKind, graph: `
input %x : fp16[1,1,8,4,4]
%y = anec.lrn(%x) {size = 3} : fp16[1,1,8,4,4]`,
		words: []string{"no operation", "LocalResponseNormalization"},
	},
	{
		id: diag.NativeType, graph: `
input %x : fp32[1,1,8,4,4]
%y = anec.sigmoid(%x) : fp32[1,1,8,4,4]`,
		words: []string{`"x"`, "limit fp16", "found fp32"},
	},
	{
		id: diag.NativeDepth, graph: `
input %x : fp16[1,2,1,4,4]
const %w : fp16[1,1,1,1,3] {data = splat(1)}
%y = anec.convolution(%x, %w) {kernel_sizes = [1, 3]} : fp16[1,2,1,4,2]`,
		words: []string{`"x" has depth`, "limit 1, found 2"},
	},
	{
		id: diag.NativeState, graph: `
input %x : fp16[1,1,1,8,4]
state %s : fp16[1,1,1,8,4] -> %y
%y = anec.add(%x, %s) : fp16[1,1,1,8,4]`,
		words: []string{`"s" lies in a state`, "no recorded program"},
	},
	{
		id: diag.NativeLayout, graph: `
input %x : fp16[1,1,1,8,4]
%y = anec.sigmoid(%x) : fp16[1,1,1,8,4]`,
		lay: func(c *segment.Choice) {
			x := c.Graph.Inputs[0]
			at := c.Spots[x]
			at.Strides[anec.H] = 100
			c.Spots[x] = at
		},
		words: []string{"Row: ", `"x" has a stride along H`, "limit multiples of 64, found 100"},
	},
	{
		id: diag.NativeOperand, graph: `
input %x : fp16[1,1,8,4,4]
input %i : int32[1,1,1,1,2]
%y = anec.gather(%x, %i) {axes = [W]} : fp16[1,1,8,4,2]`,
		words: []string{"the indices are known when the program runs"},
	},
	{
		id: diag.NativeConstant, graph: `
input %x : fp16[1,1,1,4,4]
const %w : fp32[1,1,1,1,3] {data = splat(0.1)}
%y = anec.convolution(%x, %w) {kernel_sizes = [1, 3]} : fp16[1,1,1,4,2]`,
		words: []string{`"w"`, "limit fp16, found 0.1"},
	},
	{
		id: diag.NativeFunction, graph: `
input %x : fp16[1,1,8,4,4]
%y = anec.atan(%x) : fp16[1,1,8,4,4]`,
		words: []string{"no table", "atan"},
	},
	{
		id: diag.NativeFunction, graph: `
input %x : fp16[1,1,8,4,4]
%y = anec.clamped_relu(%x) {a = -0.5, b = 6} : fp16[1,1,8,4,4]`,
		words: []string{"clamped_relu", "limit >= 0, found -0.5"},
	},
	{
		id: diag.NativeEpilogue, graph: `
input %x : fp16[1,1,8,4,4]
%y = anec.softmax(%x) {axes = W} | transpose NDHCW : fp16[1,1,4,8,4]`,
		words: []string{"transposed ([N D H C W])"},
	},
	{
		id: diag.NativeWindow, graph: `
input %x : fp16[1,1,1,1,21]
const %w : fp16[1,1,1,1,9] {data = splat(1)}
%y = anec.convolution(%x, %w) {kernel_sizes = [1, 9], strides = [1, 2]} : fp16[1,1,1,1,7]`,
		words: []string{"KernelWidth: ", "more columns", "limit 7, found 9"},
	},
	{
		id: diag.NativeWindow, graph: `
input %x : fp16[1,1,2,20,8]
const %w : fp16[2,1,2,16,1] {data = splat(1)}
%y = anec.convolution(%x, %w) {kernel_sizes = [16, 1]} : fp16[1,1,2,5,8]`,
		words: []string{"KernelHeight: ", "more rows", "limit 15, found 16"},
	},
	{
		id: diag.NativeAxes, graph: `
input %x : fp16[1,1,8,4,4]
%y = anec.softmax(%x) {axes = CH} : fp16[1,1,8,4,4]`,
		words: []string{"softmax", "limit 1 axis, found CH"},
	},
	{
		id: diag.NativeSize, graph: `
input %x : fp16[300,1,1,1,4]
const %w : fp16[1,1,1,1,3] {data = splat(1)}
%y = anec.convolution(%x, %w) {kernel_sizes = [1, 3]} : fp16[300,1,1,1,2]`,
		words: []string{"batch", "limit 256, found 300"},
	},
	{
		id: diag.NativeRoom, graph: `
input %x : fp16[1,1,64,128,256]
%y = anec.layer_norm(%x) {axes = CHW, epsilon = 0.001} : fp16[1,1,64,128,256]`,
		words: []string{"one mean", "limit 2097152, found 41"},
	},
	{
		id: diag.NativeTasks, graph: `
input %x : fp16[1,1,1,800,4]
const %i : int32[1,1,1,800,1] {data = [` + zigzag(800) + `]}
%y = anec.gather(%x, %i) {axes = [H]} : fp16[1,1,1,800,4]`,
		words: []string{"too many tasks", "limit 256"},
	},
	{
		id: diag.NativeNumerics, graph: `
input %x : fp16[1,1,8,4,4]
%y = anec.sigmoid(%x) : fp16[1,1,8,4,4]`,
		lay:   func(c *segment.Choice) { c.ExactFunctions = true },
		words: []string{"NonLinear: ", "table"},
	},
	{
		id: diag.NativeNumerics, graph: `
input %x : fp16[1,1,8,4,4]
%y = anec.layer_norm(%x) {axes = W, epsilon = 1e-09} : fp16[1,1,8,4,4]`,
		words: []string{"Epsilon: ", "found 1e-09"},
	},
	{
		id: diag.NativeRecord, graph: `
input %x : fp16[1,1,2,4,4]
const %w : fp16[4,1,1,1,1] {data = splat(2)}
%y = anec.convolution(%x, %w) {groups = 2} : fp16[1,1,4,4,4]`,
		words: []string{"Groups: ", "no recorded program"},
	},
	{
		id: diag.NativeWords, graph: `
input %x : fp16[1,1,1,1,40000]
%y = anec.sigmoid(%x) : fp16[1,1,1,1,40000]`,
		words: []string{"Common.Win: ", "15 bits", "limit 32767, found 40000"},
	},
	{
		id: diag.NativeOverlap, graph: `
input %x : fp16[1,1,1,8,4]
%y = anec.sigmoid(%x) : fp16[1,1,1,8,4]`,
		lay: func(c *segment.Choice) {
			at := c.Spots[c.Graph.Inputs[0]]
			at.Offset += 64
			c.Spots[c.Graph.Outputs[0]] = at
		},
		words: []string{`"y" lies where "x" does`},
	},
}

// zigzag are indices of which no two neighbours go on as the two before.
func zigzag(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint((i*i/2 + i%3) % n)
	}
	return strings.Join(list, ",")
}

// What the encoder declines it declines with a reason, whose ID has a row, and which says what the limit is and what was found.
// Every ID of the encoding is shown.
func TestReasons(t *testing.T) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[diag.ID]bool{}
	for _, c := range declined {
		err := why(t, target, c.graph, c.lay)
		reason, ok := errors.AsType[*diag.Reason](err)
		switch {
		case !ok:
			t.Errorf("%s%s\nis not declined with a reason: %v", c.id, c.graph, err)
			continue
		case reason.ID != c.id:
			t.Errorf("%s%s\nis declined by %s: %v", c.id, c.graph, reason.ID, reason)
		}
		for _, words := range c.words {
			if !strings.Contains(reason.Error(), words) {
				t.Errorf("%s%s\nis declined without the words %q: %v", c.id, c.graph, words, reason)
			}
		}
		shown[reason.ID] = true
	}
	for _, r := range diag.Rows() {
		if r.Group == diag.Encoding && !shown[r.ID] {
			t.Errorf("no graph shows %s", r.ID)
		}
	}
}

// why is why H13 has no tasks for the last layer of a graph.
func why(t *testing.T, target *hal.Target, text string, lay func(*segment.Choice)) error {
	t.Helper()
	name := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "%") {
			name = strings.Fields(line)[0]
		}
	}
	g, err := anec.Parse("graph g"+text+"\noutput "+name+"\n", nil)
	if err != nil {
		t.Fatalf("%v:%s", err, text)
	}
	s := &segment.Segment{Target: target, Graph: g}
	s.BeginMemory()
	y := g.Outputs[0]
	c := &segment.Choice{Segment: s, Layers: []*anec.Layer{y.Def}, IsView: segment.IsView, Spots: map[*anec.Value]segment.Spot{}}
	for _, v := range slices.Concat(g.Inputs, y.Def.Reads(), y.Def.Tops) {
		if v.Const != nil {
			continue
		}
		at := segment.Spot{Buffer: s.NewBuffer(segment.InPort)}
		at.Strides, at.Buffer.Size = segment.PortLayout(v.Type, target)
		if len(g.States) > 0 && v.Def == nil && !slices.Contains(g.Inputs, v) {
			at.Buffer.State = g.States[0]
		}
		c.Spots[v] = at
	}
	if lay != nil {
		lay(c)
	}
	own := v7.New(target)
	tasks, err := own.Choose(c)
	if err != nil {
		return err
	}
	return own.Fits(c, tasks)
}

// What Takes declines before anything lies anywhere, it declines with a reason too.
func TestTakes(t *testing.T) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]diag.ID{
		"input %x : fp16[1,1,1,8,4]\n%y = anec.sigmoid(%x) : fp16[1,1,1,8,4]":                                   "",
		"input %x : fp16[1,1,1,8,4]\n%y = anec.lrn(%x) {size = 3} : fp16[1,1,1,8,4]":                            diag.NativeKind,
		"input %x : fp16[1,2,1,8,4]\n%y = anec.sigmoid(%x) : fp16[1,2,1,8,4]":                                   diag.NativeDepth,
		"input %x : fp32[1,1,1,8,4]\n%y = anec.sigmoid(%x) : fp32[1,1,1,8,4]":                                   diag.NativeType,
		"state %s : fp16[1,1,1,8,4] -> %y\ninput %x : fp16[1,1,1,8,4]\n%y = anec.add(%x, %s) : fp16[1,1,1,8,4]": diag.NativeState,
		"state %s : fp16[1,1,1,8,4] -> %s\ninput %x : fp16[1,1,1,8,4]\n%y = anec.add(%x, %s) : fp16[1,1,1,8,4]": "",
	} {
		g, err := anec.Parse("graph g\n"+text+"\noutput %y\n", nil)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		err = v7.New(target).Takes(&segment.Segment{Target: target, Graph: g}, g.Outputs[0].Def)
		var id diag.ID
		if reason, ok := errors.AsType[*diag.Reason](err); ok {
			id = reason.ID
		}
		if id != want || (err == nil) != (want == "") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
