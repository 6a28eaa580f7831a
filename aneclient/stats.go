package aneclient

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/internal/driver"
)

// A Counter is something that is counted of an evaluation, a bit of the statistics mask. The research knows eight bits that are
// taken, 0x01 to 0x80, and no value of any: what each counts is ours.
type Counter uint32

// The counters.
const (
	CountTime         Counter = 0x01 // nanoseconds from submission to end
	CountTasks        Counter = 0x02
	CountInput        Counter = 0x04 // bytes that it reads
	CountOutput       Counter = 0x08 // bytes that it writes
	CountConstants    Counter = 0x10 // bytes of weights and other constants
	CountIntermediate Counter = 0x20 // bytes that tasks keep between them
	CountStates       Counter = 0x40 // bytes of states
	CountSequence     Counter = 0x80 // the transaction handle, as the engine has seen it

	statsBits = 0xff
)

// Counters are all of them.
func Counters() []Counter {
	return []Counter{CountTime, CountTasks, CountInput, CountOutput, CountConstants, CountIntermediate, CountStates, CountSequence}
}

// SetStatsMask says what is counted of evaluations of the model: -setPerfStatsMask:. 0 is nothing.
func (m *Model) SetStatsMask(mask uint32) error {
	if mask&^statsBits != 0 {
		return ErrBadArgument.saying("statistics mask %#x: there are bits up to 0x80", mask)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statsMask = mask
	return nil
}

// StatsMask is what is counted: -perfStatsMask.
func (m *Model) StatsMask() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.statsMask
}

// PerformanceStats are what was counted of an evaluation: _ANEPerformanceStats.
type PerformanceStats struct {
	HWExecutionTime time.Duration      // 0 if it was not asked for
	Counters        map[Counter]uint64 // performanceCounters: those of the mask

	surface *driver.Surface
}

// Stats are those of the last evaluation of the request, nil if the model's mask was 0: what performanceCounters is to give.
func (r *Request) Stats() *PerformanceStats {
	if r.stats == nil || r.stats.Counters == nil {
		return nil
	}
	return r.stats
}

// MinStatsBytes is the size of the smallest statistics surface.
const MinStatsBytes = 64

// A StatsBuffer is a surface that a request writes statistics to: an element of perfStats, which the originals ask for its statType.
type StatsBuffer struct {
	Type    int // statType; kept
	Surface *IOSurface
}

// NewStatsBuffer makes one. The surface has 64 bytes or more: a header of 40, and, if there is room, 32 for the engine.
func NewStatsBuffer(t int, s *IOSurface) (*StatsBuffer, error) {
	b := &StatsBuffer{t, s}
	if s == nil {
		return nil, b.check(nil)
	}
	return b, b.check(s.client)
}

func (b *StatsBuffer) check(c *Client) error {
	switch {
	case b == nil || b.Surface == nil:
		return ErrBadArgument.saying("perfStatsIOSurface is NULL!")
	case b.Surface.client != c:
		return ErrBadArgument.saying("the surface for statistics is none of this client")
	case len(b.Surface.Bytes()) < MinStatsBytes:
		return ErrBadArgument.saying("a surface of %d bytes for statistics: want %d or more", len(b.Surface.Bytes()), MinStatsBytes)
	}
	return nil
}

var statsSize = firmware.StatsHeader.Size + firmware.StatsEngine.Size

// bindStats has a request write statistics, if anybody wants them.
func (r *Request) bindStats(d *driver.Request, c *Client) {
	d.Stats = nil
	if r.mask == 0 && len(r.PerfStats) == 0 {
		r.stats = nil
		return
	}
	if r.stats == nil || r.stats.surface == nil {
		s, err := c.driver.NewSurface(statsSize)
		if err != nil {
			return // nothing is counted
		}
		r.stats = &PerformanceStats{surface: s}
	}
	d.Stats = r.stats.surface
}

// finish reads what was counted, and gives it to who asked for it.
func (r *Request) finish(q *procedure) {
	if r.stats == nil {
		return
	}
	record, le := r.stats.surface.Bytes(), binary.LittleEndian
	for _, b := range r.PerfStats {
		dst := b.Surface.Bytes()
		clear(dst)
		copy(dst, record)
		if len(dst) < statsSize { // the engine's record is not there whole
			clear(dst[firmware.StatsHeader.Size:])
			le.PutUint32(dst[0x24:], 0)
		}
	}
	r.stats.HWExecutionTime, r.stats.Counters = 0, nil
	if r.mask == 0 {
		return
	}
	engine, info := record[firmware.StatsHeader.Size:], q.object.info
	all := map[Counter]uint64{
		CountTime: le.Uint64(record[0x04:]), CountTasks: uint64(le.Uint32(engine[0x10:])), CountInput: sum(q.inputs), CountOutput: sum(q.outputs),
		CountConstants: uint64(info.ConstantBytes), CountIntermediate: uint64(info.IntermediateBytes), CountStates: uint64(info.StateBytes), CountSequence: le.Uint64(record[0x1c:]),
	}
	for _, c := range slices.Collect(maps.Keys(all)) {
		if uint32(c)&r.mask == 0 {
			delete(all, c)
		}
	}
	r.stats.Counters, r.stats.HWExecutionTime = all, time.Duration(all[CountTime])
}

func sum(ports []Port) (n uint64) {
	for i := range ports {
		n += uint64(ports[i].Bytes)
	}
	return n
}
