// Package gate keeps what many use until the last of them is done with it.
//
//	place, ok := g.Enter(ctx)          g.Close(release)
//	if !ok { … closed … }
//	defer g.Leave(place)
//
//	user 1  ──Enter───────────Leave
//	user 2     ──Enter────────────────Leave
//	closer           ──Close · · · · · · · ·release──
//	user 3                  ──Enter: closed
//
// It knows nothing of what is kept.
package gate

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrInside is what Close returns when it has given up waiting.
var ErrInside = errors.New("it is closed, and released when the last call under way is done, which goes on though its context has ended")

// Patience is how long Close waits for users whose contexts have ended. They
// leave soon, unless one of them is waiting for Close itself. Only tests change it.
var Patience = time.Second

// A Gate counts the users of something, and lets none in once it is closed. The
// zero Gate is open.
type Gate struct {
	mu      sync.Mutex
	users   []context.Context // by place; nil is free
	free    []int             // places
	inside  int
	release func() error // what is left to do; not nil from Close until the last user has left

	closed bool
	left   chan struct{} // a user has left since it was last looked at
	empty  chan struct{} // closed when the last has left, and what was kept is released
	ended  chan struct{} // closed when Close returns
	err    error         // of release
}

// Enter lets a user in who may be told to end by a context. The place is for
// Leave. It allocates nothing once there have been as many users at a time.
func (g *Gate) Enter(ctx context.Context) (place int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, false
	}
	if n := len(g.free); n > 0 {
		place, g.free = g.free[n-1], g.free[:n-1]
	} else {
		place, g.users = len(g.users), append(g.users, nil)
	}
	g.users[place] = ctx
	g.inside++
	return place, true
}

// Leave is called by a user who was let in, once. The last one to leave a closed
// gate releases what was kept.
func (g *Gate) Leave(place int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users[place], g.free = nil, append(g.free, place)
	g.inside--
	if !g.closed {
		return
	}
	select {
	case g.left <- struct{}{}:
	default:
	}
	g.releaseIfEmpty()
}

// releaseIfEmpty is called with the lock held, by a closed gate.
func (g *Gate) releaseIfEmpty() {
	if g.inside > 0 || g.release == nil {
		return
	}
	g.err, g.release = g.release(), nil
	close(g.empty)
}

// Closed reports whether Close was called.
func (g *Gate) Closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Close lets nobody in any more, waits for those who are inside, and releases
// what was kept. It ends none of them: their contexts do. Where all who are left
// were told to end and do not, as somebody who calls Close from inside, it returns
// ErrInside after a while, and the last one to leave releases. Further calls wait
// for the first, and return ErrInside as long as somebody is left, nil from then on.
func (g *Gate) Close(release func() error) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		<-g.ended
		select {
		case <-g.empty:
			return nil
		default:
			return ErrInside
		}
	}
	g.closed, g.release = true, release
	g.left, g.empty, g.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	g.releaseIfEmpty()
	g.mu.Unlock()
	defer close(g.ended)
	if !g.wait() {
		return ErrInside
	}
	return g.err
}

// wait waits until nobody is inside, and reports whether that is so.
func (g *Gate) wait() bool {
	for {
		ctx := g.unended()
		if ctx == nil {
			timer := time.NewTimer(Patience)
			defer timer.Stop()
			select {
			case <-g.empty:
				return true
			case <-timer.C:
				return false
			}
		}
		select {
		case <-g.empty:
			return true
		case <-g.left:
		case <-ctx.Done():
		}
	}
}

// unended is the context of a user that has not ended, nil if all have.
func (g *Gate) unended() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ctx := range g.users {
		if ctx != nil && ctx.Err() == nil {
			return ctx
		}
	}
	return nil
}
