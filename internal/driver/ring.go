package driver

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/espalier-ane/espalier/firmware"
)

// The command ring: messages between the host and the controller, a header and a body each, in shared memory.
//
//	written ─────────────────► ┌─ by the next post ─
//	…  PROCEDURE_CALL │ CACHE_REQUEST │ free …
//	   └ read when the doorbell rings
//
// The controller looks at a command when the host rings: here the goroutine that posts it does so itself, for there is nobody to
// wake. What is behind stays until it is written over, as in the firmware, whose dump after a fault shows the last commands.
type ring struct {
	mu       sync.Mutex
	memory   []byte
	write    int    // where the next message goes
	places   []int  // where those that are still there begin, oldest first
	doorbell uint64 // how often it rang
}

const (
	ringBytes  = 64 << 10
	maxMessage = ringBytes / 4
)

// command is the id in a header of a command by its number on the wire.
func command(wire uint16) uint32 {
	c, ok := firmware.CommandByWire(wire)
	if !ok || c.ID < 0 {
		panic(fmt.Sprintf("bug: no command %#x", wire))
	}
	return uint32(c.ID)
}

// post writes a command and rings.
func (r *ring) post(id uint32, h firmware.Header, body []byte) error {
	_, _, err := r.send(id, h, body)
	return err
}

// send is post that gives back what the controller reads: a header and a copy of the body.
func (r *ring) send(id uint32, h firmware.Header, body []byte) (firmware.Header, []byte, error) {
	h.ID = id
	size := firmware.ControllerHeader.Size + len(body)
	if size > maxMessage {
		return h, nil, fail(NoResources, "maxCmdBufSize >= sizeof(*pMsg) + pCmdHdr->size: a command of %d bytes, and at most %d are taken", size, maxMessage)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory == nil {
		r.memory = make([]byte, ringBytes)
	}
	if r.write+size > len(r.memory) {
		r.write = 0
	}
	at := r.write
	r.write = at + (size+7)&^7
	for len(r.places) > 0 && r.places[0] >= at && r.places[0] < r.write {
		r.places = append(r.places[:0], r.places[1:]...)
	}
	if _, err := firmware.AppendMessage(r.memory[at:at], h, body); err != nil {
		return h, nil, because(BadArgument, err, "the command")
	}
	r.places = append(r.places, at)
	r.doorbell++
	got, read, err := firmware.ReadMessage(r.memory[at:r.write])
	if err != nil {
		return h, nil, because(BadArgument, err, "the command")
	}
	return got, append([]byte(nil), read...), nil
}

// A Message is a command that was posted.
type Message struct {
	firmware.Header
	Command firmware.Command
	Body    []byte
}

// Recent lists the last commands that the host has posted, newest first, as far as the ring still has them.
func (d *Device) Recent() []Message {
	r := &d.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Message
	for i := len(r.places) - 1; i >= 0; i-- {
		h, body, err := firmware.ReadMessage(r.memory[r.places[i]:])
		if err != nil {
			break
		}
		c, _ := firmware.CommandByID(h.ID)
		list = append(list, Message{h, c, append([]byte(nil), body...)})
	}
	return list
}

// Doorbell is how often the host has rung.
func (d *Device) Doorbell() uint64 {
	d.ring.mu.Lock()
	defer d.ring.mu.Unlock()
	return d.ring.doorbell
}

// The body of a procedure call, of any kind: firmware.CallBody, its buffers and its events.

// A bar is a buffer-access register: where the engine sees the memory of a port.
type bar struct {
	index         int
	address, size uint64
}

// A wireEvent is an event in a message.
type wireEvent struct {
	kind, mask uint32
	id, value  uint64
}

// A callBody is what a procedure call says beside its header.
type callBody struct {
	sequence uint64
	bars     []bar
	waits    []wireEvent
	signals  []wireEvent
}

func (b *callBody) encode() []byte {
	le := binary.LittleEndian
	dst := make([]byte, 0, firmware.CallBody.Size+firmware.BarRecord.Size*len(b.bars)+firmware.Event.Size*(len(b.waits)+len(b.signals)))
	dst = le.AppendUint64(dst, b.sequence)
	dst = le.AppendUint32(dst, uint32(len(b.bars)))
	dst = le.AppendUint32(dst, 0)
	dst = le.AppendUint32(dst, uint32(len(b.waits)))
	dst = le.AppendUint32(dst, uint32(len(b.signals)))
	for _, r := range b.bars {
		dst = le.AppendUint32(dst, uint32(r.index))
		dst = le.AppendUint32(dst, 0)
		dst = le.AppendUint64(dst, r.address)
		dst = le.AppendUint64(dst, r.size)
	}
	for _, list := range [][]wireEvent{b.waits, b.signals} {
		for _, e := range list {
			dst = appendEvent(dst, e)
		}
	}
	return dst
}

func appendEvent(dst []byte, e wireEvent) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, e.kind)
	dst = le.AppendUint32(dst, e.mask)
	dst = le.AppendUint64(dst, e.id)
	return le.AppendUint64(dst, e.value)
}

func readEvent(src []byte) wireEvent {
	le := binary.LittleEndian
	return wireEvent{le.Uint32(src), le.Uint32(src[4:]), le.Uint64(src[8:]), le.Uint64(src[16:])}
}

func decodeCall(src []byte) (b callBody, err error) {
	le := binary.LittleEndian
	if len(src) < firmware.CallBody.Size {
		return b, fail(BadArgument, "the body of a procedure call has %d bytes", len(src))
	}
	bars, custom, waits, signals := uint64(le.Uint32(src[8:])), uint64(le.Uint32(src[12:])), uint64(le.Uint32(src[16:])), uint64(le.Uint32(src[20:]))
	b.sequence = le.Uint64(src)
	if want := uint64(firmware.CallBody.Size) + uint64(firmware.BarRecord.Size)*bars + uint64(firmware.Event.Size)*(waits+signals); custom != 0 || want != uint64(len(src)) {
		return b, fail(BadArgument, "Bufs = %d CustomBars = %d WaitEvents = %d SignalEvents = %d need %d bytes, and there are %d", bars, custom, waits, signals, want, len(src))
	}
	src = src[firmware.CallBody.Size:]
	for range bars {
		b.bars = append(b.bars, bar{int(le.Uint32(src)), le.Uint64(src[8:]), le.Uint64(src[16:])})
		src = src[firmware.BarRecord.Size:]
	}
	for i, n := range []uint64{waits, signals} {
		for range n {
			e := readEvent(src)
			src = src[firmware.Event.Size:]
			if i == 0 {
				b.waits = append(b.waits, e)
			} else {
				b.signals = append(b.signals, e)
			}
		}
	}
	return b, nil
}
