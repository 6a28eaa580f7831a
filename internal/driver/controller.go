package driver

import (
	"slices"
	"sync"
	"time"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/pool"
)

// The controller has the engine, and gives it to one job after the other.
//
//	jobs          ── a lane lets one through at a time ──► ready, by priority ──► on the engine
//	priority 2    a1 a2                                     clients take turns    as many as the target
//	priority 5    b1 c1 b2                                                        has in flight
//
// The most urgent job goes first. If all places are taken, the least urgent job that runs is stopped between two tiles of
// its task, and goes on later from there; among equals it is stopped when its slice of time is over and others wait. Who waits for a job runs it on its own goroutine as soon as it is
// let in: at once if the engine is idle, so that nobody has to be woken. A job that nobody waits for gets a goroutine.
type controller struct {
	inFlight int // 0: as many as there are threads

	mu      sync.Mutex
	ready   [priorities][]*Client // clients that have jobs there, by turns
	queued  int                   // jobs of all of them
	running []*job
	slices  *time.Timer // ends the slices of those who run, while others wait
	ticking bool        // it is set
	state   State
	secure  *Client       // that has the engine for itself
	still   chan struct{} // closed when nobody runs; nil if nobody waits for that
	stats   Counts
}

// A State is that of the execution loop of the firmware (guide 29).
type State int

// The states. Of Exec there are two: whether the secure phase is asserted.
const (
	Init State = iota
	Run
	Exec
	ExecSecure
	Pause
)

var stateNames = [...]string{"INIT", "RUN", "EXEC", "EXEC-SECURE", "PAUSE"}

func (s State) String() string { return stateNames[s] }

// Counts are what the controller has done.
type Counts struct {
	Inline    uint64 // jobs that ran at once on the goroutine of their caller
	Queued    uint64 // that waited
	Preempted uint64 // times that a job was stopped for another
	Aborted   uint64
	Done      uint64 // that left the engine for good
}

// slice is how long a job has the engine while others of its priority wait: as long as Go gives a goroutine.
const slice = 10 * time.Millisecond

// A lane lets jobs through one at a time: they use the same memory of the engine. A job that waits in it lends its priority to the one before.
type lane struct {
	depth   int // of those that wait; 0: not bound
	current *job
	waiting []*job // by priority
}

func newController(t *hal.Target) *controller {
	return &controller{inFlight: t.Driver.InFlight, state: Run}
}

// places is how many jobs the engine takes.
func (c *controller) places() int {
	if c.inFlight > 0 {
		return c.inFlight
	}
	return pool.Processors()
}

// do runs a job on the goroutine of the caller, once it is let in.
func (c *controller) do(j *job) error {
	j.at, j.started = 0, false
	c.mu.Lock()
	if c.queued == 0 && j.lane.current == nil && c.secure == nil && len(c.running) < c.places() {
		c.stats.Inline++
		j.lane.current = j
		c.begin(j)
		c.mu.Unlock()
	} else {
		err := c.enter(j)
		c.mu.Unlock()
		if err == nil {
			err = c.await(j)
		}
		if err != nil {
			return err
		}
	}
	for {
		yielded, err := c.hold(j)
		if !yielded {
			return err
		}
		if err := c.await(j); err != nil {
			return err
		}
	}
}

// submit has a job run by whoever has time. Its done is called with the outcome, unless submit gives an error.
func (c *controller) submit(j *job) error {
	j.at, j.started = 0, false
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enter(j)
}

// await waits until a job is let in, or its context ends: then it has left. A job that was given up gives the reason.
func (c *controller) await(j *job) error {
	select {
	case <-j.grant:
	case <-j.ctx.Done():
		c.mu.Lock()
		if j.state != onEngine && j.err == nil {
			c.leave(j)
			c.mu.Unlock()
			return j.ctx.Err()
		}
		c.mu.Unlock()
		<-j.grant // it came at the same time
	}
	if j.err != nil { // written before the grant
		return j.err
	}
	return nil
}

// enter lets a job into its lane, and on to the queue if it is the first there. The lock is held, as in all that follow.
func (c *controller) enter(j *job) error {
	l := j.lane
	j.state, j.stop, j.err = inLane, goOn, nil
	if l.current == nil {
		l.current = j
		c.push(j, false)
		return nil
	}
	if l.depth > 0 && len(l.waiting) >= l.depth {
		j.state = outside
		return fail(NoResources, "[isHWReady] priority queue is full! %d requests wait", len(l.waiting))
	}
	at, _ := slices.BinarySearchFunc(l.waiting, j.priority, func(w *job, p int) int {
		if w.priority <= p {
			return -1
		}
		return 1
	})
	l.waiting = slices.Insert(l.waiting, at, j)
	if first := l.current; j.priority < first.priority {
		if first.state == queued {
			c.remove(first)
			first.priority = j.priority
			c.push(first, true)
		} else {
			first.priority = j.priority
		}
	}
	return nil
}

// push queues a job, in front of its client's others or behind them, and sees that it gets the engine soon.
func (c *controller) push(j *job, front bool) {
	p, client := j.priority, j.client
	j.state = queued
	list := &client.ready[p]
	if len(*list) == 0 {
		c.ready[p] = append(c.ready[p], client)
	}
	if front {
		*list = slices.Insert(*list, 0, j)
	} else {
		*list = append(*list, j)
	}
	c.queued++
	c.stats.Queued++
	c.dispatch()
	if j.state != queued {
		return
	}
	if v := c.victim(j); v != nil {
		c.halt(v, yields)
	}
	c.keepTime()
}

// victim is the least urgent job that runs and is to give way.
func (c *controller) victim(j *job) (worst *job) {
	if !c.admits(j) {
		return nil
	}
	for _, r := range c.running {
		if r.stop == goOn && r.priority > j.priority && (worst == nil || r.priority > worst.priority) {
			worst = r
		}
	}
	return worst
}

