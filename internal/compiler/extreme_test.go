package compiler

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// extremeMemory is what a program with extreme attributes may need.
const extremeMemory = 1 << 30

// extremeDeadline is how long the caller of such a program waits. A shorter one ends more of them in the middle, and takes
// less time; -extreme 500ms lets them come further.
var extremeDeadline = flag.Duration("extreme", 20*time.Millisecond, "how long a program of TestExtremes may take")

// extremes are the numbers that attributes and lengths are set to.
var extremes = []int64{4096, math.MaxInt32}

// extremeModels are variants of a model of one operation: each attribute, then each pair of attributes, at each of the
// extremes, the first number of several or all of them; each length at each of them, in all arguments.
func extremeModels(m oneModel) []oneModel {
	var all []oneModel
	with := func(changes mil.Args) {
		v := m
		v.args = maps.Clone(m.args)
		maps.Copy(v.args, changes)
		all = append(all, v)
	}
	names := slices.Sorted(maps.Keys(m.args))
	for i, name := range names {
		for _, n := range extremes {
			for _, first := range []bool{true, false} {
				if !first && (n == 4096 || !isList(m.args[name])) {
					continue // 4096² is large, and much of the same
				}
				arg, ok := extremeArg(m.args[name], n, first)
				if !ok {
					continue
				}
				with(mil.Args{name: arg})
				for _, other := range names[i+1:] {
					if second, ok := extremeArg(m.args[other], n, first); ok {
						with(mil.Args{name: arg, other: second})
					}
				}
			}
		}
	}
	if !lengthy(m.kind) {
		return all
	}
	var lengths []int
	for _, arg := range m.args {
		eachShape(arg, func(shape []int) []int { lengths = append(lengths, shape...); return shape })
	}
	slices.Sort(lengths)
	for _, old := range slices.Compact(lengths) {
		for _, n := range extremes {
			changes, large := mil.Args{}, false
			for name, arg := range m.args {
				changes[name] = eachShape(arg, func(shape []int) []int {
					shape = slices.Clone(shape)
					defer func() { large = large || n == 4096 && slices.Contains(shape, 4096) && lengthOf(shape) > 1<<19 }()
					for i := len(shape) - 1; i >= 0; i-- { // one axis of two, so that 4096 is not 4096²
						if shape[i] == old {
							shape[i] = int(n)
							break
						}
					}
					return shape
				})
			}
			if !large { // a few megabytes of work teach nothing that half a megabyte does not
				with(changes)
			}
		}
	}
	return all
}

func lengthOf(shape []int) int {
	n, _ := tensor.Count(shape)
	return n
}

// lengthy reports whether lengths are tried with an operation: of the many that go element by element, a few do for all.
func lengthy(kind string) bool {
	if strings.HasPrefix(kind, "reduce_") {
		return kind == "reduce_sum" || kind == "reduce_log_sum_exp" || kind == "reduce_argmax"
	}
	return !slices.Contains(elementwise, kind)
}

// elementwise are the operations that differ from others in the function of one or two elements alone.
var elementwise = slices.Concat([]string{
	"acos", "asin", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "exp2", "floor", "identity", "inverse", "log", "relu", "relu6", "round",
	"rsqrt", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "softsign", "sqrt", "square", "tan", "tanh", "gelu", "logical_not", "cast",
}, []string{
	"add", "sub", "mul", "real_div", "floor_div", "maximum", "minimum", "mod", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal",
	"logical_and", "logical_or", "logical_xor",
}, []string{
	"linear_activation", "leaky_relu", "clamped_relu", "thresholded_relu", "threshold", "clip", "elu", "sigmoid_hard", "scaled_tanh", "softplus_parametric",
})

// extremeArg is an attribute with all of its numbers, or the first, replaced.
func extremeArg(arg any, n int64, first bool) (any, bool) {
	replace := func(vals []int64) []int64 {
		for i := range vals {
			if i == 0 || !first {
				vals[i] = n
			}
		}
		return vals
	}
	switch v := arg.(type) {
	case []int32:
		vals := slices.Clone(v)
		for i := range vals {
			if i == 0 || !first {
				vals[i] = int32(n)
			}
		}
		return vals, true
	case *tensor.Tensor:
		if v.DType() != tensor.Int32 {
			return nil, false
		}
		return tensor.FromInt64s(tensor.Int32, replace(slices.Clone(v.Int64s())), v.Shape()...), true
	case int:
		return int(n), true
	case uint32:
		return uint32(n), true
	case float32:
		return float32(n), true
	}
	return nil, false
}

// isList reports whether an attribute has several numbers.
func isList(arg any) bool {
	switch arg.(type) {
	case []int32, *tensor.Tensor:
		return true
	}
	return false
}

