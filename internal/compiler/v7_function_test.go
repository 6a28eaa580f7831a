package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/mil"
)

// Functions whose table would not be the function come out right by other means.
func TestFunctionsWithoutTable(t *testing.T) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body    string
		x, want []float32
	}{
		// -x/2 left of 0 meets the limit as x does on the right.
		{"clamped_relu(x = x, alpha = fp16(-0.5), beta = fp16(1))", []float32{-8, -1, 0, 0.5, 8}, []float32{1, 0.5, 0, 0.5, 1}},
	} {
		one := v7Case{inputs: "x [5]", body: "y [5] = " + c.body}
		program, err := mil.ParseText("case", []byte(one.text()), randomWeights{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := wholeSegment(program.Functions[0], target)
		if err != nil {
			t.Fatal(err)
		}
		file, err := compileSegment(t, s, false)
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range runSegment(t, file, target.Numerics, map[string][]float32{"x": c.x}) {
			if y != c.want[i] {
				t.Errorf("%s of %v is %v, expected %v", c.body, c.x[i], y, c.want[i])
			}
		}
	}
}
