package ops

import (
	"context"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

func TestReshape(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "identity", args{"x": seqFrom(tensor.Float32, 0, 2, 3)}, results{result(dims(2, 3), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "shape", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4)}, results{result(dims(3), 2, 3, 4)}},
		{IOS15, "reshape", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "shape": []int{3, 2}}, results{result(dims(3, 2), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "reshape", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "shape": []int{0, -1}}, results{result(dims(2, 3), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "reshape", args{"x": seqFrom(tensor.Int32, 0, 2, 3, 4), "shape": []int{4, -1}},
			results{result(dims(4, 6), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)}},
		{IOS17, "reshape", args{"x": seqFrom(tensor.Float16, 0, 2, 3), "shape": []int{1, 0, -1, 0}}, results{result(dims(1, 1, 2, 3), 0, 1, 2, 3, 4, 5)}},
		{IOS17, "reshape", args{"x": seqFrom(tensor.UInt16, 0, 2, 3), "shape": i8(dims(1), -1)}, results{result(dims(6), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "reshape", args{"x": bools(dims(1, 2), true, false), "shape": []int{2, 1}}, results{result(dims(2, 1), 1, 0)}},
		{IOS15, "reshape", args{"x": f32(dims(1, 1), 7), "shape": i32(dims(0))}, results{result(nil, 7)}},
		{IOS15, "reshape", args{"x": f32(dims(0, 3)), "shape": []int{0, -1}}, results{result(dims(0, 3))}},
		{IOS17, "reshape", args{"x": f32(dims(0, 3)), "shape": []int{-1, 0, 3}}, results{result(dims(1, 0, 3))}},
		{IOS15, "expand_dims", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "axes": []int{0, -1}}, results{result(dims(1, 2, 3, 1), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "expand_dims", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "axes": []int{1, 3}}, results{result(dims(2, 1, 3, 1), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "flatten2d", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4)},
			results{result(dims(2, 12), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)}},
		{IOS15, "flatten2d", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "axis": -1},
			results{result(dims(6, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)}},
		{IOS15, "flatten2d", args{"x": i32(dims(3), 0, 1, 2), "axis": -1}, results{result(dims(1, 3), 0, 1, 2)}},
		{IOS15, "flatten2d", args{"x": f32(nil, 7)}, results{result(dims(1, 1), 7)}},
		{IOS15, "flatten2d", args{"x": f32(dims(3), 1, 5, 3), "axis": 1}, results{result(dims(3, 1), 1, 5, 3)}},
		{IOS15, "transpose", args{"x": seqFrom(tensor.Float32, 0, 1, 2, 3), "perm": []int{2, 0, 1}}, results{result(dims(3, 1, 2), 0, 3, 1, 4, 2, 5)}},
		{IOS15, "transpose", args{"x": seqFrom(tensor.Int32, 0, 1, 2, 3), "perm": []int{-1, -2, -3}}, results{result(dims(3, 2, 1), 0, 3, 1, 4, 2, 5)}},
		{IOS17, "transpose", args{"x": seqFrom(tensor.UInt8, 0, 2, 3), "perm": []int{1, 0}}, results{result(dims(3, 2), 0, 3, 1, 4, 2, 5)}},
		{IOS15, "shape", args{"x": f32(nil, 3)}, results{result(dims(0))}},
		{IOS16, "reshape_like", args{"x": seqFrom(tensor.Float32, 0, 6, 6), "ref_tensors": []*tensor.Tensor{f32(dims(2, 3)), bools(dims(3, 4, 1))}, "begins": []*tensor.Tensor{i32(nil, 1), i32(nil, 0)}, "ends": []*tensor.Tensor{i32(nil, 2), i32(nil, 0)}, "end_masks": []*tensor.Tensor{bools(nil, false), bools(nil, true)}},
			results{result(dims(3, 3, 4, 1), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35)}},
		{IOS17, "reshape_like", args{"x": seqFrom(tensor.Int8, 0, 6), "ref_tensors": []*tensor.Tensor{u16(dims(4, 3, 2, 9))}, "begins": []*tensor.Tensor{i32(nil, -3)}, "ends": []*tensor.Tensor{i32(nil, -1)}, "end_masks": []*tensor.Tensor{bools(nil, false)}},
			results{result(dims(3, 2), 0, 1, 2, 3, 4, 5)}},
	})
}

// TestSqueeze has known shapes only: a length that is not known is taken to be longer than 1.
func TestSqueeze(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "squeeze", args{"x": seqFrom(tensor.Float32, 0, 1, 2, 1, 3)}, results{result(dims(2, 3), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "squeeze", args{"x": seqFrom(tensor.Float32, 0, 1, 2, 1, 3), "axes": []int{-2}}, results{result(dims(1, 2, 3), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "squeeze", args{"x": f32(dims(1, 1), 7)}, results{result(nil, 7)}},
		{IOS15, "squeeze", args{"x": seqFrom(tensor.Float32, 0, 2, 1, 3), "axes": []int{0}}, results{result(dims(2, 1, 3), 0, 1, 2, 3, 4, 5)}},
	}, onlyKnownShapes())
}

// TestSqueezeOfOpenLength holds the rank of the result to what the program declares.
func TestSqueezeOfOpenLength(t *testing.T) {
	open := mil.Tensor(tensor.Float32, tensor.Unknown, 1, 3)
	for _, tt := range []struct {
		name     string
		axes     any
		declared *mil.TensorType
		want     []int
	}{
		{"the open axis stays though it has length 1 now", []int{0, 1}, mil.Tensor(tensor.Float32, tensor.Unknown, 3), dims(1, 3)},
		{"it stays if no axes are given", nil, mil.Tensor(tensor.Float32, tensor.Unknown, 3), dims(1, 3)},
		{"it goes if the program says so", []int{0, 1}, mil.Tensor(tensor.Float32, 3), dims(3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := args{"x": newValue("x", open)}
			if tt.axes != nil {
				a["axes"] = tt.axes
			}
			out := newValue("y", tt.declared)
			f := &mil.Function{Name: "main", Opset: "ios15", Inputs: []*mil.Value{a["x"].(*mil.Value)}}
			f.Body = newBlock(nil, []*mil.Value{out}, newOp(IOS15, "squeeze", a, out))
			if _, err := Infer(f); err != nil {
				t.Fatal(err)
			}
			ev, err := NewEvaluator(f, Virtual)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ev.Run(context.Background(), map[string]Value{"x": seq(tensor.Float32, 1, 1, 3)})
			if err != nil {
				t.Fatal(err)
			}
			wantShape(t, got[0], tt.want...)
		})
	}
}

// TestIdentityOfAnyKind passes values that are not tensors, and element types that no arithmetic takes.
func TestIdentityOfAnyKind(t *testing.T) {
	list := &List{Items: []*tensor.Tensor{f32(dims(2), 1, 2)}}
	if got := evalOp(t, IOS15, "identity", args{"x": list}); got[0] != Value(list) {
		t.Errorf("identity of a list gives %v", got[0])
	}
	state := NewState(mil.Tensor(tensor.Float16, 2))
	if got := evalOp(t, IOS18, "identity", args{"x": state}); got[0] != Value(state) {
		t.Errorf("identity of a state gives %v", got[0])
	}
	wantStrings(t, evalOp(t, IOS15, "identity", args{"x": strs(dims(2), "a", "b")})[0], "a", "b")
	wantInts(t, evalOp(t, IOS18, "identity", args{"x": ints(tensor.Int4, dims(3), []int64{-8, 0, 7})})[0], -8, 0, 7)
	wantErr(t, IOS15, "identity", args{"x": []*tensor.Tensor{scalarF32(1), scalarF32(2)}}, "x is 2 values")
}

// TestReshapeTypes infers shapes of tensors with open lengths: s0 and s1 are the first lengths of x.
func TestReshapeTypes(t *testing.T) {
	s0, s1 := tensor.Symbol(0), tensor.Symbol(1)
	for _, tt := range []struct {
		x    tensor.Shape
		to   []int
		want tensor.Shape
	}{
		{tensor.Shape{s0, 3, 4}, []int{-1, 12}, tensor.Shape{s0, 12}},
		{tensor.Shape{s0, 3, 4}, []int{-1, 6}, tensor.Shape{tensor.Unknown, 6}},
		{tensor.Shape{s0, 3, 4}, []int{0, -1, 1}, tensor.Shape{s0, 12, 1}},
		{tensor.Shape{s0, s1, 4}, []int{0, 0, -1}, tensor.Shape{s0, s1, 4}},
		{tensor.Shape{s0, s1, 4}, []int{0, -1, 4}, tensor.Shape{s0, s1, 4}},
		{tensor.Shape{s0, s1, 4}, []int{-1, 4, 1}, tensor.Shape{tensor.Unknown, 4, 1}},
		{tensor.Shape{tensor.Unknown, s1, 4}, []int{-1, 4, 1}, tensor.Shape{tensor.Unknown, 4, 1}},
		{tensor.Shape{s0, 4}, []int{2, 2}, tensor.Shape{2, 2}},
		{tensor.Shape{0, 4}, []int{-1, 4}, tensor.Shape{0, 4}},
	} {
		got, err := reshaped(tt.x, tt.to, false)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("reshape of %v to %v gives %v, %v, expected %v", tt.x, tt.to, got, err, tt.want)
		}
	}
	if got := inferOp(t, IOS15, "reshape", args{"x": seq(tensor.Float32, 4), "shape": i32(dims(2), 2, 2)}); got[0] != "tensor<fp32, [?, ?]>" {
		t.Errorf("reshape to a computed shape gives %s", got[0])
	}
}

func TestReshapeErrors(t *testing.T) {
	x := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "reshape", args{"x": x, "shape": []int{4, 2}}, "[2, 3]", "[4 2]", "number of elements")
	wantErr(t, IOS15, "reshape", args{"x": x, "shape": []int{4, -1}}, "[2, 3]", "[4 -1]")
	wantErr(t, IOS15, "reshape", args{"x": x, "shape": []int{-1, -1}}, "more than one -1")
	wantErr(t, IOS15, "reshape", args{"x": x, "shape": []int{-2, 3}}, "a length of -2")
	wantErr(t, IOS15, "reshape", args{"x": x, "shape": []int{1, 0, -1, 0}}, "up to iOS16")
	wantErr(t, IOS15, "reshape", args{"x": x, "shape": i32(dims(1, 2), 3, 2)}, "expected a vector")
	wantErr(t, IOS15, "reshape", args{"x": x, "shape": i32(dims(2), 2, 2)}, "number of elements")
	wantErr(t, IOS15, "reshape", args{"x": x, "shape": slices.Repeat([]int{1 << 30}, 4)}, "beyond any memory")
	wantErr(t, IOS15, "reshape", args{"x": u8(dims(2), 1, 2), "shape": []int{2}}, "uint8", "expected")
	wantErr(t, IOS15, "expand_dims", args{"x": x, "axes": []int{3}}, "axes is 3")
	wantErr(t, IOS15, "expand_dims", args{"x": x, "axes": []int{0, 0}}, "twice")
	wantErr(t, IOS15, "squeeze", args{"x": x, "axes": []int{2}}, "axes is 2")
	wantErr(t, IOS15, "flatten2d", args{"x": x, "axis": 3}, "axis is 3", "-2 to 2")
	wantErr(t, IOS15, "transpose", args{"x": x, "perm": []int{0}}, "perm [0] has 1 elements, expected 2")
	wantErr(t, IOS15, "transpose", args{"x": x, "perm": []int{0, 0}}, "twice")
	one, yes := []*tensor.Tensor{scalarI32(0)}, []*tensor.Tensor{bools(nil, true)}
	like := args{"x": x, "ref_tensors": []*tensor.Tensor{seq(tensor.Float32, 4)}, "begins": one, "ends": one, "end_masks": yes}
	wantErr(t, IOS16, "reshape_like", like, "[2, 3]", "[4]")
	like["begins"] = []*tensor.Tensor{}
	wantErr(t, IOS16, "reshape_like", like, "begins")
}
