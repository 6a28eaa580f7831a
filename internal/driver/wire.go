package driver

import (
	"sync"

	"github.com/espalier-ane/espalier/firmware"
)

// A Conn is a connection of a client: the submission interface, in which all is numbers and bytes. Only the files wire*.go read and write
// them; what a call does is a method of the types that the others have.
//
//	Call(selector, scalars, in) ── the row of firmware.Methods: sizes ── its function in calls ── Program, Process, Chain, …
//
// A call is known by the kind of connection, the selector and the sizes of what it is given; any other size is refused before anything is
// read. It is safe for concurrent use.
type Conn struct {
	client *Client
	kind   firmware.Client

	mu      sync.Mutex
	phase   connPhase
	timeout uint32 // milliseconds
	wake    func(reference uint64, reply []byte)
}

type connPhase uint8

const (
	unopened connPhase = iota
	opened
	shut
)

// SetWake sets the wake port: what is called with the reply of a request that was submitted with a reference.
func (c *Conn) SetWake(f func(reference uint64, reply []byte)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = f
}

// A wireCall is a call on its way.
type wireCall struct {
	*Conn
	scalars []uint64
	in, out []byte
	results []uint64
}

// calls are what the methods do, by client and name.
var calls = map[firmware.Client]map[string]func(*wireCall) error{
	firmware.Control: {
		"DeviceOpen":             (*wireCall).deviceOpen,
		"DeviceClose":            (*wireCall).deviceClose,
		"ProgramSendRequest":     (*wireCall).sendRequest,
		"ProgramCreate":          (*wireCall).programCreate,
		"ProgramPrepare":         (*wireCall).programPrepare,
		"ProgramUnprepare":       (*wireCall).programUnprepare,
		"ProgramDestroy":         (*wireCall).programDestroy,
		"GetStatus":              (*wireCall).getStatus,
		"ProgramCreateInstance":  (*wireCall).createInstance,
		"ProgramChainingPrepare": (*wireCall).chainingPrepare,
		"GetVersion":             (*wireCall).getVersion,

		// The debug surfaces are for an internal build, and the firmware is loaded by the driver itself (guide 27).
		"RegisterDebugWorkProcessor":       (*wireCall).unsupported,
		"UnregisterDebugWorkProcessor":     (*wireCall).unsupported,
		"GetDebugWorkProcessorItem":        (*wireCall).unsupported,
		"CompleteDebugWorkProcessorItem":   (*wireCall).unsupported,
		"ReleaseDebugWorkProcessorBuffers": (*wireCall).unsupported,
		"LoadFirmware":                     (*wireCall).unsupported,
	},
	firmware.DirectPath: {
		"DeviceOpen":                        (*wireCall).deviceOpen,
		"DeviceClose":                       (*wireCall).deviceClose,
		"ProgramSendRequest":                (*wireCall).sendRequest,
		"ProgramOutputSetEnqueue":           (*wireCall).outputSetEnqueue,
		"ProgramInputsReady":                (*wireCall).inputsReady,
		"MemoryMapRequest":                  (*wireCall).memoryMap,
		"MemoryUnMapRequest":                (*wireCall).memoryUnmap,
		"SessionHintRequest":                (*wireCall).sessionHint,
		"ProgramChainingSetActiveProcedure": (*wireCall).setActive,
	},
}

// Call makes a call: a selector with numbers and bytes, and room for the bytes that come back.
func (c *Conn) Call(selector uint32, scalars []uint64, in, out []byte) ([]uint64, error) {
	m, ok := c.kind.Method(selector)
	switch {
	case !ok:
		return nil, fail(BadArgument, "selector %d: the %v client has none", selector, c.kind)
	case len(scalars) != m.ScalarIn || len(in) != m.StructIn || len(out) != m.StructOut:
		return nil, fail(BadArgument, "%s takes %d scalars and %d bytes and gives %d bytes; there are %d, %d and room for %d",
			m.Name, m.ScalarIn, m.StructIn, m.StructOut, len(scalars), len(in), len(out))
	}
	c.mu.Lock()
	phase := c.phase
	c.mu.Unlock()
	switch {
	case phase == shut:
		return nil, fail(ExclusiveAccess, "the connection is closed")
	case phase == unopened && m.Name != "DeviceOpen":
		return nil, fail(NotReady, "%s: the device is not open", m.Name)
	}
	call := wireCall{c, scalars, in, out, make([]uint64, m.ScalarOut)}
	if err := calls[c.kind][m.Name](&call); err != nil {
		return nil, err
	}
	return call.results, nil
}

// get is a number of a structure. A name that is not in the layout is a bug.
func get(l *firmware.Layout, data []byte, name string) uint64 {
	v, err := l.Get(data, name)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return v
}

func get32(l *firmware.Layout, data []byte, name string) uint32 { return uint32(get(l, data, name)) }

func set(l *firmware.Layout, data []byte, name string, v uint64) {
	if err := l.Set(data, name, v); err != nil {
		panic("bug: " + err.Error())
	}
}

func part(l *firmware.Layout, data []byte, name string) []byte {
	b, err := l.Bytes(data, name)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return b
}

