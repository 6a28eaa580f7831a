package compiler_test

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// A transpose that leaves by an output has the layer before it write there, in rows that the tasks of a chip cannot read. What
// reads both reads a copy, and the transpose stays where it was promised to lie. The copy once stood before the transpose, as it
// may where nobody but a product reads through it:
//
//	%a = atan(%x)            written at %b's port, turned       %a_copy = anec.copy(%a)
//	%b = transpose(%a)       output: a view of %a, of no other
//	%c = add(%a, %b)         output: reads %a_copy and a copy of %b
func TestPromisedTranspose(t *testing.T) {
	for _, target := range []string{"h13", "h13g", "m1max", "h14", "h16", "h17", "virtual"} {
		for _, kind := range []string{"atan", "round"} {
			for _, swapped := range []bool{false, true} {
				for _, outputs := range [][]int{{1, 2}, {2, 1}, {0, 1}, {0, 2}, {0, 1, 2}} {
					g := newGrower(1, target, growth{})
					x := g.input(tensor.Float16, []int{6, 7, 6})
					if err := g.values[x].CopyFrom(ascending(6, 7, 6)); err != nil {
						t.Fatal(err)
					}
					a := g.add(kind, with{"x": x}, tensor.Float16)[0]
					b := g.add("transpose", with{"x": a, "perm": []int32{2, 1, 0}}, tensor.Float16)[0]
					pair := with{"x": a, "y": b}
					if swapped {
						pair = with{"x": b, "y": a}
					}
					c := g.add("add", pair, tensor.Float16)[0]
					for _, i := range outputs {
						g.outputs = append(g.outputs, []ref{a, b, c}[i])
					}
					if fault := check(g.program, 1); fault != nil {
						t.Fatalf("%s: %s: %v\n%v", target, fault.kind, fault.err, g.program)
					}
				}
			}
		}
	}
}

// ascending is an array of numbers from 0.75 on.
func ascending(shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	values := make([]float32, n)
	for i := range values {
		values[i] = 0.75 + float32(i)/64
	}
	return tensor.FromFloat32s(tensor.Float16, values, shape...)
}
