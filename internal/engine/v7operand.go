package engine

import (
	"github.com/espalier-ane/espalier/internal/kernel"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// Where the tensors of a task lie (h13 2.4, 2.5, 2.8, 3.1, 3.2).

// An operand is a tensor in a memory.
type operand struct {
	memory int
	// view has the axes as the unit sees them: C and W exchanged if they are,
	// broadcast axes at full length with stride 0.
	view kernel.View
	// stored is the view without its broadcasts: each element once.
	stored kernel.View
	region region // of stored
	read   kernel.Reading

	base *td.Field // the register to blame
}

// gather loads the operand into a dense buffer.
func (o *operand) gather(buffer func(*Context) []float32) sweep {
	return sweep{o.view.Rows(), o.view.Dims[kernel.W], func(c *Context, _ *strided.Scratch, lo, hi int) {
		kernel.Gather(buffer(c), c.memories[o.memory], &o.view, o.read, lo, hi)
	}}
}

// axes are the axes of a source that are broadcast or exchanged.
type axes struct {
	broadcast [kernel.Axes]bool
	transpose bool
}

// reshape lays a tensor of the given size over a view that has strides only.
func reshape(v kernel.View, s size, a axes) (view, stored kernel.View) {
	if a.transpose {
		v.Strides[kernel.C], v.Strides[kernel.W] = v.Strides[kernel.W], v.Strides[kernel.C]
		if v.Lanes > 1 {
			v.LaneAxis = kernel.W
		}
	}
	v.Dims = [kernel.Axes]int{s.groups, s.c, s.d, s.h, s.w}
	view, stored = v, v
	for axis, b := range a.broadcast {
		if b {
			view.Strides[axis] = 0
			stored.Dims[axis] = 1
			if axis == view.LaneAxis {
				view.Lanes = 0
			}
		}
	}
	return view, stored
}

// onChipView reads strides of on-chip memory:
// base + g·group + h·row + c·channel + d·depth + 2w.
func (b *binder) onChipView(base, channel, row, depth, group *td.Field) kernel.View {
	return kernel.View{
		Offset:  b.num(base),
		Strides: [kernel.Axes]int{b.num(group), b.num(channel), b.num(depth), b.num(row), 2},
	}
}

// memoryView reads strides of a surface:
// base + g·group + (c div I)·plane + d·depth + h·row + 2(w·I + c mod I).
func (b *binder) memoryView(base, row, plane, depth, group *td.Field, interleave int) kernel.View {
	v := kernel.View{
		Offset:  b.num(base),
		Strides: [kernel.Axes]int{b.num(group), b.num(plane), b.num(depth), b.num(row), 2 * interleave},
	}
	if interleave > 1 {
		v.Lanes, v.LaneAxis, v.LaneStride = interleave, kernel.C, 2
	}
	return v
}

// window finds the memory that an entry of the base-address table points at.
func (b *binder) window(base, enable *td.Field) (memory, offset int, err error) {
	if !b.flag(enable) {
		return 0, 0, b.refuse(enable, "the task needs the base address that %s names", base.Name)
	}
	i := b.value(base)
	memory, offset, ok := b.p.find(b.p.bases[i])
	if !ok {
		return 0, 0, b.refuse(base, "base address %#x is in no memory of the program", b.p.bases[i])
	}
	return memory, offset, nil
}

// place puts an operand in its memory and refuses it if it does not fit or if
// its elements overlap each other.
func (b *binder) place(o *operand, memory, offset int) error {
	o.memory = memory
	o.view.Offset += offset
	o.stored.Offset += offset
	m := &b.p.memories[memory]
	o.region = viewRegion(&o.stored)
	if lo, hi := o.region.hull(); lo < 0 || hi > int64(m.size) {
		return b.refuse(o.base, "bytes %#x to %#x are outside %v with %#x bytes", lo, hi, m, m.size)
	}
	m.touch(&o.region)
	if m.kind.tracked() && !o.region.separate {
		return b.refuse(o.base, "elements of the tensor overlap each other in %v", m)
	}
	return nil
}

// readable refuses memories that no task may read.
func (b *binder) readable(o *operand) error {
	if m := &b.p.memories[o.memory]; m.kind == text {
		return b.refuse(o.base, "reads %v", m)
	}
	return nil
}

// V7SourceConfig.Type and V7ResultConfig.Type.
const (
	residentOnChip = 0
	throughAndKept = 1
	throughDMA     = 2
)

// format numbers of Common 0x08.
const (
	formatByte = 0
	formatFP16 = 2
)

// reading is what happens to a source as it is read. Sums that stay on chip as
// those of a layer normalization do are its mean and its variance, or lead to
// them.
func (b *binder) reading(relu *td.Field) kernel.Reading {
	nan := b.p.numerics.NaNToInf
	return kernel.Reading{
		ReLU: b.flag(relu), NaNToInf: nan,
		NaNFinite: nan && b.flag(td.V7NEBit12) && kernel.ReduceOp(b.value(td.V7PEReduction)) == kernel.Sum,
	}
}

func (b *binder) source1(s size) (operand, error) {
	o := operand{base: td.V7L2Src1.Base}
	o.read = b.reading(td.V7Source1ReLU)
	a := axes{transpose: b.flag(td.V7Transpose1)}
	a.broadcast[kernel.W] = b.flag(td.V7Broadcast1W)
	a.broadcast[kernel.H] = b.flag(td.V7Broadcast1H)
	a.broadcast[kernel.D] = b.flag(td.V7Broadcast1D)
	a.broadcast[kernel.C] = b.flag(td.V7Broadcast1C)

	if b.value(td.V7SourceConfig.Type) == residentOnChip {
		if err := b.checkKnown(onChipSource); err != nil {
			return o, err
		}
		l := td.V7L2Src1
		a.broadcast[kernel.G] = b.onceForAll(l.Group, s)
		o.view, o.stored = reshape(b.onChipView(l.Base, l.Channel, l.Row, l.Depth, l.Group), s, a)
		return o, b.place(&o, onChipIndex, 0)
	}

	t := td.V7Src1
	o.base = t.Base
	forms := streamedSource
	bytes := b.value(td.V7Fmt1) == formatByte
	if bytes {
		forms = streamedBytes
	}
	if err := b.checkKnown(forms); err != nil {
		return o, err
	}
	v := b.memoryView(t.Base, t.Row, t.Plane, t.Depth, t.Group, max(b.num(td.V7Src1Format.Interleave), 1))
	if bytes {
		v.Bytes, v.Strides[kernel.W] = true, 1
	}
	memory, offset, err := b.window(td.V7Read0Base, td.V7Read0Enable)
	if err != nil {
		return o, err
	}
	o.view, o.stored = reshape(v, s, a)
	if err := b.place(&o, memory, offset); err != nil {
		return o, err
	}
	return o, b.readable(&o)
}

// onceForAll reports whether all groups read one tensor on chip (oracles,
// env_bcast_add_8x64x8x8_runtime_1x64x1x1).
func (b *binder) onceForAll(group *td.Field, s size) bool {
	return s.groups > 1 && b.num(group) == 0 && !b.isArray()
}

// source2 reads the second source of a planar task.
func (b *binder) source2(s size) (operand, error) {
	o := operand{base: td.V7L2Src2.Base}
	o.read = b.reading(td.V7Source2ReLU)
	a := axes{transpose: b.flag(td.V7Transpose2)}
	a.broadcast[kernel.W] = b.flag(td.V7Broadcast2W)
	a.broadcast[kernel.H] = b.flag(td.V7Broadcast2H)
	a.broadcast[kernel.D] = b.flag(td.V7Broadcast2D)
	a.broadcast[kernel.C] = b.flag(td.V7Broadcast2C)

	if !b.flag(td.V7Read1Enable) {
		if err := b.checkKnown(onChipSource2); err != nil {
			return o, err
		}
		l := td.V7L2Src2
		a.broadcast[kernel.G] = b.onceForAll(l.Group, s)
		o.view, o.stored = reshape(b.onChipView(l.Base, l.Channel, l.Row, l.Depth, l.Group), s, a)
		return o, b.place(&o, onChipIndex, 0)
	}

	if err := b.checkKnown(streamedSource2); err != nil {
		return o, err
	}
	t := td.V7Src2
	o.base = t.Base
	memory, offset, err := b.window(td.V7Read1Base, td.V7Read1Enable)
	if err != nil {
		return o, err
	}
	v := b.memoryView(t.Base, t.Row, t.Plane, t.Depth, t.Group, max(b.num(td.V7Src2Format.Interleave), 1))
	o.view, o.stored = reshape(v, s, a)
	if err := b.place(&o, memory, offset); err != nil {
		return o, err
	}
	return o, b.readable(&o)
}

// keepSource binds the copy of a source that stays on chip.
func (b *binder) keepSource(s *v7Step) error {
	if b.value(td.V7SourceConfig.Type) != throughAndKept {
		return nil
	}
	if err := b.checkKnown(keptSource); err != nil {
		return err
	}
	l := td.V7L2Src1
	o := operand{base: l.Base}
	d := s.source.stored.Dims // what is repeated is kept once
	in := size{d[kernel.G], d[kernel.C], d[kernel.D], d[kernel.H], d[kernel.W]}
	o.view, o.stored = reshape(b.onChipView(l.Base, l.Channel, l.Row, l.Depth, l.Group), in, axes{})
	if err := b.place(&o, onChipIndex, 0); err != nil {
		return err
	}
	s.keep = &o
	return nil
}

// resultOf binds the result.
func (b *binder) resultOf(s size, transposed bool) (operand, error) {
	a := axes{transpose: transposed}
	if b.value(td.V7ResultConfig.Type) == residentOnChip {
		l := td.V7L2Result
		o := operand{base: l.Base}
		o.view, o.stored = reshape(b.onChipView(l.Base, l.Channel, l.Row, l.Depth, l.Group), s, a)
		return o, b.place(&o, onChipIndex, 0)
	}
	t := td.V7Dst
	o := operand{base: t.Base}
	bytes, forms := b.value(td.V7FmtO) == formatByte, streamedResult
	if bytes {
		forms = streamedBytesResult
	}
	if err := b.checkKnown(forms); err != nil {
		return o, err
	}
	interleave := max(b.num(td.V7DstFormat.Interleave), 1)
	if n := max(b.num(td.V7ResultConfig.Interleave), 1); n != interleave {
		return o, b.refuse(td.V7DstFormat.Interleave, "the on-chip block says %d", n)
	}
	memory, offset, err := b.window(td.V7WriteBase, td.V7WriteEnable)
	if err != nil {
		return o, err
	}
	if m := &b.p.memories[memory]; m.kind != output && m.kind != scratch {
		return o, b.refuse(td.V7WriteBase, "writes %v", m)
	}
	v := b.memoryView(t.Base, t.Row, t.Plane, t.Depth, t.Group, interleave)
	if bytes {
		v.Bytes, v.Strides[kernel.W] = true, 1
	}
	o.view, o.stored = reshape(v, s, a)
	return o, b.place(&o, memory, offset)
}
