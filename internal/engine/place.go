package engine

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// Where the operands of an operation lie, and what may be done there.

// A place is an operand in a memory of the program.
type place struct {
	strided.Operand
	region region // empty if there is no element
}

// place finds the memories of an operation's operands, and whether it is run once
// to make derived memory. It refuses operands that leave their memory, sources
// that no task has written, results that may not be written, and results that
// lie over a source.
func (p *Program) place(op *td.Op) (places []place, once bool, err error) {
	places = make([]place, len(op.Operands))
	for i := range op.Operands {
		o := &op.Operands[i]
		if !o.Present() {
			continue
		}
		if places[i], err = p.placeOperand(o); err != nil {
			return nil, false, fmt.Errorf("operand %d: %w", i, err)
		}
		if i >= op.Results() {
			err = p.checkSource(&places[i])
		} else {
			err = p.checkResult(o, &places[i])
		}
		if err != nil {
			return nil, false, fmt.Errorf("operand %d: %w", i, err)
		}
	}
	for result := range op.Results() {
		for i := result + 1; i < len(places); i++ {
			if err := p.checkAliasing(op, places, result, i); err != nil {
				return nil, false, err
			}
		}
	}
	if once, err = p.runsOnce(op, places); err != nil {
		return nil, false, err
	}
	for i := range op.Results() {
		if err := p.noteWritten(places[i].Memory, &places[i].region); err != nil {
			return nil, false, err
		}
	}
	return places, once, nil
}

func (p *Program) placeOperand(o *td.Operand) (place, error) {
	lo, hi, _ := o.Extent() // it fits: the operation is valid
	pl := place{Operand: strided.Operand{Operand: *o}}
	pl.Strides = [td.NumAxes]int64{}
	if lo == hi {
		pl.Offset = 0
		return pl, nil // no element, nothing to touch
	}
	if int(o.Base) >= len(p.bases) {
		return place{}, fmt.Errorf("base %d: the table has %d entries", o.Base, len(p.bases))
	}
	memory, start, ok := p.find(p.bases[o.Base])
	if !ok {
		return place{}, fmt.Errorf("base %d: address %#x is in no memory of the program", o.Base, p.bases[o.Base])
	}
	m := &p.memories[memory]
	size := int64(m.size)
	if m.kind == constant {
		size = min(size, int64(len(m.data)))
	}
	if lo < 0 || hi > size-int64(start) {
		return place{}, fmt.Errorf("bytes %#x to %#x of base %d are outside %v, which has %#x there", lo, hi, o.Base, m, size-int64(start))
	}
	pl.Memory, pl.Offset = memory, int64(start)+o.Offset
	for a, n := range o.Dims {
		if td.Axis(a) == td.AxisC {
			n = (n + int(o.Interleave) - 1) / int(o.Interleave)
		}
		if n > 1 { // a stride that leads nowhere may be any number
			pl.Strides[a] = o.Strides[a]
		}
	}
	pl.region = operandRegion(&pl.Operand)
	p.toIsland(&pl)
	return pl, nil
}

func (p *Program) checkSource(pl *place) error {
	if pl.region.empty() {
		return nil
	}
	if m := &p.memories[pl.Memory]; m.kind == text {
		return fmt.Errorf("reads %v", m)
	}
	return p.unwritten(pl.Memory, &pl.region)
}

func (p *Program) checkResult(o *td.Operand, pl *place) error {
	if pl.region.empty() {
		return nil
	}
	m := &p.memories[pl.Memory]
	switch m.kind {
	case scratch, output, onChip, state, derived:
	default:
		return fmt.Errorf("writes %v", m)
	}
	if !pl.region.separate {
		return fmt.Errorf("elements of the result overlap each other: extents %v, strides %v of %v", o.Dims, o.Strides, o.Type)
	}
	return nil
}

// checkAliasing refuses a result that lies over operand i, another result or a
// source, unless it is the first and each element takes the place of the one
// that it is made of, and of nothing else.
func (p *Program) checkAliasing(op *td.Op, places []place, result, i int) error {
	y, x := &places[result], &places[i]
	if x.region.empty() || y.region.empty() || x.Memory != y.Memory {
		return nil
	}
	if meet, err := p.overlap(&x.region, &y.region); err != nil || !meet {
		return err
	}
	if x.liesOn(y, 0) && result == 0 && op.InPlace(i) {
		return nil
	}
	if result > 0 || i < op.Results() {
		return fmt.Errorf("result %d overlaps operand %d in %v", result, i, &p.memories[y.Memory])
	}
	return fmt.Errorf("the result overlaps operand %d in %v", i, &p.memories[y.Memory])
}

// liesOn reports whether each element of x takes the place of the same one of y,
// if byte k of y's memory is byte k+shift of x's.
func (x *place) liesOn(y *place, shift int64) bool {
	return x.Offset == y.Offset+shift && x.Strides == y.Strides && x.Dims == y.Dims &&
		x.Interleave == y.Interleave && x.Exchanged == y.Exchanged && x.Type.Size() == y.Type.Size()
}
