package compiler

import (
	"math"
	"math/bits"

	"github.com/espalier-ane/espalier/td"
)

// The words of a task: every register that it writes, block by block.

// A v7words fills in the words of a task, and keeps the first error.
type v7words struct {
	task *td.Task
	err  error
}

func (w *v7words) set(f *td.Field, v uint32) {
	if err := w.task.Set(f, v); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *v7words) num(f *td.Field, v int) { w.set(f, uint32(int32(v))) }

func (w *v7words) flag(f *td.Field, on bool) {
	if on {
		w.set(f, 1)
	}
}

func (w *v7words) word(addr, v uint32) {
	if err := w.task.SetWord(addr, v); err != nil && w.err == nil {
		w.err = err
	}
}

// encode makes the task: the index-th of count.
func (o *v7op) encode(index, count int) (*td.Task, error) {
	w := &v7words{task: td.NewV7Task(o.kernel != nil)}
	if o.kernel != nil && o.kernel.producer >= 0 {
		w.task.Header = append(w.task.Header, uint32(o.kernel.producer))
	}
	o.header(w, index, count)
	o.streams(w)
	o.common(w)
	o.sources(w)
	o.onChip(w)
	o.units(w)
	o.destination(w)
	return w.task, w.err
}

func (o *v7op) header(w *v7words, index, count int) {
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
	w.flag(td.V7DisallowAbort, o.wideResult)
	w.flag(td.V7SourceDMA, o.source1.streams())
	w.flag(td.V7ResultDMA, o.result != nil && !o.result.backing)
	if m := o.source1.memory; m != nil {
		w.num(td.V7Read0Base, m.base)
		w.set(td.V7Read0Enable, 1)
	}
	if s := o.source2; s != nil && s.memory != nil {
		w.num(td.V7Read1Base, s.memory.base)
		w.set(td.V7Read1Enable, 1)
	}
	if o.result != nil {
		w.num(td.V7WriteBase, o.result.base)
		w.set(td.V7WriteEnable, 1)
	}
	w.flag(td.V7TextEnable, !last)
	if !o.planar {
		w.num(td.V7EngineCode, bits.Len(uint(o.engines)))
	}
	if k := o.kernel; k != nil {
		w.num(td.V7KernelBase[0], k.base)
		w.set(td.V7KernelBaseEnable[0], 1)
		w.flag(td.V7ExtraWord, k.producer >= 0)
	}
}

// streams fills in the block of the kernel streams. Words of streams that are off are as Apple's compiler leaves them.
func (o *v7op) streams(w *v7words) {
	const off, on, offSize = 0x80, 0x81, 0x40
	for i := range td.V7KernelChannel {
		c := &td.V7KernelChannel[i]
		config, size := uint32(off), offSize
		if o.kernel != nil && i < len(o.kernel.sizes) && o.kernel.sizes[i] > 0 {
			config, size = on, o.kernel.sizes[i]
			w.num(c.Offset, o.kernel.offsets[i])
		}
		w.word(c.Config.Enable.Addr, config)
		if o.kernel != nil {
			w.num(c.Size, size)
		}
	}
	for i := range td.V7KernelExtra {
		w.word(td.V7KernelExtra[i].Config.Enable.Addr, off)
		w.num(td.V7KernelExtra[i].Size, offSize)
	}
	if k := o.kernel; k != nil {
		w.set(td.V7KernelEnable, 1)
		w.flag(td.V7KernelZeroSkip, k.zeroSkip)
	}
}

