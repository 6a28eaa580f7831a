package aneclient_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/aneclient"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// saved is a compiled model whose files are in a folder of the test.
func saved(t testing.TB, c *aneclient.Client, d *aneclient.ModelDescriptor) *aneclient.Model {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	m := c.InMemoryModel(d)
	check(t, m.Compile(ctx, qos, aneclient.Options{}))
	check(t, m.SaveModelFiles())
	return m
}

// populated is a model of files that was given the program of one in memory.
func populated(t testing.TB, c *aneclient.Client, d *aneclient.ModelDescriptor) *aneclient.Model {
	t.Helper()
	memory := saved(t, c, d)
	check(t, memory.Load(ctx, qos, aneclient.Options{}))
	disk, err := c.ModelAtURL(memory.LocalModelPath(), memory.HexStringIdentifier())
	check(t, err)
	if disk.State() != 1 || disk.Program() != nil || disk.ProgramHandle() != 0 || len(disk.UUID()) != 36 {
		t.Errorf("the shell: state %d, program %v", disk.State(), disk.Program())
	}
	check(t, disk.SetProgram(memory.Program()))
	if disk.ProgramHandle() != memory.ProgramHandle() {
		t.Error("another handle")
	}
	return disk
}

func TestExperimentE(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	m := populated(t, c, half(t, 64, 32))
	if i, err := m.InputSymbolIndices(0); err != nil || !slices.Equal(i, []int{0}) {
		t.Errorf("symbols %v, %v", i, err)
	}
	wants(t, "y", bench(t, c, m, 0).run(t, filled(64*32, 1)), 0.5)
	stranger := connect(t, "virtual")
	if err := stranger.InMemoryModel(half(t, 64, 32)).SetProgram(m.Program()); !errors.Is(err, aneclient.ErrBadArgument) {
		t.Errorf("the program of another client: %v", err)
	}
}

func TestExperimentE2(t *testing.T) {
	defer beside(t)
	for _, target := range []string{"virtual", "h13"} {
		c := connect(t, target)
		t.Setenv("TMPDIR", t.TempDir())
		m := c.InMemoryModel(half(t, 64, 32))
		if m.CompiledModelExists() {
			t.Error("it is compiled before it is")
		}
		check(t, m.Compile(ctx, qos, aneclient.Options{DebugMask: 1}))
		log := strings.Join(m.CompilerLog(), "\n")
		for _, phase := range []string{"fuse ", "legalize ", "schedule ", "memory ", "emit "} {
			if !strings.Contains(log, phase) {
				t.Errorf("%s: the compiler says nothing of the phase %s: %s", target, phase, log)
			}
		}
		check(t, m.SaveModelFiles())
		var names []string
		entries, err := os.ReadDir(m.LocalModelPath())
		check(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		for _, name := range []string{"data", "model.mil", "net.plist", "weights"} {
			if !slices.Contains(names, name) {
				t.Errorf("%s: there is no %s among %v", target, name, names)
			}
		}
		other := connect(t, map[string]string{"virtual": "h13", "h13": "virtual"}[target])
		if elsewhere := other.InMemoryModel(half(t, 64, 32)); elsewhere.LocalModelPath() != m.LocalModelPath() || elsewhere.CompiledModelExists() {
			t.Error("what is compiled for another engine is found")
		}
		again := c.InMemoryModel(half(t, 64, 32))
		if !again.CompiledModelExists() || again.CompilerLog() != nil {
			t.Error("the saved model is not found")
		}
		check(t, m.Purge())
		if again.CompiledModelExists() {
			t.Error("a purged model is found")
		}
	}
}

func TestExperimentF(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		m := populated(t, c, half(t, 64, 32))
		x := random(1, 64*32)
		p := chainRequest(t, c, 1, m).prepare(t)
		p.put(t, 0, x)
		near(t, "the chain", p.execute(t, 0), apart(t, c, x, m), 0)
	})
}

