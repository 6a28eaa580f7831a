package v7_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/tensor"
)

// The same program in native tasks and in extensions gives the same numbers: a model whose layers are some of the one and
// some of the other is not two chips.
func TestNativeTasksAgreeWithExtensions(t *testing.T) {
	all, identical := 0, 0
	eachCase(t, families, func(t *testing.T, c *testCase) {
		program := c.program(t)
		inputs := c.values(program.Functions[0])
		native, err := nativeSegment(t, program)
		if err != nil {
			t.Fatal(err)
		}
		other := compile(t, &compiler.Job{Target: extensions(t), Program: program})
		for i, task := range other.Tasks {
			if task.Unit != nil {
				t.Errorf("task %d is native", i)
			}
		}
		all++
		if c.agree(t, runContainer(t, native.File, native.Target.Numerics, inputs), runContainer(t, other.File, native.Target.Numerics, inputs)) {
			identical++
		}
	})
	// What is not identical takes other stages than the extension does: attention, powers, the longer forms of
	// normalizations, and what an epilogue does in one step and tasks in two.
	t.Logf("%d of %d cases give the same bits", identical, all)
	if identical < all*5/6 {
		t.Errorf("%d of %d cases give the same bits, want five of six", identical, all)
	}
}

// agree holds two results to each other as the case holds one to the operations, and reports whether they are the same.
func (c *testCase) agree(t *testing.T, native, extension []float32) (identical bool) {
	t.Helper()
	identical = len(native) == len(extension)
	for i, v := range native {
		if v == extension[i] {
			continue
		}
		identical = false
		if !c.near(v, extension[i]) {
			t.Fatalf("element %d is %v in native tasks, %v in extensions", i, v, extension[i])
		}
	}
	return identical
}

// A row has the same bits whether it is computed alone or among others, and wherever it stands there.
func TestRowsAmongOthers(t *testing.T) {
	native := h13(t)
	r := rand.New(rand.NewPCG(3, 5))
	const length = 300
	row := make([]float32, length)
	for i := range row {
		row[i] = tensor.RoundF16(float32(r.NormFloat64()))
	}
	for _, body := range []string{
		"matmul(x = x, y = blob [40, 300], transpose_x = bool(false), transpose_y = bool(true))",
		"softmax(x = x, axis = int32(-1))",
		"reduce_mean(x = x, axes = tensor<int32, [1]>([-1]), keep_dims = bool(true))",
		"layer_norm(x = x, axes = tensor<int32, [1]>([-1]), epsilon = fp16(0.0001))",
	} {
		width := map[byte]int{'m': 40, 's': length, 'r': 1, 'l': length}[body[0]]
		for _, target := range []*hal.Target{native, extensions(t)} {
			var alone []float32
			for _, rows := range []int{1, 2, 8, 32, 128} {
				c := testCase{inputs: []string{fmt.Sprintf("x [%d, %d]", rows, length)}, body: []string{fmt.Sprintf("y [%d, %d] = %s", rows, width, body)}}
				s := compile(t, &compiler.Job{Target: target, Program: c.program(t)})
				x := make([]float32, rows*length)
				for i := range x {
					x[i] = tensor.RoundF16(float32(r.NormFloat64()))
				}
				at := r.IntN(rows)
				copy(x[at*length:], row)
				y := runContainer(t, s.File, target.Numerics, map[string][]float32{"x": x})[at*width:][:width]
				if alone == nil {
					alone = y
				} else if !slices.Equal(y, alone) {
					t.Errorf("%s, encoders %v: row %d of %d has other bits than alone", body, target.Encoders, at, rows)
				}
			}
		}
	}
}