// halt has a job that runs leave the engine. It sees one of the two, however far it has come.
func (c *controller) halt(j *job, why stopReason) {
	j.stop = why
	j.halted.Store(true)
	if now := j.now.Load(); now != nil {
		now.Stop()
	}
}

// admits reports whether a job may run in the phase of now.
func (c *controller) admits(j *job) bool {
	return c.state != Pause && (c.secure == nil || c.secure == j.client)
}

// dispatch lets jobs in as long as there is a place.
func (c *controller) dispatch() {
	for c.queued > 0 && len(c.running) < c.places() {
		j := c.next()
		if j == nil {
			return
		}
		c.remove(j)
		c.begin(j)
		if j.grant != nil {
			j.grant <- struct{}{}
		} else {
			go c.serve(j)
		}
	}
}

// next is the job whose turn it is.
func (c *controller) next() *job {
	for p := range c.ready {
		for _, client := range c.ready[p] {
			if j := client.ready[p][0]; c.admits(j) {
				return j
			}
		}
	}
	return nil
}

// remove takes a job out of the queue. Its client has had its turn.
func (c *controller) remove(j *job) {
	p, client := j.priority, j.client
	list := &client.ready[p]
	*list = without(*list, j)
	c.ready[p] = without(c.ready[p], client)
	if len(*list) > 0 {
		c.ready[p] = append(c.ready[p], client)
	}
	c.queued--
}

// without takes one out of a list, which keeps its memory.
func without[T comparable](list []T, one T) []T {
	if at := slices.Index(list, one); at >= 0 {
		return slices.Delete(list, at, at+1)
	}
	return list
}

// begin gives a job the engine.
func (c *controller) begin(j *job) {
	j.state, j.stop, j.began = onEngine, goOn, time.Time{}
	j.halted.Store(false)
	c.running = append(c.running, j)
	if c.state == Run {
		c.state = Exec
	}
}

// end takes the engine from a job.
func (c *controller) end(j *job) {
	c.running = without(c.running, j)
	if len(c.running) > 0 {
		return
	}
	if c.state == Exec {
		c.state = Run
	}
	if c.still != nil {
		close(c.still)
		c.still = nil
	}
}

// leave takes a job out of its lane, and lets the next one in. It does not run.
func (c *controller) leave(j *job) {
	if j.state == queued {
		c.remove(j)
	}
	j.state = outside
	l := j.lane
	if l.current != j {
		l.waiting = without(l.waiting, j)
		return
	}
	l.current = nil
	if len(l.waiting) > 0 {
		next := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.current = next
		c.push(next, false)
	}
}

// hold runs a job that has the engine, until it is done or gives way: then it waits for its turn again.
func (c *controller) hold(j *job) (yielded bool, err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.end(j)
		if yielded {
			c.stats.Preempted++
			c.push(j, j.stop == yields)
		}
		switch {
		case yielded:
		case j.done == nil:
			c.leave(j)
		default: // it leaves its lane when everybody knows
			j.state = outside
		}
		if !yielded {
			c.stats.Done++
			j.serial = c.stats.Done
		}
		c.dispatch()
	}()
	return c.run(j)
}

// serve runs a job that nobody waits for. The next one of its lane waits until everybody knows what has become of it.
func (c *controller) serve(j *job) {
	yielded, err := c.protected(j)
	if yielded {
		return
	}
	j.done(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(j)
}

// protectedDo is do, where a fault in memory that somebody has mapped is an error.
func (c *controller) protectedDo(j *job) (err error) {
	defer osfile.Protect().Catch(&err)
	return c.do(j)
}

// protected is hold, where a fault in memory that somebody has mapped is an error.
func (c *controller) protected(j *job) (yielded bool, err error) {
	defer osfile.Protect().Catch(&err)
	return c.hold(j)
}

// abort ends a job, wherever it is. It reports whether there was something to end.
func (c *controller) abort(j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case j.state == outside || j.stop == aborted:
		return false
	case j.state == onEngine:
		c.halt(j, aborted)
	default:
		c.drop(j, errAborted)
	}
	c.stats.Aborted++
	return true
}

// abandon ends a job that does not have the engine.
func (c *controller) abandon(j *job, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.state == inLane || j.state == queued {
		c.drop(j, err)
	}
}

// drop takes a job that waits out of its lane. The lock is held.
func (c *controller) drop(j *job, err error) {
	j.err = err
	if j.grant != nil { // who waits for it hears of it
		c.leave(j)
		j.grant <- struct{}{}
		return
	}
	if j.state == queued {
		c.remove(j)
	}
	if j.lane.current != j {
		j.lane.waiting = without(j.lane.waiting, j)
	}
	j.state = outside
	go func() { // the next one of its lane waits until everybody knows
		j.done(err)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.leave(j)
	}()
}

// keepTime sees that those who run give way in time to those who wait.
func (c *controller) keepTime() {
	if c.ticking {
		return
	}
	c.ticking = true
	if c.slices == nil {
		c.slices = time.AfterFunc(slice, c.sliceEnds)
	} else {
		c.slices.Reset(slice)
	}
}

// sliceEnds stops jobs that have run for long, if others that are as urgent wait.
func (c *controller) sliceEnds() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ticking = false
	best := c.next()
	if best == nil {
		return
	}
	now, waiting := time.Now(), c.queued
	for _, r := range c.running {
		switch {
		case waiting == 0 || r.stop != goOn || r.priority < best.priority:
		case r.began.IsZero():
			r.began = now
		case now.Sub(r.began) >= slice/2:
			c.halt(r, sliceOver)
			waiting--
		}
	}
	c.keepTime()
}
