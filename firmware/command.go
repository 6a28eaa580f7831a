package firmware

import "strconv"

// A Command is a row of the command table of the mailbox protocol.
//
// There are two numberings. The firmware's logger numbers the names from 0 to
// 0x5c without a gap: ID, the numbering of guide C.5. On the wire the numbers
// fall into families by their high byte: Wire.
//
// The guide also lists the families, and there every name is one place late:
// START at 1, and at the end DEBUG_COMMAND_DATA_CHECK at the 0 that ends the
// list. It read pairs of name and number in the wrong order. For the dispatcher
// whose code it read as well has PROCEDURE_CALL as 0x204, as the numbers here do,
// and the trigger, the calls with bars and with events at 0x209, 0x20c and 0x211.
// With the shift undone, the family sizes that it counted (9, 19, 6 and 5) fit the
// 93 names and START exactly, and the table is the one that t6021 has, which adds
// RESUME and SET_SIGNAL_EVENTS.
type Command struct {
	ID        int    // eCSneCmdId of guide C.5; -1 where that has none
	Wire      uint16 // the id in a message
	Name      string // without the prefix CSNE_CMD_
	Direction Direction
	Subsystem Subsystem
}

// Direction is who sends a command.
type Direction uint8

// The directions.
const (
	ToFirmware Direction = iota
	ToHost
	BothWays
)

var directionNames = [...]string{"H->FW", "FW->H", "FW<->H"}

// String returns the guide's arrow.
func (d Direction) String() string {
	if int(d) >= len(directionNames) {
		return "direction " + strconv.Itoa(int(d))
	}
	return directionNames[d]
}

// Subsystem is what a command is about.
type Subsystem uint8

// The subsystems.
const (
	Lifecycle Subsystem = iota
	Power
	Secure
	Programs
	Execution
	Cache
	IPC
	Buffers
	Properties
	Statistics
)

var subsystemNames = [...]string{
	"lifecycle", "power", "secure", "program", "execution", "cache", "ipc", "buffer", "property", "stats",
}

// String returns the guide's word.
func (s Subsystem) String() string {
	if int(s) >= len(subsystemNames) {
		return "subsystem " + strconv.Itoa(int(s))
	}
	return subsystemNames[s]
}

// InvalidID is the id of no command, no program and no process.
const InvalidID = 0xffffffff

// Commands returns the 93 commands of guide C.5 by their ID.
func Commands() []Command { return commands[:] }

// CommandByID finds the command with the number of guide C.5.
func CommandByID(id uint32) (Command, bool) {
	if id >= uint32(len(commands)) {
		return Command{}, false
	}
	return commands[id], true
}

// CommandByWire finds the command with the number on the wire, among the 93 and
// those that C.5 leaves out.
func CommandByWire(wire uint16) (Command, bool) {
	return findCommand(func(c Command) bool { return c.Wire == wire })
}

// CommandByName finds the command with the name, without the prefix CSNE_CMD_.
func CommandByName(name string) (Command, bool) {
	return findCommand(func(c Command) bool { return c.Name == name })
}

func findCommand(is func(Command) bool) (Command, bool) {
	for _, rows := range [][]Command{commands[:], unnumbered[:]} {
		for _, c := range rows {
			if is(c) {
				return c, true
			}
		}
	}
	return Command{}, false
}

// unnumbered are the commands that C.5 leaves out. Of START it says that it is a
// line of the log only; yet it is what the kernel sends first, as 0. The other
// two exist on t6021 only.
var unnumbered = [...]Command{
	{-1, 0x0000, "START", ToFirmware, Lifecycle},
	{-1, 0x0035, "RESUME", ToFirmware, Lifecycle},
	{-1, 0x0213, "SET_SIGNAL_EVENTS", ToFirmware, Execution},
}

