package td

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func normSamples() []*Op {
	x := dense(tensor.Float16, 2, 1, 8, 7, 9)
	return []*Op{
		{Params: &InstanceNorm{Axes: AxesOf(AxisH, AxisW), Epsilon: 1e-5}, Operands: []Operand{x, x, {}, dense(tensor.Float32, 1, 1, 8, 1, 1)}},
		{Params: &L2Norm{Axes: AxesOf(AxisC, AxisH, AxisW), Epsilon: 1e-6}, Operands: []Operand{x, x}},
		{Params: &MinMaxNorm{Axes: AxesOf(AxisC), Epsilon: 1e-12}, Operands: []Operand{x, x}},
		{Params: &LRN{Size: 5, Alpha: 1e-4, Beta: 0.75, K: 1}, Operands: []Operand{x, x}},
	}
}

func TestNormErrors(t *testing.T) {
	x, short := dense(tensor.Float16, 2, 1, 8, 7, 9), dense(tensor.Float16, 2, 1, 8, 7, 1)
	for _, tt := range []struct {
		params   Params
		operands []Operand
		want     string
	}{
		{&InstanceNorm{Axes: AxesOf(AxisC)}, []Operand{x, x}, "over C: want spatial axes"},
		{&InstanceNorm{Axes: AxesOf(AxisH)}, []Operand{x, short}, "x has extents [2 1 8 7 1], y has [2 1 8 7 9]"},
		{&InstanceNorm{Axes: AxesOf(AxisH)}, []Operand{x, x, short}, "gamma has extents [2 1 8 7 1], want channels alone"},
		{&InstanceNorm{Axes: AxesOf(AxisH)}, []Operand{x, x, {}, dense(tensor.Float16, 1, 1, 3, 1, 1)}, "beta has 3 along C, want 8 or 1"},
		{&L2Norm{Axes: 0x20}, []Operand{x, x}, "has more than the 5 axes"},
		{&L2Norm{}, []Operand{x, short}, "x has extents"},
		{&MinMaxNorm{}, []Operand{x, short}, "x has extents"},
		{&LRN{Size: 0}, []Operand{x, x}, "a window of 0 channels"},
		{&LRN{Size: 3}, []Operand{x, short}, "x has extents"},
	} {
		err := (&Op{Params: tt.params, Operands: tt.operands}).Validate()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.params, err, tt.want)
		}
	}
}
