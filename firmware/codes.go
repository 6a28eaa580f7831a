package firmware

// A ReturnCode is a status of the kernel that the calls of the engine's driver
// give.
type ReturnCode struct {
	Name    string
	Value   uint32 // of Apple's IOReturn.h
	Guide   uint32 // of guide C.3: the same, or not
	Meaning string // to the engine
}

// ReturnCodes returns the table of guide C.3. Four of its numbers are not those
// of Apple's published header, which has other names for two of them: 0xe0000001
// is kIOReturnInvalid there, and 0xe00002d0 is kIOReturnNotAligned. The header is
// what the kernel was compiled with.
func ReturnCodes() []ReturnCode { return returnCodes[:] }

var returnCodes = [...]ReturnCode{
	{"kIOReturnSuccess", 0x00000000, 0x00000000, "done"},
	{"kIOReturnError", 0xe00002bc, 0xe0000001, "failed, without a reason"},
	{"kIOReturnBusy", 0xe00002d5, 0xe0000007, "the gate or a command is busy"},
	{"kIOReturnNoMemory", 0xe00002bd, 0xe00002bd, "no memory"},
	{"kIOReturnNoResources", 0xe00002be, 0xe00002be, "no queue or slot is left"},
	{"kIOReturnNotPrivileged", 0xe00002c1, 0xe00002c1, "the caller may not"},
	{"kIOReturnBadArgument", 0xe00002c2, 0xe00002c2, "a size or a pointer is wrong"},
	{"kIOReturnUnsupported", 0xe00002c7, 0xe00002c7, "switched off, a stub, or the entitlement is missing"},
	{"kIOReturnNotReady", 0xe00002d8, 0xe00002d0, "the device or its channel is not ready"},
	{"kIOReturnAborted", 0xe00002eb, 0xe00002eb, "the request was aborted"},
	{"kIOReturnNotFound", 0xe00002f0, 0xe00002f0, "no such program or process"},
	{"kIOReturnTimeout", 0xe00002d6, 0xe0000404, "the firmware did not answer in time"},

	// Not in C.3: chapter 27 has it for a client that is closed or closing.
	{"kIOReturnExclusiveAccess", 0xe00002c5, 0xe00002c5, "the client is closed"},
}

// FindReturnCode finds the row with the number: the header's, or else the
// guide's.
func FindReturnCode(value uint32) (ReturnCode, bool) {
	for _, column := range []func(ReturnCode) uint32{
		func(c ReturnCode) uint32 { return c.Value },
		func(c ReturnCode) uint32 { return c.Guide },
	} {
		for _, c := range returnCodes {
			if column(c) == value {
				return c, true
			}
		}
	}
	return ReturnCode{}, false
}

// A Magic is a fixed number of the firmware.
type Magic struct {
	Name    string
	Value   uint32
	Meaning string
}

// The magic words of the load container. They are written as numbers, least
// significant byte first, so that the bytes of the file read HENA, PENA and
// SENA. The guide's C.3 says so. Its glossary calls them big-endian, which is
// true of the way the letters fill the number.
const (
	PackageMagic = 0x414e4548 // ANEH
	ProgramMagic = 0x414e4550 // ANEP
	SectionMagic = 0x414e4553 // ANES
)

// Magics returns the table of guide C.3. The power status is a byte, the others
// have 32 bits.
func Magics() []Magic { return magics[:] }

var magics = [...]Magic{
	{"package", PackageMagic, "ANEH: header of a package"},
	{"program", ProgramMagic, "ANEP: header of a program"},
	{"section", SectionMagic, "ANES: header of a section"},
	{"AFPP control", 0x55aa55aa, "control structure of an AFPP, and of a back-channel payload"},
	{"checksum valid", 0xffffffff, "the checksum of a command is set and right"},
	{"invalid id", InvalidID, "no command, program or process"},
	{"padding", 0x00000000, "what pads a command"},
	{"power on", 0xff, "the status byte of a block that is fully on"},
	{"power off", 0x00, "the status byte of a block that is fully off"},
}
