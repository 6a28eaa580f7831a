package aneclient_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/aneclient"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/driver"
)

// The second prototype: a look at a dozen classes, and again the chain.

func TestV2Phase1(t *testing.T) {
	defer beside(t)
	TestTable(t)
}

func TestV2Phase2(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		m := load(t, c, half(t, 64, 32))
		in, err := m.InputSymbolNames(0)
		check(t, err)
		out, err := m.OutputSymbolNames(0)
		check(t, err)
		if fmt.Sprint(in, out) != "[x] [y]" || m.ProgramHandle() == 0 {
			t.Errorf("%v, %v, handle %d", in, out, m.ProgramHandle())
		}
		if i, err := m.InputSymbolIndices(0); err != nil || !slices.Equal(i, []int{0}) {
			t.Errorf("%v, %v", i, err)
		}
	})
}

func TestV2Phase3a(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		k := bench(t, c, load(t, c, half(t, 64, 32)), 0)
		check(t, k.Mapper().Validate(k.request))
		check(t, k.Mapper().Map(k.request, false))
		wants(t, "y", k.run(t, filled(64*32, 1)), 0.5)
		check(t, k.Mapper().Unmap(k.request))
	})
}

func TestV2Phase3b(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	s := surface(t, c, 64)
	for _, row := range [][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}} {
		b := buffer(t, s.Object(), row[0], aneclient.Agent(row[1]))
		want := fmt.Sprintf("Buffer: { ioSurface=%#x ; symbolIndex=%d ; ANEBufferProducerAgent=%d }", s.ID(), row[0], row[1])
		if b.String() != want || b.SymbolIndex != row[0] {
			t.Errorf("%v, want %s", b, want)
		}
	}
	for _, err := range []error{
		second(aneclient.NewBuffer(s.Object(), 0, 3)), second(aneclient.NewBuffer(s.Object(), 0, -1)), second(aneclient.NewBuffer(nil, 0, 0)), second(aneclient.NewBuffer(s.Object(), -2, 0)),
	} {
		if !errors.Is(err, aneclient.ErrBadArgument) {
			t.Errorf("got %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestV2Phase3c(t *testing.T) {
	defer beside(t)
	if _, ok := reflect.TypeFor[aneclient.IOSurfaceObject]().FieldByName("SymbolIndex"); ok {
		t.Error("a surface object has a symbol index")
	}
	if _, ok := reflect.TypeFor[aneclient.Buffer]().FieldByName("SymbolIndex"); !ok {
		t.Error("a buffer has none")
	}
}

func TestV2Phase3d(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	m := loadText(t, c, function("tensor<fp16, [1, 8, 1, 16]> a, tensor<fp16, [1, 8, 1, 16]> b", `tensor<fp16, [1, 8, 1, 16]> y = add(x = a, y = b)[name = string("y")];`, "y"))
	k := bench(t, c, m, 0)
	k.put(t, 0, filled(8*16, 3))
	same := aneclient.NewRequest([]*aneclient.IOSurfaceObject{k.x[0], k.x[0]}, []int{0, 1}, k.y, []int{0}, nil, nil, 0)
	check(t, m.Evaluate(ctx, qos, same))
	wants(t, "a surface as both inputs", k.get(t, 0), 6)
	if n := reflect.TypeFor[*aneclient.IOSurface]().NumMethod(); n != 4 { // Bytes, ID, Object, Release
		t.Errorf("a surface has %d methods", n)
	}
}

func TestV2Phase3e(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	m := c.InMemoryModel(half(t, 64, 32))
	if m.Program() != nil {
		t.Error("a program before it is loaded")
	}
	check(t, m.Load(ctx, qos, aneclient.Options{}))
	if m.Program() == nil || m.Program().Handle() != m.ProgramHandle() {
		t.Errorf("%v", m.Program())
	}
}

func TestV2Phase4(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		a, b := load(t, c, half(t, 64, 32)), load(t, c, half(t, 64, 32))
		wants(t, "4a: one after the other", apart(t, c, filled(64*32, 1), a, b), 0.25)
		p := chainRequest(t, c, 1, a, b).prepare(t)
		p.put(t, 0, filled(64*32, 1))
		wants(t, "attempts 1 to 5: the chain", p.execute(t, 0), 0.25)
		k := bench(t, c, a, 0)
		wants(t, "attempt 6: by the client", k.run(t, filled(64*32, 1)), 0.5)
		clear(k.y[0].Surface.Bytes())
		check(t, k.EvaluateDirect(qos, k.request))
		wants(t, "attempt 7: direct", k.get(t, 0), 0.5)
	})
}

