package aneclient_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier/aneclient"
)

// Models, requests and their results, by all ways of evaluation.
func TestEvaluate(t *testing.T) {
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		k := bench(t, c, load(t, c, half(t, 64, 32)), 0)
		for what, evaluate := range map[string]func() error{
			"quality of service": func() error { return k.Evaluate(ctx, qos, k.request) },
			"real time":          func() error { return k.EvaluateRealTime(ctx, k.request) },
			"direct":             func() error { return k.EvaluateDirect(qos, k.request) },
			"process request": func() error {
				value, err := k.Program().ProcessRequest(ctx, k.request, qos, 1, "k")
				if value != 0 {
					t.Errorf("the return value is %#x", value)
				}
				return err
			},
			"asynchronous": func() error {
				done := make(chan error, 1)
				if err := k.EvaluateAsync(ctx, qos, k.request, func(err error) { done <- err }); err != nil {
					return err
				}
				return <-done
			},
		} {
			clear(k.y[0].Surface.Bytes())
			k.put(t, 0, filled(64*32, 3))
			check(t, evaluate())
			wants(t, what, k.get(t, 0), 1.5)
		}
	})
}

// A surface may hold several buffers, at offsets.
func TestStartOffsets(t *testing.T) {
	c := connect(t, "virtual")
	k := bench(t, c, load(t, c, half(t, 16, 8)), 0)
	n := k.info.Inputs[0].Bytes
	s := surface(t, c, 4*n)
	r := aneclient.NewRequest([]*aneclient.IOSurfaceObject{s.Object(n)}, []int{0}, []*aneclient.IOSurfaceObject{s.Object(2 * n)}, []int{0}, nil, nil, 0)
	check(t, k.info.Inputs[0].Store(s.Object(n), filled(16*8, 8)))
	for what, evaluate := range map[string]func() error{
		"quality of service": func() error { return k.Evaluate(ctx, qos, r) }, "direct": func() error { return k.EvaluateDirect(qos, r) },
	} {
		clear(s.Bytes()[2*n : 3*n])
		check(t, evaluate())
		y, err := k.info.Outputs[0].Load(s.Object(2 * n))
		check(t, err)
		wants(t, what, y, 4)
		if !bytes.Equal(s.Bytes()[:n], make([]byte, n)) || !bytes.Equal(s.Bytes()[3*n:], make([]byte, n)) {
			t.Errorf("%s: memory beside the buffers was written", what)
		}
	}
}

