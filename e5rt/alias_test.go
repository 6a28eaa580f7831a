package e5rt_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// twice is y = 2x+1 and then z = 3x, in two dispatches.
func twice(t testing.TB) *e5rt.Function {
	m := newMaker(t)
	for _, name := range []string{"x", "y", "z"} {
		m.value(name, tensor.Float16, 6)
	}
	m.inputs("x")
	m.onEngine(linear(t, "x", "y", 6, 2, 1), []string{"x"}, []string{"y"})
	m.onEngine(linear(t, "x", "z", 6, 3, 0), []string{"x"}, []string{"z"})
	m.outputs("y", "z")
	return m.open(nil)
}

// within is a tensor of six halves in memory, from a byte on.
func within(t testing.TB, memory []byte, at int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromBytes(tensor.Float16, []int{6}, memory[at:at+12])
	check(t, err)
	return x
}

func times(a, b float32) []float32 {
	y := make([]float32, len(someInput))
	for i, x := range someInput {
		y[i] = a*x + b
	}
	return y
}

// An input that a later step reads, and one that is written while it is read,
// each from the same byte on and some elements apart.
func TestAliasSteps(t *testing.T) {
	f := twice(t)
	ctx := context.Background()
	for _, over := range []string{"y", "z"} {
		for _, shift := range []int{0, 4, -4} {
			memory := make([]byte, 32)
			x, result, other := within(t, memory, 8), within(t, memory, 8+shift), tensor.New(tensor.Float16, 6)
			y, z := result, other
			if over == "z" {
				y, z = other, result
			}
			o := f.NewOperation()
			check(t, o.Bind("x", x))
			check(t, o.Bind("y", y))
			check(t, o.Bind("z", z))
			given := tensor.FromFloat32s(tensor.Float16, slices.Clone(someInput), 6)
			check(t, o.Set("x", given))
			check(t, o.Run(ctx, nil))
			if got := y.Float32s(); !slices.Equal(got, times(2, 1)) {
				t.Errorf("%s %d bytes after x: y is %v, want %v", over, shift, got, times(2, 1))
			}
			if got := z.Float32s(); !slices.Equal(got, times(3, 0)) {
				t.Errorf("%s %d bytes after x: z is %v, want %v", over, shift, got, times(3, 0))
			}
			if n := testkit.Allocs(20, func() {
				check(t, o.Set("x", given))
				check(t, o.Run(ctx, nil))
			}); n != 0 && !testkit.Race { // which allocates by itself
				t.Errorf("%s %d bytes after x: %v allocations", over, shift, n)
			}
		}
	}
}

// Two outputs in one memory are refused when they are run, so that a caller can
// exchange the memory of two.
func TestAliasOutputs(t *testing.T) {
	f := twice(t)
	ctx := context.Background()
	o := f.NewOperation()
	check(t, o.Set("x", tensor.FromFloat32s(tensor.Float16, slices.Clone(someInput), 6)))
	memory := make([]byte, 32)
	first, second := within(t, memory, 0), within(t, memory, 12)
	for range 2 {
		check(t, o.Bind("y", first))
		check(t, o.Bind("z", second))
		check(t, o.Run(ctx, nil))
		if !slices.Equal(first.Float32s(), times(2, 1)) || !slices.Equal(second.Float32s(), times(3, 0)) {
			t.Errorf("y is %v, z is %v", first.Float32s(), second.Float32s())
		}
		first, second = second, first
	}
	check(t, o.Bind("z", within(t, memory, 20)))
	check(t, o.Bind("y", within(t, memory, 10)))
	err := o.Run(ctx, nil)
	var about *e5rt.Error
	if !errors.Is(err, e5rt.ErrOverlap) || !errors.As(err, &about) || !strings.Contains(err.Error(), `output "y" and output "z"`) {
		t.Errorf("two outputs in one memory: %v", err)
	}
	check(t, o.Bind("y", first))
	check(t, o.Bind("z", second))
	check(t, o.Run(ctx, nil))
}

