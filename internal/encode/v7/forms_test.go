package v7_test

import (
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/compiler"
)

// Whatever the form of the words, the numbers are the same: every convolution, and of the other cases one in five.
func TestFormsComputeTheSame(t *testing.T) {
	later := h13(t)
	n := 0
	same := func(every int) func(*testing.T, *testCase) {
		return func(t *testing.T, c *testCase) {
			if n++; n%every != 0 {
				return
			}
			program := c.program(t)
			inputs := c.values(program.Functions[0])
			a := compile(t, &compiler.Job{Target: later, Program: program})
			b := compile(t, &compiler.Job{Target: later.As2020(), Program: program, Strict: true})
			if !slices.Equal(runContainer(t, a.File, later.Numerics, inputs), runContainer(t, b.File, later.Numerics, inputs)) {
				t.Error("the form of 2020 has other results")
			}
		}
	}
	eachCase(t, []string{"convolution"}, same(1))
	others := slices.DeleteFunc(append(slices.Clone(families), "pooling"), func(f string) bool { return f == "convolution" })
	eachCase(t, others, same(5))
}
