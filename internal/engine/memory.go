package engine

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// memoryKind says what a memory is, and so what tasks may do with it.
type memoryKind uint8

const (
	onChip   memoryKind = iota // between the tasks of a dispatch
	text                       // the tasks themselves
	constant                   // bytes of the file
	scratch                    // as onChip, but outside the chip
	derived                    // made of constants when the program is loaded; see derived.go
	input                      // a port that is read
	output                     // a port that is written
	state                      // a port that has content, is read and written
)

var memoryKindNames = [...]string{"on-chip memory", "the text", "constants", "scratch", "derived memory", "input port", "output port", "state"}

func (k memoryKind) String() string { return memoryKindNames[k] }

// tracked reports whether the memory has no content before a task writes it.
func (k memoryKind) tracked() bool { return k == onChip || k == scratch || k == derived || k == output }

// port reports whether the caller may bind the memory.
func (k memoryKind) port() bool { return k == input || k == output || k == state }

// shared reports whether the memory is the program's, the same in every dispatch.
func (k memoryKind) shared() bool { return k == constant || k == derived }

// portKinds are the kinds of port by direction.
var portKinds = map[hwx.Direction]memoryKind{hwx.In: input, hwx.Out: output, hwx.InOut: state}

// A memory is a run of bytes that tasks address: on-chip memory, or a window of
// the address space.
type memory struct {
	kind memoryKind
	name string // of a port or section
	addr uint64 // 0 for on-chip memory
	size int
	data []byte // of the text and of what is shared; the others have theirs in a Context

	external bool          // constants that the caller gave
	island   bool          // constants that may change, which are a part of others; see version.go
	pages    *osfile.Pages // of derived memory
	kept     int           // likewise: how many bytes of it are read in dispatches

	written coverage // while loading: what tasks so far have written
	reach   int      // the byte after the last that a task touches

	accesses []access // of a port
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

// mapMemory lists the memories of a procedure. The weights are the bytes of its
// external section, if it has one.
func mapMemory(of *hwx.Procedure, ports []hwx.Port, onChipBytes int, weights []byte) ([]memory, error) {
	memories := []memory{{kind: onChip, size: onChipBytes}}
	byAddr := make(map[uint64]*hwx.Port, len(ports))
	for i := range ports {
		byAddr[ports[i].Addr] = &ports[i]
	}
	total := uint64(onChipBytes)
	for _, s := range of.Sections() {
		m := memory{addr: s.Addr, name: s.Segment.String() + "," + s.Name.String()}
		size := s.Size
		switch port := byAddr[s.Addr]; {
		case port != nil:
			m.kind, m.name = portKinds[port.Direction], port.Name
			// The window is mapped in whole pages, and holds every batch
			// element where the section may count one (oracles 4).
			size = uint64(max(port.WindowSize, port.Bytes))
		case s == of.Text:
			m.kind, m.data = text, s.Data
		case s.Data != nil:
			m.kind, m.data = constant, s.Data
		case s.Flags == hwx.SectionExternal:
			m.kind, m.data, m.external = constant, weights, true
			if uint64(len(weights)) != size {
				return nil, programError("%v: %#x bytes of external weights were given; want %#x", &m, len(weights), size)
			}
		case s.Flags == hwx.SectionDerived:
			m.kind = derived
		default:
			m.kind = scratch
		}
		if m.kind != constant && m.kind != text {
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

// maxRuns bounds the runs of bytes that are looked at while loading, all tasks
// together: a few seconds. Elements that lie side by side are one run, so that
// a program with more of them is made to keep somebody busy.
const maxRuns = 1 << 29

// countRuns notes that regions are walked over.
func (p *Program) countRuns(regions ...*region) error {
	for _, r := range regions {
		p.runs += r.runs()
	}
	if p.runs > maxRuns {
		return fmt.Errorf("the elements of all tasks lie in more than %d pieces", maxRuns)
	}
	return nil
}

// unwritten finds a byte of a source that no task has written.
func (p *Program) unwritten(memory int, r *region) error {
	m := &p.memories[memory]
	m.touch(r)
	if !m.kind.tracked() || r.empty() {
		return nil
	}
	if err := p.countRuns(r); err != nil {
		return err
	}
	if at, found := m.written.gap(r); found {
		return fmt.Errorf("reads byte %#x of %v, which no task has written", at, m)
	}
	return nil
}

// noteWritten adds a result to what has been written.
func (p *Program) noteWritten(memory int, r *region) error {
	if r.empty() {
		return nil
	}
	m := &p.memories[memory]
	m.written.add(r)
	m.touch(r)
	return p.countRuns(r)
}

// touch notes that a task reads or writes a region.
func (m *memory) touch(r *region) {
	if !r.empty() {
		_, hi := r.hull()
		m.reach = max(m.reach, int(hi))
	}
}

// overlap reports whether two regions of one memory share a byte.
func (p *Program) overlap(x, y *region) (bool, error) {
	if err := p.countRuns(x, y); err != nil {
		return false, err
	}
	return x.overlaps(y), nil
}
