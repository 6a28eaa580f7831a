package pool

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// The workers of the process.
//
// Who has a loop enters, works on it, and is joined by helpers, goroutines that the
// set keeps. A helper without work spins for a short time and then parks, so that
// the next loop of a program that has many finds it awake:
//
//	         ┌──── a job has a seat ───────────────────────┐
//	parked ──┴─ woken ─► spinning ─► at work ─► spinning ──┴─ 50 µs ─► parked
//
// Nothing on the way from a loop to a helper that spins takes a lock. Helpers and
// those who entered are together never more than GOMAXPROCS: where there are as many
// predictions as processors, each runs alone, and a helper never takes the processor
// from one of them. A loop is never without its caller, so all loops go on.
var set struct {
	procs   atomic.Int64 // GOMAXPROCS, as last seen
	_       [56]byte
	callers atomic.Int64 // who has entered
	awake   atomic.Int64 // helpers that are not parked
	_       [48]byte
	spins   atomic.Int64 // of those, who looks for work
	_       [56]byte
	jobs    [maxOpen]atomic.Pointer[job] // of those who have entered and had a loop to share
	end     atomic.Int64                 // the place after the last that there was ever a job in

	woken, joined atomic.Int64
	waiters       atomic.Int64 // goroutines in Await

	mu     sync.Mutex
	parked []*helper
}

// maxOpen bounds the jobs that are open at the same time. Another runs on its
// caller alone, which is all that so many leave to it.
const maxOpen = 64

// A Worker is what a goroutine has while it works on loops. Its memory belongs to the
// process: it goes to the next one who works, or to the collector if nobody does.
type Worker struct {
	// Scratch is for the bodies of loops to keep memory in: a body may use what it
	// finds there, whoever left it, until it returns.
	Scratch any

	threads int
	listed  bool // the job is among those of the set
	job     job
}

// A Body is what a loop does. Its ranges run at the same time, each with the worker
// of its goroutine.
type Body interface{ Work(w *Worker, lo, hi int) }

// idle are the workers of those who have left.
var idle = sync.Pool{New: func() any { return &Worker{job: job{done: make(chan struct{}, 1)}} }}

// Enter makes the goroutine one of those that work, until Leave. Its loops run on up
// to so many goroutines, its own among them; 0 is GOMAXPROCS.
func Enter(threads int) *Worker {
	procs := runtime.GOMAXPROCS(0) // here and not for each loop, since it takes a lock
	if int64(procs) != set.procs.Load() {
		set.procs.Store(int64(procs))
	}
	set.callers.Add(1)
	w := idle.Get().(*Worker)
	if threads <= 0 {
		threads = procs
	}
	w.threads = threads
	return w
}

// Leave ends what Enter began.
func (w *Worker) Leave() {
	set.callers.Add(-1)
	if w.listed {
		set.jobs[w.job.place].Store(nil)
	}
	w.listed, w.job.body = false, nil
	idle.Put(w)
}

// For calls the body for ranges that together cover [0, n) once, cut as by the
// function For, and panics as that does. It allocates nothing. The loop is shared with
// helpers that are awake; others are woken only if wake says that it is worth it: some
// 10 µs.
func (w *Worker) For(n, grain int, wake bool, b Body) {
	if n <= 0 {
		return
	}
	j := &w.job
	j.n, j.ranges, j.body, j.panic = n, ranges(n, grain), b, nil
	j.left.Store(between(0, j.ranges))
	w.share(wake)
	if j.panic != nil {
		panic(j.panic) // re-raise
	}
}

func (w *Worker) share(wake bool) {
	j := &w.job
	seats := w.seats()
	if seats > 0 && !w.listed {
		w.listed = j.enlist()
	}
	if seats <= 0 || !w.listed {
		j.work(w, false)
		return
	}
	defer func() { // deferred for a body that calls runtime.Goexit, as t.Fatal does
		left := j.seats.Swap(0)
		j.wait(int64(seats) - left)
	}()
	j.seats.Store(int64(seats))
	if wake && set.spins.Load() < int64(seats) {
		wakeOne()
	}
	j.work(w, false)
}

// seats is how many may help with the job: one for each range but the first, and no
// more than a fair share of the processors.
func (w *Worker) seats() int {
	procs, callers := int(set.procs.Load()), int(set.callers.Load())
	free := procs - callers
	if free <= 0 {
		return 0
	}
	return min(w.job.ranges-1, w.threads-1, (free+callers-1)/callers)
}