// What is wrong with a request is said before it is run, in the originals' domains and codes.
func TestRefusedRequests(t *testing.T) {
	c, other := connect(t, "virtual"), connect(t, "virtual")
	k := bench(t, c, load(t, c, half(t, 16, 8)), 0)
	small, foreign := surface(t, c, 8).Object(), surface(t, other, 4096).Object()
	x, y := k.x, k.y
	for what, row := range map[string]struct {
		request *aneclient.Request
		want    string
	}{
		"no inputs":   {aneclient.NewRequest(nil, nil, y, []int{0}, nil, nil, 0), `input symbol 0, "x", has no surface`},
		"an index":    {aneclient.NewRequest(x, nil, y, []int{0}, nil, nil, 0), "1 inputs and 0 indices"},
		"no symbol":   {aneclient.NewRequest(x, []int{1}, y, []int{0}, nil, nil, 0), "input symbol 1: the procedure has 1"},
		"twice":       {aneclient.NewRequest(append(x, x...), []int{0, 0}, y, []int{0}, nil, nil, 0), "is there twice"},
		"too small":   {aneclient.NewRequest([]*aneclient.IOSurfaceObject{small}, []int{0}, y, []int{0}, nil, nil, 0), "needs 256 bytes from 0 on, and the surface has 8"},
		"offset":      {aneclient.NewRequest([]*aneclient.IOSurfaceObject{x[0].Surface.Object(1)}, []int{0}, y, []int{0}, nil, nil, 0), "needs 256 bytes from 1 on"},
		"another's":   {aneclient.NewRequest([]*aneclient.IOSurfaceObject{foreign}, []int{0}, y, []int{0}, nil, nil, 0), "none of this client"},
		"procedure":   {aneclient.NewRequest(x, []int{0}, y, []int{0}, nil, nil, 1), "invalid procedureId=1, tot=1"},
		"weights":     {aneclient.NewRequest(x, []int{0}, y, []int{0}, x[0], nil, 0), "weightsBuffer"},
		"statistics":  {aneclient.NewRequest(x, []int{0}, y, []int{0}, nil, []*aneclient.StatsBuffer{{}}, 0), "perfStatsIOSurface is NULL!"},
		"small stats": {aneclient.NewRequest(x, []int{0}, y, []int{0}, nil, []*aneclient.StatsBuffer{{Surface: small.Surface}}, 0), "want 64 or more"},
	} {
		for _, err := range []error{k.Evaluate(ctx, qos, row.request), k.Validate(row.request), k.Mapper().Validate(row.request)} {
			if !errors.Is(err, aneclient.ErrBadArgument) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := k.Mapper().Map(row.request, true); !errors.Is(err, aneclient.ErrMap) {
			t.Errorf("%s: mapping gives %v", what, err)
		}
	}
	for _, q := range []int{-1, 64} {
		if err := k.Evaluate(ctx, q, k.request); !errors.Is(err, aneclient.ErrBadArgument) {
			t.Errorf("quality of service %d: %v", q, err)
		}
	}
	check(t, k.Validate(k.request))
	wants(t, "afterwards", k.run(t, filled(16*8, 1)), 0.5)
	check(t, k.Unload(qos))
	if err := k.Evaluate(ctx, qos, k.request); !errors.Is(err, aneclient.ErrInvalidModel) {
		t.Errorf("a model that is not loaded: %v", err)
	}
}

// The life of a model: its states, and what its names are made of.
func TestLife(t *testing.T) {
	c := connect(t, "virtual")
	d := half(t, 16, 8)
	m, twin := c.InMemoryModel(d), c.InMemoryModel(half(t, 16, 8))
	if m.HexStringIdentifier() != twin.HexStringIdentifier() || m.UUID() == twin.UUID() || len(m.UUID()) != 36 {
		t.Errorf("%s %s, %s %s", m.HexStringIdentifier(), m.UUID(), twin.HexStringIdentifier(), twin.UUID())
	}
	if other := conv(t, 16, 8, diagonal(16, 2)); other.HexStringIdentifier() == d.HexStringIdentifier() || other.Equal(d) {
		t.Error("other weights, and the same identifier")
	}
	state := func(want aneclient.ModelState) {
		t.Helper()
		if m.State() != want {
			t.Errorf("state %d, want %d", m.State(), want)
		}
	}
	state(aneclient.StateNew)
	check(t, m.Load(ctx, qos, aneclient.Options{})) // what is not compiled is compiled
	state(aneclient.StateLoaded)
	if err := m.Load(ctx, qos, aneclient.Options{}); !errors.Is(err, aneclient.ErrBadArgument) {
		t.Errorf("twice: %v", err)
	}
	handle := m.ProgramHandle()
	check(t, m.Unload(qos))
	state(aneclient.StateNew)
	if m.ProgramHandle() != 0 || m.Program() != nil || m.Mapper() != nil {
		t.Error("an unloaded model has a program")
	}
	check(t, m.Load(ctx, qos, aneclient.Options{}))
	if m.ProgramHandle() == handle || m.ProgramHandle() == 0 {
		t.Error("a new load has the old handle")
	}
	check(t, m.Unload(qos))
	check(t, m.Purge())
	if m.CompiledModelExists() {
		t.Error("it is compiled")
	}

	// What the engine cannot run, and what is no program.
	bad, err := aneclient.NewDescriptor(function("tensor<fp16, [2, 3]> x", constant("tensor<int32, [1]>", "ax", "[0]")+constant("bool", "de", "true")+
		"tensor<fp16, [?, 1]> y = non_zero(x = x)[name = string(\"y\")];", "y"), nil, nil)
	if err == nil {
		failed := c.InMemoryModel(bad)
		if err = failed.Compile(ctx, qos, aneclient.Options{}); failed.State() != aneclient.StateFailed {
			t.Errorf("state %d", failed.State())
		}
	}
	if !errors.Is(err, aneclient.ErrCompile) {
		t.Errorf("non_zero: %v", err)
	}
	if _, err := aneclient.NewDescriptor([]byte("program"), nil, nil); !errors.Is(err, aneclient.ErrCompile) || !strings.Contains(err.Error(), "InvalidMILProgram") {
		t.Errorf("no program: %v", err)
	}
}

// Options are a property list too.
func TestOptions(t *testing.T) {
	plist := func(body string) []byte {
		return []byte(`<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>` + body + `</dict></plist>`)
	}
	o, err := aneclient.ParseOptions(plist(`<key>numerics</key><string>h13,saturate-at-port=0</string><key>strict</key><true/><key>kANEFPerformanceStatsMask</key><integer>3</integer><key>debug_mask</key><integer>1</integer>`))
	if want := (aneclient.Options{Numerics: "h13,saturate-at-port=0", Strict: true, StatsMask: 3, DebugMask: 1}); err != nil || o != want {
		t.Errorf("%+v, %v", o, err)
	}
	for body, want := range map[string]string{
		`<key>colour</key><string>blue</string>`:                     `option "colour" is not known`,
		`<key>strict</key><string>yes</string>`:                      "want a boolean",
		`<key>numerics</key><true/>`:                                 "want a string",
		`<key>kANEFPerformanceStatsMask</key><integer>256</integer>`: "from 0 to 255",
		`<key>kANEFPerformanceStatsMask</key><integer>-1</integer>`:  "from 0 to 255",
		`<key>kANEFPerformanceStatsMask</key><string>many</string>`:  "want an integer",
	} {
		if _, err := aneclient.ParseOptions(plist(body)); !errors.Is(err, aneclient.ErrBadArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	c := connect(t, "virtual")
	d, err := aneclient.NewDescriptor(convText(16, 8), map[string][]byte{weightPath: blob(diagonal(16, 2))}, plist(`<key>kANEFPerformanceStatsMask</key><integer>2</integer>`))
	check(t, err)
	k := bench(t, c, load(t, c, d), 0)
	wants(t, "y", k.run(t, filled(16*8, 1)), 2)
	if s := k.request.Stats(); s == nil || len(s.Counters) != 1 || s.Counters[aneclient.CountTasks] != 1 {
		t.Errorf("%+v", s)
	}
}

// twoProcedures is a program of two functions: relu and square.
func twoProcedures() []byte {
	one := function("tensor<fp16, [1, 8, 1, 16]> x", `tensor<fp16, [1, 8, 1, 16]> y = relu(x = x)[name = string("y")];`, "y")
	other := "\nfunc other<ios18>(tensor<fp16, [1, 8, 1, 16]> x) {\ntensor<fp16, [1, 8, 1, 16]> y = square(x = x)[name = string(\"y\")];\n} -> (y);\n}\n"
	return []byte(strings.Replace(string(one), "\n}\n", other, 1))
}

// A state is one surface that runs read and change.
func TestStates(t *testing.T) {
	c := connect(t, "virtual")
	m := loadText(t, c, function("state<tensor<fp16, [1, 8, 1, 16]>> s, tensor<fp16, [1, 8, 1, 16]> x", `tensor<fp16, [1, 8, 1, 16]> was = read_state(input = s)[name = string("was")];
tensor<fp16, [1, 8, 1, 16]> y = add(x = was, y = x)[name = string("y")];
write_state(data = y, input = s)[name = string("w")];`, "y"))
	k := bench(t, c, m, 0)
	state := slices.IndexFunc(k.info.Inputs, func(p aneclient.Port) bool { return p.State })
	x := 1 - state
	out := slices.IndexFunc(k.info.Outputs, func(p aneclient.Port) bool { return p.State })
	if state < 0 || len(k.x) != 2 {
		t.Fatalf("inputs %v, outputs %v", k.info.Inputs, k.info.Outputs)
	}
	if out >= 0 {
		if err := k.Validate(k.request); !errors.Is(err, aneclient.ErrBadArgument) || !strings.Contains(err.Error(), "is a state") {
			t.Errorf("two surfaces for a state: %v", err)
		}
		k.request.Outputs = slices.Clone(k.y)
		k.request.Outputs[out] = k.x[state]
	}
	y := slices.IndexFunc(k.info.Outputs, func(p aneclient.Port) bool { return !p.State })
	for i := range 3 {
		k.put(t, x, filled(8*16, 2))
		check(t, k.Evaluate(ctx, qos, k.request))
		wants(t, "y", k.get(t, y), 2*float32(i+1))
	}
	k.request.Outputs, k.request.OutputIndices = k.y[y:y+1], []int{y}
	check(t, k.Evaluate(ctx, qos, k.request))
	wants(t, "y, with the state as an input alone", k.get(t, y), 8)
	held, err := k.info.Inputs[state].Load(k.x[state])
	check(t, err)
	wants(t, "the state", held, 8)
}

// Several functions are several procedures; several instances run beside each other.
func TestProceduresAndInstances(t *testing.T) {
	c := connect(t, "virtual")
	m := loadText(t, c, twoProcedures())
	if n := m.ProcedureCount(); n != 2 {
		t.Fatalf("%d procedures", n)
	}
	wants(t, "relu", bench(t, c, m, 0).run(t, filled(8*16, -3)), 0)
	wants(t, "square", bench(t, c, m, 1).run(t, filled(8*16, -3)), 9)

	var models []*aneclient.Model
	for range 4 {
		instance, err := m.NewInstance(aneclient.InstanceParameters{Name: "one more"})
		check(t, err)
		models = append(models, instance)
	}
	var all sync.WaitGroup
	for i, m := range models {
		k := bench(t, c, m, 1)
		all.Go(func() {
			for j := range 20 {
				v := float32(i + j)
				k.put(t, 0, filled(8*16, v))
				if err := k.Evaluate(ctx, qos, k.request); err != nil {
					t.Error(err)
				}
				if y := k.get(t, 0); y[0] != v*v {
					t.Errorf("%v², and not %v", v, y[0])
				}
			}
		})
	}
	all.Wait()
	d, err := models[0].DeviceController()
	check(t, err)
	if s := d.Status(); s.Done < 80 || s.Programs != 1 || s.Processes != 1+4 {
		t.Errorf("%+v", s)
	}
	if _, err := m.NewInstance(aneclient.InstanceParameters{Weights: map[int]*aneclient.IOSurfaceObject{0: surface(t, c, 8).Object()}}); !errors.Is(err, aneclient.ErrBadArgument) {
		t.Errorf("an instance with weights: %v", err)
	}
	check(t, models[0].Unload(qos))
	check(t, m.Unload(qos))
}

// doc.go has a table of the originals and what they are here; all of that is there.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	check(t, err)
	here, rows := declared(t), 0
	for line := range strings.Lines(string(text)) {
		row, ok := strings.CutPrefix(line, "//\t")
		if !ok || strings.Contains(row, ":=") || strings.Contains(row, " = ") {
			continue
		}
		rows++
		fields := strings.Fields(row)
		ours := slices.IndexFunc(fields, func(f string) bool { return here[f] })
		if ours < 1 {
			t.Errorf("%s: nothing of it is here", strings.TrimSpace(row))
			continue
		}
		for _, name := range fields[ours:] {
			if !here[name] {
				t.Errorf("%s: there is no %s", strings.TrimSpace(row), name)
			}
		}
	}
	if rows < 60 {
		t.Errorf("%d rows", rows)
	}
}
