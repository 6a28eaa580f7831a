package driver

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/espalier-ane/espalier/firmware"
)

// A Client is a process of the host that uses the device: the owner of its connections, surfaces, maps and programs. What belongs to
// one client, no other can name. It is safe for concurrent use.
type Client struct {
	device *Device
	grants Grants
	ctx    context.Context // ends when the client is closed
	end    context.CancelFunc

	ready [priorities][]*job // the controller's

	mu       sync.Mutex
	closed   bool
	conns    int // open ones
	surfaces map[uint32]*Surface
	space    space
	buffers  []*Mapping     // by slot
	handles  map[uint64]any // by token: *Program, *Process or *Chain
	events   map[uint64]*Event
	agents   [agents]func(id, value uint64, t EventType)
	jobs     map[*job]func() // requests under way, and what aborts each
	idle     chan struct{}   // closed when there are none; nil if nobody waits for that
}

// NewClient makes a client.
func (d *Device) NewClient(g Grants) *Client {
	d.mu.Lock()
	d.clients++
	d.mu.Unlock()
	ctx, end := context.WithCancel(context.Background())
	return &Client{
		ctx: ctx, end: end, device: d, grants: g, surfaces: map[uint32]*Surface{}, space: newSpace(d.target), buffers: make([]*Mapping, d.target.Driver.Buffers),
		handles: map[uint64]any{}, events: map[uint64]*Event{}, jobs: map[*job]func(){},
	}
}

// Device is where the client is.
func (c *Client) Device() *Device { return c.device }

// errClosed is what a client that is closed gets.
var errClosed = &Error{Code: ExclusiveAccess, Msg: "the client is closed"}

// lock takes the client's lock, unless it is closed.
func (c *Client) lock() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	return nil
}

// Close aborts what is under way, waits for it, and frees all that the client has.
func (c *Client) Close() error {
	if err := c.lock(); err != nil {
		return err
	}
	c.closed = true
	c.end()
	under := slices.Collect(maps.Values(c.jobs))
	var idle chan struct{}
	if len(under) > 0 {
		idle = make(chan struct{})
		c.idle = idle
	}
	handles := c.handles
	c.mu.Unlock()
	for _, abort := range under {
		abort()
	}
	for _, h := range handles {
		if chain, ok := h.(*Chain); ok {
			chain.stop()
		}
	}
	if idle != nil {
		<-idle
	}
	_ = c.StopSecure(context.Background()) // if it has it
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range handles {
		if p, ok := h.(*Program); ok && !p.loading { // Prepare sees that the client is closed
			p.unload()
		}
	}
	c.handles, c.surfaces, c.events = nil, nil, nil
	clear(c.buffers)
	c.device.mu.Lock()
	defer c.device.mu.Unlock()
	c.device.clients--
	return nil
}

// token makes a name for something of the client. The lock is held.
func (c *Client) token(of any) uint64 {
	t := c.device.tokens.Add(1)
	c.handles[t] = of
	return t
}

// find returns what a token stands for.
func find[T any](c *Client, token uint64) (of T, err error) {
	if err := c.lock(); err != nil {
		return of, err
	}
	defer c.mu.Unlock()
	return findLocked[T](c, token)
}

func findLocked[T any](c *Client, token uint64) (of T, err error) {
	of, ok := c.handles[token].(T)
	if !ok {
		return of, fail(NotFound, "token %#x is none of a %s of this client", token, nameOf(of))
	}
	return of, nil
}

func nameOf(of any) string {
	switch of.(type) {
	case *Program:
		return "program"
	case *Process:
		return "process"
	case *Chain:
		return "chain"
	}
	return "thing"
}

// Connect opens a connection of one of the two kinds.
func (c *Client) Connect(kind firmware.Client) (*Conn, error) {
	if kind != firmware.Control && kind != firmware.DirectPath {
		return nil, fail(Unsupported, "%v: there are two kinds of client", kind)
	}
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	return &Conn{client: c, kind: kind}, nil
}

// connect counts a connection that is opened.
func (c *Client) connect() error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	c.conns++
	return nil
}

// disconnect counts one that is closed. The last one takes all that the client has with it.
func (c *Client) disconnect() error {
	if err := c.lock(); err != nil {
		return err
	}
	c.conns--
	last := c.conns == 0
	c.mu.Unlock()
	if last {
		return c.Close()
	}
	return nil
}

// under notes a request that is under way from now on.
func (c *Client) under(j *job, abort func()) error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	c.jobs[j] = abort
	return nil
}

// over notes that it is done.
func (c *Client) over(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.jobs, j)
	if len(c.jobs) == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}
