package host_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

func hostOf(t testing.TB, functions string) *host.Host {
	t.Helper()
	p, err := mil.ParseText("f.mil", []byte("program(1.3)\n{\n"+functions+"}\n"), nil)
	check(t, err)
	h, err := host.New(p)
	check(t, err)
	return h
}

func functionOf(t testing.TB, h *host.Host, name string) e5rt.HostFunction {
	t.Helper()
	f, err := h.Function(name)
	check(t, err)
	return f
}

// A row is read of a large state, which lies side by side or with gaps. Nothing of the state is copied: neither by the count, nor is
// there memory made for it.
func TestStateIsReadWhereItLies(t *testing.T) {
	const rows, width, at = 1000, 300, 7
	for _, d := range []tensor.DType{tensor.Float16, tensor.Float32, tensor.Int32, tensor.Bool} {
		for _, gap := range []int{0, 64} {
			h := hostOf(t, strings.ReplaceAll(`
    func row<ios18>(state<tensor<T, [1000, 300]>> held) {
            tensor<T, [1000, 300]> all = read_state(input = held)[name = string("all")];
            tensor<int32, [2]> begin = const()[name = string("begin"), val = tensor<int32, [2]>([7, 0])];
            tensor<int32, [2]> end = const()[name = string("end"), val = tensor<int32, [2]>([8, 300])];
            tensor<T, [1, 300]> y = slice_by_index(x = all, begin = begin, end = end)[name = string("y")];
        } -> (y);
`, "T", d.String()))
			f := functionOf(t, h, "row")
			stride := width*d.Size() + gap
			memory := make([]byte, rows*stride)
			held, err := tensor.Strided(d, []int{rows, width}, []int{stride, d.Size()}, memory)
			check(t, err)
			want := make([]float32, width)
			for i := range want {
				want[i] = float32(i % 2)
			}
			row, err := held.Slice(0, at, 1, 1)
			check(t, err)
			values, err := tensor.Of(want, 1, width).Convert(d)
			check(t, err)
			check(t, row.CopyFrom(values))
			inputs, outputs := []e5rt.Value{held}, []e5rt.Value{tensor.New(d, 1, width)}
			check(t, f.Run(context.Background(), inputs, outputs))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			check(t, f.Run(context.Background(), inputs, outputs))
			runtime.ReadMemStats(&after)
			if got := outputs[0].(*tensor.Tensor).Float32s(); !slices.Equal(got, want) {
				t.Errorf("%v with gaps of %d: the row is %v", d, gap, got)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(memory)/8) {
				t.Errorf("%v with gaps of %d: %d bytes are made for a row of %d bytes of state", d, gap, n, len(memory))
			}
			if n := h.Copied(); n != 0 {
				t.Errorf("%v with gaps of %d: %d bytes of the state are copied", d, gap, n)
			}
		}
	}
}

// What was read of a state is what it was then, whatever is written to it, or to another, in the same run or later.
func TestStateIsReadAsItWas(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float16, tensor.Float32, tensor.Int32} {
		h := hostOf(t, strings.ReplaceAll(`
    func exchange<ios18>(state<tensor<T, [4]>> a, state<tensor<T, [4]>> b) {
            tensor<T, [4]> x = read_state(input = a)[name = string("x")];
            tensor<T, [4]> y = read_state(input = b)[name = string("y")];
            write_state(data = y, input = a)[name = string("toA")];
            write_state(data = x, input = b)[name = string("toB")];
            tensor<T, [4]> z = read_state(input = a)[name = string("z")];
        } -> (x, z);
    func turn<ios18>(state<tensor<T, [4]>> a) {
            tensor<T, [4]> x = read_state(input = a)[name = string("x")];
            tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<int32, [1]>([0])];
            tensor<T, [4]> y = reverse(x = x, axes = axes)[name = string("y")];
            write_state(data = y, input = a)[name = string("toA")];
        } -> (x);
    func first<ios18>(state<tensor<T, [4]>> a, tensor<int32, [1]> n) {
            tensor<T, [4]> x = read_state(input = a)[name = string("x")];
            tensor<int32, [1]> begin = const()[name = string("begin"), val = tensor<int32, [1]>([0])];
            tensor<T, [?]> y = slice_by_index(x = x, begin = begin, end = n)[name = string("y")];
            tensor<T, [4]> sum = add(x = x, y = x)[name = string("sum")];
            write_state(data = sum, input = a)[name = string("toA")];
        } -> (y);
`, "T", d.String()))
		of := func(values ...float32) *tensor.Tensor {
			x, err := tensor.Of(values, len(values)).Convert(d)
			check(t, err)
			return x
		}
		ctx := context.Background()
		is := func(what string, v e5rt.Value, want ...float32) {
			t.Helper()
			if got := v.(*tensor.Tensor).Float32s(); !slices.Equal(got, want) {
				t.Errorf("%v: %s is %v, want %v", d, what, got, want)
			}
		}
		a, b := of(1, 2, 3, 4), of(5, 6, 7, 8)
		outputs := []e5rt.Value{tensor.New(d, 4), tensor.New(d, 4)}
		check(t, functionOf(t, h, "exchange").Run(ctx, []e5rt.Value{a, b}, outputs))
		is("a", a, 5, 6, 7, 8)
		is("b", b, 1, 2, 3, 4)
		is("what a was", outputs[0], 1, 2, 3, 4)
		is("what a is", outputs[1], 5, 6, 7, 8)
		if want := int64(2 * 4 * d.Size()); h.Copied() != want {
			t.Errorf("%v: %d bytes of states are copied, want %d", d, h.Copied(), want)
		}
		check(t, functionOf(t, h, "turn").Run(ctx, []e5rt.Value{b}, outputs[:1]))
		is("b, turned", b, 4, 3, 2, 1)
		is("what b was", outputs[0], 1, 2, 3, 4)

		opaque := []e5rt.Value{nil}
		check(t, functionOf(t, h, "first").Run(ctx, []e5rt.Value{a, tensor.Of([]int32{3}, 1)}, opaque))
		is("a, twice", a, 10, 12, 14, 16)
		is("the beginning of a before", opaque[0], 5, 6, 7)
	}
}

