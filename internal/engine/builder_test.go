package engine_test

import (
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
)

// A builder makes a container of our own, task by task. Port i has entry
// hwx.BasePorts+i of the base-address table.
type builder struct {
	t         testing.TB
	spec      hwx.Spec
	tasks     []*task
	constants td.Section
}

func newBuilder(t testing.TB) *builder {
	return &builder{t: t, spec: hwx.Spec{Form: hwx.Form2026}}
}

func (b *builder) port(name string, d hwx.Direction, n, c, h, w uint32) {
	b.spec.Windows = append(b.spec.Windows, len(b.spec.Ports))
	b.spec.Ports = append(b.spec.Ports, hwx.PortSpec{
		Name: name, Direction: d, Element: hwx.ElementFloat16, Shape: [4]uint32{n, c, h, w},
	})
}

// file encodes the container and reads it back, as if it came from disk.
func (b *builder) file() *hwx.File {
	b.t.Helper()
	f, err := hwx.NewFile(b.bytes())
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func (b *builder) bytes() []byte {
	b.t.Helper()
	var tasks []*td.Task
	for i, t := range b.tasks {
		t.set(td.V7TaskID, i)
		t.setIf(i > 0, td.V7NotFirst, 1)
		t.setIf(i == len(b.tasks)-1, td.V7Last, 1)
		t.setIf(i < len(b.tasks)-1, td.V7TextEnable, 1)
		tasks = append(tasks, t.Task)
	}
	spec := b.spec
	if err := spec.SetTasks(tasks); err != nil {
		b.t.Fatal(err)
	}
	if b.constants.Data != nil {
		spec.Constants = b.constants.Data
	}
	f, err := hwx.Build(spec)
	if err != nil {
		b.t.Fatal(err)
	}
	data, err := f.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// A task is a task under construction.
type task struct {
	*td.Task
	b *builder
}

func (t *task) set(f *td.Field, value int) *task {
	t.b.t.Helper()
	if err := t.Set(f, uint32(value)); err != nil {
		t.b.t.Fatal(err)
	}
	return t
}

func (t *task) setIf(cond bool, f *td.Field, value int) *task {
	if cond {
		t.set(f, value)
	}
	return t
}

// dims are channels, rows and columns.
type dims struct{ c, h, w int }

// task begins a task of the given type and size, with what all tasks have.
func (b *builder) task(typ int, in, out dims, kernel bool) *task {
	t := &task{td.NewV7Task(kernel), b}
	b.tasks = append(b.tasks, t)
	for _, v := range []struct {
		f     *td.Field
		value int
	}{
		{td.V7TaskType, typ}, {td.V7Config0, 1},
		{td.V7Cin, in.c}, {td.V7Hin, in.h}, {td.V7Win, in.w}, {td.V7Din, 1},
		{td.V7Cout, out.c}, {td.V7Hout, out.h}, {td.V7Wout, out.w}, {td.V7Dout, 1},
		{td.V7Fmt1, 2}, {td.V7FmtO, 2}, {td.V7Groups, 1}, {td.V7UnicastInputs, 1},
		{td.V7KernelWidth, 1}, {td.V7KernelHeight, 1}, {td.V7StrideX, 1}, {td.V7StrideY, 1},
		{td.V7Ox, 1}, {td.V7Oy, 1}, {td.V7Kernel3D, 0x2041},
		{td.V7SourceConfig.Interleave, 1}, {td.V7ResultConfig.Interleave, 1},
		{td.V7NEPaletteBits, 8}, {td.V7NEBit20, 1},
	} {
		t.set(v.f, v.value)
	}
	if typ == td.TypeArray {
		t.set(td.V7NEPostScale, 0x3c00)
	} else {
		t.set(td.V7PEScale, 0x3c00).set(td.V7PEPreScale, 0x3c00).set(td.V7PEFinalScale, 0x3f800000)
	}
	return t
}

// bypass is a task of the array that passes its source on.
func (b *builder) bypass(size dims, kernel bool) *task {
	return b.task(td.TypeArray, size, size, kernel).
		set(td.V7Unicast, 1).set(td.V7NEOperation, 4).set(td.V7NEUnityKernel, 1)
}

// surface is how a tensor lies in memory.
type surface struct {
	base, row, plane, group int
	interleave              int
}

// portSurface is the layout of a port with rows of the given width.
func portSurface(size dims) surface {
	row := (2*size.w + 63) / 64 * 64
	return surface{row: row, plane: row * size.h, group: row * size.h * size.c, interleave: 1}
}

// from makes entry base of the table the source.
func (t *task) from(base int, s surface) *task {
	return t.set(td.V7SourceConfig.Type, 2).set(td.V7SourceConfig.Format, 1).
		set(td.V7SourceDMA, 1).set(td.V7Read0Base, base).set(td.V7Read0Enable, 1).
		set(td.V7Src1Config.Enable, 1).
		set(td.V7Src1.Base, s.base).set(td.V7Src1.Row, s.row).set(td.V7Src1.Plane, s.plane).set(td.V7Src1.Group, s.group).
		set(td.V7Src1Format.Memory, 2).set(td.V7Src1Format.Truncate, 3).set(td.V7Src1Format.Mode, 1).
		set(td.V7Src1Format.Interleave, s.interleave)
}

// with makes entry base of the table source 2.
func (t *task) with(base int, s surface) *task {
	return t.set(td.V7Fmt2, 2).set(td.V7PESource2Sign, 2).
		set(td.V7Read1Base, base).set(td.V7Read1Enable, 1).set(td.V7Source2DMA, 1).set(td.V7Source2Streamed, 1).
		set(td.V7Src2.Base, s.base).set(td.V7Src2.Row, s.row).set(td.V7Src2.Plane, s.plane).set(td.V7Src2.Group, s.group).
		set(td.V7Src2Format.Memory, 2).set(td.V7Src2Format.Truncate, 3)
}

// to makes entry base of the table the destination.
func (t *task) to(base int, s surface) *task {
	return t.set(td.V7ResultConfig.Type, 2).set(td.V7ResultConfig.Format, 1).set(td.V7ResultConfig.Interleave, s.interleave).
		set(td.V7ResultDMA, 1).set(td.V7WriteBase, base).set(td.V7WriteEnable, 1).
		set(td.V7DstConfig.Enable, 1).
		set(td.V7Dst.Base, s.base).set(td.V7Dst.Row, s.row).set(td.V7Dst.Plane, s.plane).set(td.V7Dst.Group, s.group).
		set(td.V7DstFormat.Memory, 2).set(td.V7DstFormat.Truncate, 3).set(td.V7DstFormat.Mode, 1).
		set(td.V7DstFormat.Interleave, s.interleave)
}

// chip is how a tensor lies in on-chip memory.
type chip struct{ base, channel, row int }

func (t *task) fromChip(c chip) *task {
	l := td.V7L2Src1
	return t.set(l.Base, c.base).set(l.Channel, c.channel).set(l.Row, c.row)
}

func (t *task) withChip(c chip) *task {
	l := td.V7L2Src2
	return t.set(td.V7Fmt2, 2).set(td.V7PESource2Sign, 2).set(l.Base, c.base).set(l.Channel, c.channel).set(l.Row, c.row)
}

func (t *task) toChip(c chip) *task {
	l := td.V7L2Result
	return t.set(td.V7ResultConfig.Type, 0).set(l.Base, c.base).set(l.Channel, c.channel).set(l.Row, c.row)
}

// keep makes a source that comes by DMA stay on chip, too.
func (t *task) keep(c chip) *task { return t.fromChip(c).set(td.V7SourceConfig.Type, 1) }

// engines sets how outputs are dealt to the engines.
func (t *task) engines(log2Engines, log2Lanes int) *task {
	return t.set(td.V7EnginesLog2, log2Engines).set(td.V7LanesLog2, log2Lanes).set(td.V7EngineCode, log2Engines+1)
}

// weights packs the kernel that the task loads into the constants.
func (t *task) weights(w *td.Weights) *task {
	t.b.t.Helper()
	t.set(td.V7KernelEnable, 1).set(td.V7NEKernelFormat, 2).
		set(td.V7KernelBase[0], hwx.BaseConst).set(td.V7KernelBaseEnable[0], 1)
	registers := td.NewRegisters(td.LayoutOf(td.V7))
	registers.Apply(t.Task)
	k, ok, err := td.KernelOf(registers)
	if err != nil || !ok {
		t.b.t.Fatal(ok, err)
	}
	streams, err := k.Pack(w)
	if err != nil {
		t.b.t.Fatal(err)
	}
	for e, s := range streams {
		if len(s) == 0 {
			continue
		}
		t.b.constants.Append(s)
		n := len(t.b.constants.Offsets) - 1
		c := &td.V7KernelChannel[e]
		t.set(c.Config.Enable, 1).set(c.Offset, t.b.constants.Offsets[n]).set(c.Size, t.b.constants.Sizes[n])
	}
	return t
}