func (o *v7op) common(w *v7words) {
	w.num(td.V7Win, o.in.w)
	w.num(td.V7Hin, o.in.h)
	w.num(td.V7Din, o.in.d)
	w.num(td.V7Cin, o.in.c)
	w.num(td.V7Wout, o.out.w)
	w.num(td.V7Hout, o.out.h)
	w.num(td.V7Dout, o.out.d)
	w.num(td.V7Cout, o.out.c)
	format := func(m *v7surface) uint32 {
		if m != nil && m.element == v7byte {
			return 0
		}
		return 2
	}
	w.set(td.V7Fmt1, format(o.source1.memory))
	if o.source2 != nil {
		w.set(td.V7Fmt2, format(o.source2.memory))
	}
	w.set(td.V7FmtO, format(o.result))

	w.num(td.V7KernelWidth, o.window.kw)
	w.num(td.V7KernelHeight, o.window.kh)
	w.num(td.V7LanesLog2, o.lanesLog2)
	w.num(td.V7StrideX, o.window.sx)
	w.num(td.V7StrideY, o.window.sy)
	w.num(td.V7PadLeft, o.window.px)
	w.num(td.V7PadTop, o.window.py)
	w.set(td.V7Ox, 1)
	w.set(td.V7Oy, 1)
	w.set(td.V7Kernel3D, 0x2041)
	w.num(td.V7Groups, o.groups)
	w.flag(td.V7Unicast, o.unicast > 0)
	w.flag(td.V7ElementMultiply, o.operation == v7Product)
	w.num(td.V7UnicastInputs, max(o.unicast, 1))
	w.num(td.V7TileHeight, o.out.h)

	w.set(td.V7Config0, 1)
	w.flag(td.V7Source2DMA, o.source2 != nil && o.source2.streams())
	if o.planar {
		width := max(4, bits.Len(uint(o.in.w-1)))
		width = min(width, 8)
		w.num(td.V7PatchWidthLog2, width)
		w.num(td.V7PatchHeightLog2, max(0, min(bits.Len(uint(o.in.h-1)), 8-width)))
		w.word(0x30, o.broadcast1|o.broadcast2<<4)
		w.flag(td.V7Transpose1, o.transpose1)
		w.flag(td.V7Transpose2, o.transpose2)
		w.flag(td.V7TransposePlanar, o.exchange)
		w.num(td.V7TaskType, o.kind)
		return
	}
	w.num(td.V7EnginesLog2, bits.Len(uint(o.engines))-1)
	w.flag(td.V7SmallSource, o.small)
	w.flag(td.V7TransposeArray, o.exchange)
	w.set(td.V7CommonNetwork, 1)
	switch {
	case o.operation == v7MultiplyAdd && o.unity:
		w.set(td.V7DPECategory, 1)
	case o.operation == v7Product:
		w.set(td.V7DPECategory, 2)
	}
}

// Words of the DMA configuration, with Apple's cache hints.
const (
	v7SourceOn      = 0x00033881
	v7SourceBacked  = 0x00048880
	v7SourceOff     = 0x00008880
	v7Source2On     = 0x00033880
	v7ResultOn      = 0x000000c1
	v7ResultBuffer  = 0x04000000
	v7ResultKernel  = 0x01080000 // in the one record of it, chain_attn_s64_dh64
	v7ResultOff     = 0x000000c0
	v7FormatFP16    = 0x01002031
	v7FormatByte    = 0x01000000
	v7FormatOff     = 0x01000000
	v7FormatSecond  = 0x00002030
	v7FormatZeroPad = 0x00300000
)

func (o *v7op) sources(w *v7words) {
	config, format := uint32(v7SourceOff), uint32(v7FormatOff)
	if m := o.source1.memory; m != nil {
		config = v7SourceOn
		if m.backing {
			config = v7SourceBacked
		}
		if format = v7FormatFP16; m.element == v7byte {
			format = v7FormatByte
		}
		w.surface(td.V7Src1, m)
	}
	w.word(td.V7Src1Config.Enable.Addr, config)
	w.word(td.V7Src1Format.Mode.Addr, format)
	if m := o.source1.memory; m != nil && m.interleave > 1 {
		w.num(td.V7Src1Format.Interleave, m.interleave)
	}
	config = v7SourceOff
	if s := o.source2; s != nil && s.memory != nil {
		config = v7Source2On
		w.word(td.V7Src2Format.Mode.Addr, v7FormatSecond)
		w.surface(td.V7Src2, s.memory)
	}
	w.word(td.V7Src2Config.Enable.Addr, config)
	w.set(td.V7SrcWord40, 0x100)
}

func (w *v7words) surface(f td.SurfaceFields, m *v7surface) {
	w.num(f.Base, m.offset)
	w.num(f.Row, m.row)
	w.num(f.Plane, m.plane)
	w.num(f.Depth, m.depth)
	w.num(f.Group, m.group)
}

func (w *v7words) chip(f td.OnChipFields, c v7chip) {
	w.num(f.Base, c.base)
	w.num(f.Channel, c.channel)
	w.num(f.Row, c.row)
	w.num(f.Depth, c.depth)
	w.num(f.Group, c.group)
}

