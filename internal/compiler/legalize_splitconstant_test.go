package compiler

import (
	"fmt"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// The parts of a constant, in whatever form it is stored, are the constant; where blocks would be cut there are none.
func TestPartsOfConstants(t *testing.T) {
	for _, c := range []struct {
		name, constant string
		axis           td.Axis
		spans          []span // nil: it has no parts of 3
	}{
		{"plain", "fp16[6,1,1,1,2] {data = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}", anec.N, []span{{0, 1}, {1, 3}, {4, 2}}},
		{"inner axis", "fp16[2,1,1,1,6] {data = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}", anec.W, []span{{0, 2}, {2, 4}}},
		{"halves of bytes", "fp16[6,1,1,1,1] {data = uint4[6,1,1,1,1]:[1, 2, 3, 4, 5, 6], scale = fp16[6,1,1,1,1]:[1, 2, 3, 4, 5, 6]}", anec.N, []span{{0, 3}, {3, 3}}},
		{"blocks", "fp16[6,1,1,1,1] {data = int8[6,1,1,1,1]:[1, 2, 3, 4, 5, 6], scale = fp16[3,1,1,1,1]:[1, 2, 4], offset = int8[3,1,1,1,1]:[0, 1, 2]}", anec.N, []span{{0, 2}, {2, 4}}},
		{"cut blocks", "fp16[6,1,1,1,1] {data = int8[6,1,1,1,1]:[1, 2, 3, 4, 5, 6], scale = fp16[3,1,1,1,1]:[1, 2, 4]}", anec.N, nil},
		{"tables", "fp16[6,1,1,1,1] {data = uint2[6,1,1,1,1]:[0, 1, 0, 1, 1, 0], table = fp16[2,1,1,1,1,2,1]:[1, 2, 3, 4]}", anec.N, []span{{0, 3}, {3, 3}}},
		{"one table", "fp16[6,1,1,1,1] {data = uint2[6,1,1,1,1]:[0, 1, 0, 1, 1, 0], table = fp16[1,1,1,1,1,2,1]:[1, 2]}", anec.N, []span{{0, 5}, {5, 1}}},
		{"vectors", "fp16[6,1,1,1,1] {data = uint2[3,1,1,1,1]:[0, 1, 0], table = fp16[1,1,1,1,1,2,2]:[1, 2, 3, 4], vector = N}", anec.N, []span{{0, 2}, {2, 4}}},
		{"scaled tables", "fp16[4,1,1,1,1] {data = uint2[4,1,1,1,1]:[0, 1, 0, 1], table = int8[2,1,1,1,1,2,1]:[1, 2, 3, 4], table_scale = fp16[2,1,1,1,1,1,1]:[2, 3]}", anec.N, []span{{0, 2}, {2, 2}}},
		{"mask of bits", "fp16[6,1,1,1,2] {data = int8[5]:[1, 2, 3, 4, 5], mask = uint1[6,1,1,1,2]:[0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1], scale = fp16[6,1,1,1,1]:[1, 2, 3, 4, 5, 6]}", anec.N, []span{{0, 3}, {3, 1}, {4, 2}}},
		{"mask of bytes", "fp16[4,1,1,1,1] {data = fp16[3]:[1, 2, 3], mask = bool[4,1,1,1,1]:[1, 0, 1, 1]}", anec.N, []span{{0, 1}, {1, 3}}},
		{"mask and table", "fp16[4,1,1,1,1] {data = uint2[3]:[0, 1, 0], mask = uint1[4,1,1,1,1]:[1, 1, 0, 1], table = fp16[1,1,1,1,1,2,1]:[5, 6]}", anec.N, []span{{0, 2}, {2, 2}}},
		{"mask, inner axis", "fp16[1,1,2,1,6] {data = fp16[6]:[1, 2, 3, 4, 5, 6], mask = uint1[1,1,2,1,6]:[1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1]}", anec.W, nil},
		{"mask that selects nothing", "fp16[6,1,1,1,1] {data = fp16[1]:[1], mask = uint1[6,1,1,1,1]:[1, 0, 0, 0, 0, 0]}", anec.N, nil},
	} {
		g := parseGraph(t, "graph g\nconst %w : "+c.constant+"\noutput %w\n")
		whole := g.Outputs[0].Const
		if c.spans == nil {
			if _, ok := partOfConstant(whole, c.axis, span{3, 3}); ok {
				t.Errorf("%s: it has a part", c.name)
			}
			continue
		}
		joint := anec.New("joint")
		b := &anec.Builder{Graph: joint}
		var parts []*anec.Value
		for i, s := range c.spans {
			part, ok := partOfConstant(whole, c.axis, s)
			if !ok {
				t.Errorf("%s: no part %v", c.name, s)
				continue
			}
			parts = append(parts, b.Constant(fmt.Sprint("w", i), part))
		}
		y := b.Layer("y", &anec.Concat{Axis: c.axis}, parts...)
		if b.Err() != nil {
			t.Errorf("%s: %v", c.name, b.Err())
			continue
		}
		joint.AddOutput(y)
		if got, want := evaluate(t, anec.Print(joint))[0], evaluate(t, anec.Print(g))[0]; !slices.Equal(got, want) {
			t.Errorf("%s: the parts are %v, the whole is %v", c.name, got, want)
		}
	}
}

// A target of which no source has the size of kernel memory splits nothing.
func TestNoCapSplitsNothing(t *testing.T) {
	g := parseGraph(t, `graph g
input %x : fp16[1,1,1024,16,16]
const %w : fp16[1024,1,1024,1,1] {data = splat(1)}
%y = anec.convolution(%x, %w) : fp16[1,1,1024,16,16]
output %y
`)
	for target, parts := range map[string]int{"u1": 0, "h13": 2, "h14": 0} {
		if got := len(weightSpans(g.Layers[0], lookup(t, target))); got != parts {
			t.Errorf("%s: %d parts, want %d", target, got, parts)
		}
	}
}
