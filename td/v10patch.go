package td

import "fmt"

// What a loader writes into a version-10 image: custom bars, which are resolved
// at load, and live-in parameters, which follow the shape of an input (seed,
// after table 23.5). How they are stored is not known: these are their values
// and their effect.

// A PatchTarget names the bits that a patch writes.
type PatchTarget struct {
	Register  uint32 // word address, as in V10Relocations
	BitOffset uint8
	BitWidth  uint8
}

// A CustomBar is a value that the loader resolves.
type CustomBar struct {
	PatchTarget
	Kind BarKind
	Name string // what it resolves: a buffer, a data set
}

// BarKind is what a custom bar resolves to.
type BarKind uint8

// The kinds of custom bar.
const (
	BarDeviceAddress BarKind = iota
	BarDataSet               // identifier of a data set in on-chip memory
	BarBufferOffset
)

var barKindNames = [...]string{"device address", "data set", "buffer offset"}

func (k BarKind) String() string {
	if int(k) >= len(barKindNames) {
		return fmt.Sprintf("bar kind %d", uint8(k))
	}
	return barKindNames[k]
}

// A LiveIn is a shape or stride that follows an input, in a range.
type LiveIn struct {
	PatchTarget
	Input             string // procedure input
	Start, Stop, Step int64  // Start, Start+Step and so on, Stop at most
}

// Patch writes a value into the bits of a register.
func (r *Registers) Patch(p PatchTarget, value uint64) error {
	if p.BitWidth < 1 || p.BitWidth > 32 || p.BitOffset > 32-p.BitWidth || p.Register > 1<<30-1 {
		return fmt.Errorf("td: patch of register word %#x: %d bits from bit %d are not in a word", p.Register, p.BitWidth, p.BitOffset)
	}
	if value>>p.BitWidth != 0 {
		return fmt.Errorf("td: patch of register word %#x: %#x does not fit %d bits", p.Register, value, p.BitWidth)
	}
	addr := 4 * p.Register
	mask := uint32(1<<p.BitWidth-1) << p.BitOffset
	w, _ := r.Word(addr)
	r.Write(addr, w&^mask|uint32(value)<<p.BitOffset)
	return nil
}

// Check says whether the parameter may have the value.
func (l *LiveIn) Check(value int64) error {
	if l.Step <= 0 || l.Start > l.Stop {
		return fmt.Errorf("td: live-in of %q: no range from %d to %d by %d", l.Input, l.Start, l.Stop, l.Step)
	}
	if value < l.Start || value > l.Stop || uint64(value-l.Start)%uint64(l.Step) != 0 {
		return fmt.Errorf("td: live-in of %q: %d is not in %d to %d by %d", l.Input, value, l.Start, l.Stop, l.Step)
	}
	return nil
}

// Bind writes the parameter's value into the registers.
func (l *LiveIn) Bind(r *Registers, value int64) error {
	if err := l.Check(value); err != nil {
		return err
	}
	return r.Patch(l.PatchTarget, uint64(value))
}
