package compiler_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/tensor"
)

// A sliceCase slices an array of 4 rows of 5 with a live begin: 2 rows of 3, or one row where it is squeezed.
type sliceCase struct {
	kind     string
	args     with
	squeezed bool
}

var sliceCases = []sliceCase{
	{kind: "slice_by_size", args: with{"size": tensor.Of([]int32{2, 3}, 2)}},
	{kind: "slice_by_index", args: with{}},
	{kind: "slice_by_index", args: with{"squeeze_mask": tensor.Of([]bool{true, false}, 2)}, squeezed: true},
	{kind: "slice_update", args: with{}},
	{kind: "slice_update", args: with{"squeeze_mask": tensor.Of([]bool{true, false}, 2)}, squeezed: true},
}

// One rule holds for live slices that leave an axis, on the host and on the engine of every target: the slice is a window from
// begin on, which reads zeros outside the array, and what is written there is dropped.
func TestSlicesOutOfRange(t *testing.T) {
	begins := [][]int32{{0, 1}, {2, 2}, {-1, -2}, {3, 0}, {4, 1}, {1, 4}, {-5, 1}, {-1000, -6}, {1 << 30, 2}, {1, -1 << 31}}
	targets := hal.Targets()
	for i, c := range sliceCases {
		for n, begin := range begins {
			names := []string{"virtual", targets[1+(n+3*i)%(len(targets)-1)].Name} // each in turn
			if n == 5 {
				names = nil
				for _, target := range targets {
					names = append(names, target.Name)
				}
			}
			for _, target := range names {
				if err := c.holds(t, target, begin); err != nil {
					t.Errorf("%s: %s of %v: %v", target, c.kind, begin, err)
				}
			}
		}
	}
}

func (c *sliceCase) holds(t *testing.T, target string, begin []int32) error {
	p := &program{target: target, values: map[ref]*tensor.Tensor{}}
	add := func(id ref, v *tensor.Tensor) ref {
		p.inputs = append(p.inputs, source{id, v})
		p.values[id] = v
		return id
	}
	rows, shape := 2, []int{2, 3}
	if c.squeezed {
		rows, shape = 1, []int{3}
	}
	x, update := numbered([]int{4, 5}, 1), numbered(shape, 100)
	args := with{"x": add(1, x), "begin": add(2, tensor.Of(begin, 2))}
	for name, a := range c.args {
		args[name] = a
	}
	if c.kind != "slice_by_size" {
		end := []int32{begin[0] + int32(rows), begin[1] + 3}
		args["end"] = add(3, tensor.Of(end, 2))
	}
	want := make([]float64, rows*3)
	if c.kind == "slice_update" {
		args["update"] = add(4, update)
		shape, want = []int{4, 5}, slices.Clone(x.Float64s())
	}
	from := [2]int{int(begin[0]), int(begin[1])}
	for a, n := range []int{4, 5} {
		if from[a] < 0 {
			from[a] += n
		}
	}
	for i := range rows {
		for j := range 3 {
			row, column := from[0]+i, from[1]+j
			switch {
			case row < 0 || row >= 4 || column < 0 || column >= 5:
			case c.kind == "slice_update":
				want[row*5+column] = update.Float64s()[i*3+j]
			default:
				want[i*3+j] = x.Float64s()[row*5+column]
			}
		}
	}
	p.values[5] = tensor.New(tensor.Float16, shape...)
	p.steps = []*step{{kind: c.kind, args: args, outs: []ref{5}}}
	p.outputs = []ref{5}
	host, engine, hostErr, engineErr := p.results(t.Context(), true)
	if hostErr != nil || engineErr != nil {
		return fmt.Errorf("host: %v, engine: %v", hostErr, engineErr)
	}
	for unit, got := range map[string]*tensor.Tensor{"host": host, "engine": engine} {
		if !slices.Equal(got.Float64s(), want) {
			return fmt.Errorf("the %s gives %v, expected %v", unit, got.Float64s(), want)
		}
	}
	return nil
}
