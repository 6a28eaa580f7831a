package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/driver"
)

// program is a loaded program.
func program(t testing.TB, c *driver.Client, container []byte) *driver.Program {
	t.Helper()
	p, err := c.CreateProgram(container, driver.ProgramOptions{})
	check(t, err)
	_, err = p.Prepare(context.Background())
	check(t, err)
	return p
}

// mapped is a surface of n halves that the engine sees.
func mapped(t testing.TB, c *driver.Client, n int) *driver.Surface {
	t.Helper()
	s, err := c.NewSurface(2 * n)
	check(t, err)
	_, err = c.Map(driver.AnySlot, s)
	check(t, err)
	return s
}

func buffers(s ...*driver.Surface) (list []driver.Buffer) {
	for i, s := range s {
		list = append(list, driver.Buffer{Surface: s, Symbol: i})
	}
	return list
}

// pair is a chain of two programs, 2·x and x+1, with so many output sets, looped back or not.
func pair(t testing.TB, c *driver.Client, sets int, loop bool) (h *driver.Chain, x *driver.Surface, outputs []*driver.Surface) {
	t.Helper()
	x, between := mapped(t, c, 8), mapped(t, c, 8)
	a := driver.ChainArgs{Priority: driver.ByQoS, QoS: driver.Default, Links: []driver.Link{
		{Program: program(t, c, linear(t, 8, 2, 0)), Inputs: buffers(x), Outputs: buffers(between)},
		{Program: program(t, c, linear(t, 8, 1, 1)), Inputs: buffers(between)},
	}}
	for range sets {
		y := mapped(t, c, 8)
		outputs = append(outputs, y)
		a.OutputSets = append(a.OutputSets, buffers(y))
	}
	if loop {
		a.LoopInputs, a.LoopOutputs = []int{0}, []int{0}
	}
	h, err := c.PrepareChain(a)
	check(t, err)
	return h, x, outputs
}

// Two programs with loop-back: x becomes 2x+1 with each execution, and the host does nothing between.
func TestLoopBack(t *testing.T) {
	for sets := 1; sets <= 3; sets++ {
		t.Run(fmt.Sprint(sets), func(t *testing.T) {
			d := single(t)
			c := d.NewClient(driver.AllowAll)
			h, x, outputs := pair(t, c, sets, true)
			put(x, 1)
			want := float32(1)
			rang := d.Doorbell()
			for i := range 6 {
				check(t, h.EnqueueOutputSet(driver.OutputSet{Set: i % sets}))
				check(t, h.Execute(patience(t), driver.InputsReady{Buffers: []int{0}}))
				want = 2*want + 1
				wants(t, outputs[i%sets], 0, want)
			}
			wants(t, x, 0, 1)
			if n := d.Doorbell() - rang; n != 12 {
				t.Errorf("the doorbell rang %d times; want two for each execution of two programs", n)
			}
		})
	}
}

// Executions that are triggered before their output sets are there wait for them, and run in order, back to back; an open loop enqueues its set
// itself.
func TestOpenLoop(t *testing.T) {
	c := single(t).NewClient(driver.AllowAll)
	h, x, outputs := pair(t, c, 1, true)
	put(x, 1)
	replies := make(chan driver.Reply, 5)
	for i := range 5 {
		check(t, h.InputsReady(patience(t), driver.InputsReady{Sequence: uint64(i)}, func(r driver.Reply) { replies <- r }))
	}
	select {
	case r := <-replies:
		t.Fatalf("without an output set: %+v", r)
	default:
	}
	check(t, h.EnqueueOutputSet(driver.OutputSet{OpenLoop: true}))
	for i := range 5 {
		if r := <-replies; r.Err != nil || r.Sequence != uint64(i) || r.Token != h.Token() {
			t.Errorf("reply %d: %+v", i, r)
		}
	}
	wants(t, outputs[0], 0, 63)
	if err := h.EnqueueOutputSet(driver.OutputSet{}); !errors.Is(err, driver.Busy) {
		t.Errorf("a set that enqueues itself: %v", err)
	}
}

