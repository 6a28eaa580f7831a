package hwx

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// A Program is what a loader needs to begin: the task stream and the addresses
// that its tasks count from.
type Program struct {
	Name           string
	FirstTask      uint64 // address
	FirstTaskWords int    // words of the first task
	Tasks          int
	Bases          *[BaseCount]uint64 // the base-address table; tasks name its entries
	Thread         *ProgramThread     // the command that says so
}

// Program returns the container's program. A container without one is an error,
// and so is one with several, which Procedures lists.
func (f *File) Program() (*Program, error) {
	p, err := f.Procedure("")
	if err != nil {
		return nil, err
	}
	return p.Program, nil
}

// A Port is a tensor that the runtime binds: a window of the address space with
// a name and a layout.
type Port struct {
	Name       string // under which the runtime binds it
	Tensor     string // the compiler's name, often the same
	Direction  Direction
	Shape      [4]int   // N, C, H, W
	Strides    [4]int64 // bytes, of N, C, H, W
	Element    Element
	Addr       uint64
	Base       int   // its entry in the base-address table; -1: none
	Bytes      int64 // of the window's section
	WindowSize int64 // of the window: Bytes rounded up to pages
	Thread     *TensorThread
	Binding    *PortBinding
	Window     *Segment
}

// Ports lists the ports in the order of the tensor threads. Everything about a
// port is checked: the elements that its shape and strides reach are in its
// window, and the window has no bytes in the file. Those of several programs, the
// programs list.
func (f *File) Ports() ([]Port, error) {
	threads := slices.Collect(all[*ProgramThread](f))
	if len(threads) > 1 {
		return nil, damage(f.offsetOf(threads[1]), "a second program; want one: each has ports of its own")
	}
	return f.portsOf(threads, func(*PortBinding) bool { return true }, func(*TensorThread) bool { return true })
}

// portsOf lists the ports of a program, if there is one: which of the bindings
// and tensors are its own, the functions say.
func (f *File) portsOf(threads []*ProgramThread, bound func(*PortBinding) bool, owned func(*TensorThread) bool) ([]Port, error) {
	bindings, err := f.bindings(bound)
	if err != nil {
		return nil, err
	}
	baseOf := make(map[uint64]int)
	for _, thread := range threads {
		for i := BaseCount - 1; i >= BasePorts; i-- {
			if thread.Bases[i] != 0 {
				baseOf[thread.Bases[i]] = i
			}
		}
	}
	var ports []Port
	taken := make(map[*PortBinding]bool)
	for at, c := range f.placed() {
		t, ok := c.(*TensorThread)
		if !ok || !owned(t) {
			continue
		}
		b := bindings.of(t)
		if b == nil {
			return nil, damage(at, "tensor %q: no port is named %q", t.Name(), t.Port())
		}
		if taken[b] {
			return nil, damage(at, "tensor %q: port %q has a tensor already", t.Name(), b.Name())
		}
		taken[b] = true
		p, err := f.port(at, t, b)
		if err != nil {
			return nil, err
		}
		p.Base = -1
		if i, ok := baseOf[p.Addr]; ok {
			p.Base = i
		}
		ports = append(ports, p)
	}
	return ports, nil
}

// Symbols gives each port a name of its own. An input, an output and a state may
// have the same: the first keeps it, and the others have their direction added, as
// Apple's compiler marks outputs ("probs@output").
func Symbols(ports []Port) []string {
	symbols := make([]string, len(ports))
	taken := make(map[string]bool)
	for _, p := range ports {
		taken[p.Name] = true
	}
	first := make(map[string]bool)
	for i, p := range ports {
		symbol := p.Name
		for first[p.Name] && taken[symbol] {
			symbol += cmp.Or(symbolSuffixes[p.Direction], "@port")
		}
		first[p.Name], taken[symbol] = true, true
		symbols[i] = symbol
	}
	return symbols
}

var symbolSuffixes = map[Direction]string{In: "@input", Out: "@output", InOut: "@state"}

