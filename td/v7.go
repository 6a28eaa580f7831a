package td

// Version 7 is the task descriptor of H13. The header is followed by dense
// records, always in the order of the blocks below. A task without kernel data
// may leave out the middle of the first block (h13 2.1).
var (
	v7 = newLayout(V7)

	v7Header = v7.header(headerWords+1, "h13 2.2")
	v7Kernel = v7.block("KernelDMASrc", 0x1f800, 62, "h13 2.9")
	v7Common = v7.block("Common", 0x00000, 16, "h13 2.3")
	v7Src    = v7.block("TileDMASrc", 0x13800, 28, "h13 2.4")
	v7L2     = v7.block("L2", 0x04800, 18, "h13 2.5")
	v7PE     = v7.block("PE", 0x08800, 4, "h13 2.6")
	v7NE     = v7.block("NE", 0x0c800, 5, "h13 2.7")
	v7Dst    = v7.block("TileDMADst", 0x17800, 7, "h13 2.8")
)

// The header of versions 7 and 256. Version 256 uses the identity, the links
// and nothing else of it.
var (
	V7TaskID    = v7Header.row("TaskID", 4*0, 15, 0, Uint, Certain, "counts from 0")
	V7NetworkID = v7Header.row("NetworkID", 4*0, 23, 16, Uint, Named, "0 in files, set by the loader")
	V7NotFirst  = v7Header.flag("NotFirst", 4*0, 24, Certain, "LNID: set but in the first task")
	V7Last      = v7Header.flag("Last", 4*0, 25, Certain, "EON: the last task")

	V7Cycles    = v7Header.row("Cycles", 4*1, 15, 0, Uint, Likely, "estimated cycles, a hint")
	V7NextWords = v7Header.row("NextWords", 4*1, 24, 16, Uint, Certain, "words of the next task less one, 0 in the last")

	V7LogEvents       = v7Header.row("LogEvents", 4*2, 23, 0, Uint, Named, "no function")
	V7Exceptions      = v7Header.row("Exceptions", 4*3, 31, 0, Uint, Named, "0")
	V7DebugLogEvents  = v7Header.row("DebugLogEvents", 4*4, 23, 0, Uint, Named, "no function")
	V7DebugExceptions = v7Header.row("DebugExceptions", 4*5, 31, 0, Uint, Named, "0")

	V7DisallowAbort = v7Header.flag("DisallowAbort", 4*6, 8, Named, "set in layer normalization")
	V7Skip          = v7Header.flag("Skip", 4*6, 9, Named, "TDSkip")
	V7KPC           = v7Header.flag("KPC", 4*6, 10, Named, "scheduling")
	V7SPL           = v7Header.flag("SPL", 4*6, 11, Named, "scheduling")
	V7TSR           = v7Header.flag("TSR", 4*6, 12, Named, "scheduling")
	V7SPC           = v7Header.flag("SPC", 4*6, 13, Named, "scheduling; with an on-chip source that has a base in memory")
	V7DPC           = v7Header.flag("DPC", 4*6, 14, Named, "scheduling; with an on-chip result that has a base in memory")
	V7TSE           = v7Header.flag("TSE", 4*6, 15, Named, "scheduling")
	V7NextPriority  = v7Header.row("NextPriority", 4*6, 21, 16, Uint, Named, "0")
	V7ExtraWord     = v7Header.flag("ExtraWord", 4*6, 24, Likely, "TDE: an eleventh header word follows; that it does is certain, that this bit says so is not")
	V7SourceDMA     = v7Header.flag("SourceDMA", 4*6, 28, Certain, "SrcLoc: source 1 comes by DMA, not from on-chip memory")
	V7ResultDMA     = v7Header.flag("ResultDMA", 4*6, 29, Certain, "DstLoc: the result leaves by DMA")
	V7QueueDisable  = v7Header.flag("QueueDisable", 4*6, 31, Named, "TQDis, 0")

	V7NextOffset = v7Header.row("NextOffset", 4*7, 31, 0, Uint, Certain, "byte offset of the next task from the text base, 0 in the last")

	V7Read0Base   = v7Header.row("Read0Base", 4*8, 4, 0, Uint, Certain, "RBase0: base address index of source 1")
	V7Read0Enable = v7Header.flag("Read0Enable", 4*8, 5, Certain, "may be set with base 3 though the source is on chip; SourceType decides")
	V7Read1Base   = v7Header.row("Read1Base", 4*8, 10, 6, Uint, Certain, "RBase1: base address index of source 2")
	V7Read1Enable = v7Header.flag("Read1Enable", 4*8, 11, Certain, "source 2 comes by DMA")
	V7WriteBase   = v7Header.row("WriteBase", 4*8, 16, 12, Uint, Certain, "WBase: base address index of the destination")
	V7WriteEnable = v7Header.flag("WriteEnable", 4*8, 17, Certain, "")
	V7TextBase    = v7Header.row("TextBase", 4*8, 22, 18, Uint, Certain, "TBase: base address index of the text, 0")
	V7TextEnable  = v7Header.flag("TextEnable", 4*8, 23, Certain, "set when a task follows")
	V7EngineCode  = v7Header.row("EngineCode", 4*8, 27, 24, Uint, Certain, "ENE: log2 of the engines plus 1, 0 for the planar engine")

	V7KernelBase = [4]*Field{
		v7Header.row("KernelBase0", 4*9, 4, 0, Uint, Certain, "KBase0: base address index of the kernel streams"),
		v7Header.row("KernelBase1", 4*9, 10, 6, Uint, Unknown, "never enabled"),
		v7Header.row("KernelBase2", 4*9, 16, 12, Uint, Unknown, "never enabled"),
		v7Header.row("KernelBase3", 4*9, 22, 18, Uint, Unknown, "never enabled"),
	}
	V7KernelBaseEnable = [4]*Field{
		v7Header.flag("KernelBase0Enable", 4*9, 5, Certain, ""),
		v7Header.flag("KernelBase1Enable", 4*9, 11, Unknown, "never set"),
		v7Header.flag("KernelBase2Enable", 4*9, 17, Unknown, "never set"),
		v7Header.flag("KernelBase3Enable", 4*9, 23, Unknown, "never set"),
	}

	V7KernelTask = v7Header.row("KernelTask", 4*10, 15, 0, Uint, Likely, "DTID: the task whose result is this task's kernel; only with ExtraWord")
)

