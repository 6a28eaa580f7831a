package engine

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Where the result of a class may lie on a source, and what else binding refuses.
func TestVirtualQuantPlaces(t *testing.T) {
	const f16 = tensor.Float16
	vectors, points, few := [td.NumAxes]int{1, 1, 3, 1, 8}, [td.NumAxes]int{1, 1, 3, 1, 8}, [td.NumAxes]int{1, 1, 3, 1, 4}
	dense := func(offset int64, d tensor.DType, dims [td.NumAxes]int) td.Operand {
		return td.Dense(0, offset, d, dims)
	}
	still := dense(0x400, f16, [td.NumAxes]int{1, 1, 3, 1, 1<<31 - 1})
	still.Strides = [td.NumAxes]int64{}
	sampled := dense(0, f16, [td.NumAxes]int{1, 1, 3, 1, 1})
	for _, test := range []struct {
		params   td.Params
		operands []td.Operand
		want     string // "": it is taken
	}{
		{&td.CrossProduct{}, []td.Operand{dense(0, f16, vectors), dense(0, f16, vectors), dense(0x400, f16, vectors)}, "the result overlaps operand 1"},
		{&td.CrossProduct{}, []td.Operand{dense(0, f16, vectors), dense(0x400, f16, vectors), dense(0, f16, vectors)}, "the result overlaps operand 2"},
		{&td.ScaledElementWise{Kind: td.ScaledAdd}, []td.Operand{dense(0, f16, vectors), dense(0, f16, vectors), dense(0, f16, vectors)}, ""},
		{&td.ElementWise{Kind: td.EWSelect}, []td.Operand{dense(0, f16, vectors), dense(0x400, tensor.Bool, vectors), dense(0, f16, vectors), dense(0x800, f16, vectors)}, ""},
		{&td.ElementWise{Kind: td.EWSelect}, []td.Operand{dense(0, f16, vectors), dense(0x400, tensor.Bool, vectors), dense(2, f16, vectors), dense(0x800, f16, vectors)}, "the result overlaps operand 2"},
		{&td.Quant{}, []td.Operand{dense(0, tensor.Int16, vectors), dense(0, f16, vectors), dense(0x400, f16, vectors)}, ""},
		{&td.Quant{}, []td.Operand{dense(0, tensor.Int8, vectors), dense(0, f16, vectors), dense(0x400, f16, vectors)}, "the result overlaps operand 1"},
		{&td.Quant{}, []td.Operand{dense(0, tensor.UInt4, vectors), dense(0x200, f16, vectors), dense(0x400, f16, vectors)}, "whose elements share bytes"},
		{&td.RingBufferWriter{}, []td.Operand{dense(0, f16, vectors), dense(0, f16, vectors), dense(0x400, f16, few)}, ""},
		{&td.RingBufferWriter{}, []td.Operand{dense(0, f16, vectors), dense(2, f16, vectors), dense(0x400, f16, few)}, "the result overlaps operand 1"},
		{&td.RingBufferWriter{}, []td.Operand{dense(0, f16, vectors), dense(0x400, f16, vectors), dense(0, f16, few)}, "the result overlaps operand 2"},
		{&td.RingBufferWriter{Live: [td.NumAxes]int{4: 1}}, []td.Operand{
			dense(0, f16, vectors), dense(0x400, f16, vectors), dense(0x200, f16, few), dense(0, tensor.Int16, [td.NumAxes]int{1, 1, 1, 1, 1})}, "the result overlaps operand 3"},
		{&td.FurthestPointSampling{Count: 4, Metric: td.DistanceL2}, []td.Operand{dense(0, f16, few), dense(0, f16, points)}, "the result overlaps operand 1"},
		{&td.FurthestPointSampling{Count: 1, Metric: td.DistanceL2}, []td.Operand{sampled, still}, "bytes of scratch"},
		{&td.RadiusSearch{Radius: 1}, []td.Operand{dense(0, f16, [td.NumAxes]int{1, 1, 1, 8, 4}), dense(0x200, f16, few), dense(0, f16, points)}, "the result overlaps operand 2"},
		{&td.CostVolume{}, []td.Operand{dense(0, f16, [td.NumAxes]int{1, 1, 1, 1, 8}), dense(0x200, f16, [td.NumAxes]int{1, 1, 1, 1, 8}), dense(0, f16, [td.NumAxes]int{1, 1, 1, 1, 8})}, "the result overlaps operand 2"},
	} {
		op := &td.Op{Params: test.params, Operands: test.operands}
		if err := op.Validate(); err != nil {
			t.Errorf("%v: %v", op.Class(), err)
			continue
		}
		p := &Program{bases: new([256]uint64), numerics: hal.Numerics{RoundHalfEven: true}}
		p.bases[0], p.memories = 1<<32, []memory{{kind: output, addr: 1 << 32, size: 0x1000}}
		whole := newRegion(0, 0x1000, nil, nil)
		if err := p.noteWritten(0, &whole); err != nil {
			t.Fatal(err)
		}
		_, _, err := p.bindOp(op)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v: got %v, want %q", op.Class(), err, test.want)
		}
	}
}
