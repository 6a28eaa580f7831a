package compiler

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// TestConstants holds constants to be read in the weight file where that can be, and else stored as few bytes as
// can be.
func TestConstants(t *testing.T) {
	weights := make([]byte, 256)
	for i := range 128 {
		binary.LittleEndian.PutUint16(weights[2*i:], uint16(i))
	}
	within := func(from int, shape ...int) *tensor.Tensor {
		n, _ := tensor.Count(shape)
		c, err := tensor.FromBytes(tensor.Float16, shape, weights[from:from+2*n])
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	must := func(c *tensor.Tensor, err error) *tensor.Tensor {
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	matrix := within(64, 1, 1, 1, 4, 8)
	for _, tt := range []struct {
		name   string
		c      *tensor.Tensor
		want   segment.Place
		stored int
	}{
		{"in the file", matrix, segment.Place{Region: segment.InWeights, Offset: 64, Strides: [5]int64{64, 64, 64, 16, 2}}, 0},
		{"a column of it", must(matrix.Slice(4, 3, 1, 1)), segment.Place{Region: segment.InWeights, Offset: 70, Strides: [5]int64{64, 64, 64, 16, 2}}, 0},
		{"transposed", must(matrix.Transpose(0, 1, 2, 4, 3)), segment.Place{Region: segment.InWeights, Offset: 64, Strides: [5]int64{64, 64, 64, 2, 16}}, 0},
		{"reversed", must(matrix.Slice(4, 7, 8, -1)), segment.Place{Region: segment.InWeights, Offset: 78, Strides: [5]int64{64, 64, 64, 16, -2}}, 0},
		{"repeated", must(within(10, 1, 1, 1, 1, 8).BroadcastTo(1, 1, 1, 4, 8)), segment.Place{Region: segment.InWeights, Offset: 10, Strides: [5]int64{16, 16, 16, 0, 2}}, 0},
		{"at an odd byte", within(65, 1, 1, 1, 4, 8), segment.Place{Region: segment.InConstants, Strides: [5]int64{64, 64, 64, 16, 2}}, 64},
		{"elsewhere", matrix.Clone(), segment.Place{Region: segment.InConstants, Strides: [5]int64{64, 64, 64, 16, 2}}, 64},
		{"repeated elsewhere", must(tensor.New(tensor.Float16, 1, 1, 1, 1, 1).BroadcastTo(1, 1, 1, 1000, 1000)), segment.Place{Region: segment.InConstants, Strides: [5]int64{2, 2, 2, 0, 0}}, 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := anec.New("constant")
			b := &anec.Builder{Graph: g}
			v := b.Constant("c", anec.ConstantOf(tt.c))
			x, err := g.AddInput("x", anec.TypeOf(tensor.Float16, 1, 1, 1, 1, 1))
			if err != nil {
				t.Fatal(err)
			}
			g.AddOutput(b.Layer("y", &anec.ElementWise{Type: td.EWAdd}, v, x))
			s := &segment.Segment{Target: virtual(t), Graph: g, Weights: weights}
			if err := schedule(s); err != nil {
				t.Fatal(err)
			}
			if err := planMemory(s); err != nil {
				t.Fatal(err)
			}
			got := s.Plan.Places[v]
			if !samePlace(got, tt.want, v.Type.Dims) || got.Region != tt.want.Region {
				t.Errorf("lies at %+v, want %+v", got, tt.want)
			}
			if len(s.Plan.Constants) != tt.stored {
				t.Errorf("%d bytes are stored, want %d", len(s.Plan.Constants), tt.stored)
			}
		})
	}
}

// TestMemoryRefusals are graphs that no plan is for.
func TestMemoryRefusals(t *testing.T) {
	for _, tt := range []struct{ name, graph, want string }{
		{"compressed", `
input %x : fp16[1,1,1,1,4]
const %k : fp16[1,1,1,1,4] {data = int8[1,1,1,1,4]:[1, 2, 3, 4], scale = fp16[1,1,1,1,1]:[0.5]}
%y = anec.add(%x, %k) : fp16[1,1,1,1,4]
output %y`, `constant "k" is compressed`},
		{"packed", `
const %k : int4[1,1,1,4,4] {data = splat(3)}
const %scale : fp16[1,1,1,1,1] {data = [0.5]}
%h = anec.input_view(%k) {axis = H, size = 2} : int4[1,1,1,2,4]
%y = anec.dequantize(%h, %scale) : fp16[1,1,1,2,4]
output %y`, `"k" of int4[1,1,1,4,4] would have to be copied`},
		{"interleaved", `
input %x : fp16[1,1,4,1,4]x4
%y = anec.relu(%x) : fp16[1,1,4,1,4]
output %y`, `"x" has interleave 4`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := anec.Parse("graph refused"+tt.graph, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := &segment.Segment{Target: virtual(t), Graph: g}
			if err := schedule(s); err != nil {
				t.Fatal(err)
			}
			if err := planMemory(s); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
