package espalier_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/internal/gate"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// inputsOf are the inputs that are beside a model of the test data.
func inputsOf(t testing.TB, name string) map[string]any {
	t.Helper()
	inputs := map[string]any{}
	for name, v := range readArrays(t, modelsDir, name, "inputs.npz") {
		inputs[name] = v
	}
	return inputs
}

// A livingForm is a form of a model of which many predict while it is closed.
type livingForm struct {
	name   string
	config espalier.Config
	path   string
	inputs map[string]any
}

func livingForms(t *testing.T) []livingForm {
	mlp := openModel(t, espalier.Config{}, "linear_mlp")
	kv := openModel(t, espalier.Config{}, "stateful_counter")
	at := func(name string) string { return filepath.Join(modelsDir, name, "model.mlpackage") }
	container := compiled(t, mlp, "virtual", "mlp.hwx")
	d := open(t, espalier.Config{}, container).Functions()[0].Inputs()[0]
	x := inputsOf(t, "linear_mlp")
	return []livingForm{
		{"package", espalier.Config{}, at("linear_mlp"), x},
		{"host", espalier.Config{Units: espalier.CPUOnly}, at("linear_mlp"), x},
		{"chip", espalier.Config{Target: "h13"}, at("linear_mlp"), x},
		{"copied", espalier.Config{Weights: espalier.CopiedWeights}, at("linear_mlp"), x},
		{"pipeline", espalier.Config{}, at("pipeline_two"), inputsOf(t, "pipeline_two")},
		{"bundle", espalier.Config{}, compiled(t, mlp, "", "mlp.bundle"), x},
		{"container", espalier.Config{}, container, map[string]any{d.Name: asFeature(t, x["x"].(*tensor.Tensor), d)}},
		{"states", espalier.Config{}, at("stateful_counter"), inputsOf(t, "stateful_counter")},
		{"states of the host", espalier.Config{Units: espalier.CPUOnly}, at("stateful_counter"), inputsOf(t, "stateful_counter")},
		{"states of a bundle", espalier.Config{}, compiled(t, kv, "", "counter.bundle"), inputsOf(t, "stateful_counter")},
	}
}

// predictFresh runs a function on a state of its own.
func predictFresh(ctx context.Context, f *espalier.Function, inputs map[string]any) (map[string]*espalier.Value, error) {
	if len(f.States()) > 0 {
		return f.PredictWithState(ctx, inputs, f.NewState())
	}
	return f.Predict(ctx, inputs)
}

// While 64 goroutines predict, some of them told to end, the model is closed. Nobody gets anything but the right answer, the
// end of its context, or ErrClosed.
func TestPredictWhileClosing(t *testing.T) {
	for _, form := range livingForms(t) {
		t.Run(form.name, func(t *testing.T) {
			m := open(t, form.config, form.path)
			f := m.Functions()[0]
			want, err := predictFresh(t.Context(), f, form.inputs)
			if err != nil {
				t.Fatal(err)
			}
			m.Close()
			m = open(t, form.config, form.path)
			f = m.Functions()[0]
			predicted := make(chan bool, 1)
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					for {
						ctx, cancel := context.WithCancel(t.Context())
						if rand.IntN(4) == 0 {
							time.AfterFunc(time.Duration(rand.IntN(1000))*time.Microsecond, cancel)
						}
						got, err := predictFresh(ctx, f, form.inputs)
						ended := ctx.Err()
						cancel()
						switch {
						case errors.Is(err, espalier.ErrClosed):
							return
						case err != nil && (ended == nil || !errors.Is(err, ended)):
							t.Errorf("got %v", err)
							return
						case err != nil:
							continue
						}
						select {
						case predicted <- true:
						default:
						}
						for name, v := range got {
							if !slices.Equal(v.Tensor.Bytes(), want[name].Tensor.Bytes()) {
								t.Errorf("%s has other values", name)
								return
							}
						}
					}
				})
			}
			<-predicted
			var closers sync.WaitGroup
			for range 2 {
				closers.Go(func() {
					if err := m.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			closers.Wait()
			wg.Wait()
		})
	}
}

