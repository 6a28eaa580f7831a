package driver

import (
	"context"

	"github.com/espalier-ane/espalier/firmware"
)

// Secure mode: one client has the engine for itself.
//
//	RUN, EXEC ──StartSecure──► PAUSE ── nobody is on the engine ──► EXEC-SECURE ──StopSecure──► PAUSE ──► RUN
//	                             └ who runs is stopped, and goes on from there when it is over
//
// Who else submits a request meanwhile waits.

// StartSecure quiesces the engine and claims it.
func (c *Client) StartSecure(ctx context.Context) error {
	if c.grants&AllowSecure == 0 {
		return fail(NotPrivileged, "the client may not claim the engine for itself")
	}
	if err := c.lock(); err != nil {
		return err
	}
	c.mu.Unlock()
	e := c.device.engine
	e.mu.Lock()
	if e.secure != nil || e.state == Pause {
		e.mu.Unlock()
		return fail(Busy, "the engine is in secure mode")
	}
	e.secure = c
	if err := c.switchPhase(ctx, 0x27, ExecSecure); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.secure, e.state = nil, Run
		if len(e.running) > 0 {
			e.state = Exec
		}
		e.dispatch()
		return err
	}
	return nil
}

// StopSecure gives the engine back.
func (c *Client) StopSecure(ctx context.Context) error {
	e := c.device.engine
	e.mu.Lock()
	if e.secure != c {
		e.mu.Unlock()
		return fail(NotReady, "the client is not in secure mode")
	}
	if e.state == Pause {
		e.mu.Unlock()
		return fail(Busy, "the engine is on its way into secure mode, or out of it")
	}
	if err := c.switchPhase(ctx, 0x28, Run); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.state = ExecSecure
		e.dispatch()
		return err
	}
	return nil
}

// switchPhase quiesces the engine and goes on in another phase. It is called with the lock of the controller, and gives it up.
func (c *Client) switchPhase(ctx context.Context, wire uint16, to State) error {
	e := c.device.engine
	e.state = Pause
	var still chan struct{}
	if len(e.running) > 0 {
		still = make(chan struct{})
		e.still = still
		for _, r := range e.running {
			if r.stop == goOn {
				e.halt(r, yields)
			}
		}
	}
	e.mu.Unlock()
	for _, w := range []uint16{0x32, wire} { // QUIESCE_STATE, then the mode
		if err := c.device.ring.post(command(w), firmware.Header{ProgramID: -1, ProcessID: -1}, nil); err != nil {
			return err
		}
	}
	if still != nil {
		select {
		case <-still:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = to
	if to == Run {
		e.secure = nil
	}
	e.dispatch()
	return nil
}
