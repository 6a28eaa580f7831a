package firmware

import "encoding/binary"

// Header is what stands before a command by guide C.5: ControllerHeader, which
// see for the doubt about it.
type Header struct {
	ID          uint32 // of the command: Command.ID
	Priority    uint32 // 0 and 1 for the system, 2 to 7 for others
	ProgramID   int32  // the slot of a loaded program; -1 is none
	ProcessID   int32  // an instance of the program; -1 is none
	ProcedureID uint32 // index into the program's procedures
}

// The bands of priorities, guide 29 and 30.
const (
	SystemPriorities = 2 // below it: the system's
	Priorities       = 8 // all are below it
)

// ReadMessage takes a message apart. The body is a part of the data; what comes
// after it is not looked at, since a ring holds one message after another.
func ReadMessage(data []byte) (h Header, body []byte, err error) {
	size := ControllerHeader.Size
	if len(data) < size {
		return Header{}, nil, damage(len(data), "the header of a command has %d bytes, %d are here", size, len(data))
	}
	u32 := func(offset int) uint32 { return binary.LittleEndian.Uint32(data[offset:]) }
	length := u32(4)
	h = Header{
		ID:          u32(0),
		Priority:    u32(8),
		ProgramID:   int32(u32(12)),
		ProcessID:   int32(u32(16)),
		ProcedureID: u32(20),
	}
	switch {
	case h.ID == InvalidID:
		return Header{}, nil, damage(0, "the id of the command is %#x, which stands for none", h.ID)
	case h.Priority >= Priorities:
		return Header{}, nil, damage(8, "priority %d; there are %d", h.Priority, Priorities)
	case uint64(length) > uint64(len(data)-size):
		return Header{}, nil, damage(4, "the body of the command has %d bytes, %d are here", length, len(data)-size)
	}
	return h, data[size : size+int(length) : size+int(length)], nil
}

// AppendMessage appends the header and the body to dst.
func AppendMessage(dst []byte, h Header, body []byte) ([]byte, error) {
	if h.Priority >= Priorities {
		return nil, damage(8, "priority %d; there are %d", h.Priority, Priorities)
	}
	if h.ID == InvalidID {
		return nil, damage(0, "the id of the command is %#x, which stands for none", h.ID)
	}
	if uint64(len(body)) > 0xffffffff {
		return nil, damage(4, "a body of %d bytes is too long", len(body))
	}
	for _, v := range [...]uint32{
		h.ID, uint32(len(body)), h.Priority, uint32(h.ProgramID), uint32(h.ProcessID), h.ProcedureID,
	} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return append(dst, body...), nil
}

// A Limit bounds a count in a message, both ends included.
type Limit struct {
	Name     string
	Min, Max int // a Max of -1 is not known
	Source   string
}

// Limits returns the bounds that the firmware asserts, on H13.
func Limits() []Limit { return limits[:] }

var limits = [...]Limit{
	{"priority", 0, Priorities - 1, "guide 30"},
	{"program id", 0, 143, "guide 30"},
	{"process id", 0, 287, "guide 30"},
	{"custom bars in a message", 0, 32, "guide 29 and C.5"},
	{"custom bars in a program", 0, 128, "guide C.5"},
	{"signal events of a call with events", 1, 16, "guide 29"},
	{"wait and signal events of a call with events", 1, -1, "guide 29"},
	{"custom execute-order entries", 1, 128, "guide 30"}, // guide 29 gives the upper end alone
	{"input buffers of a trigger", 0, 16, "guide 30"},
	{"output buffer sets", 1, 1, "guide 29"},
	{"event masks", 1, 1, "guide 29"},
	{"active shared events", 0, 1, "guide 30"},
	{"task-descriptor partitions", 1, 1, "guide 30"}, // guide 29: at least 1, below a maximum of the procedure
	{"engine requests in a list", 1, 1, "guide 30"},
	{"back-channel payload bytes", 0, 0x800000, "guide 30"},
}
