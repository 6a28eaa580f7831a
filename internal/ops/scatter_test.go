package ops

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// TestScatterModes applies each mode to data of 12 with the updates 3 and then 5 at the same place; by hand.
func TestScatterModes(t *testing.T) {
	for mode, want := range map[string]float64{
		"add": 20, "sub": 4, "mul": 180, "div": 0.8, "max": 12, "min": 3, "update": 5,
	} {
		t.Run(mode, func(t *testing.T) {
			data := f32(dims(2), 12, 1)
			got := evalOp(t, IOS15, "scatter", args{"data": data, "indices": i32(dims(2), 0, 0), "updates": f32(dims(2), 3, 5), "mode": mode})
			wantFloats(t, got[0], 1e-7, want, 1)
			got = evalOp(t, IOS15, "scatter_along_axis", args{"data": data, "indices": i32(dims(2), 0, 0), "updates": f32(dims(2), 3, 5), "mode": mode})
			wantFloats(t, got[0], 1e-7, want, 1)
			got = evalOp(t, IOS15, "scatter_nd", args{"data": data, "indices": i32(dims(2, 1), 0, 0), "updates": f32(dims(2), 3, 5), "mode": mode})
			wantFloats(t, got[0], 1e-7, want, 1)
			got = evalOp(t, IOS17, "scatter", args{"data": i32(dims(2), 12, 1), "indices": i32(dims(2), 0, 0), "updates": i32(dims(2), 3, 5), "mode": mode})
			wantInts(t, got[0], int64(want), 1)
		})
	}
	got := evalOp(t, IOS15, "scatter", args{"data": i32(dims(1), math.MaxInt32), "indices": i32(dims(1), 0), "updates": i32(dims(1), 1)})
	wantInts(t, got[0], math.MinInt32)
	got = evalOp(t, IOS15, "scatter", args{"data": i32(dims(1), 7), "indices": i32(dims(1), 0), "updates": i32(dims(1), 0), "mode": "div"})
	wantInts(t, got[0], 0)
	got = evalOp(t, IOS15, "scatter", args{"data": f16(dims(1), 2048), "indices": i32(dims(2), 0, 0), "updates": f16(dims(2), 1, 1)})
	wantFloats(t, got[0], 0, 2050) // summed in fp32, rounded once
	wantErr(t, IOS15, "scatter", args{"data": f32(dims(1)), "indices": i32(dims(1), 0), "updates": f32(dims(1)), "mode": "Add"}, `mode is "Add", expected add, sub`)
}

func TestScatter(t *testing.T) {
	// The example in coremltools' documentation.
	got := evalOp(t, IOS15, "scatter", args{
		"data": f32(dims(2, 3), 1, 2, 3, 4, 5, 6), "indices": i32(dims(2), 1, 0), "updates": f32(dims(2, 3), 5, 6, 7, 8, 9, 10), "axis": 0, "mode": "add",
	})
	wantFloats(t, got[0], 0, 9, 11, 13, 9, 11, 13)
	// By hand: columns 2 and 0, the second counted from the end.
	got = evalOp(t, IOS15, "scatter", args{
		"data": f32(dims(2, 3), 1, 2, 3, 4, 5, 6), "indices": i32(dims(2), 2, -3), "updates": f32(dims(2, 2), 10, 20, 30, 40), "axis": -1, "mode": "update",
	})
	wantFloats(t, got[0], 0, 20, 2, 10, 40, 5, 30)
	got = evalOp(t, IOS15, "scatter", args{ // a scalar index takes the axis away from updates
		"data": f32(dims(2, 2), 1, 2, 3, 4), "indices": scalarI32(1), "updates": f32(dims(2), 10, 20),
	})
	wantFloats(t, got[0], 0, 1, 2, 13, 24)
	got = evalOp(t, IOS17, "scatter", args{
		"data": f32(dims(3), 1, 2, 3), "indices": i32(dims(3), 3, -1, -4), "updates": f32(dims(3), 10, 20, 30), "mode": "update",
	})
	wantFloats(t, got[0], 0, 1, 2, 20) // our choice: see indexRule
	got = evalOp(t, IOS15, "scatter", args{"data": f32(dims(0, 2)), "indices": i32(dims(0)), "updates": f32(dims(0, 2))})
	wantShape(t, got[0], 0, 2)

	data := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "scatter", args{"data": data, "indices": i32(dims(1), 0), "updates": f32(dims(3))}, "updates has shape [3], expected [1, 3]")
	wantErr(t, IOS15, "scatter", args{"data": data, "indices": fixed(i32(dims(1), 2)), "updates": f32(dims(1, 3))}, "indices has 2 at element 0, expected -2 to 1")
	wantErr(t, IOS17, "scatter", args{"data": data, "indices": i32(dims(1), -1), "updates": f32(dims(1, 3)), "validate_indices": true}, "indices has -1")
	wantErr(t, IOS15, "scatter", args{"data": data, "indices": i32(dims(1), 0), "updates": i32(dims(1, 3))}, "must have the element type of data")
}

