package ops

import (
	"math"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// labelList is a constant list of labels, as a file has it.
func labelList[T tensor.Number | ~string](labels ...T) *mil.Constant {
	c := &mil.Constant{}
	for _, l := range labels {
		c.Items = append(c.Items, mil.ConstOf(l))
	}
	var zero T
	c.Type = &mil.ListType{Elem: mil.ConstOf(zero).Type, Length: tensor.Dim(len(labels))}
	return c
}

func TestClassify(t *testing.T) {
	got := evalOp(t, IOS15, "classify", args{"probabilities": f32(dims(1, 3), 0.25, 0.5, 0.25), "classes": labelList("cat", "naïve «label»", "dog")})
	wantShape(t, got[0])
	wantStrings(t, got[0], "naïve «label»")
	d := got[1].(*Dict)
	if !slices.Equal(d.Keys.Strings(), []string{"cat", "naïve «label»", "dog"}) || !slices.Equal(d.Values, []float64{0.25, 0.5, 0.25}) {
		t.Errorf("dictionary has %v, %v", d.Keys.Strings(), d.Values)
	}
	got = evalOp(t, IOS15, "classify", args{"probabilities": f32(dims(3), 0.5, 0.5, 0), "classes": labelList[int64](-7, 1<<40, 3)})
	wantInts(t, got[0], -7) // of equals, the first
	wantInts(t, got[1].(*Dict).Keys, -7, 1<<40, 3)
	got = evalOp(t, IOS15, "classify", args{"probabilities": f32(dims(3), math.NaN(), 0.25, 0.5), "classes": labelList("a", "b", "c")})
	wantStrings(t, got[0], "c")
	types := inferOp(t, IOS15, "classify", args{"probabilities": f32(dims(1), 1), "classes": labelList("a")})
	if want := []string{"string", "dict<string, fp64>"}; !slices.Equal(types, want) {
		t.Errorf("types are %q, expected %q", types, want)
	}

	p := f32(dims(2), 0.5, 0.5)
	wantErr(t, IOS15, "classify", args{"probabilities": p, "classes": labelList("a")}, "there are 1 classes for 2 probabilities")
	wantErr(t, IOS15, "classify", args{"probabilities": p, "classes": labelList[int32](1, 2)}, "expected a list of string or int64")
	wantErr(t, IOS15, "classify", args{"probabilities": f32(dims(0)), "classes": labelList[string]()}, "classes is empty")
	wantErr(t, IOS15, "classify", args{"probabilities": f16(dims(1)), "classes": labelList("a")}, "expected fp32")
	mixed := labelList("a", "b")
	mixed.Items[1] = mil.ConstOf(int64(1))
	wantErr(t, IOS15, "classify", args{"probabilities": p, "classes": mixed}, "class 1 is int64[], expected string")
}
