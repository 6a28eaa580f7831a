package e5rt

import (
	"context"
	"sync"
)

// A Pool keeps what is dear to make for who needs one next: the operations of a function, streams. Up to a number it keeps them
// for good; more than that stay until the collector comes. It is safe for concurrent use, and allocates nothing itself.
type Pool[T any] struct {
	make  func() (T, error)
	clean func(T) bool // makes one that comes back as good as new; false: it cannot
	keep  int

	mu    sync.Mutex
	free  []T
	made  int
	spare sync.Pool
}

// NewPool makes a pool that keeps so many for good, of what make makes.
func NewPool[T any](keep int, make func() (T, error)) *Pool[T] {
	return &Pool[T]{make: make, keep: keep}
}

// NewStreamPool makes a pool of streams. One that comes back is reset; one that is under way is not taken back.
func NewStreamPool(keep int) *Pool[*Stream] {
	p := NewPool(keep, func() (*Stream, error) { return NewStream(), nil })
	p.clean = func(s *Stream) bool { return s.Reset() == nil }
	return p
}

// TakeOut takes one out, or makes one if there is none.
func (p *Pool[T]) TakeOut() (T, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		one := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return one, nil
	}
	p.mu.Unlock()
	if one, ok := p.spare.Get().(T); ok {
		return one, nil
	}
	return p.new()
}

func (p *Pool[T]) new() (T, error) {
	p.mu.Lock()
	p.made++
	p.mu.Unlock()
	return p.make()
}

// PutBack gives one back that its user is done with.
func (p *Pool[T]) PutBack(one T) {
	if p.clean != nil && !p.clean(one) {
		return
	}
	p.mu.Lock()
	if len(p.free) < p.keep {
		p.free = append(p.free, one)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.spare.Put(one)
}

// Preload makes as many as the pool keeps, so that the first ones who need one do not wait for it.
func (p *Pool[T]) Preload() error {
	for {
		p.mu.Lock()
		full := len(p.free) >= p.keep
		p.mu.Unlock()
		if full {
			return nil
		}
		one, err := p.new()
		if err != nil {
			return err
		}
		p.PutBack(one)
	}
}

// Made counts what the pool has made.
func (p *Pool[T]) Made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

// newOperations makes the pool of a function's operations. One that is bound to memory of a caller, or encoded in a stream, is
// not taken back, nor one of another function.
func newOperations(f *Function, keep int) *Pool[*Operation] {
	p := NewPool(keep, func() (*Operation, error) { return f.NewOperation(), nil })
	p.clean = func(o *Operation) bool { return o.function == f && o.letGo() }
	return p
}

// letGo makes the operation forget what others have lent it: states, values of the host, and what ports were bound to before. It
// reports whether nobody else has a hand on it.
func (o *Operation) letGo() bool {
	if o.claim() != nil {
		return false
	}
	defer o.release()
	if o.isLent() || o.streams.Load() > 0 {
		return false
	}
	clear(o.values)
	if o.bound && o.state == nil {
		return true // all that the steps are bound to is its own
	}
	o.bound, o.state, o.held, o.layouts = false, nil, nil, nil
	o.listUsers(nil)
	clear(o.instead)
	for i := range o.steps {
		b := &o.steps[i]
		if b.context != nil {
			b.context.Unbind()
		}
		b.from, b.to = nil, nil
		clear(b.surfaces)
		clear(b.inputs)
		clear(b.outputs)
	}
	return true
}

// Load makes as many operations as Options.Concurrency asks for. The programs are loaded already, by Open.
func (f *Function) Load(ctx context.Context) error {
	place, open := f.library.gate.Enter(ctx)
	if !open {
		return &Error{Function: f.name, Err: ErrClosed}
	}
	defer f.library.gate.Leave(place)
	return f.operations.Preload()
}

// Concurrency is how many operations the function keeps for good.
func (f *Function) Concurrency() int { return f.operations.keep }

// TakeOut takes an operation of the function from those that others have put back, or makes one. What its ports hold is left
// open.
func (f *Function) TakeOut() *Operation {
	o, err := f.operations.TakeOut()
	if err != nil {
		panic("bug: " + err.Error())
	}
	return o
}

// PutBack gives an operation back that TakeOut took out. It lets go of the State of its last run. One that is bound to memory of
// the caller, or encoded in a stream, is left to the collector.
func (f *Function) PutBack(o *Operation) { f.operations.PutBack(o) }
