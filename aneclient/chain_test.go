package aneclient_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/aneclient"
)

// A pipeline is a chain of kernels that is prepared: its first kernel has the inputs, sets the outputs.
type pipeline struct {
	*kernel
	request *aneclient.ChainingRequest
	sets    []*aneclient.IOSurfaceObject
	last    *aneclient.ProcedureInfo
	stats   []*aneclient.IOSurface
}

// chainRequest is a request for a chain of models with one input and one output each, with so many output sets.
func chainRequest(t testing.TB, c *aneclient.Client, sets int, models ...*aneclient.Model) *pipeline {
	t.Helper()
	p := &pipeline{kernel: bench(t, c, models[0], 0), request: &aneclient.ChainingRequest{}}
	p.request.Inputs = []*aneclient.Buffer{buffer(t, p.x[0], 0, aneclient.AgentEngine)}
	for _, m := range models[1:] {
		p.request.Links = append(p.request.Links, aneclient.ChainLink{Model: m})
	}
	var err error
	p.last, err = models[len(models)-1].ProcedureInfo(0)
	check(t, err)
	for range sets {
		y, stats := surface(t, c, p.last.Outputs[0].Bytes).Object(), surface(t, c, aneclient.MinStatsBytes)
		set, err := aneclient.NewOutputSets(stats, []*aneclient.Buffer{buffer(t, y, 0, aneclient.AgentOutput)})
		check(t, err)
		p.request.OutputSets = append(p.request.OutputSets, set)
		p.sets, p.stats = append(p.sets, y), append(p.stats, stats)
	}
	return p
}

// loop lets the output be the next input.
func (p *pipeline) loop() *pipeline {
	p.request.LoopbackInputs, p.request.LoopbackOutputs = []int{0}, []int{0}
	return p
}

func (p *pipeline) prepare(t testing.TB) *pipeline {
	t.Helper()
	check(t, p.request.Validate())
	check(t, p.PrepareChaining(p.request, qos))
	return p
}

// execute runs the chain once, into an output set.
func (p *pipeline) execute(t testing.TB, set int) []float32 {
	t.Helper()
	check(t, p.EnqueueSets(aneclient.OutputSetEnqueue{SetIndex: set}))
	check(t, p.ExecuteChain(patience(t), aneclient.InputBuffersReady{BufferIndices: []int{0}}))
	y, err := p.last.Outputs[0].Load(p.sets[set])
	check(t, err)
	return y
}

// apart is what models give one by one, with a copy between them.
func apart(t testing.TB, c *aneclient.Client, x []float32, models ...*aneclient.Model) []float32 {
	t.Helper()
	for _, m := range models {
		x = bench(t, c, m, 0).run(t, x)
	}
	return x
}

// Two models with loop-back: each execution reads what the one before wrote, and the host does nothing between.
func TestTwoModelLoopBack(t *testing.T) {
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		double, half := load(t, c, conv(t, 16, 8, diagonal(16, 2))), load(t, c, conv(t, 16, 8, diagonal(16, 0.75)))
		p := chainRequest(t, c, 1, double, half).loop().prepare(t)
		p.put(t, 0, filled(16*8, 1))
		want := float32(1)
		for i := range 5 {
			want *= 1.5
			wants(t, fmt.Sprint("execution ", i), p.execute(t, 0), want)
		}
		x, err := p.info.Inputs[0].Load(p.x[0])
		check(t, err)
		wants(t, "the input", x, 1)
		if err := double.Unload(qos); err == nil {
			t.Error("a model of a chain was unloaded")
		}
		check(t, p.EndChaining(0))
		if err := p.EnqueueSets(aneclient.OutputSetEnqueue{}); !errors.Is(err, aneclient.ErrChainingPrepare) {
			t.Errorf("a chain that is over: %v", err)
		}
		check(t, double.Unload(qos))
	})
}

// sizes are those of the research's table: channels × width.
var sizes = [][2]int{{64, 32}, {256, 64}, {768, 256}}

// twelve loads the 12 kernels of experiment I.
func twelve(t testing.TB, c *aneclient.Client, size [2]int) (list []*aneclient.Model) {
	t.Helper()
	n := size[0]
	weights := diagonal(n, 0.5)
	for i := range n {
		weights[i*n+(i+1)%n] = 0.25
		weights[i*n+(i+7)%n] = -0.125
	}
	d := conv(t, n, size[1], weights)
	for range 12 {
		list = append(list, load(t, c, d))
	}
	return list
}

// The chain of 12 kernels gives what they give one by one, bit for bit, and is one request of the engine.
func TestTwelveKernels(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			c := connect(t, "virtual")
			models := twelve(t, c, size)
			x := random(3, size[0]*size[1])
			want := apart(t, c, x, models...)
			p := chainRequest(t, c, 2, models...).prepare(t)
			d, err := p.DeviceController()
			check(t, err)
			p.put(t, 0, x)
			before := d.Status().Done
			for set := range 2 {
				near(t, "the chain", p.execute(t, set), want, 0)
			}
			if n := d.Status().Done - before; n != 2 {
				t.Errorf("two executions are %d requests of the engine", n)
			}
		})
	}
}