// After Close, all that there is gives ErrClosed, whatever is opened at the same addresses.
func TestEverythingIsClosed(t *testing.T) {
	for _, form := range livingForms(t) {
		t.Run(form.name, func(t *testing.T) {
			m := open(t, form.config, form.path)
			f := m.Functions()[0]
			state := f.NewState()
			out, err := predictFresh(t.Context(), f, form.inputs)
			if err != nil {
				t.Fatal(err)
			}
			program, compileErr := m.Compile(t.Context(), espalier.CompileOptions{})
			for range 2 {
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
			again := open(t, form.config, form.path)
			if _, err := predictFresh(t.Context(), again.Functions()[0], form.inputs); err != nil {
				t.Fatal(err)
			}
			for _, v := range out { // is the caller's
				_ = v.Tensor.Float64s()
			}
			wantClosed := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, espalier.ErrClosed) {
					t.Errorf("%s: got %v, want ErrClosed", what, err)
				}
			}
			_, err = predictFresh(t.Context(), f, form.inputs)
			wantClosed("a prediction", err)
			for _, d := range f.States() {
				_, err = state.Tensor(d.Name)
				wantClosed("a state", err)
			}
			_, err = m.Compile(t.Context(), espalier.CompileOptions{})
			wantClosed("Compile", err)
			if compileErr == nil {
				_, err = program.WriteBundle(t.Context(), filepath.Join(t.TempDir(), "out.bundle"))
				wantClosed("WriteBundle", err)
				wantClosed("WriteContainer", program.WriteContainer(t.Context(), filepath.Join(t.TempDir(), "out.hwx")))
				wantClosed("WriteMIL", program.WriteMIL(new(sink)))
			}
		})
	}
}

type sink struct{}

func (*sink) Write(data []byte) (int, error) { return len(data), nil }

// A picture is asked for its pixels in the midst of a prediction.
type picture struct {
	image.Image
	asked func()
}

func (p picture) At(x, y int) color.Color {
	p.asked()
	return p.Image.At(x, y)
}

// Close from within a prediction ends with the context of that.
func TestCloseFromWithinAPrediction(t *testing.T) {
	hurry(t)
	m := openModel(t, espalier.Config{}, "image_rgb")
	d := m.Functions()[0].Inputs()[0]
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var err error
	var once sync.Once
	before := osfile.Mapped()
	_, got := m.Predict(ctx, map[string]any{d.Name: picture{image.NewRGBA(image.Rect(0, 0, 32, 32)), func() { once.Do(func() { err = m.Close() }) }}})
	if !errors.Is(err, espalier.ErrBusy) {
		t.Errorf("Close: %v, the prediction: %v", err, got)
	}
	if osfile.Mapped() >= before {
		t.Error("the files are still mapped")
	}
}

// hurry has Close give up waiting for its own caller soon.
func hurry(t *testing.T) {
	before := gate.Patience
	gate.Patience = 20 * time.Millisecond
	t.Cleanup(func() { gate.Patience = before })
}

var cycles = flag.Int("cycles", 200, "how often TestOpenPredictCloseIsFlat opens a model, predicts and closes it")

// The same with a state, which the prediction has for itself.
func TestCloseFromWithinAPredictionWithState(t *testing.T) {
	hurry(t)
	for _, units := range []espalier.Units{espalier.AllUnits, espalier.CPUOnly} {
		m := openModel(t, espalier.Config{Units: units}, "stateful_torch")
		f := m.Functions()[0]
		inner, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		var err error
		asked := false
		ctx := &askedContext{Context: inner, asked: func() {
			if !asked {
				asked = true
				err = m.Close()
			}
		}}
		f.PredictWithState(ctx, inputsOf(t, "stateful_torch"), f.NewState())
		if !asked || !errors.Is(err, espalier.ErrBusy) {
			t.Errorf("%s: asked %v, Close: %v", units, asked, err)
		}
		if err := m.Close(); err != nil {
			t.Errorf("%s: after it: %v", units, err)
		}
	}
}

// Runs of one call wait for each other, by their contexts.
func TestRunsOfACallWait(t *testing.T) {
	m := openModel(t, espalier.Config{Units: espalier.CPUOnly}, "linear_mlp")
	y := make([]float32, 40)
	call, err := m.Functions()[0].Bind(t.Context(), inputsOf(t, "linear_mlp"), map[string]any{"y": y})
	if err != nil {
		t.Fatal(err)
	}
	inside, leave := make(chan bool), make(chan bool)
	var once sync.Once
	slow := &askedContext{Context: t.Context(), asked: func() { once.Do(func() { inside <- true; <-leave }) }}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- call.Run(slow) }()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := call.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a deadline: %v", err)
	}
	go func() { second <- call.Run(t.Context()) }()
	close(leave)
	for _, done := range []chan error{first, second} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// What a model takes, its Close gives back.