// commands is guide C.5, indexed by ID. Directions and subsystems are the
// guide's; the numbers on the wire are those of t6021, see Command.
var commands = [93]Command{
	{0x00, 0x0001, "STOP", ToFirmware, Lifecycle},
	{0x01, 0x0002, "RESET", ToFirmware, Lifecycle},
	{0x02, 0x0003, "CONFIG_GET", ToFirmware, Properties},
	{0x03, 0x0004, "PRINT_ENABLE", ToFirmware, Statistics},
	{0x04, 0x0005, "REG_FILE_LOAD", ToFirmware, Lifecycle},
	{0x05, 0x0006, "BUILDINFO", ToFirmware, Lifecycle},
	{0x06, 0x0007, "TIMEPROFILE_START", ToFirmware, Statistics},
	{0x07, 0x0008, "TIMEPROFILE_STOP", ToFirmware, Statistics},
	{0x08, 0x0009, "TIMEPROFILE_SHOW", ToFirmware, Statistics},
	{0x09, 0x000a, "FW_RUN_MODE", ToFirmware, Lifecycle},
	{0x0a, 0x000b, "POWER_DOWN", ToFirmware, Power},
	{0x0b, 0x000c, "SET_SNE_PMU_BASE", ToFirmware, Power},
	{0x0c, 0x000d, "SET_SNE_RPC_CHECK_CMD", ToFirmware, Properties},
	{0x0d, 0x000e, "RPC_ENABLE", ToFirmware, Properties},
	{0x0e, 0x000f, "PLATFORM_INFO", ToFirmware, Lifecycle},
	{0x0f, 0x0010, "BOOT", ToFirmware, Lifecycle},
	{0x10, 0x0011, "PING", ToFirmware, Lifecycle},
	{0x11, 0x0012, "CONFIG_GET_EXT", ToFirmware, Properties},
	{0x12, 0x0013, "POWER_DEVICE_ON", ToFirmware, Power},
	{0x13, 0x0014, "POWER_DEVICE_OFF", ToFirmware, Power},
	{0x14, 0x0015, "IPC_ENDPOINT_SET", ToFirmware, IPC},
	{0x15, 0x0016, "IPC_ENDPOINT_UNSET", ToFirmware, IPC},
	{0x16, 0x0017, "CH_INFO_GET", ToFirmware, Buffers},
	{0x17, 0x0018, "CH_BUFFER_RECYCLE_MODE_SET", ToFirmware, Buffers},
	{0x18, 0x0019, "CH_BUFFER_RECYCLE_START", ToFirmware, Buffers},
	{0x19, 0x001a, "CH_BUFFER_RECYCLE_STOP", ToFirmware, Buffers},
	{0x1a, 0x001b, "CH_BUFFER_RETURN", ToFirmware, Buffers},
	{0x1b, 0x001c, "CH_BUFFER_POOL_CONFIG_GET", ToFirmware, Buffers},
	{0x1c, 0x001d, "CH_BUFFER_POOL_CONFIG_SET", ToFirmware, Buffers},
	{0x1d, 0x001e, "CH_DATA_FILE_LOAD", ToFirmware, Buffers},
	{0x1e, 0x001f, "CH_PROPERTY_WRITE", ToFirmware, Properties},
	{0x1f, 0x0020, "CH_PROPERTY_READ", ToFirmware, Properties},
	{0x20, 0x0021, "TRACE_ENABLE", ToFirmware, Statistics},
	{0x21, 0x0022, "RESOURCE_INFO_GET", ToFirmware, Lifecycle},
	{0x22, 0x0023, "STATS_BUFFER_SIZE_GET", ToFirmware, Statistics},
	{0x23, 0x0024, "SUSPEND", ToFirmware, Lifecycle},
	{0x24, 0x0025, "DSID_SET", ToFirmware, Cache},
	{0x25, 0x0026, "MCACHE_SIZE_GET", ToFirmware, Cache},
	{0x26, 0x0027, "SECURE_MODE_START", ToFirmware, Secure},
	{0x27, 0x0028, "SECURE_MODE_STOP", ToFirmware, Secure},
	{0x28, 0x0029, "SET_SNE_PMU_BASE2", ToFirmware, Power},
	{0x29, 0x002a, "IPC_ENDPOINT_SET2", ToFirmware, IPC},
	{0x2a, 0x002b, "IPC_ENDPOINT_UNSET2", ToFirmware, IPC},
	{0x2b, 0x002c, "CH_DATA_FILE_LOAD2", ToFirmware, Buffers},
	{0x2c, 0x002d, "SET_DYNAMIC_POWERGATE", ToFirmware, Power},
	{0x2d, 0x002e, "ANE_DEFAULT_SETTING_SET", ToFirmware, Lifecycle},
	{0x2e, 0x002f, "INIT_SHARED_EVENT_INFO", ToFirmware, IPC},
	{0x2f, 0x0030, "EXCLAVE_MODE_START", ToFirmware, Secure},
	{0x30, 0x0031, "EXCLAVE_MODE_STOP", ToFirmware, Secure},
	{0x31, 0x0032, "QUIESCE_STATE", ToFirmware, Lifecycle},
	{0x32, 0x0033, "CPU_LOAD_GET", ToFirmware, Statistics},
	{0x33, 0x0034, "SECURE_MODE_RESUME_TRANSITION", ToFirmware, Secure},
	{0x34, 0x0100, "CH_ERROR_NOTIFICATION", ToHost, Statistics},
	{0x35, 0x0101, "CH_POWER_CONTROL", ToFirmware, Power},
	{0x36, 0x0102, "CH_SIGNPOST_NOTIFICATION", ToHost, Statistics},
	{0x37, 0x0103, "CH_SIGNPOST_NOTIFICATION_GROUP", ToHost, Statistics},
	{0x38, 0x0104, "CH_RESET_NOTIFICATION", ToHost, Statistics},
	{0x39, 0x0105, "CH_SIGNPOST64_NOTIFICATION", ToHost, Statistics},
	{0x3a, 0x0106, "CH_SIGNPOST64_NOTIFICATION_GROUP", ToHost, Statistics},
	{0x3b, 0x0107, "CPU_LOAD_NOTIFICATION", ToHost, Statistics},
	{0x3c, 0x0108, "TM_SYNC_ERR_NOTIFICATION", ToHost, Statistics},
	{0x3d, 0x0200, "LOAD_PROGRAM", ToFirmware, Programs},
	{0x3e, 0x0201, "UNLOAD_PROGRAM", ToFirmware, Programs},
	{0x3f, 0x0202, "CREATE_PROCESS", ToFirmware, Programs},
	{0x40, 0x0203, "TERMINATE_PROCESS", ToFirmware, Programs},
	{0x41, 0x0204, "PROCEDURE_CALL", ToFirmware, Execution},
	{0x42, 0x0205, "LOAD_AFPP", ToFirmware, Programs},
	{0x43, 0x0206, "UNLOAD_AFPP", ToFirmware, Programs},
	{0x44, 0x0207, "PROGRAM_INTERFACE_VERSION_CHECK", ToFirmware, Programs},
	{0x45, 0x0208, "PROCEDURE_CALL_CACHE_REQUEST", ToFirmware, Cache},
	{0x46, 0x0209, "PROCEDURE_CALL_TRIGGER_CACHE_REQUEST", ToFirmware, Cache},
	{0x47, 0x020a, "PROCEDURE_CALL_RECYCLE_OUTPUT_BUFFER", ToFirmware, Cache},
	{0x48, 0x020b, "PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST", ToFirmware, Cache},
	{0x49, 0x020c, "PROCEDURE_CALL_WITH_CUSTOM_BARS", ToFirmware, Execution},
	{0x4a, 0x020d, "PREMAP_BUFFER", ToFirmware, Cache},
	{0x4b, 0x020e, "PROCEDURE_CALL_CACHE_REQUEST_WITH_CUSTOM_BARS", ToFirmware, Cache},
	{0x4c, 0x020f, "PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS", ToFirmware, Cache},
	{0x4d, 0x0210, "FORCE_DISABLE_CACHE_REQUESTS", ToFirmware, Cache},
	{0x4e, 0x0211, "PROCEDURE_CALL_WITH_SIGNAL_EVENTS", ToFirmware, Execution},
	{0x4f, 0x0212, "SET_ACTIVE_CACHE_REQUEST_IN_GROUP", ToFirmware, Cache},
	{0x50, 0x0300, "PROGRAM_EVENT", ToHost, Programs},
	{0x51, 0x0301, "USER_EVENT", ToHost, Statistics},
	{0x52, 0x0302, "DBG_EVENT", ToHost, Statistics},
	{0x53, 0x0303, "DATA_CHAINING_EVENT", ToHost, Cache},
	{0x54, 0x0304, "PREFETCH_DSID_EVENT", ToHost, Cache},
	{0x55, 0x0305, "SECURE_MODE_EVENT", ToHost, Secure},
	{0x56, 0x0400, "REQUEST_PROGRAM_ID", ToFirmware, Programs},
	{0x57, 0x0401, "RETURN_PROGRAM_ID", ToFirmware, Programs},
	{0x58, 0x0402, "REQUEST_PROCESS_ID", ToFirmware, Programs},
	{0x59, 0x0403, "RETURN_PROCESS_ID", ToFirmware, Programs},
	{0x5a, 0x0404, "INFERENCE_CALL", ToFirmware, Execution},
	{0x5b, 0x7000, "BACK_CHANNEL_RPC", BothWays, Properties},
	{0x5c, 0xff00, "DEBUG_COMMAND_DATA_CHECK", ToFirmware, Statistics},
}
