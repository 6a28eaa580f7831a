package ops

import (
	"testing"
	"time"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// unrolled is the function main of a builder, and what Unroll makes of it.
func unrolled(t *testing.T, b *mil.Builder) (before, after *mil.Function) {
	t.Helper()
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	before = p.Functions[0]
	if after, err = Unroll(before, nil); err != nil {
		t.Fatal(err)
	}
	return before, after
}

// repeat adds a loop that applies an operation to x so many times.
func repeat(b *mil.Builder, name string, iterations int, x *mil.Value, op func(x *mil.Value) *mil.Value) *mil.Value {
	again := func(v []*mil.Value) *mil.Value {
		return b.Op("less", name+"_more", mil.Tensor(tensor.Bool), mil.Args{"x": v[0], "y": int32(iterations)})
	}
	iteration := func(v []*mil.Value) []*mil.Value {
		return []*mil.Value{b.Op("add", name+"_next", v[0].Type, mil.Args{"x": v[0], "y": int32(1)}), op(v[1])}
	}
	return b.While(name, []*mil.Value{b.Const(name+"_zero", int32(0)), x}, again, iteration)[1]
}

// Control flow whose way is known is written out, and computes the same; other control flow stays.
func TestUnroll(t *testing.T) {
	vector := mil.Tensor(tensor.Float32, 2)
	double := func(b *mil.Builder) func(x *mil.Value) *mil.Value {
		return func(x *mil.Value) *mil.Value { return b.Op("add", "twice", vector, mil.Args{"x": x, "y": x}) }
	}
	branch := func(b *mil.Builder, pred, x *mil.Value) *mil.Value {
		return b.Cond("branch", []mil.Type{vector}, pred,
			func() []*mil.Value { return []*mil.Value{double(b)(x)} },
			func() []*mil.Value { return []*mil.Value{x} })[0]
	}
	for _, c := range []struct {
		name  string
		make  func(b *mil.Builder, x *mil.Value) *mil.Value
		loops int // and branches that are left
	}{
		{"a loop", func(b *mil.Builder, x *mil.Value) *mil.Value { return repeat(b, "loop", 3, x, double(b)) }, 0},
		{"a loop without an iteration", func(b *mil.Builder, x *mil.Value) *mil.Value { return repeat(b, "loop", 0, x, double(b)) }, 0},
		{"a loop in a loop", func(b *mil.Builder, x *mil.Value) *mil.Value {
			return repeat(b, "outer", 2, x, func(x *mil.Value) *mil.Value { return repeat(b, "inner", 2, x, double(b)) })
		}, 0},
		{"a loop of too many iterations", func(b *mil.Builder, x *mil.Value) *mil.Value {
			return repeat(b, "loop", maxIterations+1, x, func(x *mil.Value) *mil.Value { return b.Op("relu", "r", vector, mil.Args{"x": x}) })
		}, 1},
		{"a branch by a constant", func(b *mil.Builder, x *mil.Value) *mil.Value { return branch(b, b.Const("yes", true), x) }, 0},
		{"a branch by a value", func(b *mil.Builder, x *mil.Value) *mil.Value {
			least := b.Op("reduce_min", "least", mil.Tensor(tensor.Float32), mil.Args{"x": x, "axes": []int32{0}, "keep_dims": false})
			return branch(b, b.Op("less", "negative", mil.Tensor(tensor.Bool), mil.Args{"x": least, "y": float32(0)}), x)
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := mil.NewBuilder("main", "ios18")
			b.Return(c.make(b, b.Input("x", vector)))
			before, after := unrolled(t, b)
			left := 0
			after.Body.Walk(func(op *mil.Operation) {
				if len(op.Blocks) > 0 {
					left++
				}
			})
			if left != c.loops {
				t.Errorf("%d loops and branches are left, want %d", left, c.loops)
			}
			var results []*tensor.Tensor
			for _, f := range []*mil.Function{before, after} {
				e, err := NewEvaluator(f, Virtual)
				if err != nil {
					t.Fatal(err)
				}
				y, err := e.Run(t.Context(), map[string]Value{"x": tensor.Of([]float32{1, -3}, 2)})
				if err != nil {
					t.Fatal(err)
				}
				results = append(results, y[0].(*tensor.Tensor))
			}
			if match := tensor.Compare(results[1], results[0], 0); !match.Match {
				t.Errorf("written out, it gives another result: %s", match.Reason)
			}
		})
	}
}

// Loops in loops, each too long to be written out, are not tried again in every iteration of those around them.
func TestUnrollGivesUpInTime(t *testing.T) {
	b := mil.NewBuilder("main", "ios18")
	x := b.Input("x", mil.Tensor(tensor.Float32, 2))
	var nest func(depth int, x *mil.Value) *mil.Value
	nest = func(depth int, x *mil.Value) *mil.Value {
		if depth == 0 {
			return b.Op("relu", "r", x.Type, mil.Args{"x": x})
		}
		return repeat(b, "loop", maxIterations-1, x, func(x *mil.Value) *mil.Value { return nest(depth-1, x) })
	}
	b.Return(nest(4, x))
	start := time.Now()
	if before, after := unrolled(t, b); after != before {
		t.Errorf("it is written out to %d operations, want the loop as it is", len(after.Body.Operations))
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
