package driver

import (
	"sync"
	"sync/atomic"

	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/hal"
)

// A Device is an engine as the host sees it: its controller, the slots of programs and processes, and who uses it.
type Device struct {
	target *hal.Target
	engine *controller
	ring   ring

	mu        sync.Mutex
	programs  slots[*Program]
	processes slots[*Process]
	clients   int

	tokens   atomic.Uint64 // the last that was given
	surfaces atomic.Uint32 // likewise

	chainingOff atomic.Bool // by ForceDisableChains
}

// devices are those of the process, one for each target.
var devices sync.Map // by name

// Open returns the process's device of a target.
func Open(t *hal.Target) *Device {
	d, ok := devices.Load(t.Name)
	if !ok {
		d, _ = devices.LoadOrStore(t.Name, New(t))
	}
	return d.(*Device)
}

// New makes a device that nobody else has.
func New(t *hal.Target) *Device {
	d := &Device{target: t, engine: newController(t)}
	d.programs.limit, d.processes.limit = t.Driver.Programs, t.Driver.Processes
	d.tokens.Store(firstToken)
	return d
}

// firstToken is where tokens begin: a number that is no index and no address.
const firstToken = 0x133_0000_0000

// Target is the chip.
func (d *Device) Target() *hal.Target { return d.target }

// Counts are what the controller has done so far.
func (d *Device) Counts() Counts {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	return d.engine.stats
}

// A Status is what a device is doing.
type Status struct {
	State                       State
	Running, Queued             int // requests
	Programs, Processes, Client int
}

// Status is what the device is doing now.
func (d *Device) Status() (s Status) {
	d.engine.mu.Lock()
	s.State, s.Running, s.Queued = d.engine.state, len(d.engine.running), d.engine.queued
	d.engine.mu.Unlock()
	d.mu.Lock()
	s.Programs, s.Processes, s.Client = d.programs.used, d.processes.used, d.clients
	d.mu.Unlock()
	return s
}

// The version that the device gives (guide 27).
const (
	versionMajor = 32
	versionMinor = 256
)

// Grants are what a client may do, as entitlements give it (guide 27).
type Grants uint8

// The grants.
const (
	AllowRealTime         Grants = 1 << iota // com.apple.ane.realtime-priority-client
	AllowSystemPriorities                    // com.apple.ane.allow-system-reserved-priorities
	AllowChaining                            // com.apple.ane.allow-dataChaining-access
	AllowSecure                              // exclusive mode; no source has a name for it

	AllowAll = AllowRealTime | AllowSystemPriorities | AllowChaining | AllowSecure
)

// slots are numbers from 0 on for what is loaded.
type slots[T comparable] struct {
	limit int // 0: none
	list  []T
	used  int
}

// take gives a number to one. The numbers of those who left are given again.
func (s *slots[T]) take(one T) (int, bool) {
	var none T
	for i := range s.list {
		if s.list[i] == none {
			s.list[i] = one
			s.used++
			return i, true
		}
	}
	if s.limit > 0 && len(s.list) == s.limit {
		return int(^uint32(0)), false
	}
	s.list = append(s.list, one)
	s.used++
	return len(s.list) - 1, true
}

func (s *slots[T]) give(i int) {
	var none T
	s.list[i] = none
	s.used--
}

// at is what has a number.
func (s *slots[T]) at(i int) (one T, ok bool) {
	var none T
	if i < 0 || i >= len(s.list) {
		return none, false
	}
	return s.list[i], s.list[i] != none
}

// priorityOf is the priority of a request, and whether the client may have it: the one that it names, or that of its quality of service.
func (c *Client) priorityOf(priority, qos int) (int, error) {
	if priority == ByQoS {
		p, ok := PriorityOf(qos)
		if !ok {
			return 0, fail(BadArgument, "quality of service %d: want 0 to %d", qos, MaxQoS)
		}
		priority = p
	}
	switch {
	case priority < 0 || priority >= priorities:
		return 0, fail(BadArgument, "fwPriority < 8: priority is %d", priority)
	case priority < firmware.SystemPriorities && c.grants&AllowSystemPriorities == 0:
		return 0, fail(NotPrivileged, "priority %d is reserved for the system", priority)
	case priority <= realTimePriority && c.grants&AllowRealTime == 0:
		return 0, fail(NotPrivileged, "priority %d is that of real-time clients", priority)
	}
	return priority, nil
}

// ByQoS is a priority that follows from the quality of service.
const ByQoS = -1

const realTimePriority = 2
