package e5rt_test

import (
	"context"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// rowGaps are strides of [1, 2, 2, 3] in rows of 64 bytes, as chips have them.
var rowGaps = [4]uint64{256, 128, 64, 2}

// padded is y = x + sum, sum = y, where x, y and the state sum lie with strides.
func padded(t testing.TB, strides [4]uint64) *maker {
	f16 := tensor.Float16
	m := newMaker(t)
	for _, name := range []string{"x", "y"} {
		m.value(name, f16, 2, 2, 3)
	}
	for _, name := range []string{"x__engine", "y__engine", "sum"} {
		m.strided(name, f16, strides, 2, 2, 3)
	}
	m.inputs("x")
	m.states("sum")
	surface := func(name string, d hwx.Direction) hwx.PortSpec {
		p := port(name, d, f16, 1, 2, 2, 3)
		p.Strides = strides
		return p
	}
	n, c, h, w := int64(strides[0]), int64(strides[1]), int64(strides[2]), int64(strides[3])
	operand := func(port int) td.Operand {
		return td.Operand{
			Base: base(port), Type: f16, Interleave: 1,
			Dims: [td.NumAxes]int{1, 1, 2, 2, 3}, Strides: [td.NumAxes]int64{n, n, c, h, w},
		}
	}
	file := container(t, 0, []hwx.PortSpec{surface("x", hwx.In), surface("sum", hwx.InOut), surface("y", hwx.Out)},
		&td.Op{Params: &td.ElementWise{Kind: td.EWAdd}, Operands: []td.Operand{operand(2), operand(0), operand(1)}},
		&td.Op{Params: &td.Copy{}, Operands: []td.Operand{operand(1), operand(2)}})
	m.cast("x", "x__engine")
	m.onEngine(file, []string{"x__engine", "sum"}, []string{"sum", "y__engine"})
	m.cast("y__engine", "y")
	m.outputs("y")
	return m
}

// What the caller has is dense, wherever the gaps are, and the state lies as the engine has it; no run allocates.
func TestElementsWithGaps(t *testing.T) {
	for name, strides := range map[string][4]uint64{
		"rows": rowGaps, "elements": {256, 128, 64, 4}, "channels side by side": {64, 2, 16, 4},
	} {
		t.Run(name, func(t *testing.T) { testGaps(t, padded(t, strides).open(nil)) })
	}
}

func testGaps(t *testing.T, f *e5rt.Function) {
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
	if n := testkit.Allocs(20, func() { check(t, o.Run(context.Background(), s)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A state that lies otherwise is laid out anew once, by who has it: not while another run does. What it held stays.
func TestStateIsLaidOut(t *testing.T) {
	f := padded(t, rowGaps).open(nil)
	p := f.States()[0]
	s := e5rt.NewState(e5rt.Port{Name: p.Name, Type: p.Type, Shape: p.Shape}) // dense
	was := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	check(t, s.Set("sum", tensor.FromFloat32s(p.Type, slices.Clone(was), p.Shape...)))
	dense, err := s.Tensor("sum")
	check(t, err)
	o := f.NewOperation()
	e5rt.WhileBusy(s, func() { check(t, o.Prepare(s)) })
	if now, err := s.Tensor("sum"); err != nil || &now.From()[0] != &dense.From()[0] || !now.Contiguous() {
		t.Errorf("the state of another run was moved (%v)", err)
	}
	check(t, o.Prepare(s))
	for range 2 {
		check(t, o.Run(context.Background(), s)) // x is 0
	}
	now, err := s.Tensor("sum")
	check(t, err)
	if now.Contiguous() || !slices.Equal(now.Float32s(), was) || !slices.Equal(get(t, o, "y").Float32s(), was) {
		t.Errorf("the state is %v with strides %v, y is %v", now.Float32s(), now.Strides(), get(t, o, "y").Float32s())
	}
	if n := o.Stats().Copied; n != 2*2*12*2 { // x and y, as they are cast in two runs
		t.Errorf("%d bytes were copied", n)
	}
}
