package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/driver"
)

// A diary notes in which order requests end on the engine.
type diary struct {
	mu      sync.Mutex
	names   []string
	serials []uint64
	took    map[string]time.Duration
	left    sync.WaitGroup
}

func newDiary() *diary { return &diary{took: map[string]time.Duration{}} }

// submit submits a request whose end is noted.
func (d *diary) submit(t testing.TB, ctx context.Context, name string, b *bench, r *driver.Request) *driver.Submission {
	t.Helper()
	d.left.Add(1)
	s, err := b.Submit(ctx, r, func(reply driver.Reply) {
		defer d.left.Done()
		d.mu.Lock()
		defer d.mu.Unlock()
		if reply.Err != nil {
			name += ": " + fmt.Sprint(driver.CodeOf(reply.Err) == driver.Aborted)
		}
		at, _ := slices.BinarySearch(d.serials, reply.Serial)
		d.serials = slices.Insert(d.serials, at, reply.Serial)
		d.names = slices.Insert(d.names, at, name)
		d.took[name] = reply.Ran
	})
	check(t, err)
	return s
}

func (d *diary) holds(t testing.TB, want ...string) {
	t.Helper()
	d.left.Wait()
	if !slices.Equal(d.names, want) {
		t.Errorf("requests ended in the order %q, want %q", d.names, want)
	}
}

// underWay waits until a request of the device runs.
func underWay(t testing.TB, d *driver.Device) {
	t.Helper()
	for ctx := patience(t); d.Status().Running == 0; time.Sleep(100 * time.Microsecond) {
		if ctx.Err() != nil {
			t.Fatal("nothing runs")
		}
	}
}

// A request of high priority overtakes a long one of low priority, which goes on from where it was and has the bits that it would have had.
func TestOvertaking(t *testing.T) {
	ctx := patience(t)
	d := single(t)
	slow := load(t, d.NewClient(driver.AllowAll), long(t, 30), 8)
	quick := load(t, d.NewClient(driver.AllowAll), linear(t, 8, 2, 0), 8)
	put(slow.x, 1, 2, 3)
	put(quick.x, 4)
	log := newDiary()
	log.submit(t, ctx, "background", slow, slow.request(driver.Background))
	underWay(t, d)
	began := time.Now()
	check(t, quick.Run(ctx, quick.request(driver.RealTime)))
	overtook := time.Since(began)
	log.mu.Lock()
	if len(log.names) != 0 {
		t.Error("the request of low priority was done first")
	}
	log.mu.Unlock()
	log.holds(t, "background")
	wants(t, quick.y, 0, 8)
	wants(t, slow.y, 2, 3)
	whole := log.took["background"]
	t.Logf("real time: %v; background: %v in all, %v a task", overtook, whole, whole/30)
	if n := d.Counts().Preempted; n == 0 {
		t.Error("nothing was preempted")
	}
}

// Queued requests go by priority; among equals, clients take turns, and each one's requests keep their order.
func TestOrder(t *testing.T) {
	ctx := patience(t)
	d := single(t)
	blocker := load(t, d.NewClient(driver.AllowAll), long(t, 100), 8)
	a, b := d.NewClient(driver.AllowAll), d.NewClient(driver.AllowAll)
	r := blocker.request(0)
	r.Priority = 0
	stop := newDiary().submit(t, ctx, "blocker", blocker, r)
	underWay(t, d)
	log := newDiary()
	for _, row := range []struct {
		name string
		of   *driver.Client
		qos  int
	}{
		{"a1", a, driver.Default}, {"a2", a, driver.Default}, {"a3", a, driver.Default}, {"b1", b, driver.Default}, {"b2", b, driver.Default},
		{"a background", a, driver.Background}, {"b interactive", b, driver.UserInteractive}, {"a real time", a, driver.RealTime}, {"b utility", b, driver.Utility},
		{"a nameless", a, 40},
	} {
		p := load(t, row.of, linear(t, 8, 2, 1), 8)
		log.submit(t, ctx, row.name, p, p.request(row.qos))
	}
	if !stop.Abort() {
		t.Fatal("the blocker was done before")
	}
	log.holds(t, "a real time", "b interactive", "a1", "b1", "a2", "b2", "a3", "a nameless", "b utility", "a background")
}

