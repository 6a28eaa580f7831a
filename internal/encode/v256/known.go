package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// computable refuses an operation that a task can hold and no engine can run: Apple's names have some of which it is not
// known what they compute. What is refused here goes to the host; what a loader refuses goes nowhere.
func computable(op *td.Op) error {
	for i := range op.Results() {
		if y := &op.Operands[i]; y.Present() && y.Type.SubByte() {
			return fmt.Errorf("results of %v share bytes, which no task writes", y.Type)
		}
	}
	for _, m := range op.Epilogue {
		if m.Code == td.MicroActivation {
			if err := known(td.Function(m.Function)); err != nil {
				return err
			}
		}
	}
	switch p := op.Params.(type) {
	case *td.Pooling:
		return known(p.Kind)
	case *td.Reduction:
		return known(p.Kind)
	case *td.Resize:
		return known(p.Grid)
	case *td.CropResize:
		if err := known(p.Coordinate); err != nil {
			return err
		}
		return known(p.Grid)
	case *td.Resample:
		return known(p.Coordinate)
	case *td.AffineTransform:
		return known(p.Coordinate)
	}
	return nil
}

// known refuses a kind whose meaning no source has.
func known(k interface {
	Known() bool
	String() string
}) error {
	if !k.Known() {
		return fmt.Errorf("what %v computes is not known", k)
	}
	return nil
}
