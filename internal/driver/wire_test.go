package driver_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/internal/driver"
)

var le = binary.LittleEndian

// A speaker knows nothing of the driver but connections, numbers and bytes, and memory with a number.
type speaker struct {
	t               testing.TB
	control, direct func(selector uint32, scalars []uint64, in, out []byte) ([]uint64, error)
	memory          func(bytes int) (id uint32, memory []byte)
	event           func() (id uint64, value func() uint64)
	replies         chan []byte
}

// words makes a structure of n bytes with 32-bit words at offsets.
func words(n int, at ...uint64) []byte {
	b := make([]byte, n)
	for i := 0; i < len(at); i += 2 {
		le.PutUint32(b[at[i]:], uint32(at[i+1]))
		if at[i+1]>>32 != 0 {
			le.PutUint32(b[at[i]+4:], uint32(at[i+1]>>32))
		}
	}
	return b
}

func newSpeaker(t testing.TB, d *driver.Device) *speaker {
	t.Helper()
	c := d.NewClient(driver.AllowAll)
	s := &speaker{t: t, replies: make(chan []byte, 200)}
	for kind, call := range map[firmware.Client]*func(uint32, []uint64, []byte, []byte) ([]uint64, error){firmware.Control: &s.control, firmware.DirectPath: &s.direct} {
		conn, err := c.Connect(kind)
		check(t, err)
		conn.SetWake(func(reference uint64, reply []byte) { s.replies <- le.AppendUint64(reply, reference) })
		*call = conn.Call
	}
	s.memory = func(bytes int) (uint32, []byte) {
		m, err := c.NewSurface(bytes)
		check(t, err)
		return m.ID(), m.Bytes()
	}
	s.event = func() (uint64, func() uint64) {
		e := driver.NewEvent()
		id, err := c.ShareEvent(e)
		check(t, err)
		return id, e.Value
	}
	t.Cleanup(func() { _ = c.Close() })
	return s
}

// open opens both connections.
func (s *speaker) open() {
	s.t.Helper()
	for _, call := range []func(uint32, []uint64, []byte, []byte) ([]uint64, error){s.control, s.direct} {
		info := words(104, 0, 1, 0x18, 10000)
		out := make([]byte, 104)
		_, err := call(0, nil, info, out)
		check(s.t, err)
		if le.Uint64(out) == 0 || le.Uint32(out[0x48:]) != 32 || le.Uint32(out[0x4c:]) != 256 || le.Uint32(out[0x54:]) != 1 || le.Uint32(out[0x18:]) != 10000 {
			s.t.Errorf("the device says % x", out)
		}
	}
}

// load creates a program of a container and prepares it.
func (s *speaker) load(container []byte) (token uint64) {
	s.t.Helper()
	file, memory := s.memory(len(container))
	copy(memory, container)
	at, args := s.memory(0xd0 + 0x30)
	le.PutUint64(args[0x00:], uint64(file)<<32)
	le.PutUint64(args[0x08:], uint64(len(container)))
	digest := sha256.Sum256(container)
	copy(args[0x18:], digest[:])
	le.PutUint32(args[0x64:], 21)
	_, err := s.control(3, nil, words(32, 0x04, uint64(at), 0x08, 0xd0, 0x10, 0xd0, 0x14, uint64(at), 0x18, 0x30), nil)
	check(s.t, err)
	token = le.Uint64(args[0xd0:])
	if depth := le.Uint32(args[0xd8:]); depth != 127 || [32]byte(args[0xe0:]) != digest {
		s.t.Errorf("queue depth %d, signature %x", depth, args[0xe0:])
	}
	prepared := make([]byte, 56)
	_, err = s.control(4, nil, words(56, 0, token), prepared)
	check(s.t, err)
	if le.Uint64(prepared) != token || le.Uint32(prepared[0x18:]) != 1 || le.Uint64(prepared[0x20:]) == 0 {
		s.t.Errorf("prepared: % x", prepared)
	}
	return token
}

