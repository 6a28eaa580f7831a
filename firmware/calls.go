package firmware

import "github.com/espalier-ane/espalier/td"

// The structures of the calls of the submission interface. Their sizes are those that the kernel checks. Of the fields only some are known;
// the others are ours, and so is what stands in memory of the client that a call points to.
//
// Where a call of Apple's would have a pointer, ours has an address in the memory of the client: the number of a surface in the upper 32 bits,
// and a byte of it in the lower. Times are microseconds. A count of records is followed by room for all of them; those behind the count are not
// looked at.
var (
	// DeviceOpen is given and returned by selector 0. What the client writes and
	// what it gets back share the bytes.
	DeviceOpen = &Layout{
		Name: "ANEDeviceInfo", Size: 104, Source: "guide 27 and C.2",
		Fields: []Field{
			{"token", 0x00, 8, td.Unverified, "in: the usage in the lowest byte, 1 standard, 2 refused; out: the session's token"},
			{"callback", 0x08, 8, td.Unverified, "a function of the client, or the board"},
			{"context", 0x10, 8, td.Unverified, "what the callback is given"},
			{"timeout", 0x18, 4, td.Unverified, "10000; here milliseconds that a request may take, 0 any"}, // 4 bytes or 8: it fits into either
			{"version", 0x48, 4, td.Unverified, "out: 32"},
			{"minor", 0x4c, 4, td.Unverified, "out: 256, the second of the pair"},
			// Chapter 27 has the number of engines at +0x50; C.2 has a pair there, 0 and 1.
			{"enginesFirst", 0x50, 4, td.Unverified, "out: 0"},
			{"engines", 0x54, 4, td.Unverified, "out: 1"},
			{"cpuSubtype", 0x60, 4, td.Unverified, "out: 4"},
		},
	}

	// SendRequest submits a dispatch, by selector 2. The scalar is 0 for a caller that waits for the reply, or what the wake port is given with it.
	//
	// The guide calls the pair (5, 21) quality of service and priority. The framework's mapper has 21 as the default quality of service, and 5 as
	// the priority that it gets, so they are named the other way round here. How many surfaces there are, how wide an identifier is and
	// where one list ends is not known: 128 records of 12 bytes, as many as there are buffer slots, and 16 events on each side, as many as a call
	// may have, fill the structure to the last byte.
	SendRequest = &Layout{
		Name: "ANEProgramRequestArgs", Size: 2376, Source: "guide 27, ours",
		Fields: []Field{
			{"token", 0x000, 8, td.Unverified, "what program create returned, or create instance"},
			{"sequence", 0x008, 8, td.Unverified, "0, then 1"},
			{"priority", 0x010, 4, td.Unverified, "5, as observed; 0xffffffff: that of the quality of service"},
			{"qos", 0x014, 4, td.Unverified, "21, as observed"},
			{"category", 0x01c, 4, td.Unverified, "2, as observed"},
			{"inputs", 0x020, 4, td.Ours, "how many of the surfaces; they come first"},
			{"outputs", 0x024, 4, td.Ours, "likewise; they come next"},
			{"intermediates", 0x028, 4, td.Ours, "likewise; they are not needed"},
			{"procedure", 0x02c, 4, td.Ours, "index"},
			{"deadline", 0x030, 8, td.Ours, "from now; 0: that of the session"},
			{"stats", 0x038, 4, td.Ours, "surface for statistics, 0 none"},
			{"statsMask", 0x03c, 4, td.Ours, "kept"},
			{"waits", 0x040, 4, td.Ours, "how many of the wait events"},
			{"signals", 0x044, 4, td.Ours, "how many of the signal events"},
			{"surfaces", 0x048, 128 * 12, td.Ours, "128 surface records"},
			{"waitEvents", 0x648, 16 * 24, td.Ours, "16 events"},
			{"signalEvents", 0x7c8, 16 * 24, td.Ours, "16 events"},
		},
	}
	SurfaceRecord = &Layout{
		Name: "surface record", Size: 12, Source: "ours",
		Fields: []Field{
			{"surface", 0, 4, td.Ours, "its number"},
			{"symbol", 4, 4, td.Ours, "index among the inputs, or the outputs"},
			{"offset", 8, 4, td.Ours, "start offset in bytes"},
		},
	}

	// SendReply is what selector 2 returns.
	SendReply = &Layout{
		Name: "send reply", Size: 40, Source: "guide 27",
		Fields: []Field{
			{"sequence", 0x00, 8, td.Unverified, "of the request, with the result"},
			{"token", 0x08, 8, td.Unverified, "of the request"},
			{"result", 0x10, 4, td.Ours, "a return code, 0 when it is done"},
			{"time", 0x18, 8, td.Ours, "nanoseconds from submission to end"},
			{"status", 0x20, 4, td.Unverified, "a flag; here 0 done, 1 under way, 2 failed"},
		},
	}

	ProgramCreate = &Layout{
		Name: "program create", Size: 32, Source: "guide 27, ours",
		Fields: []Field{
			{"args", 0x00, 8, td.Ours, "address of ProgramCreateArgs"},
			{"argsSize", 0x08, 8, td.Ours, ""},
			{"output", 0x10, 8, td.Ours, "address for ProgramCreateOutput"},
			{"outputSize", 0x18, 8, td.Ours, ""},
		},
	}
	ProgramCreateArgs = &Layout{
		Name: "ANEProgramCreateArgs", Size: 0xd0, Source: "guide 33, ours",
		Fields: []Field{
			{"container", 0x00, 8, td.Ours, "address"},
			{"containerSize", 0x08, 8, td.Ours, ""},
			{"hash", 0x18, 32, td.Unverified, "SHA-256 that the container must have; all zero: any"},
			{"key", 0x38, 32, td.Unverified, "a second hash; kept"},
			{"procedures", 0x5c, 4, td.Unverified, "count; here 0, or as many as the container has"},
			{"qos", 0x64, 4, td.Unverified, "21"},
			{"flags", 0x68, 4, td.Unverified, "0x10"},
			{"statsMask", 0x6c, 4, td.Unverified, "kept"},
			{"memoryPoolID", 0x70, 4, td.Unverified, "0"},
			{"name", 0x80, 64, td.Unverified, "where it begins is the guide's, how long it is ours"},
			{"weights", 0xc0, 8, td.Ours, "address of external weights"},
			{"weightsSize", 0xc8, 8, td.Ours, "0: none"},
		},
	}
	ProgramCreateOutput = &Layout{
		Name: "ANEProgramCreateArgsOutput", Size: 0x30, Source: "guide 33, ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of the program"},
			{"queueDepth", 0x08, 4, td.Ours, "127"},
			{"signature", 0x10, 32, td.Ours, "of the container"},
		},
	}
	ProgramPrepare = &Layout{
		Name: "program prepare", Size: 56, Source: "guide 27, ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of the program"},
			{"qos", 0x08, 4, td.Ours, "kept"},
			{"programId", 0x10, 4, td.Ours, "out: its slot"},
			{"processId", 0x14, 4, td.Ours, "out: of its first process"},
			{"procedures", 0x18, 4, td.Ours, "out"},
			{"segments", 0x1c, 4, td.Ours, "out: of the image"},
			{"address", 0x20, 8, td.Ours, "out: where the engine sees the first"},
			{"size", 0x28, 8, td.Ours, "out: of the image in bytes"},
			{"intermediate", 0x30, 8, td.Ours, "out: 0, for the driver has this memory"},
		},
	}
	ProgramDestroy = &Layout{
		Name: "program destroy", Size: 16, Source: "guide 27, ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of the program"},
			{"flags", 0x08, 8, td.Ours, "0"},
		},
	}
	ProgramCreateInstance = &Layout{
		Name: "program create instance", Size: 32, Source: "guide 27, ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of the program"},
			{"output", 0x08, 8, td.Ours, "address for the token of the instance"},
			{"qos", 0x10, 4, td.Ours, "kept"},
			{"flags", 0x14, 4, td.Ours, "0"},
		},
	}
	GetStatus = &Layout{
		Name: "status", Size: 32, Source: "guide 27, ours",
		Fields: []Field{
			{"state", 0x00, 4, td.Ours, "of the execution loop: 0 to 3 as in guide 29, 4 paused"},
			{"running", 0x04, 4, td.Ours, "requests"},
			{"queued", 0x08, 4, td.Ours, "requests"},
			{"programs", 0x0c, 4, td.Ours, "that are loaded"},
			{"processes", 0x10, 4, td.Ours, ""},
			{"clients", 0x14, 4, td.Ours, ""},
		},
	}

	ChainingPrepare = &Layout{
		Name: "chaining prepare", Size: 16, Source: "guide 27, ours",
		Fields: []Field{
			{"args", 0x00, 8, td.Ours, "address of ChainingArgs"},
			{"size", 0x08, 8, td.Ours, "of all that is there"},
		},
	}
	ChainingPrepared = &Layout{
		Name: "chaining prepared", Size: 24, Source: "guide 27, ours",
		Fields: []Field{
			{"cacheHandler", 0x00, 8, td.Ours, ""},
			{"links", 0x08, 4, td.Ours, ""},
			{"outputSets", 0x0c, 4, td.Ours, ""},
			{"transaction", 0x10, 8, td.Ours, "as given"},
		},
	}
	// ChainingArgs is followed by its links, the outputs of its sets (a number of 4 bytes for each set), pairs of loop-back symbols (an input and an
	// output, 4 bytes each), events, and then surface records: of each link its inputs and its outputs, of each set its outputs.
	ChainingArgs = &Layout{
		Name: "chaining args", Size: 64, Source: "chaining-research, ours",
		Fields: []Field{
			{"links", 0x00, 4, td.Ours, ""},
			{"outputSets", 0x04, 4, td.Ours, ""},
			{"loops", 0x08, 4, td.Ours, ""},
			{"events", 0x0c, 4, td.Ours, ""},
			{"procedure", 0x10, 4, td.Ours, "by which later calls name the chain, beside the program of its first link"},
			{"qos", 0x14, 4, td.Ours, ""},
			{"priority", 0x18, 4, td.Ours, "0xffffffff: that of the quality of service"},
			{"memoryPoolID", 0x1c, 4, td.Ours, "kept"},
			{"transaction", 0x20, 8, td.Ours, "echoed"},
			{"enqueueDelay", 0x28, 8, td.Ours, ""},
		},
	}
	ChainingLink = &Layout{
		Name: "chaining link", Size: 24, Source: "ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of the program"},
			{"procedure", 0x08, 4, td.Ours, "index"},
			{"inputs", 0x0c, 4, td.Ours, "surface records"},
			{"outputs", 0x10, 4, td.Ours, "likewise; 0 of the last link"},
		},
	}
	ChainingEvent = &Layout{
		Name: "chaining event", Size: 24, Source: "ours, after event",
		Fields: []Field{
			{"type", 0x00, 4, td.Ours, "0 to 2"},
			{"targetMask", 0x04, 4, td.Ours, "agents"},
			{"id", 0x08, 8, td.Ours, ""},
			{"symbol", 0x10, 4, td.Ours, ""},
			{"output", 0x14, 4, td.Ours, "1: of an output; 0: of an input, that is free again"},
		},
	}
	OutputSetEnqueue = &Layout{
		Name: "output set enqueue", Size: 40, Source: "guide 27, chaining-research: _ANEOutputSetEnqueue, ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of the program"},
			{"procedureIndex", 0x08, 4, td.Ours, "of the chain"},
			{"setIndex", 0x0c, 4, td.Ours, ""},
			{"signalValue", 0x10, 8, td.Ours, ""},
			{"signalNotRequired", 0x18, 1, td.Ours, ""},
			{"isOpenLoop", 0x19, 1, td.Ours, ""},
			{"transaction", 0x20, 8, td.Ours, "kept"},
		},
	}
	InputsReady = &Layout{
		Name: "inputs ready", Size: 3104, Source: "guide 27, chaining-research: _ANEInputBuffersReady, ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of the program"},
			{"procedureIndex", 0x08, 4, td.Ours, "of the chain"},
			{"count", 0x0c, 4, td.Ours, "of buffers; at most 16"},
			{"executionDelay", 0x10, 8, td.Ours, ""},
			{"timestamp", 0x18, 8, td.Ours, "above the one before; 0: the driver counts"},
			{"buffers", 0x20, 128 * 24, td.Ours, "128 input records: what is left of the structure is as many as there are buffer slots"},
		},
	}
	InputRecord = &Layout{
		Name: "input record", Size: 24, Source: "ours",
		Fields: []Field{
			{"inputBufferInfoIndex", 0x00, 4, td.Ours, "symbol"},
			{"hasFreeValue", 0x04, 4, td.Ours, "1: so it has"},
			{"inputFreeValue", 0x08, 8, td.Ours, ""},
		},
	}
	SetActiveProcedure = &Layout{
		Name: "chaining set active procedure", Size: 32, Source: "guide 27, ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of the program"},
			{"procedureIndex", 0x08, 4, td.Ours, "of the chain"},
			{"flags", 0x0c, 4, td.Ours, "1: invalidate the chain instead"},
		},
	}

	MemoryMap = &Layout{
		Name: "ANEMemoryMappingParams", Size: 2080, Source: "guide 27, chaining-research: experiment N, ours",
		Fields: []Field{
			{"token", 0x00, 8, td.Ours, "of a program or instance whose requests use these surfaces if they name none; 0: none"},
			{"count", 0x08, 4, td.Ours, "of surfaces"},
			{"flags", 0x0c, 4, td.Ours, "0"},
			{"surfaces", 0x20, 128 * 16, td.Ours, "128 map records: what is left of the structure is as many as there are buffer slots"},
		},
	}
	MapRecord = &Layout{
		Name: "map record", Size: 16, Source: "ours",
		Fields: []Field{
			{"surface", 0x0, 4, td.Ours, "its number; not looked at when it is unmapped"},
			{"slot", 0x4, 4, td.Ours, "0 to 127; to be mapped also 0xffffffff: any"},
			{"symbol", 0x8, 4, td.Ours, "with a token"},
			{"output", 0xc, 4, td.Ours, "with a token: 1 of an output"},
		},
	}

	SessionHint = &Layout{
		Name: "session hint", Size: 16, Source: "guide 27, ours",
		Fields: []Field{
			{"hint", 0x0, 4, td.Ours, "1 real-time task begins, 2 ends"},
			{"value", 0x8, 8, td.Ours, "0"},
		},
	}
	SessionHinted = &Layout{
		Name: "session hinted", Size: 24, Source: "guide 27, ours",
		Fields: []Field{
			{"hint", 0x0, 4, td.Ours, "as given"},
			{"granted", 0x4, 4, td.Ours, "1: so it is"},
		},
	}
)
