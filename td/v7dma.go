package td

import "fmt"

// The blocks that move data: tiles in, tiles out, kernel streams.

// SurfaceFields is how a surface in memory is addressed: base and strides in bytes.
// The order of the registers differs between the blocks.
type SurfaceFields struct {
	Base, Row, Plane, Depth, Group *Field
}

// DMAFields has the fields of a DMA configuration word.
type DMAFields struct {
	Enable, CrH, CacheHint *Field
}

func v7DMAConfig(b *Block, prefix string, addr uint32) DMAFields {
	return DMAFields{
		Enable:    b.flag(prefix+"Enable", addr, 0, Certain, ""),
		CrH:       b.row(prefix+"CrH", addr, 5, 4, Uint, Named, "scheduling"),
		CacheHint: b.row(prefix+"CacheHint", addr, 9, 6, Uint, Named, "scheduling"),
	}
}

// v7SourceConfig adds what only source words have.
func v7SourceConfig(b *Block, prefix string, addr uint32) DMAFields {
	b.row(prefix+"HintReuse", addr, 13, 10, Uint, Named, "scheduling")
	b.row(prefix+"HintNoReuse", addr, 17, 14, Uint, Named, "scheduling")
	b.row(prefix+"Dependency", addr, 19, 18, Uint, Named, "scheduling")
	return v7DMAConfig(b, prefix, addr)
}

func v7Strides(b *Block, prefix string, addr uint32) SurfaceFields {
	row := func(name string, i uint32, doc string) *Field {
		return b.row(prefix+name, addr+4*i, 31, 6, SBytes, Certain, doc)
	}
	return SurfaceFields{
		Base:  row("Base", 0, "offset from the base address"),
		Row:   row("Row", 1, "row stride"),
		Plane: row("Plane", 2, "channel stride"),
		Depth: row("Depth", 3, "depth stride, no function here"),
		Group: row("Group", 4, "group stride"),
	}
}

// FormatFields is how elements lie in memory.
type FormatFields struct {
	Mode, Truncate, Shift, Memory, OffsetChannel, Interleave, CmpVec *Field
}

func v7Format(b *Block, prefix string, addr uint32) FormatFields {
	return FormatFields{
		Mode:          b.row(prefix+"FormatMode", addr, 1, 0, Uint, Named, "FmtMode, 1 for fp16 source 1 and destination"),
		Truncate:      b.row(prefix+"Truncate", addr, 5, 4, Uint, Named, "3 for fp16"),
		Shift:         b.flag(prefix+"Shift", addr, 8, Named, "0"),
		Memory:        b.row(prefix+"MemoryFormat", addr, 13, 12, Uint, Named, "MemFmt, 2 for fp16"),
		OffsetChannel: b.row(prefix+"OffsetChannel", addr, 18, 16, Uint, Unknown, "OffsetCh, 0"),
		Interleave:    b.row(prefix+"Interleave", addr, 27, 24, Uint, Certain, "channels that lie side by side"),
		CmpVec:        b.row(prefix+"CmpVec", addr, 31, 28, Uint, Unknown, "0"),
	}
}

// Tiles in.
var (
	V7Src1Config = v7SourceConfig(v7Src, "Source1", 0x13800)
	// Enable of source 2 stays 0: V7Read1Enable says whether it is read.
	V7Src2Config = v7SourceConfig(v7Src, "Source2", 0x13804)
	V7Src1       = v7Strides(v7Src, "Source1", 0x13808)
	V7Src2       = v7Strides(v7Src, "Source2", 0x1381c)
	V7Src1Format = v7Format(v7Src, "Source1", 0x13838)
	V7Src2Format = v7Format(v7Src, "Source2", 0x1383c)
	V7SrcWord40  = v7Src.row("Word40", 0x13840, 31, 0, Uint, Unknown, "0x100, 0 in one file")

	V7PixelOffset = [4]*Field{
		v7Src.row("PixelOffset0", 0x13850, 31, 0, Uint, Named, "0"),
		v7Src.row("PixelOffset1", 0x13854, 31, 0, Uint, Named, "0"),
		v7Src.row("PixelOffset2", 0x13858, 31, 0, Uint, Named, "0"),
		v7Src.row("PixelOffset3", 0x1385c, 31, 0, Uint, Named, "0"),
	}
)

