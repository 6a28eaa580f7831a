package hwx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/td"
)

// A Form is one of the two ways in which containers are known to be laid out.
type Form int

const (
	// Form2020 is that of compiler v4.2.1: text first, then the windows of the
	// ports (h13 1). All of it is certain.
	Form2020 Form = iota
	// Form2026 is that of compiler v9.509.0 as far as it is known (seed; h13
	// 1.3, 1.5; mil-hwx-compiler): scratch first, then the windows,
	// the text, and perhaps the kernels in a segment of their own; wider port
	// commands and longer threads. No file of this form is at hand: segments
	// and addresses are likely, the order of symbols is a guess.
	Form2026
)

func (f Form) String() string {
	if f == Form2026 {
		return "2026"
	}
	return "2020"
}

// A Spec is what a program of a container is made of. Build derives everything
// else. Several have Form2026, Subtype and Banner in common.
type Spec struct {
	Form    Form
	Subtype uint32 // of the CPU; 0: SubtypeH13
	Program string // "": net
	Banner  string // "": one line that names us, and one about the tasks if they are not of the target's version

	Ports []PortSpec // in the order of their tensor threads
	// Windows is the order of the ports' windows in memory, as indices into
	// Ports. nil is the order that fits all known v4.2.1 files: the inputs
	// backwards, then the outputs.
	Windows []int

	Text           []byte
	Tasks          int
	FirstTaskWords int
	TaskVersion    td.Version // 0: that of the target
	Foreign        []uint32   // the tasks of version 256, by number, where TaskVersion is another
	Relocs         []uint32   // offsets of the text's words that hold offsets into the kernel section

	Constants     []byte // behind the text; nil: 0x4000 zero bytes, as Apple's compiler puts there
	KernelSection []byte // Form2026: a segment of its own for the kernel streams; nil: they are in Constants
	Kernels       []KernelSpec

	// External, in Form2026, is the size of a section whose bytes are not in the
	// file: they are a weight file, which the loader binds there. Alone, it is in
	// the place of KernelSection; beside one it is in a segment of its own, as
	// is WeightFile, which has the bytes.
	External   uint64
	WeightFile []byte

	Scratch uint64 // Form2026: bytes of memory between tasks
	Derived uint64 // Form2026: bytes that tasks make of constants, once, when the program is loaded

	Unknown850, Unknown858 uint32      // words of the program thread; 0: 0x11 and 3 (Form2026: 4)
	Attributes             []Attribute // Form2026; nil: tag 9 with value 0
}

// A PortSpec describes a port.
type PortSpec struct {
	Name      string
	Tensor    string // the compiler's name; "": Name
	Direction Direction
	Element   Element
	Shape     [4]uint32 // N, C, H, W
	Strides   [4]uint64 // bytes; all 0: rows of whole 64 bytes, packed (h13 3.1)
}

// A KernelSpec names the streams of a kernel in the symbol table.
type KernelSpec struct {
	Digest string // 64 hexadecimal digits; "": a digest of the kernel section
	// Offsets are where the streams begin in the kernel section, by engine. A
	// single one is named without its engine.
	Offsets []uint64
	// Empty is how many engines without a stream follow in the symbol table.
	Empty int
}

const (
	baseAddr      = 0x30000000 // where the address space of a program begins
	zeroConstants = 0x4000
	defaultBanner = "ANEC v1\nespalier\n"
	guardSize     = pageSize
	maxPorts      = 240 // symbols name a section by one byte
)

// setDefaults fills in what may be left out.
func (s *Spec) setDefaults() {
	if s.Subtype == 0 {
		s.Subtype = SubtypeH13
	}
	if s.Program == "" {
		s.Program = "net"
	}
	if s.Banner == "" {
		s.Banner = s.banner()
	}
	if s.Unknown850 == 0 {
		s.Unknown850 = 0x11
	}
	if s.Unknown858 == 0 {
		s.Unknown858 = 3
		if s.Form == Form2026 {
			s.Unknown858 = 4
		}
	}
	if s.Constants == nil {
		s.Constants = make([]byte, zeroConstants)
	}
	if s.Form == Form2026 && s.Attributes == nil {
		s.Attributes = []Attribute{{Tag: 9, Value: make([]byte, 8)}}
	}
	s.Ports = slices.Clone(s.Ports)
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Tensor == "" {
			p.Tensor = p.Name
		}
		if p.Strides == [4]uint64{} {
			p.Strides = SurfaceStrides(p.Element, p.Shape)
		}
	}
	if s.Windows == nil {
		s.Windows = defaultWindows(s.Ports)
	}
}

// SurfaceStrides are the strides of a tensor in memory as Apple's compiler lays
// it out: rows of whole 64 bytes, packed (h13 3.1).
func SurfaceStrides(element Element, shape [4]uint32) [4]uint64 {
	bits := uint64(element.DType().Bits())
	row := alignUp((uint64(shape[3])*bits+7)/8, tileSize)
	plane := row * uint64(shape[2])
	return [4]uint64{plane * uint64(shape[1]), plane, row, bits / 8}
}

// DenseStrides are the strides of a tensor without padding, as the ports of
// target `virtual` have them. Elements of less than a byte are packed over the
// whole tensor: the stride of an axis is then rounded up, and only that of N,
// the size of the tensor where it has one batch element, is to be relied on.
func DenseStrides(element Element, shape [4]uint32) [4]uint64 {
	var strides [4]uint64
	bits := uint64(element.DType().Bits())
	strides[3] = bits / 8
	for i := 2; i >= 0; i-- {
		bits *= uint64(shape[i+1])
		strides[i] = (bits + 7) / 8
	}
	return strides
}

