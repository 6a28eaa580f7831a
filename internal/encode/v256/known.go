package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/strided"
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
			if err := known(strided.FunctionName, td.Function(m.Function)); err != nil {
				return err
			}
		}
	}
	switch p := op.Params.(type) {
	case *td.Pooling:
		return known(strided.PoolName, p.Kind)
	case *td.Reduction:
		return known(strided.ReductionName, p.Kind)
	case *td.Resize:
		return known(strided.GridName, p.Grid)
	case *td.CropResize:
		if err := known(strided.CoordinateName, p.Coordinate); err != nil {
			return err
		}
		return known(strided.GridName, p.Grid)
	case *td.Resample:
		return known(strided.CoordinateName, p.Coordinate)
	case *td.AffineTransform:
		return known(strided.CoordinateName, p.Coordinate)
	}
	return nil
}

// known refuses a kind that the kernels do not have.
func known[K interface {
	~uint8
	String() string
}](name func(uint8) (string, bool), k K) error {
	if _, ok := name(uint8(k)); !ok {
		return fmt.Errorf("what %v computes is not known", k)
	}
	return nil
}
