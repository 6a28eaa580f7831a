package e5rt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// The experiments of the chaining research that are about the E5 runtime, under their names: what the original did, what came
// of it there, and what comes of it here. What failed there passes here.

// beside notes an original's result and ours.
func beside(t *testing.T, what, original, ours string) {
	t.Helper()
	t.Logf("%s\n\tthere: %s\n\there:  %s", what, original, ours)
}

// kernelText is a kernel of the experiments: a convolution 1×1 of as many channels to as many, at 1×16. Theirs have 256 to 2048
// channels; nothing that is tested here depends on it.
func kernelText(channels int) string {
	return newGraph(1, channels, 1, 16).conv(channels, 1).text(1, channels, 1, 16)
}

// A kernel of the experiments, with what Predict makes of an input.
type kernel struct {
	path     string
	library  *e5rt.Library
	function *e5rt.Function
	x, want  *tensor.Tensor
}

// newKernels compiles kernels by the runtime's own calls, and predicts once with each by the root package.
func newKernels(t *testing.T, target string, channels ...int) []*kernel {
	t.Helper()
	var list []*kernel
	for _, n := range channels {
		k := &kernel{path: filepath.Join(t.TempDir(), "model.mil"), x: someHalves(uint64(n), 1, n, 1, 16)}
		check(t, os.WriteFile(k.path, []byte(kernelText(n)), 0o666))
		m, err := espalier.Config{Target: target, Cache: espalier.NoCache}.Open(k.path)
		check(t, err)
		out, err := m.Predict(context.Background(), map[string]any{"x": k.x})
		check(t, err)
		k.want = out["y"].Tensor
		into := tensor.New(k.want.DType(), k.want.Shape()...)
		check(t, m.PredictInto(context.Background(), map[string]any{"x": k.x}, map[string]any{"y": into}))
		k.exact(t, "PredictInto", into)
		check(t, m.Close())
		if bytes.Equal(k.want.Bytes(), make([]byte, len(k.want.Bytes()))) {
			t.Fatal("the result is zero, so that nothing can be told from it")
		}
		k.library, err = e5rt.Compile(context.Background(), espalier.NewCompiler(espalier.Config{Cache: espalier.NoCache}), k.path,
			e5rt.CompilerOptions{Target: target}, e5rt.Options{})
		check(t, err)
		t.Cleanup(func() { k.library.Close() })
		k.function, err = k.library.Function("main")
		check(t, err)
		list = append(list, k)
	}
	return list
}

// exact holds a result to that of Predict.
func (k *kernel) exact(t *testing.T, what string, got *tensor.Tensor) {
	t.Helper()
	if got.DType() != k.want.DType() || !bytes.Equal(got.Bytes(), k.want.Bytes()) {
		t.Errorf("%s of %v: the result is not that of Predict", what, k.x)
	}
}

// operation makes one by hand, on memory of the caller.
func (k *kernel) operation(t *testing.T) (o *e5rt.Operation, y *tensor.Tensor) {
	t.Helper()
	o, y = k.function.NewOperation(), tensor.New(k.want.DType(), k.want.Shape()...)
	check(t, o.Bind("x", k.x))
	check(t, o.Bind("y", y))
	return o, y
}

func forTargets(t *testing.T, f func(t *testing.T, target string)) {
	for _, target := range []string{"virtual", "h13"} {
		t.Run(target, func(t *testing.T) { f(t, target) })
	}
}

// declared are the names that the package in a folder declares: Open, Stream.Submit, Options.Threads.
func declared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	check(t, err)
	typeName := func(e ast.Expr) string {
		for {
			switch x := e.(type) {
			case *ast.StarExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.Ident:
				return x.Name
			default:
				return ""
			}
		}
	}
	members := func(of string, list *ast.FieldList) {
		for _, field := range list.List {
			for _, name := range field.Names {
				names[of+"."+name.Name] = true
			}
		}
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		check(t, err)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = typeName(d.Recv.List[0].Type) + "." + name
				}
				names[name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					s, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					names[s.Name.Name] = true
					switch typ := s.Type.(type) {
					case *ast.StructType:
						members(s.Name.Name, typ.Fields)
					case *ast.InterfaceType:
						members(s.Name.Name, typ.Methods)
					}
				}
			}
		}
	}
	return names
}

// holdNames holds what the originals have to what there is here.
func holdNames(t *testing.T, rows [][2]string) {
	t.Helper()
	here := declared(t, ".")
	for name := range declared(t, "../internal/driver") {
		if strings.HasPrefix(name, "Event.") { // it is the driver's own kind
			here[name] = true
		}
	}
	root := declared(t, testkit.Root(t))
	for _, row := range rows {
		for name := range strings.FieldsSeq(row[1]) {
			if of, isRoot := strings.CutPrefix(name, "espalier."); isRoot && !root[of] || !isRoot && !here[name] {
				t.Errorf("%s: there is no %s", row[0], name)
			}
		}
	}
}

