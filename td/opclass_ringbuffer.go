package td

import "fmt"

var ringBufferWriterRow = newClassRow(ClassRingBufferWriter, func() Params { return new(RingBufferWriter) }, "y", "state update start", 2,
	"OffsetN", "OffsetD", "OffsetC", "OffsetH", "OffsetW", "Circular", "LiveN", "LiveD", "LiveC", "LiveH", "LiveW").inPlace("state")

// RingBufferWriter writes update into a window of state: y is the state after. It
// may lie where state does; then nothing outside the window is touched.
//
// The window begins at Offset, plus, along axis a, number Live[a]-1 of start,
// unless Live[a] is 0. The numbers of start lie along W. Along the axes of
// Circular what leaves the state at its end enters at its beginning. Along the
// others a negative beginning counts from the end, and what of a window is outside
// the state is dropped.
type RingBufferWriter struct {
	Offset   [NumAxes]int
	Circular Axes
	Live     [NumAxes]int
}

func (p *RingBufferWriter) row() *classRow { return ringBufferWriterRow }

func (p *RingBufferWriter) values() (values []any) {
	for a := range p.Offset {
		values = append(values, &p.Offset[a])
	}
	values = append(values, &p.Circular)
	for a := range p.Live {
		values = append(values, &p.Live[a])
	}
	return values
}

func (p *RingBufferWriter) check(o *Op) error {
	y, state, update := &o.Operands[0], &o.Operands[1], &o.Operands[2]
	if y.Type != state.Type || y.Type != update.Type {
		return fmt.Errorf("y is of %v, state of %v, update of %v: want one type", y.Type, state.Type, update.Type)
	}
	if err := o.noEpilogue(); err != nil {
		return err
	}
	if err := o.sameDims(1); err != nil {
		return err
	}
	numbers := 0
	if len(o.Operands) > 3 && o.Operands[3].Present() {
		start := &o.Operands[3]
		numbers = start.Dims[AxisW]
		if want := [NumAxes]int{1, 1, 1, 1, numbers}; start.Dims != want || !start.Type.IsInteger() {
			return fmt.Errorf("start is of %v with extents %v, want integers along W", start.Type, start.Dims)
		}
	}
	for i := range p.Offset {
		a := Axis(i)
		live := p.Live[i]
		if live > numbers {
			return fmt.Errorf("number %d of start along %v: it has %d", live, a, numbers)
		}
		room := state.Dims[i] - update.Dims[i]
		if room < 0 || live == 0 && p.Offset[i] > room && !(p.Circular.Has(a) && p.Offset[i] <= state.Dims[i]) {
			return fmt.Errorf("%d elements from %d on along %v leave the state, which has %d", update.Dims[i], p.Offset[i], a, state.Dims[i])
		}
	}
	return nil
}
