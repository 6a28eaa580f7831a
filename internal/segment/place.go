package segment

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
)

var regionNames = [...]string{"scratch", "derived", "constants", "weights", "port", "temporary", "packed"}

func (r Region) String() string { return regionNames[r] }

// At names the place of the first element.
func (p Place) At() string {
	if p.Region == InPort {
		return fmt.Sprintf("port %d+%d", p.Port, p.Offset)
	}
	return fmt.Sprintf("%v+%d", p.Region, p.Offset)
}

// End is the byte after the last of a value that lies there.
func (p Place) End(t anec.Type) int64 {
	return Spot{Offset: p.Offset, Strides: p.Strides}.End(t)
}

// SameStrides reports whether strides are the same along the axes that have more than one element.
func SameStrides(a, b [anec.NumAxes]int64, d anec.Dims) bool {
	for axis, n := range d {
		if n > 1 && a[axis] != b[axis] {
			return false
		}
	}
	return true
}