// A cast to wider elements over what it reads.
func TestAliasCast(t *testing.T) {
	m := newMaker(t)
	m.value("x", tensor.Float16, 600)
	m.value("y", tensor.Float32, 600)
	m.inputs("x")
	m.cast("x", "y")
	m.outputs("y")
	f := m.open(nil)
	memory := make([]byte, 2400)
	x, err := tensor.FromBytes(tensor.Float16, []int{600}, memory[:1200])
	check(t, err)
	y, err := tensor.FromBytes(tensor.Float32, []int{600}, memory)
	check(t, err)
	o := f.NewOperation()
	check(t, o.Bind("x", x))
	check(t, o.Bind("y", y))
	numbers := make([]float32, 600)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	check(t, o.Set("x", tensor.FromFloat32s(tensor.Float16, numbers, 600)))
	check(t, o.Run(context.Background(), nil))
	for i, v := range y.Float32s() {
		if v != float32(i) {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}

// An output that is an input, so large that several goroutines copy it, some elements apart from it.
func TestAliasLargeCopy(t *testing.T) {
	const n, most = 1 << 18, 4 << 10
	m := newMaker(t)
	m.value("x", tensor.Int32, n)
	m.value("y", tensor.Int32, n)
	m.inputs("x")
	m.cast("x", "y")
	m.outputs("y")
	f := m.open(nil)
	for _, shift := range []int{0, 4, most, -4, -most} {
		memory := make([]byte, 4*n+2*most)
		x, err := tensor.FromBytes(tensor.Int32, []int{n}, memory[most:most+4*n])
		check(t, err)
		y, err := tensor.FromBytes(tensor.Int32, []int{n}, memory[most+shift:most+shift+4*n])
		check(t, err)
		o := f.NewOperation()
		check(t, o.Bind("x", x))
		check(t, o.Bind("y", y))
		for i, v := 0, tensor.Data[int32](x); i < n; i++ {
			v[i] = int32(i)
		}
		check(t, o.Run(context.Background(), nil))
		for i, v := range tensor.Data[int32](y) {
			if v != int32(i) {
				t.Errorf("%d bytes apart: element %d is %d", shift, i, v)
				break
			}
		}
	}
}

// A host function sees inputs as they were, whatever it has written already.
func TestAliasHost(t *testing.T) {
	m := newMaker(t)
	for _, name := range []string{"x", "y", "z"} {
		m.value(name, tensor.Float16, 6)
	}
	m.inputs("x")
	m.onHost("both", []string{"x"}, []string{"y", "z"})
	m.outputs("y", "z")
	six := func(name string) e5rt.HostType { return known(name, tensor.Float16, 6) }
	f := m.open(functions{"both": {
		inputs: []e5rt.HostType{six("x")}, outputs: []e5rt.HostType{six("y"), six("z")},
		run: func(ctx context.Context, inputs, outputs []e5rt.Value) error {
			for k, to := range outputs {
				from, to := tensor.Data[uint16](inputs[0].(*tensor.Tensor)), tensor.Data[uint16](to.(*tensor.Tensor))
				for i := range to {
					to[i] = from[len(from)-1-i] + uint16(k)
				}
			}
			return nil
		},
	}})
	x := tensor.Of([]uint16{1, 2, 3, 4, 5, 6}, 6)
	shared, err := tensor.FromBytes(tensor.Float16, []int{6}, x.Bytes())
	check(t, err)
	o := f.NewOperation()
	check(t, o.Bind("x", shared))
	check(t, o.Bind("y", shared))
	check(t, o.Run(context.Background(), nil))
	for k, want := range map[string][]uint16{"y": {6, 5, 4, 3, 2, 1}, "z": {7, 6, 5, 4, 3, 2}} {
		if got := tensor.Data[uint16](get(t, o, k)); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", k, got, want)
		}
	}
}

// An input may lie in a state, and is read as it was before the run; an output
// may not.
func TestAliasState(t *testing.T) {
	f := cache(t).open(nil)
	ctx := context.Background()
	o, s := f.NewOperation(), f.NewState()
	held, err := s.Tensor("cache")
	check(t, err)
	memory := tensor.Data[uint16](held)
	for i := range memory {
		memory[i] = uint16(i % 1000)
	}
	want := slices.Clone(memory[cacheWidth/2:][:cacheWidth]) // from the middle of row 0 to that of row 1
	row, err := tensor.FromBytes(tensor.Float16, []int{1, cacheWidth}, held.Bytes()[cacheWidth:][:2*cacheWidth])
	check(t, err)
	check(t, o.Bind("row", row))
	check(t, o.Set("at", tensor.Of([]int32{1}, 1)))
	check(t, o.Run(ctx, s))
	if !slices.Equal(memory[cacheWidth:2*cacheWidth], want) {
		t.Error("row 1 of the state is not what the input was")
	}
	last, err := tensor.FromBytes(tensor.Float16, []int{1}, held.Bytes()[8:10])
	check(t, err)
	check(t, o.Bind("last", last))
	if err := o.Run(ctx, s); !errors.Is(err, e5rt.ErrOverlap) || !strings.Contains(err.Error(), `output "last" and state "cache"`) {
		t.Errorf("an output in a state: %v", err)
	}
	check(t, o.Run(ctx, f.NewState())) // of another state, it has its own memory
}
