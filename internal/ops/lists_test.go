package ops

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

func listOfFloats(items ...[]float64) *List {
	l := &List{}
	for _, vals := range items {
		l.Items = append(l.Items, f32(dims(len(vals)), vals...))
	}
	return l
}

// wantList compares the elements of a list of vectors.
func wantList(t *testing.T, v Value, want ...[]float64) {
	t.Helper()
	l, ok := v.(*List)
	if !ok || len(l.Items) != len(want) {
		t.Fatalf("result is %v, expected a list of %d elements", v, len(want))
	}
	for i := range want {
		wantFloats(t, l.Items[i], 0, want[i]...)
	}
}

func TestMakeList(t *testing.T) {
	got := evalOp(t, IOS15, "make_list", args{"init_length": 2, "elem_shape": []*tensor.Tensor{scalarI32(3)}})
	wantList(t, got[0], []float64{0, 0, 0}, []float64{0, 0, 0})
	got = evalOp(t, IOS15, "make_list", args{"init_length": 0, "elem_shape": []*tensor.Tensor{scalarI32(3)}})
	wantList(t, got[0])
	got = evalOp(t, IOS15, "make_list", args{"elem_shape": []*tensor.Tensor{scalarI32(1), scalarI32(2)}, "dtype": "bool", "dynamic_length": false})
	l := got[0].(*List)
	wantShape(t, l.Items[0], 1, 2)
	wantBools(t, l.Items[0], false, false)
	if !l.Fixed {
		t.Error("the list may grow")
	}
	got = evalOp(t, IOS15, "make_list", args{"dtype": "int32"})
	wantShape(t, got[0].(*List).Items[0])
	types := inferOp(t, IOS15, "make_list", args{"elem_shape": []*tensor.Tensor{strs(nil, "n"), scalarI32(2)}, "dtype": "int32"})
	if want := "list<tensor<int32, [?, 2]>, ?>"; types[0] != want {
		t.Errorf("type is %s, expected %s", types[0], want)
	}

	shape := []*tensor.Tensor{scalarI32(2)}
	wantErr(t, IOS15, "make_list", args{"elem_shape": shape, "init_length": -1}, "init_length is -1")
	wantErr(t, IOS15, "make_list", args{"elem_shape": shape, "init_length": 1 << 30}, "init_length is 1073741824")
	wantErr(t, IOS15, "make_list", args{"elem_shape": shape, "dtype": "int8"}, "dtype is int8, expected bool, fp16, fp32 or int32")
	wantErr(t, IOS15, "make_list", args{"elem_shape": shape, "dtype": "number"}, `unknown element type "number"`)
	wantErr(t, IOS15, "make_list", args{"elem_shape": []*tensor.Tensor{scalarI32(-2)}}, "elem_shape has -2 as its length 0")
	wantErr(t, IOS15, "make_list", args{"elem_shape": []*tensor.Tensor{i32(dims(2), 1, 2)}}, "expected a scalar")
	wantErr(t, IOS15, "make_list", args{"elem_shape": []*tensor.Tensor{scalarI32(1 << 30), scalarI32(1 << 30)}}, "does not fit in memory")
}