// mapped makes memory that the engine sees, in a slot.
func (s *speaker) mapped(bytes, slot int) (id uint32, memory []byte, address uint64) {
	s.t.Helper()
	id, memory = s.memory(bytes)
	out, err := s.direct(5, []uint64{0}, words(2080, 8, 1, 0x20, uint64(id), 0x24, uint64(slot)), nil)
	check(s.t, err)
	return id, memory, out[0]
}

// request is the structure of one with an input and an output.
func request(token, sequence uint64, x, y uint32) []byte {
	return words(2376, 0, token, 8, sequence, 0x10, math.MaxUint32, 0x14, 21, 0x1c, 2, 0x20, 1, 0x24, 1, 0x48, uint64(x), 0x54, uint64(y))
}

func half(t testing.TB, memory []byte, want uint16) {
	t.Helper()
	if got := le.Uint16(memory); got != want {
		t.Errorf("got %#04x, want %#04x", got, want)
	}
}

// fp16 of small numbers.
const (
	one   = 0x3c00
	two   = 0x4000
	three = 0x4200
	seven = 0x4700
)

// The whole way by selectors and bytes: open, load, map, submit in both ways, chain.
func TestWire(t *testing.T) {
	d := single(t)
	s := newSpeaker(t, d)
	s.open()
	double, inc := s.load(linear(t, 8, 2, 0)), s.load(linear(t, 8, 1, 1))

	x, input, first := s.mapped(16, 7)
	y, output, second := s.mapped(16, 8)
	if first == second || first%0x4000 != 0 || second%0x4000 != 0 {
		t.Errorf("the engine sees them at %#x and %#x", first, second)
	}
	le.PutUint16(input, three)

	// A caller that waits.
	reply := make([]byte, 40)
	_, err := s.control(2, []uint64{0}, request(inc, 5, x, y), reply)
	check(t, err)
	half(t, output, 0x4400)
	if le.Uint64(reply) != 5 || le.Uint64(reply[8:]) != inc || le.Uint32(reply[0x10:]) != 0 || le.Uint32(reply[0x20:]) != 0 {
		t.Errorf("the reply: % x", reply)
	}

	// One that is woken, by the other client; an instance of its own, with events and statistics.
	at, where := s.memory(8)
	_, err = s.control(8, nil, words(32, 0, double, 0x0c, uint64(at)), nil)
	check(t, err)
	instance := le.Uint64(where)
	wait, _ := s.event()
	done, value := s.event()
	stats, record := s.memory(0x48)
	in := request(instance, 6, x, y)
	le.PutUint32(in[0x38:], stats)
	le.PutUint32(in[0x40:], 1)
	le.PutUint64(in[0x648+8:], wait) // value 0: it is there
	le.PutUint32(in[0x44:], 1)
	copy(in[0x7c8:], words(24, 0, 2, 4, 1, 8, done, 16, 4))
	_, err = s.direct(2, []uint64{77}, in, reply)
	check(t, err)
	if le.Uint32(reply[0x20:]) != 1 {
		t.Errorf("the answer at once: % x", reply)
	}
	woken := <-s.replies
	if len(woken) != 48 || le.Uint64(woken) != 6 || le.Uint64(woken[8:]) != instance || le.Uint32(woken[0x10:]) != 0 || le.Uint64(woken[40:]) != 77 {
		t.Errorf("the reply: % x", woken)
	}
	half(t, output, 0x4600)
	if value() != 4 || le.Uint16(record) != 0x0101 || le.Uint64(record[0x1c:]) != 6 || le.Uint32(record[0x24:]) != 0x20 || le.Uint32(record[0x38:]) != 1 {
		t.Errorf("event %d, statistics % x", value(), record)
	}

	// Surfaces that are mapped for a program need not be named.
	_, err = s.direct(5, []uint64{0}, words(2080, 0, inc, 8, 2, 0x20, uint64(x), 0x24, math.MaxUint32, 0x30, uint64(y), 0x34, math.MaxUint32, 0x3c, 1), nil)
	check(t, err)
	in = request(inc, 7, 0, 0)
	le.PutUint64(in[0x20:], 0)
	_, err = s.control(2, []uint64{0}, in, reply)
	check(t, err)
	half(t, output, 0x4400)

	// A chain of two programs with loop-back: x becomes 2x+1.
	between, _, _ := s.mapped(16, 20)
	set, result, _ := s.mapped(16, 21)
	where1, args := s.memory(64 + 2*24 + 4 + 8 + 24 + 4*12)
	copy(args, words(64, 0, 2, 4, 1, 8, 1, 0xc, 1, 0x10, 9, 0x14, 21, 0x18, math.MaxUint32, 0x20, 123))
	rest := args[64:]
	for _, part := range [][]byte{
		words(24, 0, double, 0xc, 1, 0x10, 1), words(24, 0, inc, 0xc, 1), words(4, 0, 1), words(8), words(24, 8, done, 0x14, 1),
		words(12, 0, uint64(x)), words(12, 0, uint64(between)), words(12, 0, uint64(between)), words(12, 0, uint64(set)),
	} {
		rest = rest[copy(rest, part):]
	}
	prepared := make([]byte, 24)
	_, err = s.control(9, nil, words(16, 4, uint64(where1), 8, uint64(len(args))), prepared)
	check(t, err)
	if le.Uint64(prepared) == 0 || le.Uint32(prepared[8:]) != 2 || le.Uint32(prepared[12:]) != 1 || le.Uint64(prepared[16:]) != 123 {
		t.Errorf("the chain: % x", prepared)
	}
	_, err = s.direct(8, nil, words(32, 0, double, 8, 9), nil)
	check(t, err)
	le.PutUint16(input, one)
	for i, want := range []uint16{three, seven, 0x4b80} {
		_, err = s.direct(3, nil, words(40, 0, double, 8, 9, 0x10, uint64(10+i)), nil)
		check(t, err)
		_, err = s.direct(4, nil, words(3104, 0, double, 8, 9, 0xc, 1), nil)
		check(t, err)
		if woken := <-s.replies; le.Uint32(woken[0x10:]) != 0 || le.Uint64(woken[40:]) != 123 {
			t.Errorf("the reply: % x", woken)
		}
		half(t, result, want)
		if value() != uint64(10+i) {
			t.Errorf("the event has the value %d", value())
		}
	}

	// The end: what is in use is not unloaded.
	expect := func(want driver.Code, err error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	_, err = s.control(5, nil, words(56, 0, double), nil)
	expect(driver.Busy, err)
	_, err = s.direct(8, nil, words(32, 0, double, 8, 9, 0xc, 1), nil)
	check(t, err)
	for _, token := range []uint64{double, inc} {
		_, err = s.control(5, nil, words(56, 0, token), nil)
		check(t, err)
		_, err = s.control(6, nil, words(16, 0, token), nil)
		check(t, err)
	}
	_, err = s.direct(6, nil, words(2080, 8, 1, 0x24, 7), nil)
	check(t, err)
	status := make([]byte, 32)
	_, err = s.control(7, nil, nil, status)
	check(t, err)
	if le.Uint32(status) != 1 || le.Uint32(status[0xc:]) != 0 || le.Uint32(status[0x10:]) != 0 || le.Uint32(status[0x14:]) != 1 {
		t.Errorf("status % x", status)
	}
	version, err := s.control(10, nil, nil, nil)
	check(t, err)
	if version[0] != 32 {
		t.Errorf("version %d", version)
	}
	for _, call := range []func(uint32, []uint64, []byte, []byte) ([]uint64, error){s.control, s.direct} {
		_, err = call(1, nil, nil, nil)
		check(t, err)
		_, err = call(1, nil, nil, nil)
		expect(driver.ExclusiveAccess, err)
	}
}

// A wrong size, selector, token, slot or order gets its error, and does nobody harm: what another client has under way goes on.
func TestWireErrors(t *testing.T) {
	d := driver.New(target(t, "virtual"))
	neighbour := newSpeaker(t, d)
	neighbour.open()
	theirs := neighbour.load(linear(t, 8, 2, 0))
	nx, nin, _ := neighbour.mapped(16, 0)
	ny, nout, _ := neighbour.mapped(16, 1)
	le.PutUint16(nin, three)
	unharmed := func() {
		t.Helper()
		clear(nout)
		_, err := neighbour.control(2, []uint64{0}, request(theirs, 1, nx, ny), make([]byte, 40))
		check(t, err)
		half(t, nout, 0x4600)
	}
	unharmed()

	s := newSpeaker(t, d)
	expect := func(what string, want driver.Code, err error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
		unharmed()
	}
	reply := make([]byte, 40)

	// Before the device is open, and how it is opened.
	_, err := s.control(3, nil, make([]byte, 32), nil)
	expect("before it is open", driver.NotReady, err)
	_, err = s.control(0, nil, words(104, 0, 2), make([]byte, 104))
	expect("usage 2", driver.Unsupported, err)
	_, err = s.control(0, nil, words(104, 0, 3), make([]byte, 104))
	expect("usage 3", driver.BadArgument, err)
	s.open()
	_, err = s.control(0, nil, words(104, 0, 1), make([]byte, 104))
	expect("opened twice", driver.Busy, err)

	// Every method of both clients with other sizes, and selectors that are none.
	for kind, call := range map[firmware.Client]func(uint32, []uint64, []byte, []byte) ([]uint64, error){firmware.Control: s.control, firmware.DirectPath: s.direct} {
		for selector := range uint32(20) {
			m, ok := kind.Method(selector)
			if !ok {
				_, err = call(selector, nil, nil, nil)
				expect("a selector that is none", driver.BadArgument, err)
				continue
			}
			for _, sizes := range [][3]int{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, -1, 0}} {
				if m.StructIn+sizes[1] < 0 {
					continue
				}
				_, err = call(selector, make([]uint64, m.ScalarIn+sizes[0]), make([]byte, m.StructIn+sizes[1]), make([]byte, m.StructOut+sizes[2]))
				expect(m.Name+" with other sizes", driver.BadArgument, err)
			}
		}
	}
	for selector := uint32(11); selector <= 16; selector++ {
		m, _ := firmware.Control.Method(selector)
		_, err = s.control(selector, make([]uint64, m.ScalarIn), make([]byte, m.StructIn), nil)
		expect(m.Name, driver.Unsupported, err)
	}

	token := s.load(linear(t, 8, 2, 0))
	x, input, _ := s.mapped(16, 0)
	y, output, _ := s.mapped(16, 1)

	// Tokens: none, another client's, one of another kind.
	for what, bad := range map[string]uint64{"no token": 0, "another's token": theirs, "a token that never was": token + 1000} {
		_, err = s.control(2, []uint64{0}, request(bad, 1, x, y), reply)
		expect(what, driver.NotFound, err)
		_, err = s.control(6, nil, words(16, 0, bad), nil)
		expect(what+" to destroy", driver.NotFound, err)
		_, err = s.control(4, nil, words(56, 0, bad), make([]byte, 56))
		expect(what+" to prepare", driver.NotFound, err)
		_, err = s.direct(3, nil, words(40, 0, bad), nil)
		expect(what+" of a chain", driver.NotFound, err)
	}

	// Surfaces and slots.
	for what, row := range map[string]struct {
		in   []byte
		want driver.Code
	}{
		"another's surface": {words(2080, 8, 1, 0x20, uint64(nx), 0x24, 5), driver.NotFound},
		"no surface":        {words(2080, 8, 1, 0x24, 5), driver.NotFound},
		"slot 128":          {words(2080, 8, 1, 0x20, uint64(x), 0x24, 128), driver.BadArgument},
		"a slot in use":     {words(2080, 8, 1, 0x20, uint64(x), 0x24, 1), driver.Busy},
		"no records":        {words(2080), driver.BadArgument},
		"129 records":       {words(2080, 8, 129), driver.BadArgument},
		"the second fails":  {words(2080, 8, 2, 0x20, uint64(x), 0x24, 5, 0x30, uint64(x), 0x34, 1), driver.Busy},
	} {
		_, err = s.direct(5, []uint64{0}, row.in, nil)
		expect(what, row.want, err)
	}
	_, err = s.direct(6, nil, words(2080, 8, 1, 0x24, 5), nil)
	expect("slot 5 is not mapped after all", driver.NotFound, err)

	// Requests.
	le.PutUint16(input, two)
	for what, row := range map[string]struct {
		at, value uint64
		want      driver.Code
	}{
		"another's surface":   {0x48, uint64(nx), driver.NotFound},
		"procedure 1":         {0x2c, 1, driver.BadArgument},
		"symbol 1":            {0x4c, 1, driver.BadArgument},
		"an offset beyond":    {0x50, 4, driver.BadArgument},
		"an offset far away":  {0x50, math.MaxUint32, driver.BadArgument},
		"no inputs":           {0x20, 0, driver.BadArgument},
		"too many surfaces":   {0x28, 127, driver.BadArgument},
		"quality 64":          {0x14, 64, driver.BadArgument},
		"priority 8":          {0x10, 8, driver.BadArgument},
		"a negative priority": {0x10, math.MaxUint32 - 1, driver.BadArgument},
		"17 events":           {0x40, 17, driver.BadArgument},
		"an event of nobody":  {0x44, 1, driver.NotFound},
		"no statistics":       {0x38, 999999, driver.NotFound},
	} {
		in := request(token, 1, x, y)
		le.PutUint32(in[row.at:], uint32(row.value))
		_, err = s.control(2, []uint64{0}, in, reply)
		expect(what, row.want, err)
	}
	_, err = s.control(4, nil, words(56, 0, token), make([]byte, 56))
	expect("prepared twice", driver.Busy, err)
	_, err = s.direct(4, nil, words(3104, 0, token), nil)
	expect("inputs before there is a chain", driver.NotFound, err)
	_, err = s.control(9, nil, words(16, 4, uint64(x), 8, 16), make([]byte, 24))
	expect("a chain in too few bytes", driver.BadArgument, err)
	_, err = s.control(3, nil, words(32, 4, uint64(x), 8, 0xd0, 0x14, uint64(x), 0x18, 0x30), nil)
	expect("arguments beyond a surface", driver.BadArgument, err)

	// A deadline, and the same memory afterwards.
	slow := s.load(long(t, 100))
	in := request(slow, 9, x, y)
	le.PutUint64(in[0x30:], 1000)
	_, err = s.control(2, []uint64{0}, in, reply)
	expect("a deadline", driver.Timeout, err)
	if le.Uint64(reply) != 9 || le.Uint32(reply[0x10:]) != 0xe00002d6 || le.Uint32(reply[0x20:]) != 2 {
		t.Errorf("the reply: % x", reply)
	}
	_, err = s.control(5, nil, words(56, 0, slow), nil)
	check(t, err)
	_, err = s.control(2, []uint64{0}, request(slow, 1, x, y), reply)
	expect("a program that was unloaded", driver.NotReady, err)
	_, err = s.control(5, nil, words(56, 0, slow), nil)
	expect("unloaded twice", driver.NotReady, err)

	// And what is right still works.
	_, err = s.control(2, []uint64{0}, request(token, 1, x, y), reply)
	check(t, err)
	half(t, output, 0x4400)
}