// The commands of a chain are those of the firmware, and the engine runs all links of an execution as one job.
func TestChainCommands(t *testing.T) {
	d := single(t)
	c := d.NewClient(driver.AllowAll)
	before := len(d.Recent())
	h, _, _ := pair(t, c, 1, false)
	done := d.Counts().Done
	check(t, h.EnqueueOutputSet(driver.OutputSet{}))
	check(t, h.Execute(patience(t), driver.InputsReady{}))
	if n := d.Counts().Done - done; n != 1 {
		t.Errorf("%d jobs", n)
	}
	check(t, h.Invalidate())
	check(t, d.ForceDisableChains())
	var wires []uint16
	for _, m := range d.Recent() {
		wires = append(wires, m.Command.Wire)
	}
	slices.Reverse(wires)
	want := []uint16{0x200, 0x202, 0x200, 0x202, 0x208, 0x20a, 0x209, 0x20b, 0x210}
	if got := wires[before:]; !slices.Equal(got, want) {
		t.Errorf("got %#x, want %#x", got, want)
	}
	if _, err := c.PrepareChain(driver.ChainArgs{}); !errors.Is(err, driver.Unsupported) {
		t.Errorf("a chain when they are disabled: %v", err)
	}
}

// Events say that an output is there and that an input may be written again.
func TestChainEvents(t *testing.T) {
	ctx := patience(t)
	c := single(t).NewClient(driver.AllowAll)
	x, y := mapped(t, c, 8), mapped(t, c, 8)
	full, free := driver.NewEvent(), driver.NewEvent()
	h, err := c.PrepareChain(driver.ChainArgs{
		Priority: driver.ByQoS, QoS: driver.Default, EnqueueDelay: time.Millisecond,
		Links:      []driver.Link{{Program: program(t, c, linear(t, 8, 2, 0)), Inputs: buffers(x)}},
		OutputSets: [][]driver.Buffer{buffers(y)},
		Events:     []driver.ChainEvent{{Event: full, Output: true}, {Event: free, Type: 2}},
	})
	check(t, err)
	for i := range uint64(3) {
		put(x, float32(i))
		check(t, h.EnqueueOutputSet(driver.OutputSet{SignalValue: i + 1}))
		check(t, h.InputsReady(ctx, driver.InputsReady{Buffers: []int{0}, FreeValues: []uint64{10 * (i + 1)}, ExecutionDelay: 100 * time.Microsecond}, nil))
		check(t, full.Wait(ctx, i+1))
		wants(t, y, 0, 2*float32(i))
		check(t, free.Wait(ctx, 10*(i+1)))
	}
	check(t, h.EnqueueOutputSet(driver.OutputSet{SignalValue: 9, SignalNotRequired: true}))
	check(t, h.Execute(ctx, driver.InputsReady{}))
	if full.Value() != 3 {
		t.Errorf("the event has the value %d though no signal was required", full.Value())
	}
}

// An execution writes statistics to the surface of its output set.
func TestChainStats(t *testing.T) {
	c := single(t).NewClient(driver.AllowAll)
	x, stats := mapped(t, c, 8), mapped(t, c, 36)
	a := driver.ChainArgs{
		Priority: driver.ByQoS, QoS: driver.Default, Links: []driver.Link{{Program: program(t, c, linear(t, 8, 2, 0)), Inputs: buffers(x)}},
		OutputSets: [][]driver.Buffer{buffers(mapped(t, c, 8)), buffers(mapped(t, c, 8))}, Stats: []*driver.Surface{nil, stats},
	}
	h, err := c.PrepareChain(a)
	check(t, err)
	for set := range 2 {
		check(t, h.EnqueueOutputSet(driver.OutputSet{Set: set}))
		check(t, h.Execute(patience(t), driver.InputsReady{Sequence: 7}))
		written := !bytes.Equal(stats.Bytes(), make([]byte, 72))
		if written != (set == 1) {
			t.Errorf("set %d: % x", set, stats.Bytes())
		}
	}
	if b := stats.Bytes(); le.Uint16(b) != 0x0101 || le.Uint64(b[4:]) == 0 || le.Uint64(b[0x1c:]) != 7 || le.Uint32(b[0x38:]) != 1 {
		t.Errorf("% x", b)
	}
	a.Procedure, a.Stats = 1, a.Stats[:1]
	if _, err := c.PrepareChain(a); !errors.Is(err, driver.BadArgument) {
		t.Errorf("a surface too few: %v", err)
	}
}