func TestListReadAndWrite(t *testing.T) {
	ls := listOfFloats([]float64{1, 2}, []float64{3, 4})
	wantFloats(t, evalOp(t, IOS15, "list_read", args{"ls": ls, "index": scalarI32(1)})[0], 0, 3, 4)
	wantInts(t, evalOp(t, IOS15, "list_length", args{"ls": ls})[0], 2)

	got := evalOp(t, IOS15, "list_write", args{"ls": ls, "index": scalarI32(0), "value": f32(dims(2), 5, 6)})
	wantList(t, got[0], []float64{5, 6}, []float64{3, 4})
	wantList(t, ls, []float64{1, 2}, []float64{3, 4}) // the argument stays
	got = evalOp(t, IOS15, "list_write", args{"ls": ls, "index": scalarI32(3), "value": f32(dims(2), 5, 6)})
	wantList(t, got[0], []float64{1, 2}, []float64{3, 4}, []float64{0, 0}, []float64{5, 6})

	fixed := &List{Items: ls.Items, Fixed: true}
	got = evalOp(t, IOS15, "list_write", args{"ls": fixed, "index": scalarI32(1), "value": f32(dims(2), 5, 6)})
	wantList(t, got[0], []float64{1, 2}, []float64{5, 6})
	wantErr(t, IOS15, "list_write", args{"ls": fixed, "index": scalarI32(2), "value": f32(dims(2))}, "index 2 is not in the list, which has a fixed length of 2")
	wantErr(t, IOS15, "list_write", args{"ls": ls, "index": scalarI32(-1), "value": f32(dims(2))}, "index -1 is out of range")
	wantErr(t, IOS15, "list_write", args{"ls": ls, "index": scalarI32(1 << 30), "value": f32(dims(2))}, "a list has at most")
	wantErr(t, IOS15, "list_write", args{"ls": ls, "index": i32(dims(2)), "value": f32(dims(2))}, "index has shape [2], expected a scalar")
	wantErr(t, IOS15, "list_write", args{"ls": ls, "index": scalarI32(0), "value": f32(dims(3))}, "the value is tensor<fp32, [3]>, but the list has elements tensor<fp32, [2]>")
	wantErr(t, IOS15, "list_write", args{"ls": ls, "index": scalarI32(0), "value": i32(dims(2))}, "the value is tensor<int32, [2]>")
	wantErr(t, IOS15, "list_read", args{"ls": ls, "index": scalarI32(2)}, "index 2 is not in the list, which has 2 elements")
	wantErr(t, IOS15, "list_read", args{"ls": ls, "index": scalarI32(-1)}, "index -1 is not in the list")
	wantErr(t, IOS15, "list_read", args{"ls": f32(dims(2)), "index": scalarI32(0)}, "expected a list")
}

func TestListGatherAndScatter(t *testing.T) {
	ls := listOfFloats([]float64{1, 2}, []float64{3, 4}, []float64{5, 6})
	got := evalOp(t, IOS15, "list_gather", args{"ls": ls, "indices": i32(dims(3), 2, 0, 2)})
	wantShape(t, got[0], 3, 2)
	wantFloats(t, got[0], 0, 5, 6, 1, 2, 5, 6)
	got = evalOp(t, IOS15, "list_gather", args{"ls": ls, "indices": i32(dims(0))})
	wantShape(t, got[0], 0, 2)
	scalars := &List{Items: []*tensor.Tensor{scalarI32(7), scalarI32(8)}}
	got = evalOp(t, IOS15, "list_gather", args{"ls": scalars, "indices": i32(dims(2), 1, 0)})
	wantInts(t, got[0], 8, 7)

	got = evalOp(t, IOS15, "list_scatter", args{"ls": ls, "indices": i32(dims(2), 4, 1), "value": f32(dims(2, 2), 10, 20, 30, 40)})
	wantList(t, got[0], []float64{1, 2}, []float64{30, 40}, []float64{5, 6}, []float64{0, 0}, []float64{10, 20})
	got = evalOp(t, IOS15, "list_scatter", args{"ls": scalars, "indices": i32(dims(1), 0), "value": i32(dims(1), 9)})
	wantInts(t, got[0].(*List).Items[0], 9)

	wantErr(t, IOS15, "list_gather", args{"ls": ls, "indices": i32(dims(2), 0, 3)}, "index 3 is not in the list, which has 3 elements")
	wantErr(t, IOS15, "list_gather", args{"ls": ls, "indices": i32(dims(1, 2))}, "indices has shape [1, 2], expected a vector")
	wantErr(t, IOS15, "list_scatter", args{"ls": ls, "indices": i32(dims(2), 0, 1), "value": f32(dims(3, 2))}, "value has shape [3, 2], but there are 2 indices")
	wantErr(t, IOS15, "list_scatter", args{"ls": ls, "indices": i32(dims(1), 0), "value": scalarF32(1)}, "value is a scalar")
	wantErr(t, IOS15, "list_scatter", args{"ls": ls, "indices": i32(dims(1), -1), "value": f32(dims(1, 2))}, "index -1 is out of range")
}