// Tiles out.
var (
	V7DstConfig     = v7DMAConfig(v7Dst, "", 0x17800)
	V7DstBufferMode = v7Dst.flag("BufferMode", 0x17800, 26, Named, "L2BfrMode")
	V7DstBypassEOW  = v7Dst.flag("BypassEOW", 0x17800, 27, Named, "")
	V7DstBit19      = v7Dst.flag("Bit19", 0x17800, 19, Unknown, "set where a kernel is written that a later task loads")
	V7DstBit24      = v7Dst.flag("Bit24", 0x17800, 24, Unknown, "set where a kernel is written that a later task loads")
	V7Dst           = v7Strides(v7Dst, "", 0x17804)
	V7DstFormat     = v7Format(v7Dst, "", 0x17818)
	V7DstZeroLast   = v7Dst.flag("ZeroPadLast", 0x17818, 20, Likely, "presumably clears what pads a row")
	V7DstZeroFirst  = v7Dst.flag("ZeroPadFirst", 0x17818, 21, Likely, "presumably clears what pads a row")
	V7DstCmpVecFill = v7Dst.flag("CmpVecFill", 0x17818, 22, Named, "")
)

// KernelChannels is the number of kernel streams of a version-7 task, one per
// engine.
const KernelChannels = 16

// ChannelFields is one kernel stream.
type ChannelFields struct {
	Config       DMAFields
	Prefetch     *Field
	Offset, Size *Field
}

// Kernel streams.
var (
	V7KernelEnable   = v7Kernel.flag("Enable", 0x1f800, 6, Certain, "master enable")
	V7KernelZeroSkip = v7Kernel.flag("ZeroSkip", 0x1f800, 5, Certain, "zero-skipping streams")
	V7KernelReuse    = v7Kernel.flag("GroupReuse", 0x1f800, 4, Likely, "group kernel reuse")
	V7KernelWord4    = v7Kernel.row("Word4", 0x1f804, 31, 0, Uint, Unknown, "0")

	V7KernelChannel = v7Channels()

	// V7KernelExtra are four more streams that were never on: bias, post-scale,
	// palette and table by analogy with later generations.
	V7KernelExtra = v7ExtraChannels()
)

func v7Channels() (channels [KernelChannels]ChannelFields) {
	for i := range channels {
		at := 4 * uint32(i)
		prefix := fmt.Sprintf("Channel%d", i)
		channels[i] = ChannelFields{
			Config:   v7DMAConfig(v7Kernel, prefix, 0x1f808+at),
			Prefetch: v7Kernel.flag(prefix+"Prefetch", 0x1f808+at, 28, Named, "prefetch participate"),
			Offset:   v7Kernel.row(prefix+"Offset", 0x1f848+at, 31, 6, Bytes, Certain, "from the base that KernelBase0 names"),
			Size:     v7Kernel.row(prefix+"Size", 0x1f888+at, 31, 6, Bytes, Certain, "0x40 when off"),
		}
	}
	return channels
}

func v7ExtraChannels() (channels [4]ChannelFields) {
	for i, name := range []string{"Bias", "PostScale", "Palette", "Table"} {
		at := 4 * uint32(i)
		channels[i] = ChannelFields{
			Config: DMAFields{
				Enable:    v7Kernel.flag(name+"Enable", 0x1f8c8+at, 0, Likely, "never set"),
				CrH:       v7Kernel.row(name+"CrH", 0x1f8c8+at, 5, 4, Uint, Likely, ""),
				CacheHint: v7Kernel.row(name+"CacheHint", 0x1f8c8+at, 9, 6, Uint, Likely, ""),
			},
			Prefetch: v7Kernel.flag(name+"Prefetch", 0x1f8c8+at, 28, Likely, ""),
			Offset:   v7Kernel.row(name+"Offset", 0x1f8d8+at, 31, 6, Bytes, Likely, "0"),
			Size:     v7Kernel.row(name+"Size", 0x1f8e8+at, 31, 6, Bytes, Likely, "0, or 0x40 from the 2026 compiler"),
		}
	}
	return channels
}