// A program has several chains, of which one is active.
func TestSetActive(t *testing.T) {
	ctx := patience(t)
	c := single(t).NewClient(driver.AllowAll)
	p := program(t, c, linear(t, 8, 2, 0))
	var chains []*driver.Chain
	for i := range 2 {
		h, err := c.PrepareChain(driver.ChainArgs{
			Procedure: i, Priority: driver.ByQoS, QoS: driver.Default,
			Links: []driver.Link{{Program: p, Inputs: buffers(mapped(t, c, 8))}}, OutputSets: [][]driver.Buffer{buffers(mapped(t, c, 8))},
		})
		check(t, err)
		check(t, h.EnqueueOutputSet(driver.OutputSet{OpenLoop: true}))
		chains = append(chains, h)
	}
	for _, active := range []int{0, 1, 0} {
		check(t, p.SetActive(active))
		check(t, chains[active].Execute(ctx, driver.InputsReady{}))
		if err := chains[1-active].Execute(ctx, driver.InputsReady{}); !errors.Is(err, driver.NotReady) {
			t.Errorf("the chain that is not active: %v", err)
		}
	}
	if err := p.SetActive(2); !errors.Is(err, driver.NotFound) {
		t.Errorf("a chain that is not there: %v", err)
	}
	if err := p.Unprepare(); !errors.Is(err, driver.Busy) {
		t.Errorf("unloading what is chained: %v", err)
	}
	for _, h := range chains {
		check(t, h.Invalidate())
		if err := h.Execute(ctx, driver.InputsReady{}); !errors.Is(err, driver.NotReady) {
			t.Errorf("an invalid chain: %v", err)
		}
		if err := h.Invalidate(); !errors.Is(err, driver.NotFound) {
			t.Errorf("twice: %v", err)
		}
	}
	check(t, p.Destroy())
}

