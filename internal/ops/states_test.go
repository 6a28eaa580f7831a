package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

func TestReadState(t *testing.T) {
	s := NewState(mil.Tensor(tensor.Float16, 2))
	wantFloats(t, evalOp(t, IOS18, "read_state", args{"input": s})[0], 0, 0, 0)
	s.Write(f32(dims(2), 1, 2))
	wantFloats(t, evalOp(t, IOS18, "read_state", args{"input": s})[0], 0, 1, 2)
	wantErr(t, IOS17, "read_state", args{"input": s}, "not in opset iOS17: it comes with iOS18")
	wantErr(t, IOS18, "read_state", args{"input": f16(dims(2))}, "expected a state")
	if !Lookup("read_state").Impure || !Lookup("write_state").Impure || !Lookup("coreml_update_state").Impure {
		t.Error("an operation on states is not marked impure")
	}
}

func TestWriteState(t *testing.T) {
	s := NewState(mil.Tensor(tensor.Float16, 2))
	if got := evalOp(t, IOS18, "write_state", args{"input": s, "data": f16(dims(2), 3, 4)}); len(got) != 0 {
		t.Errorf("%d results, expected none", len(got))
	}
	wantFloats(t, s.Read(), 0, 3, 4)
	wantErr(t, IOS18, "write_state", args{"input": s, "data": f16(dims(3))}, "parameter data is tensor<fp16, [3]>, but the state holds tensor<fp16, [2]>")
	wantErr(t, IOS18, "write_state", args{"input": s, "data": f32(dims(2))}, "parameter data is tensor<fp32, [2]>")
}

func TestUpdateState(t *testing.T) {
	s := NewState(mil.Tensor(tensor.Int32, 2))
	wantInts(t, evalOp(t, IOS18, "coreml_update_state", args{"state": s, "value": i32(dims(2), 3, 4)})[0], 3, 4)
	wantInts(t, s.Read(), 3, 4)
	wantErr(t, IOS18, "coreml_update_state", args{"state": s, "value": i32(dims(1))}, "but the state holds tensor<int32, [2]>")
}

// TestStateOrder reads a state between two writes: a counter that gives what it was before and after.
func TestStateOrder(t *testing.T) {
	typ := mil.Tensor(tensor.Float32)
	x, total := newValue("x", typ), newValue("total", &mil.StateType{Elem: typ})
	before, sum, after := newValue("before", typ), newValue("sum", typ), newValue("after", typ)
	f := &mil.Function{Name: "main", Opset: "CoreML8", Inputs: []*mil.Value{x, total}, Body: newBlock(nil, []*mil.Value{before, after},
		newOp(IOS18, "read_state", args{"input": total}, before),
		newOp(IOS18, "add", args{"x": before, "y": x}, sum),
		newOp(IOS18, "write_state", args{"input": total, "data": sum}),
		newOp(IOS18, "read_state", args{"input": total}, after),
	)}
	s := NewState(typ)
	for i, want := range [][2]float64{{0, 5}, {5, 10}, {10, 15}} {
		got := mustRun(t, f, map[string]Value{"x": scalarF32(5), "total": s})
		if before, after := tensorOf(t, got[0]).Float64s()[0], tensorOf(t, got[1]).Float64s()[0]; before != want[0] || after != want[1] {
			t.Errorf("run %d: %v then %v, expected %v", i, before, after, want)
		}
	}
}