// Experiment T looked for the symbols of the E5 runtime and found four functions in C and six classes.
func TestExperimentT(t *testing.T) {
	holdNames(t, [][2]string{
		{"e5rt_program_library_create", "Open Compile"},
		{"e5rt_execution_stream_create", "NewStream"},
		{"e5rt_async_event_create", "NewEvent"},
		{"e5rt_async_event_signal", "Event.Signal"},
		{"MLE5ExecutionStreamOperation", "Operation"},
		{"MLE5ExecutionStream, _executeStream:error:", "Stream Stream.Execute Stream.Operations"},
		{"MLE5ExecutionStreamPool, takeOut, putBack:", "NewStreamPool Pool.TakeOut Pool.PutBack"},
		{"MLE5InputPort, MLE5OutputPort", "BoundPort Function.Inputs Function.Outputs"},
		{"MLE5InputPortBinder, MLE5OutputPortBinder", "BoundPort.Bind Operation.Bind Operation.Set"},
		{"MLE5ProgramLibrary", "Library"},

		// The families of the guide's table, of which T found the first few.
		{"e5rt_e5_compiler_create_with_config", "Compiler espalier.NewCompiler"},
		{"e5rt_e5_compiler_compile", "Compile Compiler.Compile"},
		{"e5rt_e5_compiler_is_new_compile_required", "Compiler.IsNewCompileRequired"},
		{"e5rt_program_library_retain_program_function", "Library.Function"},
		{"e5rt_program_function_load_for_execution", "Function.Load"},
		{"e5rt_precompiled_compute_op_create_options_create_with_program_function", "OperationOptions"},
		{"e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options", "Library.NewOperation Function.NewOperation"},
		{"e5rt_buffer_object_alloc", "NewBuffer WrapBuffer MapBuffer"},
		{"e5rt_buffer_object_get_data_ptr", "Buffer.Bytes"},
		{"e5rt_execution_stream_operation_retain_input_port, …_output_port", "Operation.Port"},
		{"e5rt_io_port_bind_buffer_object", "BoundPort.Bind"},
		{"e5rt_execution_stream_operation_prepare_op_for_encode", "Operation.Prepare"},
		{"e5rt_execution_stream_encode_operation", "Stream.Encode"},
		{"e5rt_execution_stream_execute_sync", "Stream.Execute"},
		{"e5rt_execution_stream_submit_async", "Stream.Submit Stream.SubmitTimeout"},
		{"e5rt_execution_stream_reset", "Stream.Reset"},
		{"e5rt_async_event_sync_wait", "Event.Wait"},
	})
	ctx := patience(t)
	e := e5rt.NewEvent()
	e.Signal(1)
	check(t, e.Wait(ctx, 1))
	beside(t, "symbol scan", "4 functions in C, 6 classes; nothing was called", "each has its name here, and all are called by the tests below")
}

// Experiment U set several operations on one stream, and took the time of a call that computed nothing (W1).
func TestExperimentU(t *testing.T) {
	forTargets(t, func(t *testing.T, target string) {
		ctx := patience(t)
		kernels := newKernels(t, target, 8, 16, 32, 64)
		for n := 1; n <= len(kernels); n++ {
			s := e5rt.NewStream()
			var results []*tensor.Tensor
			for _, k := range kernels[:n] {
				o, y := k.operation(t)
				check(t, s.Encode(o, nil))
				results = append(results, y)
			}
			check(t, s.Execute(ctx))
			for i, y := range results {
				kernels[i].exact(t, "a stream of several", y)
			}
			if d := s.Last(); d.Operations != n || d.Dispatches != int64(n) {
				t.Errorf("%d kernels: %+v", n, d)
			}
		}
	})
	beside(t, "1 to 4 kernels in one stream",
		"0.027, 0.041, 0.058, 0.078 ms, up to 4.87x of Core ML: taken back by W1, for the operations computed nothing",
		"every kernel computes, exactly what Predict gives; BenchmarkExperimentU has the times")
}