// enlist finds a place for the job among those that helpers look at.
func (j *job) enlist() bool {
	for j.place = range maxOpen {
		if at := &set.jobs[j.place]; at.Load() == nil && at.CompareAndSwap(nil, j) {
			for n, end := int64(j.place+1), set.end.Load(); n > end && !set.end.CompareAndSwap(end, n); end = set.end.Load() {
			}
			return true
		}
	}
	return false
}

// crowded reports whether there are more at work than processors.
func crowded() bool { return set.callers.Load()+set.awake.Load() > set.procs.Load() }

// A helper is a goroutine that helps with jobs.
type helper struct {
	wake  chan struct{}
	turn  int // where it begins to look
	spin  time.Duration
	timer *time.Timer
}

// Counts says how often a helper was woken or started, and how often one joined a loop.
func Counts() (woken, joined int64) { return set.woken.Load(), set.joined.Load() }

// wakeOne wakes a helper, or makes one, if there is a processor for it. It wakes
// others itself when it finds that there is work for more.
func wakeOne() {
	for {
		n := set.awake.Load()
		if set.callers.Load()+n >= set.procs.Load() {
			return
		}
		if set.awake.CompareAndSwap(n, n+1) {
			break
		}
	}
	set.woken.Add(1)
	set.spins.Add(1)
	set.mu.Lock()
	var h *helper
	if n := len(set.parked); n > 0 {
		h = set.parked[n-1]
		set.parked = set.parked[:n-1]
	}
	set.mu.Unlock()
	if h != nil {
		h.wake <- struct{}{}
	} else {
		h = &helper{wake: make(chan struct{}, 1), spin: spinFor, timer: time.NewTimer(keepScratch)}
		go h.run()
	}
	// What has become runnable last waits for this goroutine to give up its processor,
	// and others take it only after some 50 µs. So that is not to be the helper.
	go func() {}()
}

// run serves jobs for as long as the process lives, or until a body ends the
// goroutine. It begins, as it is woken, spinning.
func (h *helper) run() {
	debug.SetPanicOnFault(true) // a fault is a panic of the loop: its caller decides
	defer func() {              // spinning, as after a job
		set.spins.Add(-1)
		set.awake.Add(-1)
	}()
	w := new(Worker)
	for {
		if j := h.search(); j != nil {
			h.help(j, w)
			continue
		}
		h.park(w)
	}
}

func (h *helper) help(j *job, w *Worker) {
	defer j.leave()
	set.joined.Add(1)
	set.spins.Add(-1)
	defer set.spins.Add(1)
	for range 2 { // so that many are awake soon
		if j.seats.Load() > set.spins.Load() {
			wakeOne()
		}
	}
	j.work(w, true)
}

// search spins until there is a job with a seat, which it takes. It gives up after
// some time.
func (h *helper) search() *job {
	t := spinTime{limit: h.spin}
	for {
		if crowded() {
			return nil
		}
		if j := h.find(); j != nil {
			if t.n > 0 { // it was right to wait
				h.spin = min(2*h.spin, spinFor)
			}
			return j
		}
		if !t.left() {
			h.spin = max(h.spin/2, spinLess)
			return nil
		}
	}
}

// find takes a seat of an open job. It begins at another one each time, so that jobs
// share the helpers. It is a call of its own so that the scheduler can stop a loop around
// it.
//
//go:noinline
func (h *helper) find() *job {
	end := int(set.end.Load())
	for range end {
		if h.turn++; h.turn >= end {
			h.turn = 0
		}
		if j := set.jobs[h.turn].Load(); j != nil && j.take() {
			return j
		}
	}
	return nil
}

// keepScratch is how long a helper that sleeps keeps its memory.
const keepScratch = 10 * time.Second

// park sleeps until somebody wakes the helper.
func (h *helper) park(w *Worker) {
	set.mu.Lock()
	set.parked = append(set.parked, h)
	set.mu.Unlock()
	set.spins.Add(-1)
	set.awake.Add(-1)
	// Who has opened a job just now may have seen this one spin, and woken nobody.
	if set.spins.Load() == 0 && wanted() {
		wakeOne()
	}
	h.timer.Reset(keepScratch)
	select {
	case <-h.wake:
		h.timer.Stop()
	case <-h.timer.C:
		w.Scratch = nil
		<-h.wake
	}
}

// wanted reports whether a job has a seat.
func wanted() bool {
	for i := range set.end.Load() {
		if j := set.jobs[i].Load(); j != nil && j.seats.Load() > 0 {
			return true
		}
	}
	return false
}
