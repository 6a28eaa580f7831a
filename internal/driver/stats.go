package driver

import (
	"encoding/binary"
	"time"

	"github.com/espalier-ane/espalier/firmware"
)

// writeStats writes what a call took, as far as there is room: firmware.StatsHeader, and one firmware.StatsEngine.
func (c *call) writeStats(dst []byte) {
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
	took := uint64(time.Since(c.began))
	le.PutUint16(dst, statsMagic)
	le.PutUint64(dst[0x04:], took)
	le.PutUint32(dst[0x0c:], uint32(c.request.Procedure))
	le.PutUint64(dst[0x1c:], c.request.Sequence)
	le.PutUint32(dst[0x24:], uint32(rest))
	if rest > 0 {
		e := dst[size : size+rest]
		clear(e)
		le.PutUint32(e[0x08:], uint32(c.request.Procedure))
		le.PutUint32(e[0x10:], uint32(c.requests[0].tasks))
		le.PutUint32(e[0x14:], uint32(min(took, 1<<32-1)))
	}
}

const statsMagic = 0x0101 // guide 29