// A value without a layout that is a part of an input stays, whatever comes into the input's buffer.
func TestPartOfInputStays(t *testing.T) {
	h := hostOf(t, `
    func first<ios18>(tensor<int32, [4]> x, tensor<int32, [1]> n) {
            tensor<int32, [1]> begin = const()[name = string("begin"), val = tensor<int32, [1]>([0])];
            tensor<int32, [?]> y = slice_by_index(x = x, begin = begin, end = n)[name = string("y")];
        } -> (y);
`)
	x, opaque := tensor.Of([]int32{1, 2, 3, 4}, 4), []e5rt.Value{nil}
	check(t, functionOf(t, h, "first").Run(context.Background(), []e5rt.Value{x, tensor.Of([]int32{3}, 1)}, opaque))
	clear(tensor.Data[int32](x))
	if got := opaque[0].(*tensor.Tensor).Int64s(); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
}

const (
	putting = `
    func put<ios18>(state<tensor<T, [1000, 300]>> held, tensor<T, [1, 300]> row, tensor<int32, [1]> at) {ROWS
            tensor<T, [1000, 300]> now = read_state(input = held)[name = string("now")];
            tensor<T, [1, 300]> y = slice_by_index(x = now, begin = begin, end = end)[name = string("y")];
        } -> (y);
    func exchange<ios18>(state<tensor<T, [1000, 300]>> held, tensor<T, [1, 300]> row, tensor<int32, [1]> at) {ROWS
            tensor<T, [1, 300]> y = slice_by_index(x = before, begin = begin, end = end)[name = string("y")];
        } -> (y);
`
	updateRow = `
            tensor<int32, [1]> width = const()[name = string("width"), val = tensor<int32, [1]>([0])];
            tensor<int32, [1]> one = const()[name = string("one"), val = tensor<int32, [1]>([1])];
            tensor<int32, [1]> all = const()[name = string("all"), val = tensor<int32, [1]>([300])];
            tensor<int32, [1]> next = add(x = at, y = one)[name = string("next")];
            int32 axis = const()[name = string("axis"), val = int32(0)];
            bool interleave = const()[name = string("interleave"), val = bool(false)];
            tensor<int32, [2]> begin = concat(values = (at, width), axis = axis, interleave = interleave)[name = string("begin")];
            tensor<int32, [2]> end = concat(values = (next, all), axis = axis, interleave = interleave)[name = string("end")];
            tensor<T, [1000, 300]> before = read_state(input = held)[name = string("before")];
            tensor<T, [1000, 300]> after = slice_update(x = before, update = row, begin = begin, end = end)[name = string("after")];
            write_state(data = after, input = held)[name = string("write")];
`
)

// A row is put into a large state, at a place that is an input. Nothing else of the state is copied, unless somebody asks for what
// it held before.
func TestStateIsUpdatedWhereItLies(t *testing.T) {
	const rows, width = 1000, 300
	for _, d := range []tensor.DType{tensor.Float16, tensor.Float32, tensor.Int32, tensor.Int8} {
		for _, gap := range []int{0, 64} {
			h := hostOf(t, strings.ReplaceAll(strings.ReplaceAll(putting, "ROWS", updateRow), "T", d.String()))
			stride := width*d.Size() + gap
			memory := make([]byte, rows*stride)
			held, err := tensor.Strided(d, []int{rows, width}, []int{stride, d.Size()}, memory)
			check(t, err)
			want, values := make([]float32, rows*width), make([]float32, width)
			outputs := []e5rt.Value{tensor.New(d, 1, width)}
			step := func(function string, k int) (made uint64) {
				at := k * 7 % rows
				old := slices.Clone(want[at*width:][:width])
				for i := range values {
					values[i] = float32((i + k) % 5)
				}
				copy(want[at*width:], values)
				row, err := tensor.Of(values, 1, width).Convert(d)
				check(t, err)
				var before, after runtime.MemStats
				f := functionOf(t, h, function)
				runtime.ReadMemStats(&before)
				check(t, f.Run(context.Background(), []e5rt.Value{held, row, tensor.Of([]int32{int32(at)}, 1)}, outputs))
				runtime.ReadMemStats(&after)
				y := values
				if function == "exchange" {
					y = old
				}
				if got := outputs[0].(*tensor.Tensor).Float32s(); !slices.Equal(got, y) {
					t.Errorf("%s of %v with gaps of %d: step %d gives %v, want %v", function, d, gap, k, got, y)
				}
				return after.TotalAlloc - before.TotalAlloc
			}
			for k := range 8 {
				if made := step("put", k); k > 0 && made > uint64(len(memory)/8) {
					t.Errorf("%v with gaps of %d: step %d makes %d bytes for a row of %d bytes of state", d, gap, k, made, len(memory))
				}
			}
			if n := h.Copied(); n != 0 {
				t.Errorf("%v with gaps of %d: %d bytes of the state are copied", d, gap, n)
			}
			step("exchange", 3)
			step("put", 9)
			if n, whole := h.Copied(), int64(rows*width*d.Size()); n != whole {
				t.Errorf("%v with gaps of %d: %d bytes of the state are copied, want %d", d, gap, n, whole)
			}
			if !slices.Equal(held.Float32s(), want) {
				t.Errorf("%v with gaps of %d: the state is not what was put there", d, gap)
			}
		}
	}
}
