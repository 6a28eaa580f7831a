package e5rt_test

import (
	"context"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// padded is y = x + sum, sum = y, where x, y and the state sum lie in rows of 64
// bytes, as chips have them.
func padded(t testing.TB) *maker {
	f16 := tensor.Float16
	m := newMaker(t)
	for _, name := range []string{"x", "y", "sum"} {
		m.value(name, f16, 2, 2, 3)
	}
	m.inputs("x")
	m.states("sum")
	surface := func(name string, d hwx.Direction) hwx.PortSpec {
		p := port(name, d, f16, 1, 2, 2, 3)
		p.Strides = [4]uint64{256, 128, 64, 2}
		return p
	}
	operand := func(port int) td.Operand {
		return td.Operand{
			Base: base(port), Type: f16, Interleave: 1,
			Dims: [td.NumAxes]int{1, 1, 2, 2, 3}, Strides: [td.NumAxes]int64{256, 256, 128, 64, 2},
		}
	}
	file := container(t, 0, []hwx.PortSpec{surface("x", hwx.In), surface("sum", hwx.InOut), surface("y", hwx.Out)},
		&td.Op{Params: &td.ElementWise{Kind: td.EWAdd}, Operands: []td.Operand{operand(2), operand(0), operand(1)}},
		&td.Op{Params: &td.Copy{}, Operands: []td.Operand{operand(1), operand(2)}})
	m.onEngine(file, []string{"x", "sum"}, []string{"sum", "y"})
	m.outputs("y")
	return m
}

// What the caller has is dense, in the ports and in the state; no run allocates.
func TestRowsWithGaps(t *testing.T) {
	f := padded(t).open(nil)
	o, s := f.NewOperation(), f.NewState()
	x := []float32{1, 2, 3, 4, 5, 6, -7, 8, 9, 10, 11, 12}
	check(t, o.Set("x", tensor.FromFloat32s(tensor.Float16, slices.Clone(x), 2, 2, 3)))
	held, err := s.Tensor("sum")
	check(t, err)
	want := make([]float32, len(x))
	for range 3 {
		check(t, o.Run(context.Background(), s))
		for i := range want {
			want[i] += x[i]
		}
		if y := get(t, o, "y"); !slices.Equal(y.Float32s(), want) || !slices.Equal(held.Float32s(), want) {
			t.Errorf("y is %v, sum is %v, want %v", y.Float32s(), held.Float32s(), want)
		}
	}
	if n := testing.AllocsPerRun(20, func() { check(t, o.Run(context.Background(), s)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