func TestExperimentG(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	ctx := patience(t)
	k := bench(t, c, load(t, c, half(t, 64, 32)), 0)
	for typ := range aneclient.EventType(3) {
		before, after := first(c.NewSharedEvent()), first(c.NewSharedEvent())
		signal, err := aneclient.NewSignalEvent(5, 0, typ, after)
		check(t, err)
		wait, err := aneclient.NewWaitEvent(2, before)
		check(t, err)
		k.request.SharedEvents = &aneclient.SharedEvents{Signals: []*aneclient.SharedSignalEvent{signal}, Waits: []*aneclient.SharedWaitEvent{wait}}
		done := make(chan error, 1)
		check(t, k.EvaluateAsync(ctx, qos, k.request, func(err error) { done <- err }))
		before.Signal(1)
		k.put(t, 0, filled(64*32, float32(typ))) // it may not have begun
		select {
		case <-done:
			t.Fatal("it did not wait")
		default:
		}
		before.Signal(2)
		check(t, after.Wait(ctx, 5))
		check(t, <-done)
		wants(t, "y", k.get(t, 0), float32(typ)/2)

		// By the kernel's call too.
		wait.Value, signal.Value = 2, 6
		clear(k.y[0].Surface.Bytes())
		check(t, k.EvaluateDirect(qos, k.request))
		wants(t, "direct", k.get(t, 0), float32(typ)/2)
		if after.Value() != 6 {
			t.Errorf("the event has the value %d", after.Value())
		}
	}
	if _, err := aneclient.NewSignalEvent(1, 0, 3, first(c.NewSharedEvent())); !errors.Is(err, aneclient.ErrBadArgument) {
		t.Errorf("type 3: %v", err)
	}
}

func first[T any](v T, _ error) T { return v }

func TestExperimentH(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		m := populated(t, c, half(t, 64, 32))
		for range 3 {
			p := chainRequest(t, c, 1, m).prepare(t)
			p.put(t, 0, filled(64*32, 1))
			wants(t, "y", p.execute(t, 0), 0.5)
		}
	})
}

// Every way of the research's table at the smallest size; TestTwelveKernels has the others.
func TestExperimentI(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		ways := newThroughput(t, c, sizes[0])
		want := apart(t, c, random(3, 64*32), ways.models...)
		for name, run := range ways.all() {
			if name == "run-only" || name == "copy-only" {
				check(t, run())
				continue
			}
			ways.reset(t, random(3, 64*32))
			check(t, run())
			near(t, name, ways.result(t, name), want, 0)
		}
	})
}

func TestExperimentK(t *testing.T) {
	defer beside(t)
	r := reflect.TypeFor[aneclient.ChainingRequest]()
	for _, row := range [][2]string{
		{"Inputs", "[]*aneclient.Buffer"}, {"OutputSets", "[]*aneclient.OutputSets"}, {"LoopbackInputs", "[]int"}, {"LoopbackOutputs", "[]int"}, {"Procedures", "[]int"},
		{"SignalEvents", "[]*aneclient.SharedSignalEvent"}, {"TransactionHandle", "uint64"}, {"EnqueueDelay", "time.Duration"}, {"MemoryPoolID", "uint32"},
	} {
		if f, ok := r.FieldByName(row[0]); !ok || f.Type.String() != row[1] {
			t.Errorf("%s is a %v, want %s", row[0], f.Type, row[1])
		}
	}
	if got, want := reflect.TypeOf((*aneclient.Model).PrepareChaining).String(), "func(*aneclient.Model, *aneclient.ChainingRequest, int) error"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestExperimentL(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	m := load(t, c, half(t, 64, 32))
	for _, row := range []struct {
		name           string
		in, out, procs []int
		second         float32 // what the second execution gives
	}{
		{name: "L.1: -1", in: []int{-1}, out: []int{-1}, procs: []int{0}, second: 0.5},
		{name: "L.2: 0", in: []int{0}, out: []int{0}, procs: []int{0}, second: 0.25},
		{name: "L.3: empty", in: []int{}, out: []int{}, procs: []int{}, second: 0.5},
		{name: "L.4: nil", second: 0.5},
		{name: "L.5: a number", in: []int{-1}, out: []int{-1}, procs: []int{0}, second: 0.5},
	} {
		p := chainRequest(t, c, 1, m)
		p.request.LoopbackInputs, p.request.LoopbackOutputs, p.request.Procedures = row.in, row.out, row.procs
		p.prepare(t)
		p.put(t, 0, filled(64*32, 1))
		wants(t, row.name, p.execute(t, 0), 0.5)
		wants(t, row.name+", again", p.execute(t, 0), row.second)
	}
}

func TestExperimentM(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		files := saved(t, c, half(t, 64, 32)).LocalModelPath()
		for _, keep := range []string{"data", "model.mil", "net.plist"} {
			dir := t.TempDir()
			m, err := c.ModelAtURL(dir, "key")
			check(t, err)
			for what, err := range map[string]error{"load": m.Load(ctx, qos, aneclient.Options{}), "compile": m.Compile(ctx, qos, aneclient.Options{})} {
				if !errors.Is(err, aneclient.ErrEspresso) || m.State() != 5 || !strings.Contains(err.Error(), "Domain=com.apple.appleneuralengine.espresso Code=-1") || !strings.Contains(err.Error(), "model.espresso.net'") {
					t.Errorf("%s of an empty folder: state %d, %v", what, m.State(), err)
				}
			}
			check(t, os.CopyFS(dir, os.DirFS(files)))
			for _, other := range []string{"data", "model.mil", "net.plist"} {
				if other != keep {
					check(t, os.RemoveAll(filepath.Join(dir, other)))
				}
			}
			if m.CompiledModelExists() != (keep == "data") {
				t.Errorf("%s: compiled %t", keep, m.CompiledModelExists())
			}
			check(t, m.Load(ctx, qos, aneclient.Options{}))
			if m.State() != 3 {
				t.Errorf("state %d", m.State())
			}
			wants(t, keep, bench(t, c, m, 0).run(t, filled(64*32, 1)), 0.5)
		}
	})
}