// Inputs, output sets, events, free values, delays, open loops: executions come one after the other, each with its signals.
func TestChainSignals(t *testing.T) {
	c := connect(t, "virtual")
	ctx := patience(t)
	full, err := c.NewSharedEvent()
	check(t, err)
	free, err := c.NewSharedEvent()
	check(t, err)
	var mu sync.Mutex
	heard := map[aneclient.Agent][]uint64{}
	for agent := range 3 {
		check(t, c.Listen(agent, func(event, value uint64, _ aneclient.EventType) {
			mu.Lock()
			defer mu.Unlock()
			heard[aneclient.Agent(agent)] = append(heard[aneclient.Agent(agent)], value)
		}))
	}
	if err := c.Listen(3, nil); err == nil {
		t.Error("a fourth agent")
	}
	m := load(t, c, half(t, 16, 8))
	p := chainRequest(t, c, 2, m)
	p.request.Inputs[0].Source = aneclient.AgentOther
	done, err := aneclient.NewSignalEvent(0, 0, 1, full)
	check(t, err)
	again, err := aneclient.NewSignalEvent(0, 0, 2, free)
	check(t, err)
	again.Free = true
	p.request.SignalEvents = []*aneclient.SharedSignalEvent{done, again}
	p.request.EnqueueDelay, p.request.TransactionHandle = time.Millisecond, 77
	p.prepare(t)
	for i := range uint64(3) {
		p.put(t, 0, filled(16*8, float32(i)))
		check(t, p.BuffersReady(ctx, aneclient.InputBuffersReady{BufferIndices: []int{0}, FreeValues: []uint64{10 * (i + 1)}, ExecutionDelay: time.Millisecond}))
		check(t, p.EnqueueSets(aneclient.OutputSetEnqueue{SetIndex: int(i % 2), SignalValue: i + 1}))
		check(t, full.Wait(ctx, i+1))
		check(t, free.Wait(ctx, 10*(i+1)))
		y, err := p.last.Outputs[0].Load(p.sets[i%2])
		check(t, err)
		wants(t, "y", y, float32(i)/2)
	}
	// No signal, by itself again and again.
	check(t, p.EnqueueSets(aneclient.OutputSetEnqueue{SignalNotRequired: true, SignalValue: 9, OpenLoop: true}))
	for range 3 {
		finished := make(chan error, 1)
		check(t, p.BuffersReady(ctx, aneclient.InputBuffersReady{Done: func(err error) { finished <- err }}))
		check(t, <-finished)
	}
	if full.Value() != 3 {
		t.Errorf("the event has the value %d, though no signal was required", full.Value())
	}
	mu.Lock()
	defer mu.Unlock()
	if got := fmt.Sprint(heard); got != "map[1:[1 2 3] 2:[10 20 30]]" { // the producers of output and input
		t.Errorf("the agents heard %s", got)
	}
	for i, s := range p.stats {
		if b := s.Bytes(); b[0] != 1 || b[1] != 1 || b[0x1c] != 77 {
			t.Errorf("statistics of set %d: % x", i, b)
		}
	}
}

// Procedures of one model are a chain too, and several chains of a model take turns.
func TestProceduresInChains(t *testing.T) {
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		m := loadText(t, c, twoProcedures())
		p := chainRequest(t, c, 1, m)
		p.request.Procedures = []int{1, 0, 1} // square, relu, square
		p.prepare(t)
		p.put(t, 0, filled(8*16, 2))
		again := chainRequest(t, c, 1, m)
		again.request.Procedures = []int{0, 1}
		again.prepare(t)
		again.put(t, 0, filled(8*16, -3))
		for _, row := range []struct {
			procedure int
			p         *pipeline
			want      float32
		}{{1, p, 16}, {0, again, 0}, {1, p, 16}} {
			check(t, m.SetActiveProcedure(row.procedure))
			check(t, m.EnqueueSets(aneclient.OutputSetEnqueue{ProcedureIndex: row.procedure}))
			check(t, m.ExecuteChain(patience(t), aneclient.InputBuffersReady{ProcedureIndex: row.procedure}))
			y, err := row.p.last.Outputs[0].Load(row.p.sets[0])
			check(t, err)
			wants(t, "y", y, row.want)
			if err := m.ExecuteChain(patience(t), aneclient.InputBuffersReady{ProcedureIndex: 1 - row.procedure}); !errors.Is(err, aneclient.ErrInference) {
				t.Errorf("the chain that is not active: %v", err)
			}
		}
	})
}