// boundPorts are the bindings of ports by name. An input and an output may have
// the same name: the flags of their windows tell which is which.
type boundPorts map[string][]boundPort

type boundPort struct {
	*PortBinding
	direction Direction // 0: the window does not say
}

// windowDirections are the directions of ports by the flags of their windows.
var windowDirections = map[uint32]Direction{SectionInput: In, SectionOutput: Out, SectionState: InOut}

func (f *File) bindings(wanted func(*PortBinding) bool) (boundPorts, error) {
	bindings := make(boundPorts)
	count := 0
	for at, c := range f.placed() {
		b, ok := c.(*PortBinding)
		if !ok || !wanted(b) {
			continue
		}
		if count++; count > BaseCount {
			return nil, damage(at, "more ports than the %d entries of the base-address table", BaseCount)
		}
		bound := boundPort{PortBinding: b}
		if s, _ := f.Lookup(b.Addr); s != nil {
			bound.direction = windowDirections[s.Flags]
		}
		for _, other := range bindings[b.Name()] {
			if other.direction == bound.direction || other.direction == 0 || bound.direction == 0 {
				return nil, damage(at, "a second port named %q", b.Name())
			}
		}
		bindings[b.Name()] = append(bindings[b.Name()], bound)
	}
	return bindings, nil
}

// of finds the binding of a tensor: by the port's name, or by the tensor's with
// and without what follows its `@`; among several of a name, by the direction.
func (bindings boundPorts) of(t *TensorThread) *PortBinding {
	bare, _, _ := strings.Cut(t.Name(), "@")
	for _, name := range []string{t.Port(), t.Name(), bare} {
		named := bindings[name]
		for _, b := range named {
			if len(named) == 1 || b.direction == t.Direction {
				return b.PortBinding
			}
		}
	}
	return nil
}

func (f *File) port(at int64, t *TensorThread, b *PortBinding) (Port, error) {
	p := Port{Name: b.Name(), Tensor: t.Name(), Direction: t.Direction, Element: t.Element, Addr: b.Addr, Thread: t, Binding: b}
	bad := func(field int64, format string, args ...any) (Port, error) {
		return Port{}, damage(at+field, "port %q: "+format, append([]any{p.Name}, args...)...)
	}
	if !p.Direction.Valid() {
		return bad(0x14, "direction %d, want 1 (in), 2 (out) or 3 (both)", uint32(p.Direction))
	}
	section, _ := f.Lookup(p.Addr)
	if section == nil || section.Addr != p.Addr || section.Offset != 0 {
		return bad(0, "address 0x%x is not that of a window", p.Addr)
	}
	if (p.Direction == InOut) != (section.Flags == SectionState) {
		return bad(0x14, "direction %v, but its window has flags 0x%x", p.Direction, section.Flags)
	}
	for _, s := range f.Segments() {
		if p.Addr >= s.Addr && p.Addr-s.Addr < s.Size {
			p.Window = s
		}
	}
	p.Bytes = int64(section.Size)
	p.WindowSize = int64(p.Window.Size)
	dtype := t.Element.DType()
	if dtype.Bits() == 0 {
		return bad(0x24, "no tensor has elements of type %d", uint32(t.Element))
	}
	// The last byte that the shape and strides reach.
	reach := (uint64(t.Shape[3])*uint64(dtype.Bits()) + 7) / 8
	if dtype.Bits()%8 == 0 && t.Strides[3] != uint64(dtype.Bits()/8) {
		reach = uint64(dtype.Bits() / 8)
		if t.Shape[3] > 0 && !addMul(&reach, uint64(t.Shape[3]-1), t.Strides[3]) {
			return bad(0x50, "strides %d are absurd for shape %d", t.Strides, t.Shape)
		}
	}
	for i := range 4 {
		if t.Shape[i] > 1<<30 {
			return bad(0x28, "shape %d is absurd", t.Shape)
		}
		if t.Strides[i] > 1<<40 || i < 3 && t.Shape[i] > 0 && !addMul(&reach, uint64(t.Shape[i]-1), t.Strides[i]) {
			return bad(0x50, "strides %d are absurd for shape %d", t.Strides, t.Shape)
		}
		p.Shape[i], p.Strides[i] = int(t.Shape[i]), int64(t.Strides[i])
	}
	empty := t.Shape[0] == 0 || t.Shape[1] == 0 || t.Shape[2] == 0 || t.Shape[3] == 0
	if !empty && reach > p.Window.Size {
		return bad(0x50, "shape %d and strides %d reach 0x%x bytes of a window of 0x%x", t.Shape, t.Strides, reach, p.Window.Size)
	}
	return p, nil
}