// What is wrong with a chain is said when it is prepared or triggered, and changes nothing.
func TestRefusedChains(t *testing.T) {
	ctx := patience(t)
	d := single(t)
	c, stranger := d.NewClient(driver.AllowAll), d.NewClient(driver.AllowAll)
	p := program(t, c, linear(t, 8, 2, 0))
	unloaded, err := c.CreateProgram(linear(t, 8, 2, 0), driver.ProgramOptions{})
	check(t, err)
	x, y, small := mapped(t, c, 8), mapped(t, c, 8), mapped(t, c, 4)
	loose, err := c.NewSurface(16)
	check(t, err)
	good := func() driver.ChainArgs {
		return driver.ChainArgs{
			Priority: driver.ByQoS, QoS: driver.Default, Links: []driver.Link{{Program: p, Inputs: buffers(x)}}, OutputSets: [][]driver.Buffer{buffers(y)},
		}
	}
	for what, row := range map[string]struct {
		change func(*driver.ChainArgs)
		want   driver.Code
	}{
		"no links":            {func(a *driver.ChainArgs) { a.Links = nil }, driver.BadArgument},
		"no program":          {func(a *driver.ChainArgs) { a.Links[0].Program = nil }, driver.NotFound},
		"not loaded":          {func(a *driver.ChainArgs) { a.Links[0].Program = unloaded }, driver.NotReady},
		"no procedure":        {func(a *driver.ChainArgs) { a.Links[0].Procedure = 1 }, driver.BadArgument},
		"no inputs":           {func(a *driver.ChainArgs) { a.Links[0].Inputs = nil }, driver.BadArgument},
		"no sets":             {func(a *driver.ChainArgs) { a.OutputSets = nil }, driver.BadArgument},
		"too small":           {func(a *driver.ChainArgs) { a.Links[0].Inputs = buffers(small) }, driver.BadArgument},
		"not mapped":          {func(a *driver.ChainArgs) { a.Links[0].Inputs = buffers(loose) }, driver.NotReady},
		"another's":           {func(a *driver.ChainArgs) { a.Links[0].Inputs = buffers(mapped(t, stranger, 8)) }, driver.NotFound},
		"no symbol":           {func(a *driver.ChainArgs) { a.Links[0].Inputs[0].Symbol = 1 }, driver.BadArgument},
		"a loop from nowhere": {func(a *driver.ChainArgs) { a.LoopInputs = []int{0} }, driver.BadArgument},
		"a loop to nowhere":   {func(a *driver.ChainArgs) { a.LoopInputs, a.LoopOutputs = []int{1}, []int{0} }, driver.BadArgument},
		"no event":            {func(a *driver.ChainArgs) { a.Events = []driver.ChainEvent{{}} }, driver.BadArgument},
		"quality":             {func(a *driver.ChainArgs) { a.QoS = 64 }, driver.BadArgument},
	} {
		a := good()
		row.change(&a)
		if _, err := c.PrepareChain(a); !errors.Is(err, row.want) {
			t.Errorf("%s: got %v, want %v", what, err, row.want)
		}
	}
	if _, err := d.NewClient(0).PrepareChain(good()); !errors.Is(err, driver.Unsupported) {
		t.Errorf("without the grant: %v", err)
	}
	h, err := c.PrepareChain(good())
	check(t, err)
	for what, in := range map[string]driver.InputsReady{
		"symbol": {Buffers: []int{1}}, "many": {Buffers: make([]int, 17)}, "free values": {Buffers: []int{0}, FreeValues: []uint64{1, 2}},
	} {
		if err := h.Execute(ctx, in); !errors.Is(err, driver.BadArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := h.EnqueueOutputSet(driver.OutputSet{Set: 1}); !errors.Is(err, driver.BadArgument) {
		t.Errorf("a set that is not there: %v", err)
	}
	check(t, h.EnqueueOutputSet(driver.OutputSet{OpenLoop: true}))
	check(t, h.Execute(ctx, driver.InputsReady{Timestamp: 5}))
	if err := h.Execute(ctx, driver.InputsReady{Timestamp: 5}); !errors.Is(err, driver.BadArgument) {
		t.Errorf("the same timestamp: %v", err)
	}
	put(x, 4)
	check(t, h.Execute(ctx, driver.InputsReady{}))
	wants(t, y, 0, 8)

	// H13 has one output set.
	row := *target(t, "virtual")
	row.Driver.OutputSets = target(t, "h13").Driver.OutputSets
	c = driver.New(&row).NewClient(driver.AllowAll)
	_, err = c.PrepareChain(driver.ChainArgs{
		Priority: driver.ByQoS, QoS: driver.Default, Links: []driver.Link{{Program: program(t, c, linear(t, 8, 2, 0)), Inputs: buffers(mapped(t, c, 8))}},
		OutputSets: [][]driver.Buffer{buffers(mapped(t, c, 8)), buffers(mapped(t, c, 8))},
	})
	if !errors.Is(err, driver.BadArgument) {
		t.Errorf("two output sets on H13: %v", err)
	}
}

// Closing a client ends chains that wait and that run.
func TestCloseChains(t *testing.T) {
	d := single(t)
	c := d.NewClient(driver.AllowAll)
	x, y := mapped(t, c, 8), mapped(t, c, 8)
	h, err := c.PrepareChain(driver.ChainArgs{
		Priority: driver.ByQoS, QoS: driver.Default, Links: []driver.Link{{Program: program(t, c, long(t, 100)), Inputs: buffers(x)}}, OutputSets: [][]driver.Buffer{buffers(y)},
	})
	check(t, err)
	replies := make(chan error, 3)
	for range 3 {
		check(t, h.InputsReady(patience(t), driver.InputsReady{}, func(r driver.Reply) { replies <- r.Err }))
	}
	check(t, h.EnqueueOutputSet(driver.OutputSet{}))
	underWay(t, d)
	check(t, c.Close())
	for range 3 {
		if err := <-replies; !errors.Is(err, driver.Aborted) {
			t.Errorf("got %v", err)
		}
	}
	if !bytes.Equal(x.Bytes(), make([]byte, 16)) {
		t.Error("the input has changed")
	}
}
