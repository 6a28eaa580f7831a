package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/internal/trace"
)

// A step is one task, bound: kernels that run one after the other.
type step struct {
	kernels     []strided.Kernel
	over        bool      // the result takes the place of what it is made of
	nanoseconds float64   // a guess
	mapped      []stretch // of constants, to be given back after it
}

// ErrStopped is the error of a run that Context.Stop has ended.
var ErrStopped = errors.New("engine: the run was stopped")

// progress is how far a dispatch has come. Kernels are cut into tiles that do not
// depend on each other, so what is left of one is a list of tiles:
//
//	tasks    0 ──── 1 ──── 2 ──── 3 ──── 4
//	                       ▲ at
//	kernels                load ── multiply ── store
//	                               ▲ kernel
//	tiles                          ▓▓▓▓▓░░▓▓▓░░░░░
//	                                    rest  rest
//
// To go on from there is sound for every task, also for one that writes over what it
// reads: no tile is run twice, unless it has left something undone that lies over
// nothing that it reads (Scratch.Stop).
type progress struct {
	at     int
	kernel int    // of that task
	rest   []span // of that kernel
	within bool   // rest says what is left of it; otherwise, all is

	current strided.Kernel // that runs
	number  uint64         // of this time that its tiles are shared
	grain   int
	tell    bool // its tiles may end before they are done

	mu   sync.Mutex
	left []span // what the run under way has left undone of it
}

// A span is a range of tiles.
type span struct{ lo, hi int }

// RunAll executes the program once, from its first task on, wherever c was. Output
// ports then have the results. If ctx ends before that, it returns its error as Run
// does; what the output ports then have is not defined, and c may be used again.
func (p *Program) RunAll(ctx context.Context, c *Context) error {
	c.Reset()
	_, err := p.Run(ctx, c, 0, len(p.steps))
	return err
}

// Run executes the tasks from i up to but not including j, and returns the task to go
// on with: j, unless it was stopped. Task 0 begins a dispatch, for which it reads the
// inputs; any other must be the one that the run before, of this context, returned.
//
// If ctx ends, or c.Stop is called, Run returns after the tiles under way, with the
// error of ctx or ErrStopped. The dispatch can go on from there, with the bits that it
// would have had: the context knows how much of the task is done. So it does if i is 0
// and that is where it was stopped; Reset makes it forget.
func (p *Program) Run(ctx context.Context, c *Context, i, j int) (next int, err error) {
	switch {
	case c.program != p:
		return i, fmt.Errorf("engine: the context belongs to another program")
	case i < 0 || j < i || j > len(p.steps):
		return i, fmt.Errorf("engine: tasks %d to %d of %d", i, j, len(p.steps))
	case i != 0 && i != c.at:
		return i, fmt.Errorf("engine: task %d: the dispatch can go on with task %d, or begin with 0", i, c.at)
	}
	c.done = ctx.Done()
	c.stopped.Store(false)
	c.shareMemory()
	if i != c.at || !c.within && c.kernel == 0 {
		if c.at, c.kernel, c.within = i, 0, false; i == 0 {
			c.readInputs()
		}
	}
	threads := p.threads
	if p.tiny {
		threads = 1
	}
	w := pool.Enter(threads)
	defer w.Leave()
	// A panic on the way leaves a dispatch that cannot go on.
	at := c.at
	c.at = -1
	times := trace.Of(ctx)
	for at < j && !c.stop() {
		began := times.Begin()
		done := c.run(w, &p.steps[at])
		times.End(p, at, began)
		if !done {
			break
		}
		p.unload(&p.steps[at])
		at++
	}
	c.at = at
	if c.stopped.Load() {
		if err = ctx.Err(); err == nil {
			err = ErrStopped
		}
	}
	c.halted.Store(false)
	return at, err
}

// Reset forgets a dispatch that was stopped on its way.
func (c *Context) Reset() { c.at, c.kernel, c.within = 0, 0, false }

// Stop ends the run under way after its tiles under way, or else the next one at once.
// Any goroutine may call it.
func (c *Context) Stop() { c.halted.Store(true) }

// StopAt has runs end at a time, as Stop does: who computes looks at the clock, so that it needs nobody else to be awake. The zero
// time lets them go on. It is not to be called during a run.
func (c *Context) StopAt(t time.Time) {
	if c.until = 0; !t.IsZero() {
		c.until = max(t.Sub(epoch), 1)
	}
}

// epoch is what times are counted from.
var epoch = time.Now()

// stop reports whether the run is to end, and then notes that it did not get
// done. What works on tiles asks before each portion.
func (c *Context) stop() bool {
	if c.halted.Load() || c.until != 0 && time.Since(epoch) >= c.until {
		c.stopped.Store(true)
		return true
	}
	select {
	case <-c.done:
		c.stopped.Store(true)
		return true
	default:
		return false
	}
}

// readInputs sees that the ports have memory, and copies inputs that a run would spoil.
func (c *Context) readInputs() {
	for i := range c.program.ports {
		c.surface(c.program.ports[i].memory)
	}
	for i, b := range c.between {
		if b != nil {
			copy(c.memories[i], b.given)
		}
	}
}

// shares counts the times that tiles were shared, by anyone.
var shares atomic.Uint64

// run runs a task, or what is left of it, and reports whether it is done.
func (c *Context) run(w *pool.Worker, s *step) bool {
	for ; c.kernel < len(s.kernels); c.kernel++ {
		c.current, c.number = s.kernels[c.kernel], shares.Add(1)
		n, grain := c.current.Tiles()
		c.grain, c.tell = grain, !s.over && !c.sharing
		if c.within {
			n, grain = len(c.rest), 1
		}
		w.For(n, grain, c.program.long || s.nanoseconds > tinyTask, c)
		c.within = len(c.left) > 0
		c.rest, c.left = c.left, c.rest[:0]
		if c.within {
			return false
		}
	}
	c.kernel = 0
	return true
}

// Work runs tiles of the kernel, or spans of what is left of it, on one of the threads.
func (c *Context) Work(w *pool.Worker, lo, hi int) {
	s, ok := w.Scratch.(*strided.Scratch)
	if !ok {
		s = new(strided.Scratch)
		w.Scratch = s
	}
	s.Grow(c.program.scratch)
	s.Memory, s.Dense = c.memories, &c.dense
	if v := c.version; v != nil {
		s.Packed, s.Weights = v.packed, v.weights
	}
	s.Begin(c.number)
	if s.Stop = nil; c.tell {
		s.Stop = c.ask
	}
	if !c.within {
		c.tiles(s, span{lo, hi})
	} else {
		for _, rest := range c.rest[lo:hi] {
			c.tiles(s, rest)
		}
	}
	s.Memory, s.Packed, s.Weights, s.Dense, s.Stop = nil, nil, nil, nil, nil // the next one has others
	runtime.KeepAlive(c)                                                     // whose memory that was
}

func (c *Context) tiles(s *strided.Scratch, t span) {
	for s.Stopped(); t.lo < t.hi; t.lo += c.grain {
		if !c.stop() {
			c.current.Run(s, t.lo, min(t.lo+c.grain, t.hi))
			if !s.Stopped() {
				continue
			}
		}
		c.mu.Lock()
		c.left = append(c.left, t)
		c.mu.Unlock()
		return
	}
}
