package v7

import (
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Where the tensors of a task lie (h13 2.4, 2.5, 2.8, 3.1, 3.2).

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

func (d *Decoder) chip(f td.OnChipFields) units.Chip {
	return units.Chip{Base: d.num(f.Base), Channel: d.num(f.Channel), Row: d.num(f.Row), Depth: d.num(f.Depth), Group: d.num(f.Group)}
}

func (d *Decoder) surface(base *td.Field, f td.SurfaceFields, interleave *td.Field, bytes bool) *units.Surface {
	m := &units.Surface{
		Base: d.num(base), Offset: d.num(f.Base), Row: d.num(f.Row), Plane: d.num(f.Plane), Depth: d.num(f.Depth), Group: d.num(f.Group),
	}
	if n := d.num(interleave); n > 1 {
		m.Interleave = n
	}
	if bytes {
		m.Element = units.Byte
	}
	return m
}

func (d *Decoder) source1() error {
	s := &d.op.Source1
	s.Chip = d.chip(td.V7L2Src1)
	typ := d.value(td.V7SourceConfig.Type)
	if typ == residentOnChip {
		if err := d.checkKnown(onChipSource); err != nil {
			return err
		}
		if d.flag(td.V7Read0Enable) {
			s.Memory = d.surface(td.V7Read0Base, td.V7Src1, td.V7Src1Format.Interleave, false)
			s.Memory.Backing = true
		}
		return nil
	}
	bytes, forms := d.value(td.V7Fmt1) == formatByte, streamedSource
	if bytes {
		forms = streamedBytes
	}
	if err := d.checkKnown(forms); err != nil {
		return err
	}
	if err := d.named(td.V7Read0Base, td.V7Read0Enable); err != nil {
		return err
	}
	s.Memory = d.surface(td.V7Read0Base, td.V7Src1, td.V7Src1Format.Interleave, bytes)
	if s.Keep = typ == throughAndKept; s.Keep {
		return d.checkKnown(keptSource)
	}
	return nil
}

// source2 reads the second source of a planar task.
func (d *Decoder) source2() error {
	if !hasSource2(d) {
		return nil
	}
	s := &units.Source{Chip: d.chip(td.V7L2Src2)}
	d.op.Source2 = s
	if !d.flag(td.V7Read1Enable) {
		return d.checkKnown(onChipSource2)
	}
	s.Memory = d.surface(td.V7Read1Base, td.V7Src2, td.V7Src2Format.Interleave, false)
	return d.checkKnown(streamedSource2)
}

func (d *Decoder) result() error {
	o := d.op
	o.Chip = d.chip(td.V7L2Result)
	typ := d.value(td.V7ResultConfig.Type)
	if typ == residentOnChip {
		if d.flag(td.V7WriteEnable) {
			o.Result = d.surface(td.V7WriteBase, td.V7Dst, td.V7DstFormat.Interleave, false)
			o.Result.Backing = true
		}
		return nil
	}
	bytes, forms := d.value(td.V7FmtO) == formatByte, streamedResult
	if bytes {
		forms = streamedBytesResult
	}
	if err := d.checkKnown(forms); err != nil {
		return err
	}
	if n, m := max(d.num(td.V7ResultConfig.Interleave), 1), max(d.num(td.V7DstFormat.Interleave), 1); n != m {
		return d.refuse(td.V7DstFormat.Interleave, "the on-chip block says %d", n)
	}
	if err := d.named(td.V7WriteBase, td.V7WriteEnable); err != nil {
		return err
	}
	o.Result = d.surface(td.V7WriteBase, td.V7Dst, td.V7DstFormat.Interleave, bytes)
	o.Resides = typ == throughAndKept
	o.KernelStore = d.flag(td.V7DstBit19) && d.flag(td.V7DstBit24)
	return nil
}

// fields are where the parts of an operation stand, whatever the task.
var fields = map[units.Part]*td.Field{
	units.PartKind: td.V7TaskType,
	units.PartInW:  td.V7Win, units.PartInH: td.V7Hin, units.PartInD: td.V7Din, units.PartInC: td.V7Cin,
	units.PartOutW: td.V7Wout, units.PartOutH: td.V7Hout, units.PartOutD: td.V7Dout, units.PartOutC: td.V7Cout,
	units.PartGroups: td.V7Groups, units.PartUnicast: td.V7UnicastInputs,
	units.PartKernelW: td.V7KernelWidth, units.PartKernelH: td.V7KernelHeight,
	units.PartStrideX: td.V7StrideX, units.PartStrideY: td.V7StrideY, units.PartPadX: td.V7PadLeft, units.PartPadY: td.V7PadTop,
	units.PartBroadcast2:  td.V7Broadcast2H,
	units.PartSource1Base: td.V7Read0Base, units.PartSource2Base: td.V7Read1Base, units.PartResultBase: td.V7WriteBase,
	units.PartKept:   td.V7L2Src1.Base,
	units.PartKernel: td.V7KernelEnable, units.PartKernelBase: td.V7KernelBase[0], units.PartKernelFormat: td.V7NEKernelFormat,
	units.PartZeroSkip: td.V7NEZeroSkip, units.PartBias: td.V7NEBias, units.PartTable: td.V7NENonLinear,
}

// Field returns the field that a part of the last operation came from, and what
// stands in it.
func (d *Decoder) Field(p units.Part) (*td.Field, uint32) {
	f := fields[p]
	choose := func(streams bool, memory, chip *td.Field) *td.Field {
		if streams {
			return memory
		}
		return chip
	}
	switch {
	case f != nil:
	case p == units.PartSource1:
		f = choose(d.op.Source1.Streams(), td.V7Src1.Base, td.V7L2Src1.Base)
	case p == units.PartSource2:
		f = choose(d.op.Source2.Streams(), td.V7Src2.Base, td.V7L2Src2.Base)
	case p == units.PartResult:
		f = choose(d.op.Result != nil && !d.op.Result.Backing, td.V7Dst.Base, td.V7L2Result.Base)
	default:
		e, size, _ := p.Stream()
		if f = td.V7KernelChannel[e].Offset; size {
			f = td.V7KernelChannel[e].Size
		}
	}
	return f, d.value(f)
}