// eachShape replaces the shapes of the arrays in an argument, types and weights. A weight that would be large stays as it is.
func eachShape(arg any, f func([]int) []int) any {
	switch v := arg.(type) {
	case *mil.TensorType:
		if dims, ok := v.Shape.Ints(); ok {
			return mil.Tensor(v.DType, tensor.ShapeOf(f(dims)...)...)
		}
	case *mil.StateType:
		return &mil.StateType{Elem: eachShape(v.Elem, f).(mil.Type)}
	case *tensor.Tensor:
		if v.Len() == 1 || v.DType() == tensor.Int32 || v.DType() == tensor.String || v.DType() == tensor.Bool {
			return v
		}
		if dims := f(v.Shape()); len(dims) > 0 {
			if n, ok := tensor.Count(dims); ok && n <= 1<<20 {
				return tensor.New(v.DType(), dims...)
			}
		}
	case []any:
		several := make([]any, len(v))
		for i := range v {
			several[i] = eachShape(v[i], f)
		}
		return several
	}
	return arg
}

// windowModels are what pairs of attributes do not reach: windows in padding, and what is far apart.
func windowModels() []oneModel {
	var all []oneModel
	add := func(kind string, args mil.Args) { all = append(all, oneModel{kind: kind, args: args}) }
	small := half(1, 8, 8, 8)
	for _, n := range []int32{4096, math.MaxInt32} {
		for _, kind := range []string{"avg_pool", "max_pool", "l2_pool"} {
			for _, stride := range []int32{1, n} {
				add(kind, mil.Args{"x": small, "kernel_sizes": []int32{n, n}, "strides": []int32{stride, stride}, "pad_type": "custom", "pad": []int32{n, n, n, n}})
				add(kind, mil.Args{"x": small, "kernel_sizes": []int32{3, n}, "strides": []int32{stride, 1}, "pad_type": "same"})
			}
		}
		add("avg_pool", mil.Args{"x": half(1, 1, 4096, 4096), "kernel_sizes": []int32{4095, 4095}, "pad_type": "same"})
		for _, w := range []*tensor.Tensor{weight(8, 8, 3, 3), weight(8, 1, 3, 3), weight(8, 8, 64, 64)} {
			groups := 8 / w.Shape()[1]
			add("conv", mil.Args{"x": small, "weight": w, "pad_type": "custom", "pad": []int32{n, n, n, n}, "groups": groups})
			add("conv", mil.Args{"x": small, "weight": w, "pad_type": "custom", "pad": []int32{n, n, n, n}, "dilations": []int32{n, n}, "groups": groups})
			add("conv", mil.Args{"x": small, "weight": w, "pad_type": "same", "dilations": []int32{n, n}, "strides": []int32{n, n}, "groups": groups})
			add("conv_transpose", mil.Args{"x": small, "weight": w, "strides": []int32{n, n}, "groups": groups})
			add("conv_transpose", mil.Args{"x": small, "weight": w, "dilations": []int32{n, n}, "strides": []int32{7, 5}, "groups": groups})
		}
		add("space_to_batch", mil.Args{"x": small, "block_shape": []int32{n, n}, "paddings": tensor.Of([]int32{n - 8, 0, n - 8, 0}, 2, 2)})
		add("space_to_batch", mil.Args{"x": small, "block_shape": []int32{2, 2}, "paddings": tensor.Of([]int32{n, n, n, n}, 2, 2)})
		for _, mode := range []string{"constant", "reflect", "replicate"} {
			add("pad", mil.Args{"x": small, "pad": []int32{n, n, n, n}, "mode": mode})
		}
	}
	add("einsum", mil.Args{"values": []any{half(1, 64, 64, 4096), half(1, 4096, 64, 64)}, "equation": "nchw,nwhu->nchu"})
	return all
}

// TestExtremes: a program with extreme attributes gives an answer or an error, on the host, on the virtual engine and on a
// chip, soon after the deadline at the latest, and without more memory than it may have. What hangs is ended by a watchdog.
func TestExtremes(t *testing.T) {
	kinds := map[string]bool{}
	var models []oneModel
	for _, m := range oneModels() {
		kinds[m.kind] = true
		if m.build != nil {
			models = append(models, m)
		}
		models = append(models, extremeModels(m)...)
	}
	for _, def := range ops.All() {
		if !kinds[def.Name] {
			t.Errorf("%s has no model", def.Name)
		}
	}
	var refused, ended, answered int
	ran := map[string]bool{} // the operations built by hand, at an extreme
	for i, m := range slices.Concat(handModels(), windowModels(), models) {
		x := &extreme{oneModel: m}
		if err := x.makeProgram(); err != nil {
			refused++
			continue
		}
		ran[m.kind] = ran[m.kind] || i < len(handModels())
		for _, unit := range []string{"cpu", "virtual", "h13"} {
			switch err := x.bounded(t, unit); {
			case err == nil:
				answered++
			case errors.Is(err, context.DeadlineExceeded):
				ended++
			default:
				refused++
			}
		}
	}
	for _, m := range oneModels() {
		if m.build != nil && !ran[m.kind] {
			t.Errorf("%s runs at no extreme", m.kind)
		}
	}
	t.Logf("%d refused, %d ended by the deadline, %d answered", refused, ended, answered)
	if refused < 100 || ended < 10 || answered < 100 {
		t.Errorf("%d refused, %d ended by the deadline, %d answered: the table does not test what it is for", refused, ended, answered)
	}
}