// Chains of one pool take memory that others of it have given back.
func TestMemoryPools(t *testing.T) {
	c := connect(t, "virtual")
	a, b := load(t, c, half(t, 16, 8)), load(t, c, half(t, 16, 8))
	for _, pool := range []uint32{0, 5} {
		for range 50 { // of three surfaces: a client has 128 slots
			p := chainRequest(t, c, 1, a, b)
			p.request.MemoryPoolID = pool
			p.prepare(t)
			p.put(t, 0, filled(16*8, 4))
			wants(t, "y", p.execute(t, 0), 1)
			if pool == 0 {
				check(t, p.EndChaining(0)) // else the next takes its place
			}
		}
	}
	check(t, a.EndChaining(0))
	for pool, made := range map[uint32]uint32{0: 1, 5: 0} { // surfaces are numbered as they are made
		p := chainRequest(t, c, 1, a, b)
		p.request.MemoryPoolID = pool
		before := surface(t, c, 2).ID()
		p.prepare(t)
		if n := surface(t, c, 2).ID() - before - 1; n != made {
			t.Errorf("a chain of pool %d made %d surfaces, want %d", pool, n, made)
		}
		check(t, p.EndChaining(0))
	}
}

// What is wrong with a chain is said when it is prepared: Code=15, and nothing is taken.
func TestRefusedChains(t *testing.T) {
	c, other := connect(t, "virtual"), connect(t, "virtual")
	m, wide := load(t, c, half(t, 16, 8)), load(t, c, half(t, 32, 8))
	unloaded := c.InMemoryModel(half(t, 16, 8))
	strange := load(t, other, half(t, 16, 8))
	for what, row := range map[string]struct {
		change func(*pipeline)
		want   string
	}{
		"another shape":  {func(p *pipeline) { p.request.Links = []aneclient.ChainLink{{Model: wide}} }, "is not laid out as"},
		"not loaded":     {func(p *pipeline) { p.request.Links = []aneclient.ChainLink{{Model: unloaded}} }, "the model is not loaded"},
		"another's":      {func(p *pipeline) { p.request.Links = []aneclient.ChainLink{{Model: strange}} }, "none of this client"},
		"no procedure":   {func(p *pipeline) { p.request.Procedures = []int{1} }, "invalid procedureId=1"},
		"no symbol":      {func(p *pipeline) { p.request.Inputs[0].SymbolIndex = 1 }, "input symbol 1"},
		"no such loop":   {func(p *pipeline) { p.request.LoopbackInputs, p.request.LoopbackOutputs = []int{0}, []int{1} }, "loop-back"},
		"small surfaces": {func(p *pipeline) { p.request.Inputs[0].Object = surface(t, c, 2).Object() }, "needs 256 bytes"},
	} {
		p := chainRequest(t, c, 1, m)
		row.change(p)
		check(t, p.request.Validate())
		for range 130 { // nothing is left mapped
			if err := p.PrepareChaining(p.request, qos); !errors.Is(err, aneclient.ErrChainingPrepare) || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	p := chainRequest(t, c, 1, m)
	if err := unloaded.PrepareChaining(p.request, qos); !errors.Is(err, aneclient.ErrChainingPrepare) || !strings.Contains(err.Error(), "Code=15 \"ANEProgramChainingPrepare() Failed") {
		t.Errorf("a model that is not loaded: %v", err)
	}
	no, err := aneclient.Connect(aneclient.ClientOptions{NoChaining: true, Private: true})
	check(t, err)
	defer no.Close()
	p = chainRequest(t, no, 1, load(t, no, half(t, 16, 8)))
	if err := p.PrepareChaining(p.request, qos); !errors.Is(err, aneclient.ErrChainingPrepare) || !strings.Contains(err.Error(), "allow-dataChaining-access") {
		t.Errorf("without the grant: %v", err)
	}

	// What is wrong with the request by itself.
	for what, change := range map[string]func(*aneclient.ChainingRequest){
		"no inputs":      func(r *aneclient.ChainingRequest) { r.Inputs = nil },
		"no sets":        func(r *aneclient.ChainingRequest) { r.OutputSets = nil },
		"no symbol":      func(r *aneclient.ChainingRequest) { r.Inputs[0].SymbolIndex = aneclient.NoSymbol },
		"agent":          func(r *aneclient.ChainingRequest) { r.Inputs[0].Source = 3 },
		"twice":          func(r *aneclient.ChainingRequest) { r.Inputs = append(r.Inputs, r.Inputs...) },
		"no statistics":  func(r *aneclient.ChainingRequest) { r.OutputSets[0].Stats = nil },
		"empty set":      func(r *aneclient.ChainingRequest) { r.OutputSets[0].Outputs = nil },
		"half a loop":    func(r *aneclient.ChainingRequest) { r.LoopbackInputs = []int{0} },
		"loop from none": func(r *aneclient.ChainingRequest) { r.LoopbackInputs, r.LoopbackOutputs = []int{0}, []int{-1} },
		"procedure":      func(r *aneclient.ChainingRequest) { r.Procedures = []int{-1} },
		"delay":          func(r *aneclient.ChainingRequest) { r.EnqueueDelay = -1 },
		"event":          func(r *aneclient.ChainingRequest) { r.SignalEvents = []*aneclient.SharedSignalEvent{{}} },
	} {
		p := chainRequest(t, c, 1, m)
		change(p.request)
		if err := p.request.Validate(); !errors.Is(err, aneclient.ErrBadArgument) {
			t.Errorf("%s: %v", what, err)
		}
		if err := p.PrepareChaining(p.request, qos); !errors.Is(err, aneclient.ErrBadArgument) {
			t.Errorf("%s, prepared: %v", what, err)
		}
	}
}
