package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Expected values are NumPy's: take, take_along_axis, and indexing with index vectors.

func TestGather(t *testing.T) {
	x := f32(dims(2, 3), 1, 2, 3, 4, 5, 6)
	for _, tc := range []struct {
		name  string
		opset Opset
		args  args
		shape []int
		want  []float64
	}{
		{"rows", IOS15, args{"x": x, "indices": i32(dims(3), 1, 0, 1)}, dims(3, 3), []float64{4, 5, 6, 1, 2, 3, 4, 5, 6}},
		{"columns", IOS15, args{"x": x, "indices": i32(dims(2), 2, 0), "axis": 1}, dims(2, 2), []float64{3, 1, 6, 4}},
		{"from the end", IOS15, args{"x": x, "indices": i32(dims(2), -1, -3), "axis": -1}, dims(2, 2), []float64{3, 1, 6, 4}},
		{"a scalar index", IOS15, args{"x": x, "indices": scalarI32(1), "axis": 1}, dims(2), []float64{2, 5}},
		{"to a scalar", IOS15, args{"x": f32(dims(3), 7, 8, 9), "indices": scalarI32(2)}, dims(), []float64{9}},
		{"indices of rank 2", IOS16, args{"x": x, "indices": i16(dims(2, 2), 0, 1, 2, 2), "axis": 1}, dims(2, 2, 2),
			[]float64{1, 2, 3, 3, 4, 5, 6, 6}},
		{"batch", IOS16, args{"x": x, "indices": i32(dims(2, 2), 2, 0, 1, 1), "axis": 1, "batch_dims": 1}, dims(2, 2), []float64{3, 1, 5, 5}},
		{"batch, one index each", IOS17, args{"x": x, "indices": u8(dims(2), 2, 1), "axis": 1, "batch_dims": 1}, dims(2), []float64{3, 5}},
		{"batch and an axis between", IOS16, args{
			"x": seq(tensor.Int32, 2, 2, 3), "indices": i32(dims(2, 1), 2, 0), "axis": 2, "batch_dims": 1,
		}, dims(2, 2, 1), []float64{2, 5, 6, 9}},
		{"no indices", IOS15, args{"x": x, "indices": i32(dims(0))}, dims(0, 3), nil},
		{"fp16", IOS15, args{"x": f16(dims(2), 0.5, 1.5), "indices": i32(dims(1), 1)}, dims(1), []float64{1.5}},
		{"unchecked", IOS17, args{"x": x, "indices": i32(dims(4), -1, 5, 0, -3), "axis": 0}, dims(4, 3),
			[]float64{4, 5, 6, 0, 0, 0, 1, 2, 3, 0, 0, 0}}, // our choice: see indexRule
		{"checked", IOS17, args{"x": x, "indices": i32(dims(1), 1), "validate_indices": true}, dims(1, 3), []float64{4, 5, 6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := evalOp(t, tc.opset, "gather", tc.args)
			wantShape(t, got[0], tc.shape...)
			wantFloats(t, got[0], 0, tc.want...)
		})
	}
	got := evalOp(t, IOS17, "gather", args{"x": u16(dims(3), 1, 65535, 3), "indices": i8(dims(2), 1, 2)})
	wantInts(t, got[0], 65535, 3)
	got = evalOp(t, IOS17, "gather", args{"x": i8(dims(3), 1, -2, 3), "indices": i8(dims(2), 1, 2)})
	wantInts(t, got[0], -2, 3)
}