func TestScatterAlongAxis(t *testing.T) {
	// coremltools' unit test of scatter_along_axis.
	got := evalOp(t, IOS15, "scatter_along_axis", args{
		"data": f32(dims(2, 3), 1, 2, 3, 4, 5, 6), "indices": i32(dims(2, 3), 1, 0, 1, 1, 1, 0), "updates": f32(dims(2, 3), 5, 6, 7, 8, 9, 10), "mode": "update",
	})
	wantFloats(t, got[0], 0, 1, 6, 10, 8, 9, 7)
	got = evalOp(t, IOS15, "scatter_along_axis", args{
		"data": f32(dims(2, 3), 1, 2, 3, 4, 5, 6), "indices": i32(dims(2, 3), 1, 0, 1, 1, 1, 0), "updates": f32(dims(2, 3), 5, 6, 7, 8, 9, 10),
	})
	wantFloats(t, got[0], 0, 1, 8, 13, 17, 14, 13)
	// By hand: fewer updates than data along the last axis.
	got = evalOp(t, IOS17, "scatter_along_axis", args{
		"data": i32(dims(2, 3)), "indices": i32(dims(2, 2), 2, 0, 1, 7), "updates": i32(dims(2, 2), 1, 2, 3, 4), "axis": 1,
	})
	wantInts(t, got[0], 2, 0, 1, 0, 3, 0)

	data := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "scatter_along_axis", args{"data": data, "indices": i32(dims(2, 2)), "updates": f32(dims(2, 2))}, "indices has shape [2, 2], expected [2, 3]")
	wantErr(t, IOS15, "scatter_along_axis", args{"data": data, "indices": i32(dims(1, 3)), "updates": f32(dims(2, 3))}, "updates has shape [2, 3], expected [1, 3]")
	wantErr(t, IOS15, "scatter_along_axis", args{"data": data, "indices": fixed(i32(dims(1, 3), 0, 0, 9)), "updates": f32(dims(1, 3))}, "indices has 9 at element 2")
}

func TestScatterND(t *testing.T) {
	// coremltools' unit test of scatter_nd.
	got := evalOp(t, IOS15, "scatter_nd", args{
		"data": f32(dims(2, 3), 1, 2, 3, 4, 5, 6), "indices": i32(dims(2, 2), 1, 0, 0, 2), "updates": f32(dims(2), 5, 10),
	})
	wantFloats(t, got[0], 0, 1, 2, 13, 9, 5, 6)
	// By hand: rows, one of them twice.
	got = evalOp(t, IOS15, "scatter_nd", args{
		"data": f32(dims(2, 2), 1, 2, 3, 4), "indices": i32(dims(3, 1), 1, -1, 0), "updates": f32(dims(3, 2), 1, 2, 10, 20, 100, 200), "mode": "sub",
	})
	wantFloats(t, got[0], 0, -99, -198, -8, -18)
	got = evalOp(t, IOS17, "scatter_nd", args{
		"data": i32(dims(2)), "indices": i32(dims(2, 1), 2, 0), "updates": i32(dims(2), 5, 6),
	})
	wantInts(t, got[0], 6, 0) // our choice: see indexRule

	data := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "scatter_nd", args{"data": data, "indices": i32(dims(1, 3)), "updates": f32(dims(1))}, "index vectors have length 3, expected at most 2")
	wantErr(t, IOS15, "scatter_nd", args{"data": data, "indices": i32(dims(1, 1)), "updates": f32(dims(3))}, "updates has shape [3], expected [1, 3]")
	wantErr(t, IOS15, "scatter_nd", args{"data": data, "indices": fixed(i32(dims(1, 2), 0, 3)), "updates": f32(dims(1))}, "indices has 3 at element 1, expected -3 to 2 on axis 1")
	wantErr(t, IOS15, "scatter_nd", args{"data": data, "indices": scalarI32(0), "updates": f32(dims(1))}, "indices is a scalar")
}