// A client with long requests does not keep another one of the same priority waiting until they are done: both have slices of time.
func TestSlices(t *testing.T) {
	ctx := patience(t)
	d := single(t)
	greedy := load(t, d.NewClient(driver.AllowAll), long(t, 100), 8)
	modest := load(t, d.NewClient(driver.AllowAll), linear(t, 8, 2, 1), 8)
	log := newDiary()
	stop := log.submit(t, ctx, "greedy", greedy, greedy.request(driver.Default))
	underWay(t, d)
	check(t, modest.Run(ctx, modest.request(driver.Default)))
	if !stop.Abort() {
		t.Error("the long request was done first")
	}
	log.holds(t, "greedy: true")
}

// An urgent request behind another of its process lends it its priority.
func TestInheritance(t *testing.T) {
	ctx := patience(t)
	d := single(t)
	blocker := load(t, d.NewClient(driver.AllowAll), long(t, 100), 8)
	p := load(t, d.NewClient(driver.AllowAll), linear(t, 8, 2, 1), 8)
	other := load(t, d.NewClient(driver.AllowAll), linear(t, 8, 2, 1), 8)
	r := blocker.request(0)
	r.Priority = 0
	stop := newDiary().submit(t, ctx, "blocker", blocker, r)
	underWay(t, d)
	log := newDiary()
	log.submit(t, ctx, "first", p, p.request(driver.Background))
	log.submit(t, ctx, "other", other, other.request(driver.Default))
	log.submit(t, ctx, "urgent", p, p.request(driver.RealTime))
	stop.Abort()
	log.holds(t, "first", "urgent", "other")
}

// An abort ends a request that runs, and one that waits; buffers and later requests are unharmed.
func TestAbort(t *testing.T) {
	ctx := patience(t)
	d := single(t)
	c := d.NewClient(driver.AllowAll)
	b := load(t, c, long(t, 100), 8)
	small := load(t, c, linear(t, 8, 2, 1), 8)
	put(b.x, 1, 2, 3)
	before := bytes.Clone(b.x.Bytes())
	for range 3 {
		log := newDiary()
		running := log.submit(t, ctx, "running", b, b.request(driver.Default))
		underWay(t, d)
		waiting := log.submit(t, ctx, "waiting", b, b.request(driver.Default))
		behind := log.submit(t, ctx, "behind", small, small.request(driver.Background))
		if !waiting.Abort() || !running.Abort() {
			t.Error("nothing to abort")
		}
		log.left.Wait()
		log.holds(t, "waiting: true", "running: true", "behind")
		if behind.Abort() {
			t.Error("a request that is done was aborted")
		}
	}
	if !bytes.Equal(b.x.Bytes(), before) {
		t.Error("the input has changed")
	}
	// The same memory of the engine serves the next request from its beginning.
	quick := load(t, c, long(t, 2), 8)
	put(quick.x, 9)
	log := newDiary()
	log.submit(t, ctx, "aborted", quick, quick.request(driver.Default)).Abort()
	log.left.Wait()
	check(t, quick.Run(ctx, quick.request(driver.Default)))
	wants(t, quick.y, 0, 9)
}

