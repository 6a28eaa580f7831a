package espalier_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

// rangeModel doubles an x of 1 to 64 elements.
const rangeModel = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, ?]> x) [FlexibleShapeInformation = tuple<tuple<tensor<string, []>, dict<tensor<string, []>, tensor<int32, [?]>>>, tuple<tensor<string, []>, dict<tensor<string, []>, list<tensor<int32, [2]>, ?>>>>((("DefaultShapes", {{"x", [1, 4]}}), ("RangeDims", {{"x", [[1, 1], [1, 64]]}})))] {
            tensor<fp16, [1, ?]> y = add(x = x, y = x)[name = string("y")];
        } -> (y);
}
`

// doubled runs an operation and says what it made of the numbers from 1 on.
func doubled(t *testing.T, o *e5rt.Operation, n int) []float32 {
	t.Helper()
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	if err := o.Set("x", tensor.FromFloat32s(tensor.Float16, x, 1, n)); err != nil {
		t.Fatal(err)
	}
	if err := o.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	y, err := o.Value("y")
	if err != nil {
		t.Fatal(err)
	}
	return y.(*tensor.Tensor).Float32s()
}

// The runtime compiles a function for shapes that come, each once, unless it is forced to.
func TestRuntimeCompilesForShapes(t *testing.T) {
	ctx := t.Context()
	count := &countingCompiler{Compiler: espalier.NewCompiler(espalier.Config{Cache: espalier.NoCache})}
	lib, err := e5rt.Compile(ctx, count, writeModel(t, rangeModel), e5rt.CompilerOptions{}, e5rt.Options{Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := lib.Functions()[0]
	if !f.HasRangeShapes() {
		t.Error("the function has no range shapes")
	}
	take := func(n int, force bool) *e5rt.Operation {
		t.Helper()
		o, err := lib.TakeOut(ctx, e5rt.OperationOptions{Shapes: map[string][]int{"x": {1, n}}, ForceRespecialization: force})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	var seven *e5rt.Operation
	for _, c := range []struct {
		length   int
		force    bool
		compiled int // so far
	}{{4, false, 1}, {7, false, 2}, {7, false, 2}, {2, false, 3}, {7, true, 4}, {7, false, 4}, {4, true, 5}} {
		o := take(c.length, c.force)
		want := make([]float32, c.length)
		for i := range want {
			want[i] = float32(2 * (i + 1))
		}
		if got := doubled(t, o, c.length); !slices.Equal(got, want) {
			t.Errorf("%+v: %v", c, got)
		}
		if count.compiled != c.compiled {
			t.Errorf("%+v: compiled %d times", c, count.compiled)
		}
		if c.length == 7 && c.compiled == 2 {
			if seven != nil && o != seven {
				t.Error("an operation for the shapes is there, and another one was made")
			}
			seven = o
		}
		lib.PutBack(o)
	}
	for _, shapes := range []map[string][]int{{"x": {1, 65}}, {"x": {2, 4}}, {"z": {1}}} {
		if _, err := lib.NewOperation(ctx, e5rt.OperationOptions{Shapes: shapes}); err == nil {
			t.Errorf("the shapes %v are taken", shapes)
		}
	}
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
	if err := seven.Run(ctx, nil); !errors.Is(err, e5rt.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := lib.NewOperation(ctx, e5rt.OperationOptions{Shapes: map[string][]int{"x": {1, 9}}}); !errors.Is(err, e5rt.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A function for shapes is let go of when it is released; the others stay.
func TestReleaseFunction(t *testing.T) {
	ctx := t.Context()
	closed := 0
	count := &countingCompiler{Compiler: espalier.NewCompiler(espalier.Config{Cache: espalier.NoCache}), closed: func() { closed++ }}
	lib, err := e5rt.Compile(ctx, count, writeModel(t, rangeModel), e5rt.CompilerOptions{}, e5rt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for length := 5; length < 9; length++ {
		f, err := lib.Specialize(ctx, e5rt.OperationOptions{Shapes: map[string][]int{"x": {1, length}}})
		if err != nil {
			t.Fatal(err)
		}
		o := f.NewOperation()
		doubled(t, o, length)
		if length == 8 {
			continue
		}
		if err := f.Release(); err != nil {
			t.Fatal(err)
		}
		if err := o.Run(ctx, nil); !errors.Is(err, e5rt.ErrClosed) {
			t.Errorf("after Release: %v", err)
		}
		if err := f.Release(); err != nil { // again
			t.Error(err)
		}
	}
	if closed != 3 || count.compiled != 5 {
		t.Errorf("%d of %d are closed, want 3 of 5", closed, count.compiled)
	}
	if err := lib.Functions()[0].Release(); err != nil {
		t.Error(err)
	}
	doubled(t, lib.Functions()[0].NewOperation(), 4)
	again, err := lib.NewOperation(ctx, e5rt.OperationOptions{Shapes: map[string][]int{"x": {1, 5}}})
	if err != nil {
		t.Fatal(err)
	}
	doubled(t, again, 5)
	if err := lib.Close(); err != nil || closed != 6 || count.compiled != 6 {
		t.Errorf("%d of %d are closed, %v", closed, count.compiled, err)
	}
}

// The shapes belong to the caller, who may change them.
func TestShapesStayTheCallers(t *testing.T) {
	ctx := t.Context()
	lib, err := e5rt.Compile(ctx, espalier.NewCompiler(espalier.Config{Cache: espalier.NoCache}), writeModel(t, rangeModel), e5rt.CompilerOptions{}, e5rt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	shapes := map[string][]int{"x": {1, 0}}
	for _, length := range []int{5, 6, 5} {
		shapes["x"][1] = length
		o, err := lib.NewOperation(ctx, e5rt.OperationOptions{Shapes: shapes})
		if err != nil {
			t.Fatal(err)
		}
		doubled(t, o, length)
	}
}

type countingCompiler struct {
	e5rt.Compiler
	compiled int
	closed   func()
}

func (c *countingCompiler) Compile(ctx context.Context, model string, o e5rt.CompilerOptions) (*e5rt.Compiled, error) {
	c.compiled++
	made, err := c.Compiler.Compile(ctx, model, o)
	if err == nil && c.closed != nil {
		end := made.Close
		made.Close = func() error { c.closed(); return end() }
	}
	return made, err
}

// A bundle that was made of the model is found, until the model, the target or the numerics change.
func TestFindPrecompiled(t *testing.T) {
	ctx := t.Context()
	model, kept := writeModel(t, rangeModel), filepath.Join(t.TempDir(), "kept.bundle")
	c := espalier.NewCompiler(espalier.Config{Cache: espalier.NoCache})
	o := e5rt.CompilerOptions{Bundle: kept}
	required := func(what string, o e5rt.CompilerOptions, want bool) {
		t.Helper()
		got, err := c.IsNewCompileRequired(ctx, model, o)
		if err != nil || got != want {
			t.Errorf("%s: a new compile is required: %v, %v", what, got, err)
		}
		found, err := c.FindPrecompiled(ctx, model, o)
		if !o.ForceRecompilation && errors.Is(err, e5rt.ErrNotFound) != want {
			t.Errorf("%s: found %v, %v", what, found, err)
		}
		if found != nil {
			found.Close()
		}
	}
	compile := func(o e5rt.CompilerOptions) {
		t.Helper()
		lib, err := e5rt.Compile(ctx, c, model, o, e5rt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := doubled(t, lib.Functions()[0].NewOperation(), 4); !slices.Equal(got, []float32{2, 4, 6, 8}) {
			t.Errorf("got %v", got)
		}
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	}
	required("at first", o, true)
	compile(o)
	required("when it is compiled", o, false)
	compile(o)
	required("in another place", e5rt.CompilerOptions{}, true)
	required("for another target", e5rt.CompilerOptions{Bundle: kept, Target: "h13"}, true)
	required("for the target", e5rt.CompilerOptions{Bundle: kept, Target: "virtual"}, false)
	required("with other numerics", e5rt.CompilerOptions{Bundle: kept, Numerics: "h13"}, true)
	required("for other shapes", e5rt.CompilerOptions{Bundle: kept, Shapes: map[string]map[string][]int{"main": {"x": {1, 9}}}}, true)
	forced := e5rt.CompilerOptions{Bundle: kept, ForceRecompilation: true}
	required("by force", forced, true)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(model, later, later); err != nil {
		t.Fatal(err)
	}
	required("when the model is newer", o, true)

	if required, err := c.IsNewCompileRequired(ctx, kept, e5rt.CompilerOptions{}); required || err != nil {
		t.Errorf("of a bundle: %v, %v", required, err)
	}
	model = kept
	compile(e5rt.CompilerOptions{})
	model = filepath.Join(t.TempDir(), "absent.mil")
	if _, err := c.Compile(ctx, model, o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a model that is not there: %v", err)
	}
}

// What the cache has is precompiled, for each set of shapes.
func TestFindPrecompiledInTheCache(t *testing.T) {
	ctx := t.Context()
	model := writeModel(t, rangeModel)
	c := espalier.NewCompiler(espalier.Config{Cache: t.TempDir()})
	nine := e5rt.CompilerOptions{Shapes: map[string]map[string][]int{"main": {"x": {1, 9}}}}
	for _, o := range []e5rt.CompilerOptions{{}, nine, {Target: "h13"}} {
		for _, want := range []bool{true, false} {
			if required, err := c.IsNewCompileRequired(ctx, model, o); required != want || err != nil {
				t.Errorf("%+v: a new compile is required: %v, %v", o, required, err)
			}
			lib, err := e5rt.Compile(ctx, c, model, o, e5rt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			n := 4
			if o.Shapes != nil {
				n = 9
			}
			if got := doubled(t, lib.Functions()[0].NewOperation(), n); len(got) != n || got[n-1] != float32(2*n) {
				t.Errorf("got %v", got)
			}
			if err := lib.Close(); err != nil {
				t.Error(err)
			}
		}
		o.ForceRecompilation = true
		if required, err := c.IsNewCompileRequired(ctx, model, o); !required || err != nil {
			t.Errorf("by force: %v, %v", required, err)
		}
		if found, err := c.FindPrecompiled(ctx, model, o); err != nil {
			t.Errorf("%+v: %v", o, err)
		} else {
			found.Close()
		}
	}
}