// sparse writes a call for FuzzWire: the client and selector, and 32-bit words at offsets. Words from magic on stand for names of what is there.
func sparse(kind firmware.Client, selector uint32, at ...uint32) []byte {
	b := []byte{byte(kind)<<7 | byte(selector), byte(len(at) / 2)}
	for i := 0; i < len(at); i += 2 {
		b = le.AppendUint16(b, uint16(at[i]))
		b = le.AppendUint32(b, at[i+1])
	}
	return b
}

const (
	magic        = 0xfffffff0
	magicProgram = magic + iota // the low half of its token; the high half is put behind
	magicX
	magicY
	magicArgs
	magicEvent
)

// FuzzWire makes calls of any bytes, one after the other: nothing panics or hangs, and another client is unharmed.
func FuzzWire(f *testing.F) {
	request := []uint32{0, magicProgram, 0x14, 21, 0x10, 0xffffffff, 0x20, 1, 0x24, 1, 0x48, magicX, 0x54, magicY}
	for _, m := range firmware.Methods() {
		f.Add(sparse(m.Client, m.Selector, 0, magicProgram), []byte(nil))
	}
	f.Add(sparse(firmware.Control, 2, request...), []byte(nil))
	f.Add(sparse(firmware.DirectPath, 2, append(request, 0x44, 1, 0x7d0, magicEvent, 0x7d8, 3)...), []byte(nil))
	f.Add(sparse(firmware.DirectPath, 5, 8, 1, 0x20, magicX, 0x24, 9), []byte(nil))
	chain := words(64+24+4+8+2*12, 0, 1, 4, 1, 8, 1, 0x14, 21, 0x18, math.MaxUint32, 64, magicProgram, 64+12, 1, 64+24, 1, 100, magicX, 112, magicY)
	f.Add(slices.Concat(
		sparse(firmware.Control, 9, 4, magicArgs, 8, uint32(len(chain))), sparse(firmware.DirectPath, 3, 0, magicProgram, 0x18, 0x100),
		sparse(firmware.DirectPath, 4, 0, magicProgram), sparse(firmware.DirectPath, 4, 0, magicProgram), sparse(firmware.DirectPath, 8, 0, magicProgram),
	), chain)
	d := driver.New(target(f, "virtual"))
	file := linear(f, 8, 2, 0)
	neighbour := newSpeaker(f, d)
	neighbour.open()
	theirs := neighbour.load(file)
	nx, nin, _ := neighbour.mapped(16, 0)
	ny, nout, _ := neighbour.mapped(16, 1)
	le.PutUint16(nin, three)
	f.Fuzz(func(t *testing.T, data, args []byte) {
		s := newSpeaker(t, d)
		s.open()
		token := s.load(file)
		x, _, _ := s.mapped(16, 0)
		y, _, _ := s.mapped(16, 1)
		event, _ := s.event()
		at, memory := s.memory(max(len(args), 1))
		copy(memory, args)
		name := func(dst []byte) {
			for ; len(dst) >= 8; dst = dst[4:] {
				switch le.Uint32(dst) {
				case magicProgram:
					le.PutUint64(dst, token)
				case magicX:
					le.PutUint32(dst, x)
				case magicY:
					le.PutUint32(dst, y)
				case magicArgs:
					le.PutUint32(dst, at)
				case magicEvent:
					le.PutUint64(dst, event)
				}
			}
		}
		name(memory)
		waiting := 0
		for calls := 0; len(data) >= 2 && calls < 16; calls++ {
			kind, call, selector := firmware.Client(data[0]>>7), s.control, uint32(data[0]&0x7f)
			if kind == firmware.DirectPath {
				call = s.direct
			}
			m, _ := kind.Method(selector)
			in := make([]byte, m.StructIn, m.StructIn+8)
			n := int(data[1])
			data = data[2:]
			for ; n > 0 && len(data) >= 6; n-- {
				if o := int(le.Uint16(data)); o+4 <= len(in) {
					copy(in[o:], data[2:6])
				}
				data = data[6:]
			}
			name(in)
			if m.Async { // it is not to take long
				le.PutUint64(in[0x30:], 1000)
			}
			scalars := make([]uint64, m.ScalarIn)
			if m.Async && kind == firmware.DirectPath {
				scalars[0] = 1
			}
			if _, err := call(selector, scalars, in, make([]byte, m.StructOut)); err == nil && m.Async && scalars[0] != 0 {
				waiting++
			}
		}
		for range waiting {
			select {
			case <-s.replies: // of this, or of a chain
			case <-time.After(30 * time.Second):
				t.Fatal("no reply")
			}
		}
		clear(nout)
		_, err := neighbour.control(2, []uint64{0}, requestOf(theirs, nx, ny), make([]byte, 40))
		check(t, err)
		half(t, nout, 0x4600)
	})
}

func requestOf(token uint64, x, y uint32) []byte { return request(token, 1, x, y) }