// The common block: sizes and the kind of the task.
var (
	V7Win  = v7Common.row("Win", 0x00, 14, 0, Uint, Certain, "width of source 1")
	V7Hin  = v7Common.row("Hin", 0x00, 30, 16, Uint, Certain, "height of source 1")
	V7Din  = v7Common.row("Din", 0x04, 14, 0, Uint, Likely, "depth of source 1; 1, but 8 in a recorded layer normalization over three axes")
	V7Fmt1 = v7Common.row("Source1Format", 0x08, 1, 0, Uint, Certain, "only fp16 is certain")
	V7Fmt2 = v7Common.row("Source2Format", 0x08, 3, 2, Uint, Certain, "as Source1Format")
	V7FmtO = v7Common.row("OutputFormat", 0x08, 5, 4, Uint, Certain, "as Source1Format")
	V7Cin  = v7Common.row("Cin", 0x0c, 16, 0, Uint, Certain, "input channels of a group")
	V7Cout = v7Common.row("Cout", 0x10, 16, 0, Uint, Certain, "output channels of a group")
	V7Wout = v7Common.row("Wout", 0x14, 14, 0, Uint, Certain, "width of the result; the input's in a planar reduction")
	V7Hout = v7Common.row("Hout", 0x14, 30, 16, Uint, Certain, "height of the result; the input's in a planar reduction")
	V7Dout = v7Common.row("Dout", 0x18, 14, 0, Uint, Likely, "depth of the result")

	// Register 0x1c is what the seed's table 23.8 calls the opcode word.
	V7KernelWidth  = v7Common.row("KernelWidth", 0x1c, 4, 0, Uint, Certain, "Kw")
	V7KernelHeight = v7Common.row("KernelHeight", 0x1c, 9, 5, Uint, Certain, "Kh")
	V7LanesLog2    = v7Common.row("LanesLog2", 0x1c, 12, 10, Uint, Certain, "OCGSize: log2 of the output channels that an engine computes side by side")
	V7StrideX      = v7Common.row("StrideX", 0x1c, 14, 13, Uint, Certain, "Sx")
	V7StrideY      = v7Common.row("StrideY", 0x1c, 16, 15, Uint, Certain, "Sy")
	V7PadLeft      = v7Common.row("PadLeft", 0x1c, 21, 17, Uint, Certain, "Px; what pads after follows from the output size")
	V7PadTop       = v7Common.row("PadTop", 0x1c, 26, 22, Uint, Certain, "Py")
	V7Ox           = v7Common.row("Ox", 0x1c, 29, 28, Uint, Unknown, "always 1")
	V7Oy           = v7Common.row("Oy", 0x1c, 31, 30, Uint, Unknown, "always 1")
	V7Kernel3D     = v7Common.row("Kernel3D", 0x20, 31, 0, Uint, Likely, "0x2041: kernel and stride in depth, all 1")

	V7Groups          = v7Common.row("Groups", 0x24, 12, 0, Uint, Certain, "NumGroups: count of the loop over group strides, groups or batch")
	V7Unicast         = v7Common.flag("Unicast", 0x24, 14, Certain, "output o reads the UnicastInputs channels from o*UnicastInputs on")
	V7ElementMultiply = v7Common.flag("ElementMultiply", 0x24, 15, Unknown, "ElemMultMode")
	V7UnicastInputs   = v7Common.row("UnicastInputs", 0x24, 31, 16, Uint, Certain, "UnicastCin")

	V7TileHeight      = v7Common.row("TileHeight", 0x28, 14, 0, Uint, Certain, "scheduling only")
	V7PatchWidthLog2  = v7Common.row("PatchWidthLog2", 0x2c, 3, 0, Uint, Likely, "planar engine, scheduling only")
	V7PatchHeightLog2 = v7Common.row("PatchHeightLog2", 0x2c, 8, 4, Uint, Likely, "planar engine, scheduling only")

	V7Broadcast1W     = v7Common.flag("Broadcast1W", 0x30, 0, Likely, "source 1 of the planar engine has width 1")
	V7Broadcast1H     = v7Common.flag("Broadcast1H", 0x30, 1, Certain, "source 1 has height 1")
	V7Broadcast1D     = v7Common.flag("Broadcast1D", 0x30, 2, Likely, "source 1 has depth 1; set with W and H where a recorded layer normalization reads its mean").from("oracles")
	V7Broadcast1C     = v7Common.flag("Broadcast1C", 0x30, 3, Certain, "source 1 has one channel")
	V7Broadcast2W     = v7Common.flag("Broadcast2W", 0x30, 4, Likely, "source 2 has width 1")
	V7Broadcast2H     = v7Common.flag("Broadcast2H", 0x30, 5, Likely, "source 2 has height 1")
	V7Broadcast2D     = v7Common.flag("Broadcast2D", 0x30, 6, Likely, "source 2 has depth 1, by analogy")
	V7Broadcast2C     = v7Common.flag("Broadcast2C", 0x30, 7, Certain, "source 2 has one channel")
	V7Transpose1      = v7Common.flag("Transpose1", 0x30, 8, Likely, "source 1 of the planar engine is read with C and W exchanged")
	V7Transpose2      = v7Common.flag("Transpose2", 0x30, 9, Certain, "source 2 is read with C and W exchanged")
	V7TransposePlanar = v7Common.flag("TransposePlanar", 0x30, 10, Certain, "the planar engine writes its result with C and W exchanged")

	V7Config0        = v7Common.flag("Config0", 0x34, 0, Unknown, "always 1")
	V7Source2DMA     = v7Common.flag("Source2DMA", 0x34, 1, Certain, "source 2 arrives by DMA")
	V7SmallSource    = v7Common.flag("SmallSource", 0x34, 2, Named, "scheduling, and how many slots a tap of a zero-skipping stream has")
	V7TaskType       = v7Common.row("TaskType", 0x34, 7, 4, Uint, Certain, "which unit computes what: h13 4.1")
	V7ShPref         = v7Common.row("ShPref", 0x34, 10, 8, Uint, Named, "scheduling")
	V7ShMin          = v7Common.row("ShMin", 0x34, 14, 12, Uint, Named, "scheduling")
	V7ShMax          = v7Common.row("ShMax", 0x34, 18, 16, Uint, Named, "scheduling")
	V7EnginesLog2    = v7Common.row("EnginesLog2", 0x34, 21, 19, Uint, Certain, "ActiveNE: log2 of the engines at work")
	V7ContextIn      = v7Common.flag("ContextIn", 0x34, 22, Unknown, "context switch in, 0")
	V7ContextOut     = v7Common.flag("ContextOut", 0x34, 24, Unknown, "context switch out, 0")
	V7DoubleBuffer   = v7Common.flag("DoubleBuffer", 0x34, 26, Named, "accumulator double buffer, scheduling")
	V7TransposeArray = v7Common.flag("TransposeArray", 0x34, 28, Certain, "the array's result is stored with C and W exchanged")

	V7CommonTaskID  = v7Common.row("CommonTaskID", 0x38, 15, 0, Uint, Named, "0, in later tasks too")
	V7CommonQueue   = v7Common.row("CommonQueue", 0x38, 19, 16, Uint, Named, "0")
	V7CommonNetwork = v7Common.row("CommonNetwork", 0x38, 27, 20, Uint, Certain, "1 in tasks of the array, 0 in planar ones")
	V7DPECategory   = v7Common.row("DPECategory", 0x3c, 3, 0, Uint, Named, "no function seen")
)

// NewV7Task returns a task with all registers at zero: of 157 words, or of 126
// that load no kernel (h13 2.1).
func NewV7Task(kernel bool) *Task {
	t := &Task{Version: V7, Header: make([]uint32, headerWords)}
	run := func(addr uint32, words int) {
		t.Records = append(t.Records, Record{addr, make([]uint32, words)})
	}
	for _, b := range v7.Blocks[1:] {
		if b == v7Kernel && !kernel {
			// The offsets and sizes of the sixteen channels are left out.
			run(b.Addr, 18)
			run(V7KernelExtra[0].Config.Enable.Addr, 12)
			continue
		}
		run(b.Addr, b.Words)
	}
	return t
}
