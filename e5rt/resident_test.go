package e5rt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// openMIL compiles the function main of a program for a target.
func openMIL(t testing.TB, target, function string) *e5rt.Function {
	t.Helper()
	p, err := mil.ParseText("model.mil", []byte("program(1.3)\n{\n"+function+"}\n"), nil)
	check(t, err)
	chip, err := hal.Lookup(target)
	check(t, err)
	f := p.Functions[0]
	described := bundle.Function{Name: f.Name}
	for _, v := range f.Inputs {
		if s, ok := v.Type.(*mil.StateType); ok {
			of := s.Elem.(*mil.TensorType)
			shape, _ := of.Shape.Ints()
			described.States = append(described.States, bundle.Feature{Name: v.Name, Kind: "state", Array: &bundle.Array{Type: of.DType.String(), Shape: shape}})
		}
	}
	r, err := compiler.Compile(context.Background(), &compiler.Job{Target: chip, Program: p, Functions: []compiler.Entry{{Function: f, Features: described}}})
	check(t, err)
	var o e5rt.Options
	if r.Host != nil {
		h, err := host.New(r.Host)
		check(t, err)
		o.Host = h
	}
	lib, err := e5rt.Open(r.Bundle, o)
	check(t, err)
	of, err := lib.Function("main")
	check(t, err)
	return of
}

// residentTargets are dense, and with rows of 64 bytes.
var residentTargets = []string{"virtual", "h13"}

// bindDirect binds a buffer that lies as the engine wants it.
func bindDirect(t testing.TB, o *e5rt.Operation, name string) *e5rt.Buffer {
	t.Helper()
	p := portOf(t, o, name)
	b := newBuffer(t, p.EngineLayout())
	check(t, p.Bind(b))
	return b
}

// One buffer as output and next input, of which a run reads what the one before has left: 1, 2, 3, 4.
func TestAccumulator(t *testing.T) {
	for _, target := range residentTargets {
		t.Run(target, func(t *testing.T) {
			f := openMIL(t, target, `func main<ios17>(tensor<fp16, [1, 3, 5, 7]> x) {
				fp16 one = const()[name = string("one"), val = fp16(1)];
				tensor<fp16, [1, 3, 5, 7]> y = add(x = x, y = one)[name = string("y")];
			} -> (y);
`)
			o := f.NewOperation()
			held := bindDirect(t, o, "x")
			check(t, portOf(t, o, "y").Bind(held))
			for step := range 4 {
				check(t, o.Run(context.Background(), nil))
				if got := read(t, held); slices.Min(got) != float32(step+1) || slices.Max(got) != float32(step+1) {
					t.Fatalf("step %d: %v", step, got)
				}
			}
			if s := o.Stats(); s.Copied != 0 || s.Dispatches != 4 {
				t.Errorf("%+v, want four dispatches and nothing copied", s)
			}
			if n := testkit.Allocs(20, func() { check(t, o.Run(context.Background(), nil)) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

const (
	slots = 512
	width = 20 // no multiple of what a row of a chip holds
)

// masked writes a row into a cache at the places where a vector is 1, and leaves the others as they are.
var masked = strings.NewReplacer("S", fmt.Sprint(slots), "W", fmt.Sprint(width)).Replace(`
	fp16 one = const()[name = string("one"), val = fp16(1)];
	tensor<fp16, [1, S, 1]> rest = sub(x = one, y = at)[name = string("rest")];
	tensor<fp16, [1, S, W]> kept = mul(x = cache, y = rest)[name = string("kept")];
	tensor<fp16, [1, S, W]> put = mul(x = row, y = at)[name = string("put")];
`)

// A cache of 512 slots fills in 512 steps, each by a masked write against a vector of positions. Nothing of the held tensor is
// copied, nor of anything else.
func TestResidentCache(t *testing.T) {
	for _, target := range residentTargets {
		t.Run(target, func(t *testing.T) {
			f := openMIL(t, target, fmt.Sprintf(`func main<ios17>(tensor<fp16, [1, %[1]d, %[2]d]> cache, tensor<fp16, [1, 1, %[2]d]> row, tensor<fp16, [1, %[1]d, 1]> at) {
				%[3]s
				tensor<fp16, [1, %[1]d, %[2]d]> next = add(x = kept, y = put)[name = string("next")];
			} -> (next);
`, slots, width, masked))
			o := f.NewOperation()
			cache, row, at := bindDirect(t, o, "cache"), bindDirect(t, o, "row"), bindDirect(t, o, "at")
			check(t, portOf(t, o, "next").Bind(cache))
			fillCache(t, func() { check(t, o.Run(context.Background(), nil)) }, tensorOf(t, row), tensorOf(t, at), tensorOf(t, cache))
			if s := o.Stats(); s.Copied != 0 || s.Runs != slots {
				t.Errorf("%+v, want nothing copied", s)
			}
		})
	}
}

// The same as a state of the model.
func TestResidentState(t *testing.T) {
	for _, target := range residentTargets {
		t.Run(target, func(t *testing.T) {
			f := openMIL(t, target, fmt.Sprintf(`func main<ios18>(state<tensor<fp16, [1, %[1]d, %[2]d]>> held, tensor<fp16, [1, 1, %[2]d]> row, tensor<fp16, [1, %[1]d, 1]> at) {
				tensor<fp16, [1, %[1]d, %[2]d]> cache = read_state(input = held)[name = string("cache")];
				%[3]s
				tensor<fp16, [1, %[1]d, %[2]d]> next = add(x = kept, y = put)[name = string("next")];
				write_state(data = next, input = held)[name = string("write")];
				tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<int32, [1]>([1])];
				bool keep = const()[name = string("keep"), val = bool(false)];
				tensor<fp16, [1, %[2]d]> most = reduce_max(axes = axes, keep_dims = keep, x = next)[name = string("most")];
			} -> (most);
`, slots, width, masked))
			o, s := f.NewOperation(), f.NewState()
			row, at := bindDirect(t, o, "row"), bindDirect(t, o, "at")
			bindDirect(t, o, "most")
			cache, err := s.Tensor("held")
			check(t, err)
			fillCache(t, func() { check(t, o.Run(context.Background(), s)) }, tensorOf(t, row), tensorOf(t, at), cache)
			if s := o.Stats(); s.Copied != 0 || s.Runs != slots {
				t.Errorf("%+v, want nothing copied", s)
			}
		})
	}
}

func tensorOf(t testing.TB, b *e5rt.Buffer) *tensor.Tensor {
	t.Helper()
	x, err := b.Tensor()
	check(t, err)
	return x
}

// fillCache runs a step for each slot, and holds the cache to what it must be.
func fillCache(t *testing.T, run func(), row, at, cache *tensor.Tensor) {
	t.Helper()
	want := make([]float32, slots*width)
	values, position := make([]float32, width), make([]float32, slots)
	for step := range slots {
		slot := step * 5 % slots // some order
		for i := range values {
			values[i] = float32(step%61) + float32(i)/4 + 1
		}
		clear(position)
		position[slot] = 1
		copy(want[slot*width:], values)
		check(t, row.CopyFrom(tensor.FromFloat32s(tensor.Float16, values, 1, 1, width)))
		check(t, at.CopyFrom(tensor.FromFloat32s(tensor.Float16, position, 1, slots, 1)))
		run()
		if step%97 == 0 || step == slots-1 {
			if got := cache.Float32s(); !slices.Equal(got, want) {
				t.Fatalf("step %d: the cache is not what was written", step)
			}
		}
	}
}
