package driver

import (
	"encoding/binary"
	"time"

	"github.com/espalier-ane/espalier/firmware"
)

// A took is what is said of a call, or of an execution of a chain.
type took struct {
	time      time.Duration
	procedure int
	sequence  uint64
	tasks     int
}

// writeStats writes what a call took, as far as there is room: firmware.StatsHeader, and one firmware.StatsEngine.
func (t took) writeStats(dst []byte) {
	le := binary.LittleEndian
	size := firmware.StatsHeader.Size
	if len(dst) < size {
		return
	}
	clear(dst[:size])
	rest := 0
	if len(dst) >= size+firmware.StatsEngine.Size {
		rest = firmware.StatsEngine.Size
	}
	le.PutUint16(dst, statsMagic)
	le.PutUint64(dst[0x04:], uint64(t.time))
	le.PutUint32(dst[0x0c:], uint32(t.procedure))
	le.PutUint64(dst[0x1c:], t.sequence)
	le.PutUint32(dst[0x24:], uint32(rest))
	if rest > 0 {
		e := dst[size : size+rest]
		clear(e)
		le.PutUint32(e[0x08:], uint32(t.procedure))
		le.PutUint32(e[0x10:], uint32(t.tasks))
		le.PutUint32(e[0x14:], uint32(min(uint64(t.time), 1<<32-1)))
	}
}

const statsMagic = 0x0101 // guide 29