func TestGatherErrors(t *testing.T) {
	x := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "gather", args{"x": x, "indices": fixed(i32(dims(2), 0, 2))}, "indices has 2 at element 1, expected -2 to 1")
	wantErr(t, IOS15, "gather", args{"x": x, "indices": fixed(i32(dims(1), -3))}, "indices has -3")
	wantErr(t, IOS17, "gather", args{"x": x, "indices": i32(dims(1), -1), "validate_indices": true}, "indices has -1 at element 0, expected 0 to 1")
	wantErr(t, IOS15, "gather", args{"x": seq(tensor.Float32, 0, 3), "indices": fixed(i32(dims(1), 0))}, "the axis that it points into is empty")
	wantErr(t, IOS15, "gather", args{"x": x, "indices": i32(dims(1), 0), "axis": 2}, "axis is 2, expected -2 to 1")
	wantErr(t, IOS15, "gather", args{"x": x, "indices": i32(dims(1), 0), "batch_dims": 1}, `unknown parameter "batch_dims"`)
	wantErr(t, IOS16, "gather", args{"x": x, "indices": i32(dims(1), 0), "batch_dims": 2}, "batch_dims is 2, expected 0 to 1")
	wantErr(t, IOS16, "gather", args{"x": x, "indices": i32(dims(1), 0), "batch_dims": -1}, "batch_dims is -1")
	wantErr(t, IOS16, "gather", args{"x": x, "indices": i32(dims(2), 0, 1), "batch_dims": 1}, "axis is 0, expected one after the 1 batch axes")
	wantErr(t, IOS16, "gather", args{"x": x, "indices": i32(dims(3), 0, 1, 1), "axis": 1, "batch_dims": 1}, "batch shapes [2] and [3]")
	wantErr(t, IOS15, "gather", args{"x": x, "indices": i16(dims(1), 0)}, "expected int32")
}

func TestGatherAlongAxis(t *testing.T) {
	x := f32(dims(2, 3), 1, 2, 3, 4, 5, 6)
	got := evalOp(t, IOS15, "gather_along_axis", args{"x": x, "indices": i32(dims(2, 3), 1, 0, 1, 1, 1, 0)})
	wantFloats(t, got[0], 0, 4, 2, 6, 4, 5, 3)
	got = evalOp(t, IOS16, "gather_along_axis", args{"x": x, "indices": i16(dims(2, 4), 2, -1, 0, 1, 0, 0, -3, 1), "axis": -1})
	wantShape(t, got[0], 2, 4)
	wantFloats(t, got[0], 0, 3, 3, 1, 2, 4, 4, 4, 5)
	got = evalOp(t, IOS17, "gather_along_axis", args{"x": seq(tensor.Int8, 2, 2, 2), "indices": u8(dims(2, 1, 2), 1, 0, 0, 1), "axis": 1})
	wantShape(t, got[0], 2, 1, 2)
	wantInts(t, got[0], 2, 1, 4, 7)
	got = evalOp(t, IOS17, "gather_along_axis", args{"x": u16(dims(3), 1, 2, 3), "indices": i32(dims(3), 7, -1, 1)})
	wantInts(t, got[0], 0, 3, 2) // our choice: see indexRule
	got = evalOp(t, IOS15, "gather_along_axis", args{"x": x, "indices": i32(dims(0, 3))})
	wantShape(t, got[0], 0, 3)

	wantErr(t, IOS15, "gather_along_axis", args{"x": x, "indices": i32(dims(2), 0)}, "indices has rank 1, expected 2")
	wantErr(t, IOS15, "gather_along_axis", args{"x": x, "indices": i32(dims(2, 2), 0)}, "indices has shape [2, 2], expected [2, 3]")
	wantErr(t, IOS15, "gather_along_axis", args{"x": x, "indices": fixed(i32(dims(1, 3), 0, 2, 0))}, "indices has 2 at element 1")
	wantErr(t, IOS15, "gather_along_axis", args{"x": scalarF32(1), "indices": scalarI32(0)}, "axis is 0")
}

