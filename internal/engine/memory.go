package engine

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/kernel"
)

// memoryKind says what a memory is, and so what tasks may do with it.
type memoryKind uint8

const (
	onChip   memoryKind = iota // between the tasks of a dispatch
	text                       // the tasks themselves
	constant                   // bytes of the file
	scratch                    // as onChip, but outside the chip
	input                      // a port that is read
	output                     // a port that is written
)

var memoryKindNames = [...]string{"on-chip memory", "the text", "constants", "scratch", "input port", "output port"}

func (k memoryKind) String() string { return memoryKindNames[k] }

// tracked reports whether the memory has no content before a task writes it.
func (k memoryKind) tracked() bool { return k == onChip || k == scratch || k == output }

// A memory is a run of bytes that tasks address: on-chip memory, or a window of
// the address space.
type memory struct {
	kind memoryKind
	name string // of a port or section
	addr uint64 // 0 for on-chip memory
	size int
	data []byte // of constants; the others have theirs in a Context

	written coverage // while loading: what tasks so far have written
}

func (m *memory) String() string {
	if m.name == "" {
		return m.kind.String()
	}
	return fmt.Sprintf("%s %s", m.kind, m.name)
}

// onChipIndex is the place of on-chip memory among the memories.
const onChipIndex = 0

// maxDispatchBytes bounds what a dispatch may need, all memories and the
// buffers of the kernels together: no program for the chip comes near.
const maxDispatchBytes = 4 << 30

// mapMemory lists the memories of a container.
func mapMemory(file *hwx.File, ports []hwx.Port, onChipBytes int) ([]memory, error) {
	memories := []memory{{kind: onChip, size: onChipBytes}}
	byAddr := make(map[uint64]*hwx.Port, len(ports))
	for i := range ports {
		byAddr[ports[i].Addr] = &ports[i]
	}
	total := uint64(onChipBytes)
	for _, s := range file.Sections() {
		m := memory{addr: s.Addr, name: s.Segment.String() + "," + s.Name.String()}
		size := s.Size
		switch port := byAddr[s.Addr]; {
		case port != nil:
			m.kind, m.name = input, port.Name
			if port.Direction == hwx.Out {
				m.kind = output
			}
			// The window is mapped in whole pages, and holds every batch
			// element where the section may count one (oracles 4).
			size = uint64(max(port.WindowSize, port.Bytes))
		case s == file.Text():
			m.kind = text
		case s.Data != nil:
			m.kind, m.data = constant, s.Data
		default:
			m.kind = scratch
		}
		if m.kind.tracked() || m.kind == input {
			total += size
		}
		if size > math.MaxInt64 || total > maxDispatchBytes || uint64(int(size)) != size {
			return nil, programError("%v: %#x bytes; want %#x or less for all that a dispatch needs", &m, size, int64(maxDispatchBytes))
		}
		m.size = int(size)
		memories = append(memories, m)
	}
	return memories, nil
}

// find returns the memory that holds an address, and the offset in it.
func (p *Program) find(addr uint64) (index, offset int, ok bool) {
	for i := range p.memories {
		m := &p.memories[i]
		if m.kind != onChip && addr >= m.addr && addr-m.addr < uint64(m.size) {
			return i, int(addr - m.addr), true
		}
	}
	return 0, 0, false
}

// hull returns the first byte of a view and the byte after the last. It
// computes in 64 bits, for nothing is known yet about the strides.
func hull(v *kernel.View) (lo, hi int64) {
	lo = int64(v.Offset)
	hi = lo + 2
	if v.Bytes {
		hi = lo + 1
	}
	for _, a := range steps(v) {
		if reach := int64(a.count-1) * int64(a.stride); reach < 0 {
			lo += reach
		} else {
			hi += reach
		}
	}
	return lo, hi
}

// An axisStep is one loop over a memory: count places, stride bytes apart.
type axisStep struct{ count, stride int }

// steps returns the loops of a view that have more than one place.
func steps(v *kernel.View) []axisStep {
	list := make([]axisStep, 0, kernel.Axes+1)
	add := func(count, stride int) {
		if count > 1 {
			list = append(list, axisStep{count, stride})
		}
	}
	for axis, n := range v.Dims {
		if v.Lanes > 1 && axis == v.LaneAxis {
			add((n+v.Lanes-1)/v.Lanes, v.Strides[axis])
			add(min(n, v.Lanes), v.LaneStride)
			continue
		}
		add(n, v.Strides[axis])
	}
	return list
}