func TestV2Phase5a(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	k := bench(t, c, load(t, c, half(t, 64, 32)), 0)
	k.put(t, 0, filled(64*32, 1))
	if !c.BeginRealTimeTask() {
		t.Error("no task begins")
	}
	check(t, k.EvaluateRealTime(ctx, k.request))
	wants(t, "real time", k.get(t, 0), 0.5)
	if !c.EndRealTimeTask() || c.EndRealTimeTask() {
		t.Error("tasks do not end as they begin")
	}
	for want, q := range map[int]int{2: aneclient.QoSRealTime, 5: aneclient.QoSDefault} {
		if p, err := aneclient.PriorityForQoS(q); err != nil || p != want || aneclient.QoSForPriority(p) != q {
			t.Errorf("quality of service %d has priority %d, %v", q, p, err)
		}
	}

	// In a task, all evaluations have the priority: the device's last command says so.
	public, err := aneclient.Connect(aneclient.ClientOptions{})
	check(t, err)
	defer public.Close()
	target, err := hal.Lookup("virtual")
	check(t, err)
	k = bench(t, public, load(t, public, half(t, 64, 32)), 0)
	for _, want := range []uint32{5, 2, 5} {
		if want == 2 {
			public.BeginRealTimeTask()
		}
		check(t, k.Evaluate(ctx, qos, k.request))
		public.EndRealTimeTask()
		if m := driver.Open(target).Recent()[0]; m.Priority != want {
			t.Errorf("%v has priority %d, want %d", m.Command, m.Priority, want)
		}
	}
	plain, err := aneclient.Connect(aneclient.ClientOptions{NoRealTime: true, Private: true})
	check(t, err)
	defer plain.Close()
	k = bench(t, plain, load(t, plain, half(t, 64, 32)), 0)
	if plain.BeginRealTimeTask() {
		t.Error("a task without the grant")
	}
	if err := k.EvaluateRealTime(ctx, k.request); !errors.Is(err, aneclient.ErrInference) {
		t.Errorf("without the grant: %v", err)
	}
	wants(t, "without the grant", k.run(t, filled(64*32, 1)), 0.5)
}

func TestV2Phase5b(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		k := bench(t, c, load(t, c, half(t, 64, 32)), 0)
		want := map[aneclient.Counter]uint64{
			aneclient.CountTasks: 1, aneclient.CountInput: 64 * 64, aneclient.CountOutput: 64 * 64, aneclient.CountIntermediate: 0, aneclient.CountStates: 0, aneclient.CountSequence: 42,
		}
		k.request.TransactionHandle = 42
		for bit := uint32(1); bit <= 0x80; bit <<= 1 {
			check(t, k.SetStatsMask(bit))
			check(t, k.Evaluate(ctx, qos, k.request))
			s := k.request.Stats()
			if got := slices.Collect(maps.Keys(s.Counters)); len(got) != 1 || got[0] != aneclient.Counter(bit) {
				t.Errorf("mask %#x: %v", bit, got)
			}
			if v, ok := want[aneclient.Counter(bit)]; ok && s.Counters[aneclient.Counter(bit)] != v {
				t.Errorf("counter %#x is %d, want %d", bit, s.Counters[aneclient.Counter(bit)], v)
			}
			if (s.HWExecutionTime > 0) != (bit == 1) {
				t.Errorf("mask %#x: time %v", bit, s.HWExecutionTime)
			}
		}
		check(t, k.SetStatsMask(0xff))
		check(t, k.EvaluateDirect(qos, k.request))
		if s := k.request.Stats(); len(s.Counters) != len(aneclient.Counters()) || s.Counters[aneclient.CountConstants] < 2*64*64 {
			t.Errorf("%+v", s)
		}
		check(t, k.SetStatsMask(0))
		check(t, k.Evaluate(ctx, qos, k.request))
		if k.request.Stats() != nil {
			t.Error("counters, and no mask")
		}
		if err := k.SetStatsMask(0x100); !errors.Is(err, aneclient.ErrBadArgument) {
			t.Errorf("a ninth bit: %v", err)
		}

		// perfStats: surfaces of 64 bytes, and larger.
		for _, size := range []int{64, 72, 4096} {
			s := surface(t, c, size)
			stats, err := aneclient.NewStatsBuffer(1, s)
			check(t, err)
			k.request.PerfStats = []*aneclient.StatsBuffer{stats}
			check(t, k.Evaluate(ctx, qos, k.request))
			b, le := s.Bytes(), binary.LittleEndian
			if le.Uint16(b) != 0x0101 || le.Uint64(b[4:]) == 0 || le.Uint64(b[0x1c:]) != 42 {
				t.Errorf("%d bytes: % x", size, b[:64])
			}
			if rest := le.Uint32(b[0x24:]); (rest == 32) != (size >= 72) || size >= 72 && le.Uint32(b[0x38:]) != 1 {
				t.Errorf("%d bytes, of which %d follow: % x", size, rest, b[:64])
			}
		}
	})
}

