// Package v256 reads tasks of version 256, which hold strided operations.
package v256

import (
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A Decoder reads tasks. Registers do not outlive them.
type Decoder struct{}

// Decode reads one task.
func (Decoder) Decode(t *td.Task) (*units.Op, *td.Op, error) {
	op, err := t.Op()
	return nil, op, err
}

// Field has nothing to tell: a task has no operation of the units.
func (Decoder) Field(units.Part) (*td.Field, uint32) { return nil, 0 }
