package aneclient

import (
	"context"

	"github.com/espalier-ane/espalier/internal/driver"
)

// A SharedEvent is a number that only rises and that anybody may wait for: what an MTLSharedEvent or an IOSurfaceSharedEvent is there.
type SharedEvent struct {
	event *driver.Event
	id    uint64
}

// NewSharedEvent makes an event with the value 0.
func (c *Client) NewSharedEvent() (*SharedEvent, error) {
	e := driver.NewEvent()
	id, err := c.driver.ShareEvent(e)
	if err != nil {
		return nil, ErrBadArgument.because(err)
	}
	return &SharedEvent{e, id}, nil
}

// ID is the number that agents are told.
func (e *SharedEvent) ID() uint64 { return e.id }

// Value is the value now.
func (e *SharedEvent) Value() uint64 { return e.event.Value() }

// Signal raises the value.
func (e *SharedEvent) Signal(value uint64) { e.event.Signal(value) }

// Wait waits until the value is so high, or it is known that it will not be.
func (e *SharedEvent) Wait(ctx context.Context, value uint64) error { return e.event.Wait(ctx, value) }

// Listen has f called once, when the value is so high or will not be.
func (e *SharedEvent) Listen(value uint64, f func(error)) { e.event.Listen(value, f) }

// An EventType is one of three. The research knows their numbers and that all are taken; nothing here depends on it.
type EventType int

// A SharedSignalEvent is an event that a request or chain raises: _ANESharedSignalEvent.
type SharedSignalEvent struct {
	Event       *SharedEvent
	Value       uint64 // of a chain: that of the output set, or the free value
	SymbolIndex int
	Type        EventType
	AgentMask   uint32 // whose listeners are called; 0: in a chain that of the producer of the buffer

	// Free has a chain raise it when the input of the symbol may be written again, instead of when the output is there.
	Free bool
}

// NewSignalEvent makes one: +signalEventWithValue:symbolIndex:eventType:sharedEvent:.
func NewSignalEvent(value uint64, symbolIndex int, t EventType, e *SharedEvent) (*SharedSignalEvent, error) {
	switch {
	case e == nil:
		return nil, ErrBadArgument.saying("a signal event needs a shared event")
	case t < 0 || t >= driver.EventTypes:
		return nil, ErrBadArgument.saying("event type %d: want 0, 1 or 2", t)
	}
	return &SharedSignalEvent{Event: e, Value: value, SymbolIndex: symbolIndex, Type: t}, nil
}

// A SharedWaitEvent is an event that a request waits for: _ANESharedWaitEvent.
type SharedWaitEvent struct {
	Event *SharedEvent
	Value uint64
}

// NewWaitEvent makes one: +waitEventWithValue:sharedEvent:.
func NewWaitEvent(value uint64, e *SharedEvent) (*SharedWaitEvent, error) {
	if e == nil {
		return nil, ErrBadArgument.saying("a wait event needs a shared event")
	}
	return &SharedWaitEvent{e, value}, nil
}

// SharedEvents are those of a request: _ANESharedEvents.
type SharedEvents struct {
	Signals []*SharedSignalEvent
	Waits   []*SharedWaitEvent
}
