package firmware

import "github.com/espalier-ane/espalier/td"

// Layouts returns the structures of the package: the headers of the container,
// the parts of messages, and what the submission interface takes and gives.
func Layouts() []*Layout {
	return []*Layout{
		PackageHeader, ProgramHeader, SectionHeader,
		ControllerHeader, RingHeader, ProcedureCall, PropertyAccess, CallBody, BarRecord, CacheBody, StatsHeader, StatsEngine, Event, SectionRecord, LoadProgram,
		DeviceOpen, SendRequest, SurfaceRecord, SendReply,
		ProgramCreate, ProgramCreateArgs, ProgramCreateOutput, ProgramPrepare, ProgramDestroy, ProgramCreateInstance, GetStatus,
		ChainingPrepare, ChainingPrepared, ChainingArgs, ChainingLink, ChainingEvent, OutputSetEnqueue, InputsReady, InputRecord, SetActiveProcedure,
		MemoryMap, MapRecord, SessionHint, SessionHinted,
	}
}

// The headers of the load container. The documents give the three levels, their
// magic words, that a program is found by its identity, and the names of the
// sections; where any of it stands they do not say. So the rest is ours: headers
// of 64 bytes, and contents that begin and end at multiples of 64, the granule
// of the engine's tiles.
var (
	PackageHeader = &Layout{
		Name: "package header", Size: 64, Source: "guide C.3, ours",
		Fields: []Field{
			{"magic", 0, 4, td.Unverified, "ANEH"},
			{"version", 4, 4, td.Ours, "1: this layout"},
			{"size", 8, 8, td.Ours, "bytes of the whole package"},
			{"programs", 16, 4, td.Ours, "how many programs follow"},
			{"reserved", 20, 44, td.Ours, "kept"},
		},
	}
	ProgramHeader = &Layout{
		Name: "program header", Size: 64, Source: "guide C.3 and 2, ours",
		Fields: []Field{
			{"magic", 0, 4, td.Unverified, "ANEP"},
			{"sections", 4, 4, td.Ours, "how many sections follow"},
			{"size", 8, 8, td.Ours, "bytes of the program with its header"},
			{"identity", 16, 32, td.Ours, "the key: a SHA-256; that there is one is stated, not its form"},
			{"slot", 48, 4, td.Ours, "programId, -1 before the controller gives one"},
			{"procedures", 52, 4, td.Ours, "procNbr, the bound of a call's procedureId"},
			{"reserved", 56, 8, td.Ours, "kept"},
		},
	}
	SectionHeader = &Layout{
		Name: "section header", Size: 64, Source: "guide C.3, ours",
		Fields: []Field{
			{"magic", 0, 4, td.Unverified, "ANES"},
			{"kind", 4, 4, td.Ours, "the row of sectionKinds"},
			{"size", 8, 8, td.Ours, "bytes of content, without the padding"},
			{"address", 16, 8, td.Ours, "where the engine sees it, 0 before it is mapped"},
			{"reserved", 24, 40, td.Ours, "kept"},
		},
	}
)

