package e5rt_test

import (
	"context"
	"errors"
	"testing"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

const (
	cacheRows  = 100
	cacheWidth = 512
)

// cache is a function that writes a row into its state, at a place that it is
// given, and gives the last element of the row.
func cache(t testing.TB) *maker {
	f16, i32 := tensor.Float16, tensor.Int32
	m := newMaker(t)
	m.value("row", f16, 1, cacheWidth)
	m.value("at", i32, 1)
	m.value("cache", f16, 1, cacheRows, cacheWidth)
	m.value("last", f16, 1)
	m.inputs("row", "at")
	m.states("cache")
	whole, row := [td.NumAxes]int{1, 1, 1, cacheRows, cacheWidth}, [td.NumAxes]int{1, 1, 1, 1, cacheWidth}
	one := [td.NumAxes]int{1, 1, 1, 1, 1}
	file := container(t, 0,
		[]hwx.PortSpec{
			port("row", hwx.In, f16, 1, 1, 1, cacheWidth), port("at", hwx.In, i32, 1, 1, 1, 1),
			port("cache", hwx.InOut, f16, 1, 1, cacheRows, cacheWidth), port("last", hwx.Out, f16, 1, 1, 1, 1),
		},
		&td.Op{Params: &td.RingBufferWriter{Live: [td.NumAxes]int{0, 0, 0, 1, 0}}, Operands: []td.Operand{
			td.Dense(base(2), 0, f16, whole), td.Dense(base(2), 0, f16, whole), td.Dense(base(0), 0, f16, row), td.Dense(base(1), 0, i32, one),
		}},
		&td.Op{Params: &td.Copy{}, Operands: []td.Operand{
			td.Dense(base(3), 0, f16, one), td.Dense(base(2), 2*(cacheWidth-1), f16, one),
		}})
	m.onEngine(file, []string{"row", "at", "cache"}, []string{"cache", "last"})
	m.outputs("last")
	return m
}

// The held tensor stays where it is over 64 steps, and a step writes its row and
// nothing else: no step allocates, and what lies outside of the row is not
// touched.
func TestStateStaysInPlace(t *testing.T) {
	f := cache(t).open(nil)
	o, s := f.NewOperation(), f.NewState()
	held, err := s.Tensor("cache")
	check(t, err)
	address, _ := held.Memory()
	ctx := context.Background()
	row, at := tensor.New(tensor.Float16, 1, cacheWidth), tensor.New(tensor.Int32, 1)
	check(t, o.Bind("row", row))
	check(t, o.Bind("at", at))
	rows, places := tensor.Data[uint16](row), tensor.Data[int32](at)
	memory := tensor.Data[uint16](held)
	const elsewhere = cacheWidth * (cacheRows - 1)
	memory[elsewhere] = tensor.ToF16(-7) // whoever copied the tensor would have to copy this too
	for k := range 64 {
		for i := range rows {
			rows[i] = tensor.ToF16(float32(k + i))
		}
		places[0] = int32(k)
		if n := testkit.Allocs(1, func() { check(t, o.Run(ctx, s)) }); n != 0 && k > 0 {
			t.Fatalf("step %d: %v allocations", k, n)
		}
		after, err := s.Tensor("cache")
		check(t, err)
		if now, _ := after.Memory(); now != address {
			t.Fatalf("step %d: the state has moved", k)
		}
		memory[elsewhere] = tensor.ToF16(float32(-8 - k)) // seen by the next step, if it works on this memory
	}
	for k := range cacheRows {
		for i := range cacheWidth {
			want := float32(0)
			switch {
			case k < 64:
				want = float32(k + i)
			case k*cacheWidth+i == elsewhere:
				want = -8 - 63
			}
			if got := tensor.F16(memory[k*cacheWidth+i]); got != want {
				t.Fatalf("row %d, element %d is %v, want %v", k, i, got, want)
			}
		}
	}
	if got := get(t, o, "last").Float32s()[0]; got != cacheWidth-1 {
		t.Errorf("last is %v", got)
	}
}

// States are apart from each other, and an operation takes any of its function.
func TestStates(t *testing.T) {
	f := cache(t).open(nil)
	o := f.NewOperation()
	states := []*e5rt.State{f.NewState(), f.NewState()}
	ctx := context.Background()
	for k := range 4 {
		row := tensor.New(tensor.Float16, 1, cacheWidth)
		tensor.Data[uint16](row)[0] = tensor.ToF16(float32(k + 1))
		check(t, o.Set("row", row))
		check(t, o.Set("at", tensor.Of([]int32{int32(k)}, 1)))
		check(t, o.Run(ctx, states[k%2]))
	}
	for i, s := range states {
		held, err := s.Tensor("cache")
		check(t, err)
		values := held.Float32s()
		for k := range 4 {
			want := float32(0)
			if k%2 == i {
				want = float32(k + 1)
			}
			if got := values[k*cacheWidth]; got != want {
				t.Errorf("state %d: row %d begins with %v, want %v", i, k, got, want)
			}
		}
	}
	if err := o.Run(ctx, nil); !errors.Is(err, e5rt.ErrState) {
		t.Errorf("without a state: %v", err)
	}
	for name, ports := range map[string][]e5rt.Port{
		"name":  {{Name: "other", Type: tensor.Float16, Shape: []int{1, cacheRows, cacheWidth}}},
		"type":  {{Name: "cache", Type: tensor.Int16, Shape: []int{1, cacheRows, cacheWidth}}},
		"shape": {{Name: "cache", Type: tensor.Float16, Shape: []int{cacheRows, cacheWidth}}},
	} {
		if err := o.Run(ctx, e5rt.NewState(ports...)); !errors.Is(err, e5rt.ErrState) {
			t.Errorf("with another %s: %v", name, err)
		}
	}
	// Another function may have the same state.
	check(t, cache(t).open(nil).NewOperation().Run(ctx, states[0]))
	if _, err := states[0].Tensor("row"); !errors.Is(err, e5rt.ErrNotFound) {
		t.Errorf("an input is a state: %v", err)
	}
	if got := f.States(); len(got) != 1 || got[0].Name != "cache" || got[0].Bytes != 2*cacheRows*cacheWidth || len(f.Inputs()) != 2 {
		t.Errorf("states %+v", got)
	}
}