// An extreme is a model that is run in every way.
type extreme struct {
	oneModel
	program *mil.Program
}

// bounded runs the program on units, and sees to it that it keeps in bounds.
func (x *extreme) bounded(t *testing.T, unit string) error {
	watchdog := time.AfterFunc(30*time.Second+*extremeDeadline, func() {
		panic(fmt.Sprintf("%s on %s does not end:%s", x.kind, unit, x.describe()))
	})
	defer watchdog.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), *extremeDeadline)
	defer cancel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := x.run(ctx, t, unit)
	runtime.ReadMemStats(&after)
	// All that was taken, though much of it was given back before more was.
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 3*extremeMemory {
		t.Errorf("%s on %s took %d MiB:%s: %v", x.kind, unit, taken>>20, x.describe(), err)
	}
	return err
}

func (x *extreme) describe() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(x.args)) {
		fmt.Fprintf(&b, " %s=%v", name, x.args[name])
	}
	return b.String()
}

func (x *extreme) makeProgram() (err error) {
	b := mil.NewBuilder("main", "CoreML8")
	build := x.build
	if build == nil {
		build = x.alone
	}
	b.Return(build(b)...)
	if x.program, err = b.Program(); err != nil {
		return err
	}
	f := x.program.Functions[0]
	types, err := ops.Infer(f)
	if err != nil {
		return err
	}
	for _, op := range f.Body.Operations {
		for _, v := range op.Outputs {
			v.Type = types[v]
		}
	}
	return ops.Verify(x.program)
}

var errNoInput = errors.New("an input does not fit in memory")

func (x *extreme) run(ctx context.Context, t *testing.T, unit string) error {
	f := x.program.Functions[0]
	limits := limit.Limits{Memory: extremeMemory}
	if unit == "cpu" {
		ev, err := ops.NewEvaluator(f, ops.Virtual)
		if err != nil {
			return err
		}
		ev.SetLimits(limits)
		inputs := map[string]ops.Value{}
		for _, v := range f.Inputs {
			if inputs[v.Name] = extremeInput(v.Type); inputs[v.Name] == nil {
				return errNoInput
			}
		}
		_, err = ev.Run(ctx, inputs)
		return err
	}
	var features bundle.Function
	for _, v := range f.Inputs {
		if s, ok := v.Type.(*mil.StateType); ok {
			elem := s.Elem.(*mil.TensorType)
			shape, _ := elem.Shape.Ints()
			features.States = append(features.States, bundle.Feature{Name: v.Name, Kind: "state", Array: &bundle.Array{Type: elem.DType.String(), Shape: shape}})
		}
	}
	r, err := Compile(ctx, &Job{Target: lookup(t, unit), Program: x.program, Functions: []Entry{{Function: f, Features: features}}})
	if err != nil {
		return err
	}
	options := e5rt.Options{Limits: limits}
	if r.Host != nil {
		h, err := host.New(r.Host)
		if err != nil {
			return err
		}
		h.SetLimits(limits)
		options.Host = h
	}
	l, err := e5rt.OpenContext(ctx, r.Bundle, options)
	if err != nil {
		return err
	}
	fn := l.Functions()[0]
	for _, p := range fn.Inputs() {
		if p.Type == tensor.Invalid {
			return errNoInput // a list, which only the host has
		}
	}
	return fn.NewOperation().Run(ctx, fn.NewState())
}

// extremeInput is zeros of a type; nil if there is no such array that fits.
func extremeInput(t mil.Type) ops.Value {
	switch tt := t.(type) {
	case *mil.TensorType:
		if dims, ok := tt.Shape.Ints(); ok {
			if n, ok := tensor.Count(dims); ok && n <= extremeMemory/8 {
				return tensor.New(tt.DType, dims...)
			}
		}
	case *mil.StateType:
		if elem := tt.Elem.(*mil.TensorType); extremeInput(elem) != nil {
			return ops.NewState(elem)
		}
	case *mil.ListType:
		return &ops.List{}
	}
	return nil
}