// ControllerHeader stands before every command, by the guide's C.5. It took the
// fields and their widths from format strings and inferred the offsets.
//
// RingHeader is what the guide itself read in the dispatcher's code: a 16-bit id
// at +4. The t6021 notes find the same in the next generation, in the firmware
// and at all 61 places where the kernel sends a command. Both cannot be right
// about the same bytes. The one is kept because the guide's table has it, and
// because it has the fields; the other is more likely what travels.
var (
	ControllerHeader = &Layout{
		Name: "sCSneControllerCmdHdr", Size: 24, Source: "guide C.5",
		Fields: []Field{
			{"id", 0x00, 4, td.Unverified, "eCSneCmdId: Command.ID"},
			{"size", 0x04, 4, td.Unverified, "bytes of the body that follows"},
			{"priority", 0x08, 4, td.Unverified, "0 to 7"},
			{"programId", 0x0c, 4, td.Unverified, "signed; -1 is none"},
			{"processId", 0x10, 4, td.Unverified, "signed; -1 is none"},
			{"procedureId", 0x14, 4, td.Unverified, "index into the program's procedures"},
		},
	}
	RingHeader = &Layout{
		Name: "ring header", Size: 8, Source: "guide 30, t6021",
		Fields: []Field{
			{"reserved", 0x00, 4, td.Likely, "zero from every sender"},
			{"id", 0x04, 2, td.Likely, "Command.Wire"},
			{"flags", 0x06, 1, td.Unverified, ""},
			{"zero", 0x07, 1, td.Unverified, ""},
		},
	}

	// ProcedureCall is the start of command 0x204: what the guide's dispatcher
	// logs. On t6021 programId and the second word stand at the same places, the
	// rest is different there.
	ProcedureCall = &Layout{
		Name: "sCSneCmdProcedureCall", Size: 24, Source: "guide 30",
		Fields: []Field{
			{"reserved", 0x00, 4, td.Likely, ""},
			{"id", 0x04, 2, td.Likely, "0x204"},
			{"flags", 0x06, 1, td.Unverified, ""},
			{"zero", 0x07, 1, td.Unverified, ""},
			{"programId", 0x08, 4, td.Likely, "below 144"},
			{"procId", 0x0c, 4, td.Unverified, "below 288"},
			{"proc", 0x10, 4, td.Unverified, "index of the procedure"},
			{"priority", 0x14, 4, td.Unverified, "0 to 7"},
		},
	}

	// PropertyAccess follows the header of CH_PROPERTY_READ and CH_PROPERTY_WRITE.
	PropertyAccess = &Layout{
		Name: "property", Size: 12, Source: "guide 30, t6021",
		Fields: []Field{
			{"address", 0, 8, td.Likely, "of the register, or the key of the property"},
			{"value", 8, 4, td.Likely, "the guide: never 0 when written"},
		},
	}

	// CallBody follows the header of a procedure call of any kind. The names and the counts are those of the firmware's log and asserts;
	// where they stand is ours. Behind it stand so many BarRecords, then the events that are waited for and those that are signalled.
	CallBody = &Layout{
		Name: "sCSneCmdProcedureCallCopyContainer", Size: 24, Source: "guide 30, ours",
		Fields: []Field{
			{"sequence", 0x00, 8, td.Ours, "of the request"},
			{"nbrOfBuffers", 0x08, 4, td.Ours, "of the procedure's ports"},
			{"nbrOfCustomBars", 0x0c, 4, td.Ours, "0: none is needed beside them"},
			{"nbrOfWaitEvents", 0x10, 4, td.Ours, ""},
			{"nbrOfSignalEvents", 0x14, 4, td.Ours, "at most 16"},
		},
	}
	BarRecord = &Layout{
		Name: "bar", Size: 24, Source: "guide 29, ours",
		Fields: []Field{
			{"index", 0x00, 4, td.Ours, "of the port"},
			{"config", 0x04, 4, td.Ours, "0"},
			{"value", 0x08, 8, td.Ours, "where the engine sees the buffer"},
			{"bufSize", 0x10, 8, td.Ours, "in bytes"},
		},
	}

	// CacheBody follows the header of the commands about a cache request, 0x208 to 0x20b, 0x20f and 0x212. That the handle comes first is
	// the guide's; what follows it is ours.
	CacheBody = &Layout{
		Name: "cache request", Size: 24, Source: "guide 30, ours",
		Fields: []Field{
			{"cacheHandler", 0x00, 8, td.Unverified, "of the request"},
			{"execTimestamp", 0x08, 8, td.Ours, "of a trigger: above that of the one before"},
			{"outputBufferSetId", 0x10, 4, td.Ours, "of a recycled output buffer"},
			{"count", 0x14, 4, td.Ours, "of an install: its engine requests; of a trigger: its input buffers"},
		},
	}

	// StatsHeader begins what the firmware writes into a statistics buffer; StatsEngine follows, one for each engine. The sizes and the header
	// are the guide's, which has of the engine's record what is in it and not where.
	StatsHeader = &Layout{
		Name: "statistics header", Size: 0x28, Source: "guide 29",
		Fields: []Field{
			{"magic", 0x00, 2, td.Unverified, "0x0101"},
			{"time", 0x04, 8, td.Unverified, "of the call; here nanoseconds"},
			{"call", 0x0c, 4, td.Unverified, "a word of the call object; here the procedure"},
			{"reserved", 0x10, 8, td.Unverified, "0"},
			{"call2", 0x18, 4, td.Unverified, "a word of the call object; here 0"},
			{"counter", 0x1c, 8, td.Unverified, "of the call; here its sequence number"},
			{"descriptors", 0x24, 4, td.Unverified, "bytes that follow"},
		},
	}
	StatsEngine = &Layout{
		Name: "statistics of an engine", Size: 0x20, Source: "guide 29, ours",
		Fields: []Field{
			{"engine", 0x00, 4, td.Ours, "identifier"},
			{"type", 0x04, 4, td.Ours, ""},
			{"call", 0x08, 4, td.Ours, "the procedure"},
			{"index", 0x0c, 4, td.Ours, "of the engine"},
			{"tasks", 0x10, 4, td.Ours, "first of the four counters"},
			{"time", 0x14, 4, td.Ours, "nanoseconds"},
			{"counter2", 0x18, 4, td.Ours, "0"},
			{"counter3", 0x1c, 4, td.Ours, "0"},
		},
	}

	// Event is one that a procedure call waits for or signals.
	Event = &Layout{
		Name: "event", Size: 24, Source: "guide 30",
		Fields: []Field{
			{"type", 0, 4, td.Unverified, ""},
			{"targetMask", 4, 4, td.Unverified, ""},
			{"id", 8, 8, td.Unverified, ""},
			{"value", 16, 8, td.Unverified, ""},
		},
	}

	// SectionRecord tells the controller where a section of a program is.
	SectionRecord = &Layout{
		Name: "section record", Size: 0x30, Source: "t6021",
		Fields: []Field{
			{"present", 0x00, 1, td.Unverified, "bit 0: look at the rest"},
			{"address", 0x18, 8, td.Unverified, "as the engine sees it, not 0"},
			{"size", 0x20, 8, td.Unverified, "in bytes, not 0"},
		},
	}

	// LoadProgram is command 0x200: nine section records in the order of
	// SectionKind, and room for the id that the controller gives.
	LoadProgram = &Layout{
		Name: "load program", Size: 0x1c0, Source: "t6021",
		Fields: []Field{
			{"reserved", 0x00, 4, td.Likely, ""},
			{"id", 0x04, 2, td.Likely, "0x200"},
			{"flags", 0x06, 1, td.Unverified, ""},
			{"zero", 0x07, 1, td.Unverified, ""},
			{"generic", 0x008, 0x30, td.Unverified, ""},
			{"kernel", 0x038, 0x30, td.Unverified, ""},
			{"text", 0x068, 0x30, td.Unverified, ""},
			{"operation", 0x098, 0x30, td.Unverified, ""},
			{"procedure", 0x0c8, 0x30, td.Unverified, ""},
			{"kernel properties", 0x0f8, 0x30, td.Unverified, ""},
			{"text properties", 0x128, 0x30, td.Unverified, ""},
			{"operation debug", 0x158, 0x30, td.Unverified, ""},
			{"procedure properties", 0x188, 0x30, td.Unverified, ""},
			{"programId", 0x1b8, 4, td.Unverified, "-1 from the host, the id in the reply"},
		},
	}
)