// Experiment W1 held the results of U against Core ML's.
func TestExperimentW1(t *testing.T) {
	forTargets(t, func(t *testing.T, target string) {
		ctx := patience(t)
		for _, k := range newKernels(t, target, 16, 64) {
			// 1: the engine direct
			o, y := k.operation(t)
			check(t, o.Run(ctx, nil))
			k.exact(t, "Operation.Run", y)

			// 2: operations made by hand, in a stream
			o, y = k.operation(t)
			s := e5rt.NewStream()
			check(t, s.Encode(o, nil))
			check(t, s.Execute(ctx))
			k.exact(t, "an operation made by hand", y)

			// 4: operations of a pool, in a stream of a pool
			streams := e5rt.NewStreamPool(1)
			pooledStream, err := streams.TakeOut()
			check(t, err)
			for range 3 {
				pooled, err := k.library.TakeOut(ctx, e5rt.OperationOptions{Shapes: map[string][]int{"x": k.x.Shape()}})
				check(t, err)
				check(t, pooled.Set("x", k.x))
				check(t, pooledStream.Encode(pooled, nil))
				check(t, pooledStream.Execute(ctx))
				k.exact(t, "an operation of a pool", get(t, pooled, "y"))
				check(t, pooledStream.Reset())
				k.library.PutBack(pooled)
			}
			streams.PutBack(pooledStream)

			// 5: the stream again, with another binding
			other := tensor.New(k.want.DType(), k.want.Shape()...)
			err = o.Bind("y", other)
			if !errors.Is(err, e5rt.ErrInUse) || !strings.HasSuffix(err.Error(), "Port bindings cannot be changed while operation is in use in an execution stream") {
				t.Errorf("a port of an operation in use: %v", err)
			}
			check(t, s.Reset())
			check(t, o.Bind("y", other))
			check(t, s.Encode(o, nil))
			check(t, s.Execute(ctx))
			k.exact(t, "a stream that is used again", other)
		}
	})
	beside(t, "engine direct and Core ML", "bit-identical", "bit-identical")
	beside(t, "operations made by hand", "all zero: the handles were 0x0", "bit-identical")
	beside(t, "operations of the pool in a stream", "all zero: output ports not populated", "bit-identical")
	beside(t, "a stream used again", "Port bindings cannot be changed…, for good", "the same message while the operation is encoded; after Reset it is bound anew, and bit-identical")
}

// Experiment W2 dumped the classes. The methods that it names have theirs here.
func TestExperimentW2(t *testing.T) {
	rows := [][2]string{
		{"MLE5Engine predictionFromFeatures:options:error:", "espalier.Function.Predict espalier.Function.PredictInto"},
		{"MLE5Engine streamPool, operationPool, programLibrary", "NewStreamPool Function.TakeOut Library"},
		{"MLE5ProgramLibrary createOperationForFunctionName:forceRespecialization:hasRangeShapeInputs:error:",
			"Library.NewOperation OperationOptions.Function OperationOptions.ForceRespecialization OperationOptions.Shapes Function.HasRangeShapes"},
		{"MLE5ExecutionStreamOperation prepareForInputFeatures:options:error:", "Operation.Prepare"},
		{"MLE5ExecutionStreamOperation preloadAndReturnError:", "Function.Load"},
		{"MLE5ExecutionStreamOperation outputFeatures", "Operation.Value"},
		{"MLE5ExecutionStreamOperation _bindInputFeaturesAndWaitEvents:options:error:", "After"},
		{"MLE5ExecutionStreamOperation _bindOutputPortsWithOptions:error:", "Operation.Bind"},
		{"MLE5ExecutionStreamOperation _completionSharedEventBoundToESOP", "Signals"},
		{"MLE5ExecutionStreamOperation _waitEventListener", "Event.Listen"},
		{"MLE5ExecutionStream _executeStream:error:", "Stream.Execute"},
		{"MLE5ExecutionStream submitWithCompletionHandler:", "Stream.Submit"},
		{"MLE5ExecutionStream setOperations:", "Stream.Encode Stream.Operations"},
		{"MLE5ExecutionStream _cleanUpStream:", "Stream.Reset"},
		{"MLE5ExecutionStreamPool takeOut, putBack:", "Pool.TakeOut Pool.PutBack"},
		{"MLE5ExecutionStreamPool allStreams", "Pool.Made"},
		{"MLE5StaticShapeExecutionStreamOperationPool takeOutOperationForFeatures:error:", "Library.TakeOut"},
		{"MLE5InputPortBinder bindMemoryObjectForFeatureValue:error:", "BoundPort.Bind"},
		{"MLE5InputPortBinder bindingMode", "BoundPort.Mode Mode"},
		{"MLE5InputPortBinder copyFeatureValue:error:", "Operation.Set"},
		{"MLE5OutputPortBinder outputBacking", "Operation.Bind"},
		{"MLProgramE5Container findPrecompiledE5BundleAndReturnError:", "Compiler.FindPrecompiled"},
		{"MLProgramE5Container compilerOutput", "Compiled.Bundle"},
	}
	holdNames(t, rows)
	beside(t, "classes of the E5 runtime", "9 classes dumped", fmt.Sprintf("%d methods that it names have theirs", len(rows)))
}

