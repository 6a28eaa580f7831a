package engine

import (
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Tasks of the array and of the planar engine: where their operands lie, and
// what may be done there.

// A unitBinder binds one operation.
type unitBinder struct {
	*strided.Unit
	p *Program

	source, kept, result place
	reads                []readOperand // source 1 and what else is read
}

// A readOperand is an operand that is read, and the part to blame for it.
type readOperand struct {
	*place
	part units.Part
}

// addUnit binds an operation of the array or the planar engine.
func (p *Program) addUnit(o *units.Op) error {
	b := &unitBinder{p: p, Unit: &strided.Unit{Op: o, Rules: p.rules, Packs: &p.packs, Gemm: p.gemm}}
	if part, err := o.Check(); err != nil {
		return refuse(part, "%v", err)
	}
	for _, bind := range []func() error{
		b.placeSource1, b.placeSource2, b.bindKernel, b.checkSources, b.placeKept, b.placeResult, b.checkDisjoint, b.claim,
	} {
		if err := bind(); err != nil {
			return err
		}
	}
	b.setApart()
	bound := strided.BindUnit(b.Unit)
	for _, k := range bound.Kernels {
		if err := p.claimScratch(k.Need()); err != nil {
			return refuse(units.PartOutC, "%v", err)
		}
	}
	total := b.buffers().total() // each element is read or written once more
	if err := p.countWork(bound.Steps+float64(total), bound.PerTile, false); err != nil {
		return refuse(units.PartOutC, "%v", err)
	}
	if o.Source1.Keep {
		if err := p.noteWritten(b.kept.Memory, &b.kept.region); err != nil {
			return refuse(units.PartKept, "%v", err)
		}
	}
	if err := p.noteWritten(b.result.Memory, &b.result.region); err != nil {
		return refuse(units.PartResult, "%v", err)
	}
	for _, r := range b.reads {
		p.note(access{place: *r.place, over: bound.Over, before: bound.First})
	}
	p.note(access{place: b.result, writes: true, first: true})
	b.noteTouches()
	p.steps = append(p.steps, step{kernels: bound.Kernels, nanoseconds: bound.Steps/productsPerNanosecond + float64(total)})
	return nil
}

// setApart sees whether the result shares memory with what is read: a source that it lies
// on, or ports, which the caller may lay over each other.
func (b *unitBinder) setApart() {
	ports := false
	b.Apart = true
	for _, r := range b.reads {
		ports = ports || b.p.memories[r.Memory].kind.port()
		b.Apart = b.Apart && r.Operand != b.result.Operand
	}
	b.Apart = b.Apart && !(ports && b.p.memories[b.result.Memory].kind.port())
}

// noteTouches notes what the task does to memory of the program's own, and the task.
func (b *unitBinder) noteTouches() {
	p, u := b.p, b.Unit
	for _, r := range b.reads {
		switch {
		case r.place == &b.source:
			p.touches(r.place, false, &u.Source1, nil, 0)
		case r.part == units.PartKernelBase:
			p.touches(r.place, false, nil, u.Runtime, u.Inputs()*u.Window.KH*u.Window.KW)
		default: // source 2 and the gains are those of the unit itself
			p.touches(r.place, false, &r.Operand, nil, 0)
		}
	}
	if u.Kept != nil {
		p.touches(&b.kept, true, u.Kept, nil, 0)
	}
	p.touches(&b.result, true, &u.Result, nil, 0)
	p.units = append(p.units, boundUnit{u, len(p.steps)})
}

// onChipOf is a tensor on chip: base + g·group + h·row + c·channel + d·depth + 2w.
func onChipOf(c units.Chip) td.Operand {
	return td.Operand{Offset: int64(c.Base), Type: tensor.Float16, Interleave: 1, Strides: [td.NumAxes]int64{
		td.AxisN: int64(c.Group), td.AxisD: int64(c.Depth), td.AxisC: int64(c.Channel), td.AxisH: int64(c.Row), td.AxisW: 2,
	}}
}

// sized lays a tensor of a size over an operand that has strides only. Axes that
// broadcast have one element.
func sized(o td.Operand, groups int, s units.Size, broadcast uint32, exchange bool) strided.Operand {
	to := strided.Operand{Operand: o, Exchanged: exchange}
	if exchange {
		to.Strides[td.AxisC], to.Strides[td.AxisW] = to.Strides[td.AxisW], to.Strides[td.AxisC]
	}
	to.Dims = s.Extents(groups, broadcast)
	return to
}

// placeSource finds a source, of which each group has so many elements.
func (b *unitBinder) placeSource(s *units.Source, size units.Size, broadcast uint32, exchange bool, base, part units.Part) (place, error) {
	groups := b.Groups
	if !s.Streams() {
		// All groups may read one tensor on chip (oracles,
		// env_bcast_add_8x64x8x8_runtime_1x64x1x1).
		if groups > 1 && s.Chip.Group == 0 && b.Planar {
			groups = 1
		}
		return b.put(sized(onChipOf(s.Chip), groups, size, broadcast, exchange), onChipIndex, 0, part)
	}
	memory, offset, err := b.p.window(s.Memory.Base, base)
	if err != nil {
		return place{}, err
	}
	pl, err := b.put(sized(s.Memory.Operand(), groups, size, broadcast, exchange), memory, offset, part)
	if m := &b.p.memories[memory]; err == nil && m.kind == text {
		err = refuse(part, "reads %v", m)
	}
	return pl, err
}

// window finds the memory that an entry of the base-address table points at.
func (p *Program) window(base int, part units.Part) (memory, offset int, err error) {
	if base < 0 || base >= len(p.bases) {
		return 0, 0, refuse(part, "the table has %d entries", len(p.bases))
	}
	memory, offset, ok := p.find(p.bases[base])
	if !ok {
		return 0, 0, refuse(part, "base address %#x is in no memory of the program", p.bases[base])
	}
	return memory, offset, nil
}

// put puts an operand in its memory and refuses it if it does not fit or if its
// elements overlap each other.
func (b *unitBinder) put(o strided.Operand, memory, offset int, part units.Part) (place, error) {
	o.Memory = memory
	o.Offset += int64(offset)
	m := &b.p.memories[memory]
	pl := place{o, operandRegion(&o)}
	if lo, hi := pl.region.hull(); lo < 0 || hi > int64(m.size) {
		return pl, refuse(part, "bytes %#x to %#x are outside %v with %#x bytes", lo, hi, m, m.size)
	}
	m.touch(&pl.region)
	if m.kind.tracked() && !pl.region.separate {
		return pl, refuse(part, "elements of the tensor overlap each other in %v", m)
	}
	b.p.toIsland(&pl)
	return pl, nil
}

func (b *unitBinder) read(pl *place, part units.Part) {
	b.reads = append(b.reads, readOperand{pl, part})
}

func (b *unitBinder) placeSource1() (err error) {
	b.source, err = b.placeSource(&b.Op.Source1, b.In, b.Broadcast1, b.Transpose1, units.PartSource1Base, units.PartSource1)
	b.Unit.Source1 = b.source.Operand
	b.read(&b.source, units.PartSource1)
	return err
}

// placeSource2 finds the second source of a planar task.
func (b *unitBinder) placeSource2() error {
	s := b.Op.Source2
	if s == nil {
		return nil
	}
	gain := b.Kind == td.TypePlanarGain
	both, err := b.placeSource(s, b.Op.Size2(), b.Broadcast2, b.Transpose2, units.PartSource2Base, units.PartSource2)
	if err != nil {
		return err
	}
	if !gain {
		b.Unit.Source2 = &both.Operand
		b.read(&both, units.PartSource2)
		return nil
	}
	row := func(h int64) *place {
		o := both.Operand
		o.Offset += h * o.Strides[td.AxisH]
		o.Dims[td.AxisH] = 1
		return &place{o, operandRegion(&o)}
	}
	offsets, gains := row(0), row(1)
	b.Unit.Source2, b.Gains = &offsets.Operand, &gains.Operand
	b.read(offsets, units.PartSource2)
	b.read(gains, units.PartSource2)
	return nil
}

// checkSources refuses a source that reads what no task has written.
func (b *unitBinder) checkSources() error {
	for _, r := range b.reads {
		if err := b.p.unwritten(r.Memory, &r.region); err != nil {
			return refuse(r.part, "%v", err)
		}
		b.p.wants(r.place, true)
	}
	return nil
}

// placeKept finds where a source stays on chip. What is repeated is kept once.
func (b *unitBinder) placeKept() (err error) {
	if !b.Op.Source1.Keep {
		return nil
	}
	o := strided.Operand{Operand: onChipOf(b.Op.Source1.Chip)}
	o.Dims = b.source.Dims
	b.kept, err = b.put(o, onChipIndex, 0, units.PartKept)
	b.Unit.Kept = &b.kept.Operand
	return err
}

func (b *unitBinder) placeResult() (err error) {
	m, size := b.Op.Result, b.ResultSize()
	defer func() { b.Unit.Result = b.result.Operand }()
	if m == nil || m.Backing {
		b.result, err = b.put(sized(onChipOf(b.Chip), b.Groups, size, 0, b.Exchange), onChipIndex, 0, units.PartResult)
		return err
	}
	memory, offset, err := b.p.window(m.Base, units.PartResultBase)
	if err != nil {
		return err
	}
	if to := &b.p.memories[memory]; to.kind != output && to.kind != scratch {
		return refuse(units.PartResultBase, "writes %v", to)
	}
	b.result, err = b.put(sized(m.Operand(), b.Groups, size, 0, b.Exchange), memory, offset, units.PartResult)
	return err
}

// checkDisjoint refuses a result that overlaps a source, unless every element
// takes the place of its own source. What is kept of the source must not lie
// over another source or the result.
func (b *unitBinder) checkDisjoint() error {
	for _, r := range b.reads {
		if r.Operand == b.result.Operand {
			continue
		}
		if err := b.checkApart(&b.result, r.place, units.PartResult, "the result overlaps a source that lies differently"); err != nil {
			return err
		}
	}
	if b.Unit.Kept == nil {
		return nil
	}
	for _, r := range b.reads {
		if err := b.checkApart(&b.kept, r.place, units.PartKept, "the source that is kept overlaps another"); err != nil {
			return err
		}
	}
	return b.checkApart(&b.result, &b.kept, units.PartResult, "the result overlaps the source that is kept")
}

func (b *unitBinder) checkApart(r, o *place, part units.Part, what string) error {
	if o.Memory != r.Memory {
		return nil
	}
	meet, err := b.p.overlap(&o.region, &r.region)
	switch {
	case err != nil:
		return refuse(part, "%v", err)
	case meet:
		return refuse(part, "%s in %v", what, &b.p.memories[r.Memory])
	}
	return nil
}

// claim sees that a context has the buffers that the task needs.
func (b *unitBinder) claim() error {
	need := b.buffers()
	if n := need.total(); n > maxDispatchBytes/4 {
		return refuse(units.PartGroups, "the task has %d elements at hand, more than fit %#x bytes", n, int64(maxDispatchBytes))
	}
	b.p.buffers.grow(need)
	return nil
}

// buffers are the sizes of the dense arrays of the task.
func (b *unitBinder) buffers() bufferSizes {
	need := bufferSizes{source1: elements(b.Groups, b.In), result: elements(b.Groups, b.ResultSize())}
	switch {
	case b.Gains != nil:
		need.source2 = 2 * elements(b.Groups, units.Size{W: 1, H: 1, D: 1, C: b.In.C})
	case b.Unit.Source2 != nil:
		need.source2 = need.source1
	}
	if b.Runtime != nil {
		need.weights = int64(len(b.Runtime.First)) * int64(b.Inputs()*b.Window.KH*b.Window.KW)
	}
	return need
}

// elements is the number of elements of a tensor, broadcasts counted, or a number
// past every limit.
func elements(groups int, s units.Size) int64 {
	n := int64(groups)
	for _, d := range []int{s.C, s.D, s.H, s.W} {
		if n *= int64(d); n > maxDispatchBytes {
			return maxDispatchBytes
		}
	}
	return n
}