func defaultWindows(ports []PortSpec) []int {
	var order []int
	for i := len(ports) - 1; i >= 0; i-- {
		if ports[i].Direction == In {
			order = append(order, i)
		}
	}
	for i, p := range ports {
		if p.Direction != In {
			order = append(order, i)
		}
	}
	return order
}

// bytes is the size of the port's window section: all batch elements.
func (p *PortSpec) bytes() uint64 { return uint64(p.Shape[0]) * p.Strides[0] }

// used is what the tensor thread counts at its end: for an input all bytes, for
// an output those up to the last element.
func (p *PortSpec) used() uint64 {
	if p.Direction == In || p.bytes() == 0 {
		return p.bytes()
	}
	used := (uint64(p.Shape[3])*uint64(p.Element.DType().Bits()) + 7) / 8
	for i := range 3 {
		used += uint64(p.Shape[i]-1) * p.Strides[i]
	}
	return used
}

func (s *Spec) check() error {
	if len(s.Text) == 0 || len(s.Text)%4 != 0 {
		return fmt.Errorf("0x%x bytes of text, want whole words, and some", len(s.Text))
	}
	if s.Tasks < 1 || s.FirstTaskWords < 1 || 4*s.FirstTaskWords > len(s.Text) {
		return fmt.Errorf("%d tasks, the first of %d words, in 0x%x bytes of text", s.Tasks, s.FirstTaskWords, len(s.Text))
	}
	if len(s.Ports) > maxPorts {
		return fmt.Errorf("%d ports, want %d or fewer", len(s.Ports), maxPorts)
	}
	order := slices.Sorted(slices.Values(s.Windows))
	for i := range max(len(order), len(s.Ports)) {
		if len(order) != len(s.Ports) || order[i] != i {
			return fmt.Errorf("windows %v do not name each of %d ports once", s.Windows, len(s.Ports))
		}
	}
	type portName struct {
		name      string
		direction Direction
	}
	names := make(map[portName]bool)
	for _, p := range s.Ports {
		switch {
		case p.Name == "" || strings.ContainsRune(p.Name+p.Tensor, 0):
			return fmt.Errorf("port name %q is empty or has a NUL", p.Name)
		case names[portName{p.Name, p.Direction}]:
			return fmt.Errorf("a second port %q with direction %v", p.Name, p.Direction)
		case !p.Direction.Valid():
			return fmt.Errorf("port %q: direction %d, want in, out or both", p.Name, p.Direction)
		case p.Direction == InOut && s.Form == Form2020:
			return fmt.Errorf("port %q: both directions need the form of 2026", p.Name)
		case p.Element.DType().Bits() == 0:
			return fmt.Errorf("port %q: no tensor has elements of type %d", p.Name, p.Element)
		}
		if reach := uint64(0); slices.Max(p.Strides[:]) > maxUnbackedMemory || !addMul(&reach, uint64(p.Shape[0]), p.Strides[0]) || reach > maxUnbackedMemory {
			return fmt.Errorf("port %q: shape %d with strides %d, want 0x%x bytes or fewer", p.Name, p.Shape, p.Strides, int64(maxUnbackedMemory))
		}
		names[portName{p.Name, p.Direction}] = true
	}
	if strings.ContainsRune(s.Banner+s.Program, 0) {
		return errors.New("a NUL in the banner or the program's name")
	}
	if s.Form == Form2020 && (s.Scratch != 0 || s.Derived != 0 || s.KernelSection != nil || s.External != 0 || s.WeightFile != nil || s.Attributes != nil) {
		return errors.New("scratch, derived memory, a kernel section and attributes need the form of 2026")
	}
	if s.Scratch > maxUnbackedMemory || s.Derived > maxUnbackedMemory {
		return fmt.Errorf("0x%x bytes of scratch and 0x%x of derived memory, want 0x%x or fewer of each", s.Scratch, s.Derived, int64(maxUnbackedMemory))
	}
	if s.External > maxExternalBytes {
		return fmt.Errorf("0x%x bytes of external weights, want 0x%x or fewer", s.External, int64(maxExternalBytes))
	}
	if s.External != 0 && s.KernelSection == nil && (s.Kernels != nil || s.Relocs != nil) {
		return errors.New("external weights in the place of a kernel section do not go with kernel streams or relocations")
	}
	if s.WeightFile != nil && (s.External != 0 || s.KernelSection == nil) {
		return errors.New("a weight file goes beside a kernel section, and has its bytes here or outside")
	}
	for _, off := range s.Relocs {
		if int64(off)+4 > int64(len(s.Text)) {
			return fmt.Errorf("relocation at 0x%x of 0x%x bytes of text", off, len(s.Text))
		}
	}
	for _, k := range s.Kernels {
		for _, off := range k.Offsets {
			if off > uint64(len(s.kernelData())) {
				return fmt.Errorf("kernel stream at 0x%x of 0x%x bytes", off, len(s.kernelData()))
			}
		}
		if k.Digest != "" {
			if _, ok := ParseKernelName("K" + k.Digest); !ok {
				return fmt.Errorf("kernel digest %q, want 64 hexadecimal digits", k.Digest)
			}
		}
	}
	return nil
}

func (s *Spec) kernelData() []byte {
	if s.KernelSection != nil {
		return s.KernelSection
	}
	return s.Constants
}
