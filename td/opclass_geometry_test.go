package td

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func geometrySamples() []*Op {
	const f16 = tensor.Float16
	vectors, points := dense(f16, 2, 1, 3, 7, 9), dense(f16, 2, 1, 3, 1, 9)
	return []*Op{
		{Params: &CrossProduct{}, Operands: []Operand{vectors, vectors, vectors}},
		{
			Params:   &CrossCorrelation{Template: [2]int{3, 2}, PadBefore: [2]int{1, 0}, PadAfter: [2]int{1, 1}, Groups: 2},
			Operands: []Operand{dense(f16, 2, 1, 6, 7, 9), dense(f16, 2, 1, 4, 7, 9), dense(f16, 1, 1, 1, 1, 72)},
		},
		{Params: &CostVolume{Range: 4}, Operands: []Operand{dense(f16, 2, 1, 5, 7, 9), dense(f16, 2, 1, 1, 7, 9), dense(f16, 2, 1, 1, 7, 14)}},
		{Params: &FurthestPointSampling{Count: 4, Metric: DistanceL2}, Operands: []Operand{dense(f16, 2, 1, 3, 1, 4), points}},
		{Params: &RadiusSearch{Radius: 0.75}, Operands: []Operand{dense(tensor.Bool, 2, 1, 1, 9, 4), dense(f16, 2, 1, 3, 1, 4), points}},
	}
}

func TestGeometryRefusals(t *testing.T) {
	const f16 = tensor.Float16
	vectors, points, four := dense(f16, 2, 1, 3, 7, 9), dense(f16, 2, 1, 3, 1, 9), dense(f16, 2, 1, 3, 1, 4)
	plane := dense(f16, 2, 1, 1, 7, 9)
	checkRefusals(t, []refusal{
		{&CrossProduct{}, []Operand{plane, plane, plane}, "y has 1 channels, want 3"},
		{&CrossProduct{}, []Operand{vectors, vectors, points}, "z has extents"},
		{&CrossCorrelation{Template: [2]int{1, 1}, Groups: 2}, []Operand{vectors, vectors, dense(f16, 1, 1, 1, 1, 3)}, "3 channels to 3 in 2 groups"},
		{&CrossCorrelation{Template: [2]int{1, 1}}, []Operand{vectors, vectors, vectors}, "in 0 groups"},
		{&CrossCorrelation{Template: [2]int{1, 1}, Groups: 3}, []Operand{vectors, vectors, dense(f16, 1, 1, 1, 1, 4)}, "template has extents"},
		{&CrossCorrelation{Template: [2]int{3, 1}, Groups: 3}, []Operand{vectors, vectors, dense(f16, 1, 1, 1, 1, 9)}, "y has 7 along H, the window over 7 makes 5"},
		{&CrossCorrelation{Template: [2]int{0, 1}, Groups: 3}, []Operand{vectors, vectors, dense(f16, 1, 1, 1, 1, 0)}, "want 1 or more"},
		{&CrossCorrelation{Template: [2]int{1 << 30, 1 << 30}, Groups: 1}, []Operand{vectors, vectors, plane}, "a template of 3 channels to 3"},
		{&CostVolume{Direction: 1}, []Operand{plane, plane, plane}, "direction 1 is not known"},
		{&CostVolume{Range: 1}, []Operand{plane, plane, plane}, "y has 1 channels, want the range 1 and 1"},
		{&CostVolume{Range: 2}, []Operand{vectors, plane, plane}, "ref has 9 along W, want 9 and the range 2 or more"},
		{&CostVolume{Range: 2}, []Operand{vectors, vectors, plane}, "aux has extents"},
		{&FurthestPointSampling{Count: 4}, []Operand{four, points}, "metric 0 is not known"},
		{&FurthestPointSampling{Count: 10, Metric: DistanceL1}, []Operand{four, points}, "10 of 9 points"},
		{&FurthestPointSampling{Count: 5, Metric: DistanceL1}, []Operand{four, points}, "y has extents"},
		{&FurthestPointSampling{Count: 4, Metric: DistanceL1}, []Operand{four, vectors}, "points has extents"},
		{&RadiusSearch{}, []Operand{plane, four, points}, "radius 0"},
		{&RadiusSearch{Radius: 1}, []Operand{plane, four, points}, "y has extents"},
		{&RadiusSearch{Radius: 1}, []Operand{plane, vectors, points}, "centroids has extents"},
	})
}