// A caller that goes away takes its request with it.
func TestCancel(t *testing.T) {
	d := single(t)
	b := load(t, d.NewClient(driver.AllowAll), long(t, 100), 8)
	log := newDiary()
	stop := log.submit(t, patience(t), "running", b, b.request(driver.Default))
	underWay(t, d)
	ctx, cancel := context.WithCancel(patience(t))
	time.AfterFunc(time.Millisecond, cancel)
	small := load(t, d.NewClient(driver.AllowAll), linear(t, 8, 2, 1), 8)
	r := small.request(driver.Background)
	if err := small.Run(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	stop.Abort()
	log.left.Wait()
	check(t, small.Run(patience(t), r))
	if s := d.Status(); s.Queued != 0 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
}

// A deadline stops a program that runs away, whoever waits for it.
func TestDeadline(t *testing.T) {
	ctx := patience(t)
	d := single(t)
	b := load(t, d.NewClient(driver.AllowAll), long(t, 100), 8)
	r := b.request(driver.Default)
	r.Deadline = time.Now().Add(time.Millisecond)
	if err := b.Run(ctx, r); !errors.Is(err, driver.Timeout) {
		t.Errorf("got %v", err)
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if err := b.Run(short, b.request(driver.Default)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context's: got %v", err)
	}
	e := driver.NewEvent()
	r.Waits, r.Deadline = []driver.Wait{{Event: e, Value: 1}}, time.Now().Add(time.Millisecond)
	if err := b.Run(ctx, r); !errors.Is(err, driver.Timeout) {
		t.Errorf("while it waits for an event: got %v", err)
	}
	// Of requests that nobody waits for: in the queue, and before an event.
	small := load(t, d.NewClient(driver.AllowAll), linear(t, 8, 2, 1), 8)
	running, err := b.Submit(ctx, b.request(driver.RealTime), nil)
	check(t, err)
	underWay(t, d)
	for _, waits := range [][]driver.Wait{nil, {{Event: e, Value: 1}}} {
		replies := make(chan driver.Reply, 1)
		r := small.request(driver.Background)
		r.Waits, r.Deadline = waits, time.Now().Add(time.Millisecond)
		_, err := small.Submit(ctx, r, func(r driver.Reply) { replies <- r })
		check(t, err)
		if got := <-replies; !errors.Is(got.Err, driver.Timeout) {
			t.Errorf("%d waits: got %v", len(waits), got.Err)
		}
	}
	if !running.Abort() {
		t.Error("the long request was done first")
	}
}

// Who claims the engine has it alone: who ran is stopped and goes on later, who comes waits.
func TestSecure(t *testing.T) {
	ctx := patience(t)
	d := single(t)
	open := load(t, d.NewClient(driver.AllowAll), long(t, 30), 8)
	put(open.x, 1, 2, 3)
	vault := load(t, d.NewClient(driver.AllowAll), linear(t, 8, 2, 1), 8)
	log := newDiary()
	log.submit(t, ctx, "open", open, open.request(driver.RealTime))
	underWay(t, d)
	check(t, vault.client.StartSecure(ctx))
	if s := d.Status(); s.State != driver.ExecSecure || s.Running != 0 || s.Queued != 1 {
		t.Errorf("in secure mode: %+v", s)
	}
	if err := open.client.StartSecure(ctx); !errors.Is(err, driver.Busy) {
		t.Errorf("claimed twice: %v", err)
	}
	if err := open.client.StopSecure(ctx); !errors.Is(err, driver.NotReady) {
		t.Errorf("given back by another: %v", err)
	}
	check(t, vault.Run(ctx, vault.request(driver.Background)))
	if log.mu.Lock(); len(log.names) != 0 {
		t.Error("another client's request ran")
	}
	log.mu.Unlock()
	check(t, vault.client.StopSecure(ctx))
	log.holds(t, "open")
	wants(t, open.y, 2, 3)
	if s := d.Status(); s.State != driver.Run {
		t.Errorf("afterwards: %+v", s)
	}
	if err := d.NewClient(0).StartSecure(ctx); !errors.Is(err, driver.NotPrivileged) {
		t.Errorf("without the grant: %v", err)
	}
	// A client that goes away gives it back.
	check(t, vault.client.StartSecure(ctx))
	check(t, vault.client.Close())
	check(t, open.Run(ctx, open.request(driver.Default)))
}

// Priorities follow from the quality of service, and some are not for everyone.
func TestPriorities(t *testing.T) {
	for qos, want := range map[int]int{0: 2, 33: 3, 25: 4, 21: 5, 17: 6, 9: 7, 1: 5, 63: 5} {
		if got, ok := driver.PriorityOf(qos); !ok || got != want {
			t.Errorf("quality of service %d: priority %d, want %d", qos, got, want)
		}
	}
	for _, qos := range []int{-1, 64} {
		if _, ok := driver.PriorityOf(qos); ok {
			t.Errorf("quality of service %d has a priority", qos)
		}
	}
	d := single(t)
	plain := load(t, d.NewClient(0), linear(t, 8, 2, 1), 8)
	for _, row := range []struct {
		qos, priority int
		want          driver.Code
	}{
		{driver.Default, driver.ByQoS, 0}, {driver.RealTime, driver.ByQoS, driver.NotPrivileged}, {64, driver.ByQoS, driver.BadArgument},
		{0, 0, driver.NotPrivileged}, {0, 1, driver.NotPrivileged}, {0, 7, 0}, {0, 8, driver.BadArgument},
	} {
		r := plain.request(row.qos)
		r.Priority = row.priority
		if err := plain.Run(patience(t), r); driver.CodeOf(err) != row.want {
			t.Errorf("quality of service %d, priority %d: %v", row.qos, row.priority, err)
		}
	}
}

// Events order requests of several processes; agents hear of them.
func TestEvents(t *testing.T) {
	ctx := patience(t)
	c := single(t).NewClient(driver.AllowAll)
	first, second := load(t, c, linear(t, 8, 2, 0), 8), load(t, c, linear(t, 8, 1, 1), 8)
	put(first.x, 3)
	e := driver.NewEvent()
	id, err := c.ShareEvent(e)
	check(t, err)
	var mu sync.Mutex
	var heard []string
	for a := range 3 {
		check(t, c.Listen(a, func(id, value uint64, typ driver.EventType) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, fmt.Sprint(a, value, typ))
		}))
	}
	log := newDiary()
	late := second.request(driver.RealTime)
	late.Inputs[0].Surface = first.y
	late.Waits = []driver.Wait{{Event: e, Value: 1}}
	log.submit(t, ctx, "second", second, late)
	early := first.request(driver.Background)
	early.Signals = []driver.Signal{{Event: e, Value: 1, Type: 2, Agents: 0b101, ID: id}}
	log.submit(t, ctx, "first", first, early)
	log.left.Wait()
	wants(t, second.y, 0, 7)
	if want := []string{"0 1 2", "2 1 2"}; !slices.Equal(heard, want) {
		t.Errorf("agents heard %q, want %q", heard, want)
	}
	// What fails is not signalled, and who waits for it hears why.
	log = newDiary()
	late.Waits = []driver.Wait{{Event: e, Value: 2}}
	waiting := log.submit(t, ctx, "second", second, late)
	early.Signals = []driver.Signal{{Event: e, Value: 2}}
	early.Deadline = time.Now()
	log.submit(t, ctx, "first", first, early)
	log.left.Wait()
	if waiting.Abort() {
		t.Error("it was still under way")
	}
	// One that waits can be aborted.
	log = newDiary()
	late.Waits = []driver.Wait{{Event: e, Value: 9}}
	if !log.submit(t, ctx, "second", second, late).Abort() {
		t.Error("it was not under way")
	}
	log.holds(t, "second: true")
	for _, bad := range []driver.Signal{{}, {Event: e, Type: 3}, {Event: e, Type: -1}, {Event: e, Agents: 8}} {
		r := first.request(driver.Default)
		r.Signals = []driver.Signal{bad}
		if err := first.Run(ctx, r); !errors.Is(err, driver.BadArgument) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// The queue of a process is so deep.
func TestDepth(t *testing.T) {
	d := single(t)
	b := load(t, d.NewClient(driver.AllowAll), long(t, 100), 8)
	for i := range 128 {
		_, err := b.Submit(patience(t), b.request(driver.Default), nil)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	if _, err := b.Submit(patience(t), b.request(driver.Default), nil); !errors.Is(err, driver.NoResources) {
		t.Errorf("one more: %v", err)
	}
	check(t, b.client.Close())
	if s := d.Status(); s.Queued != 0 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
}

// Many clients at once, on an engine that takes several commands: all results are right.
func TestCrowd(t *testing.T) {
	ctx := patience(t)
	d := driver.New(target(t, "virtual"))
	var wg sync.WaitGroup
	for k := range 8 {
		c := d.NewClient(driver.AllowAll)
		b := load(t, c, linear(t, 8, float32(k), 1), 8)
		wg.Go(func() {
			for i := range 50 {
				put(b.x, float32(i))
				if err := b.Run(ctx, b.request([]int{9, 17, 21, 25, 33, 0}[i%6])); err != nil {
					t.Error(err)
					return
				}
				wants(t, b.y, 0, float32(k*i+1))
			}
		})
	}
	wg.Wait()
}
