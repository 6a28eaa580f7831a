package v7

import (
	"math"
	"math/bits"

	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// The words of a task: every register that it writes, block by block.

// A words fills in the words of a task, and keeps why the first field did not hold its value.
type words struct {
	task *td.Task
	why  *diag.Reason
}

func (w *words) set(f *td.Field, v uint32) {
	if err := w.task.Set(f, v); err != nil {
		w.decline(f, int64(v), err)
	}
}

func (w *words) num(f *td.Field, v int) {
	if err := w.task.Set(f, uint32(int32(v))); err != nil {
		w.decline(f, int64(v), err)
	}
}

// decline notes that a field does not hold its value.
func (w *words) decline(f *td.Field, v int64, err error) {
	switch {
	case w.why != nil:
	case f.Kind == td.Uint:
		w.why = diag.Decline(diag.NativeWords, "the field has %d bits", f.Width).In(f.Name).Measure(uint64(1)<<f.Width-1, v)
	default: // it has a sign, or counts by 64 bytes
		w.why = diag.Decline(diag.NativeWords, "%v", err).In(f.Name)
	}
}

func (w *words) flag(f *td.Field, on bool) {
	if on {
		w.set(f, 1)
	}
}

func (w *words) word(addr, v uint32) {
	if err := w.task.SetWord(addr, v); err != nil && w.why == nil {
		w.why = diag.Decline(diag.NativeWords, "%v", err)
	}
}

// op fills in the task: the index-th of count.
func (w *words) op(o *units.Op, index, count int) {
	if o.Kernel != nil && o.Kernel.Producer >= 0 {
		w.task.Header = append(w.task.Header, uint32(o.Kernel.Producer))
	}
	w.header(o, index, count)
	w.streams(o)
	w.common(o)
	w.sources(o)
	w.onChip(o)
	w.units(o)
	w.destination(o)
}

func (w *words) header(o *units.Op, index, count int) {
	first, last := index == 0, index == count-1
	w.num(td.V7TaskID, index&0xffff)
	w.flag(td.V7NotFirst, !first)
	w.flag(td.V7Last, last)
	// What is logged, and the flags of the scheduler: hints.
	events, debug, flags := uint32(0x400), uint32(0xfff800), uint32(0)
	if first {
		events, debug, flags = events|8, debug|0x68, flags|0x800
	}
	if last {
		events, debug, flags = events|0x22, debug|0x6a, flags|0x9000
	}
	w.task.Header[2], w.task.Header[4], w.task.Header[6] = events, debug, flags
	w.flag(td.V7DisallowAbort, o.WideResult)
	w.flag(td.V7SourceDMA, o.Source1.Streams())
	w.flag(td.V7ResultDMA, o.Result != nil && !o.Result.Backing)
	if m := o.Source1.Memory; m != nil {
		w.num(td.V7Read0Base, m.Base)
		w.set(td.V7Read0Enable, 1)
	}
	if s := o.Source2; s != nil && s.Memory != nil {
		w.num(td.V7Read1Base, s.Memory.Base)
		w.set(td.V7Read1Enable, 1)
	}
	if o.Result != nil {
		w.num(td.V7WriteBase, o.Result.Base)
		w.set(td.V7WriteEnable, 1)
	}
	w.flag(td.V7TextEnable, !last)
	if !o.Planar {
		w.num(td.V7EngineCode, bits.Len(uint(o.Engines)))
	}
	if k := o.Kernel; k != nil {
		w.num(td.V7KernelBase[0], k.Base)
		w.set(td.V7KernelBaseEnable[0], 1)
		w.flag(td.V7ExtraWord, k.Producer >= 0)
	}
}

const offStreamSize = 0x40 // of a stream that is off

// streams fills in the block of the kernel streams. Words of streams that are off are as Apple's compiler leaves them.
func (w *words) streams(o *units.Op) {
	const off, on = 0x80, 0x81
	for i := range td.V7KernelChannel {
		c := &td.V7KernelChannel[i]
		config, size := uint32(off), offStreamSize
		if o.Kernel != nil && i < len(o.Kernel.Sizes) && o.Kernel.Sizes[i] > 0 {
			config, size = on, o.Kernel.Sizes[i]
			w.num(c.Offset, o.Kernel.Offsets[i])
		}
		w.word(c.Config.Enable.Addr, config)
		if o.Kernel != nil {
			w.num(c.Size, size)
		}
	}
	for i := range td.V7KernelExtra {
		w.word(td.V7KernelExtra[i].Config.Enable.Addr, off)
		w.num(td.V7KernelExtra[i].Size, offStreamSize)
	}
	if k := o.Kernel; k != nil {
		w.set(td.V7KernelEnable, 1)
		w.flag(td.V7KernelZeroSkip, k.ZeroSkip)
	}
}

func (w *words) common(o *units.Op) {
	w.num(td.V7Win, o.In.W)
	w.num(td.V7Hin, o.In.H)
	w.num(td.V7Din, o.In.D)
	w.num(td.V7Cin, o.In.C)
	w.num(td.V7Wout, o.Out.W)
	w.num(td.V7Hout, o.Out.H)
	w.num(td.V7Dout, o.Out.D)
	w.num(td.V7Cout, o.Out.C)
	format := func(m *units.Surface) uint32 {
		if m != nil && m.Element == units.Byte {
			return 0
		}
		return 2
	}
	w.set(td.V7Fmt1, format(o.Source1.Memory))
	if o.Source2 != nil {
		w.set(td.V7Fmt2, format(o.Source2.Memory))
	}
	w.set(td.V7FmtO, format(o.Result))

	w.num(td.V7KernelWidth, o.Window.KW)
	w.num(td.V7KernelHeight, o.Window.KH)
	w.num(td.V7LanesLog2, o.LanesLog2)
	w.num(td.V7StrideX, o.Window.SX)
	w.num(td.V7StrideY, o.Window.SY)
	w.num(td.V7PadLeft, o.Window.PX)
	w.num(td.V7PadTop, o.Window.PY)
	w.set(td.V7Ox, 1)
	w.set(td.V7Oy, 1)
	w.set(td.V7Kernel3D, 0x2041)
	w.num(td.V7Groups, o.Groups)
	w.flag(td.V7Unicast, o.Unicast > 0)
	w.flag(td.V7ElementMultiply, o.Operation == units.Product)
	w.num(td.V7UnicastInputs, max(o.Unicast, 1))
	w.num(td.V7TileHeight, o.Out.H)

	w.set(td.V7Config0, 1)
	w.flag(td.V7Source2DMA, o.Source2 != nil && o.Source2.Streams())
	if o.Planar {
		width := max(4, bits.Len(uint(o.In.W-1)))
		width = min(width, 8)
		w.num(td.V7PatchWidthLog2, width)
		w.num(td.V7PatchHeightLog2, max(0, min(bits.Len(uint(o.In.H-1)), 8-width)))
		w.word(0x30, o.Broadcast1|o.Broadcast2<<4)
		w.flag(td.V7Transpose1, o.Transpose1)
		w.flag(td.V7Transpose2, o.Transpose2)
		w.flag(td.V7TransposePlanar, o.Exchange)
		w.num(td.V7TaskType, o.Kind)
		return
	}
	w.num(td.V7EnginesLog2, bits.Len(uint(o.Engines))-1)
	w.flag(td.V7SmallSource, o.Small)
	w.flag(td.V7TransposeArray, o.Exchange)
	w.set(td.V7CommonNetwork, 1)
	switch {
	case o.Operation == units.MultiplyAdd && o.Unity:
		w.set(td.V7DPECategory, 1)
	case o.Operation == units.Product:
		w.set(td.V7DPECategory, 2)
	}
}

// Words of the DMA configuration, with Apple's cache hints.
const (
	sourceOn      = 0x00033881
	sourceBacked  = 0x00048880
	sourceOff     = 0x00008880
	source2On     = 0x00033880
	resultOn      = 0x000000c1
	resultBuffer  = 0x04000000
	resultKernel  = 0x01080000 // in the one record of it, chain_attn_s64_dh64
	resultOff     = 0x000000c0
	formatFP16    = 0x01002031
	formatByte    = 0x01000000
	formatOff     = 0x01000000
	formatSecond  = 0x00002030
	formatZeroPad = 0x00300000
)

func (w *words) sources(o *units.Op) {
	config, format := uint32(sourceOff), uint32(formatOff)
	if m := o.Source1.Memory; m != nil {
		config = sourceOn
		if m.Backing {
			config = sourceBacked
		}
		if format = formatFP16; m.Element == units.Byte {
			format = formatByte
		}
		w.surface(td.V7Src1, m)
	}
	w.word(td.V7Src1Config.Enable.Addr, config)
	w.word(td.V7Src1Format.Mode.Addr, format)
	if m := o.Source1.Memory; m != nil && m.Interleave > 1 {
		w.num(td.V7Src1Format.Interleave, m.Interleave)
	}
	config = sourceOff
	if s := o.Source2; s != nil && s.Memory != nil {
		config = source2On
		w.word(td.V7Src2Format.Mode.Addr, formatSecond)
		w.surface(td.V7Src2, s.Memory)
	}
	w.word(td.V7Src2Config.Enable.Addr, config)
	w.set(td.V7SrcWord40, 0x100)
}

func (w *words) surface(f td.SurfaceFields, m *units.Surface) {
	w.num(f.Base, m.Offset)
	w.num(f.Row, m.Row)
	w.num(f.Plane, m.Plane)
	w.num(f.Depth, m.Depth)
	w.num(f.Group, m.Group)
}

func (w *words) chip(f td.OnChipFields, c units.Chip) {
	w.num(f.Base, c.Base)
	w.num(f.Channel, c.Channel)
	w.num(f.Row, c.Row)
	w.num(f.Depth, c.Depth)
	w.num(f.Group, c.Group)
}

func (w *words) onChip(o *units.Op) {
	w.flag(td.V7Source1ReLU, o.ReLU1)
	w.flag(td.V7Source2ReLU, o.ReLU2)
	w.flag(td.V7PadMode, o.Lowest)

	c := &td.V7SourceConfig
	switch {
	case o.Source1.Streams() && o.Source1.Keep:
		w.set(c.Type, 1)
	case o.Source1.Streams():
		w.set(c.Type, 2)
	}
	w.set(c.Interleave, 1)
	if m := o.Source1.Memory; m != nil && m.Interleave > 1 {
		w.num(c.Interleave, m.Interleave)
	}
	w.flag(c.Format, o.Source1.Memory != nil && o.Source1.Memory.Element == units.FP16)
	w.flag(td.V7Source2Streamed, o.Source2 != nil && o.Source2.Streams())
	w.chip(td.V7L2Src1, o.Source1.Chip)
	if o.Source2 != nil {
		w.chip(td.V7L2Src2, o.Source2.Chip)
	}

	c = &td.V7ResultConfig
	leaves := o.Result != nil && !o.Result.Backing
	switch {
	case leaves && o.Resides:
		w.set(c.Type, 1)
	case leaves:
		w.set(c.Type, 2)
		w.flag(td.V7ResultBufferMode, o.Chip.Row == 0)
	}
	w.set(c.Interleave, 1)
	if o.Result != nil && o.Result.Interleave > 1 {
		w.num(c.Interleave, o.Result.Interleave)
	}
	w.flag(c.Format, o.Result == nil || o.Result.Element == units.FP16)
	w.chip(td.V7L2Result, o.Chip)
}

func (w *words) units(o *units.Op) {
	w.set(td.V7NEPaletteBits, 8)
	w.set(td.V7NEBit20, 1)
	if o.Planar {
		w.set(td.V7PEReduction, o.Reduction)
		w.set(td.V7PEOperator, o.Operator)
		w.flag(td.V7PEReLU, o.ReLU)
		w.set(td.V7PECondition, o.Condition)
		w.set(td.V7PEFinal, o.Final)
		w.flag(td.V7PENegate1, o.Negate1)
		if o.Source2 != nil {
			w.set(td.V7PESource2Sign, 2)
			if o.Negate2 {
				w.set(td.V7PESource2Sign, 3)
			}
		}
		w.set(td.V7PEBias, uint32(o.Bias))
		w.set(td.V7PEScale, uint32(o.Scale))
		w.set(td.V7PEEpsilon, uint32(o.Epsilon))
		w.set(td.V7PEPreScale, uint32(o.PreScale))
		w.set(td.V7PEFinalScale, math.Float32bits(o.FinalScale))
		w.flag(td.V7NEBit12, o.WideResult)
		w.flag(td.V7NEBit14, o.WideSource)
		return
	}
	format, point := td.KernelFP16, uint32(28)
	switch {
	case o.Format == td.KernelInt8: // as the recorded comparison has it
		format, point = td.KernelInt8, 0
	case o.Source1.Memory != nil && o.Source1.Memory.Element == units.Byte:
		format, point = 0, 0
	}
	w.set(td.V7NEKernelFormat, uint32(format))
	if k := o.Kernel; k != nil {
		w.flag(td.V7NEZeroSkip, k.ZeroSkip)
		w.flag(td.V7NERuntimeKernel, k.Runtime)
	}
	w.set(td.V7NEOperation, o.Operation)
	w.flag(td.V7NEUnityKernel, o.Unity)
	w.flag(td.V7NEBias, o.Biased)
	w.flag(td.V7NEBit12, o.WideResult)
	w.set(td.V7NEBinaryPoint, point)
	w.set(td.V7NENonLinear, o.NonLinear)
	w.set(td.V7NEAccumulatorBias, uint32(o.Accumulate))
	w.set(td.V7NEPostScale, uint32(o.Post))
}

func (w *words) destination(o *units.Op) {
	config, format := uint32(resultOff), uint32(formatOff)
	if m := o.Result; m != nil {
		if format = formatFP16; m.Element == units.Byte {
			format = formatByte
		}
		format |= formatZeroPad
		if !m.Backing {
			config = resultOn
			if o.Chip.Row == 0 {
				config |= resultBuffer
			}
			if o.KernelStore {
				config |= resultKernel
			}
		}
		w.surface(td.V7Dst, m)
	}
	w.word(td.V7DstConfig.Enable.Addr, config)
	w.word(td.V7DstFormat.Mode.Addr, format)
	if o.Result != nil && o.Result.Interleave > 1 {
		w.num(td.V7DstFormat.Interleave, o.Result.Interleave)
	}
}