// addMul adds a product, unless it overflows.
func addMul(sum *uint64, a, b uint64) bool {
	hi, lo := bits.Mul64(a, b)
	v, carry := bits.Add64(*sum, lo, 0)
	*sum = v
	return hi == 0 && carry == 0
}

// Lookup finds the section that holds an address, and the offset of the address
// in it. Addresses between sections have none.
func (f *File) Lookup(addr uint64) (*Section, int64) {
	for seg := range all[*Segment](f) {
		if addr < seg.Addr || addr-seg.Addr >= seg.Size {
			continue
		}
		for _, s := range seg.Sections {
			if addr >= s.Addr && addr-s.Addr < s.Size {
				return s, int64(addr - s.Addr)
			}
		}
	}
	return nil, 0
}

// begins are the sections by the addresses where they begin, without those that
// have no bytes.
func (f *File) begins() map[uint64]*Section {
	begins := make(map[uint64]*Section)
	for _, s := range f.Sections() {
		if s.Size > 0 {
			begins[s.Addr] = s
		}
	}
	return begins
}

// A BaseKind says what an entry of the base-address table points at.
type BaseKind string

// The kinds of entry.
const (
	KindText    BaseKind = "text"
	KindConst   BaseKind = "const"
	KindScratch BaseKind = "scratch"
	KindDerived BaseKind = "derived"
	KindPort    BaseKind = "port"
	KindOther   BaseKind = "other" // none of the above: an address that no section holds, or another part of one
)

// A Base is an entry of the base-address table that is in use.
type Base struct {
	Index   int
	Addr    uint64
	Kind    BaseKind
	Name    string   // of the port or the section
	Section *Section // that begins there, or nil
}

// Bases lists the entries of the base-address table that are not zero, and what
// they point at. Which entry is what, only the addresses say: compilers differ
// in the order of the ports (h13 1.5). Of several programs, it is all tables, one
// after the other.
func (f *File) Bases() []Base {
	names := make(map[uint64]string)
	for b := range all[*PortBinding](f) {
		names[b.Addr] = b.Name()
	}
	var list []Base
	for thread := range all[*ProgramThread](f) {
		list = append(list, f.bases(thread, f.Text(), names)...)
	}
	return list
}

// bases lists the table of one program, whose tasks are in text. The names are
// those of the ports by address.
func (f *File) bases(thread *ProgramThread, text *Section, names map[uint64]string) []Base {
	begins := f.begins()
	var list []Base
	for i, addr := range thread.Bases {
		if addr == 0 {
			continue
		}
		b := Base{Index: i, Addr: addr, Kind: KindOther}
		if s := begins[addr]; s != nil {
			b.Section, b.Name = s, s.Segment.String()+","+s.Name.String()
			switch {
			case s.Segment.String() == "__FVMLIB":
				b.Kind = KindPort
			case s == text:
				b.Kind = KindText
			case s.Data != nil || s.Flags == SectionExternal:
				b.Kind = KindConst
			case s.Flags == SectionDerived:
				b.Kind = KindDerived
			default:
				b.Kind = KindScratch
			}
		}
		if name, ok := names[addr]; ok {
			b.Name = name
		}
		list = append(list, b)
	}
	return list
}