func TestOpenPredictCloseIsFlat(t *testing.T) {
	forms := livingForms(t)
	cycle := func(i int) {
		form := forms[i%len(forms)]
		m, err := form.config.Open(form.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := predictFresh(t.Context(), m.Functions()[0], form.inputs); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range *cycles / 10 {
		cycle(i)
	}
	before := newUse()
	for i := range *cycles {
		cycle(i)
	}
	after := newUse()
	for try := 0; after.goroutines > before.goroutines && try < 100; try++ {
		time.Sleep(10 * time.Millisecond) // one that helped a loop may still be on its way out
		after = newUse()
	}
	t.Logf("before %d cycles: %+v", *cycles, before)
	t.Logf("after them: %+v", after)
	if after.mappings != before.mappings || after.files > before.files || after.goroutines > before.goroutines {
		t.Error("something is left")
	}
	if after.heap > before.heap+4<<20 {
		t.Error("the heap grows")
	}
}

// use is what the process has.
type use struct {
	mappings   int // of files, by us
	areas      int // of memory, as the system counts them
	files      int // open ones
	goroutines int
	heap       uint64 // bytes in use
	resident   int    // pages
}

func newUse() use {
	runtime.GC()
	runtime.GC() // what pools drop goes at the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := use{mappings: osfile.Mapped(), goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	maps, _ := os.ReadFile("/proc/self/maps") // where there is one
	u.areas = bytes.Count(maps, []byte("\n"))
	fds, _ := os.ReadDir("/proc/self/fd")
	u.files = len(fds)
	statm, _ := os.ReadFile("/proc/self/statm")
	fmt.Sscan(string(statm), new(int), &u.resident)
	return u
}

func TestOpenContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mappings := osfile.Mapped()
	for _, form := range livingForms(t) {
		before := osfile.Mapped()
		if _, err := form.config.OpenContext(ctx, form.path); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", form.name, err)
		}
		if n := osfile.Mapped(); n != before {
			t.Errorf("%s: %d mappings, there were %d", form.name, n, mappings)
		}
	}
}

// A state that a prediction has is ErrBusy for another, on every unit.
func TestStateIsBusy(t *testing.T) {
	model := openModel(t, espalier.Config{}, "stateful_torch")
	at := filepath.Join(modelsDir, "stateful_torch", "model.mlpackage")
	for name, m := range map[string]*espalier.Model{
		"engine": model,
		"host":   open(t, espalier.Config{Units: espalier.CPUOnly}, at),
		"chip":   open(t, espalier.Config{Target: "h13"}, at),
		"bundle": open(t, espalier.Config{}, compiled(t, model, "", "m.bundle")),
	} {
		t.Run(name, func(t *testing.T) {
			f := m.Functions()[0]
			inputs := inputsOf(t, "stateful_torch")
			state := f.NewState()
			// The context is asked in the midst of the prediction, and asks for another one.
			asked := false
			ctx := &askedContext{Context: t.Context(), asked: func() {
				if asked {
					return
				}
				asked = true
				if _, err := f.PredictWithState(t.Context(), inputs, state); !errors.Is(err, espalier.ErrBusy) {
					t.Errorf("a prediction: %v", err)
				}
				for _, d := range f.States() {
					if _, err := state.Tensor(d.Name); !errors.Is(err, espalier.ErrBusy) {
						t.Errorf("the state's tensor: %v", err)
					}
				}
			}}
			if _, err := f.PredictWithState(ctx, inputs, state); err != nil || !asked {
				t.Fatalf("%v, asked %v", err, asked)
			}
			if _, err := f.PredictWithState(t.Context(), inputs, state); err != nil {
				t.Error(err)
			}
		})
	}
}

type askedContext struct {
	context.Context
	asked func()
}

func (c *askedContext) Err() error {
	c.asked()
	return c.Context.Err()
}

func TestNilInputs(t *testing.T) {
	var noTensor *tensor.Tensor
	var noPicture *image.RGBA
	for _, units := range []espalier.Units{espalier.AllUnits, espalier.CPUOnly} {
		for _, given := range []any{nil, noTensor, noPicture} {
			m := openModel(t, espalier.Config{Units: units}, "optional_input")
			for _, name := range []string{"x", "b"} { // b is optional
				inputs := inputsOf(t, "optional_input")
				inputs[name] = given
				_, err := m.Predict(t.Context(), inputs)
				var e *espalier.InputError
				if !errors.As(err, &e) || e.Name != name {
					t.Errorf("%s = %T: got %v", name, given, err)
				}
			}
		}
	}
	var empty tensor.Tensor
	m := openModel(t, espalier.Config{}, "optional_input")
	if _, err := m.Predict(t.Context(), map[string]any{"x": &empty}); err == nil {
		t.Error("the zero tensor is taken")
	}
}

// Who waits for a variant that another compiles waits as long as its own context does.
func TestWaitForCompilationEnds(t *testing.T) {
	m := openModel(t, espalier.Config{}, "linear_mlp")
	inputs := inputsOf(t, "linear_mlp")
	inside, leave := make(chan bool), make(chan bool)
	var once sync.Once
	slow := &askedContext{Context: t.Context(), asked: func() {
		once.Do(func() { inside <- true; <-leave })
	}}
	done := make(chan error)
	go func() {
		_, err := m.Predict(slow, inputs)
		done <- err
	}()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := m.Predict(ctx, inputs); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