func TestV2Phase7(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	m := load(t, c, half(t, 64, 32))
	p := chainRequest(t, c, 1, m)
	outputs := p.request.OutputSets[0].Outputs
	for _, s := range []*aneclient.IOSurface{nil, surface(t, c, 63)} {
		if set, err := aneclient.NewOutputSets(s, outputs); set != nil || !errors.Is(err, aneclient.ErrBadArgument) {
			t.Errorf("%v, %v", set, err)
		}
	}
	p.prepare(t)
	p.put(t, 0, filled(64*32, 1))
	wants(t, "y", p.execute(t, 0), 0.5)
	if b := p.stats[0].Bytes(); len(b) != 64 || b[0] != 1 || b[1] != 1 || bytes.Equal(b[4:12], make([]byte, 8)) {
		t.Errorf("the surface for statistics: % x", b)
	}
}

func TestV2Phase8(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	m := saved(t, c, half(t, 64, 32))
	if _, err := c.ModelAtURL(m.LocalModelPath(), ""); !errors.Is(err, aneclient.ErrInvalidModel) {
		t.Errorf("without a key: %v", err)
	}
	disk, err := c.ModelAtURL(m.LocalModelPath(), m.HexStringIdentifier())
	check(t, err)
	check(t, disk.Load(ctx, qos, aneclient.Options{}))
	wants(t, "y", bench(t, c, disk, 0).run(t, filled(64*32, 1)), 0.5)
}

func TestV2Phase9(t *testing.T) {
	defer beside(t)
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		k := bench(t, c, load(t, c, half(t, 64, 32)), 0)
		p := k.Program()
		if p.QueueDepth() != 127 || !strings.HasSuffix(p.String(), "intermediateBufferHandle=0 ; queueDepth=127 }") {
			t.Error(p)
		}
		for queue := range 3 {
			k.put(t, 0, filled(64*32, float32(queue)))
			value, err := p.ProcessRequest(ctx, k.request, qos, queue, k.HexStringIdentifier())
			check(t, err)
			if value != 0 {
				t.Errorf("the returned value is %#x", value)
			}
			wants(t, "y", k.get(t, 0), float32(queue)/2)
		}
		for _, queue := range []int{-1, 127} {
			if value, err := p.ProcessRequest(ctx, k.request, qos, queue, "the model"); err == nil || value == 0 || !strings.HasPrefix(err.Error(), "the model: ") {
				t.Errorf("queue %d: %#x, %v", queue, value, err)
			}
		}
	})
}

func TestV2Phase10(t *testing.T) {
	defer beside(t)
	c := connect(t, "virtual")
	if _, err := aneclient.NewSignalEvent(1, 0, 0, nil); !errors.Is(err, aneclient.ErrBadArgument) {
		t.Errorf("a signal event of nothing: %v", err)
	}
	if _, err := aneclient.NewWaitEvent(1, nil); !errors.Is(err, aneclient.ErrBadArgument) {
		t.Errorf("a wait event of nothing: %v", err)
	}
	e, err := c.NewSharedEvent()
	check(t, err)
	signal, err := aneclient.NewSignalEvent(3, 1, 2, e)
	check(t, err)
	wait, err := aneclient.NewWaitEvent(3, e)
	check(t, err)
	if signal.Value != 3 || signal.SymbolIndex != 1 || signal.Type != 2 || signal.AgentMask != 0 || wait.Value != 3 || wait.Event != e {
		t.Errorf("%+v %+v", signal, wait)
	}
}