// listProgram is coremltools' unit test of lists: one of initial length 2, written at 0 and at 4, where it
// has to grow, then at 2 and 1 at once. The declared lengths are those that coremltools writes: the initial one.
func listProgram() *mil.Function {
	elem := mil.Tensor(tensor.Float32, 2)
	list := &mil.ListType{Elem: elem, Length: 2}
	a, b := newValue("a", elem), newValue("b", elem)
	made, wrote0, wrote4, scattered := newValue("made", list), newValue("wrote0", list), newValue("wrote4", list), newValue("scattered", list)
	first, read := newValue("first", elem), newValue("read", elem)
	gathered, length := newValue("gathered", mil.Tensor(tensor.Float32, 3, 2)), newValue("length", mil.Tensor(tensor.Int32))
	return &mil.Function{Name: "main", Opset: "CoreML5", Inputs: []*mil.Value{a, b}, Body: newBlock(nil,
		[]*mil.Value{first, read, gathered, length},
		newOp(IOS15, "make_list", args{"init_length": 2, "elem_shape": []*tensor.Tensor{scalarI32(2)}}, made),
		newOp(IOS15, "list_read", args{"ls": made, "index": 0}, first),
		newOp(IOS15, "list_write", args{"ls": made, "index": 0, "value": a}, wrote0),
		newOp(IOS15, "list_write", args{"ls": wrote0, "index": 4, "value": b}, wrote4),
		newOp(IOS15, "list_scatter", args{"ls": wrote4, "indices": []int{2, 1}, "value": f32(dims(2, 2), -1, -2, -4, -5)}, scattered),
		newOp(IOS15, "list_read", args{"ls": scattered, "index": 0}, read),
		newOp(IOS15, "list_gather", args{"ls": scattered, "indices": []int{4, 2, 3}}, gathered),
		newOp(IOS15, "list_length", args{"ls": scattered}, length),
	)}
}

func TestListProgram(t *testing.T) {
	got := mustRun(t, listProgram(), map[string]Value{"a": f32(dims(2), 1, 3), "b": f32(dims(2), 2, 4)})
	wantFloats(t, got[0], 0, 0, 0)
	wantFloats(t, got[1], 0, 1, 3)
	wantFloats(t, got[2], 0, 2, 4, -1, -2, 0, 0)
	wantInts(t, got[3], 5)
}

// TestListOfUnknownShape reads elements of a list whose type does not say what shape they have.
func TestListOfUnknownShape(t *testing.T) {
	elem := mil.Tensor(tensor.Float32, tensor.Unknown)
	list := &mil.ListType{Elem: elem, Length: 1}
	x := newValue("x", elem)
	made, wrote, read := newValue("made", list), newValue("wrote", list), newValue("read", elem)
	all := newValue("all", mil.Tensor(tensor.Float32, 2, tensor.Unknown))
	body := []*mil.Operation{
		newOp(IOS15, "make_list", args{"init_length": 1, "elem_shape": []*tensor.Tensor{strs(nil, "n")}}, made),
		newOp(IOS15, "list_write", args{"ls": made, "index": 2, "value": x}, wrote),
		newOp(IOS15, "list_read", args{"ls": wrote, "index": 1}, read),
		newOp(IOS15, "list_gather", args{"ls": wrote, "indices": []int{2, 0}}, all),
	}
	f := &mil.Function{Name: "main", Opset: "CoreML5", Inputs: []*mil.Value{x}, Body: newBlock(nil, []*mil.Value{read, all}, body...)}
	got := mustRun(t, f, map[string]Value{"x": f32(dims(3), 1, 2, 3)})
	wantFloats(t, got[0], 0, 0, 0, 0) // like the element that was written
	wantFloats(t, got[1], 0, 1, 2, 3, 0, 0, 0)

	unwritten := newValue("unwritten", elem)
	f.Body = newBlock(nil, []*mil.Value{unwritten}, body[0], newOp(IOS15, "list_read", args{"ls": made, "index": 0}, unwritten))
	if _, err := verifyAndRun(f, map[string]Value{"x": f32(dims(3))}); err == nil || !strings.Contains(err.Error(), "nothing was written to element 0") {
		t.Errorf("error is %v", err)
	}
}