// Experiment W4 submitted a stream that had run.
func TestExperimentW4(t *testing.T) {
	forTargets(t, func(t *testing.T, target string) {
		ctx := patience(t)
		kernels := newKernels(t, target, 16, 64)
		s := e5rt.NewStream()
		first, y := kernels[0].operation(t)
		second, z := kernels[1].operation(t)
		check(t, s.Encode(first, nil))
		check(t, s.Execute(ctx))
		kernels[0].exact(t, "Execute", y)
		fired := make(chan error, 10)
		for what, err := range map[string]error{"Submit": s.Submit(ctx, func(err error) { fired <- err }), "Encode": s.Encode(second, nil)} {
			if !errors.Is(err, e5rt.ErrNotReset) || !strings.HasSuffix(err.Error(), "Reset stream to add more operations to stream. (2)") {
				t.Errorf("%s of a stream that has run: %v", what, err)
			}
		}
		for range 3 {
			check(t, s.Reset())
			clear(y.Bytes())
			clear(z.Bytes())
			check(t, s.Encode(first, nil))
			check(t, s.Encode(second, nil))
			check(t, s.Submit(ctx, func(err error) { fired <- err }))
			check(t, <-fired)
			kernels[0].exact(t, "Submit", y)
			kernels[1].exact(t, "Submit", z)
		}
		if len(fired) != 0 {
			t.Error("a completion fired twice")
		}
	})
	beside(t, "submitWithCompletionHandler:", "Failed to add operation to E5 stream. E5RT: Reset stream to add more operations to stream. (2)",
		"the same message before Reset; after it, every completion fires once, and results are bit-identical")
}

// Experiment W5 looked at how data flows through ports.
func TestExperimentW5(t *testing.T) {
	forTargets(t, func(t *testing.T, target string) {
		ctx := patience(t)
		k := newKernels(t, target, 32)[0]

		// Output backing: the result is in the caller's memory.
		o, y := k.operation(t)
		s := e5rt.NewStream()
		check(t, s.Encode(o, nil))
		check(t, s.Execute(ctx))
		k.exact(t, "output backing", y)

		// Ports connected across operations: the output of one is the input of the next, three times over.
		check(t, s.Reset())
		from := k.x
		var last *tensor.Tensor
		for range 3 {
			o := k.function.NewOperation()
			last = tensor.New(k.want.DType(), k.want.Shape()...)
			check(t, o.Bind("x", from))
			check(t, o.Bind("y", last))
			check(t, s.Encode(o, nil))
			from = last
		}
		check(t, s.Execute(ctx))
		apart := k.x
		for range 3 {
			o := k.function.NewOperation()
			check(t, o.Set("x", apart))
			check(t, o.Run(ctx, nil))
			apart = get(t, o, "y").Clone()
		}
		if !bytes.Equal(last.Bytes(), apart.Bytes()) {
			t.Error("connected ports give another result than copies")
		}

		// Overlapped streams: all completions fire. The second is submitted before the first can be done, for it waits for it.
		e, done := e5rt.NewEvent(), make(chan error, 2)
		streams := []*e5rt.Stream{e5rt.NewStream(), e5rt.NewStream()}
		var results []*tensor.Tensor
		for _, s := range streams {
			o, y := k.operation(t)
			check(t, s.Encode(o, nil, e5rt.After(e, 1)))
			check(t, s.Submit(ctx, func(err error) { done <- err }))
			results = append(results, y)
		}
		e.Signal(1)
		check(t, <-done)
		check(t, <-done)
		for _, y := range results {
			k.exact(t, "overlapped streams", y)
		}
	})
	beside(t, "output backing", "nil after manual execution", "the caller's memory has the result")
	beside(t, "ports connected across operations", "not reached: the calls are not known", "one buffer is output and next input")
	beside(t, "overlapped streams", "the completion of the second never fires", "both fire")
}

// A stack of 32 layers of convolution and relu is one dispatch.
func TestDeepStackIsOneDispatch(t *testing.T) {
	forTargets(t, func(t *testing.T, target string) {
		g := newGraph(1, 8, 16, 16)
		for range 32 {
			g.conv(8, 3).relu()
		}
		b, options := compileText(t, g.text(1, 8, 16, 16), target)
		lib, err := e5rt.Open(b, options)
		check(t, err)
		o := lib.Functions()[0].NewOperation()
		check(t, o.Set("x", someHalves(3, 1, 8, 16, 16)))
		check(t, o.Run(context.Background(), nil))
		if got := o.Stats(); got.Dispatches != 1 || got.Tasks < 32 {
			t.Errorf("%+v", got)
		}
	})
}