func TestExperimentN(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	m := populated(t, c, half(t, 64, 32))
	var list []*kernel
	for range 64 {
		k := bench(t, c, m, 0)
		check(t, m.Mapper().Validate(k.request))
		check(t, m.Mapper().Map(k.request, len(list)%2 == 0))
		list = append(list, k)
	}
	for i, k := range list[:4] {
		wants(t, "a mapped request", k.run(t, filled(64*32, float32(i))), float32(i)/2)
		clear(k.y[0].Surface.Bytes())
		check(t, k.EvaluateDirect(qos, k.request))
		wants(t, "direct", k.get(t, 0), float32(i)/2)
	}
	for i, k := range list[:2] { // what is changed after it was cached does not count
		elsewhere := surface(t, c, k.info.Outputs[0].Bytes).Object()
		k.request.Outputs = []*aneclient.IOSurfaceObject{elsewhere}
		clear(k.y[0].Surface.Bytes())
		wants(t, "the output that was mapped", k.run(t, filled(64*32, 1)), []float32{0.5, 0}[i])
		k.request.Outputs = k.y
	}
	over := bench(t, c, m, 0)
	if err := m.Mapper().Map(over.request, true); !errors.Is(err, aneclient.ErrMap) || !strings.Contains(err.Error(), "Code=13") {
		t.Errorf("129 surfaces: %v", err)
	}
	check(t, m.Mapper().Unmap(list[0].request))
	if err := m.Mapper().Unmap(list[0].request); !errors.Is(err, aneclient.ErrMap) {
		t.Errorf("unmapped twice: %v", err)
	}
	check(t, m.Mapper().Map(over.request, true))
	if err := m.Mapper().Map(over.request, true); !errors.Is(err, aneclient.ErrMap) {
		t.Errorf("mapped twice: %v", err)
	}
	wants(t, "in its place", over.run(t, filled(64*32, 1)), 0.5)
	wants(t, "unmapped", list[0].run(t, filled(64*32, 1)), 0.5)
	d, err := m.DeviceController()
	check(t, err)
	if d.ProgramHandle() != m.ProgramHandle() {
		t.Error("another program")
	}
	check(t, aneclient.MapperWithController(d).Validate(over.request))
	check(t, m.Unload(qos)) // which unmaps all
	next := load(t, c, half(t, 64, 32))
	for range 64 {
		check(t, next.Mapper().Map(bench(t, c, next, 0).request, true))
	}
}