// memory is the client's memory at an address: a surface in the upper half, a byte of it in the lower.
func (w *wireCall) memory(at, size uint64) ([]byte, error) {
	c := w.client
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	s, err := c.surface(uint32(at >> 32))
	if err != nil {
		return nil, err
	}
	offset := at & 0xffffffff
	if offset > uint64(len(s.memory)) || size > uint64(len(s.memory))-offset {
		return nil, fail(BadArgument, "%d bytes at byte %d of surface %d, which has %d", size, offset, s.id, len(s.memory))
	}
	return s.memory[offset : offset+size : offset+size], nil
}

func (w *wireCall) unsupported() error { return fail(Unsupported, "not of this build") }

func (w *wireCall) deviceOpen() error {
	l := firmware.DeviceOpen
	switch usage := byte(get(l, w.in, "token")); usage {
	case 1:
	case 2:
		return fail(Unsupported, "usage type 2")
	default:
		return fail(BadArgument, "usage type %d", usage)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase != unopened {
		return fail(Busy, "the connection is open")
	}
	if err := w.client.connect(); err != nil {
		return err
	}
	w.phase, w.timeout = opened, get32(l, w.in, "timeout")
	copy(w.out, w.in)
	set(l, w.out, "token", w.client.device.tokens.Add(1))
	set(l, w.out, "version", versionMajor)
	set(l, w.out, "minor", versionMinor)
	set(l, w.out, "enginesFirst", 0)
	set(l, w.out, "engines", 1)
	set(l, w.out, "cpuSubtype", uint64(w.client.device.target.CPUSubtype))
	return nil
}

func (w *wireCall) deviceClose() error {
	w.mu.Lock()
	if w.phase != opened {
		w.mu.Unlock()
		return fail(ExclusiveAccess, "the connection is closed")
	}
	w.phase = shut
	w.mu.Unlock()
	return w.client.disconnect()
}

func (w *wireCall) getVersion() error {
	w.results[0] = versionMajor
	return nil
}

func (w *wireCall) getStatus() error {
	l, s := firmware.GetStatus, w.client.device.Status()
	clear(w.out)
	for name, n := range map[string]int{
		"state": int(s.State), "running": s.Running, "queued": s.Queued, "programs": s.Programs, "processes": s.Processes, "clients": s.Client,
	} {
		set(l, w.out, name, uint64(n))
	}
	return nil
}

func (w *wireCall) sessionHint() error {
	l := firmware.SessionHint
	hint := get32(l, w.in, "hint")
	if hint != 1 && hint != 2 {
		return fail(BadArgument, "hint %d", hint)
	}
	clear(w.out)
	set(firmware.SessionHinted, w.out, "hint", uint64(hint))
	if w.client.grants&AllowRealTime != 0 {
		set(firmware.SessionHinted, w.out, "granted", 1)
	}
	return nil
}

func (w *wireCall) memoryMap() error {
	if w.scalars[0] != 0 {
		return fail(BadArgument, "the scalar is %#x, not 0", w.scalars[0])
	}
	process, records, err := w.mapRecords()
	if err != nil {
		return err
	}
	c := w.client
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	var done []*Mapping
	undo := func(err error) error {
		for _, m := range done {
			_ = c.unmapLocked(m.Slot)
		}
		return err
	}
	for _, r := range records {
		s, err := c.surface(get32(firmware.MapRecord, r, "surface"))
		if err != nil {
			return undo(err)
		}
		slot := AnySlot
		if n := get32(firmware.MapRecord, r, "slot"); n != 0xffffffff {
			slot = int(n)
		}
		m, err := c.mapLocked(slot, s)
		if err != nil {
			return undo(err)
		}
		done = append(done, m)
	}
	if process != nil {
		if process.cached == nil {
			process.cached = map[cachedSymbol]*Surface{}
		}
		for i, r := range records {
			process.cached[cachedSymbol{get32(firmware.MapRecord, r, "output") != 0, int(get32(firmware.MapRecord, r, "symbol"))}] = done[i].Surface
		}
	}
	w.results[0] = done[0].Address
	return nil
}

// mapRecords are the surfaces of a call about maps, and the process that they are for.
func (w *wireCall) mapRecords() (process *Process, records [][]byte, err error) {
	l := firmware.MemoryMap
	if token := get(l, w.in, "token"); token != 0 {
		if process, err = w.process(token); err != nil {
			return nil, nil, err
		}
	}
	list, size := part(l, w.in, "surfaces"), firmware.MapRecord.Size
	n := get32(l, w.in, "count")
	if n == 0 || uint64(n) > uint64(len(list)/size) {
		return nil, nil, fail(BadArgument, "%d surfaces: want 1 to %d", n, len(list)/size)
	}
	for i := range int(n) {
		records = append(records, list[i*size:(i+1)*size])
	}
	return process, records, nil
}

func (w *wireCall) memoryUnmap() error {
	process, records, err := w.mapRecords()
	if err != nil {
		return err
	}
	c := w.client
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	seen := map[uint32]bool{}
	for _, r := range records { // all, or none
		slot := get32(firmware.MapRecord, r, "slot")
		if int64(slot) >= int64(len(c.buffers)) || c.buffers[slot] == nil || seen[slot] {
			return fail(NotFound, "nothing is mapped in buffer slot %d", slot)
		}
		seen[slot] = true
	}
	for _, r := range records {
		if process != nil {
			delete(process.cached, cachedSymbol{get32(firmware.MapRecord, r, "output") != 0, int(get32(firmware.MapRecord, r, "symbol"))})
		}
		if err := c.unmapLocked(int(get32(firmware.MapRecord, r, "slot"))); err != nil {
			return err
		}
	}
	return nil
}