func (o *v7op) onChip(w *v7words) {
	w.flag(td.V7Source1ReLU, o.relu1)
	w.flag(td.V7Source2ReLU, o.relu2)
	w.flag(td.V7PadMode, o.lowest)

	c := &td.V7SourceConfig
	switch {
	case o.source1.streams() && o.source1.keep:
		w.set(c.Type, 1)
	case o.source1.streams():
		w.set(c.Type, 2)
	}
	w.set(c.Interleave, 1)
	if m := o.source1.memory; m != nil && m.interleave > 1 {
		w.num(c.Interleave, m.interleave)
	}
	w.flag(c.Format, o.source1.memory != nil && o.source1.memory.element == v7fp16)
	w.flag(td.V7Source2Streamed, o.source2 != nil && o.source2.streams())
	w.chip(td.V7L2Src1, o.source1.chip)
	if o.source2 != nil {
		w.chip(td.V7L2Src2, o.source2.chip)
	}

	c = &td.V7ResultConfig
	leaves := o.result != nil && !o.result.backing
	switch {
	case leaves && o.resides:
		w.set(c.Type, 1)
	case leaves:
		w.set(c.Type, 2)
		w.flag(td.V7ResultBufferMode, o.chip.row == 0)
	}
	w.set(c.Interleave, 1)
	if o.result != nil && o.result.interleave > 1 {
		w.num(c.Interleave, o.result.interleave)
	}
	w.flag(c.Format, o.result == nil || o.result.element == v7fp16)
	w.chip(td.V7L2Result, o.chip)
}

func (o *v7op) units(w *v7words) {
	w.set(td.V7NEPaletteBits, 8)
	w.set(td.V7NEBit20, 1)
	if o.planar {
		w.set(td.V7PEReduction, o.reduction)
		w.set(td.V7PEOperator, o.operator)
		w.flag(td.V7PEReLU, o.relu)
		w.set(td.V7PECondition, o.condition)
		w.set(td.V7PEFinal, o.final)
		w.flag(td.V7PENegate1, o.negate1)
		if o.source2 != nil {
			w.set(td.V7PESource2Sign, 2)
			if o.negate2 {
				w.set(td.V7PESource2Sign, 3)
			}
		}
		w.set(td.V7PEBias, uint32(o.bias))
		w.set(td.V7PEScale, uint32(o.scale))
		w.set(td.V7PEEpsilon, uint32(o.epsilon))
		w.set(td.V7PEPreScale, v7One)
		w.set(td.V7PEFinalScale, math.Float32bits(o.finalScale))
		w.flag(td.V7NEBit12, o.wideResult)
		w.flag(td.V7NEBit14, o.wideSource)
		return
	}
	format, point := td.KernelFP16, uint32(28)
	switch {
	case o.format == td.KernelInt8: // as the recorded comparison has it
		format, point = td.KernelInt8, 0
	case o.source1.memory != nil && o.source1.memory.element == v7byte:
		format, point = 0, 0
	}
	w.set(td.V7NEKernelFormat, uint32(format))
	if k := o.kernel; k != nil {
		w.flag(td.V7NEZeroSkip, k.zeroSkip)
		w.flag(td.V7NERuntimeKernel, k.runtime)
	}
	w.set(td.V7NEOperation, o.operation)
	w.flag(td.V7NEUnityKernel, o.unity)
	w.flag(td.V7NEBias, o.biased)
	w.flag(td.V7NEBit12, o.wideResult)
	w.set(td.V7NEBinaryPoint, point)
	w.set(td.V7NENonLinear, o.nonLinear)
	w.set(td.V7NEAccumulatorBias, uint32(o.accumulate))
	w.set(td.V7NEPostScale, uint32(o.post))
}

func (o *v7op) destination(w *v7words) {
	config, format := uint32(v7ResultOff), uint32(v7FormatOff)
	if m := o.result; m != nil {
		if format = v7FormatFP16; m.element == v7byte {
			format = v7FormatByte
		}
		format |= v7FormatZeroPad
		if !m.backing {
			config = v7ResultOn
			if o.chip.row == 0 {
				config |= v7ResultBuffer
			}
			if o.kernelStore {
				config |= v7ResultKernel
			}
		}
		w.surface(td.V7Dst, m)
	}
	w.word(td.V7DstConfig.Enable.Addr, config)
	w.word(td.V7DstFormat.Mode.Addr, format)
	if o.result != nil && o.result.interleave > 1 {
		w.num(td.V7DstFormat.Interleave, o.result.interleave)
	}
}