func TestExperimentO(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		m := populated(t, c, half(t, 64, 32))
		info, err := m.ProcedureInfo(0)
		check(t, err)
		if info.Name != "main" || info.Tasks < 1 || len(info.Inputs) != 1 || len(info.Outputs) != 1 || info.ConstantBytes < 2*64*64 {
			t.Errorf("%+v", info)
		}
		if p := info.Inputs[0]; p.Name != "x" || p.Type != tensor.Float16 || p.Shape != [4]int{1, 64, 1, 32} || p.Bytes != 4096 {
			t.Errorf("%+v", p)
		}
		a, err := m.Attributes()
		check(t, err)
		if m.ProcedureCount() != 1 || len(a.Procedures) != 1 || a.Target != c.Target() || a.Procedures[0].Name != "main" {
			t.Errorf("%+v", a)
		}
		if _, err := m.ProcedureInfo(1); !errors.Is(err, aneclient.ErrBadArgument) {
			t.Errorf("a procedure that is not there: %v", err)
		}
	})
}

func TestExperimentP(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		failed, err := c.ModelAtURL(t.TempDir(), "key")
		check(t, err)
		if err := failed.Load(ctx, qos, aneclient.Options{}); err == nil || failed.State() != 5 {
			t.Errorf("state %d, %v", failed.State(), err)
		}
		p := chainRequest(t, c, 1, load(t, c, half(t, 64, 32)))
		if err := failed.PrepareChaining(p.request, qos); !errors.Is(err, aneclient.ErrChainingPrepare) {
			t.Errorf("while it is failed: %v", err)
		}
		fresh := populated(t, c, half(t, 64, 32))
		check(t, failed.SetProgram(fresh.Program()))
		for what, m := range map[string]*aneclient.Model{"fresh": fresh, "in memory": load(t, c, half(t, 64, 32)), "failed": failed} {
			p := chainRequest(t, c, 1, m).prepare(t)
			p.put(t, 0, filled(64*32, 1))
			wants(t, what, p.execute(t, 0), 0.5)
		}
	})
}

// coreML is a package of the repository, and what package espalier makes of an input.
func coreML(t testing.TB, target string) (path string, x, want []float32) {
	t.Helper()
	path = filepath.Join(testkit.Root(t), "testdata", "models", "conv2d_basic", "model.mlpackage")
	m, err := espalier.Config{Target: target, Cache: espalier.NoCache}.Open(path)
	check(t, err)
	defer m.Close()
	f := m.Functions()[0]
	input := f.Inputs()[0]
	shape, _ := input.Type.(*coreml.ArrayType).DefaultShape()
	x = random(9, tensor.New(tensor.Float32, shape...).Len())
	out, err := f.Predict(patience(t), map[string]any{input.Name: tensor.FromFloat32s(tensor.Float32, x, shape...)})
	check(t, err)
	want = out[f.Outputs()[0].Name].Tensor.Float32s()
	return path, x, want
}

func TestExperimentQ(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		path, x, want := coreML(t, c.Target())
		m, err := c.ModelAtURL(path, "conv2d_basic")
		check(t, err)
		check(t, m.Load(ctx, qos, aneclient.Options{}))
		near(t, "the package", bench(t, c, m, 0).run(t, x), want, 0)
	})
}

func TestExperimentR(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		path, x, want := coreML(t, c.Target())
		m, err := c.ModelAtURL(path, "conv2d_basic")
		check(t, err)
		check(t, m.Load(ctx, qos, aneclient.Options{}))
		p := chainRequest(t, c, 1, m).prepare(t)
		p.put(t, 0, x)
		near(t, "the chain", p.execute(t, 0), want, 0)
	})
}

func TestExperimentS(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		a, b := load(t, c, conv(t, 64, 32, random(5, 64*64))), load(t, c, conv(t, 64, 32, random(6, 64*64)))
		x := random(7, 64*32)
		want := apart(t, c, x, a, b)
		p := chainRequest(t, c, 1, a, b).prepare(t)
		p.put(t, 0, x)
		d, err := p.DeviceController()
		check(t, err)
		before := d.Status().Done
		near(t, fmt.Sprint("two kernels on ", c.Target()), p.execute(t, 0), want, 0)
		if n := d.Status().Done - before; n != 1 {
			t.Errorf("%d requests of the engine", n)
		}
	})
}
