package v7

import (
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// The words as Apple's compiler of 2020 wrote them (v4.2.1: 17 files, h13 5), where those of 2026 differ (the records,
// oracles 5). The chip computes the same: what differs is how much a task says of what it does not use, and where the result
// of a convolution passes on chip.
//
//	                              2020                            2026
//	length of a task              157 words                       126 without kernel
//	group stride of one group     0                               the size of the tensor
//	kernel block, planar task     0                               as of a stream that is off
//	sizes of the extra streams    0                               0x40
//	kernel format, binary point   0 without weights               fp16, 28
//	words of the array, planar    0                               as of a task of the array
//	result of a convolution       in rows of its own, behind x    passes behind x, without strides
//	zero padding, planar result   no                              yes
//	hints                         below                           words.go

// encodeOp2020 makes the task in the form of 2020.
func encodeOp2020(m units.Machine, o *units.Op, index, count int) (*td.Task, *diag.Reason) {
	w := &words{task: td.NewV7Task(true)}
	o = op2020(m, o)
	w.op(o, index, count)
	w.streams2020(o)
	w.units2020(o)
	w.hints2020(m, o, index == 0, index == count-1)
	return w.task, w.why
}

// op2020 is the operation with the strides of 2020.
func op2020(m units.Machine, given *units.Op) *units.Op {
	o := given.Bind(func(base, offset int) (int, int) { return base, offset })
	surfaces := []*units.Surface{o.Source1.Memory, o.Result}
	if o.Source2 != nil {
		surfaces = append(surfaces, o.Source2.Memory)
	}
	for _, s := range surfaces {
		if s != nil && o.Groups == 1 {
			s.Group = 0
		}
	}
	if weighs(o) && o.Result != nil && o.Chip.Row == 0 && !o.Exchange {
		rows := m.PlanarChip(o.Chip.Base, o.Out)
		if rows.End(o.Out.H) <= m.OnChip {
			o.Chip = rows
		}
	}
	return o
}

// weighs reports whether a task multiplies by weights that it loads.
func weighs(o *units.Op) bool { return !o.Planar && o.Kernel != nil && !o.Unity }

func (w *words) streams2020(o *units.Op) {
	for i := range td.V7KernelExtra {
		w.word(td.V7KernelExtra[i].Size.Addr, 0)
	}
	switch {
	case o.Planar:
		for i := range td.V7KernelChannel {
			w.word(td.V7KernelChannel[i].Config.Enable.Addr, 0)
		}
		for i := range td.V7KernelExtra {
			w.word(td.V7KernelExtra[i].Config.Enable.Addr, 0)
		}
	case o.Kernel == nil:
		for i := range td.V7KernelChannel {
			w.num(td.V7KernelChannel[i].Size, offStreamSize)
		}
	}
}

func (w *words) units2020(o *units.Op) {
	switch {
	case o.Planar:
		w.set(td.V7NEPaletteBits, 0)
		w.set(td.V7NEBit20, 0)
		w.set(td.V7SrcWord40, 0)
		format, _ := w.task.Word(td.V7DstFormat.Mode.Addr)
		w.word(td.V7DstFormat.Mode.Addr, format&^formatZeroPad)
	case !weighs(o):
		w.set(td.V7NEKernelFormat, 0)
		w.set(td.V7NEBinaryPoint, 0)
	}
}

// hints2020 fills in what has no function: events that are logged, flags of the scheduler, aliases of the pipeline.
func (w *words) hints2020(m units.Machine, o *units.Op, first, last bool) {
	events, debug := uint32(0x400), uint32(0x68)
	if last {
		events, debug = events|0x22, debug|2
	}
	if o.Planar || o.NonLinear != 0 || weighs(o) { // not of a copy
		debug |= 0xfff800
	}
	w.task.Header[2], w.task.Header[4], w.task.Header[6] = events, debug, w.task.Header[6]|0x9800
	aliases := uint32(3 << 4)
	if first {
		aliases |= 5 << 20
	}
	for _, c := range []*td.OnChipConfigFields{&td.V7SourceConfig, &td.V7ResultConfig} {
		have, _ := w.task.Word(c.Type.Addr)
		w.word(c.Type.Addr, have|aliases)
	}
	if o.Planar {
		return
	}
	w.flag(td.V7DoubleBuffer, 1<<o.LanesLog2 < m.MaxLanes)
	least, most := uint32(0), uint32(1)
	switch {
	case weighs(o):
		least, most = 4, 4
	case o.In.W <= 16:
		least = 1
	}
	w.set(td.V7ShPref, most)
	w.set(td.V7ShMin, least)
	w.set(td.V7ShMax, most)
}
