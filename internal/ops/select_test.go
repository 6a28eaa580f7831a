package ops

import "testing"

// Expected values are those of numpy.where.
func TestSelect(t *testing.T) {
	cond := bools(dims(2, 1), true, false)
	got := evalOp(t, IOS15, "select", args{"cond": cond, "a": f16(dims(2, 2), 1, 2, 3, 4), "b": f16(dims(2), 5, 6)})
	wantShape(t, got[0], 2, 2)
	wantFloats(t, got[0], 0, 1, 2, 5, 6)
	got = evalOp(t, IOS15, "select", args{"cond": bools(nil, true), "a": i32(dims(2), 1, 2), "b": i32(nil, -1)})
	wantInts(t, got[0], 1, 2)
	got = evalOp(t, IOS15, "select", args{"cond": cond, "a": bools(nil, false), "b": bools(nil, true)})
	wantShape(t, got[0], 2, 1)
	wantBools(t, got[0], false, true)
	got = evalOp(t, IOS15, "select", args{"cond": bools(dims(0, 3)), "a": scalarF32(1), "b": scalarF32(2)})
	wantShape(t, got[0], 0, 3)
	wantErr(t, IOS15, "select", args{"cond": bools(dims(3)), "a": f32(dims(2)), "b": scalarF32(2)}, "do not broadcast")
	wantErr(t, IOS15, "select", args{"cond": cond, "a": f32(dims(2)), "b": i32(dims(2))}, "b is tensor<int32, [2]>")
	wantErr(t, IOS15, "select", args{"cond": f32(dims(2)), "a": f32(dims(2)), "b": f32(dims(2))}, "cond is tensor<fp32, [2]>, expected bool")
	wantErr(t, IOS15, "select", args{"cond": cond, "a": f32(dims(2))}, "b is missing")
}