func TestGatherND(t *testing.T) {
	x := f32(dims(2, 3), 1, 2, 3, 4, 5, 6)
	got := evalOp(t, IOS15, "gather_nd", args{"x": x, "indices": i32(dims(2, 2), 0, 2, 1, -3)})
	wantFloats(t, got[0], 0, 3, 4)
	got = evalOp(t, IOS15, "gather_nd", args{"x": x, "indices": i32(dims(2, 1), 1, 0)})
	wantShape(t, got[0], 2, 3)
	wantFloats(t, got[0], 0, 4, 5, 6, 1, 2, 3)
	got = evalOp(t, IOS15, "gather_nd", args{"x": x, "indices": i32(dims(2), 1, 2)})
	wantShape(t, got[0])
	wantFloats(t, got[0], 0, 6)
	got = evalOp(t, IOS15, "gather_nd", args{"x": x, "indices": i32(dims(2, 0))}) // no index at all is all of x
	wantFloats(t, got[0], 0, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6)
	got = evalOp(t, IOS16, "gather_nd", args{"x": x, "indices": u16(dims(2, 1), 2, 0), "batch_dims": 1})
	wantShape(t, got[0], 2)
	wantFloats(t, got[0], 0, 3, 4)
	// coremltools' unit test of gather_nd in iOS16.
	x3, at := seqFrom(tensor.Float32, 1, 2, 2, 3), i32(dims(2, 2, 2), 1, 0, 0, 1, 1, 0, 0, 0)
	got = evalOp(t, IOS16, "gather_nd", args{"x": x3, "indices": at, "batch_dims": 0})
	wantShape(t, got[0], 2, 2, 3)
	wantFloats(t, got[0], 0, 7, 8, 9, 4, 5, 6, 7, 8, 9, 1, 2, 3)
	got = evalOp(t, IOS16, "gather_nd", args{"x": x3, "indices": at, "batch_dims": 1})
	wantShape(t, got[0], 2, 2)
	wantFloats(t, got[0], 0, 4, 2, 10, 7)
	// By hand: two batch axes.
	got = evalOp(t, IOS17, "gather_nd", args{"x": seq(tensor.UInt8, 2, 2, 3), "indices": i8(dims(2, 2, 2, 1), 1, 0, 2, 1, 0, 0, 2, 2), "batch_dims": 2})
	wantShape(t, got[0], 2, 2, 2)
	wantInts(t, got[0], 1, 0, 5, 4, 6, 6, 11, 11)
	got = evalOp(t, IOS17, "gather_nd", args{"x": x, "indices": i32(dims(2, 2), 0, 3, -1, -1)})
	wantFloats(t, got[0], 0, 0, 6) // our choice: see indexRule

	wantErr(t, IOS15, "gather_nd", args{"x": x, "indices": i32(dims(1, 3), 0)}, "index vectors have length 3, expected at most 2")
	wantErr(t, IOS16, "gather_nd", args{"x": x, "indices": i32(dims(2, 2), 0), "batch_dims": 1}, "index vectors have length 2, expected at most 1")
	wantErr(t, IOS16, "gather_nd", args{"x": x, "indices": i32(dims(2), 0), "batch_dims": 1}, "batch_dims is 1, but the last axis")
	wantErr(t, IOS15, "gather_nd", args{"x": x, "indices": fixed(i32(dims(1, 2), 0, 3))}, "indices has 3 at element 1, expected -3 to 2 on axis 1")
	wantErr(t, IOS17, "gather_nd", args{"x": x, "indices": i32(dims(2, 1), 0, -1), "batch_dims": 1, "validate_indices": true}, "indices has -1")
	wantErr(t, IOS15, "gather_nd", args{"x": x, "indices": scalarI32(0)}, "indices is a scalar")
}

// TestGatherKeepsSymbols holds lengths that pass through.
func TestGatherKeepsSymbols(t *testing.T) {
	f := &mil.Function{Name: "main", Opset: "ios16", Body: &mil.Block{}}
	x := newValue("x", mil.Tensor(tensor.Float32, tensor.Unknown, 5, tensor.Unknown))
	indices := newValue("indices", mil.Tensor(tensor.Int32, tensor.Unknown))
	y := newValue("y", mil.Tensor(tensor.Float32, tensor.Unknown, tensor.Unknown, tensor.Unknown))
	f.Inputs = []*mil.Value{x, indices}
	f.Body.Operations = []*mil.Operation{newOp(IOS16, "gather", args{"x": x, "indices": indices, "axis": 1}, y)}
	f.Body.Outputs = []*mil.Value{y}
	types, err := Infer(f)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := types[y].String(), "tensor<fp32, [s0, s2, s1]>"; got != want {
		t.Errorf("type is %s, expected %s", got, want)
	}
}
