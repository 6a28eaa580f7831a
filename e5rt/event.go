package e5rt

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/driver"
)

// An Event is a number that only rises, from 0, and that anyone may wait for: a shared event, the driver's own kind.
// Operations of streams wait for and signal events (After, Signals), and so do callers, by Wait, Listen, Signal and Fail.
//
//	stream a   ── conv ── Signals(e, 1) ───────────────
//	                          └────────┐
//	stream b   ── After(e, 1) · · · · · · ── relu ─────
type Event = driver.Event

// NewEvent makes an event with the value 0.
func NewEvent() *Event { return driver.NewEvent() }

// An EventType is what a signal is of: 0 to 2.
type EventType = driver.EventType

// A Dependency ties an operation of a stream to an event: it waits for a value before it runs, or signals one afterwards.
type Dependency struct {
	Event  *Event
	Value  uint64
	Signal bool      // afterwards; otherwise it waits
	Type   EventType // of a signal: 0 to 2
}

// After has an operation wait until an event has a value.
func After(e *Event, value uint64) Dependency { return Dependency{Event: e, Value: value} }

// Signals has an operation raise an event when it is done.
func Signals(e *Event, value uint64) Dependency {
	return Dependency{Event: e, Value: value, Signal: true}
}

func (d *Dependency) check() error {
	switch {
	case d.Event == nil:
		return fmt.Errorf("a dependency without an event")
	case d.Type < 0 || d.Type > 2 || d.Type != 0 && !d.Signal:
		return fmt.Errorf("an event of type %d: want 0, 1 or 2, of a signal", d.Type)
	}
	return nil
}
