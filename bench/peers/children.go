package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/trace"
	"github.com/espalier-ane/espalier/tensor"
)

// What is measured in a process of its own: memory, and the first result.

// A childReport is what such a process says.
type childReport struct {
	Start  resident // before anything is loaded
	Loaded resident // after
	Ran    resident // after a few runs
	Mapped int64    // then: bytes of the weight file that are in memory
	Packed int64    // what the model has made of its weights and holds
	First  float64  // milliseconds from the file to the first result
}

// A childTask says what such a process does.
type childTask struct {
	Path      string // of the model
	LowMemory bool
	Runtime   bool // by the runtime alone, on a bundle; otherwise as Open and Predict do
	Threads   int
}

// child runs a task in another process.
func child(t childTask) (r childReport, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	task, err := json.Marshal(t)
	if err != nil {
		return r, err
	}
	cmd := exec.Command(self, "-child", string(task))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%s: %w", task, err)
	}
	return r, json.Unmarshal(out, &r)
}

// runChild is what that process does.
func runChild(task string) error {
	var t childTask
	if err := json.Unmarshal([]byte(task), &t); err != nil {
		return err
	}
	work := predictTask
	if t.Runtime {
		work = runtimeTask
	}
	var r childReport
	err := error(nil)
	if r.Start, err = residentNow(); err != nil {
		return err
	}
	if err := work(context.Background(), t, &r); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

const fewRuns = 3

// errNoLowMemory says that there is no such setting.
var errNoLowMemory = fmt.Errorf("Config has no LowMemory")

// config makes the settings of a task. LowMemory is found by its name, so that the
// program measures commits before it, too.
func (t childTask) config() (espalier.Config, error) {
	c := espalier.Config{Threads: t.Threads, Cache: espalier.NoCache}
	if t.LowMemory {
		f := reflect.ValueOf(&c).Elem().FieldByName("LowMemory")
		if !f.IsValid() {
			return c, errNoLowMemory
		}
		f.SetBool(true)
	}
	return c, nil
}

// predictTask opens a model and predicts, as any program would.
func predictTask(ctx context.Context, t childTask, r *childReport) error {
	c, err := t.config()
	if err != nil {
		return err
	}
	start := time.Now()
	m, err := c.Open(t.Path)
	if err != nil {
		return err
	}
	defer m.Close()
	in, err := features(m, filepath.Dir(t.Path))
	if err != nil {
		return err
	}
	for i := range fewRuns {
		if _, err := m.Predict(ctx, in); err != nil {
			return err
		}
		if i == 0 {
			r.First = milliseconds(time.Since(start))
		}
	}
	r.Ran, err = residentNow()
	return err
}

// features are the inputs of a model.
func features(m *espalier.Model, dir string) (map[string]any, error) {
	arrays, err := tensor.OpenNPZ(filepath.Join(dir, "inputs.npz"))
	if err != nil {
		return nil, err
	}
	in := map[string]any{}
	for _, a := range arrays {
		in[a.Name] = a.Tensor
	}
	for _, d := range m.Functions()[0].Inputs() {
		a, ok := d.Type.(*coreml.ArrayType)
		t, given := in[d.Name].(*tensor.Tensor)
		if !ok || !given {
			return nil, fmt.Errorf("the input %s is no array that we have", d.Name)
		}
		if in[d.Name], err = t.Convert(a.DType); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// runtimeTask loads and runs a bundle: what is in memory then and was not before is
// weights, and what a run needs, and the program itself.
func runtimeTask(ctx context.Context, t childTask, r *childReport) error {
	s, err := openBundle(ctx, t.Path, filepath.Dir(t.Path), t.Threads)
	if err != nil {
		return err
	}
	defer s.bundle.Close()
	debug.FreeOSMemory()
	if r.Loaded, err = residentNow(); err != nil {
		return err
	}
	for range fewRuns {
		if err := s.run(); err != nil {
			return err
		}
	}
	debug.FreeOSMemory()
	if r.Ran, err = residentNow(); err != nil {
		return err
	}
	for _, step := range s.function.Profile(new(trace.Times)) {
		r.Packed += step.Memory.Packed
	}
	r.Mapped, err = residentOf(t.Path)
	return err
}
