package aneclient

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/driver"
)

// A Client is a connection to the engine: _ANEClient. What it makes belongs to it. It is safe for concurrent use.
type Client struct {
	driver *driver.Client
	target *hal.Target

	mu       sync.Mutex
	mapped   map[*driver.Surface]*mapping
	pools    map[uint32][]*driver.Surface // memory pools: what chains have given back
	direct   *driver.Conn                 // opened when it is first needed
	sequence uint64                       // of requests by the direct path
	realTime int                          // tasks that have begun
	grants   driver.Grants
}

// ClientOptions say what a connection is to.
type ClientOptions struct {
	Target string // name of the engine; "": virtual

	// Private has a device that nobody else uses; else it is the process's device of the target.
	Private bool

	// What the client may not do, which is a matter of entitlements there.
	NoRealTime, NoChaining bool
}

// Connect opens a connection.
func Connect(o ClientOptions) (*Client, error) {
	target, err := hal.Lookup(cmp.Or(o.Target, "virtual"))
	if err != nil {
		return nil, err
	}
	open := driver.Open
	if o.Private {
		open = driver.New
	}
	grants := driver.AllowAll
	if o.NoRealTime {
		grants &^= driver.AllowRealTime | driver.AllowSystemPriorities
	}
	if o.NoChaining {
		grants &^= driver.AllowChaining
	}
	return &Client{
		driver: open(target).NewClient(grants), target: target, grants: grants, mapped: map[*driver.Surface]*mapping{}, pools: map[uint32][]*driver.Surface{},
	}, nil
}

var shared = sync.OnceValues(func() (*Client, error) { return Connect(ClientOptions{}) })

// SharedConnection is the process's connection to the engine of Espalier's own: +sharedConnection. It is not to be closed.
func SharedConnection() (*Client, error) { return shared() }

// Close ends all that the client has. Requests under way are aborted.
func (c *Client) Close() error { return c.driver.Close() }

// Target is the name of the engine.
func (c *Client) Target() string { return c.target.Name }

// BeginRealTimeTask begins a real-time task, and reports whether the client may have one: until EndRealTimeTask, its evaluations have the
// priority of real time. Tasks nest.
func (c *Client) BeginRealTimeTask() bool {
	if c.grants&driver.AllowRealTime == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.realTime++
	return true
}

// EndRealTimeTask ends a task, and reports whether there was one.
func (c *Client) EndRealTimeTask() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.realTime == 0 {
		return false
	}
	c.realTime--
	return true
}

func (c *Client) inRealTime() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.realTime > 0
}

// Listen has f called when a request or chain of the client signals an event to an agent, 0 to 2.
func (c *Client) Listen(agent int, f func(event, value uint64, t EventType)) error {
	return c.driver.Listen(agent, func(id, value uint64, t driver.EventType) { f(id, value, EventType(t)) })
}

// A mapping is a surface that the engine sees, and how many want it to.
type mapping struct {
	*driver.Mapping
	users int
}

// mapSurface makes a surface visible to the engine.
func (c *Client) mapSurface(s *driver.Surface) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.mapped[s]; m != nil {
		m.users++
		return nil
	}
	m, err := c.driver.Map(driver.AnySlot, s)
	if err != nil {
		return err
	}
	c.mapped[s] = &mapping{m, 1}
	return nil
}

// unmapSurface takes one mapSurface back.
func (c *Client) unmapSurface(s *driver.Surface) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.mapped[s]
	if m == nil {
		return fmt.Errorf("surface %d is not mapped", s.ID())
	}
	if m.users--; m.users > 0 {
		return nil
	}
	delete(c.mapped, s)
	return c.driver.Unmap(m.Slot)
}

// mapAll maps surfaces, or none.
func (c *Client) mapAll(list []*driver.Surface) error {
	for i, s := range list {
		if err := c.mapSurface(s); err != nil {
			for _, done := range list[:i] {
				_ = c.unmapSurface(done)
			}
			return err
		}
	}
	return nil
}

// directPath is the connection for direct evaluation, open.
func (c *Client) directPath() (conn *driver.Conn, sequence uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.direct == nil {
		conn, err := c.driver.Connect(firmware.DirectPath)
		if err != nil {
			return nil, 0, err
		}
		info := make([]byte, firmware.DeviceOpen.Size)
		info[0] = 1 // standard use
		if _, err := conn.Call(0, nil, info, make([]byte, len(info))); err != nil {
			return nil, 0, err
		}
		c.direct = conn
	}
	c.sequence++
	return c.direct, c.sequence, nil
}
