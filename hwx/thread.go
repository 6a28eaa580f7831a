package hwx

// A ProgramThread describes the task stream and the base-address table: a
// thread command of flavour 1 (h13 1.5).
type ProgramThread struct {
	Words uint32 // words of state behind the 16 bytes of head: WordsProgram, or WordsProgram2026
	ProgramState
	Tail []byte // from byte 0x860 of the command on: 2026, attributes; then the program's name
}

// ProgramState is bytes 0x10 to 0x860 of a program thread. Fields without a
// meaning are named by their offset in the command.
type ProgramState struct {
	Bases          [BaseCount]uint64 // 0x10: the base-address table
	FirstTask      uint64            // 0x810: its address
	FirstTaskWords uint32            // 0x818: its words, minus one
	Tasks          uint32            // 0x81c
	Unknown820     uint32
	Unknown824     uint32 // 0xffff
	Unknown828     [5]uint32
	NameOffset     uint32 // 0x83c: of the program's name in the command
	Unknown840     [4]uint32
	Unknown850     uint32 // 0x11 in 14 of 17 files, 7 in both concats, 4 in the copy; not needed to execute
	Unknown854     uint32
	Unknown858     uint32 // 3, in the concats 4, in 2026 files 4; not needed to execute
	Unknown85c     uint32
}

// The base-address table (h13 1.5): its length, and the entries that are not
// ports. An operand of a task names an entry and counts from its address.
//
//	  0  text             the tasks
//	  1  const            the kernel section, where the file has one or binds
//	                      external weights; else __TEXT,__const
//	  2  derived          __DATA,__derived (ours)
//	  3  scratch          __DATA,__bss
//	  4  ports            as many as there are, in the order of Spec.Windows;
//	  …                   Port.Base has the entry
//	254  weights          a weight file beside a kernel section (ours)
//	255  text's const     __TEXT,__const, in Form2026, such that tasks reach it
//	                      beside a kernel section (ours)
//
// What is ours is zero in every known file.
const (
	BaseCount     = 256
	BaseText      = 0
	BaseConst     = 1
	BaseDerived   = 2
	BaseScratch   = 3
	BasePorts     = 4
	BaseWeights   = 254
	BaseTextConst = 255
)

// Words of state of a program thread and of a tensor thread.
const (
	WordsProgram     = 0x214
	WordsProgram2026 = 0x21a // h13 1.5
	WordsTensor      = 0x1e  // h13 1.6
	WordsTensor2026  = 0x34a // from mil-hwx-compiler's H16 writer; not seen for H13
)

const (
	threadHeadSize  = 0x10
	programHeadSize = 0x860
	tensorHeadSize  = 0x88
)

type threadHead struct {
	commandHead
	Flavor, Words uint32
}

// Name is the program's name.
func (c *ProgramThread) Name() string { return tailString(c.Tail, programHeadSize, c.NameOffset) }

func (c *ProgramThread) Code() uint32 { return CmdThread }
func (c *ProgramThread) Len() int     { return programHeadSize + len(c.Tail) }

func (c *ProgramThread) encode(dst []byte) {
	n := put(dst, threadHead{commandHead{CmdThread, uint32(c.Len())}, FlavorProgram, c.Words})
	n += put(dst[n:], &c.ProgramState)
	copy(dst[n:], c.Tail)
}

// An Attribute is one of the tagged values that a program thread of 2026
// carries before its name. Tag 9 with eight bytes is the one that H13 files
// have; what it means is not known.
type Attribute struct {
	Tag   uint32
	Value []byte
}

// Attributes reads the tagged values of a 2026 thread: a count, four bytes of
// zero, then tag, length and value of each. A thread of the older form, or one
// that does not read so, has none.
func (c *ProgramThread) Attributes() []Attribute {
	end := int64(threadHeadSize) + 4*int64(c.Words) - programHeadSize
	if end < 8 || end > int64(len(c.Tail)) {
		return nil
	}
	rest := c.Tail[8:end]
	var list []Attribute
	for range le.Uint32(c.Tail) {
		if len(rest) < 8 || uint64(le.Uint32(rest[4:])) > uint64(len(rest)-8) {
			return nil
		}
		n := 8 + le.Uint32(rest[4:])
		list = append(list, Attribute{le.Uint32(rest), rest[8:n]})
		rest = rest[n:]
	}
	return list
}

// encodeAttributes is the inverse of Attributes.
func encodeAttributes(list []Attribute) []byte {
	b := le.AppendUint32(nil, uint32(len(list)))
	b = le.AppendUint32(b, 0)
	for _, a := range list {
		b = le.AppendUint32(b, a.Tag)
		b = le.AppendUint32(b, uint32(len(a.Value)))
		b = append(b, a.Value...)
	}
	return b
}

// A TensorThread describes the tensor behind a port: a thread command of
// flavour 3 (h13 1.6).
type TensorThread struct {
	Words uint32 // WordsTensor, or WordsTensor2026
	TensorState
	Tail []byte // from byte 0x88 of the command on: 2026, more state; then network, tensor and port name
}

// TensorState is bytes 0x10 to 0x88 of a tensor thread. Fields without a
// meaning are named by their offset in the command.
type TensorState struct {
	Unknown10     uint32    // 3
	Direction     Direction // 0x14
	NetworkOffset uint32    // 0x18: of the network's name in the command
	Unknown1c     uint32
	NameOffset    uint32    // 0x20: of the tensor's name in the command
	Element       Element   // 0x24
	Shape         [4]uint32 // 0x28: N, C, H, W
	Unknown38     uint32    // 1: depth or interleave
	Unknown3c     [5]uint32
	Strides       [4]uint64 // 0x50: bytes, of N, C, H, W
	BatchBytes    uint64    // 0x70: of one batch element
	Unknown78     uint32    // 1
	PortOffset    uint32    // 0x7c: of the port's name in the command; v4.2.1: the tensor's once more
	UsedBytes     uint64    // 0x80: inputs, all bytes; outputs, up to the last element
}

// Direction says whether the engine reads or writes a port.
type Direction uint32

// The directions.
const (
	In    Direction = 1
	Out   Direction = 2
	InOut Direction = 3 // ours: a state, which has content before the program runs and keeps what is written
)

var directionNames = map[Direction]string{In: "in", Out: "out", InOut: "inout"}

func (d Direction) String() string {
	if name, ok := directionNames[d]; ok {
		return name
	}
	return "unknown"
}

// Valid reports whether d has a name.
func (d Direction) Valid() bool { return directionNames[d] != "" }

// Network is the name of the network, as `net`.
func (c *TensorThread) Network() string { return tailString(c.Tail, tensorHeadSize, c.NetworkOffset) }

// Name is the tensor's name, as `t5_ane@output`.
func (c *TensorThread) Name() string { return tailString(c.Tail, tensorHeadSize, c.NameOffset) }

// Port is the name under which the window is bound, as `t5_ane`.
func (c *TensorThread) Port() string { return tailString(c.Tail, tensorHeadSize, c.PortOffset) }

func (c *TensorThread) Code() uint32 { return CmdThread }
func (c *TensorThread) Len() int     { return tensorHeadSize + len(c.Tail) }

func (c *TensorThread) encode(dst []byte) {
	n := put(dst, threadHead{commandHead{CmdThread, uint32(c.Len())}, FlavorTensor, c.Words})
	n += put(dst[n:], &c.TensorState)
	copy(dst[n:], c.Tail)
}
